"""Framing: the tokens of messages besides their texts.

The numbers of each vendor are in `tokens/vendors`.
"""

import json
from collections.abc import Callable, Iterable

from msgspec import Struct, field

from ctxtrim.model import Message, Part
from ctxtrim.tokens.media.policies import POLICIES, Policy
from ctxtrim.tokens.request import Addends, RequestFraming


class Framing(Struct, frozen=True):
    """The tokens of messages besides their texts; `request` has those of the request besides its
    messages.

    `priming`: once per request. `message`: per message, with its role; `system` instead for a
    system message, if different. `assistant`: extra per assistant message. `result`: extra per tool
    message. `participant`: extra per participant name; `role_name` instead for a name that equals
    the role, None if no request with one is recorded. `reasoning`: per reasoning part. `sealed`:
    per character of encrypted reasoning. `image` and `document`: extra per image and text document.

    `call`: per call; its name counts `call_names` times, with `call_prefix` before it. If each call
    is a separate message, `preamble` is the extra cost of a text next to calls; without a text
    there is no frame. Arguments count as their JSON, and `multiline` extra for each argument with a
    line break. If the framing `spells_arguments`, the names and values count separately, plus
    `argument` for each. `parallel`: for two or more calls in one message; some providers send their
    results escaped to ASCII. `quotes_results`: the server sends every result as a JSON string.

    `media`: the cost of attachments. `is_verified`: plain messages cost exactly this, according to
    the API's own counts.
    """

    priming: int
    message: int
    system: int | None = None
    assistant: int = 0
    result: int = 0
    participant: int = 1
    role_name: int | None = None
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
        """The tokens around the parts of a message, by purpose.

        `is_parallel`: its exchange makes several calls at once. `count` returns the tokens of a
        name.
        """
        frame = self.system if message.role == "system" else None
        addends = {"frame": self.message if frame is None else frame}
        if message.name is not None:
            addends["participant"] = self._extra_of_name(message) + count(message.name)
        if message.role == "tool":
            addends["result"] = self.result
        elif message.role == "assistant":
            addends["assistant"] = self.assistant
            calls = [part for part in message.parts if part.kind == "tool_call"]
            if self.preamble is not None and calls:
                if _has_text(message):
                    addends["preamble"] = self.preamble
                else:
                    addends["frame"] = addends["assistant"] = 0
            if is_parallel:
                addends["parallel"] = self.parallel
            if calls:
                addends["call_frame"] = self.call * len(calls)
                addends["line_breaks"] = sum(map(self.line_breaks, calls))
            if self.reasoning and len(calls) < len(message.parts):
                reasoning = sum(part.kind == "reasoning" for part in message.parts)
                if reasoning:
                    addends["reasoning_frame"] = self.reasoning * reasoning
        return addends

    def _extra_of_name(self, message: Message) -> int:
        is_role = message.name == message.role
        return self.participant if self.role_name is None or not is_role else self.role_name

    def frame_key(self, message: Message, is_parallel: bool) -> object:
        """What the tokens of `around` depend on, except `line_breaks`."""
        role, name, parts = message.role, message.name, message.parts
        if role != "assistant":
            return role if name is None else (role, name)
        if len(parts) == 1:
            return parts[0].kind, name, is_parallel
        has_text = self.preamble is None or _has_text(message)
        return tuple([part.kind for part in parts]), name, is_parallel, has_text

    def line_breaks(self, call: Part) -> int:
        """The tokens of line breaks in the arguments of a call."""
        if "\\n" not in call.text and "\\u000" not in call.text:
            return 0
        return self.multiline * _multiline_arguments(call.text)


def _has_text(message: Message) -> bool:
    return any(part.kind == "text" and part.text for part in message.parts)


def is_assumed(part: Part) -> bool:
    """Whether the cost of a part is an assumption: encrypted reasoning, text that the provider
    stored, the text of a PDF, or media of unknown length.
    """
    if part.stored or part.sealed:
        return True
    media = part.media
    if media is None or media.kind == "image":
        return False
    return media.seconds is None


def argument_values(arguments: str) -> list[tuple[str, str]] | None:
    """The names and values of a call's arguments; None if they are not a JSON object.

    Values that are not strings are returned as JSON.
    """
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
    """The number of string arguments with a line break.

    If the arguments are not JSON, escapes are counted.
    """
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
