"""A plain conversation as OpenHands writes it down."""

import json
from typing import Any

from pictures import URL

Talk = list[dict[str, Any]]
IDLE = {"message": "No observation", "observation": "null", "content": "", "extras": {}}
_SOURCES = {"user": "user", "assistant": "agent", "system": "agent"}


def noted(message: dict[str, Any], call: dict[str, Any], place: int) -> dict[str, Any]:
    """The metadata next to a call and its result: the full answer of the model."""
    calls = [
        {
            "id": one["id"],
            "type": "function",
            "function": {"name": one["name"], "arguments": json.dumps(one["input"])},
        }
        for one in message["calls"]
    ]
    said = {"role": "assistant", "content": "".join(message["texts"]) or None, "tool_calls": calls}
    usage = {"prompt_tokens": 10 + place, "completion_tokens": 1}
    response = {"id": f"r{place}", "model": "m", "choices": [{"message": said}], "usage": usage}
    return {
        "function_name": call["name"],
        "tool_call_id": call["id"],
        "model_response": response,
        "x": 1.10,
    }


def events(talk: Talk) -> list[dict[str, Any]]:
    """Events of version 0, each call followed by its result."""
    found: Talk = []
    answers: dict[str, dict[str, Any]] = {}
    results: dict[str, int] = {}

    def add(value: dict[str, Any]) -> int:
        found.append({"id": len(found), "timestamp": "2026-01-01T00:00:00", **value})
        return len(found) - 1

    for place, message in enumerate(talk):
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
                answers[call["id"]] = noted(message, call, place)
                arguments = {"command": call["input"]["x"], "thought": text}
                told = {"source": "agent", "action": "run", "message": "", "args": arguments}
                results[call["id"]] = add(told | {"tool_call_metadata": answers[call["id"]]})
        else:
            source = _SOURCES[message["role"]]
            arguments = {
                "content": text,
                "image_urls": [URL, URL] if message.get("image") else None,
            }
            add({"source": source, "action": "message", "message": text, "args": arguments})
        if place % 5 == 4:
            add(
                {
                    "source": "environment",
                    "observation": "agent_state_changed",
                    "content": "",
                    "extras": {},
                }
            )
    return found


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
            told = {
                "source": _SOURCES[message["role"]],
                "action": "message",
                "args": {"content": text},
            }
            found.append([told, dict(IDLE)])
    return {"question_id": number, "history": found}


def resolver(talk: Talk, number: int = 0) -> dict[str, Any]:
    """The same without ids and sources, and with arguments next to the kinds."""
    found: Talk = []
    for action, observation in pairs(talk)["history"]:
        is_agent = action["source"] == "agent"
        found.append({**action["args"], "action": action["action"], "action_risk": None})
        if action["action"] == "message":
            found[-1]["wait_for_response"] = is_agent
        if observation["observation"] != "null":
            found.append({"content": observation["content"], "observation": "run", "exit_code": 0})
    return {"issue": {"number": number}, "history": found}


def sdk_events(talk: Talk) -> list[dict[str, Any]]:
    """Events as version 1 has them."""
    found: Talk = []
    for place, message in enumerate(talk):
        blocks = [
            {"cache_prompt": False, "type": "text", "text": text} for text in message["texts"]
        ]
        if message.get("image"):
            blocks.append({"type": "image", "image_urls": [URL]})
        told = {"id": f"e{place}", "timestamp": "2026-01-01T00:00:00"}
        if message["role"] == "system":
            told |= {"source": "agent", "system_prompt": blocks[0], "tools": [{"title": "t"}]}
            found.append(told | {"kind": "SystemPromptEvent"})
        elif message["role"] == "tool":
            seen = {"content": blocks, "kind": "RunObservation"}
            seen |= {"is_error": message["error"]} if message["error"] is not None else {}
            told |= {
                "source": "environment",
                "tool_name": "bash",
                "tool_call_id": message["id"],
                "observation": seen,
            }
            found.append(told | {"kind": "ObservationEvent", "action_id": "x"})
        elif message.get("calls"):
            for number, call in enumerate(message["calls"]):
                made = {
                    "id": call["id"],
                    "name": call["name"],
                    "arguments": json.dumps(call["input"]),
                }
                thought = {"thought": blocks if number == 0 else [], "reasoning_content": None}
                value = told | {
                    "source": "agent",
                    "action": {"kind": "RunAction"},
                    "tool_name": call["name"],
                }
                value |= thought | {
                    "tool_call_id": call["id"],
                    "tool_call": made,
                    "llm_response_id": f"r{place}",
                }
                found.append(value | {"id": f"e{place}-{number}", "kind": "ActionEvent"})
        else:
            said = {"role": message["role"], "content": blocks}
            found.append(
                told
                | {"source": _SOURCES[message["role"]], "llm_message": said, "kind": "MessageEvent"}
            )
        if place % 5 == 4:
            found.append(
                told
                | {
                    "id": f"s{place}",
                    "source": "environment",
                    "kind": "ConversationStateUpdateEvent",
                }
            )
    return found


def condensed(talk: Talk) -> list[dict[str, Any]]:
    """Events of which some are forgotten, and a summary that replaces them."""
    found = [
        *events(talk),
        {"id": 900, "source": "user", "action": "message", "args": {"content": "forget this"}},
    ]
    message = next(place for place, one in enumerate(found) if one.get("action") == "message")
    arguments = {
        "forgotten_event_ids": [found[message]["id"], 900],
        "summary": "as told",
        "summary_offset": message,
    }
    found.append({"id": 901, "source": "agent", "action": "condensation", "args": arguments})
    return [
        *found,
        {"id": 902, "source": "user", "action": "message", "args": {"content": "go on"}},
    ]
