"""A plain conversation as a conversation that Kiro CLI saves."""

from typing import Any

Talk = list[dict[str, Any]]


def conversation(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A conversation: contents have fields with names in every second one, as in new versions."""
    history: Talk = []
    waiting: Talk = []
    for message in talk:
        if message["role"] == "assistant":
            user = _user(waiting, bool(number % 2))
            history.append({"user": user, "assistant": _answer(message), "request_metadata": None})
            waiting = []
        elif message["role"] != "system":
            waiting.append(message)
    if waiting:
        last = {"Response": {"message_id": None, "content": ""}}
        history.append({"user": _user(waiting, bool(number % 2)), "assistant": last})
    return {"conversation_id": f"k{number}", "next_message": None, "history": history}


def _user(messages: Talk, is_named: bool) -> dict[str, Any]:
    """The results, or the prompts as one text; a prompt after results cancels other calls."""
    text = "\n".join(text for each in messages if each["role"] == "user" for text in each["texts"])
    results = [_result(each) for each in messages if each["role"] == "tool"]
    content: dict[str, Any] = {"Prompt": {"prompt": text} if is_named else text}
    if results and text:
        content = {"CancelledToolUses": {"prompt": text, "tool_use_results": results}}
    elif results:
        named = {"tool_use_results": results}
        content = {"ToolUseResults": named if is_named else results}
    return {"content": content, "additional_context": "", "timestamp": "2026-11-02T06:00:00Z"}


def _result(message: dict[str, Any]) -> dict[str, Any]:
    content = [{"Text": text} for text in message["texts"]]
    status = "Error" if message["error"] else "Success"
    return {"tool_use_id": message["id"], "content": content, "status": status}


def _answer(message: dict[str, Any]) -> dict[str, Any]:
    text = "".join(message["texts"])
    uses = [
        {"id": call["id"], "name": call["name"], "orig_name": call["name"], "args": call["input"]}
        for call in message["calls"]
    ]
    answer = {"message_id": "m", "content": text}
    return {"ToolUse": answer | {"tool_uses": uses}} if uses else {"Response": answer}
