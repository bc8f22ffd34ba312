"""Sessions of Grok CLI: an answer is read and removed with its reasoning."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from harness import read, run
from pictures import png

from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Message

FIXTURE = Path("fixtures/grok-cli.jsonl")
LONG = "a tide comes in " * 200


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "user", "content": [{"type": "text", "text": text}]} | more


def answer(text: str, *calls: str, **more: Any) -> dict[str, Any]:
    made = [{"id": name, "name": "look", "arguments": "{}"} for name in calls]
    return {"type": "assistant", "content": text, "tool_calls": made, "model_id": "grok-4.5"} | more


def reasoning(text: str) -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": text}]}


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def messages(*values: Any) -> tuple[Message, ...]:
    (transcript,) = read(lines(*values))[0].transcripts
    return transcript.messages


def kinds(message: Message) -> list[str]:
    return [part.kind for part in message.parts]


def test_the_fixture_is_one_conversation() -> None:
    data = FIXTURE.read_bytes()
    chunk = read(data)[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    assert (chunk.format.name, transcript.model) == ("grok-cli", "grok-4.5")
    assert [message.role for message in transcript.messages] == [
        *("system", "user", "user", "assistant", "tool", "assistant", "user"),
    ]
    assert [message.is_injected for message in transcript.messages[1:3]] == [True, False]
    assert kinds(transcript.messages[3]) == ["reasoning", "reasoning", "text", "tool_call"]
    assert "web_search" in transcript.messages[5].parts[0].text
    assert run(data).data == data


def test_the_model_of_a_session_is_that_of_its_last_answer(ctxtrim: Run) -> None:
    second = answer("Two.", model_id="grok-4.20")
    data = lines(user("One?"), answer("One."), user("Two?"), second, user("Three?"))
    (row,) = json.loads(ctxtrim("count", "--json", stdin=data).out)["transcripts"]
    assert row["model"] == "grok-4.20"


def test_an_answer_is_removed_with_the_lines_before_it() -> None:
    result = {"type": "tool_result", "tool_call_id": "c1", "content": LONG}
    old = [user(LONG), reasoning(LONG), answer("I look.", "c1"), result]
    assert run(lines(*old, user("And now?")), [("trim", {})], limit=700).data == lines(
        user("And now?")
    )


def test_reasoning_inside_an_answer_counts_like_reasoning_before_it() -> None:
    inside = answer("Yes.", reasoning={"text": "to do", "encrypted": "c2VhbGVk", "id": "r"})
    before = reasoning("to do") | {"encrypted_content": "c2VhbGVk"}
    assert messages(user("Is it?"), inside) == messages(user("Is it?"), before, answer("Yes."))
    output = [before, {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]}]
    assert messages(user("Is it?"), answer("Yes.", raw_output=output)) == messages(
        user("Is it?"), before, answer("Yes.")
    )


def test_the_texts_of_a_reasoning_count_instead_of_its_summary() -> None:
    blocks = [{"type": "reasoning_text", "text": "The table is old."}]
    _, found = messages(user("Is it?"), reasoning("Old.") | {"content": blocks})
    assert [part.text for part in found.parts] == ["The table is old."]
    _, found = messages(user("Is it?"), reasoning("Old.") | {"content": []})
    assert [part.text for part in found.parts] == ["Old."]


def test_a_description_of_the_machine_is_no_prompt_and_a_human_is_no_program() -> None:
    found = messages(
        user("<user_info>\nOS: linux\n</user_info>\n<rules>Be brief.</rules>"),
        user("<user_query>Is it?</user_query>", synthetic_reason="human"),
        user("Go on.", synthetic_reason="system_reminder"),
    )
    assert [message.is_injected for message in found] == [True, False, True]


def compaction(text: str) -> dict[str, Any]:
    return user(
        f"This session is being continued from a previous conversation that ran out of context. "
        f"The summary below covers the earlier portion of the conversation.\n\n{text}",
        synthetic_reason="compaction_meta",
    )


def test_a_text_that_the_person_typed_while_the_model_worked_is_the_task(ctxtrim: Run) -> None:
    result = {"type": "tool_result", "tool_call_id": "c1", "content": LONG}
    told = user("<user_query>\nOnly the east pier.\n</user_query>", synthetic_reason="interjection")
    values = [user("Paint."), answer("", "c1"), result, told, answer("Done."), user("What else?")]
    assert messages(*values)[3].is_injected is False
    ran = ctxtrim("trim", "--budget", "300", stdin=lines(*values[:4]))
    assert (ran.code, json.loads(ran.out.splitlines()[-1])) == (0, told)


def test_the_summary_of_a_compaction_is_kept_longer_than_steps(ctxtrim: Run) -> None:
    start = user("<user_info>\nOS: linux\n</user_info>", synthetic_reason="compaction_meta")
    summary = compaction("They painted the west pier.")
    steps = [
        value
        for name in ("c1", "c2", "c3", "c4", "c5")
        for value in (
            answer(f"Next: {name}.", name),
            {"type": "tool_result", "tool_call_id": name, "content": f"{name}: {LONG[:600]}"},
        )
    ]
    values = [start, user("Paint the piers."), summary, *steps]
    assert [message.is_summary for message in messages(*values)[:3]] == [False, False, True]
    ran = ctxtrim("trim", "--budget", "800", stdin=lines(*values))
    left = [json.loads(line) for line in ran.out.splitlines()]
    assert (ran.code, summary in left, steps[1] in left) == (0, True, False)
    ran = ctxtrim("run", "-s", "compact", "--budget", "800", stdin=lines(*values))
    assert summary not in [json.loads(line) for line in ran.out.splitlines()]
    assert b"They painted the west pier." in ran.out


def test_an_inserted_summary_is_no_prompt_for_the_program(ctxtrim: Run) -> None:
    result = {"type": "tool_result", "tool_call_id": "c1", "content": LONG}
    values = [user("Paint."), answer("", "c1"), result, answer("Done."), user("And now?")]
    ran = ctxtrim("run", "-s", "compact", "--budget", "600", stdin=lines(*values))
    first, *_ = (json.loads(line) for line in ran.out.splitlines())
    assert (first["type"], first["synthetic_reason"]) == ("user", "compaction_meta")


def test_images_of_a_result_count_and_a_line_after_its_text_replaces_them() -> None:
    image = {"type": "image", "url": f"data:image/png;base64,{png(1024, 768)}"}
    result = {"type": "tool_result", "tool_call_id": "c1", "content": "A chart.", "images": [image]}
    later = {"type": "tool_result", "tool_call_id": "c2", "content": "Calm."}
    values = [user("Look."), answer("", "c1"), result, answer("", "c2"), later]
    part = messages(*values)[2].parts[1]
    assert (part.media and part.media.kind, part.call_id) == ("image", "c1")
    ran = run(lines(*values), [("drop-images", {"max_age": 0})], model="claude-opus-4-6")
    new = json.loads((ran.data or b"").splitlines()[2])
    assert new["images"] == []
    assert new["content"].startswith("A chart.\n[image, 1024×768, ~")


def test_reasoning_without_an_answer_is_an_answer() -> None:
    found = messages(user("One."), reasoning("hm"), user("Two."), reasoning("oh"))
    assert [message.role for message in found] == ["user", "assistant", "user", "assistant"]


def test_a_result_is_shortened_in_its_line() -> None:
    result = {"type": "tool_result", "tool_call_id": "c1", "content": LONG}
    values = [user("Look."), answer("", "c1"), result]
    out = (run(lines(*values), [("truncate", {"max_tokens": 60})]).data or b"").splitlines()
    assert [json.loads(line) for line in out[:2]] == values[:2]
    assert "truncated" in json.loads(out[2])["content"]


@pytest.mark.parametrize(
    "value",
    [
        {"type": "user", "content": "hi"},
        {"type": "user", "content": [], "id": "m1"},
        {"type": "system", "subtype": "init"},
        {"type": "assistant", "message": {"content": []}, "model_id": "m"},
        {"type": "tool_result", "tool_use_id": "c1", "content": "x"},
        {"type": "reasoning", "summary": []},
    ],
)
def test_items_that_others_may_write_are_not_enough(value: dict[str, Any]) -> None:
    found = open_reading([lines(value)]).format
    assert found is None or found.name != "grok-cli"
