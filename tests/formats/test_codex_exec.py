"""The stream of `codex exec --json`: completed items are read, and edited alone."""

import json
from io import BytesIO
from typing import Any

import pytest
from harness import read, run

from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Part


def shown(**item: Any) -> list[dict[str, Any]]:
    """An item as the stream shows it: when it starts, and when it is complete."""
    return [{"type": "item.started", "item": item}, {"type": "item.completed", "item": item}]


def command(name: str, output: str, code: int | None = 0) -> list[dict[str, Any]]:
    item = {"id": name, "type": "command_execution", "command": "ls", "status": "completed"}
    return shown(**item, aggregated_output=output, exit_code=code)


LONG = "lorem ipsum " * 200
STREAM = [
    {"type": "thread.started", "thread_id": "t1"},
    {"type": "turn.started"},
    *shown(id="item_0", type="reasoning", text="hmm"),
    *command("item_1", LONG, 2),
    *shown(id="item_2", type="error", message="of the client"),
    *shown(id="item_3", type="agent_message", text="Done."),
    {"type": "turn.completed", "usage": {"input_tokens": 10**6, "output_tokens": 9}},
]


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def test_each_item_is_read_once_on_completion() -> None:
    reading = open_reading(BytesIO(stream(*STREAM)))
    assert reading.format is not None
    assert (reading.format.name, reading.layout) == ("codex-exec", "events")
    transcript = read(stream(*STREAM))[0].transcripts[0]
    assert [(message.role, message.parts) for message in transcript.messages] == [
        ("assistant", (Part("reasoning", "hmm"),)),
        ("assistant", (Part("tool_call", "ls", "item_1", "shell"),)),
        ("tool", (Part("tool_result", LONG, "item_1", None, True),)),
        ("assistant", (Part("text", "Done."),)),
    ]
    assert (transcript.id, transcript.usages) == ("t1", ())


@pytest.mark.parametrize(
    ("item", "parts"),
    [
        (
            {
                "type": "mcp_tool_call",
                "server": "s",
                "tool": "t",
                "arguments": {"x": 1},
                "error": {"message": "no"},
            },
            [Part("tool_call", '{"x":1}', "i", "s.t"), Part("tool_result", "no", "i", None, True)],
        ),
        (
            {
                "type": "mcp_tool_call",
                "server": "s",
                "tool": "t",
                "result": {"content": [{"type": "text", "text": "x"}]},
            },
            [Part("tool_call", "null", "i", "s.t"), Part("tool_result", "x", "i")],
        ),
        (
            {"type": "web_search", "query": "q"},
            [Part("text", '{"id":"i","type":"web_search","query":"q"}')],
        ),
    ],
)
def test_every_item_of_the_model_context_is_counted(
    item: dict[str, Any], parts: list[Part]
) -> None:
    transcript = read(stream(STREAM[0], *shown(id="i", **item)))[0].transcripts[0]
    assert [part for message in transcript.messages for part in message.parts] == parts


def test_a_completed_result_is_shortened_and_a_step_is_dropped_as_a_line() -> None:
    out = run(stream(*STREAM), [("truncate", {"max_tokens": 50})]).data or b""
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[:5] + lines[6:] == STREAM[:5] + STREAM[6:]
    assert "truncated" in lines[5]["item"]["aggregated_output"]
    out = run(stream(*STREAM), [("trim", {})], limit=12).data or b""
    assert [json.loads(line) for line in out.splitlines()] == [*STREAM[:3], STREAM[4], *STREAM[6:]]
