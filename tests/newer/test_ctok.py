"""Claude's tokens equal those of ctok, which needs Python 3.12: `.ci/run` runs this folder with a
newer Python.

Every test compares our count with ctok's own count minus the framing of a message, for each family
of versions.
"""

import random
from itertools import product
from pathlib import Path

import pytest
from ctok import token_count
from hypothesis import given, settings
from hypothesis import strategies as st
from test_corpus import FILES, files, needs_corpus, transcripts

from ctxtrim.tokenizers import TOKENIZERS, claude_fast, claude_vocabulary
from ctxtrim.tokenizers.claude_ctok import Reconstructed, _counter, available
from ctxtrim.tokenizers.encodings import without_lone_surrogates

FRAMES = {
    "3.7": 7,
    "4.5": 7,
    "4.7": 11,
    "4.8": 6,
    "5.5": 6,
}  # versions by the tokens of a message's frame
FAMILIES = ("4.5", "4.7", "4.8")  # one version of each family
COUNTERS = {version: Reconstructed("claude", version) for version in FRAMES}

# Characters that the tokenizer rules distinguish: cases, contractions, word boundaries, signs,
# digits and blanks, normalized and stripped characters, letters that form no words, marks with and
# without a base, ctok's own marks as text.
PIECES = (
    "a", "b", "Z", "hello", "World", "HTTP", "Getter", "getUserName", "MAX_LEN", "it", "s", "t",
    "ll", "S", "'", "''", "'s", "'ll", "'S", "x's", "5's", '"', "`", " ", "  ", "   ", "\t", "\n",
    "\n\n", "\r\n", "\r", "\x00", "\x7f", "0", "12", "007", "1234567", ".", ",", "!", "?", "(",
    ");", "==", "=>", "--", "_", "/", "\\", "|", "$", "^", "~", "#", "→", "—", "…", "’", "‘", "“",
    "„", "·", "\xa0", "\u2009", "\u2028", "\u3000", "é", "e\u0301", "ß", "ẞ", "İ", "ı", "Ǆ", "ǅ",
    "ϴ", "Σ", "ς", "Ⱥ", "Привет", "МОСКВА", "и\u0306", "\u2126", "漢字", "。", "？", "々", "〇",
    "（",
    "カタカナ", "ー", "한국어", "\u1100\u1161", "عربى", "٣", "۴", "हिन्दी", "\u093f",
    "ไทย", "\u0e4d\u0e32",
    "½", "²", "①", "Ⅳ", "ⓐ", "𝒳", "😀", "👩\u200d👧", "✈️", "\ufe0f", "\u200d", "\u200b", "\u0301",
    "\u034f", "\u0711", "\u0730", "\ufdd0", "\ufdd1", "\ufdd3", "\ue000", "\ufffd", "\uffff",
    "\U0001d15e", "\U0002f800", "\u0958", "\u2329", "\u212b", "𐐀", "\u1c89", "\ua7cb", "\ud800",
    "\udc00", "⟨bow⟩", "<|endoftext|>", "✓", "└──", "\u0483", "\u02b0", "\u0345", "ŉ", "ǰ",
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
    "'First' and 'second', the '90s, rock 'n' roll, it's, don't, they'll, x'S, x'llo, "
    "x''s, 5's, ('s, 's",
    "A a AB ABC ABCD Abcd aBCD GaN WiFi HTTPServer XMLHttpRequest SCREAMING_SNAKE_CASE v2Beta",
    'def f(x: int) -> str:\n    return f"{x!r:>{width}}"  # it\'s\n\n\nif __name__ == '
    "'__main__':\n\tf(1_000_000)\n",
    '{"name": "Bash", "input": {"command": "ls -la /tmp && echo \\"done\\"\\n"}, "é": '
    'null, "n": [1.5e-10, 42]}',
    "     1→import os\n     2→\n    13→    café = 'naïve'\n",
    "550e8400-e29b-41d4-a716-446655440000 0xDEADBEEF 3.14159265358979 2026-11-21T23:59:59.999Z",
    "! ! ? ! a ! b ; ] ^ ~ $ + / @ [ Z Q J ZZ ZQ A.B.C.D.",
    "Straße, ÆSIR, ŒUVRE, İstanbul, ΟΔΥΣΣΕΥΣ, Ὀδυσσεύς, ЁЖ, ёж, Đặng, Dvořák’s “quotes”",
    "他们在这里。The→中文mixed文字 テスト。 한국어 text, ภาษาไทย हिन्दी में العربية ١٢٣ 1️⃣ 👨‍👩‍👧‍👦 🇩🇪",
    "=" * 3000 + " " * 4096 + "a" * 4096 + "A" * 500 + "0" * 1000 + "\t" * 99,
    "\x1b[31mred\x1b[0m\r\nnext\x00line\x85end\u2028x",
)
CODE_POINTS = random.Random(1)
ALPHABETS = (
    PIECES,
    ("It", "it's", "don't", "they'll", "'tis", " ", ", ", ". ", "“", "”", "’s", "naïve", "Zürich",
     " — ", "\n"),
    ("def ", "get_name", "HTTPServer", "x1", "(", "):", " = ", "->", "    ", "\n", "\t", "'", '"',
     "{", "};", "!="),
    ('{"', '": ', '", "', "[", "]", "},", ":", "null", "1.5e-3", '\\"', "\\n", "\\u00e9",
     "Value_2", " ", "\n  "),
    ("A", "AB", "ABC", "ABCD", "Abc", "aBC", "É", "ÉCOLE", "École", "ΑΒΓΔ", "Ёж", "ЁЖИК", "ՀԱՅ",
     "İ", "ẞ", " ", "_"),
    tuple("'stdmlrevSTD \n.a5é漢(→"),
    tuple(char * times for char, times in product(" \t\n='-.a漢😀é0\u0301", (1, 2, 3, 4, 9, 16))),
    ("漢字", "かな", "カナ", "한글", "שלום", "مرحبا", "ไทย", "हिन्दी", "Ελλάς", "Русский", "a", " ",
     "  ", "。", "！"),
    tuple(map(chr, range(0x100))),
    tuple(map(chr, range(0x300, 0x370))) + tuple("aA \u0915\u05d0漢'") * 8,
    tuple(chr(CODE_POINTS.randrange(0xA0, 0xD800)) for _ in range(3000)) + tuple(" a'") * 300,
    tuple(chr(CODE_POINTS.randrange(0xE000, 0x110000)) for _ in range(2000)) + tuple(" a'") * 200,
)  # fmt: skip
"""The parts of generated texts: pieces, prose, code, JSON, capitals, contractions, runs, scripts,
code points.
"""


def expected(text: str, version: str) -> int:
    return token_count(text, version) - FRAMES[version]


@pytest.mark.parametrize("version", FRAMES)
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_text_counts_like_ctok_without_the_framing(text: str, version: str) -> None:
    assert COUNTERS[version].count(text) == expected(text, version)
    assert COUNTERS[version].count(text) <= COUNTERS[version].ceiling(text)


@pytest.mark.parametrize("alphabet", range(len(ALPHABETS)))
def test_a_hundred_thousand_texts_count_like_ctok(alphabet: int) -> None:
    chance = random.Random(alphabet)
    for _ in range(100_000 // len(ALPHABETS) + 1):
        text = "".join(chance.choices(ALPHABETS[alphabet], k=chance.randint(1, 5)))
        for version in FAMILIES:
            count = COUNTERS[version].count(text)
            assert count == expected(text, version), (version, text)
            assert count <= COUNTERS[version].ceiling(text), (version, text)


@given(st.text(max_size=20), st.sampled_from(FAMILIES))
@settings(max_examples=500, deadline=None)
def test_any_text_counts_like_ctok(text: str, version: str) -> None:
    assert COUNTERS[version].count(text) == expected(text, version)


@given(st.lists(st.sampled_from((*PIECES, *TEXTS)), max_size=30).map("".join), st.integers(1, 40))
@settings(max_examples=500, deadline=None)
def test_the_split_of_a_long_text_does_not_affect_its_count(text: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claude_fast, "_BLOCK", size)
        patch.setattr(claude_vocabulary, "_LONG", size)
        assert COUNTERS["4.5"].count(text) == expected(text, "4.5")


@needs_corpus
@files([path for path in FILES if path.stat().st_size < 2_000_000])
def test_every_real_text_counts_like_ctok(path: Path) -> None:
    texts = {
        part.text
        for transcript in transcripts(path.read_bytes())
        for message in transcript.messages
        for part in message.parts
    }
    for version in FAMILIES:
        for text in texts:
            assert COUNTERS[version].count(text) == expected(text, version)


def test_a_lone_surrogate_counts_as_its_replacement() -> None:
    for text in ("\ud800", "a\udc80b", "\ud83d x", "it\udfff's"):
        assert COUNTERS["4.8"].count(text) == COUNTERS["4.8"].count(without_lone_surrogates(text))


def test_counts_of_the_newest_families_differ_by_at_most_one_token() -> None:
    newer, newest = COUNTERS["4.7"].count, COUNTERS["4.8"].count
    for text, more in (
        ("", 1),
        ("1", 1),
        ("漢", 1),
        ("\n", 1),
        ("x", 0),
        ("(x)", 0),
        ("  x", 0),
        (" x", -1),
        (" (x)", -1),
    ):
        assert newer(text) - newest(text) == more
        assert newer(f"x {text}") == newest(f"x {text}")


# Characters, and the run length from which their longest piece covers most of a run.
LONG = {
    " ": 600,
    "\t": 600,
    "\n": 17_000,
    "=": 4500,
    "a": 600,
    "A": 600,
    "é": 300,
    "漢": 300,
    "😀": 300,
    "7": 300,
}
ROUND = 128 * 3  # a multiple of the length of every longest piece


@pytest.mark.parametrize("version", FAMILIES)
@pytest.mark.parametrize("char", LONG)
def test_a_million_equal_characters_are_counted_by_extrapolation(char: str, version: str) -> None:
    count, size = COUNTERS[version].count, LONG[char] if version == "4.5" else min(LONG[char], 1100)
    for length in (*range(1, 40), 63, 64, 65, 255, 256, 257, size, size + 1):
        assert count(f"({char * length}) x") == expected(f"({char * length}) x", version), length
    step = count(f"({char * (size + ROUND)}) x") - count(f"({char * size}) x")
    assert count(f"({char * (size + 2500 * ROUND)}) x") == count(f"({char * size}) x") + 2500 * step


def test_long_runs_cost_the_same_next_to_any_text() -> None:
    chance = random.Random(7)
    for _ in range(60):
        text = "".join(
            chance.choice(PIECES)
            + chance.choice(" =-#.*\t\u0301\u200d�éA") * chance.randint(250, 900)
            for _ in "ab"
        )
        for version in FAMILIES:
            assert COUNTERS[version].count(text) == expected(text, version), (version, text)


@pytest.mark.parametrize("version", ["4.5", "4.7"])
def test_the_bound_covers_repetitions_of_one_to_six_characters(version: str) -> None:
    """The frame of a bounded message makes up for 5 tokens, or 1."""
    bound = TOKENIZERS["claude-v3-bound" if version == "4.5" else "claude-v4.7-bound"](False).count
    chance = random.Random(11)
    for number in range(3000):
        signs = ("=-'its\" ,.a|", "abcXYZ =-_.,*#|/\\\"'(){}[]<>:;0123456789\n\t!?é漢😀я")[
            number % 2
        ]
        cycle = "".join(chance.choices(signs, k=chance.randint(1, 6)))
        text = cycle * (chance.choice((16, 24, 40, 100, 600)) // len(cycle) + 1)
        text = (text, f"Some words before, then {text} and after it.\n", f"{text} word " * 5)[
            number % 3
        ]
        assert bound(text) + 12 >= token_count(text, version), text


SIGNS = {
    "frequent": "≤≥✓✔♥☆★↑↓₹¿¡¥■█►●",
    "numbers and arrows": "".join(map(chr, range(0x2180, 0x2200))),
    "mathematics": "".join(map(chr, range(0x2200, 0x2300))),
    "boxes": "".join(map(chr, range(0x2500, 0x2600))),
    "pictures": "".join(map(chr, range(0x2600, 0x2700))),
    "Coptic": "".join(map(chr, range(0x2C80, 0x2CF0))),
    "Latin": "".join(map(chr, range(0xA722, 0xA788))),
}


@pytest.mark.parametrize("signs", SIGNS.values(), ids=SIGNS)
@pytest.mark.parametrize("version", ["4.5", "4.7"])
def test_the_bound_covers_signs_between_spaces(version: str, signs: str) -> None:
    bound = TOKENIZERS["claude-v3-bound" if version == "4.5" else "claude-v4.7-bound"](False).count
    chance = random.Random(3)
    for _ in range(60):
        row = chance.choices(signs, k=chance.choice([20, 300]))
        text = chance.choice([" ", "  ", " x ", " word "]).join(row)
        assert bound(text) + 12 >= token_count(text, version), text


@pytest.mark.parametrize("version", ["4.7", "4.8"])
def test_the_bound_covers_any_words_in_capitals(version: str) -> None:
    bound = TOKENIZERS[f"claude-v{version}-bound"](False).count
    chance = random.Random(7)
    for _ in range(1000):
        signs = chance.choice(
            ["QXZJVWK", "QXZJ01", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "AXQ_7", "EIOU9_"]
        )
        most = chance.choice([1, 3, 9, 40])
        words = (
            chance.choice("AEQXZ") + "".join(chance.choices(signs, k=chance.randint(1, most)))
            for _ in range(chance.choice([30, 300]))
        )
        text = chance.choice([" ", "\n", ",", "-", "\t", ", ", '","', " x "]).join(words)
        assert bound(text) + 12 >= token_count(text, version), text


@pytest.mark.parametrize("version", ["4.5", "4.7"])
def test_the_bound_covers_repeated_words_and_phrases(version: str) -> None:
    bound = TOKENIZERS["claude-v3-bound" if version == "4.5" else "claude-v4.7-bound"](False).count
    words = [
        "farewell",
        "cryptocurrency",
        "Tolkien",
        "itinerary",
        "coworkers",
        "Retriever",
        "repeatedly",
        "Autonomous",
        "comprehensive",
        "kwargs",
        "OpenTelemetry",
        "WeatherForecast",
        "paragraph",
        "vehicles",
        "tool_call_id",
        "getElementById",
        "Enhanced",
        "naïve",
        "Straße",
    ]
    chance = random.Random(5)
    for _ in range(300):
        phrase = " ".join(chance.choices(words, k=chance.randint(1, 3))) + chance.choice(
            [" ", "\n", ", ", "; "]
        )
        text = phrase * chance.choice((10, 60, 400))
        text = chance.choice([text, f"Some words before, then {text}and after it.\n"])
        assert bound(text) + 12 >= token_count(text, version), text


def test_every_long_text_can_be_counted() -> None:
    count = COUNTERS["4.8"].count
    for unit in ('{"id":7,"name":"x y","ok":true},', "<|endoftext|>", "it's ", "मैं ", "a.b\n"):
        assert count(unit * 100_000) == count(unit) + 99_999 * (count(unit * 2) - count(unit))
    letters = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=500_000))
    assert len(letters) / 4 < count(letters) < len(letters)
    assert count("\ud800" * 1_000_000) == count("\ufffd" * 1_000_000)


def test_marks_in_any_order_cost_the_same() -> None:
    count = COUNTERS["4.8"].count
    assert count("a" + "\u0301\u0327" * 50_000) == count(
        "a" + "\u0327" * 50_000 + "\u0301" * 50_000
    )


def test_ctok_counts_with_an_unknown_vocabulary_or_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    odd = claude_vocabulary.document("v4.8")[1]
    odd["punctuation"]["a\n"] = {}
    monkeypatch.setattr(
        claude_fast, "document", lambda family: ({**claude_vocabulary.document(family)[0]}, odd)
    )
    assert claude_fast.counter("4.8")("it's 1234\n") == expected("it's 1234\n", "4.8")
    monkeypatch.undo()
    monkeypatch.setattr(claude_fast, "stream_norm", lambda text, rules, raw_head_space: text)
    assert claude_fast.counter("4.8")("it's 1234\n") == expected("it's 1234\n", "4.8")


def test_ctok_is_available_and_counts_are_labelled_reconstructed() -> None:
    assert available()
    assert COUNTERS["4.8"].exactness == "reconstructed"
    assert _counter("4.8").__name__ == "count"  # not left to ctok


NAMES = (
    "Alabama", "Albuquerque", "Alexander", "Anchorage", "Arkansas", "Azerbaijan", "Bangladesh",
    "Barcelona", "Cambodia", "Catherine", "Christopher", "Cincinnati", "Connecticut", "Elizabeth",
    "Estonia", "Ethiopia", "Fitzgerald", "Guatemala", "Henderson", "Honduras", "Jacksonville",
    "Kazakhstan", "Lithuania", "Louisiana", "Luxembourg", "Manitoba", "Massachusetts",
    "Minneapolis", "Mississippi", "Mongolia", "Montgomery", "Mozambique", "Nicaragua", "Oklahoma",
    "Pennsylvania", "Philippines", "Saskatchewan", "Springfield", "Stephanie", "Thursday",
    "Unfortunately", "Vancouver", "Wednesday", "Wisconsin", "Zimbabwe",
)  # fmt: skip
TERMS = (
    "accordion", "breadcrumbs", "carousel", "cryptocurrency", "disproportionately",
    "dissatisfaction", "elasticsearch", "entrepreneurship", "gastrointestinal", "hexadecimal",
    "indispensable", "interdisciplinary", "kubernetes", "nanoparticles", "neoliberal",
    "overwhelmingly", "pagination", "pharmaceutical", "postgresql", "schizophrenia", "serotonin",
    "socioeconomic", "spaghetti", "spreadsheet", "sqlalchemy", "tablespoon", "troubleshooting",
    "vulnerabilities",
)  # fmt: skip


@pytest.mark.parametrize("version", ["4.5", "4.7", "4.8"])
def test_the_bound_covers_lists_of_names_and_terms(version: str) -> None:
    bound = TOKENIZERS["claude-v3-bound" if version == "4.5" else f"claude-v{version}-bound"](
        False
    ).count
    chance = random.Random(13)
    for _ in range(500):
        words = chance.sample(chance.choice([NAMES, TERMS, NAMES + TERMS]), chance.randint(10, 28))
        separator = chance.choice([*" ./_-", ", ", "; ", "\n", '","', " | ", " - ", ""])
        if not separator:
            words = [word.capitalize() for word in words]
        text = separator.join(words)
        assert bound(text) + 12 >= token_count(text, version), text
