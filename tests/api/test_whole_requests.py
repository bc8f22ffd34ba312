"""`Pipeline.run_request`: whole requests of any API, with the results of files."""

import copy
import json
import struct
from typing import Any

import pytest
from anthropic.types import Message
from openai.types.responses import ResponseFunctionToolCall

from ctxtrim import ContextOverflowError, InputError, Pipeline, UsageError

LOG = "a buoy\n" * 900
CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
CHAT: dict[str, Any] = {
    "model": "gpt-4o",
    "messages": [
        {"role": "system", "content": "Use the tools."},
        {"role": "user", "content": "Which buoys are out?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": LOG},
    ],
}
ANTHROPIC: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 1000,
    "system": "Use the tools.",
    "messages": [
        {"role": "user", "content": "Which buoys are out?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": {}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": LOG}]},
    ],
}
RESPONSES: dict[str, Any] = {
    "model": "gpt-5",
    "instructions": "Use the tools.",
    "input": [
        {"role": "user", "content": "Which buoys are out?"},
        {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": LOG},
    ],
}
GEMINI: dict[str, Any] = {
    "model": "gemini-2.5-pro",
    "contents": [
        {"role": "user", "parts": [{"text": "Which buoys are out?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "bash", "args": {}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "bash", "response": {"output": LOG}}}],
        },
    ],
    "config": {"systemInstruction": "Use the tools."},
}
BEDROCK: dict[str, Any] = {
    "modelId": "amazon.nova-pro-v1:0",
    "system": [{"text": "Use the tools."}],
    "messages": [
        {"role": "user", "content": [{"text": "Which buoys are out?"}]},
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "c1", "name": "bash", "input": {}}}],
        },
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": LOG}]}}],
        },
    ],
}
REQUESTS = {
    "openai-chat": CHAT,
    "anthropic": ANTHROPIC,
    "openai-responses": RESPONSES,
    "gemini": GEMINI,
    "bedrock": BEDROCK,
}
PIPELINE = Pipeline("trim", budget=500)


@pytest.mark.parametrize("stage", ["trim", "trim:preserve-system-prompt=false"])
@pytest.mark.parametrize("api", REQUESTS)
def test_a_request_gives_the_bytes_and_the_row_of_a_file(api: str, stage: str) -> None:
    request = REQUESTS[api]
    before = copy.deepcopy(request)
    pipeline = Pipeline(stage, budget=500)
    outcome = pipeline.run_request(request)
    [done] = pipeline.run_lines([json.dumps(request).encode()], "request")
    assert outcome.request == json.loads(done.data or b"")
    assert (outcome.row,) == done.rows
    assert outcome.row.format == api
    assert outcome.fits
    assert outcome.row.tokens_read > 500
    assert outcome.request != request == before
    again = PIPELINE.run_request(outcome.request)
    assert again.request == outcome.request
    assert again.row.tokens_read == outcome.row.count.tokens


@pytest.mark.parametrize("api", REQUESTS)
def test_what_cannot_be_dropped_has_its_place_in_the_list(api: str) -> None:
    with pytest.raises(ContextOverflowError) as error:
        Pipeline("trim", budget=10).run_request(REQUESTS[api])
    position = 1 if api == "openai-chat" else 0
    rows = [(row.index, row.role) for row in error.value.irreducible if row.role != "request"]
    assert rows == [(0 if api == "openai-chat" else None, "system"), (position, "user")]
    kept = Pipeline("trim", budget=10, on_overflow="keep").run_request(REQUESTS[api])
    assert (kept.request, kept.fits) == (REQUESTS[api], False)


def test_objects_of_sdks_become_dicts() -> None:
    call = ResponseFunctionToolCall(
        type="function_call", call_id="c1", name="bash", arguments="{}", status="completed"
    )
    task, _, output = RESPONSES["input"]
    outcome = PIPELINE.run_request({**RESPONSES, "input": [task, call, output]})
    assert outcome.request["input"][1] == RESPONSES["input"][1] | {"status": "completed"}
    answer = Message.model_validate({
        "id": "m1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "None."}], "stop_reason": "end_turn",
        "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 3},
    })  # fmt: skip
    task, thanks = ({"role": "user", "content": text} for text in ("Which?", "Thanks."))
    outcome = PIPELINE.run_request({**ANTHROPIC, "messages": [task, answer, thanks]})
    plain = {"role": "assistant", "content": [{"type": "text", "text": "None."}]}
    assert outcome.request["messages"] == [task, plain, thanks]


def test_bytes_of_images_come_back_as_bytes() -> None:
    size = struct.pack(">II", 640, 480)
    picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + b"\x08\x02\0\0\0" + bytes(500)
    task, *rest = BEDROCK["messages"]
    image = {"image": {"format": "png", "source": {"bytes": picture}}}
    messages = [{"role": "user", "content": [*task["content"], image]}, *rest]
    outcome = Pipeline("trim", budget=2000).run_request({**BEDROCK, "messages": messages})
    assert outcome.row.count.by_kind["attachment"] > 100
    assert outcome.row.is_edited
    assert outcome.request["messages"][0] == messages[0]


@pytest.mark.parametrize(
    ("request_value", "error", "text"),
    [
        ([1], UsageError, "run_request: request: expected an object, found [1]"),
        ({"model": "gpt-5", "input": object()}, InputError, "object is not JSON"),
        ({"model": "gpt-5"}, InputError, "expected an API's `messages`, `input` or `contents`"),
        (
            {"chosen": CHAT["messages"], "rejected": CHAT["messages"]},
            InputError,
            "expected one conversation, found 2",
        ),
    ],
)
def test_a_wrong_request_is_an_error(request_value: Any, error: type, text: str) -> None:
    with pytest.raises(error) as raised:
        PIPELINE.run_request(request_value)
    assert text in str(raised.value)
    assert "\n" not in str(raised.value)
