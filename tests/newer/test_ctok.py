"""Claude's tokens are those of ctok, which needs Python 3.12: `.ci/run` runs this folder with a newer Python.

In every test ctok's own count, less the frame of a message, is what ours has to be, for each family of versions.
"""

import re
from pathlib import Path

import pytest
from ctok import token_count
from ctok.normalize import classify, nfc
from hypothesis import given, settings
from hypothesis import strategies as st
from test_corpus import FILES, files, needs_corpus, transcripts

from ctxtrim.tokenizers import claude_ctok
from ctxtrim.tokenizers.claude_ctok import BREAKS, CHANGED, LETTERS, UNMARKED, Reconstructed, available
from ctxtrim.tokenizers.encodings import printable

FRAMES = {"3.7": 7, "4.5": 7, "4.7": 11, "4.8": 6, "5.5": 6}  # versions by the tokens of a message's frame
COUNTERS = {version: Reconstructed("claude", version) for version in FRAMES}

# What the rules of the stream tell apart: cases, contractions, borders of words, signs, digits and blanks, what
# normalizing changes or strips, letters that form no words, marks with and without a base, ctok's own marks as text.
PIECES = (
    "a", "b", "Z", "hello", "World", "HTTP", "Getter", "getUserName", "MAX_LEN", "it", "s", "t", "ll", "S", "'",
    "''", "'s", "'ll", "'S", "x's", "5's", '"', "`", " ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", "\r", "\x00",
    "\x7f", "0", "12", "007", "1234567", ".", ",", "!", "?", "(", ");", "==", "=>", "--", "_", "/", "\\", "|",
    "$", "^", "~", "#", "→", "—", "…", "’", "‘", "“", "„", "·", "\xa0", "\u2009", "\u2028", "\u3000", "é",
    "e\u0301", "ß", "ẞ", "İ", "ı", "Ǆ", "ǅ", "ϴ", "Σ", "ς", "Ⱥ", "Привет", "МОСКВА", "и\u0306", "\u2126",
    "漢字", "。", "？", "々", "〇", "（", "カタカナ", "ー", "한국어", "\u1100\u1161", "عربى", "٣", "۴",
    "हिन्दी", "\u093f", "ไทย", "\u0e4d\u0e32", "½", "²", "①", "Ⅳ", "ⓐ", "𝒳", "😀", "👩\u200d👧", "✈️", "\ufe0f",
    "\u200d", "\u200b", "\u0301", "\u034f", "\u0711", "\u0730", "\ufdd0", "\ufdd1", "\ufdd3", "\ue000",
    "\ufffd", "\uffff", "\U0001d15e", "\U0002f800", "\u0958", "\u2329", "\u212b", "𐐀", "\u1c89", "\ua7cb",
    "\ud800", "\udc00", "⟨bow⟩", "<|endoftext|>", "✓", "└──", "\u0483", "\u02b0", "\u0345", "ŉ", "ǰ",
)  # fmt: skip
TEXTS = (
    "",
    " ",
    "  a",
    " a",
    "\x01 a",
    "\u2009a",
    "\n",
    "\n" * 29,
    "a" + "\n" * 40,
    "'First' and 'second', the '90s, rock 'n' roll, it's, don't, they'll, x'S, x'llo, x''s, 5's, ('s, 's",
    "A a AB ABC ABCD Abcd aBCD GaN WiFi HTTPServer XMLHttpRequest SCREAMING_SNAKE_CASE v2Beta",
    "def f(x: int) -> str:\n    return f\"{x!r:>{width}}\"  # it's\n\n\nif __name__ == '__main__':\n\tf(1_000_000)\n",
    '{"name": "Bash", "input": {"command": "ls -la /tmp && echo \\"done\\"\\n"}, "é": null, "n": [1.5e-10, 42]}',
    "     1→import os\n     2→\n    13→    café = 'naïve'\n",
    "550e8400-e29b-41d4-a716-446655440000 0xDEADBEEF 3.14159265358979 2026-11-21T23:59:59.999Z",
    "! ! ? ! a ! b ; ] ^ ~ $ + / @ [ Z Q J ZZ ZQ A.B.C.D.",
    "Straße, ÆSIR, ŒUVRE, İstanbul, ΟΔΥΣΣΕΥΣ, Ὀδυσσεύς, ЁЖ, ёж, Đặng, Dvořák’s “quotes”",
    "他们在这里。The→中文mixed文字 テスト。 한국어 text, ภาษาไทย हिन्दी में العربية ١٢٣ 1️⃣ 👨‍👩‍👧‍👦 🇩🇪",
    "=" * 3000 + " " * 4096 + "a" * 4096 + "A" * 500 + "0" * 1000 + "\t" * 99,
    "\x1b[31mred\x1b[0m\r\nnext\x00line\x85end\u2028x",
)
mixed = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
any_text = st.one_of(mixed, mixed, st.text(max_size=20), st.text(alphabet="abAB's.! 01\n\té→", max_size=30))


def expected(text: str, version: str) -> int:
    return token_count(text, version) - FRAMES[version]


@pytest.mark.parametrize("version", FRAMES)
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_text_counts_what_ctok_counts_without_the_frame(text: str, version: str) -> None:
    assert COUNTERS[version].count(text) == expected(text, version)
    assert COUNTERS[version].count(text) <= COUNTERS[version].ceiling(text)


@given(any_text, st.sampled_from(list(FRAMES)))
@settings(max_examples=5000, deadline=None)
def test_any_text_counts_what_ctok_counts(text: str, version: str) -> None:
    assert COUNTERS[version].count(text) == expected(text, version)
    assert COUNTERS[version].count(text) <= COUNTERS[version].ceiling(text)


@given(st.lists(st.sampled_from((*PIECES, *TEXTS)), max_size=30).map("".join), st.integers(1, 40))
@settings(max_examples=1000, deadline=None)
def test_where_a_long_text_is_divided_changes_nothing(text: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claude_ctok, "_BLOCK", size)
        patch.setattr(claude_ctok, "_LONG", size)
        assert COUNTERS["4.5"].count(text) == expected(text, "4.5")


@needs_corpus
@files([path for path in FILES if path.stat().st_size < 2_000_000])
def test_every_real_text_counts_what_ctok_counts(path: Path) -> None:
    texts = {part.text for one in transcripts(path.read_bytes()) for message in one.messages for part in message.parts}
    for version in ("4.5", "4.7", "4.8"):
        for text in texts:
            assert COUNTERS[version].count(text) == expected(text, version)


def test_a_lone_surrogate_counts_as_what_a_provider_can_receive() -> None:
    for text in ("\ud800", "a\udc80b", "\ud83d x", "it\udfff's"):
        assert COUNTERS["4.8"].count(text) == COUNTERS["4.8"].count(printable(text))


def test_letters_form_words_and_what_breaks_words_is_no_part_of_one() -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    inside = {name: re.compile(f"[{name}]").fullmatch for name in (LETTERS, BREAKS, UNMARKED, CHANGED)}
    for char in characters:
        if inside[LETTERS](char):
            assert classify(char) == "wordy"
        elif inside[BREAKS](char):
            assert classify(char) != "wordy"
            assert not inside[UNMARKED](char) or classify(char) == "hard"
        if not inside[CHANGED](char):
            assert nfc(char) == char


def test_a_vocabulary_of_another_build_is_left_to_ctok(monkeypatch: pytest.MonkeyPatch) -> None:
    from ctok.main import _model

    vocabulary = _model("v4.8").vocab
    assert claude_ctok._is_as_expected(vocabulary)
    for odd in ("a\n", "12a", "1234", "a\ufdd1b", "\ufdd0\ufdd3a"):
        assert not claude_ctok._is_as_expected(vocabulary | {odd})
    assert not claude_ctok._is_as_expected(vocabulary - {"123"})
    monkeypatch.setattr(claude_ctok, "_is_as_expected", lambda vocabulary: False)
    claude_ctok._counter.cache_clear()
    try:
        assert COUNTERS["4.8"].count("it's 1234\n") == expected("it's 1234\n", "4.8")
    finally:
        claude_ctok._counter.cache_clear()


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_ctok, "_REMEMBERED", 50)
    claude_ctok._texts.cache_clear()
    claude_ctok._counter.cache_clear()
    text = " ".join(f"{chr(97 + number % 26)}x{chr(97 + number // 26)}{'!' * (number % 60)}" for number in range(600))
    assert COUNTERS["4.5"].count(text) == expected(text, "4.5")
    texts = claude_ctok._texts("v3")
    assert all(len(memo) <= 50 for memo in (texts.words, texts.gaps, texts.spans, texts.lines, texts.openings))


def test_ctok_is_available_here_and_numbers_are_called_reconstructed() -> None:
    assert available()
    assert COUNTERS["4.8"].exactness == "reconstructed"
