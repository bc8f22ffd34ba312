"""A plain conversation as OpenHands writes it down."""

import json
from typing import Any

from pictures import URL

Talk = list[dict[str, Any]]
IDLE = {"message": "No observation", "observation": "null", "content": "", "extras": {}}
_SOURCES = {"user": "user", "assistant": "agent", "system": "agent"}


def noted(message: dict[str, Any], call: dict[str, Any], position: int) -> dict[str, Any]:
    """The metadata next to a call and its result: the full answer of the model."""
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["input"])},
        }
        for call in message["calls"]
    ]
    answer = {
        "role": "assistant",
        "content": "".join(message["texts"]) or None,
        "tool_calls": calls,
    }
    usage = {"prompt_tokens": 10 + position, "completion_tokens": 1}
    response = {
        "id": f"r{position}",
        "model": "m",
        "choices": [{"message": answer}],
        "usage": usage,
    }
    return {
        "function_name": call["name"],
        "tool_call_id": call["id"],
        "model_response": response,
        "x": 1.10,
    }


def events(talk: Talk) -> list[dict[str, Any]]:
    """Events of version 0, each call followed by its result."""
    values: Talk = []
    answers: dict[str, dict[str, Any]] = {}
    results: dict[str, int] = {}

    def add(value: dict[str, Any]) -> int:
        values.append({"id": len(values), "timestamp": "2026-01-01T00:00:00", **value})
        return len(values) - 1

    for position, message in enumerate(talk):
        text = "".join(message["texts"])
        if message["role"] == "system":
            arguments: Any = {"content": text, "tools": [{"type": "function"}]}
            add({"source": "agent", "action": "system", "message": text, "args": arguments})
        elif message["role"] == "tool":
            answer = answers.get(
                message["id"], {"tool_call_id": message["id"], "function_name": "bash"}
            )
            add(
                {
                    "source": "agent",
                    "cause": results.get(message["id"], 0),
                    "observation": "run",
                    "content": text,
                }
                | {"extras": {"command": "x"}, "tool_call_metadata": answer}
                | ({"success": not message["error"]} if message["error"] is not None else {})
            )
        elif message.get("calls"):
            for call in message["calls"]:
                answers[call["id"]] = noted(message, call, position)
                arguments = {"command": call["input"]["x"], "thought": text}
                fields = {"source": "agent", "action": "run", "message": "", "args": arguments}
                results[call["id"]] = add(fields | {"tool_call_metadata": answers[call["id"]]})
        else:
            source = _SOURCES[message["role"]]
            arguments = {
                "content": text,
                "image_urls": [URL, URL] if message.get("image") else None,
            }
            add({"source": source, "action": "message", "message": text, "args": arguments})
        if position % 5 == 4:
            add(
                {
                    "source": "environment",
                    "observation": "agent_state_changed",
                    "content": "",
                    "extras": {},
                }
            )
    return values


def history(talk: Talk, number: int = 0) -> dict[str, Any]:
    """The record of an evaluation for an instance."""
    return {
        "instance_id": str(number),
        "metadata": {"llm_config": {"model": "m"}},
        "history": events(talk),
    }


def pairs(talk: Talk, number: int = 0) -> dict[str, Any]:
    """The same as pairs of an action and its observation, without ids of calls."""
    found: list[list[dict[str, Any]]] = []
    waiting = 0
    for message in talk:
        text = "".join(message["texts"])
        if message["role"] == "tool" and waiting:
            found[-waiting][1] = {
                "message": "",
                "observation": "run",
                "content": text,
                "extras": {},
            }
            waiting -= 1
        elif message["role"] == "assistant" and message["calls"]:
            waiting = len(message["calls"])
            for call in message["calls"]:
                arguments = {"command": call["input"]["x"], "thought": text}
                found.append([{"source": "agent", "action": "run", "args": arguments}, dict(IDLE)])
        elif message["role"] in ("user", "assistant"):
            waiting = 0
            fields = {
                "source": _SOURCES[message["role"]],
                "action": "message",
                "args": {"content": text},
            }
            found.append([fields, dict(IDLE)])
    return {"question_id": number, "history": found}


def resolver(talk: Talk, number: int = 0) -> dict[str, Any]:
    """The same without ids and sources, and with arguments next to the kinds."""
    values: Talk = []
    for action, observation in pairs(talk)["history"]:
        is_agent = action["source"] == "agent"
        values.append({**action["args"], "action": action["action"], "action_risk": None})
        if action["action"] == "message":
            values[-1]["wait_for_response"] = is_agent
        if observation["observation"] != "null":
            values.append({"content": observation["content"], "observation": "run", "exit_code": 0})
    return {"issue": {"number": number}, "history": values}


def sdk_events(talk: Talk) -> list[dict[str, Any]]:
    """Events as version 1 has them."""
    values: Talk = []
    for position, message in enumerate(talk):
        blocks = [
            {"cache_prompt": False, "type": "text", "text": text} for text in message["texts"]
        ]
        if message.get("image"):
            blocks.append({"type": "image", "image_urls": [URL]})
        fields = {"id": f"e{position}", "timestamp": "2026-01-01T00:00:00"}
        if message["role"] == "system":
            fields |= {"source": "agent", "system_prompt": blocks[0], "tools": [{"title": "t"}]}
            values.append(fields | {"kind": "SystemPromptEvent"})
        elif message["role"] == "tool":
            seen = {"content": blocks, "kind": "RunObservation"}
            seen |= {"is_error": message["error"]} if message["error"] is not None else {}
            fields |= {
                "source": "environment",
                "tool_name": "bash",
                "tool_call_id": message["id"],
                "observation": seen,
            }
            values.append(fields | {"kind": "ObservationEvent", "action_id": "x"})
        elif message.get("calls"):
            for number, call in enumerate(message["calls"]):
                made = {
                    "id": call["id"],
                    "name": call["name"],
                    "arguments": json.dumps(call["input"]),
                }
                thought = {"thought": blocks if number == 0 else [], "reasoning_content": None}
                value = fields | {
                    "source": "agent",
                    "action": {"kind": "RunAction"},
                    "tool_name": call["name"],
                }
                value |= thought | {
                    "tool_call_id": call["id"],
                    "tool_call": made,
                    "llm_response_id": f"r{position}",
                }
                values.append(value | {"id": f"e{position}-{number}", "kind": "ActionEvent"})
        else:
            first_message = {"role": message["role"], "content": blocks}
            values.append(
                fields
                | {
                    "source": _SOURCES[message["role"]],
                    "llm_message": first_message,
                    "kind": "MessageEvent",
                }
            )
        if position % 5 == 4:
            values.append(
                fields
                | {
                    "id": f"s{position}",
                    "source": "environment",
                    "kind": "ConversationStateUpdateEvent",
                }
            )
    return values


def condensed(talk: Talk) -> list[dict[str, Any]]:
    """Events of which some are forgotten, and a summary that replaces them."""
    values = [
        *events(talk),
        {"id": 900, "source": "user", "action": "message", "args": {"content": "forget this"}},
    ]
    first = next(
        position for position, item in enumerate(values) if item.get("action") == "message"
    )
    arguments = {
        "forgotten_event_ids": [values[first]["id"], 900],
        "summary": "as told",
        "summary_offset": first,
    }
    values.append({"id": 901, "source": "agent", "action": "condensation", "args": arguments})
    return [
        *values,
        {"id": 902, "source": "user", "action": "message", "args": {"content": "go on"}},
    ]
