"""Generated transcripts: one conversation, spelled in every format and style that is read."""

import json
from typing import Any

from hypothesis import strategies as st

# Texts that files hold: words, code, other scripts, things that have a meaning to JSON, to terminals or to tokenizers.
FRAGMENTS = (
    "ok", "Error: no such file", "Traceback (most recent call last)", "exit code 1", "0 errors",
    "def f(x):\n    return x", "naïve café", "日本語の説明", "🚀🚀", "e\u0301", "\u2028", "\x1b[31mred\x1b[0m", "\r\n",
    "\t", '"quoted"', "\\n", "{}", "<|endoftext|>", "[content truncated - 7 steps ago]",
    "... [truncated 12 characters] ...", " " * 40, "=" * 40, "line\n" * 30, "word " * 120,
)  # fmt: skip
TEXTS = (
    *FRAGMENTS,
    *(" ".join(FRAGMENTS[place : place + 5]) for place in range(0, len(FRAGMENTS), 3)),
    *(fragment * 50 for fragment in FRAGMENTS),
    "\n".join(f"line {number} of the log" for number in range(300)),
    "Error: at the head\n" + "detail\n" * 400,
    "fine\n" * 400 + "Exit code 2",
    "\ud800",
    "a\udc80b",
    "",
)
texts = st.one_of(st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.text(max_size=8))
call_ids = st.sampled_from(["c1", "c2", "c3", "c4", "c5"])  # few, so that they are used again, as in real files


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A conversation as plain values: role, texts, calls with ids, results. Not always a well-formed one."""
    messages: list[dict[str, Any]] = []
    if draw(st.booleans()):
        messages.append({"role": "system", "texts": [draw(texts)]})
    if draw(st.integers(0, 5)) == 0:
        messages.append({"role": "assistant", "texts": ["Hello!"], "calls": []})
    for _ in range(draw(st.integers(0, 3))):
        messages.append({"role": "user", "texts": draw(st.lists(texts, min_size=1, max_size=2))})
        for _ in range(draw(st.integers(0, 4))):
            ids = draw(st.lists(call_ids, max_size=3, unique=True))
            calls = [
                {"id": name, "name": draw(st.sampled_from(["bash", "Read"])), "input": {"x": draw(texts)}}
                for name in ids
            ]
            said = draw(st.lists(texts, min_size=0 if calls else 1, max_size=1))
            messages.append({"role": "assistant", "texts": said, "calls": calls})
            if draw(st.integers(0, 9)) == 0:
                ids = [*ids[1:], "orphan"]
            for name in draw(st.permutations(ids)):
                result = {"role": "tool", "id": name, "texts": draw(st.lists(texts, min_size=1, max_size=3))}
                messages.append(
                    result
                    | {"image": draw(st.integers(0, 9)) == 0, "error": draw(st.sampled_from([None, None, True, False]))}
                )
    return messages


@st.composite
def styles(draw: st.DrawFn) -> dict[str, Any]:
    """How JSON is spelled: escapes or not, spaces or not."""
    return {
        "ensure_ascii": draw(st.booleans()),
        "separators": draw(st.sampled_from([None, (",", ":"), (" , ", " :  ")])),
    }


def spell(value: Any, style: dict[str, Any], **more: Any) -> bytes:
    """A value as JSON bytes; what UTF-8 cannot spell is escaped."""
    text = json.dumps(value, **style, **more)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, **(style | {"ensure_ascii": True}), **more).encode()


def openai_message(message: dict[str, Any]) -> dict[str, Any]:
    """A message as OpenAI spells it."""
    blocks = [{"type": "text", "text": text} for text in message["texts"]]
    if message.get("image"):
        blocks.append({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}})
    content: Any = blocks if len(blocks) != 1 else message["texts"][0]
    value = {"role": message["role"], "content": content if blocks else None, "extra": 1.10}
    if message.get("calls"):
        value["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["input"])},
            }
            for call in message["calls"]
        ]
    if message["role"] == "tool":
        value["tool_call_id"] = message["id"]
    return value


def claude_events(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A conversation as Claude Code writes it: a block a line, results that hang beside the chain, progress between."""
    events: list[dict[str, Any]] = [{"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}]
    parent: str | None = None
    number = 0

    def add(kind: str, message: dict[str, Any], above: str | None, **more: Any) -> str:
        nonlocal number
        number += 1
        uuid = f"u{number}"
        events.append(
            {
                "parentUuid": above,
                "isSidechain": False,
                "sessionId": "s",
                "type": kind,
                "message": message,
                "uuid": uuid,
            }
            | more
        )
        return uuid

    homes: dict[str, str] = {}
    for place, message in enumerate(messages):
        if message["role"] == "system":
            continue
        if message["role"] == "tool":
            blocks: Any = [{"type": "text", "text": text} for text in message["texts"]]
            if message["image"]:
                blocks.append(
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
                )
            content = message["texts"][0] if len(blocks) == 1 else blocks
            block = {"type": "tool_result", "tool_use_id": message["id"], "content": content}
            if message["error"] is not None:
                block["is_error"] = message["error"]
            home = homes.get(message["id"], parent)
            parent = add(
                "user",
                {"role": "user", "content": [block]},
                home,
                toolUseResult={"stdout": "x"},
                sourceToolAssistantUUID=home,
            )
        elif message["role"] == "user":
            content = (
                message["texts"][0]
                if len(message["texts"]) == 1
                else [{"type": "text", "text": text} for text in message["texts"]]
            )
            parent = add("user", {"role": "user", "content": content}, parent)
        else:
            blocks = [{"type": "text", "text": text} for text in message["texts"]]
            blocks += [
                {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["input"]}
                for call in message["calls"]
            ]
            for block in blocks:
                envelope = {"id": f"msg_{place}", "role": "assistant", "model": "claude-opus-4-6", "content": [block]}
                parent = add("assistant", envelope, parent)
                if block["type"] == "tool_use":
                    homes[block["id"]] = parent
        if place % 3 == 2:
            number += 1
            events.append(
                {
                    "parentUuid": parent,
                    "isSidechain": False,
                    "sessionId": "s",
                    "type": "progress",
                    "data": {"output": "…"},
                    "uuid": f"u{number}",
                }
            )
            parent = f"u{number}"
    return events


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file of any format and layout, with the oddities that real ones have."""
    style = draw(styles())
    end = draw(st.sampled_from([b"\n", b"\r\n"]))
    layout = draw(st.sampled_from(["conversations", "messages", "document", "claude-code"]))
    if layout == "document":
        values = [
            {"messages": [openai_message(one) for one in talk]}
            for talk in draw(st.lists(conversations(), min_size=1, max_size=2))
        ]
        return spell(values if len(values) > 1 else values[0], style, indent=draw(st.sampled_from([None, 2])))
    if layout == "conversations":
        lines = [
            spell(
                {"id": str(place), "messages": [openai_message(one) for one in talk], "tools": [{"type": "function"}]},
                style,
            )
            for place, talk in enumerate(draw(st.lists(conversations(), min_size=1, max_size=3)))
        ]
    else:
        talk = draw(conversations())
        values = claude_events(talk) if layout == "claude-code" else [openai_message(one) for one in talk]
        lines = [spell(value, style) for value in values]
    for _ in range(draw(st.integers(0, 1))):
        lines.insert(
            draw(st.integers(0, len(lines))),
            draw(st.sampled_from([b"", b'{"unknown": 1e5, "unknown": "\\u00e9"}', b"  "])),
        )
    glued = draw(st.integers(0, 9)) == 0
    data = b"".join(line + (b"" if glued and place == 0 and line.strip() else end) for place, line in enumerate(lines))
    return data if draw(st.booleans()) else data.removesuffix(end)


truncations = st.fixed_dictionaries(
    {},
    optional={
        "max_age": st.integers(0, 4),
        "max_tokens": st.sampled_from([32, 50, 200, 2000]),
        "keep_errors": st.booleans(),
        "keep_small": st.sampled_from([0, 20, 100]),
        "metadata": st.booleans(),
        "placeholder": st.sampled_from(["[content truncated - {age} steps ago]", "[gone {N}]"]),
    },
)
budgets = st.one_of(st.integers(1, 60), st.integers(60, 3000))
