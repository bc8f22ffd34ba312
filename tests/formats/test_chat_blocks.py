"""Blocks of Chat Completions that compatible APIs and clients write."""

import json
from typing import Any

import pytest
from builders import call, conversation, says, user
from conftest import Run
from harness import read
from pictures import png

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


def test_blocks_of_qwen_agent_have_no_type(ctxtrim: Run) -> None:
    picture = f"data:image/png;base64,{png(200, 100)}"
    blocks = [{"image": picture, "min_pixels": 4}, {"text": "How deep?", "video": None}]
    talk = [
        {"role": "system", "content": "Sound it."},
        {"role": "user", "content": blocks},
        says("") | {"function_call": {"name": "sound", "arguments": "{}"}},
        {"role": "function", "name": "sound", "content": [{"text": "Seven. " * 60}]},
        says("") | {"content": [{"text": "Seven fathoms."}]},
        user("And now?"),
    ]
    data = conversation(talk, model="gpt-4o")
    (found,) = read(data)[0].transcripts
    kinds = [[(part.kind, part.text) for part in message.parts] for message in found.messages]
    assert kinds[1] == [("attachment", ""), ("text", "How deep?")]
    assert kinds[3:5] == [[("tool_result", "Seven. " * 60)], [("text", "Seven fathoms.")]]
    image = found.messages[1].parts[0].media
    assert image is not None
    assert (image.kind, image.width, image.height) == ("image", 200, 100)
    cut = json.loads(ctxtrim("truncate", "--max-tokens", "20", stdin=data).out)
    assert list(cut["messages"][3]["content"][0]) == ["text"]
    dropped = json.loads(ctxtrim("run", "-s", "drop-images:max-age=0", stdin=data).out)
    assert [list(block)[:1] for block in dropped["messages"][1]["content"]] == [["text"], ["text"]]
    converted = ctxtrim("convert", "--to", "anthropic", stdin=data)
    assert json.loads(converted.out)["messages"][0]["content"][0]["type"] == "image"


def test_other_blocks_without_a_type_count_as_their_json() -> None:
    other = [{"image": {"id": 1}}, {"image": "a.png", "note": "b"}, {"text": "a", "title": "b"}]
    assert [part.kind for part in answer(*other).parts] == ["text", "text", "text"]
    assert [part.text for part in answer(*other).parts] == [
        json.dumps(block, separators=(",", ":")) for block in other
    ]
    media = [answer(block).parts[0].media for block in ({"audio": "a.wav"}, {"video": ["a.png"]})]
    assert [each.kind for each in media if each is not None] == ["audio", "file"]


def test_blocks_and_errors_of_agentdojo_are_texts(ctxtrim: Run) -> None:
    def blocks(text: str, kind: str = "text") -> list[dict[str, str]]:
        return [{"type": kind, "content": text}]

    asked = {"function": "sound", "args": {"at": 3}, "id": "c1", "placeholder_args": None}
    lost = asked | {"id": "c2"}
    done = {"role": "tool", "tool_call_id": "c1", "tool_call": asked, "error": None}
    talk = [
        {"role": "system", "content": blocks("Sound it.")},
        {"role": "user", "content": blocks("How deep?")},
        {"role": "assistant", "content": blocks(DEEP, "thinking"), "tool_calls": [asked, lost]},
        done | {"content": blocks("Seven. " * 60)},
        done | {"tool_call_id": "c2", "content": blocks(""), "error": "ValueError: no line"},
        {"role": "assistant", "content": blocks("Seven fathoms."), "tool_calls": None},
    ]
    data = conversation(talk)
    (found,) = read(data)[0].transcripts
    parts = [[(part.kind, part.text) for part in message.parts] for message in found.messages]
    assert parts[0] + parts[1] + parts[2][:1] + parts[5] == [
        ("text", "Sound it."),
        ("text", "How deep?"),
        ("reasoning", DEEP),
        ("text", "Seven fathoms."),
    ]
    assert parts[3:5] == [
        [("tool_result", "Seven. " * 60)],
        [("tool_result", "ValueError: no line")],
    ]
    assert found.messages[4].parts[0].is_error
    cut = json.loads(ctxtrim("truncate", "--max-tokens", "20", stdin=data).out)["messages"]
    assert list(cut[3]["content"][0]) == ["type", "content"]
    assert cut[:3] + cut[4:] == talk[:3] + talk[4:]
    assert b"no line" in ctxtrim("convert", "--to", "openai-chat", stdin=data).out


@pytest.mark.parametrize("kind", [{"a": 1}, ["text"], None])
def test_a_block_with_a_malformed_type_counts_as_its_json(kind: Any) -> None:
    block = {"type": kind, "content": "Seven."}
    (found,) = read(conversation([user("How deep?"), says([block])]))[0].transcripts
    assert [json.loads(part.text) for part in found.messages[1].parts] == [block]


@pytest.mark.parametrize(("content", "text"), [("", "E7"), (None, "E7"), ("warped", "warped")])
def test_an_error_is_sent_in_place_of_an_empty_content(content: str | None, text: str) -> None:
    failed = {"role": "tool", "tool_call_id": "c1", "content": content, "error": "E7"}
    data = conversation([user("How deep?"), call("c1"), failed])
    (found,) = read(data)[0].transcripts
    assert [part.text for part in found.messages[2].parts] == [text]
