"""Results that a later call used: an argument of the call first occurs in the result.

A used token is a whole token of at least 6 characters: a path, an id, a word. It must not occur in
a message before the result. The result of that call counts only for tokens that are new in it
(depth 1).
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ctxtrim.conversation.tool_results import result_text
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence.tool_kinds import strings
from ctxtrim.model import Message

_TOKEN = re.compile(r"[\w/~@.+-]{6,}")
# A path or id, without a leading `./` and a trailing dot.
_WIDE = re.compile(r"(?:\.+/)*([\w/~@+-][\w/~@.+-]{4,}[\w/])")
_WORD = re.compile(r"\w{6,}")
_FEW = 64  # tokens that are searched in a text before the text is split into tokens


class Use(NamedTuple):
    """The position of a message with a call, and the range of a result that the call used."""

    position: int
    start: int
    end: int


def chained(messages: Sequence[Message], shape: Shape) -> dict[int, list[Use]]:
    """The uses of each used result in order, by the position of the result."""
    used: dict[int, set[str]] = {}
    has_results = False
    for position, message in enumerate(messages):
        has_results = has_results or message.role == "tool"
        if has_results and any(message.calls):
            used[position] = tokens(strings_of_calls(message))
    sources = _sources(messages, set().union(*used.values()))
    chains: dict[int, list[Use]] = {}
    for consumer, wanted in used.items():
        for token in wanted & sources.keys():
            position, start, end = sources[token]
            if position < consumer:
                chains.setdefault(position, []).append(Use(consumer, start, end))
    return {position: sorted(chains[position]) for position in sorted(chains)}


def _sources(messages: Sequence[Message], waiting: set[str]) -> dict[str, tuple[int, int, int]]:
    """The result in which each waiting token occurs before all other messages, and its range."""
    sources: dict[str, tuple[int, int, int]] = {}
    for position, message in enumerate(messages):
        if not waiting:
            break
        texts = _texts(message)
        if len(waiting) <= _FEW and not any(token in text for text in texts for token in waiting):
            continue
        first_seen = waiting & tokens(texts)
        waiting -= first_seen
        if first_seen and message.role == "tool":
            for token, (start, end) in _ranges(result_text(message), first_seen):
                sources[token] = (position, start, end)
    return sources


def tokens(texts: Iterable[str]) -> set[str]:
    """The whole tokens in some texts, and the words of at least 6 characters inside them."""
    found = {token for text in texts for token in _TOKEN.findall(text)}  # most of them repeat
    tokens = {token for token in found if token.isidentifier()}
    others = "\n".join(found - tokens)
    tokens.update(_WIDE.findall(others), _WORD.findall(others))
    return tokens


def strings_of_calls(message: Message) -> list[str]:
    """The strings in the arguments of all calls of a message."""
    return [text for call in message.calls for text in strings(call.text)]


def _texts(message: Message) -> list[str]:
    """All text of a message, with call arguments as parsed strings."""
    if message.role == "tool":
        return [
            result_text(message),
            *(part.text for part in message.parts if part.kind != "tool_result"),
        ]
    return [
        *(part.text for part in message.parts if part.kind != "tool_call"),
        *strings_of_calls(message),
    ]


def _ranges(text: str, wanted: set[str]) -> Iterable[tuple[str, tuple[int, int]]]:
    """The first range of each wanted token in a text."""
    ranges: dict[str, tuple[int, int]] = {}
    for pattern, group in ((_WIDE, 1), (_WORD, 0)):
        for match in pattern.finditer(text):
            if match[group] in wanted:
                ranges.setdefault(match[group], match.span(group))
    return ranges.items()
