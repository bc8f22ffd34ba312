"""The foundations of counting like ctok: the classes of characters, the vocabularies, the
caches.
"""

import random
import re
import unicodedata

import pytest
from ctok.engine import char_cost
from ctok.main import _model
from ctok.normalize import (
    _digit_border,
    _is_selector,
    _marks_like_punct,
    _stray_mark,
    classify,
    is_separator,
    nfc,
)

from ctxtrim.tokenizers import claude_vocabulary
from ctxtrim.tokenizers.claude_fast import Rules, Texts
from ctxtrim.tokenizers.claude_normalization import (
    CHANGED,
    LETTERS,
    PLAIN,
    QUOTES,
    SIGNS,
    UNMARKED,
    ordered,
)
from ctxtrim.tokenizers.claude_vocabulary import Pieces, document

CHARACTERS = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
MARKS = [char for char in CHARACTERS if unicodedata.category(char)[0] == "M"]


def of(members: str) -> list[str]:
    return re.findall(f"[{members}]", "".join(CHARACTERS))


def test_letters_form_words() -> None:
    for char in of(LETTERS):
        assert classify(char) == "wordy"
        assert not _stray_mark(char)


def test_signs_next_to_spaces_are_marked() -> None:
    for char in of(SIGNS + QUOTES):
        assert classify(char) == "punct" or (classify(char) == "hard" and _marks_like_punct(char))
        assert not is_separator(char)


def test_unmarked_characters_are_never_marked() -> None:
    for char in of(UNMARKED):
        if unicodedata.normalize("NFC", char) == char:
            assert classify(char) == "hard"
            assert not (_marks_like_punct(char) or _digit_border(char) or _is_selector(char))


def test_plain_characters_have_a_single_class() -> None:
    members = [set(of(some)) for some in (" \t\n", "0-9", SIGNS, QUOTES, UNMARKED)]
    assert sum(map(len, members)) == len(set().union(*members)) == len(of(PLAIN))
    assert not set(of(PLAIN)) & set(of(LETTERS))


def test_characters_that_normalization_changes_are_known() -> None:
    known = set(of(CHANGED))
    for char in CHARACTERS:
        assert char in known or (nfc(char) == char and not unicodedata.combining(char))


def test_marks_in_canonical_order_are_the_same_text() -> None:
    chance = random.Random(5)
    for _ in range(500):
        words = [
            "".join((chance.choice("aé漢 "), *chance.choices(MARKS, k=chance.randint(0, 150))))
            for _ in "abc"
        ]
        text = "".join(words)
        assert unicodedata.normalize("NFC", ordered(text)) == unicodedata.normalize("NFC", text)
    assert ordered("e\u0301 " * 100) == "e\u0301 " * 100
    assert ordered("ÅÄÖ" * 100) == "ÅÄÖ" * 100


@pytest.mark.parametrize("family", ["v3", "v4.7", "v4.8"])
def test_the_pieces_equal_those_of_ctok(family: str) -> None:
    pieces, model = Pieces(document(family)[1]), _model(family)
    assert pieces.vocabulary == model.vocab
    assert pieces.are_of_one_kind()
    for char in random.Random(3).sample(CHARACTERS, 20_000):
        assert char in "\ufdd0\ufdd1\ufdd3\ufdd4" or pieces.chars[char] == char_cost(model, char)


@pytest.mark.parametrize(
    "odd", ["a\n", "12a", "1234", "a b", "a漢", "漢字", "a\ufdd1b", "\ufdd0\ufdd3a", "a\ufdd0"]
)
def test_a_piece_of_two_kinds_is_detected(odd: str) -> None:
    pieces = Pieces(document("v4.8")[1])
    pieces.vocabulary |= {odd}
    assert not pieces.are_of_one_kind()


def test_a_missing_number_is_detected() -> None:
    pieces = Pieces(document("v4.8")[1])
    pieces.vocabulary -= {"123"}
    assert not pieces.are_of_one_kind()


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_vocabulary, "_ROOM", 5000)
    texts = Texts(Pieces(document("v3")[1]), Rules(True, True, 4))
    chance = random.Random(1)
    words = [
        "".join(chance.choices("abcdefgh", k=8)) + "!" * chance.randint(1, 2000) for _ in range(600)
    ]
    fresh = Texts(texts.pieces, texts.rules)
    assert texts.count(" ".join(words)) == fresh.count(" ".join(words))
    for memo in (texts.words, texts.gaps, texts.kinds, texts.chunks, texts.pieces.chars):
        assert (
            sum(map(len, memo)) + claude_vocabulary._ENTRY * len(memo)
            <= 5000 + claude_vocabulary._LONGEST
        )
