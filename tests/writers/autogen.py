"""A plain conversation as AutoGen 0.2 writes it: the results of an answer in one message."""

from itertools import groupby
from typing import Any

from writers.openai_chat import openai_message

Talk = list[dict[str, Any]]


def conversation(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A conversation as a value. In even ones, results before a prompt are next to its content."""
    return {"messages": messages(talk, joins_prompts=number % 2 == 0)}


def messages(talk: Talk, joins_prompts: bool = True) -> Talk:
    """The messages of a conversation."""
    values: Talk = []
    waiting: Talk = []
    for role, run in groupby(talk, lambda message: message["role"]):
        group = [openai_message(message) for message in run]
        if role == "tool":
            waiting = group
            continue
        if waiting and not (joins_prompts and role == "user"):
            copy = "\n\n".join(str(response["content"]) for response in waiting)
            values.append({"content": copy, "tool_responses": waiting, "role": "tool"})
        elif waiting:
            group[0]["tool_responses"] = waiting
        values += group
        waiting = []
    if waiting:
        values.append({"content": "", "tool_responses": waiting, "role": "tool"})
    return values
