"""A plain conversation as the spans of single SDKs."""

import json
from typing import Any

from writers.openai_chat import openai_message
from writers.opentelemetry import messages, parts
from writers.requests import split

Talk = list[dict[str, Any]]
Span = dict[str, Any]

USAGE = {"gen_ai.usage.input_tokens": 40, "gen_ai.usage.output_tokens": 5}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}
TOOL = {"name": "bash", "description": "Runs a command."}


def _written(spans: list[Span], is_otlp: bool, trace: str) -> Any:
    """Spans, each `{name, attributes, events}`, as an export request or as an SDK prints them."""
    if not is_otlp:
        context = {"trace_id": trace, "trace_state": "[]"}
        return [
            each | {"context": context | {"span_id": f"s{number}"}}
            for number, each in enumerate(spans)
        ]
    listed = [
        {
            "traceId": trace,
            "spanId": f"s{number}",
            "name": each["name"],
            "attributes": _pairs(each["attributes"]),
            "events": [
                event | {"attributes": _pairs(event["attributes"])} for event in each["events"]
            ],
        }
        for number, each in enumerate(spans)
    ]
    return {"resourceSpans": [{"scopeSpans": [{"scope": {}, "spans": listed}]}]}


def _pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [{"stringValue": each} for each in value]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def _span(name: str, attributes: dict[str, Any], *events: Any) -> Span:
    return {
        "name": name,
        "attributes": attributes,
        "events": [{"name": name, "attributes": fields} for name, fields in events],
    }


def _without_system(talk: Talk) -> Talk:
    return [message for message in talk if message["role"] != "system"]


# Strands Agents


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    texts = [{"text": text} for text in message["texts"]]
    if message["role"] == "tool":
        result = {"toolUseId": message["id"], "status": "success", "content": texts}
        return [{"toolResult": result}]
    calls = message.get("calls", ())
    return texts + [
        {"toolUse": {"toolUseId": call["id"], "name": call["name"], "input": call["input"]}}
        for call in calls
    ]


def _strands_events(talk: Talk) -> list[tuple[str, dict[str, str]]]:
    return [
        (f"gen_ai.{message['role']}.message", {"content": json.dumps(_blocks(message))})
        for message in talk
    ]


def strands_chat(talk: Talk) -> Span:
    sent, answer = split(talk)
    choice = {"finish_reason": "end_turn", "message": json.dumps(_blocks(answer[0]))}
    return _span("chat", CHAT | USAGE, *_strands_events(sent), ("gen_ai.choice", choice))


def strands(talk: Talk) -> list[Span]:
    """The span of the last request, and those of its cycle, a tool, and the agent around it."""
    chat = strands_chat(_without_system(talk))
    *sent, answer = chat["events"]
    first = (sent[0]["name"], sent[0]["attributes"])
    system = [message["texts"][0] for message in talk if message["role"] == "system"]
    agent = CHAT | {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "log"} | USAGE
    agent |= {"gen_ai.agent.system_prompt": system[0]} if system else {}
    cycle = _span("execute_event_loop_cycle", {"event_loop.cycle_id": "c"})
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "c1"}
    called = ("gen_ai.tool.message", {"role": "tool", "content": "{}", "id": "c1"})
    done = ("gen_ai.choice", {"message": '[{"text": "Nine boats."}]', "id": "c1"})
    text = "".join(talk[-1]["texts"])
    return [
        _span("execute_tool bash", tool, called, done),
        chat,
        cycle | {"events": [*sent, answer]},
        _span("invoke_agent log", agent, first, ("gen_ai.choice", {"message": text})),
    ]


def strands_details(talk: Talk) -> list[Span]:
    """The same with the latest conventions."""

    def details(key: str, value: Any) -> tuple[str, dict[str, str]]:
        name = "gen_ai.client.inference.operation.details"
        return (name, {f"gen_ai.{key}.messages": json.dumps(value)})

    sent, answer = split(_without_system(talk))
    asked, answered = details("input", _otel(sent)), details("output", _otel(answer))
    result = details("output", _otel([each for each in sent if each["role"] == "tool"]))
    system = [message["texts"][0] for message in talk if message["role"] == "system"]
    agent = {"gen_ai.operation.name": "invoke_agent", **USAGE}
    agent |= {"gen_ai.agent.system_prompt": system[0]} if system else {}
    start = details("input", _otel(sent[:1]))
    return [
        _span("execute_tool bash", {"gen_ai.operation.name": "execute_tool"}, result),
        _span("chat", CHAT | USAGE, asked, answered),
        _span("execute_event_loop_cycle", {"event_loop.cycle_id": "c"}, asked, result),
        _span("invoke_agent log", agent, start, answered),
    ]


def _otel(talk: Talk) -> list[dict[str, Any]]:
    """Messages of the conventions, with the contents of results in blocks."""
    found = messages(talk)
    for part in (part for message in found for part in message["parts"]):
        if part["type"] == "tool_call_response":
            part["response"] = [{"text": part["response"]}]
    return found


# AI SDK


def _model_message(message: dict[str, Any]) -> dict[str, Any]:
    texts = [{"type": "text", "text": text} for text in message["texts"]]
    if message["role"] == "system":
        return {"role": "system", "content": message["texts"][0]}
    if message["role"] == "tool":
        output = {"type": "text", "value": message["texts"][0]}
        result = {"toolCallId": message["id"], "toolName": "bash", "output": output}
        return {"role": "tool", "content": [{"type": "tool-result"} | result]}
    calls = [{"type": "tool-call"} | call for call in _ai_sdk_calls(message)]
    return {"role": message["role"], "content": [*texts, *calls]}


def _ai_sdk_calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"toolCallId": call["id"], "toolName": call["name"], "input": call["input"]}
        for call in message.get("calls", ())
    ]


def ai_sdk(talk: Talk) -> list[Span]:
    """The span of the last step, one of a tool, and the one around all steps."""
    sent, answer = split(talk)
    text = {"ai.response.text": "".join(answer[0]["texts"])}
    calls = _ai_sdk_calls(answer[0])
    if calls:
        text["ai.response.toolCalls"] = json.dumps(calls)
    step = {
        "ai.model.id": "gpt-4o",
        "ai.prompt.messages": json.dumps([_model_message(message) for message in sent]),
        "ai.prompt.tools": [json.dumps({"type": "function"} | TOOL)],
    }
    prompt = {"system": talk[0]["texts"][0], "prompt": talk[1]["texts"][0]}
    whole = {"ai.prompt": json.dumps(prompt), "ai.usage.inputTokens": 90, **text}
    return [
        _span("ai.generateText.doGenerate", step | text | CHAT | USAGE),
        _span("ai.toolCall", {"ai.toolCall.name": "bash", "ai.toolCall.result": '"Nine"'}),
        _span("ai.generateText", whole),
    ]


# Agent Development Kit


def _content(message: dict[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        response = {"result": message["texts"][0]}
        part = {"function_response": {"id": message["id"], "name": "bash", "response": response}}
        return {"role": "user", "parts": [part]}
    found: list[dict[str, Any]] = [{"text": text} for text in message["texts"]]
    for call in message.get("calls", ()):
        fields = {"id": call["id"], "name": call["name"], "args": call["input"]}
        found.append({"function_call": fields})
    return {"role": "model" if message["role"] == "assistant" else "user", "parts": found}


def adk(talk: Talk) -> list[Span]:
    """The span of the last request, one of a tool, and one of the agent."""
    sent, answer = split(_without_system(talk))
    config = {
        "system_instruction": talk[0]["texts"][0],
        "tools": [{"function_declarations": [TOOL]}],
    }
    request = {"model": "gpt-4o", "config": config, "contents": [_content(each) for each in sent]}
    call = {
        "gen_ai.request.model": "gpt-4o",
        "gcp.vertex.agent.llm_request": json.dumps(request),
        "gcp.vertex.agent.llm_response": json.dumps({"content": _content(answer[0])}),
    }
    empty = {"gcp.vertex.agent.llm_request": "{}", "gcp.vertex.agent.llm_response": "{}"}
    return [
        _span("call_llm", call | USAGE),
        _span("execute_tool bash", {"gen_ai.operation.name": "execute_tool"} | empty),
        _span("invoke_agent log", {"gen_ai.operation.name": "invoke_agent"}),
    ]


# Pydantic AI


def _parameters() -> dict[str, str]:
    tool = TOOL | {"parameters_json_schema": {}, "outer_typed_dict_key": None}
    return {"model_request_parameters": json.dumps({"function_tools": [tool], "output_tools": []})}


def pydantic_events(talk: Talk) -> list[Span]:
    """The spans of the last request and of the run, in version 1."""

    def event(name: str, body: dict[str, Any]) -> dict[str, Any]:
        return body | {"event.name": f"gen_ai.{name}", "gen_ai.message.index": 0}

    def body(message: dict[str, Any]) -> dict[str, Any]:
        found = openai_message(message)
        if message["role"] == "tool":
            found["id"] = found.pop("tool_call_id")
        return found

    sent, answer = split(talk)
    listed = [event(f"{each['role']}.message", body(each)) for each in sent]
    choice = event("choice", {"index": 0, "message": body(answer[0])})
    run = [*listed, event("assistant.message", body(answer[0]))]
    chat = CHAT | USAGE | _parameters() | {"events": json.dumps([*listed, choice])}
    return [
        _span("chat gpt-4o", chat),
        _span("agent run", {"all_messages_events": json.dumps(run)} | USAGE),
    ]


def pydantic_messages(talk: Talk) -> list[Span]:
    """The same in version 2, in which the system prompt is a message and an attribute."""
    sent, answer = split(talk)
    listed, last = messages(sent), messages(answer)
    system = {"gen_ai.system_instructions": json.dumps(parts(talk[0]))}
    chat = {
        "gen_ai.input.messages": json.dumps(listed),
        "gen_ai.output.messages": json.dumps(last),
        **system,
    }
    run = {"pydantic_ai.all_messages": json.dumps([*listed, *last])}
    return [
        _span("chat gpt-4o", CHAT | USAGE | _parameters() | chat),
        _span("agent run", run | USAGE),
    ]


def logfire(talk: Talk) -> list[Span]:
    """The span of a request of OpenAI's SDK."""
    sent, answer = split(talk)
    request = {"messages": [openai_message(each) for each in sent], "tools": [TOOL]}
    response = {"message": openai_message(answer[0]), "usage": {}}
    attributes = {"request_data": json.dumps(request), "response_data": json.dumps(response)}
    return [_span("Chat Completion", attributes | CHAT | USAGE)]


SDKS = {
    "Strands Agents": strands,
    "Strands Agents, latest conventions": strands_details,
    "AI SDK": ai_sdk,
    "Agent Development Kit": adk,
    "Pydantic AI, version 1": pydantic_events,
    "Pydantic AI, version 2": pydantic_messages,
    "Logfire": logfire,
}
"""The spans of one request of each SDK, and of what is around it."""


def exported(spans: list[Span], is_otlp: bool = True, trace: str = "t0") -> bytes:
    """Spans as lines of a file."""
    written = _written(spans, is_otlp, trace)
    lines = [written] if is_otlp else written
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
