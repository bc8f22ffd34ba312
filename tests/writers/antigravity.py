"""A plain conversation as steps of an Antigravity transcript."""

import json
from typing import Any


def steps(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps; arguments are JSON in strings, and results have no ids."""
    values: list[dict[str, Any]] = []
    for message in talk:
        role, content = message["role"], "\n".join(message["texts"])
        step: dict[str, Any] = {"status": "DONE", "content": content}
        if role == "tool":
            step |= {"source": "MODEL", "type": "RUN_COMMAND"}
            step["status"] = "ERROR" if message["error"] else "DONE"
        elif role == "assistant":
            calls = [
                {
                    "name": call["name"],
                    "args": {key: json.dumps(value) for key, value in call["input"].items()},
                }
                for call in message["calls"]
            ]
            step |= {"source": "MODEL", "type": "PLANNER_RESPONSE", "tool_calls": calls}
            step |= {"thinking": "to do"} if len(values) % 3 == 0 else {}
        elif role == "system":
            step |= {"source": "SYSTEM", "type": "SYSTEM_MESSAGE"}
        else:
            step |= {"source": "USER_EXPLICIT", "type": "USER_INPUT"}
        values.append({"step_index": len(values), "created_at": "2026-11-02T06:00:00Z"} | step)
    return values
