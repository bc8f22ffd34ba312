"""Results that a later call used: an argument of the call first occurs in the result.

A used token is a whole token of at least 6 characters: a path, an id, a word. It must not occur in
a message before the result. The result of that call counts only for tokens that are new in it
(depth 1).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from ctxtrim.conversation.tool_results import result_text
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence.tool_kinds import strings
from ctxtrim.model import Message
from ctxtrim.text.json_spans import Range

_TOKEN = re.compile(r"[\w/~@.+-]{6,}")
_LETTER = re.compile(r"[\w/~@.+-]")
# A path or id, without a leading `./` and a trailing dot. It is tried once in each run of these
# characters, and repeats leading dots only as a whole: a pattern without this is quadratic.
_WIDE = re.compile(r"(?<![\w/~@.+-])(?:(?:\.++/)*+|\.*+)([\w/~@+-][\w/~@.+-]{4,}[\w/])")
_WORD = re.compile(r"\w{6,}")
_LEAST = 6  # characters of a token, as in the patterns
_FEW = 64  # tokens that are searched in a text before the text is split into tokens
_LETTERS = re.findall(rb"\w", bytes(range(128)))
_WORDS_ONLY = bytes(code if bytes((code,)) in _LETTERS else 32 for code in range(256))
_TOKENS_ONLY = bytes(code if code in b"/~@.+-" else _WORDS_ONLY[code] for code in range(256))


class Use(NamedTuple):
    """The position of a message with a call, and a token that the call took from a result."""

    position: int
    token: str


def chained(
    messages: Sequence[Message], shape: Shape, users: Sequence[bool] | None = None
) -> dict[int, list[Use]]:
    """The uses of each used result in order, by the position of the result.

    `users`: which messages count as users; None for all. Hidden messages use nothing, and are no
    source: the model does not read them.
    """
    first = next((at for at, message in enumerate(messages) if message.role == "tool"), None)
    if first is None:
        return {}
    used: dict[int, set[str]] = {}
    for position in range(first, len(messages)):
        is_user = messages[position].agent_visible and (users is None or users[position])
        if is_user and (texts := strings_of_calls(messages[position])):
            used[position] = tokens(texts)
    sources = _sources(messages, used)
    chains: dict[int, list[Use]] = {}
    for consumer, wanted in used.items():
        for token in wanted & sources.keys():
            position = sources[token]
            if position < consumer:
                chains.setdefault(position, []).append(Use(consumer, token))
    return {position: sorted(chains[position]) for position in sorted(chains)}


def used_ranges(text: str, uses: Sequence[Use]) -> list[Range]:
    """The first ranges of the used tokens in the text of a result, in order of the calls."""
    wanted = {use.token for use in uses}
    ranges: dict[str, Range] = {}
    for pattern, group in ((_WIDE, 1), (_WORD, 0)) if wanted else ():
        for match in pattern.finditer(text):
            if match[group] in wanted:
                ranges.setdefault(match[group], match.span(group))
    return [text_range for _, text_range in sorted((at, ranges[token]) for at, token in uses)]


def _sources(messages: Sequence[Message], used: Mapping[int, set[str]]) -> dict[str, int]:
    """The position of the result in which each used token occurs before all other messages.

    `used` are the tokens in the calls of each user, by its position.
    """
    waiting = _Waiting.of(set().union(*used.values()))
    sources: dict[str, int] = {}
    for position, message in enumerate(messages):
        if not (waiting.words or waiting.others):
            break
        if not message.agent_visible:
            continue
        texts = _texts(message)
        first_seen = waiting.among(texts)
        if message.role != "tool":
            first_seen |= used[position] if position in used else waiting.in_calls(message)
        waiting.words -= first_seen
        waiting.others -= first_seen
        if first_seen and message.role == "tool":
            in_result = first_seen
            if len(texts) > 1:
                in_result = _Waiting.of(first_seen).among(texts[:1])
            sources.update(dict.fromkeys(in_result, position))
    return sources


@dataclass
class _Waiting:
    """Used tokens that no message has yet: words, and others such as paths."""

    words: set[str]
    others: set[str]

    @classmethod
    def of(cls, tokens: set[str]) -> "_Waiting":
        """Some tokens of both kinds."""
        words = set(filter(_WORD.fullmatch, tokens))
        return cls(words, tokens - words)

    def among(self, texts: Sequence[str]) -> set[str]:
        """Those that are tokens of some texts.

        A few of them are searched first, because that is faster than to split a text.
        """
        if self._are_few:
            return _words_among(self.words, texts) | _others_among(self.others, texts)
        return set().union(*map(self._in, texts))

    def in_calls(self, message: Message) -> set[str]:
        """Those that are tokens of the strings in the calls of a message.

        Arguments with none of a few tokens are not parsed. Escapes may hide a token.
        """
        calls = [part.text for part in message.parts if part.kind == "tool_call"]
        if self._are_few and not any("\\" in text or self._occur_in(text) for text in calls):
            return set()
        return self.among(strings_of_calls(message))

    @property
    def _are_few(self) -> bool:
        return len(self.words) + len(self.others) <= _FEW

    def _occur_in(self, text: str) -> bool:
        return any(map(text.__contains__, chain(self.words, self.others)))

    def _in(self, text: str) -> set[str]:
        """Those that are tokens of a text.

        For ASCII, replacing all other characters by spaces and splitting is faster than a pattern.
        """
        if not text.isascii():
            found = tokens((text,))
            return self.words & found | self.others & found
        data = text.encode()
        words, whole = data.translate(_WORDS_ONLY), data.translate(_TOKENS_ONLY)
        found = self.words.intersection(words.decode().split()) if self.words else set()
        if whole != words and self.others:  # there are paths, or other tokens that are no words
            others = [token for token in whole.decode().split() if not token.isidentifier()]
            found |= self.others.intersection(_WIDE.findall("\n".join(others)))
        return found


def _words_among(wanted: set[str], texts: Sequence[str]) -> set[str]:
    """The wanted words that are words of some texts."""
    return {word for text in texts for word in wanted if word in text and _is_word_of(text, word)}


def _is_word_of(text: str, word: str) -> bool:
    """Whether a text has a word with no letter or digit next to it."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        is_begun = start > 0 and _is_letter(text[start - 1])
        if not is_begun and not (end < len(text) and _is_letter(text[end])):
            return True
        start = text.find(word, end)
    return False


def _is_letter(character: str) -> bool:
    """Whether a character is part of a word."""
    return character.isalnum() or character == "_"


def _others_among(wanted: set[str], texts: Sequence[str]) -> set[str]:
    """The other wanted tokens, such as paths, that are tokens of some texts."""
    whole: set[str] = set()
    parts: set[str] = set()
    for text in texts:
        for token in [token for token in wanted if token in text]:
            start = text.index(token)
            (whole if _is_apart(text, start, start + len(token)) else parts).add(token)
    return whole if parts <= whole else whole | parts & tokens(texts)


def _is_apart(text: str, start: int, end: int) -> bool:
    """Whether no character of a token is next to a range."""
    return not _LETTER.match(text, end) and (not start or not _LETTER.match(text, start - 1))


def tokens(texts: Iterable[str]) -> set[str]:
    """The whole tokens in some texts, and the words of at least 6 characters inside them."""
    found: set[str] = set()  # most tokens repeat
    for text in texts:
        if text.isascii():  # much faster than the pattern
            found.update(text.encode().translate(_TOKENS_ONLY).decode().split())
        else:
            found.update(_TOKEN.findall(text))
    long = [token for token in found if len(token) >= _LEAST]
    tokens = set(filter(str.isidentifier, long))
    if len(tokens) < len(long):
        others = "\n".join([token for token in long if token not in tokens])
        tokens.update(_WIDE.findall(others), _WORD.findall(others))
    return tokens


def strings_of_calls(message: Message) -> list[str]:
    """The strings in the arguments of all calls of a message."""
    return [
        text for part in message.parts if part.kind == "tool_call" for text in strings(part.text)
    ]


def _texts(message: Message) -> list[str]:
    """All text of a message without that of its calls; the text of a result comes first."""
    if message.role == "tool":
        others = [part.text for part in message.parts if part.kind != "tool_result"]
        return [result_text(message), *others]
    return [part.text for part in message.parts if part.kind != "tool_call"]
