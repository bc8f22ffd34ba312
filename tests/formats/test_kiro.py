"""Conversations of Kiro CLI: every entry that is written has a user and an assistant."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness import read, run, unpaired
from insertions import SUMMARY, written
from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.formats import FORMATS

FIXTURE = Path("fixtures/kiro.json")
LONG = "a tide comes in " * 200


def prompt(text: str) -> dict[str, Any]:
    return {"content": {"Prompt": {"prompt": text}}, "additional_context": ""}


def results(*texts: str) -> dict[str, Any]:
    values = [
        {"tool_use_id": f"c{number}", "content": [{"Text": text}], "status": "Success"}
        for number, text in enumerate(texts)
    ]
    return {"content": {"ToolUseResults": {"tool_use_results": values}}, "additional_context": ""}


def answer(text: str, *calls: str) -> dict[str, Any]:
    uses = [{"id": name, "name": "look", "args": {"x": 1}} for name in calls]
    value = {"message_id": "m", "content": text}
    return {"ToolUse": value | {"tool_uses": uses}} if calls else {"Response": value}


def saved(*entries: tuple[dict[str, Any], dict[str, Any]], **more: Any) -> bytes:
    history = [{"user": user, "assistant": assistant} for user, assistant in entries]
    return json.dumps({"conversation_id": "k", "history": history} | more).encode()


def history(data: bytes | None) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    entries = json.loads(data or b"")["history"]
    return [(entry["user"], entry["assistant"]) for entry in entries]


def roles(data: bytes | None) -> list[str]:
    (transcript,) = read(data or b"")[0].transcripts
    return [message.role for message in transcript.messages]


def test_the_fixture_is_one_conversation() -> None:
    data = FIXTURE.read_bytes()
    chunk = read(data)[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    assert (chunk.format.name, transcript.model) == ("kiro", "claude-sonnet-4")
    assert roles(data) == ["user", *("user", "assistant", "tool", "assistant"), "user", "assistant"]
    assert [message.is_summary for message in transcript.messages[:2]] == [True, False]
    assert "execute_bash" in (transcript.tools or "")
    assert not unpaired(transcript)
    assert run(data).data == data


def test_a_failed_call_has_an_error_as_its_result() -> None:
    found = results("no such gauge", "4 m")
    found["content"]["ToolUseResults"]["tool_use_results"][0]["status"] = "Error"
    data = saved((prompt("Look."), answer("", "c0", "c1")), (found, answer("Low.")))
    (transcript,) = read(data)[0].transcripts
    answers = [message.result for message in transcript.messages[2:4]]
    assert [part.is_error for part in answers if part] == [True, None]


def test_images_that_a_call_read_count_with_its_results() -> None:
    images = [{"format": "png", "source": {"Bytes": [137, 80, 78, 71]}}]
    read_images = results("See images data supplied", "done") | {"images": images}
    data = saved(
        (prompt("Look."), answer("", "c0", "c1")),
        (read_images, answer("Low.")),
        (prompt("And this?") | {"images": images}, answer("High.")),
    )
    (transcript,) = read(data)[0].transcripts
    pictures = [[part.media for part in each.parts if part.media] for each in transcript.messages]
    assert [len(each) for each in pictures] == [0, 0, 0, 1, 0, 1, 0]
    assert run(data).data == data


def test_images_are_removed_with_their_result() -> None:
    """The last result answers no call."""
    images = [{"format": "png", "source": {"Bytes": [137, 80, 78, 71]}}]
    read_images = results("low", "lost") | {"images": images}
    data = saved((prompt("Look."), answer("", "c0")), (read_images, answer("Low.")))
    ((_, _), (user, _)) = history(run(data, [("repair", {"repair": "drop"})]).data)
    assert user == results("low")


def test_an_old_exchange_is_dropped_with_its_entries() -> None:
    new = (prompt("And now?"), answer("Low."))
    old = [(prompt(LONG), answer("I look.", "c0")), (results(LONG), answer(LONG))]
    assert history(run(saved(*old, new), [("trim", {})], limit=300).data) == [new]


def test_a_prompt_without_its_answer_gets_the_next_answer_as_edited() -> None:
    data = saved((prompt("Look."), answer("", "c0")), (results(LONG), answer("It is low.")))
    settings = {"tool_cutoff": 0, "tool_summary": "heuristic"}
    ran = run(data, [("cutoff", settings)])
    ((user, assistant),) = history(ran.data)
    assert user == prompt("Look.")
    text = assistant["Response"]["content"]
    assert (text.startswith("[Tool summary]"), text.endswith("It is low.")) == (True, True)
    assert roles(ran.data) == ["user", "assistant"]


@pytest.mark.parametrize(("text", "more"), [("", "Anything else?"), ("And now?", "")])
def test_a_half_without_a_text_keeps_its_bytes(text: str, more: str) -> None:
    asked = (prompt("Look. " * 99), answer("I look. " * 99))
    time = {"timestamp": "2031-05-06T07:08:09Z"}
    rest = ((prompt("Go on."), answer("Done.")), (prompt(text) | time, answer(more)))
    out = run(saved(asked, asked, *rest), [("trim", {})], limit=60).data
    assert history(out) == [*rest]


def test_a_dropped_image_leaves_an_empty_prompt() -> None:
    image = {"format": "png", "source": {"Bytes": [1, 2]}}
    data = saved((prompt("") | {"images": [image]}, answer("A tide.")))
    chunk = read(data)[0]
    (transcript,) = chunk.transcripts
    meant = replace(transcript, messages=transcript.messages[1:])
    ((user, assistant),) = history(written(chunk, FORMATS["kiro"], meant))
    assert (user["content"], user["images"]) == ({"Prompt": {"prompt": ""}}, None)
    assert assistant == answer("A tide.")


def test_results_of_calls_that_were_never_answered_are_an_entry() -> None:
    data = saved((prompt("Look."), answer("", "c0", "c1")), (prompt("Well?"), answer("Low.")))
    ran = run(data, [("repair", {"repair": "synthesize"})])
    entries = history(ran.data)
    assert [entries[0], entries[2]] == history(data)
    answered = entries[1][0]["content"]["ToolUseResults"]["tool_use_results"]
    assert [result["tool_use_id"] for result in answered] == ["c0", "c1"]
    assert roles(ran.data) == ["user", "assistant", "tool", "tool", "user", "assistant"]


def test_a_missing_result_joins_the_results_of_its_answer() -> None:
    data = saved((prompt("Look."), answer("", "c0", "c1")), (results("high"), answer("Low.")))
    ran = run(data, [("repair", {"repair": "synthesize"})])
    answered = history(ran.data)[1][0]["content"]["ToolUseResults"]["tool_use_results"]
    assert [result["tool_use_id"] for result in answered] == ["c0", "c1"]


def test_a_new_summary_replaces_the_summary_of_a_compaction() -> None:
    entries = [(prompt(f"{number} {LONG}"), answer(LONG)) for number in range(4)]
    data = saved(*entries, latest_summary=["The desk reads gauges.", {"request_id": "r"}])
    ran = run(data, [("summarize", {})], limit=2500)
    value = json.loads(ran.data or b"")
    assert value["latest_summary"] is None
    assert len(value["history"]) < len(entries)
    assert all(entry["user"] and entry["assistant"] for entry in value["history"])


def test_older_versions_have_no_names_for_the_fields_of_a_content() -> None:
    new = saved((prompt("Look."), answer("", "c0")), (results("high"), answer("Low.")))
    old = new.replace(b'{"prompt": "Look."}', b'"Look."')
    value = json.loads(old)
    content = value["history"][1]["user"]["content"]
    content["ToolUseResults"] = content["ToolUseResults"]["tool_use_results"]
    assert read(json.dumps(value).encode())[0].transcripts == read(new)[0].transcripts


def test_a_message_between_a_prompt_and_its_answer_begins_a_new_entry() -> None:
    (chunk,) = read(saved((prompt("One?"), answer("So.")), (prompt("Two?"), answer("Yes."))))
    transcript = chunk.transcripts[0]
    first, *others = transcript.messages
    meant = replace(transcript, messages=(first, SUMMARY, *others))
    out = written(chunk, FORMATS["kiro"], meant)
    assert [message.parts[0].text for message in read(out)[0].transcripts[0].messages] == [
        "One?", SUMMARY.parts[0].text, "So.", "Two?", "Yes.",
    ]  # fmt: skip


def test_no_message_can_come_between_the_results_and_the_prompt_of_an_entry() -> None:
    cancelled = {
        "tool_use_results": results("gone")["content"]["ToolUseResults"]["tool_use_results"]
    }
    halves = prompt("Stop.") | {"content": {"CancelledToolUses": {"prompt": "Stop."} | cancelled}}
    (chunk,) = read(saved((prompt("One?"), answer("", "c1")), (halves, answer("Yes."))))
    transcript = chunk.transcripts[0]
    assert [message.role for message in transcript.messages[2:4]] == ["tool", "user"]
    meant = (*transcript.messages[:3], SUMMARY, *transcript.messages[3:])
    with pytest.raises(NotEditableError, match="between the results and the prompt"):
        written(chunk, FORMATS["kiro"], replace(transcript, messages=meant))
