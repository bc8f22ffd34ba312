"""The token count of a transcript: a constant plus the sum over its messages.

The effect of one edit can thus be measured without a recount of the rest.
"""

from operator import attrgetter

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtrim.conversation.tool_results import are_alike, tool_name
from ctxtrim.conversation.turns import Shape
from ctxtrim.conversation.turns import shape as shape_of
from ctxtrim.loading import lazy_pattern
from ctxtrim.model import KINDS, ROLES, Message, Transcript
from ctxtrim.text.numbers import most_first
from ctxtrim.tokens.framing import Framing
from ctxtrim.tokens.message_costs import Cost, MessageCosts
from ctxtrim.tokens.request import Addends
from ctxtrim.tokens.text_counts import TextCounts, keep
from ctxtrim.tokens.tokenizer import Ceiling, Exactness, Tokenizer, worse

Messages = tuple[Message, ...]

_SPECIAL = lazy_pattern(r"<\|[a-z0-9_]+\|>")
_total = attrgetter("total")
_is_guessed = attrgetter("is_guessed")


class Count(Struct, frozen=True):
    """The tokens of a transcript, in total and by role, kind and tool.

    `tokens` = `by_role` + `framing` + `tools_schema`. `overhead` has the tokens outside of messages
    by purpose: the priming, which is part of the framing, and the addends of the tool schemas.
    """

    tokens: int
    exactness: Exactness
    by_role: dict[str, int]
    by_kind: dict[str, int]
    by_tool: dict[str, int]
    framing: int
    tools_schema: int
    overhead: Addends


class Counter(Struct, frozen=True, eq=False):
    """A tokenizer and a framing. Caches the costs of messages for its lifetime.

    One counter serves one transcript, so that the cache does not outlive its messages. `names`,
    `frames`, `tools` and `texts` cache tool names, frames, schemas and texts, which recur in other
    transcripts; all counters of a model share them.
    """

    tokenizer: Tokenizer
    framing: Framing
    names: dict[str, int] = field(default_factory=dict)
    frames: dict[object, int] = field(default_factory=dict)
    tools: dict[str, Addends] = field(default_factory=dict)
    texts: TextCounts = field(default_factory=TextCounts)
    _costs: dict[tuple[int, bool], tuple[Message, Cost]] = field(default_factory=dict)
    _seen: dict[int, "_Seen"] = field(default_factory=dict)
    _overheads: dict[int, tuple[Transcript, Addends]] = field(default_factory=dict)
    _labels: dict[int, tuple[Transcript, Exactness]] = field(default_factory=dict)

    def counts_like(self, other: "Counter") -> bool:
        """Whether another counter has the same tokenizer and framing."""
        return (self.tokenizer, self.framing) == (other.tokenizer, other.framing)

    def fresh(self) -> "Counter":
        """A counter for another transcript."""
        self.texts.next_transcript()
        return Counter(
            self.tokenizer, self.framing, self.names, self.frames, self.tools, self.texts
        )

    def bound(self) -> "Counter":
        """A counter that never counts less than this one and does not load a vocabulary.

        A ceiling of an estimate is no upper bound of the provider's count.
        """
        exactness = worse("bounded", self.tokenizer.exactness)
        return Counter(Ceiling(self.tokenizer, exactness), self.framing)

    @property
    def _message_costs(self) -> MessageCosts:
        return MessageCosts(self.tokenizer, self.framing, self.names, self.frames, self.texts)

    def forget(self) -> None:
        """Free the memory of the costs of messages; a further count finds them again."""
        self._costs.clear()
        self._seen.clear()

    def text(self, text: str) -> int:
        """The tokens of a text, which need not be that of a message."""
        return self.texts.known(text) or self.tokenizer.count(text)

    def result(self, message: Message, text: str) -> int:
        """The tokens of the text of a tool result, which are known if it is a single part as read
        and counts as its text.
        """
        index, seen = message.index, self._first
        if seen is None or index is None or index >= len(seen.messages):
            return self.text(text)
        if seen.messages[index] is not message or len(message.parts) != 1:
            return self.text(text)
        part, framing = message.parts[0], self.framing
        is_escaped = framing.quotes_results or (
            framing.escapes_parallel and seen.shape.fan[index] > 1
        )
        is_plain = part.text is text and part.wrapper is None and part.media is None
        if is_escaped or not is_plain or part.sealed:
            return self.text(text)
        return seen.costs[index].parts[0]

    def shape(self, messages: Messages) -> Shape:
        """The shape of a conversation, computed once."""
        return self._look(messages).shape

    def costs(self, messages: Messages) -> list[Cost]:
        """The cost of each message, given the messages around it."""
        return self._look(messages).costs

    @property
    def _first(self) -> "_Seen | None":
        """The conversation as read."""
        return next(iter(self._seen.values()), None)

    def _look(self, messages: Messages) -> "_Seen":
        seen = self._seen.get(id(messages))
        if seen is None:  # storing the messages keeps their ids unique
            first = self._first
            if first is None:
                shape = shape_of(messages)
                costs = self._message_costs.of(messages, shape.fan)
            elif are_alike(messages, first.messages):
                shape = replace(first.shape, messages=messages)
                rows = zip(messages, first.messages, first.costs, shape.fan, strict=True)
                costs = [
                    cost if message is before else self.cost(message, fan)
                    for message, before, cost, fan in rows
                ]
            else:  # further lists share messages with the first one
                shape = shape_of(messages)
                costs = list(map(self.cost, messages, shape.fan))
            total = sum(map(_total, costs))
            is_guessed = any(map(_is_guessed, costs))
            seen = self._seen[id(messages)] = _Seen(messages, shape, costs, total, is_guessed)
        return seen

    def fixed(self, transcript: Transcript) -> int:
        """The tokens of the request without its messages: priming, tool schemas and
        other fields.
        """
        return sum(self.overhead(transcript).values())

    def tokens(self, transcript: Transcript) -> int:
        """The tokens of the whole request."""
        return self.fixed(transcript) + self._look(transcript.messages).total

    def exactness(self, transcript: Transcript) -> Exactness:
        """The exactness of this transcript's count. Only plain messages are exact."""
        cached = self._labels.get(id(transcript))
        if cached is None:  # storing the transcript keeps its id unique
            label = self._exactness(transcript)
            cached = self._labels[id(transcript)] = (transcript, label)
        return cached[1]

    def _exactness(self, transcript: Transcript) -> Exactness:
        if transcript.uncounted or transcript.sessions > 1:
            return "estimated"
        if self._look(transcript.messages).is_guessed:
            return "estimated"
        overhead = self.overhead(transcript)
        request = self.framing.request.exactness(transcript.options, overhead)
        if request == "estimated":
            return "estimated"
        if self.tokenizer.exactness != "exact":
            # a reconstructed count may be too low even if the rest is bounded
            return self.tokenizer.exactness
        is_verified = self.framing.is_verified and transcript.tools is None
        return (
            request if is_verified and _are_plain(transcript.messages, self.framing) else "bounded"
        )

    def count(self, transcript: Transcript) -> Count:
        """The tokens of the whole request, in total and by role, kind and tool."""
        seen = self._look(transcript.messages)
        by_role: dict[str, int] = dict.fromkeys(ROLES, 0)
        by_kind: dict[str, int] = dict.fromkeys(KINDS, 0)
        by_tool: dict[str, int] = {}
        for message, cost, call in zip(seen.messages, seen.costs, seen.shape.call, strict=True):
            role, counts = message.role, iter(cost.parts)
            for part in message.parts:
                kind, tokens = part.kind, next(counts)
                by_role[role] += tokens
                by_kind[kind] += tokens
                if (role == "tool" or kind == "tool_call") and message.agent_visible:
                    tool = part.name or tool_name(part, call)
                    by_tool[tool] = by_tool.get(tool, 0) + tokens
        overhead = self.overhead(transcript)
        total = sum(overhead.values()) + seen.total
        schemas = sum(overhead.values()) - self.framing.priming
        framing = total - schemas - sum(by_role.values())  # the rest are frames
        by_tool = dict(most_first(by_tool))
        return Count(
            tokens=total,
            exactness=self.exactness(transcript),
            by_role=by_role,
            by_kind=by_kind,
            by_tool=by_tool,
            framing=framing,
            tools_schema=schemas,
            overhead=overhead,
        )

    def cost(self, message: Message, fan: int) -> Cost:
        """The cost of a message whose exchange makes `fan` parallel calls.

        0 for a hidden message.
        """
        index, is_parallel = message.index, fan > 1
        seen = next(iter(self._seen.values()), None)  # `_first`, whose call would take longer
        if seen is not None and index is not None and index < len(seen.messages):
            is_seen = seen.messages[index] is message  # as it was read
            if is_seen and (seen.shape.fan[index] > 1) is is_parallel:
                return seen.costs[index]
        key = (id(message), is_parallel)
        cached = self._costs.get(key)
        if cached is None:  # storing the message keeps its id unique
            cached = self._costs[key] = (message, self._message_costs.of((message,), (fan,))[0])
        return cached[1]

    def addends(self, message: Message, fan: int) -> Addends:
        """The tokens of a message by purpose, without those that are 0; `fan` as for `cost`.

        For a call, `call_names` and `arguments` are the tokens of its name and of its argument
        frames; for a result, `escapes` are those of its escaping.
        """
        return self._message_costs.addends(message, fan > 1)

    def overhead(self, transcript: Transcript) -> Addends:
        """The tokens outside of messages by purpose: priming, tool schemas, and other request
        fields.
        """
        cached = self._overheads.get(id(transcript))
        if cached is None:  # storing the transcript keeps its id unique
            costs = self.framing.request.costs(transcript, self._message_costs.name, self._schemas)
            overhead = {"priming": self.framing.priming} | costs
            cached = self._overheads[id(transcript)] = (transcript, overhead)
        return cached[1]

    def _schemas(self, tools: str) -> Addends:
        cached = self.tools.get(tools)
        return cached or keep(
            self.tools, tools, self.framing.request.schemas(tools, self.tokenizer.count)
        )


class _Seen(Struct, frozen=True):
    """The shape of some messages, their costs, and the sum of those. `is_guessed` as in `Cost`."""

    messages: Messages
    shape: Shape
    costs: list[Cost]
    total: int
    is_guessed: bool


def _are_plain(messages: Messages, framing: Framing) -> bool:
    """Whether the messages that the model reads have one text of the file each, and no results.

    Never recorded, and so not plain: no text, two texts, a refusal, a text with the name of a
    special token, which may be read as one token, and for some models a name equal to the role.
    """
    for message in messages:
        if message.agent_visible:
            if message.role == "tool" or len(message.parts) != 1:
                return False
            part = message.parts[0]
            if part.kind != "text" or part.span is None or part.span.path[-1:] == ("refusal",):
                return False
            if not part.text:
                return False
            if "|" in part.text and _SPECIAL.search(part.text):
                return False
            if message.name == message.role and framing.role_name is None:
                return False
    return True
