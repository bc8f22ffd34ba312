"""A plain conversation as spans of OpenTelemetry's GenAI conventions, and of older ones."""

import json
from typing import Any

from pictures import PICTURE
from writers.requests import split

Talk = list[dict[str, Any]]


def parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a message that is no result."""
    found: list[dict[str, Any]] = [{"type": "text", "content": text} for text in message["texts"]]
    if message.get("image"):
        found.append(
            {"type": "blob", "modality": "image", "mime_type": "image/png", "content": PICTURE}
        )
    for call in message.get("calls", ()):
        found.append(
            {
                "type": "tool_call",
                "id": call["id"],
                "name": call["name"],
                "arguments": call["input"],
            }
        )
    return found


def result(message: dict[str, Any]) -> dict[str, Any]:
    """A tool result: a text, or a value."""
    texts = message["texts"]
    response: Any = texts[0] if len(texts) == 1 else {"lines": texts}
    return {"type": "tool_call_response", "id": message["id"], "response": response}


def messages(talk: Talk) -> list[dict[str, Any]]:
    """The messages of a request. Consecutive results share a message."""
    values: list[dict[str, Any]] = []
    for message in talk:
        if message["role"] != "tool":
            values.append({"role": message["role"], "parts": parts(message)})
        elif values and values[-1]["role"] == "tool":
            values[-1]["parts"].append(result(message))
        else:
            values.append({"role": "tool", "parts": [result(message)]})
    return values


def any_value(value: Any) -> dict[str, Any]:
    """A value as OTLP writes it."""
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(each) for each in value]}}
    pairs = [{"key": key, "value": any_value(each)} for key, each in value.items()]
    return {"kvlistValue": {"values": pairs}}


def attributes(talk: Talk, *, is_structured: bool = False) -> dict[str, Any]:
    """The attributes of a request: message lists as JSON in a string, or as values."""
    rest, answer = split([message for message in talk if message["role"] != "system"])
    system = [message for message in talk if message["role"] == "system"]
    lists = {
        "gen_ai.system_instructions": system and parts(system[0]),
        "gen_ai.input.messages": messages(rest),
        "gen_ai.output.messages": [each | {"finish_reason": "stop"} for each in messages(answer)],
        "gen_ai.tool.definitions": [{"type": "function", "name": "bash"}],
    }
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.usage.input_tokens": 40,
        **{
            name: value if is_structured else json.dumps(value)
            for name, value in lists.items()
            if value
        },
    }


def span(attributes: dict[str, Any], number: int = 0, trace: str | None = None) -> dict[str, Any]:
    """A span as OTLP JSON."""
    pairs = [{"key": key, "value": any_value(value)} for key, value in attributes.items()]
    return {
        "traceId": trace or f"t{number}",
        "spanId": f"s{number}",
        "name": "chat gpt-4o",
        "attributes": pairs,
        "events": [{"name": "exception", "attributes": []}],
    }


def export(*spans: dict[str, Any]) -> dict[str, Any]:
    """Spans as an export request."""
    tool = {"traceId": "t", "spanId": "x", "name": "execute_tool", "attributes": []}
    return {"resourceSpans": [{"scopeSpans": [{"scope": {}, "spans": [tool, *spans]}]}]}


def conversation(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A request in an export, or as an SDK prints it, there also with lists as values."""
    if number % 3 == 0:
        return export(span(attributes(talk), number))
    return printed(attributes(talk, is_structured=number % 3 == 1), number)


def structured(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A request in an export, with message lists as values of OTLP."""
    return export(span(attributes(talk, is_structured=True), number))


def printed(attributes: dict[str, Any], number: int = 0) -> dict[str, Any]:
    """A span as a console exporter prints it."""
    context = {"trace_id": f"0x{number}", "span_id": f"0x1{number}", "trace_state": "[]"}
    return {"name": "chat", "context": context, "attributes": attributes, "events": []}


def flat(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A request with an attribute for each field, as Traceloop or OpenInference write it."""
    is_traceloop = number % 2 == 0
    names = ("gen_ai.prompt", "gen_ai.completion")
    if not is_traceloop:
        names = ("llm.input_messages", "llm.output_messages")
    found: dict[str, Any] = {"llm.request.type": "chat"}
    for name, side in zip(names, split(talk), strict=True):
        for position, message in enumerate(side):
            prefix = f"{name}.{position}" if is_traceloop else f"{name}.{position}.message"
            found |= {f"{prefix}.{key}": value for key, value in _fields(message, is_traceloop)}
    return printed(found, number) if number % 3 else export(span(found, number))


def _fields(message: dict[str, Any], is_traceloop: bool) -> list[tuple[str, str]]:
    found = [("role", message["role"])]
    texts = message["texts"]
    if len(texts) == 1 or is_traceloop:
        blocks = [{"type": "text", "text": text} for text in texts]
        found.append(("content", texts[0] if len(texts) == 1 else json.dumps(blocks)))
    else:
        for index, text in enumerate(texts):
            found.append((f"contents.{index}.message_content.text", text))
    if message["role"] == "tool":
        found.append(("tool_call_id", message["id"]))
    for index, call in enumerate(message.get("calls", ())):
        prefix = f"tool_calls.{index}" if is_traceloop else f"tool_calls.{index}.tool_call"
        function = prefix if is_traceloop else f"{prefix}.function"
        found += [(f"{prefix}.id", call["id"]), (f"{function}.name", call["name"])]
        found.append((f"{function}.arguments", json.dumps(call["input"])))
    return found
