"""Results that feed a later call: an argument of it was first seen there.

What feeds is a whole token of at least 6 characters: a path, an id, a word. It is the result's own where no message
before it has that token; what that call's result says then feeds others only by what is new in it (depth 1).
"""

import re
from collections.abc import Iterable, Sequence

from ctxtrim.conversation.tool_results import result_text
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence.tool_kinds import strings
from ctxtrim.model import Message

_TOKEN = re.compile(r"[\w/~@.+-]{6,}")
# A path or id, from its first character to its last; a `./` in front and a dot behind are none of it.
_WIDE = re.compile(r"(?:\.+/)*([\w/~@+-][\w/~@.+-]{4,}[\w/])")
_WORD = re.compile(r"\w{6,}")


def chained(messages: Sequence[Message], where: Shape) -> dict[int, list[tuple[int, int, int]]]:
    """For the positions of results that feed calls: (position of the call's message, start, end of what it uses)."""
    opened = next((position for position, message in enumerate(messages) if message.role == "tool"), len(messages))
    used = {
        position: tokens(strings_of_calls(message))
        for position, message in enumerate(messages[opened:], opened)
        if any(message.calls)
    }
    waiting = set().union(*used.values())  # tokens of arguments that no message has had yet
    sources: dict[str, tuple[int, int, int]] = {}
    for position, message in enumerate(messages):
        if not waiting:
            break
        found = waiting & tokens(_texts(message))
        waiting -= found
        if found and message.role == "tool":
            sources.update(
                (token, (position, start, end)) for token, (start, end) in _places(result_text(message), found)
            )
    chains: dict[int, list[tuple[int, int, int]]] = {}
    for consumer, wanted in used.items():
        for token in wanted & sources.keys():
            position, start, end = sources[token]
            if position < consumer:
                chains.setdefault(position, []).append((consumer, start, end))
    return {position: sorted(chains[position]) for position in sorted(chains)}


def tokens(texts: Iterable[str]) -> set[str]:
    """The whole tokens in some texts, and the words of at least 6 characters inside them."""
    found: set[str] = set()
    for text in texts:
        for token in set(_TOKEN.findall(text)):  # most are words, and most of them are there many times
            if token.isidentifier():
                found.add(token)
            else:
                found.update(_WIDE.findall(token))
                found.update(_WORD.findall(token))
    return found


def strings_of_calls(message: Message) -> list[str]:
    """The strings in the arguments of all calls of a message."""
    return [text for call in message.calls for text in strings(call.text)]


def _texts(message: Message) -> list[str]:
    """All that a message says, the arguments of calls as the tool reads them."""
    if message.role == "tool":
        return [result_text(message), *(part.text for part in message.parts if part.kind != "tool_result")]
    return [*(part.text for part in message.parts if part.kind != "tool_call"), *strings_of_calls(message)]


def _places(text: str, wanted: set[str]) -> Iterable[tuple[str, tuple[int, int]]]:
    """The first place of each wanted token that a text has."""
    places: dict[str, tuple[int, int]] = {}
    for pattern, group in ((_WIDE, 1), (_WORD, 0)):
        for match in pattern.finditer(text):
            if match[group] in wanted:
                places.setdefault(match[group], match.span(group))
    return places.items()
