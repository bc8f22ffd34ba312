"""The engines on texts that are too long, too strange or too new, and from several threads."""

import json
import os
import random
import string
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
import tiktoken
from builders import call, transcript, user
from byte_level import tokenizer_json
from conftest import FIXTURES, ROOT, Run
from depth import examples
from gigatoken import Tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken.load import load_tiktoken_bpe

from ctxtrim.tokenizers import pieces, tokenizer
from ctxtrim.tokenizers.encodings import (
    PATTERNS,
    VOCABULARIES,
    gigatoken_engine,
    tiktoken_encoder,
    tiktoken_engine,
)
from ctxtrim.tokenizers.gigatoken_memory import bounded_count
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.models import FRAMINGS

MILLION = 1_000_000
LONG = {
    "special tokens": "<|endoftext|><|im_start|>user" * 20_000,
    "spaces": " " * MILLION,
    "spaces before a word": " " * MILLION + "word",
    "spaces between lines": "!\r\n/\n" + " " * MILLION + "\n" + " " * 200_000 + "\x1cx",
    "many runs of spaces": (" " * 99_999 + "x") * 5,
    "blanks of all kinds": "x" + " \t\u3000\xa0" * 100_000 + "Ab",
    "line breaks": "\n" * MILLION,
    "carriage returns": "x" + "\r\n" * 200_000,
    "one word": "a" * 500_000,
    "one word in capitals": "ACGT" * 100_000,
    "one sign": "=" * 300_000,
    "ideographs": "日本語の文章を数える" * 10_000,
    "ideographs with marks": "日本語の文章、数える。" * 120_000,
    "emoji": "👨‍👩‍👧‍👦🚀" * 50_000,
    "combining marks": "e" + "\u0301" * 300_000,
    "lone surrogates": "\ud800" * 50_000 + "a\udc00b " * 50_000,
}  # fmt: skip
# Characters that the patterns distinguish: letters and their cases, marks, digits, signs, blanks
# and line breaks of all kinds.
KINDS = (
    "a", "B", "the", " quick", "Fox", "HTTP", "don't", "'s", "'S", "'", " ", "  ", "\t", "\n",
    "\n\n", "\r\n", "\r", "\x0b", "\x85", "\xa0", "\u2028", "\u3000", "\x1c", "0", "12", "007",
    "123456", "²", "½", "Ⅳ", "٣", "é", "e\u0301", "\u0301", "ß", "ſ", "日", "ひ",
    "カ", "々", "한", "、", "。", "，", "🚀", "\u200d", "\u200b", "\ud800", "\udc00",
    "\x00", "!", "\"", "/", "//", "_", "-",
    "(", ")", "{", "^", "~", "@", "`", "’", "ǅ", "ʰ", "मी", "عر", "𐐀", "=",
)  # fmt: skip
Engine = Callable[[str], int]
Encoder = Callable[[str], list[int]]


@pytest.fixture(scope="module", params=list(PATTERNS))
def engines(request: pytest.FixtureRequest) -> tuple[Engine, Engine]:
    path = VOCABULARIES / f"{request.param}.tiktoken"
    return gigatoken_engine(request.param, path), tiktoken_engine(request.param, path)


@pytest.mark.parametrize("name", LONG)
def test_long_texts_count_the_same_with_both_engines_and_in_pieces(
    engines: tuple[Engine, Engine], name: str
) -> None:
    fast, slow = engines
    tokens = fast(LONG[name])
    assert 0 < tokens <= len(LONG[name].encode(errors="replace")) * 3
    assert slow(LONG[name]) == tokens
    assert sum(map(fast, pieces.pieces(LONG[name]))) == tokens


LETTERS_OF_UNICODE_17 = (
    "\u088f\u0c5c\u0cdc\u1acf\u1ae0\ua7ce\ua7d2\ua7f1\U00010940\U00010ec5\U00010efa\U00011b60"
    "\U00011db0\U00011de9\U00016ea0\U00016ed3\U00016ff2\U000187f8\U00018d09\U00018d80\U0001e6c0"
    "\U0001e6f5\U0002b73a\U0002cea2\U000323b0\U00033479"
)


@pytest.mark.parametrize("letter", LETTERS_OF_UNICODE_17)
def test_letters_of_unicode_17_count_the_same_with_both_engines(
    engines: tuple[Engine, Engine], letter: str
) -> None:
    fast, slow = engines
    text = f"{letter}_e {letter}'s a{letter}-E hello{letter}world"
    assert fast(text) == slow(text)
    assert fast(f"\ud800{text}") == slow(f"\ud800{text}")


@pytest.mark.parametrize("letter", LETTERS_OF_UNICODE_17[::3])  # with every first byte
def test_long_texts_with_letters_of_unicode_17_count_the_same_with_both_engines(
    engines: tuple[Engine, Engine], letter: str
) -> None:
    fast, slow = engines
    long = f"{letter}_e {letter}'s a{letter}-E hello{letter}world " * 60_000
    assert fast(long) == slow(long)


def test_ten_megabytes_without_a_space_count_the_same_with_both_engines_and_in_pieces() -> None:
    text = b64encode(random.Random(1).randbytes(7_500_000)).decode()
    path = VOCABULARIES / "o200k_base.tiktoken"
    tokens = tokenizer("o200k_base").count(text)
    assert (
        gigatoken_engine("o200k_base", path)(text)
        == tiktoken_engine("o200k_base", path)(text)
        == tokens
    )


@pytest.fixture(scope="module", params=list(PATTERNS))
def encoders(request: pytest.FixtureRequest) -> tuple[Encoder, Encoder]:
    """tiktoken as ctxtrim uses it, and with the pattern that OpenAI publishes."""
    path = VOCABULARIES / f"{request.param}.tiktoken"
    original = tiktoken.Encoding(
        request.param,
        pat_str=PATTERNS[request.param],
        mergeable_ranks=load_tiktoken_bpe(str(path)),
        special_tokens={},
    )
    return tiktoken_encoder(request.param, path), original.encode_ordinary


@given(st.lists(st.sampled_from(KINDS), max_size=25).map("".join))
@settings(max_examples=examples(2000))
def test_any_text_has_the_tokens_of_the_original_pattern(
    encoders: tuple[Encoder, Encoder], text: str
) -> None:
    encode, original = encoders
    assert encode(text) == original(text)


@given(st.lists(st.sampled_from(KINDS), max_size=25).map("".join), st.integers(1, 6))
@settings(max_examples=examples(500))
def test_the_pieces_of_any_text_sum_up_to_its_count(
    engines: tuple[Engine, Engine], text: str, size: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "PIECE", size)
        parts = list(pieces.pieces(text))
    assert "".join(parts) == text
    for count in engines:
        assert sum(map(count, parts)) == count(text)


def test_a_long_text_is_counted_in_pieces_of_a_million_characters() -> None:
    parts = list(pieces.pieces("a word, then another one\n" * 200_000))
    assert len(parts) == 5
    assert all(MILLION <= len(part) < 1_100_000 for part in parts[:-1])


def test_unique_words_use_at_most_half_a_gigabyte() -> None:
    """50 MB in small texts and a large text use far more memory if every word is cached.

    A process starts with the peak memory of its parent, so a small process starts this one.
    """
    code = """
import random, resource
from ctxtrim.tokenizers import tokenizer
letters = bytes(97 + byte % 26 for byte in range(256))
def words(size, seed):
    text = bytearray(random.Random(seed).randbytes(size).translate(letters))
    text[8::9] = b" " * len(text[8::9])
    return text.decode()
own = tokenizer("o200k_base")
for seed in range(40):
    own.count(words(500_000, seed))
own.count(words(30_000_000, 40))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    starts = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}], check=True)"
    done = subprocess.run(
        [sys.executable, "-c", starts], capture_output=True, text=True, check=True
    )
    unit = 1 if sys.platform == "darwin" else 1024  # bytes
    assert 50_000_000 < int(done.stdout) * unit < 500_000_000


def test_ordinary_text_does_not_rebuild_the_tokenizer() -> None:
    made: list[Tokenizer] = []

    def make() -> Tokenizer:
        made.append(Tokenizer.from_tiktoken(VOCABULARIES / "cl100k_base.tiktoken", "cl100k", {}))
        return made[-1]

    count = bounded_count(make)
    words = [
        f"{first}{second}{third}"
        for first in string.ascii_letters
        for second in "aeiou"
        for third in "nrst"
    ]
    text = " ".join(random.Random(2).choices(words, k=1_500_000))
    assert {count(text) for _ in range(8)} == {count(text)}
    assert len(made) == 1


def test_a_counted_text_keeps_its_size_in_memory() -> None:
    text = "a naïve → text " * 100
    size = sys.getsizeof(text)
    assert gigatoken_engine("o200k_base", VOCABULARIES / "o200k_base.tiktoken")(text) > 100
    assert sys.getsizeof(text) == size


def test_threads_count_at_the_same_time() -> None:
    own = tokenizer("o200k_base")
    texts = [
        " ".join(random.Random(seed).choices(("rope", "fog", "keel", "x1"), k=20_000))
        for seed in range(8)
    ]
    expected = [own.count(text) for text in texts]
    counts: list[list[int]] = []
    threads = [
        Thread(target=lambda: counts.append([own.count(text) for text in texts])) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [expected] * 4


FORKED = """
import os
import random
import signal
import time
from threading import Thread

from ctxtrim.tokenizers import tokenizer

own = tokenizer("o200k_base")
own.count("hello")  # builds the tokenizer
text = " ".join("%x" % random.getrandbits(60) for _ in range(200_000))

def count():
    while True:
        own.count(text)

Thread(target=count, daemon=True).start()
for _ in range(5):
    time.sleep(0.05)
    process = os.fork()
    if not process:
        signal.alarm(60)
        os._exit(own.count("hello world"))
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_counts_while_a_thread_of_its_parent_does() -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2"] * 5


@pytest.mark.parametrize(
    "error", ["ImportError('libblas.so: no such file')", "RuntimeError('for newer processors')"]
)
def test_without_a_working_numpy_tiktoken_counts(
    ctxtrim: Run, process: Run, tmp_path: Path, error: str
) -> None:
    (tmp_path / "numpy.py").write_text(f"raise {error}\n")
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    data = (FIXTURES / "agent.jsonl").read_bytes()
    ran = process("count", "--json", stdin=data, PYTHONPATH=path)
    assert ran == ctxtrim("count", "--json", stdin=data)
    own = tmp_path / "tokenizer.json"
    own.write_text(json.dumps(tokenizer_json()))
    ran = process("count", "--tokenizer", own, stdin=data, PYTHONPATH=path)
    assert (ran.code, ran.err) == (
        1,
        f"ctxtrim: tokenizer {own}: gigatoken needs numpy, which cannot be loaded; reinstall it\n",
    )


def test_unrepeated_names_are_not_cached() -> None:
    counter = Counter(tokenizer("o200k_base"), FRAMINGS["openai"])
    costs = [
        counter.fresh().tokens(
            transcript([user("x"), call("a", name=f"tool_{number % 9}")], tools=[{"n": number}])
        )
        for number in range(900)
    ]
    assert len(counter.names) < 300
    assert len(counter.tools) < 300
    assert set(costs[:9]) == set(costs[-9:])
