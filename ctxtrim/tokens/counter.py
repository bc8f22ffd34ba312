"""The token count of a transcript: a constant plus the sum over its messages.

The effect of one edit can thus be measured without a recount of the rest.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import TypeVar

from msgspec import Struct

from ctxtrim.conversation.tool_results import tool_name
from ctxtrim.conversation.turns import Shape
from ctxtrim.conversation.turns import shape as shape_of
from ctxtrim.model import KINDS, ROLES, Message, Part, Transcript
from ctxtrim.tokens import Ceiling, Exactness, Tokenizer
from ctxtrim.tokens.framing import Framing, argument_values
from ctxtrim.tokens.request import Addends

Messages = tuple[Message, ...]

K = TypeVar("K")
T = TypeVar("T")
_QUOTED = partial(json.dumps, ensure_ascii=False)
_TEXTS = 8_000_000  # characters of cached texts
_REMEMBERED = 256  # cached models, and per model cached names and schemas


class Cost(Struct, frozen=True):
    """The tokens of one message: of its parts, in order, of the frame around them, and in total.

    `addends` splits the same tokens by purpose. For a call, `call_names` and `arguments` are the
    tokens of its name and of its argument frames; for a result, `escapes` are those of its
    escaping.
    """

    parts: tuple[int, ...]
    frame: int
    total: int
    addends: Addends


@dataclass(frozen=True)
class Count:
    """The tokens of a transcript, in total and by role, kind and tool.

    `tokens` = `by_role` + `framing` + `tools_schema`. `beside` has the tokens outside of messages
    by purpose: the priming, which is part of the framing, and the addends of the tool schemas.
    """

    tokens: int
    exactness: Exactness
    by_role: dict[str, int]
    by_kind: dict[str, int]
    by_tool: dict[str, int]
    framing: int
    tools_schema: int
    beside: Addends


class TextCounts:
    """The tokens of texts that recur, such as the common start of logged requests.

    It holds texts of at most eight million characters in total; a full cache is cleared.
    """

    def __init__(self) -> None:
        self._tokens: dict[str, int] = {}
        self._size = 0

    def count(self, text: str, tokenizer: Tokenizer) -> int:
        """The tokens of a text."""
        tokens = self._tokens.get(text)
        if tokens is None:
            tokens = tokenizer.count(text)
            self._size += len(text)
            if self._size > _TEXTS:
                self._tokens.clear()
                self._size = len(text)
            if len(text) <= _TEXTS:
                self._tokens[text] = tokens
        return tokens


@dataclass(frozen=True)
class Counter:
    """A tokenizer and a framing. Caches the costs of messages for its lifetime.

    One counter serves one transcript, so that the cache does not outlive its messages. `names`,
    `tools` and `texts` cache tool names, schemas and texts, which recur in other transcripts; all
    counters of a model share them.
    """

    tokenizer: Tokenizer
    framing: Framing
    names: dict[str, int] = field(default_factory=dict, repr=False, compare=False)
    tools: dict[str, Addends] = field(default_factory=dict, repr=False, compare=False)
    texts: "TextCounts" = field(default_factory=lambda: TextCounts(), repr=False, compare=False)
    _costs: dict[tuple[int, bool], tuple[Message, Cost]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _seen: dict[int, "_Seen"] = field(default_factory=dict, repr=False, compare=False)
    _overheads: dict[int, tuple[Transcript, Addends]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _labels: dict[int, tuple[Transcript, Exactness]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def fresh(self) -> "Counter":
        """A counter for another transcript."""
        return Counter(self.tokenizer, self.framing, self.names, self.tools, self.texts)

    def bound(self) -> "Counter":
        """A counter that never counts less than this one and does not load a vocabulary."""
        return Counter(Ceiling(self.tokenizer), self.framing)

    def text(self, text: str) -> int:
        """The tokens of a text."""
        return self.tokenizer.count(text)

    def shape(self, messages: Messages) -> Shape:
        """The shape of a conversation, computed once."""
        return self._look(messages)[1]

    def costs(self, messages: Messages) -> list[Cost]:
        """The cost of each message, given the messages around it."""
        return self._look(messages)[2]

    def _look(self, messages: Messages) -> "_Seen":
        seen = self._seen.get(id(messages))
        if seen is None:  # storing the messages keeps their ids unique
            shape = shape_of(messages)
            costs = [
                self.cost(message, fan) for message, fan in zip(messages, shape.fan, strict=True)
            ]
            seen = self._seen[id(messages)] = (messages, shape, costs)
        return seen

    def fixed(self, transcript: Transcript) -> int:
        """The tokens of the request without its messages: priming, tool schemas and
        other fields.
        """
        return sum(self.beside(transcript).values())

    def tokens(self, transcript: Transcript) -> int:
        """The tokens of the whole request."""
        return self.fixed(transcript) + sum(cost.total for cost in self.costs(transcript.messages))

    def exactness(self, transcript: Transcript) -> Exactness:
        """The exactness of this transcript's count. Only plain messages are exact."""
        cached = self._labels.get(id(transcript))
        if cached is None:  # storing the transcript keeps its id unique
            label = self._exactness(transcript)
            cached = self._labels[id(transcript)] = (transcript, label)
        return cached[1]

    def _exactness(self, transcript: Transcript) -> Exactness:
        sent = [message for message in transcript.messages if message.agent_visible]
        if transcript.uncounted or any(
            _is_guessed(part) for message in sent for part in message.parts
        ):
            return "estimated"
        overhead = self.beside(transcript)
        request = self.framing.request.exactness(transcript.options, overhead)
        if request == "estimated":
            return "estimated"
        if self.tokenizer.exactness != "exact":
            # a reconstructed count may be too low even if the rest is bounded
            return self.tokenizer.exactness
        is_plain = transcript.tools is None and all(
            message.role != "tool"
            and all(part.kind == "text" and part.span for part in message.parts)
            for message in sent
        )
        return request if is_plain and self.framing.is_verified else "bounded"

    def count(self, transcript: Transcript) -> Count:
        """The tokens of the whole request, in total and by role, kind and tool."""
        shape = self.shape(transcript.messages)
        by_role: dict[str, int] = dict.fromkeys(ROLES, 0)
        by_kind: dict[str, int] = dict.fromkeys(KINDS, 0)
        by_tool: dict[str, int] = {}
        framing = self.framing.priming
        for index, cost in enumerate(self.costs(transcript.messages)):
            message = transcript.messages[index]
            if not message.agent_visible:
                continue
            framing += cost.frame
            for part, tokens in zip(message.parts, cost.parts, strict=True):
                by_role[message.role] += tokens
                by_kind[part.kind] += tokens
                if message.role == "tool" or part.kind == "tool_call":
                    tool = tool_name(part, shape.call[index])
                    by_tool[tool] = by_tool.get(tool, 0) + tokens
        overhead = self.beside(transcript)
        schemas = sum(overhead.values()) - self.framing.priming
        total = framing + schemas + sum(by_role.values())
        by_tool = dict(sorted(by_tool.items(), key=lambda item: (-item[1], item[0])))
        exactness = self.exactness(transcript)
        return Count(
            tokens=total,
            exactness=exactness,
            by_role=by_role,
            by_kind=by_kind,
            by_tool=by_tool,
            framing=framing,
            tools_schema=schemas,
            beside=overhead,
        )

    def cost(self, message: Message, fan: int) -> Cost:
        """The cost of a message whose exchange makes `fan` parallel calls.

        0 for a hidden message.
        """
        is_parallel = fan > 1
        cached = self._costs.get((id(message), is_parallel))
        if cached is None:
            cached = self._costs[id(message), is_parallel] = (
                message,
                self._price(message, is_parallel),
            )
        return cached[1]

    def addends(self, message: Message, fan: int) -> Addends:
        """The addends of a message's cost that are not 0; `fan` as for `cost`."""
        return {name: tokens for name, tokens in self.cost(message, fan).addends.items() if tokens}

    def beside(self, transcript: Transcript) -> Addends:
        """The tokens outside of messages by purpose: priming, tool schemas, and other request
        fields.
        """
        cached = self._overheads.get(id(transcript))
        if cached is None:  # storing the transcript keeps its id unique
            costs = self.framing.request.costs(transcript, self._name, self._schemas)
            overhead = {"priming": self.framing.priming} | costs
            cached = self._overheads[id(transcript)] = (transcript, overhead)
        return cached[1]

    def _schemas(self, tools: str) -> Addends:
        cached = self.tools.get(tools)
        return cached or keep(
            self.tools, tools, self.framing.request.schemas(tools, self.tokenizer.count)
        )

    def _price(self, message: Message, is_parallel: bool) -> Cost:
        """The cost of a message, summed from its addends; 0 for a hidden message."""
        if not message.agent_visible:
            return Cost((0,) * len(message.parts), 0, 0, {})
        quoted = self._quoted(message, is_parallel)
        addends: Addends = {}
        parts = tuple([self._part(part, quoted, addends) for part in message.parts])
        around = self.framing.around(message, is_parallel, self._name)
        addends |= around
        frame = sum(around.values())
        return Cost(parts, frame, sum(parts) + frame, addends)

    def _quoted(self, message: Message, is_parallel: bool) -> Callable[[str], str] | None:
        """The function that escapes texts if the API sends them as JSON strings, or None."""
        if message.role != "tool":
            return None
        if is_parallel and self.framing.escapes_parallel:
            return json.dumps
        return _QUOTED if self.framing.quotes_results else None

    def _part(self, part: Part, quoted: Callable[[str], str] | None, addends: Addends) -> int:
        """The tokens of a part, which are also added to the addends of its message."""
        if part.kind == "tool_call":
            costs = self._call(part)
        elif part.media is not None:
            costs = {part.kind: self.framing.media.tokens(part.media)}
            if part.media.kind == "image":
                costs["image"] = self.framing.image
        else:
            text = part.spelled
            tokens = self.texts.count(text, self.tokenizer)
            costs = {part.kind: tokens}
            if quoted is not None:
                costs["escapes"] = max(0, self.tokenizer.count(quoted(text)) - tokens)
            if part.kind == "attachment":
                costs["document"] = self.framing.document
        if part.sealed:
            costs["sealed"] = ceil(part.sealed * self.framing.sealed)
        for name, tokens in costs.items():
            addends[name] = addends.get(name, 0) + tokens
        return sum(costs.values())

    def _call(self, part: Part) -> Addends:
        """The tokens of a call's arguments and name."""
        count, framing, arguments = self.tokenizer.count, self.framing, part.spelled
        names = framing.call_names * self._name(framing.call_prefix + (part.name or ""))
        spelled = argument_values(arguments) if framing.spells_arguments else None
        if spelled is None:
            return {"tool_call": count(arguments), "call_names": names}
        texts = sum(self._name(name) + count(value) for name, value in spelled)
        return {
            "tool_call": texts,
            "arguments": framing.argument * len(spelled),
            "call_names": names,
        }

    def _name(self, name: str) -> int:
        tokens = self.names.get(name)
        return keep(self.names, name, self.tokenizer.count(name)) if tokens is None else tokens


_Seen = tuple[Messages, Shape, list[Cost]]


def keep(cache: dict[K, T], key: K, value: T) -> T:
    """Cache a value. A full cache is cleared, so that values used once do not accumulate."""
    if len(cache) >= _REMEMBERED:
        cache.clear()
    cache[key] = value
    return value


def _is_guessed(part: Part) -> bool:
    """Whether the cost of a part is an assumption: encrypted reasoning, or media of
    unknown length.
    """
    media = part.media
    if part.sealed:
        return True
    if media is None or media.kind == "image":
        return False
    return (
        media.pages if media.kind == "pdf" else media.seconds if media.kind == "audio" else None
    ) is None
