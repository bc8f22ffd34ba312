"""Tokenizers of the user's own: files, and other packages' plugins."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from building import transcript, user
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxtrim.binding import Binding
from ctxtrim.errors import TokenizerError, UsageError
from ctxtrim.tokenizers import tokenizer

settings.register_profile("ctxtrim", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
settings.load_profile("ctxtrim")


def letters() -> dict[int, str]:
    """The characters that stand for bytes in byte-level vocabularies: printable ones for themselves, others shifted."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in shown]
    return {byte: chr(byte) for byte in shown} | {byte: chr(256 + place) for place, byte in enumerate(rest)}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A byte-level BPE of 256 bytes, four merges and a special token."""
    merges = ["t i", "d e", "ti de", "Ġ s"]
    vocabulary = {letter: number for number, letter in enumerate(letters().values())}
    for merge in merges:
        vocabulary[merge.replace(" ", "")] = len(vocabulary)
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    end = {"id": 260, "content": "<|end|>", "special": True, "normalized": False}
    end |= dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    model: dict[str, Any] = {"type": "BPE", "vocab": vocabulary, "merges": merges, "byte_fallback": False}
    value = {"version": "1.0", "added_tokens": [end], "normalizer": None, "pre_tokenizer": level, "model": model}
    file = tmp_path_factory.mktemp("own") / "tokenizer.json"
    file.write_text(json.dumps(value | {"decoder": level, "post_processor": None}))
    return str(file)


def test_a_file_counts_with_its_own_merges(path: str) -> None:
    own = tokenizer(path)
    assert own.name == "tokenizer.json"
    assert own.count("tide sea") == len(["tide", "Ġs", "e", "a"])


def test_special_tokens_in_a_text_are_text(path: str) -> None:
    assert tokenizer(path).count("<|end|>") == len("<|end|>")


@given(st.one_of(st.text(max_size=60), st.sampled_from(["\ud800", "tide" * 500, "\ufdfa" * 20])))
def test_a_ceiling_is_never_below_the_count(path: str, text: str) -> None:
    own = tokenizer(path)
    assert 0 <= own.count(text) <= own.ceiling(text)


def test_a_file_stands_in_for_whatever_model_is_named(path: str) -> None:
    talk = transcript([user("tide sea")])
    bound = Binding(tokenizer, "llama-of-mine", path).bind(talk)
    assert bound.counter.count(talk).by_role["user"] == 4
    assert bound.counter.count(talk).exactness == "estimated"  # the chat template is not in the file


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]", b"no json", b'{"model": {"type": "WordPiece", "vocab": {}}}', None]
)
@pytest.mark.parametrize("name", ["tokenizer.json", "own.model"])
def test_a_path_that_is_no_tokenizer_says_what_was_expected(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TokenizerError, match=r"cannot be read: no such file|expected a tokenizer\.json"):
        tokenizer(str(tmp_path / name))


def test_another_packages_tokenizer_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "halves-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: halves\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ctxtrim.tokenizers]\nhalves = halves_of_words:Halves\n")
    (tmp_path / "halves_of_words.py").write_text(
        "class Halves:\n    name, exactness = 'halves', 'exact'\n"
        "    def count(self, text): return 2 * len(text.split())\n    ceiling = count\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert tokenizer("halves").count("one two") == 4
    talk = transcript([user("one two three")])
    assert Binding(tokenizer, "nobody-knows", "halves").bind(talk).counter.count(talk).by_role["user"] == 6
    with pytest.raises(UsageError, match="halves"):
        tokenizer("thirds")
