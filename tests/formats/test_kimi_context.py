"""Contexts of Kimi CLI (`context.jsonl`): messages of Chat Completions, and other records."""

import json
from typing import Any

from harness import read, run
from insertions import written
from msgspec.structs import replace

from ctxtrim.model import Message

LONG = "a rope of hemp " * 200


def checkpoint(number: int) -> dict[str, Any]:
    return {"role": "_checkpoint", "id": number}


def used(tokens: int) -> dict[str, Any]:
    return {"role": "_usage", "token_count": tokens}


def said(role: str, *texts: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]} | more


def step(name: str) -> list[dict[str, Any]]:
    """An answer with a call, its recorded tokens and its result."""
    call = {"type": "function", "id": name, "function": {"name": "Shell", "arguments": "{}"}}
    thought = {"type": "think", "think": f"I look at {name}.", "encrypted": "c2VhbGVk"}
    answer = {"role": "assistant", "content": [thought], "tool_calls": [call]}
    return [answer, used(7), said("tool", "<system>ok</system>", LONG, tool_call_id=name)]


PROMPT = {"role": "_system_prompt", "content": "You tie knots."}
CONTEXT = (
    PROMPT,
    checkpoint(0),
    said("user", "<system>CHECKPOINT 0</system>"),
    said("user", LONG),
    checkpoint(1),
    *step("c1"),
    checkpoint(2),
    said("assistant", "Tied."),
    used(8),
    said("user", "And now?"),
    *step("c2"),
)


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def messages(*values: Any) -> tuple[Message, ...]:
    (transcript,) = read(lines(*values))[0].transcripts
    assert transcript.uncounted == 0
    return transcript.messages


def test_the_prompt_and_thoughts_count_and_records_are_no_messages() -> None:
    found = messages(*CONTEXT)
    assert [message.role for message in found] == [
        *("system", "user", "user", "assistant", "tool", "assistant", "user", "assistant", "tool")
    ]
    assert [part.kind for part in found[3].parts] == ["reasoning", "tool_call"]
    assert found[3].parts[0].text == "I look at c1."
    assert [message.is_injected for message in found[:3]] == [False, True, False]
    assert run(lines(*CONTEXT)).data == lines(*CONTEXT)


def test_the_output_of_a_compaction_is_a_summary() -> None:
    note = "<system>Previous context has been compacted. Here is the compaction output:</system>"
    _, summary, prompt = messages(PROMPT, said("user", note, "Tied."), said("user", "And?"))
    assert (summary.is_summary, summary.is_injected) == (True, True)
    assert (prompt.is_summary, prompt.is_injected) == (False, False)


def test_an_edit_removes_the_recorded_tokens_after_it() -> None:
    old = (PROMPT, checkpoint(0), said("user", "Begin."), used(3), *CONTEXT[3:])
    chunk = read(lines(*old))[0]
    (parsed,) = chunk.transcripts
    kept = (*parsed.messages[:2], *parsed.messages[5:])
    assert chunk.format is not None
    out = written(chunk, chunk.format, replace(parsed, messages=kept))
    records = [value for value in map(json.loads, out.splitlines()) if value["role"][0] == "_"]
    assert records == [PROMPT, checkpoint(0), used(3), checkpoint(1), checkpoint(2)]
    assert [message.role for message in messages(*map(json.loads, out.splitlines()))] == [
        *("system", "user", "assistant", "user", "assistant", "tool")
    ]
