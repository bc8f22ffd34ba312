"""A plain conversation as a case of an ADK evaluation set."""

from typing import Any

from writers.gemini import contents, result_parts, said_parts

Talk = list[dict[str, Any]]


def case(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A set with one case, whose invocations have events, or lists if the number is odd."""
    write = _with_lists if number % 2 else _with_events
    invocations = [write(exchange) for exchange in _exchanges(talk)]
    cases = [{"eval_id": f"case-{number}", "conversation": invocations, "session_input": None}]
    return {"eval_set_id": "harbour", "eval_cases": cases}


def _exchanges(talk: Talk) -> list[Talk]:
    """The messages from each prompt on; a leading answer follows an empty prompt."""
    found: list[Talk] = []
    for message in talk:
        if message["role"] == "system":
            continue
        if message["role"] == "user" or not found:
            found.append([])
        found[-1].append(message)
    return found


def _prompt(exchange: Talk) -> dict[str, Any]:
    prompts = [message for message in exchange if message["role"] == "user"]
    parts = [part for message in prompts for part in said_parts(message)]
    return {"invocation_id": "e-1", "user_content": {"parts": parts, "role": "user"}}


def _with_events(exchange: Talk) -> dict[str, Any]:
    steps = [message for message in exchange if message["role"] != "user"]
    events = [{"author": "keeper", "content": content} for content in contents(steps)]
    return _prompt(exchange) | {"intermediate_data": {"invocation_events": events}}


def _with_lists(exchange: Talk) -> dict[str, Any]:
    """All calls come before all results, and the answer is last: the lists have no other order."""
    calls, results, replies = [], [], []
    for message in exchange:
        if message["role"] == "tool":
            results.append(result_parts(message)[0]["functionResponse"])
        elif message["role"] == "assistant":
            calls += [
                {"id": call["id"], "args": call["input"], "name": call["name"]}
                for call in message["calls"]
            ]
            replies += [["keeper", said_parts(message)]] if message["texts"] else []
    final = replies.pop()[1] if replies else []
    data = {"tool_uses": calls, "tool_responses": results, "intermediate_responses": replies}
    answer = {"parts": final, "role": "model"} if final else None
    return _prompt(exchange) | {"intermediate_data": data, "final_response": answer}
