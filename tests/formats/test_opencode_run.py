"""The output of `opencode run --format json`: parts of answers, one per line."""

import json
from typing import Any

from harness import read, run
from insertions import SUMMARY, format_of, insert_positions, written
from msgspec.structs import replace

from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Message, Part, Transcript

LONG = "a heron stands in the shallows\n" * 200
KINDS = {"text": "text", "reasoning": "reasoning", "tool": "tool_use"}


def event(kind: str, session: str = "ses_1", **more: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": 1766204176981, "sessionID": session} | more


def part(kind: str, name: str, session: str = "ses_1", **more: Any) -> dict[str, Any]:
    ids = {"id": f"prt_{name}", "sessionID": session, "messageID": "msg_1"}
    value = ids | {"type": kind} | more
    return event(KINDS.get(kind, kind.replace("-", "_")), session, part=value)


def tool(name: str, text: str, **state: Any) -> dict[str, Any]:
    time = {"start": 1, "end": 2}
    done = {"status": "completed", "input": {"path": f"{name}.md"}, "output": text, "time": time}
    metadata = {"metadata": {"truncated": False}}
    return part("tool", name, callID=f"call_{name}", tool="look", state=done | metadata | state)


def step(name: str, *inner: dict[str, Any], session: str = "ses_1") -> list[dict[str, Any]]:
    tokens = {"input": 40, "output": 5, "reasoning": 0, "cache": {"read": 60, "write": 0}}
    return [
        part("step-start", f"{name}a", session),
        *inner,
        part("step-finish", f"{name}z", session, reason="stop", tokens=tokens, cost=0.1),
    ]


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in events)


def transcripts(*events: dict[str, Any]) -> list[Transcript]:
    (chunk,) = read(stream(*events))
    return list(chunk.transcripts)


def shown(transcript: Transcript) -> list[tuple[str, list[tuple[str, str]]]]:
    return [
        (message.role, [(part.kind, part.text) for part in message.parts])
        for message in transcript.messages
    ]


STEP_1 = step(
    "1",
    part("reasoning", "1b", text="Hm."),
    part("text", "1c", text="I look.", time={"start": 1, "end": 2}),
    tool("1d", "wading"),
    tool("1e", "", status="error", error="no such file"),
)
STEP_2 = step("2", part("text", "2b", text="It wades."))
LAST = event("done", reason="idle", rejected=[])


def test_a_step_is_an_answer_and_its_results() -> None:
    data = stream(*STEP_1, *STEP_2, LAST)
    reading = open_reading(data.splitlines(keepends=True))
    assert reading.format is not None
    assert (reading.format.name, reading.detection.is_mixed) == ("opencode-run", False)
    (found,) = transcripts(*STEP_1, *STEP_2, LAST)
    read_input = '{"path":"1d.md"}', '{"path":"1e.md"}'
    assert shown(found) == [
        (
            "assistant",
            [
                ("reasoning", "Hm."),
                ("text", "I look."),
                *(("tool_call", text) for text in read_input),
            ],
        ),
        ("tool", [("tool_result", "wading")]),
        ("tool", [("tool_result", "no such file")]),
        ("assistant", [("text", "It wades.")]),
    ]
    assert [message.result.is_error for message in found.messages if message.result] == [None, True]
    assert (found.id, found.uncounted) == ("ses_1", 0)
    assert [(usage.prompt_tokens, usage.message) for usage in found.usages] == [(100, 0), (100, 3)]
    assert run(data).data == data


def test_a_result_is_shortened_and_a_step_is_removed_with_its_lines() -> None:
    old = step("0", part("text", "0b", text="First."), tool("0c", LONG))
    data = stream(*old, *STEP_2, LAST)
    out = run(data, [("truncate", {"max_tokens": 50})]).data or b""
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[:2] + lines[3:] == [*old[:2], *old[3:], *STEP_2, LAST]
    assert lines[2]["part"]["state"]["output"].startswith("a heron")
    assert len(lines[2]["part"]["state"]["output"]) < 600
    ran = run(data, [("trim", {})], limit=20)
    assert (ran.data, ran.findings) == (stream(*STEP_2, LAST), ())


def test_debug_members_of_a_result_are_read_again() -> None:
    """Those that the preset `rolling` writes, also if opencode wrote the part twice."""
    old = step("0", part("text", "0b", text="First."), tool("0c", LONG), tool("0c", LONG + "!"))
    data = stream(*old, *STEP_2, LAST)
    truncate = [("truncate", {"max_tokens": 50, "metadata": True})]
    ran = run(data, truncate)
    out = ran.data or b""
    assert (ran.findings, f'"_originalLength": {len(LONG) + 1}' in out.decode()) == ((), True)
    assert run(out, truncate).data == out


def test_each_session_is_a_transcript() -> None:
    other = step("3", part("text", "3b", "ses_2", text="Elsewhere."), session="ses_2")
    mixed = [*STEP_1[:3], *other[:2], *STEP_1[3:], *other[2:]]
    found = transcripts(*mixed)
    assert [transcript.id for transcript in found] == ["ses_1", "ses_2"]
    assert shown(found[0]) == shown(transcripts(*STEP_1)[0])
    assert shown(found[1]) == [("assistant", [("text", "Elsewhere.")])]


def test_texts_that_opencode_sends_itself_are_prompts() -> None:
    note = part("text", "9", text="Continue if you have next steps", synthetic=True)
    (found,) = transcripts(*STEP_2, note, *STEP_1)
    assert [message.role for message in found.messages] == [
        "assistant", "user", "assistant", "tool", "tool",
    ]  # fmt: skip
    assert found.messages[1].is_injected


def test_a_part_that_is_written_again_counts_once_and_is_removed_everywhere() -> None:
    cleared = tool("0c", LONG, time={"start": 1, "end": 2, "compacted": 3})
    old = step("0", tool("0c", LONG))
    (found,) = transcripts(*old, *STEP_2, cleared)
    assert shown(found)[1] == ("tool", [("tool_result", "[Old tool result content cleared]")])
    assert found.usages == ()
    ran = run(stream(*old, *STEP_2, cleared), [("trim", {})], limit=12)
    assert ran.data == stream(*STEP_2)


def test_new_messages_are_texts_of_the_session() -> None:
    data = stream(*STEP_1, *STEP_2, LAST)
    (chunk,) = read(data)
    (found,) = chunk.transcripts
    answer = Message("assistant", (Part("text", "So far."),))
    for position in insert_positions(found):
        messages = (*found.messages[:position], SUMMARY, answer, *found.messages[position:])
        out = written(chunk, format_of(data), replace(found, messages=messages))
        lines = [json.loads(line) for line in out.splitlines()]
        new = [line for line in lines if line not in (*STEP_1, *STEP_2, LAST)]
        assert [line for line in lines if line not in new] == [*STEP_1, *STEP_2, LAST]
        assert [line["part"].get("synthetic") for line in new] == [True, None]
        assert {line["sessionID"] for line in new} == {"ses_1"}
        at = lines.index(new[0])
        assert at in (0, len(STEP_1), len(STEP_1) + len(STEP_2))


def test_other_events_are_not_taken_for_parts() -> None:
    reading = open_reading(stream(event("error", error={"name": "x"}), LAST).splitlines(True))
    assert reading.format is None
    odd = {"type": "text", "part": {"type": "text", "text": "alone"}}
    assert open_reading([json.dumps(odd).encode()]).format is None
