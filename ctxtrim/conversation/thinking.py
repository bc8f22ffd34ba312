"""Thinking that Anthropic requires at the start of the current tool loop.

If a request enables thinking manually (`"thinking": {"type": "enabled", …}`), the API refuses a
loop whose first answer does not begin with thinking. Adaptive thinking has no such rule.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ctxtrim.conversation.tasks import current_loop
from ctxtrim.model import Message
from ctxtrim.model.request import RequestOptions


class LoopStart(NamedTuple):
    """The positions of the prompt and of the first answer of a tool loop.

    The prompt is None if the conversation has none, the answer if it does not exist yet.
    """

    prompt: int | None
    answer: int | None


def requires_thinking(options: RequestOptions) -> bool:
    """Whether the request enables thinking manually, at Anthropic."""
    return options.api == "anthropic" and options.reasoning == "enabled"


def begins_with_thinking(message: Message) -> bool:
    """Whether the first part of a message is thinking."""
    return bool(message.parts) and message.parts[0].kind == "reasoning"


def loop_starts(messages: Sequence[Message]) -> list[LoopStart]:
    """Where the current tool loop may start; the API requires thinking at one of these places.

    Anthropic documents that a text of the user begins a new loop, but not whether one right after
    results does. So there are two starts if such a text is in the loop. There is none if all
    answers begin with thinking, or if an answer in words has ended the loop.
    """
    loop = current_loop(messages)
    first = 0 if loop is None else loop + 1
    seen = [at for at in range(first, len(messages)) if messages[at].agent_visible]
    answers = [at for at in seen if messages[at].role == "assistant"]
    if all(begins_with_thinking(messages[at]) for at in answers) or _is_final(messages[seen[-1]]):
        return []
    starts = [LoopStart(loop, answers[0])]
    prompts = [at for at in seen if messages[at].role == "user"]
    if prompts:
        later = (at for at in answers if at > prompts[-1])
        starts.append(LoopStart(prompts[-1], next(later, None)))
    return starts


def _is_final(message: Message) -> bool:
    """Whether a message is an answer in words. One with server tools may go on."""
    kinds = ("text", "reasoning")
    return message.role == "assistant" and all(
        part.kind in kinds and not part.server for part in message.parts
    )
