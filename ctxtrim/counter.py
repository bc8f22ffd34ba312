"""What a transcript costs: a constant plus the sum over its messages.

So what one edit changes can be measured without counting the rest again.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from ctxtrim.media import POLICIES, Policy
from ctxtrim.model import KINDS, ROLES, Message, Part, Transcript
from ctxtrim.schemas import rendered
from ctxtrim.tokens import Ceiling, Exactness, Tokenizer
from ctxtrim.turns import Shape, shape

Messages = tuple[Message, ...]


@dataclass(frozen=True)
class Framing:
    """What a request costs beside its texts, in tokens.

    `priming` once; `message` for each, with its role; `assistant` on top for each assistant message; `participant`
    on top of a participant's name; `call` for each call, whose name counts `call_names` times, and `multiline` for
    each of its arguments with a line break; `parallel` for two calls or more in one message, whose results some
    providers send escaped to ASCII; `tools` once where tool schemas are sent, on top of their JSON text, or `declared`
    where `declares_tools` and they can be spelled as declarations; `media` says what
    attachments cost. `forbidden` and
    `forced` (beside its name) are what a choice of no tool or of one costs. `is_verified`: plain messages cost exactly
    this, by the API's own counts.
    """

    priming: int
    message: int
    assistant: int = 0
    participant: int = 1
    call: int = 10
    call_names: int = 2
    multiline: int = 6
    parallel: int = 24
    escapes_parallel: bool = True
    tools: int = 12
    declares_tools: bool = True
    declared: int = 6
    forbidden: int = 1
    forced: int = 7
    media: Policy = POLICIES["unknown"]
    is_verified: bool = False


@dataclass(frozen=True, slots=True)
class Cost:
    """What one message costs: tokens of its parts, in their order, of the frame around them, and together."""

    parts: tuple[int, ...]
    frame: int
    total: int


@dataclass(frozen=True)
class Count:
    """The tokens of a transcript: the whole, and where they sit. `by_role` + `framing` + `tools_schema` = `tokens`.

    `priming` is the part of the framing that no message has.
    """

    tokens: int
    exactness: Exactness
    by_role: dict[str, int]
    by_kind: dict[str, int]
    by_tool: dict[str, int]
    framing: int
    tools_schema: int
    priming: int


@dataclass(frozen=True)
class Counter:
    """A tokenizer and a framing as one value; remembers what messages cost for as long as it lives.

    One counter serves one transcript, so that nothing is remembered longer than its messages. `names` is shared by
    all counters of a model: tool names and schemas, which recur in every transcript.
    """

    tokenizer: Tokenizer
    framing: Framing
    names: dict[str, int] = field(default_factory=dict, repr=False, compare=False)
    _costs: dict[tuple[int, bool], tuple[Message, Cost]] = field(default_factory=dict, repr=False, compare=False)
    _seen: dict[int, "_Seen"] = field(default_factory=dict, repr=False, compare=False)

    def fresh(self) -> "Counter":
        """A counter for another transcript."""
        return Counter(self.tokenizer, self.framing, self.names)

    def bound(self) -> "Counter":
        """A counter that never counts less than this one and loads no vocabulary."""
        return Counter(Ceiling(self.tokenizer), self.framing)

    def text(self, text: str) -> int:
        """The tokens of a text."""
        return self.tokenizer.count(text)

    def shape(self, messages: Messages) -> Shape:
        """The shape of a conversation, found once."""
        return self._look(messages)[1]

    def costs(self, messages: Messages) -> list[Cost]:
        """What each message costs, in the company it is in."""
        return self._look(messages)[2]

    def _look(self, messages: Messages) -> "_Seen":
        seen = self._seen.get(id(messages))
        if seen is None:  # the messages are kept beside what was found, so that their id stays their own
            where = shape(messages)
            costs = [self.cost(message, fan) for message, fan in zip(messages, where.fan, strict=True)]
            seen = self._seen[id(messages)] = (messages, where, costs)
        return seen

    def fixed(self, transcript: Transcript) -> int:
        """What the request costs whatever messages it holds: priming and tool schemas."""
        return self.framing.priming + self._schemas(transcript)

    def tokens(self, transcript: Transcript) -> int:
        """The tokens of the whole request."""
        return self.fixed(transcript) + sum(cost.total for cost in self.costs(transcript.messages))

    def exactness(self, transcript: Transcript) -> Exactness:
        """How far the tokens of this transcript can be trusted: an exact count needs plain messages."""
        if transcript.uncounted or any(_is_guessed(part) for message in transcript.messages for part in message.parts):
            return "estimated"
        if self.tokenizer.exactness != "exact":
            return self.tokenizer.exactness
        is_plain = transcript.tools is None and all(
            message.role != "tool" and all(part.kind == "text" and part.span for part in message.parts)
            for message in transcript.messages
        )
        return "exact" if is_plain and self.framing.is_verified else "bounded"

    def count(self, transcript: Transcript) -> Count:
        """The tokens of the whole request, and where they sit."""
        where = self.shape(transcript.messages)
        by_role: dict[str, int] = dict.fromkeys(ROLES, 0)
        by_kind: dict[str, int] = dict.fromkeys(KINDS, 0)
        by_tool: dict[str, int] = {}
        framing = self.framing.priming
        for index, cost in enumerate(self.costs(transcript.messages)):
            message = transcript.messages[index]
            framing += cost.frame
            for part, tokens in zip(message.parts, cost.parts, strict=True):
                by_role[message.role] += tokens
                by_kind[part.kind] += tokens
                if message.role == "tool" or part.kind == "tool_call":
                    tool = tool_name(part, where.call[index])
                    by_tool[tool] = by_tool.get(tool, 0) + tokens
        schemas = self._schemas(transcript)
        total = framing + schemas + sum(by_role.values())
        by_tool = dict(sorted(by_tool.items(), key=lambda item: (-item[1], item[0])))
        return Count(
            total, self.exactness(transcript), by_role, by_kind, by_tool, framing, schemas, self.framing.priming
        )

    def cost(self, message: Message, fan: int) -> Cost:
        """What a message costs whose exchange makes `fan` calls at once."""
        is_parallel = fan > 1
        known = self._costs.get((id(message), is_parallel))
        if known is None:
            known = self._costs[id(message), is_parallel] = (message, self._price(message, is_parallel))
        return known[1]

    def _price(self, message: Message, is_parallel: bool) -> Cost:
        framing = self.framing
        frame = framing.message
        parts = []
        if message.role == "assistant":
            frame += framing.assistant
            if is_parallel:
                frame += framing.parallel
        if message.name is not None:
            frame += framing.participant + self._name(message.name)
        is_escaped = is_parallel and message.role == "tool" and framing.escapes_parallel
        for part in message.parts:
            if part.media is not None:
                parts.append(framing.media.tokens(part.media))
                continue
            tokens = self.tokenizer.count(part.text)
            if part.kind == "tool_call":
                frame += framing.call
                if framing.multiline and "\\" in part.text:
                    frame += framing.multiline * _multiline_arguments(part.text)
                tokens += framing.call_names * self._name(part.name or "")
            elif is_escaped:
                tokens = max(tokens, self.tokenizer.count(json.dumps(part.text)))
            parts.append(tokens)
        return Cost(tuple(parts), frame, sum(parts) + frame)

    def _name(self, name: str) -> int:
        if name not in self.names:
            self.names[name] = self.tokenizer.count(name)
        return self.names[name]

    def _schemas(self, transcript: Transcript) -> int:
        """The tool schemas and the choice among them."""
        tools, choice = transcript.tools, transcript.tool_choice
        if tools is None:
            return 0
        if tools not in self.names:
            declarations = rendered(tools) if self.framing.declares_tools else None
            if declarations is not None:
                self.names[tools] = self.tokenizer.count(declarations) + self.framing.declared
            else:  # Python's own spelling of the JSON: what the bound was measured with
                self.names[tools] = self.tokenizer.count(json.dumps(json.loads(tools))) + self.framing.tools
        if choice in (None, "auto"):
            return self.names[tools]
        return self.names[tools] + (
            self.framing.forbidden if choice == "none" else self.framing.forced + self._name(choice)
        )


_Seen = tuple[Messages, Shape, list[Cost]]


def _is_guessed(part: Part) -> bool:
    """Whether an attachment's cost rests on an assumption: how long a sound is, or a document, nobody wrote down."""
    media = part.media
    if media is None or media.kind == "image":
        return False
    return (media.pages if media.kind == "pdf" else media.seconds if media.kind == "audio" else None) is None


def tool_name(part: Part, call: Part | None) -> str:
    """The tool that a call or a result belongs to; `?` where neither says so."""
    return part.name or (call.name if call else None) or "?"


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
