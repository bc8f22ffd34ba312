"""Blocks of Chat Completions that compatible APIs and clients write."""

import json
from typing import Any

from builders import conversation, says, user
from conftest import Run
from harness import read

from ctxtrim.model import Message

DEEP = "The tide is out, so I subtract two fathoms. "


def answer(*blocks: Any, **envelope: Any) -> Message:
    """The answer with some blocks, as it is read."""
    data = conversation([user("How deep?"), says("") | {"content": list(blocks)}], **envelope)
    (found,) = read(data)[0].transcripts
    return found.messages[-1]


def thinking(*texts: str) -> dict[str, Any]:
    """Reasoning as Mistral writes it."""
    return {"type": "thinking", "thinking": [{"type": "text", "text": text} for text in texts]}


def test_thinking_of_mistral_is_reasoning(ctxtrim: Run) -> None:
    text = {"type": "text", "text": "Seven fathoms."}
    found = answer(thinking(DEEP, "Seven."), text, model="magistral-medium-2509")
    assert [(part.kind, part.text) for part in found.parts] == [
        ("reasoning", f"{DEEP}Seven."),
        ("text", "Seven fathoms."),
    ]
    reply = {"role": "assistant", "content": [thinking(DEEP), text]}
    talk = [user("How deep?"), reply]
    (row,) = json.loads(ctxtrim("count", "--json", stdin=conversation(talk)).out)["transcripts"]
    assert row["by_kind"]["reasoning"] > row["by_kind"]["text"] > 0
    for target in ("openai-chat", "gemini"):
        ran = ctxtrim("convert", "--to", target, stdin=conversation(talk, model="magistral-small"))
        assert DEEP.strip() in ran.out.decode()
        assert "lost" not in ran.err
    lines = b"".join(json.dumps(message).encode() + b"\n" for message in talk)
    (chunk,) = read(lines)
    assert chunk.transcripts[0].messages[1].parts[0].kind == "reasoning"


def test_a_citation_in_thinking_of_mistral_counts_as_its_json() -> None:
    cited = {"type": "reference", "reference_ids": [1]}
    block = thinking(DEEP) | {"thinking": [{"type": "text", "text": DEEP}, cited]}
    (part,) = answer(block).parts
    assert (part.kind, part.text) == ("reasoning", DEEP + json.dumps(cited, separators=(",", ":")))
