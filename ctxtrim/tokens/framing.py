"""Framing: what a request costs besides its texts. The numbers of each family are in `tokens/vendors`."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ctxtrim.model import Message
from ctxtrim.tokens.media.policies import POLICIES, Policy
from ctxtrim.tokens.request import Addends, RequestFraming


@dataclass(frozen=True)
class Framing:
    """What messages cost besides their texts, in tokens; `request` is what the request costs besides its messages.

    `priming` once. `message` for each, with its role, or `system` for a system message where that is another number;
    `assistant` on top for each assistant message, `result` for each tool message; `participant` on top of a
    participant's name; `reasoning` for each part of reasoning; `sealed` for each character of reasoning that only the
    provider can read; `image` and `document` on top of each image and each text document.

    `call` for each call, whose name counts `call_names` times, with `call_prefix` before it. Where each call is a
    message of its own, `preamble` is what a text next to them costs on top, and without a text there is no frame.
    Arguments count as the JSON that they are, and `multiline` for each with a line break; where the framing
    `spells_arguments`, the name and the value of each count by themselves, and `argument` on top. `parallel` for two
    calls or more in one message, whose results some providers send escaped to ASCII. `quotes_results`: some servers
    send any result as a string of JSON.

    `media` is what attachments cost. `is_verified`: plain messages cost exactly this, by the API's own counts.
    """

    priming: int
    message: int
    system: int | None = None
    assistant: int = 0
    result: int = 0
    participant: int = 1
    reasoning: int = 0
    sealed: float = 0
    image: int = 0
    document: int = 0
    call: int = 10
    call_names: int = 2
    call_prefix: str = ""
    preamble: int | None = None
    spells_arguments: bool = False
    argument: int = 0
    multiline: int = 0
    parallel: int = 0
    escapes_parallel: bool = False
    quotes_results: bool = False
    request: RequestFraming = field(default=RequestFraming())
    media: Policy = POLICIES["unknown"]
    is_verified: bool = False

    def around(self, message: Message, is_parallel: bool, count: Callable[[str], int]) -> Addends:
        """What is around the parts of a message. `is_parallel`: its exchange makes several calls at once.

        `count` counts a name.
        """
        addends = {"frame": self.message if message.role != "system" or self.system is None else self.system}
        if message.name is not None:  # a name that is the role's costs nothing on top
            on_top = 0 if message.name == message.role else self.participant
            addends["participant"] = on_top + count(message.name)
        if message.role == "tool":
            addends["result"] = self.result
        elif message.role == "assistant":
            addends["assistant"] = self.assistant
            if self.preamble is not None and any(part.kind == "tool_call" for part in message.parts):
                if any(part.kind == "text" and part.text for part in message.parts):
                    addends["preamble"] = self.preamble
                else:
                    addends["frame"] = addends["assistant"] = 0
            if is_parallel:
                addends["parallel"] = self.parallel
            for part in message.parts:
                if part.kind == "tool_call":
                    addends["call_frame"] = addends.get("call_frame", 0) + self.call
                    if self.multiline and "\\" in part.text:
                        lines = self.multiline * _multiline_arguments(part.text)
                        addends["line_breaks"] = addends.get("line_breaks", 0) + lines
                elif part.kind == "reasoning" and self.reasoning:
                    addends["reasoning_frame"] = addends.get("reasoning_frame", 0) + self.reasoning
        return addends


def spelled_arguments(arguments: str) -> list[tuple[str, str]] | None:
    """The names and values of a call's arguments, values that are no strings as JSON; None where it is no object."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return [
        (name, inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False))
        for name, inner in value.items()
    ]


def _multiline_arguments(arguments: str) -> int:
    """How many string values of a call's arguments hold a line break; escapes are counted where it is no JSON."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments.count("\\n")
    return sum("\n" in leaf for leaf in _strings(value))


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
