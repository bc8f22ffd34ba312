"""A plain conversation as runs of LangSmith."""

from typing import Any

from pictures import URL
from writers.openai_chat import openai_message
from writers.requests import split

Talk = list[dict[str, Any]]
CLASSES = {
    "system": ("system", "SystemMessage"),
    "user": ("human", "HumanMessage"),
    "assistant": ("ai", "AIMessage"),
    "tool": ("tool", "ToolMessage"),
}


def message(plain: dict[str, Any], number: int = 0) -> dict[str, Any]:
    """A message of LangChain: serialized, with data, or plain."""
    kind, name = CLASSES[plain["role"]]
    blocks: list[Any] = [{"type": "text", "text": text} for text in plain["texts"]]
    if plain.get("image"):
        blocks.append({"type": "image_url", "image_url": {"url": URL}})
    calls = [
        {"id": call["id"], "name": call["name"], "args": call["input"], "type": "tool_call"}
        for call in plain.get("calls", ())
    ]
    if calls and number % 2:
        blocks += [{"type": "tool_use"} | {"id": call["id"], "input": {}} for call in calls]
    body: dict[str, Any] = {
        "content": plain["texts"][0] if len(blocks) == len(plain["texts"]) == 1 else blocks
    }
    if calls:
        body["tool_calls"] = calls
    if plain["role"] == "tool":
        body["tool_call_id"] = plain["id"]
        body["status"] = "error" if plain["error"] else "success"
    if number % 3 == 0:
        path = ["langchain", "schema", "messages", name]
        kwargs = body | {"type": kind}
        return {"lc": 1, "type": "constructor", "id": path, "kwargs": kwargs}
    return {"type": kind} | ({"data": body} if number % 3 == 1 else body)


def run(talk: Talk, number: int = 0, trace: str | None = None) -> dict[str, Any]:
    """A run of a chat model."""
    sent, received = split(talk)
    inputs: dict[str, Any] = {"messages": [[message(plain, number) for plain in sent]]}
    answers = [[{"text": "", "message": message(plain, number)}] for plain in received]
    outputs: dict[str, Any] = {"generations": answers, "llm_output": None}
    if number % 4 == 3:
        inputs = {"messages": [openai_message(plain) for plain in sent], "model": "gpt-4o"}
        outputs = {"choices": [{"message": openai_message(plain)} for plain in received]}
    return {
        "id": f"r{number}",
        "trace_id": trace or f"t{number}",
        "run_type": "llm",
        "inputs": inputs,
        "outputs": outputs,
        "extra": {"invocation_params": {"model": "gpt-4o", "tools": [{"name": "bash"}]}},
        "prompt_tokens": 40,
        "completion_tokens": 2,
    }


def nested(talk: Talk, number: int = 0) -> dict[str, Any]:
    """The same inside a chain."""
    chain = {"id": f"t{number}", "run_type": "chain", "inputs": {"messages": ["Hello."]}}
    return chain | {"outputs": {}, "child_runs": [run(talk, number)]}
