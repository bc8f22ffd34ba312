"""Results that a later call used: an argument of the call first occurs in the result.

A used value is a whole path, id or word of at least 6 characters. It must not occur in a message
before the result. The result of that call counts only for values that are new in it (depth 1).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ctxtrim.conversation.tool_results import result_text
from ctxtrim.evidence.errors import is_abridged
from ctxtrim.evidence.tool_kinds import strings
from ctxtrim.model import Message
from ctxtrim.text import Range

_VALUE = re.compile(r"[\w/~@.+-]{6,}")
_LETTER = re.compile(r"[\w/~@.+-]")
# A path or id, without a leading `./` and a trailing dot. It is tried once in each run of these
# characters, and repeats leading dots only as a whole: a pattern without this is quadratic.
_WIDE = re.compile(r"(?<![\w/~@.+-])(?:(?:\.++/)*+|\.*+)([\w/~@+-][\w/~@.+-]{4,}[\w/])")
_WORD = re.compile(r"\w{6,}")
_LEAST = 6  # characters of a value, as in the patterns
_NOTE = 300  # characters of a note in the place of a result
_FEW = 64  # values that are searched in a text before the text is split into values
_LETTERS = re.findall(rb"\w", bytes(range(128)))
_WORDS_ONLY = bytes(code if bytes((code,)) in _LETTERS else 32 for code in range(256))
_VALUES_ONLY = bytes(code if code in b"/~@.+-" else _WORDS_ONLY[code] for code in range(256))


class Use(NamedTuple):
    """The position of a message with a call, and a value that the call took from a result."""

    position: int
    value: str


def uses_of_results(
    messages: Sequence[Message], callers: Sequence[bool] | None = None
) -> dict[int, list[Use]]:
    """The uses of each used result in order, by the position of the result.

    `callers`: the messages whose calls count; None for all. Hidden messages use nothing, and are no
    source: the model does not read them.
    """
    start = next(
        (position for position, message in enumerate(messages) if message.role == "tool"), None
    )
    if start is None:
        return {}
    call_values: dict[int, set[str]] = {}
    for position in range(start, len(messages)):
        is_caller = messages[position].agent_visible and (callers is None or callers[position])
        if is_caller and (texts := strings_of_calls(messages[position])):
            call_values[position] = values_in(texts)
    sources = _sources(messages, call_values)
    uses: dict[int, list[Use]] = {}
    for caller, values in call_values.items():
        for value in values & sources.keys():
            position = sources[value]
            if position < caller:
                uses.setdefault(position, []).append(Use(caller, value))
    return {position: sorted(uses[position]) for position in sorted(uses)}


def used_ranges(text: str, uses: Sequence[Use]) -> list[Range]:
    """The first ranges of the used values in the text of a result, in order of the calls."""
    values = {use.value for use in uses}
    ranges: dict[str, Range] = {}
    for pattern, group in ((_WIDE, 1), (_WORD, 0)):
        matches = pattern.finditer(text)
        while values and (match := next(matches, None)):
            value = match[group]
            if value in values:
                ranges[value] = match.span(group)
                values.remove(value)
    return [
        text_range
        for _, text_range in sorted((position, ranges[value]) for position, value in uses)
    ]


def _sources(messages: Sequence[Message], call_values: Mapping[int, set[str]]) -> dict[str, int]:
    """The position of the result in which each used value occurs before all other messages.

    `call_values`: the values in the calls that count, by the position of their message.
    """
    open_values = _OpenValues.of(set().union(*call_values.values()))
    sources: dict[str, int] = {}
    for position, message in enumerate(messages):
        if not (open_values.words or open_values.others):
            break
        if not message.agent_visible:
            continue
        values = open_values.short_list
        if values and position not in call_values and not _may_have(message, values):
            continue  # as almost always
        texts = _texts(message)
        new_values = open_values.among(texts)
        if message.role != "tool":
            own_values = call_values.get(position)
            if own_values is None:
                own_values = open_values.among(strings_of_calls(message))
            new_values |= own_values
        if not new_values:
            continue
        open_values.remove(new_values)
        if message.role == "tool":
            result_values = new_values
            if len(texts) > 1:
                result_values = _OpenValues.of(new_values).among(texts[:1])
            sources.update(dict.fromkeys(result_values, position))
    return sources


@dataclass
class _OpenValues:
    """Used values that no message has yet: words, and others such as paths.

    `short_list`: all of them; empty if they are more than a few.
    """

    words: set[str]
    others: set[str]
    short_list: Sequence[str] = ()

    def __post_init__(self) -> None:
        self._update_short_list()

    @classmethod
    def of(cls, values: set[str]) -> "_OpenValues":
        """Some values of both kinds."""
        words = set(filter(_WORD.fullmatch, values))
        return cls(words, values - words)

    def among(self, texts: Sequence[str]) -> set[str]:
        """Those that are values of some texts.

        A few of them are searched first, because that is faster than to split a text.
        """
        if self.short_list:
            words = _words_among(self.words, texts)
            return words | _others_among(self.others, texts) if self.others else words
        return set().union(*map(self._in, texts))

    def remove(self, values: set[str]) -> None:
        """Remove some of them."""
        self.words -= values
        self.others -= values
        self._update_short_list()

    def _update_short_list(self) -> None:
        is_few = len(self.words) + len(self.others) <= _FEW
        self.short_list = (*self.words, *self.others) if is_few else ()

    def _in(self, text: str) -> set[str]:
        """Those that are values of a text.

        For ASCII, replacing all other characters by spaces and splitting is faster than a pattern.
        """
        if not text.isascii():
            values = values_in((text,))
            return self.words & values | self.others & values
        data = text.encode()
        word_data, value_data = data.translate(_WORDS_ONLY), data.translate(_VALUES_ONLY)
        values = self.words.intersection(word_data.decode().split()) if self.words else set()
        # there are paths, or other values that are no words
        if value_data != word_data and self.others:
            others = [value for value in value_data.decode().split() if not value.isidentifier()]
            values |= self.others.intersection(_WIDE.findall("\n".join(others)))
        return values


def _may_have(message: Message, values: Sequence[str]) -> bool:
    """Whether one of a few values may be in a message: the escapes of a call may hide it."""
    for part in message.parts:
        text = part.text
        for value in values:
            if value in text:
                return True
        if part.kind == "tool_call" and "\\" in text:
            return True
    return False


def _words_among(words: set[str], texts: Sequence[str]) -> set[str]:
    """Those of some words that are words of some texts."""
    return {word for text in texts for word in words if word in text and _is_word_of(text, word)}


def _is_word_of(text: str, word: str) -> bool:
    """Whether a text has a word with no letter or digit next to it."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        has_letter_before = start > 0 and _is_letter(text[start - 1])
        if not has_letter_before and not (end < len(text) and _is_letter(text[end])):
            return True
        start = text.find(word, end)
    return False


def _is_letter(character: str) -> bool:
    """Whether a character is part of a word."""
    return character.isalnum() or character == "_"


def _others_among(values: set[str], texts: Sequence[str]) -> set[str]:
    """Those of some other values, such as paths, that are values of some texts."""
    whole_values: set[str] = set()
    parts: set[str] = set()
    for text in texts:
        for value in values:
            start = text.find(value)
            if start >= 0:
                is_whole = _is_apart(text, start, start + len(value))
                (whole_values if is_whole else parts).add(value)
    return whole_values if parts <= whole_values else whole_values | parts & values_in(texts)


def _is_apart(text: str, start: int, end: int) -> bool:
    """Whether no character of a value is next to a range."""
    return not _LETTER.match(text, end) and (not start or not _LETTER.match(text, start - 1))


def values_in(texts: Iterable[str]) -> set[str]:
    """The whole values in some texts, and the words of at least 6 characters inside them."""
    candidates: set[str] = set()  # most values repeat
    for text in texts:
        if text.isascii():  # much faster than the pattern
            candidates.update(text.encode().translate(_VALUES_ONLY).decode().split())
        else:
            candidates.update(_VALUE.findall(text))
    long_candidates = [value for value in candidates if len(value) >= _LEAST]
    values = set(filter(str.isidentifier, long_candidates))
    if len(values) < len(long_candidates):
        others = "\n".join([value for value in long_candidates if value not in values])
        values.update(_WIDE.findall(others), _WORD.findall(others))
    return values


def strings_of_calls(message: Message) -> list[str]:
    """The strings in the arguments of all calls of a message."""
    texts: list[str] = []
    for part in message.parts:
        if part.kind == "tool_call":
            texts += strings(part.text)
    return texts


def _texts(message: Message) -> list[str]:
    """All text of a message without that of its calls; the text of a result comes first.

    The note in the place of a truncated result is no text: a second run has to find the same uses.
    """
    if message.role == "tool":
        text = result_text(message)
        if text.startswith("[") and len(text) <= _NOTE and is_abridged(message):
            text = ""
        others = [part.text for part in message.parts if part.kind != "tool_result"]
        return [text, *others]
    return [part.text for part in message.parts if part.kind != "tool_call"]
