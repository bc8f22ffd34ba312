"""Recovery of coroutine functions: on any event loop, as with plain functions."""

import asyncio
import copy
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from sessions import openai_session

from ctxtrim import ContextOverflowError, Event, estimate_tokens, with_recovery

TOO_LONG = "This model's maximum context length is 4096 tokens. Your prompt is too long."


class Model:
    """A model that refuses prompts above its window. It keeps the prompts that it got."""

    def __init__(self, error: Exception | None = None, window: int = 4096) -> None:
        self.prompts: list[list[Any]] = []
        self.error, self.window = error or ValueError(TOO_LONG), window

    async def send(self, prompt: list[Any]) -> str:
        await asyncio.sleep(0)
        self.prompts.append(prompt)
        if estimate_tokens(prompt, "gpt-4o") > self.window:
            raise self.error
        return "All lamps burn."

    async def __call__(self, prompt: list[Any]) -> str:
        return await self.send(prompt)


KINDS: dict[str, Callable[[Model], Callable[[list[Any]], Awaitable[str]]]] = {
    "method": lambda model: model.send,
    "object": lambda model: model,
    "partial": lambda model: partial(model.send),
    "lambda": lambda model: lambda prompt: model.send(prompt),
    "future": lambda model: lambda prompt: asyncio.ensure_future(model.send(prompt)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_s3_12_a_coroutine_function_is_compacted_and_retried(kind: str) -> None:
    messages = openai_session(20)
    before = copy.deepcopy(messages)
    model = Model()
    events: list[Event] = []

    async def main() -> str:
        send = KINDS[kind](model)
        return await with_recovery(send, messages, model="gpt-4o", on_event=events.append)

    assert asyncio.run(main()) == "All lamps burn."
    first, second = model.prompts
    assert first == messages == before
    assert estimate_tokens(second, "gpt-4o") <= 4096 - 2048
    assert [event.event for event in events] == ["start", "end"]


def test_s3_12_errors_of_coroutines_are_raised_unchanged() -> None:
    messages = openai_session(20)
    other = Model(error=TimeoutError("the line is busy"))
    with pytest.raises(TimeoutError, match="the line is busy"):
        asyncio.run(with_recovery(other.send, messages))
    never = Model(window=1)
    with pytest.raises(ValueError, match="too long"):
        asyncio.run(with_recovery(never.send, messages, model="gpt-4o"))
    assert (len(other.prompts), len(never.prompts)) == (1, 2)


def test_s3_12_an_overflow_names_its_cause() -> None:
    huge = [{"role": "user", "content": "word " * 9000}]
    refused = ValueError("prompt is too long")

    def send(prompt: Any) -> str:
        raise refused

    with pytest.raises(ContextOverflowError) as caught:
        with_recovery(send, huge)
    assert caught.value.__cause__ is refused
    with pytest.raises(ContextOverflowError) as caught:
        asyncio.run(with_recovery(Model().send, huge))
    assert isinstance(caught.value.__cause__, ValueError)
