"""The tokens of messages: of their parts, and of the frames around them."""

from collections.abc import Callable, Sequence
from json.encoder import encode_basestring, encode_basestring_ascii
from math import ceil

from msgspec import Struct

from ctxtrim.model import Message, Part
from ctxtrim.tokens.framing import Framing, argument_values, is_assumed
from ctxtrim.tokens.request import Addends
from ctxtrim.tokens.text_counts import CountText, TextCounts, keep
from ctxtrim.tokens.tokenizer import Tokenizer

_TEXTS = ("text", "tool_result")
_PLAIN = (*_TEXTS, "reasoning")  # kinds that cost no more than their text
_Quoted = Callable[[str], str] | None


class Cost(Struct, frozen=True, gc=False):
    """The tokens of one message: of its parts, in order, of the frame around them, and in total.

    `is_guessed`: the cost of a part is an assumption.
    """

    parts: tuple[int, ...]
    frame: int
    total: int
    is_guessed: bool = False


class MessageCosts(Struct, frozen=True):
    """The costs of messages by a tokenizer and a framing. The caches are those of a `Counter`."""

    tokenizer: Tokenizer
    framing: Framing
    names: dict[str, int]
    frames: dict[object, int]
    texts: TextCounts

    def of(self, messages: Sequence[Message], fans: Sequence[int]) -> list[Cost]:
        """The costs of messages; 0 for a hidden message."""
        count = self.texts.function(messages, self.tokenizer.count)
        quotes = self._quoted(False), self._quoted(True)
        frames = self.frames
        costs = []
        for message, fan in zip(messages, fans, strict=True):
            parts, role = message.parts, message.role
            if (
                len(parts) != 1
                or (part := parts[0]).kind not in _TEXTS
                or part.media is not None
                or part.wrapper is not None
                or part.sealed
                or part.stored
                or not message.agent_visible
            ):
                costs.append(self._cost(message, fan > 1, count, quotes))
                continue
            # a single text, as most messages are
            quoted = quotes[fan > 1] if role == "tool" else None
            tokens = count(part.text if quoted is None else quoted(part.text))
            key = role if message.name is None else (role, message.name)
            frame = frames.get(key)
            if frame is None:
                frame = keep(frames, key, self._frame(message, is_parallel=False))
            costs.append(Cost((tokens,), frame, tokens + frame))
        return costs

    def _cost(
        self,
        message: Message,
        is_parallel: bool,
        count: CountText,
        quotes: tuple[_Quoted, _Quoted],
    ) -> Cost:
        """The cost of a message with any parts; 0 for a hidden message."""
        if not message.agent_visible:
            return Cost((0,) * len(message.parts), 0, 0)
        framing, role = self.framing, message.role
        quoted = quotes[is_parallel] if role == "tool" else None
        parts = []
        line_breaks = 0
        is_guessed = False
        for part in message.parts:
            kind = part.kind
            if kind in _PLAIN and part.media is None and not (part.sealed or part.stored):
                text = part.text if part.wrapper is None else part.spelled
                tokens = count(text if quoted is None else quoted(text))
            elif kind == "tool_call" and not (part.sealed or framing.spells_arguments):
                tokens = count(part.spelled) + self._call_names(part)  # as in `_call`
            else:
                tokens = sum(self._part(part, quoted).values())
                is_guessed = is_guessed or is_assumed(part)
            if kind == "tool_call" and framing.multiline and role == "assistant":
                line_breaks += framing.line_breaks(part)
            parts.append(tokens)
        key = framing.frame_key(message, is_parallel)
        frame = self.frames.get(key)
        if frame is None:
            frame = keep(self.frames, key, self._frame(message, is_parallel))
        frame += line_breaks
        return Cost(tuple(parts), frame, sum(parts) + frame, is_guessed)

    def addends(self, message: Message, is_parallel: bool) -> Addends:
        """The tokens of a message by purpose, as in `Counter.addends`."""
        if not message.agent_visible:
            return {}
        quoted = self._quoted(is_parallel) if message.role == "tool" else None
        addends: Addends = {}
        for part in message.parts:
            for name, tokens in self._part(part, quoted).items():
                addends[name] = addends.get(name, 0) + tokens
        addends |= self.framing.around(message, is_parallel, self.name)
        return {name: tokens for name, tokens in addends.items() if tokens}

    def _frame(self, message: Message, is_parallel: bool) -> int:
        """The tokens of the frame around a message, without those of line breaks."""
        around = self.framing.around(message, is_parallel, self.name)
        return sum(around.values()) - around.get("line_breaks", 0)

    def _quoted(self, is_parallel: bool) -> _Quoted:
        """The function that escapes results if the API sends them as JSON strings, or None."""
        if is_parallel and self.framing.escapes_parallel:
            return encode_basestring_ascii
        return encode_basestring if self.framing.quotes_results else None

    def _part(self, part: Part, quoted: _Quoted) -> Addends:
        """The tokens of a part, by purpose."""
        if part.kind == "tool_call":
            costs = self._call(part)
        elif part.media is not None:
            costs = {part.kind: self.framing.media.tokens(part.media)}
            if part.media.kind == "image":
                costs["image"] = self.framing.image
        else:
            tokens = self._text(part.spelled)
            costs = {part.kind: tokens}
            if quoted is not None:
                costs["escapes"] = self._text(quoted(part.spelled)) - tokens
            if part.kind == "attachment":
                costs["document"] = self.framing.document
        if part.sealed:
            costs["sealed"] = ceil(part.sealed * self.framing.sealed)
        return costs

    def _call(self, part: Part) -> Addends:
        """The tokens of a call's arguments and name."""
        framing, arguments = self.framing, part.spelled
        names = self._call_names(part)
        spelled = argument_values(arguments) if framing.spells_arguments else None
        if spelled is None:
            return {"tool_call": self._text(arguments), "call_names": names}
        texts = sum(self.name(name) + self._text(value) for name, value in spelled)
        return {
            "tool_call": texts,
            "arguments": framing.argument * len(spelled),
            "call_names": names,
        }

    def _call_names(self, part: Part) -> int:
        """The tokens of the names of a call, with its namespace before each.

        No request with a namespace is recorded. It may replace the prefix, which counts anyway.
        """
        name = part.name or ""
        if part.namespace:
            name = f"{part.namespace}.{name}"
        return self.framing.call_names * self.name(self.framing.call_prefix + name)

    def _text(self, text: str) -> int:
        return self.texts.function((), self.tokenizer.count)(text)

    def name(self, name: str) -> int:
        """The tokens of a name."""
        tokens = self.names.get(name)
        return keep(self.names, name, self.tokenizer.count(name)) if tokens is None else tokens
