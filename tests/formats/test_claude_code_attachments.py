"""Claude Code: attachments, local commands, prompts of the client, and results that it replaces."""

import json
from typing import Any

import pytest
from builders_claude import (
    Event,
    answers,
    call_line,
    line,
    role_texts,
    says,
    session,
    transcript,
)
from conftest import Run
from harness import read
from insertions import written
from msgspec.structs import replace
from pictures import PICTURE

from ctxtrim.formats import FORMATS
from ctxtrim.model import Message

LONG = "tide table of the harbour " * 40


def attached(uuid: str, parent: str | None, **attachment: Any) -> Event:
    return line(uuid, parent, "attachment", attachment=attachment)


def texts_of(**attachment: Any) -> list[str]:
    """The texts that are read from an attachment, after a prompt and before an answer."""
    parsed = transcript(
        line("u1", None, "user", "go"),
        attached("t1", "u1", **attachment),
        says("a1", "t1", "m1", type="text", text="Done."),
    )
    return [text for _, text in role_texts(parsed)[1:-1]]


def image_block() -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    return {"type": "image", "source": source}


@pytest.mark.parametrize(
    ("attachment", "text"),
    [
        (
            {"type": "model", "identity": {"id": "m"}, "text": "You are a pilot."},
            "You are a pilot.",
        ),
        ({"type": "date_change", "newDate": "2026-10-02"}, "2026-10-02"),
        (
            {"type": "instructions", "files": [{"path": "A.md", "content": "Use knots."}]},
            "A.md\nUse knots.",
        ),
        (
            {"type": "deferred_tools_delta", "addedNames": ["x"], "addedLines": ["Tide", "Wind"]},
            "Tide\nWind",
        ),
        ({"type": "mcp_instructions_delta", "addedBlocks": ["## buoys"]}, "## buoys"),
        (
            {
                "type": "nested_memory",
                "path": "sub/A.md",
                "content": {"path": "sub/A.md", "content": "Moor first.", "rawContent": "Moor"},
            },
            "sub/A.md\nMoor first.",
        ),
        (
            {"type": "hook_success", "hookEvent": "SessionStart", "hookName": "s", "content": "hi"},
            "s\nhi",
        ),
        ({"type": "a_kind_of_next_year", "words": "ahoy"}, '{"type":"a_kind_of_next_year",'),
        ({"type": "skill_listing", "content": "- moor", "names": ["moor"]}, "- moor"),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)
def test_attachments_count_with_the_text_that_is_sent(
    attachment: dict[str, Any], text: str
) -> None:
    [found] = texts_of(**attachment)
    assert found == text or (text.endswith(",") and found.startswith(text))


@pytest.mark.parametrize(
    "attachment",
    [
        {"type": "command_permissions", "allowedTools": ["Bash"]},
        {"type": "hook_non_blocking_error", "stderr": "no"},
        {"type": "hook_success", "hookEvent": "PostToolUse", "content": "formatted"},
        {"type": "hook_success", "hookEvent": "SessionStart", "content": ""},
        {"type": "hook_additional_context", "hookName": "s", "content": []},
        {"type": "batching_reminder_sent", "text": "sent before"},
    ],
    ids=lambda value: value["type"],
)
def test_attachments_that_the_client_hides_are_not_counted(attachment: dict[str, Any]) -> None:
    assert texts_of(**attachment) == []


def queued(**attachment: Any) -> Message:
    """The message of a queued command."""
    parsed = transcript(
        line("u1", None, "user", "sail north"),
        attached("t1", "u1", type="queued_command", **attachment),
    )
    return parsed.messages[1]


def test_a_prompt_that_was_typed_while_the_model_worked_is_the_current_task(ctxtrim: Run) -> None:
    typed = queued(prompt="No, sail south.", commandMode="prompt", origin={"kind": "human"})
    assert (typed.is_injected, typed.parts[0].text) == (False, "No, sail south.")
    assert not queued(prompt="No, sail south.").is_injected
    for client in (
        {"commandMode": "task-notification"},
        {"commandMode": "prompt", "origin": {"kind": "peer"}},
        {"commandMode": "prompt", "isMeta": True},
    ):
        assert queued(prompt="A task ended.", **client).is_injected
    events = (
        line("u1", None, "user", "sail north"),
        says("a1", "u1", "m1", type="text", text=LONG),
        attached("t1", "a1", type="queued_command", prompt="No, sail south."),
        says("a2", "t1", "m2", type="text", text="South."),
    )
    ran = ctxtrim("trim", "--budget", "60", stdin=session(*events))
    assert [json.loads(row)["uuid"] for row in ran.out.splitlines()] == ["t1", "a2"]


REMINDER = "<system-reminder>\nThe message of the user: No, sail south.\n</system-reminder>"


def sent(*contents: Any, **attachment: Any) -> Event:
    """An attachment with a record of what the client sent."""
    rendered = [{"content": content} for content in contents]
    return attached("t1", "a1", **attachment) | {"rendered": rendered, "renderedRole": "system"}


def with_sent(event: Event) -> bytes:
    """A session with an attachment before its last answer."""
    return session(
        line("u1", None, "user", "sail north"),
        says("a1", "u1", "m1", type="text", text=LONG),
        event,
        says("a2", "t1", "m2", type="text", text="South."),
    )


def test_an_attachment_counts_as_the_client_recorded_to_have_sent_it() -> None:
    listing = "<system-reminder>\nSkills:\n- moor\n</system-reminder>"
    event = sent(listing, type="skill_listing", content="- moor", names=["moor"])
    (talk,) = read(with_sent(event))[0].transcripts
    assert role_texts(talk)[2] == ("user", listing)
    assert talk.messages[2].is_injected
    hidden = sent("Sent.", type="hook_cancelled")
    assert role_texts(read(with_sent(hidden))[0].transcripts[0])[2] == ("user", "Sent.")
    for event in (sent(type="skill_listing", content="- moor"), sent(type="next_year")):
        assert len(read(with_sent(event))[0].transcripts[0].messages) == 3


def test_a_queued_prompt_with_a_record_of_what_was_sent_is_the_current_task(ctxtrim: Run) -> None:
    event = sent(REMINDER, type="queued_command", prompt="No, sail south.")
    (chunk,) = read(with_sent(event))
    (talk,) = chunk.transcripts
    assert role_texts(talk)[2] == ("user", REMINDER)
    assert not talk.messages[2].is_injected
    ran = ctxtrim("trim", "--budget", "60", stdin=with_sent(event))
    assert [json.loads(row)["uuid"] for row in ran.out.splitlines()] == ["t1", "a2"]
    for client in ({"origin": {"kind": "peer"}}, {"prompt": "<task-notification>done"}):
        event = sent("Done.", **{"type": "queued_command", "prompt": "Done."} | client)
        assert read(with_sent(event))[0].transcripts[0].messages[2].is_injected
        ran = ctxtrim("trim", "--budget", "60", stdin=with_sent(event))
        assert [json.loads(row)["uuid"] for row in ran.out.splitlines()] == ["u1", "a2"]


def test_what_was_sent_for_an_attachment_can_be_edited() -> None:
    event = sent([{"type": "text", "text": "See:"}, image_block()], type="queued_command")
    (chunk,) = read(with_sent(event))
    (talk,) = chunk.transcripts
    message = talk.messages[2]
    assert [part.kind for part in message.parts] == ["text", "attachment"]
    text = replace(message.parts[0], text="Look:")
    edited = replace(message, parts=(text, message.parts[1]))
    meant = replace(talk, messages=(*talk.messages[:2], edited, *talk.messages[3:]))
    events = list(map(json.loads, written(chunk, FORMATS["claude-code"], meant).splitlines()))
    assert events[2]["rendered"][0]["content"][0]["text"] == "Look:"


def test_calls_count_with_the_input_that_the_model_wrote() -> None:
    call = call_line("a1", "u1", "m1", "c1")
    wire = {"c1": {"command": "cd /srv && ls"}, "c9": {}}
    parsed = transcript(line("u1", None, "user", "go"), call | {"wireToolInputs": wire})
    assert role_texts(parsed)[1] == ("assistant", '{"command":"cd /srv && ls"}')
    parsed = transcript(line("u1", None, "user", "go"), call | {"wireToolInputs": None})
    assert role_texts(parsed)[1] == ("assistant", '{"command":"ls"}')


def test_images_of_attachments_are_images(ctxtrim: Run) -> None:
    message = queued(prompt=[{"type": "text", "text": "See:"}, image_block()])
    assert [part.kind for part in message.parts] == ["text", "attachment"]
    file = {"base64": PICTURE, "type": "image/png"}
    parsed = transcript(
        line("u1", None, "user", "go"),
        attached(
            "t1", "u1", type="file", filename="a.png", content={"type": "image", "file": file}
        ),
    )
    assert [part.kind for part in parsed.messages[1].parts] == ["text", "attachment"]
    assert parsed.messages[1].parts[0].text == "a.png"
    assert parsed.messages[1].parts[1].media == message.parts[1].media


def test_an_image_of_a_queued_prompt_can_be_dropped() -> None:
    data = session(
        line("u1", None, "user", "go"),
        attached(
            "t1",
            "u1",
            type="queued_command",
            prompt=[{"type": "text", "text": "See:"}, image_block()],
        ),
        says("a1", "t1", "m1", type="text", text="Seen."),
    )
    (chunk,) = read(data)
    (talk,) = chunk.transcripts
    first, queue, last = talk.messages
    meant = replace(talk, messages=(first, replace(queue, parts=queue.parts[:1]), last))
    events = list(map(json.loads, written(chunk, FORMATS["claude-code"], meant).splitlines()))
    assert events[1]["attachment"]["prompt"] == [{"type": "text", "text": "See:"}]


def test_the_output_of_a_local_command_is_sent() -> None:
    output = "<local-command-stdout>42 knots</local-command-stdout>"
    parsed = transcript(
        line("u1", None, "user", "go"),
        line("s1", "u1", "system", subtype="local_command") | {"content": output},
        line("s2", "s1", "system", subtype="turn_duration") | {"content": "3 s"},
        line("u2", "s2", "user", "and now?"),
    )
    assert role_texts(parsed)[1] == ("user", output)
    assert [message.is_injected for message in parsed.messages] == [False, True, False]


TOOLS = [{"name": "Tide", "description": "Reads the tide.", "schema": {"type": "object"}}]


def with_prompt() -> tuple[Event, ...]:
    """A session that records its prompt: first without tools, then with them, and a subagent's."""
    snapshot = {"type": "prompt_snapshot", "systemPrompt": ["You are a pilot.", "Be brief."]}
    side = {"type": "prompt_snapshot", "systemPrompt": ["You are a deckhand."], "tools": []}
    return (
        line("n1", None, "attachment", attachment={**snapshot, "systemPrompt": ["Draft."]}),
        line("n2", "n1", "attachment", attachment={**snapshot, "tools": TOOLS}),
        line("u1", "n2", "user", LONG),
        line("x1", None, "attachment", attachment=side) | {"isSidechain": True},
        says("a1", "u1", "m1", type="text", text="Aye."),
        line("u2", "a1", "user", "Cast off."),
    )


def test_the_last_snapshot_of_the_prompt_is_the_system_prompt() -> None:
    parsed = transcript(*with_prompt())
    assert role_texts(parsed)[0] == ("system", "You are a pilot. | Be brief.")
    assert json.loads(parsed.tools or "") == [
        {"name": "Tide", "description": "Reads the tide.", "input_schema": {"type": "object"}}
    ]
    assert [message.index for message in parsed.messages] == [0, 1, 2, 3]


def test_snapshots_of_the_prompt_stay_when_messages_are_dropped(ctxtrim: Run) -> None:
    ran = ctxtrim("trim", "--budget", "200", stdin=session(*with_prompt()))
    left = [json.loads(row) for row in ran.out.splitlines()]
    assert [event["uuid"] for event in left] == ["n1", "n2", "x1", "u2"]
    assert left[3]["parentUuid"] == "n2"


def test_results_count_as_the_client_replaced_them() -> None:
    row = {
        "type": "content-replacement",
        "sessionId": "s",
        "replacements": [{"kind": "tool-result", "toolUseId": "c1", "replacement": "(stored)"}],
    }
    events = (
        line("u1", None, "user", "go"),
        call_line("a1", "u1", "m1", "c1"),
        answers("r1", "a1", "c1", LONG),
        says("a2", "r1", "m2", type="text", text="Done."),
    )
    parsed = transcript(*events, row)
    assert role_texts(parsed)[2] == ("tool", "(stored)")
    assert parsed.messages[2].parts[0].span is None
    of_a_subagent = row | {"agentId": "a"}
    assert role_texts(transcript(*events, of_a_subagent))[2] == ("tool", LONG)


def test_file_history_of_a_dropped_prompt_is_dropped(ctxtrim: Run) -> None:
    delta = {"type": "file-history-delta", "snapshotMessageId": "u1", "trackingPath": "a.py"}
    data = session(
        line("u1", None, "user", LONG),
        {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
        says("a1", "u1", "m1", type="text", text=LONG),
        delta | {"messageId": "a1"},
        line("u2", "a1", "user", "and now?"),
        delta | {"messageId": "u2", "snapshotMessageId": "u2"},
        says("a2", "u2", "m2", type="text", text="Done."),
    )
    out = ctxtrim("trim", "--budget", "60", stdin=data).out
    left = [json.loads(row) for row in out.splitlines()]
    assert [event.get("uuid", event["type"]) for event in left] == [
        "u2",
        "file-history-delta",
        "a2",
    ]
