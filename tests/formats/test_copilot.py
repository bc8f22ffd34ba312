"""Sessions of Copilot CLI: the live conversation, and links that stay whole."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from harness import read, run
from insertions import SUMMARY, written
from msgspec.structs import replace
from pictures import PICTURE

from ctxtrim.errors import NotEditableError
from ctxtrim.formats import FORMATS
from ctxtrim.formats.conversion.request import convert
from ctxtrim.model import Message

FIXTURE = Path("fixtures/copilot-cli.jsonl")
LONG = "the lamp is lit " * 200
Event = tuple[str, dict[str, Any]]


def prompt(text: str, **more: Any) -> Event:
    return "user.message", {"content": text, "attachments": []} | more


def answer(text: str, *calls: str, **more: Any) -> Event:
    requests = [{"toolCallId": name, "name": "view", "arguments": {"x": name}} for name in calls]
    return "assistant.message", {"content": text, "toolRequests": requests} | more


def result(name: str, text: str, **more: Any) -> Event:
    done = {"toolCallId": name, "success": True, "result": {"content": text}}
    return "tool.execution_complete", done | more


def system(text: str) -> Event:
    return "system.message", {"content": text, "role": "system"}


def session(*events: Event) -> bytes:
    """The events as lines, each linked to the one before it."""
    return b"".join(
        json.dumps(
            {
                "type": kind,
                "data": data,
                "id": f"e{number}",
                "timestamp": "t",
                "parentId": f"e{number - 1}" if number else None,
            }
        ).encode()
        + b"\n"
        for number, (kind, data) in enumerate(events)
    )


def messages(*events: Event) -> tuple[Message, ...]:
    (transcript,) = read(session(*events))[0].transcripts
    return transcript.messages


def texts(*events: Event) -> list[str]:
    return ["".join(part.text for part in message.parts) for message in messages(*events)]


def parents(data: bytes) -> list[tuple[str, str | None]]:
    values = [json.loads(line) for line in data.splitlines()]
    return [(value["id"], value["parentId"]) for value in values]


def test_the_fixture_is_one_conversation() -> None:
    data = FIXTURE.read_bytes()
    chunk = read(data)[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    assert (chunk.format.name, transcript.model, transcript.id) == (
        "copilot-cli",
        "gpt-5",
        "lamp-1",
    )
    assert [message.role for message in transcript.messages] == [
        *("system", "user", "assistant", "tool", "assistant", "user"),
    ]
    assert transcript.messages[1].parts[0].text.startswith("<time>08:00</time>")
    assert [part.kind for part in transcript.messages[2].parts] == [
        *("reasoning", "text", "tool_call"),
    ]
    assert run(data).data == data


def test_an_answer_is_removed_with_the_start_of_its_call_and_links_skip_it() -> None:
    start = ("tool.execution_start", {"toolCallId": "c1", "toolName": "view", "arguments": {}})
    old = [prompt(LONG), answer("I look.", "c1"), start, result("c1", LONG)]
    data = session(("session.start", {}), *old, prompt("And now?"))
    out = run(data, [("trim", {})], limit=20).data or b""
    assert parents(out) == [("e0", None), ("e5", "e0")]


def test_only_the_last_system_prompt_counts_and_a_dropped_one_is_emptied() -> None:
    events = [system("Old."), prompt("One."), system(LONG), prompt("Two.")]
    assert texts(*events) == [LONG, "One.", "Two."]
    settings = {"preserve_system_prompt": False}
    out = run(session(*events), [("trim", settings)], limit=30).data
    assert out == session(*events).replace(json.dumps(LONG).encode(), b'""')
    assert [message.role for message in read(out)[0].transcripts[0].messages] == ["user", "user"]


def test_instructions_of_the_developer_are_next_to_the_system_prompt() -> None:
    def developer(name: str, text: str) -> Event:
        return "system.message", {"content": text, "role": "developer", "name": name}

    events = [system("Rules."), developer("b", "Old."), developer("a", "A."), prompt("One.")]
    found = messages(*events, developer("b", "B."))
    assert [message.role for message in found] == ["system", "system", "system", "user"]
    assert texts(*events, developer("b", "B.")) == ["Rules.", "A.", "B.", "One."]


def test_a_compaction_replaces_what_came_before_unless_it_failed() -> None:
    written = {"summaryContent": "Half of it."}
    failed = ("session.compaction_complete", {"success": False, "error": "none"} | written)
    done = ("session.compaction_complete", {"success": True, "summaryContent": "In short."})
    assert texts(prompt("One."), failed, answer("Two.")) == ["One.", "Two."]
    assert texts(prompt("One."), done, answer("Two.")) == ["In short.", "Two."]
    assert messages(prompt("One."), done)[0].is_summary


def test_a_compaction_after_the_start_of_a_call_leaves_its_summary() -> None:
    start = ("tool.execution_start", {"toolCallId": "c1", "toolName": "view", "arguments": {}})
    done = ("session.compaction_complete", {"success": True, "summaryContent": LONG})
    old = [prompt("One."), answer("I look.", "c1"), start, result("c1", "Two.")]
    assert texts(*old, done) == [LONG]
    data = session(*old, done, prompt("Three."), answer("Four."), prompt("Five."))
    out = run(data, [("trim", {})], limit=30).data or b""
    assert start[0].encode() in out  # it is no part of the new context
    assert texts(*old, done, prompt("Three."), answer("Four.")) == [LONG, "Three.", "Four."]


def test_reasoning_before_a_session_was_resumed_is_not_sent_again() -> None:
    def thought(text: str) -> Event:
        return answer("Two.", "c1", reasoningText=text, encryptedContent="abc=")

    def kinds(**data: Any) -> list[list[str]]:
        resumed = ("session.resume", {"resumeTime": "t"} | data)
        events = (prompt("One."), thought("Hm."), resumed, thought("So."))
        return [[part.kind for part in message.parts] for message in messages(*events)[1:]]

    whole = ["reasoning", "reasoning", "text", "tool_call"]
    assert kinds() == [["text", "tool_call"], whole]
    assert kinds(sessionWasActive=True) == [whole, whole]


def test_the_model_is_not_that_of_a_subagent_or_of_a_compaction() -> None:
    others = (
        ("subagent.completed", {"toolCallId": "c1", "model": "claude-haiku-4.5"}),
        ("session.compaction_start", {"model": "gpt-4.1"}),
    )
    data = session(prompt("One."), answer("Two.", model="gpt-5"), *others)
    assert read(data)[0].transcripts[0].model == "gpt-5"


STARTED: Event = ("session.compaction_start", {})
DONE: Event = ("session.compaction_complete", {"success": True, "summaryContent": "In short."})


def test_what_was_said_while_a_compaction_ran_stays() -> None:
    after = (answer("Two."), prompt("Three."), DONE, answer("Four."))
    assert texts(prompt("One."), STARTED, *after) == ["In short.", "Two.", "Three.", "Four."]
    failed = ("session.compaction_complete", {"success": False, "error": "none"})
    assert texts(prompt("One."), STARTED, answer("Two."), failed, DONE) == ["In short."]


def test_a_result_after_the_start_of_a_compaction_keeps_its_call() -> None:
    early = (prompt("One."), answer("I look.", "c1", "c2"), result("c1", "A."))
    late = (result("c2", "B."), answer("Two."), DONE, prompt("Three."))
    found = messages(*early, STARTED, *late)
    assert [message.role for message in found] == [
        *("user", "assistant", "tool", "tool", "assistant", "user"),
    ]
    assert texts(STARTED, result("c2", "B."), answer("Two."), DONE) == ["In short.", "Two."]


def test_messages_since_the_start_of_a_compaction_are_edited() -> None:
    start = ("tool.execution_start", {"toolCallId": "c1", "toolName": "view", "arguments": {}})
    old = (answer(LONG, "c1"), start, result("c1", LONG), answer("Two."))
    data = session(prompt("One."), STARTED, *old, DONE, prompt("Three."))
    out = run(data, [("trim", {})], limit=60).data or b""
    assert b"execution" not in out
    assert LONG.encode() not in out


def test_the_count_after_a_compaction_is_an_estimate(ctxtrim: Run) -> None:
    events = (prompt("One."), DONE, answer("Two."))
    ran = ctxtrim("count", "--model", "gpt-4o", stdin=session(*events))
    assert "repeats next to a summary; not counted" in ran.out.decode() + ran.err
    assert tokens(ctxtrim, *events)[1] == "estimated"
    assert tokens(ctxtrim, *events, cleared(), prompt("Three."))[1] == "exact"


def test_a_dropped_summary_still_replaces_what_it_replaced() -> None:
    done = (DONE[0], {"success": True, "summaryContent": LONG})
    data = session(prompt("One."), answer("Two."), done, prompt("Three."))
    out = run(data, [("trim", {})], limit=20).data or b""
    assert json.loads(out.splitlines()[2])["data"]["summaryContent"] == " "
    assert [message.parts[0].text for message in read(out)[0].transcripts[0].messages] == [
        "Three.",
    ]
    empty = (DONE[0], {"success": True, "summaryContent": ""})  # Copilot CLI ignores it
    assert texts(prompt("One."), empty) == ["One."]


def test_no_message_can_come_before_the_summary_of_a_compaction() -> None:
    done = ("session.compaction_complete", {"success": True, "summaryContent": "In short."})
    (chunk,) = read(session(prompt("One."), done, answer("Two.")))
    transcript = chunk.transcripts[0]
    meant = replace(transcript, messages=(SUMMARY, *transcript.messages))
    with pytest.raises(NotEditableError, match="before the summary of a compaction"):
        written(chunk, FORMATS["copilot-cli"], meant)
    first, *others = transcript.messages
    between = replace(transcript, messages=(first, SUMMARY, *others))
    out = written(chunk, FORMATS["copilot-cli"], between)
    assert [message.parts[0].text for message in read(out)[0].transcripts[0].messages] == [
        "In short.", SUMMARY.parts[0].text, "Two.",
    ]  # fmt: skip


def cleared(**data: Any) -> Event:
    return "session.context_cleared", {"messagesCleared": 2} | data


def test_a_cleared_context_keeps_only_the_system_prompt_and_its_first_message() -> None:
    events = (system("Rules."), prompt("One."), answer("Two."))
    after = (prompt("Three."), answer("Four."))
    assert texts(*events, cleared(), *after) == ["Rules.", "Three.", "Four."]
    with_first = (*events, cleared(initialMessage="Carry on."), *after)
    assert texts(*with_first) == ["Rules.", "Carry on.", "Three.", "Four."]
    assert not messages(*with_first)[1].is_injected


def test_the_first_message_of_a_cleared_context_can_be_dropped() -> None:
    start = cleared(initialMessage=LONG)
    data = session(prompt("One."), start, answer("Two."), prompt("Three."), answer("Four."))
    out = run(data, [("trim", {})], limit=30).data or b""
    _, event, *others = (json.loads(line) for line in out.splitlines())
    assert event["data"] == {"messagesCleared": 2}
    assert [other["data"]["content"] for other in others] == ["Three.", "Four."]
    assert [message.role for message in read(out)[0].transcripts[0].messages] == [
        *("user", "assistant"),
    ]


def test_no_message_can_come_before_the_first_one_of_a_cleared_context() -> None:
    (chunk,) = read(session(prompt("One."), cleared(initialMessage="Go."), answer("Two.")))
    transcript = chunk.transcripts[0]
    meant = replace(transcript, messages=(SUMMARY, *transcript.messages))
    with pytest.raises(NotEditableError, match="first message of a cleared context"):
        written(chunk, FORMATS["copilot-cli"], meant)


def test_a_notice_of_a_new_mode_is_a_message_of_the_client() -> None:
    notice = ("session.mode_notice_delivered", {"mode": "plan", "content": LONG})
    events = (prompt("One."), notice, answer("Two."), prompt("Three."))
    assert texts(*events) == ["One.", LONG, "Two.", "Three."]
    assert [message.is_injected for message in messages(*events)] == [False, True, False, False]
    out = run(session(*events), [("trim", {})], limit=30).data or b""
    assert b"mode_notice" not in out


def test_events_of_subagents_and_of_the_client_are_not_sent() -> None:
    inner = answer("Inside.", parentToolCallId="c1")
    others = [inner, ("hook.start", {"input": {}}), ("assistant.reasoning", {"content": "hm"})]
    assert texts(prompt("One."), *others, answer("Two.")) == ["One.", "Two."]


def test_notifications_and_prompts_of_the_client_are_not_the_task() -> None:
    notice = ("system.notification", {"content": "The agent is done.", "kind": {}})
    found = messages(prompt("One."), notice, prompt("Go on.", source="autopilot"))
    assert [message.is_injected for message in found] == [False, True, True]


def test_a_notice_without_a_text_and_a_discovered_file_are_no_messages() -> None:
    found = {"content": "AGENTS.md", "kind": {"type": "instruction_discovered"}}
    events = (("session.mode_notice_delivered", {"mode": "plan"}), ("system.notification", found))
    assert texts(prompt("One."), *events, answer("Two.")) == ["One.", "Two."]


@pytest.mark.parametrize(
    "more",
    [
        {"isAutopilotContinuation": True},
        {"crossSession": {"version": 1, "origin": "authenticated-cross-session"}},
    ],
)
def test_a_prompt_that_no_person_typed_is_never_the_task(more: dict[str, Any]) -> None:
    task, nudge = prompt("Light the lamp."), prompt("You are not done. " * 20, **more)
    events = (task, answer("I go.", "c1"), result("c1", LONG), nudge, answer("I go on."))
    assert [message.is_injected for message in messages(*events)] == [
        *(False, False, False, True, False),
    ]
    kept = run(session(*events), [("trim", {})], limit=40).data or b""
    assert json.loads(kept.splitlines()[0])["data"]["content"] == "Light the lamp."


def test_a_failed_call_has_the_text_of_its_error() -> None:
    failed = ("tool.execution_complete", {"toolCallId": "c1", "success": False})
    error = (failed[0], failed[1] | {"error": {"message": LONG, "code": "denied"}})
    events = [prompt("Look."), answer("", "c1"), error]
    part = messages(*events)[2].result
    assert part is not None
    assert (part.text, part.is_error, part.call_id) == (LONG, True, "c1")
    assert messages(*events[:2], failed)[2].result is not None


def test_an_attached_picture_is_counted_and_stays() -> None:
    blob = {"type": "blob", "data": PICTURE, "mimeType": "image/png"}
    data = session(prompt("Look.", attachments=[blob]), answer("A lamp."))
    text, label, image = read(data)[0].transcripts[0].messages[0].parts
    assert (text.text, label.text, image.kind) == ("Look.", "\n\nAttached image", "attachment")
    assert run(data, [("drop-images", {"max_age": 0})]).data == data


def test_an_attached_picture_is_converted() -> None:
    blob = {"type": "blob", "data": PICTURE, "mimeType": "image/png"}
    data = session(prompt("Look.", attachments=[{"type": "file"}, blob]), answer("A lamp."))
    found = convert(read(data)[0].transcripts[0], "anthropic")
    assert PICTURE in (found.text or "")
    assert found.findings == ()


ASSET = ("session.binary_asset", {"assetId": "a1", "data": PICTURE, "mimeType": "image/png"})
NAMED = {"assetId": "a1", "mimeType": "image/png", "byteLength": 9}
OMITTED = {"omittedReason": "too_large", "mimeType": "image/png", "byteLength": 9}


def tokens(ctxtrim: Run, *events: Event) -> tuple[int, str]:
    ran = ctxtrim("count", "--model", "gpt-4o", "--json", stdin=session(*events))
    (row,) = json.loads(ran.out)["transcripts"]
    return row["tokens"], row["exactness"]


def test_a_picture_in_an_event_of_its_own_counts_where_it_is_used(ctxtrim: Run) -> None:
    def used(attachment: dict[str, Any], *assets: Event) -> tuple[int, str]:
        look = prompt("Look.", attachments=[attachment | {"type": "blob"}])
        return tokens(ctxtrim, look, answer("A lamp."), *assets)

    inline = used({"data": PICTURE, "mimeType": "image/png"})
    file = prompt("Look.", attachments=[NAMED | {"type": "file", "path": "/lamp.png"}])
    assert used(NAMED, ASSET) == inline
    assert inline[0] <= tokens(ctxtrim, ASSET, file, answer("A lamp."))[0] < inline[0] + 20
    for absent in (NAMED, OMITTED):
        found = used(absent)
        assert (found[0] > inline[0], found[1]) == (True, "bounded")


def test_a_picture_with_only_a_path_counts_as_one_without_data(ctxtrim: Run) -> None:
    def used(*attachments: dict[str, Any]) -> tuple[int, str]:
        return tokens(ctxtrim, prompt("Look.", attachments=list(attachments)), answer("A lamp."))

    absent, named = used(OMITTED | {"type": "blob"}), used({"type": "file", "path": "/lamp.PNG"})
    assert absent[0] <= named[0] < absent[0] + 20
    assert absent[1] == named[1] == "bounded"


@pytest.mark.parametrize(
    ("attachment", "line"),
    [
        ({"type": "file", "path": "/a.py"}, "* /a.py (1000000 lines)"),
        (
            {"type": "file", "path": "/a.py", "lineRange": {"start": 3, "end": 9}},
            "* /a.py (lines 3-9 of 1000000 lines)",
        ),
        ({"type": "directory", "path": "/a", "taggedFilesEntry": "* /a (2)"}, "* /a (2)"),
    ],
)
def test_a_prompt_names_its_files(attachment: dict[str, Any], line: str) -> None:
    (message,) = messages(prompt("Look.", attachments=[attachment]))
    assert [part.text for part in message.parts] == [
        "Look.", f"\n\n<tagged_files>\n{line}\n</tagged_files>",
    ]  # fmt: skip


def test_a_prompt_names_issues_but_not_a_selection() -> None:
    issue = {
        "type": "github_reference",
        "number": 7,
        "title": "No light",
        "referenceType": "issue",
        "state": "open",
        "url": "https://lamps.example/7",
    }
    selection = {"type": "selection", "filePath": "/a.py", "text": "x"}  # in transformedContent
    (message,) = messages(prompt("Look.", attachments=[selection, issue]))
    words = "#7 - No light [issue] [open] (https://lamps.example/7)"
    assert message.parts[1].text == f"\n\n<github_references>\n{words}\n</github_references>"
    assert [part.text for part in messages(prompt("Look.", attachments=[selection]))[0].parts] == [
        "Look.",
    ]


def test_a_picture_of_a_result_counts(ctxtrim: Run) -> None:
    def returned(*binaries: dict[str, Any]) -> tuple[int, str]:
        shown = {"content": "Done.", "binaryResultsForLlm": [*binaries]}
        events = (prompt("Look."), answer("", "c1"), result("c1", "", result=shown))
        return tokens(ctxtrim, *events, ASSET)

    inline = returned({"type": "image", "data": PICTURE, "mimeType": "image/png"})
    assert inline == returned(NAMED | {"type": "image"})
    assert returned()[0] < inline[0] < returned(OMITTED | {"type": "image"})[0]


def test_a_picture_in_an_event_of_its_own_is_converted() -> None:
    data = session(prompt("Look.", attachments=[NAMED | {"type": "blob"}]), answer("Hm."), ASSET)
    found = convert(read(data)[0].transcripts[0], "anthropic")
    assert PICTURE in (found.text or "")
    assert found.findings == ()


def test_what_a_tool_of_the_provider_returned_counts_with_the_answer(ctxtrim: Run) -> None:
    tools = {"provider": "openai", "items": [{"type": "web_search_call", "query": LONG}]}
    searched = answer("Found.", serverTools=tools)
    plain, found = (
        tokens(ctxtrim, prompt("Search."), each) for each in (answer("Found."), searched)
    )
    assert (found[0] > plain[0] + 800, found[1]) == (True, "bounded")
    data = session(prompt("Search."), searched, prompt("And now?"))
    assert parents(run(data, [("trim", {})], limit=20).data or b"") == [("e2", None)]


def typed(output: str) -> tuple[Event, Event, Event]:
    """A command that the person ran."""
    call = {"toolCallId": "u1", "toolName": "bash", "arguments": {"command": "ls"}}
    return (
        ("tool.user_requested", call),
        ("tool.execution_start", call),
        result("u1", output, isUserRequested=True),
    )


def test_a_command_of_the_person_is_a_message_of_the_client(ctxtrim: Run) -> None:
    events = (*typed("two lamps"), prompt("Hello."), answer("Hi."))
    assert [message.role for message in messages(*events)] == ["user", "user", "assistant"]
    assert messages(*events)[0].is_injected
    assert ctxtrim("check", "--model", "gpt-4o", stdin=session(*events)).code == 0
    request = convert(read(session(*events))[0].transcripts[0], "openai-chat")
    assert request.findings == ()
    assert all(words in (request.text or "") for words in ('\\"ls\\"', "two lamps"))
    less, more = (tokens(ctxtrim, *typed(text), prompt("Hello.")) for text in ("", LONG))
    assert (more[0] > less[0] + 800, more[1]) == (True, "bounded")


def test_a_command_of_the_person_is_removed_with_its_result() -> None:
    data = session(prompt("One."), *typed(LONG), answer("Two."), prompt("Three."))
    expected = [("e0", None), ("e4", "e0"), ("e5", "e4")]
    assert parents(run(data, [("trim", {})], limit=20).data or b"") == expected
    request, _, done = typed("two lamps")
    compaction = ("session.compaction_complete", {"success": True, "summaryContent": "In short."})
    assert texts(request, compaction, done, answer("Two.")) == ["In short.", "two lamps", "Two."]


def test_a_result_is_shortened_and_the_copy_for_the_screen_stays() -> None:
    shown = result("c1", LONG, result={"content": LONG, "detailedContent": "short"})
    data = session(prompt("Look."), answer("", "c1"), shown)
    out = run(data, [("truncate", {"max_tokens": 60})]).data or b""
    changed = json.loads(out.splitlines()[2])["data"]["result"]
    assert "truncated" in changed["content"]
    assert changed["detailedContent"] == "short"


def test_a_call_without_a_result_gets_one_that_reads_back() -> None:
    data = session(prompt("Look."), answer("", "c1"), prompt("And?"))
    stages = [("repair", {"repair": "synthesize"})]
    out = run(data, stages).data or b""
    _, call, made, _ = (json.loads(line) for line in out.splitlines())
    assert (made["type"], made["data"]["toolCallId"]) == ("tool.execution_complete", "c1")
    assert (made["data"]["success"], made["parentId"]) == (True, call["id"])
    assert run(out, stages).data == out
