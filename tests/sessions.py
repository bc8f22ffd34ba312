"""Sessions of an agent with tools, of any length, in the shapes of OpenAI and Anthropic."""

import json
from typing import Any

Messages = list[dict[str, Any]]

SYSTEM = "You keep the lighthouse in order."
PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}}
OPENAI_TOOLS = [
    {
        "type": "function",
        "function": {"name": "bash", "description": "Run it.", "parameters": PARAMETERS},
    }
]
ANTHROPIC_TOOLS = [{"name": "bash", "description": "Run it.", "input_schema": PARAMETERS}]


def output(turn: int, step: int, lines: int) -> str:
    """The printed output of a command."""
    return "\n".join(
        f"lamp {turn}.{step} reading {line}: {line * 37 % 101} candela" for line in range(lines)
    )


def openai_turn(turn: int, steps: int = 2, lines: int = 40) -> Messages:
    """A prompt, some steps, and an answer."""
    values: Messages = [
        {"role": "user", "content": f"Look after lamp {turn}, and keep the north light burning."}
    ]
    for step in range(steps):
        name = f"call_{turn}_{step}"
        arguments = json.dumps({"command": f"lamp --check {turn} --pass {step}"})
        function = {"name": "bash", "arguments": arguments}
        calls = [{"id": name, "type": "function", "function": function}]
        values.append({"role": "assistant", "content": f"Pass {step}.", "tool_calls": calls})
        values.append({"role": "tool", "tool_call_id": name, "content": output(turn, step, lines)})
    return [*values, {"role": "assistant", "content": f"Lamp {turn} is fine."}]


def openai_session(turns: int, steps: int = 2, lines: int = 40) -> Messages:
    """A session with its system prompt as a message."""
    talk = [message for turn in range(turns) for message in openai_turn(turn, steps, lines)]
    return [{"role": "system", "content": SYSTEM}, *talk]


def anthropic_session(turns: int, steps: int = 2, lines: int = 40) -> Messages:
    """The same session in Anthropic's format, with a separate system prompt that is left out."""
    return [anthropic_message(message) for message in openai_session(turns, steps, lines)[1:]]


def anthropic_message(message: dict[str, Any]) -> dict[str, Any]:
    """A message of OpenAI's as Anthropic has it."""
    if message["role"] == "tool":
        block = {
            "type": "tool_result",
            "tool_use_id": message["tool_call_id"],
            "content": message["content"],
        }
        return {"role": "user", "content": [block]}
    calls = [
        {
            "type": "tool_use",
            "id": call["id"],
            "name": call["function"]["name"],
            "input": json.loads(call["function"]["arguments"]),
        }
        for call in message.get("tool_calls", ())
    ]
    text = {"type": "text", "text": message["content"]}
    return {"role": message["role"], "content": [text, *calls] if calls else message["content"]}


def results(messages: Messages) -> tuple[set[str], set[str]]:
    """The ids of all calls and of all results, in either shape."""
    calls = {call["id"] for message in messages for call in message.get("tool_calls", ())}
    answers = {message["tool_call_id"] for message in messages if message["role"] == "tool"}
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            calls |= {block["id"]} if block["type"] == "tool_use" else set()
            answers |= {block["tool_use_id"]} if block["type"] == "tool_result" else set()
    return calls, answers
