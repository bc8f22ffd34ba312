"""A plain conversation as ticks of a voice simulation of tau2-bench."""

import json
from typing import Any


def simulation(talk: list[dict[str, Any]], number: int = 0) -> dict[str, Any]:
    """A simulation: a text is spoken in two chunks, while the other side is silent."""
    ticks: list[dict[str, Any]] = []
    for message in talk:
        if message["role"] == "tool":
            ticks.append({"agent_tool_results": [_result(message)]})
        elif message["role"] == "assistant":
            ticks += _spoken("agent", message)
            ticks[-1]["agent_tool_calls"] = [
                {"id": call["id"], "name": call["name"], "arguments": call["input"]}
                for call in message["calls"]
            ]
        elif message["role"] == "user":
            ticks += _spoken("user", message)
    numbered = [{"tick_id": index, "timestamp": "t"} | tick for index, tick in enumerate(ticks)]
    return {"id": f"v{number}", "mode": "full_duplex", "ticks": numbered}


def _spoken(side: str, message: dict[str, Any]) -> list[dict[str, Any]]:
    text = "\n".join(message["texts"])
    silent, role = ("user", "assistant") if side == "agent" else ("agent", "user")
    halves = (text[: len(text) // 2], text[len(text) // 2 :])
    return [
        {
            f"{side}_chunk": {"role": role, "content": half, "utterance_ids": ["u"]},
            f"{silent}_chunk": {"role": "user", "content": "", "contains_speech": False},
            "agent_tool_results": [],
        }
        for half in halves
    ]


def _result(message: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(message["texts"]) if len(message["texts"]) > 1 else message["texts"][0]
    return {"id": message["id"], "role": "tool", "content": text, "error": bool(message["error"])}
