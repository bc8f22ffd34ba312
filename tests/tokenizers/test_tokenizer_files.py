"""Tokenizers of the user's own: files, and other packages' plugins."""

import json
import random
import struct
import sys
from pathlib import Path

import pytest
from builders import transcript, user
from byte_level import tokenizer_json
from conftest import FIXTURES, Run
from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.errors import TokenizerError, UsageError
from ctxtrim.metering import Metering
from ctxtrim.tokenizers import tokenizer


def test_a_tokenizer_file_counts_with_its_merges(tokenizer_path: str) -> None:
    own = tokenizer(tokenizer_path)
    assert own.name == "tokenizer.json"
    assert own.count("tide sea") == len(["tide", "Ġs", "e", "a"])


def test_special_tokens_in_a_text_are_text(tokenizer_path: str) -> None:
    assert tokenizer(tokenizer_path).count("<|end|>") == len("<|end|>")


@given(st.one_of(st.text(max_size=60), st.sampled_from(["\ud800", "tide" * 500, "\ufdfa" * 20])))
def test_a_ceiling_is_never_below_the_count(tokenizer_path: str, text: str) -> None:
    own = tokenizer(tokenizer_path)
    assert 0 <= own.count(text) <= own.ceiling(text)


def test_a_tokenizer_file_applies_to_any_model(tokenizer_path: str) -> None:
    talk = transcript([user("tide sea")])
    meter = Metering(tokenizer, "llama-of-mine", tokenizer_path).meter(talk)
    assert meter.counter.count(talk).by_role["user"] == 4
    # the chat template is not in the file
    assert meter.counter.count(talk).exactness == "estimated"


def field(number: int, value: bytes | int) -> bytes:
    """A field of a protobuf message; a SentencePiece file is such a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(number: int) -> bytes:
    return bytes([number & 127 | 128]) + varint(number >> 7) if number > 127 else bytes([number])


def piece(text: str, score: float, kind: int) -> bytes:
    return field(
        1, field(1, text.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score) + field(3, kind)
    )


def pieces(model: int = 2) -> bytes:
    """A SentencePiece file of a control piece, 256 bytes, eight characters and three merges."""
    control, byte, normal = 3, 6, 1
    output = piece("<unk>", 0, 2) + piece("<s>", 0, control)
    output += b"".join(piece(f"<0x{number:02X}>", 0, byte) for number in range(256))
    output += b"".join(
        piece(text, -position, normal)
        for position, text in enumerate(("ti", "de", "tide", *"▁tides<>"))
    )
    return (
        output
        + field(2, field(3, model) + field(35, 1))
        + field(3, field(3, 1) + field(4, 0) + field(5, 1))
    )


def test_a_sentencepiece_file_counts_with_its_merges_and_no_special_tokens(
    tmp_path: Path,
) -> None:
    (tmp_path / "own.model").write_bytes(pieces())
    own = tokenizer(str(tmp_path / "own.model"))
    assert own.count("tide") == len(["▁", "tide"])
    assert own.count("tide tie") == len(["▁", "tide", "▁", "ti", "e"])
    assert own.count("<s>") == len(["▁", "<", "s", ">"])
    assert own.count("日") == len("▁") + 3


def test_a_file_with_tokens_for_whole_words_is_refused(tmp_path: Path) -> None:
    path, value = tmp_path / "tokenizer.json", tokenizer_json()
    added = value["added_tokens"][0] | {"id": 261, "content": "ABC", "special": False}
    path.write_text(json.dumps(value | {"added_tokens": [added]}))
    assert tokenizer(str(path)).count("ABC") == 1
    path = tmp_path / "words.json"
    path.write_text(json.dumps(value | {"added_tokens": [added | {"single_word": True}]}))
    with pytest.raises(UsageError, match="the added token 'ABC' is for whole words only"):
        tokenizer(str(path))


NO_TOKENIZERS = {
    "empty": b"",
    "text": b"no json, no protobuf\n" * 100,
    "garbage": random.Random(1).randbytes(5000),
    "ones": b"\xff" * 400,
    "zeros": bytes(1000),
    "object": b"{}",
    "array": b"[1]",
    "null": b"null",
    "nested": b"[" * 100_000,
    "transcript": b'{"messages": [{"role": "user", "content": "x"}]}',
    "no vocabulary": b'{"model": {"type": "BPE", "merges": []}}',
    "another model": b'{"model": {"type": "WordPiece", "vocab": {}}}',
    "strange tokens": b'{"model": {"type": "BPE", "vocab": {"a": "b"}, "merges": '
    b'[]}, "added_tokens": [3]}',
    "a number too high": b'{"model": {"type": "BPE", "vocab": {"a": 4294967295}, "merges": []}}',
    "a unigram model": pieces(model=1),
}


@pytest.mark.parametrize("content", NO_TOKENIZERS)
@pytest.mark.parametrize("name", ["tokenizer.json", "own.model"])
def test_an_invalid_tokenizer_file_is_one_line_with_the_expected_content(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, content: str
) -> None:
    (tmp_path / name).write_bytes(NO_TOKENIZERS[content])
    with pytest.raises(UsageError) as caught:
        tokenizer(str(tmp_path / name))
    assert str(caught.value).startswith(f"tokenizer {tmp_path / name}: ")
    assert str(caught.value).endswith(
        "; expected the tokenizer.json of a BPE model, or a SentencePiece .model"
    )
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""  # nor does a panic of gigatoken's


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing.json", "cannot be read: no such file or directory"),
        ("folder.json", "cannot be read: is a directory"),
        ("empty.json", "is not a tokenizer"),
        ("empty.model", "cannot be used: not a sentencepiece model: no pieces found"),
        (
            "unigram.model",
            "cannot be used: only BPE sentencepiece models are supported, got model_type 'unigram'",
        ),
    ],
)
def test_an_invalid_tokenizer_path_is_wrong_usage(
    ctxtrim: Run, tmp_path: Path, name: str, reason: str
) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "empty.json").write_bytes(b"")
    (tmp_path / "empty.model").write_bytes(b"")
    (tmp_path / "unigram.model").write_bytes(pieces(model=1))
    ran = ctxtrim("count", "--tokenizer", tmp_path / name, "fixtures/agent.jsonl")
    expected = "expected the tokenizer.json of a BPE model, or a SentencePiece .model"
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err == f"ctxtrim: tokenizer {tmp_path / name}: {reason}; {expected}\n"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a device of Linux")
def test_an_endless_or_huge_tokenizer_file_is_refused(ctxtrim: Run, tmp_path: Path) -> None:
    ran = ctxtrim("count", "--tokenizer", "/dev/zero", "fixtures/agent.jsonl")
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.startswith(
        "ctxtrim: tokenizer /dev/zero: cannot be read: it is a device; expected the tokenizer.json"
    )
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    ran = ctxtrim("count", "--tokenizer", huge, "fixtures/agent.jsonl")
    assert (ran.code, ran.out) == (2, b"")
    assert f"tokenizer {huge}: cannot be read: it has more than 268,435,456 bytes; " in ran.err


def test_without_gigatoken_the_error_names_the_package_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gigatoken", None)  # as if it were not there
    (tmp_path / "own.model").write_bytes(pieces())
    with pytest.raises(TokenizerError) as caught:
        tokenizer(str(tmp_path / "own.model"))
    path = tmp_path / "own.model"
    assert (
        str(caught.value)
        == f"tokenizer {path}: tokenizer files need gigatoken; pip install 'ctxtrim[fast]'"
    )


def test_without_gigatoken_a_missing_file_is_named_first(
    ctxtrim: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gigatoken", None)  # as if it were not there
    ran = ctxtrim("count", "--tokenizer", "none.json", "fixtures/agent.jsonl")
    assert ran.code == 2
    assert "tokenizer none.json: cannot be read: no such file or directory; expected" in ran.err


def test_a_file_with_another_suffix_is_no_tokenizer(ctxtrim: Run) -> None:
    ran = ctxtrim("count", "--tokenizer", "agent.jsonl", "agent.jsonl", cwd=FIXTURES)
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.endswith("bytes4, or a tokenizer.json or .model file\n")


def test_a_tokenizer_of_another_package_is_found_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "halves-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: halves\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[ctxtrim.tokenizers]\nhalves = halves_of_words:Halves\n"
    )
    (tmp_path / "halves_of_words.py").write_text(
        "class Halves:\n    name, exactness = 'halves', 'exact'\n"
        "    def count(self, text): return 2 * len(text.split())\n    ceiling = count\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert tokenizer("halves").count("one two") == 4
    talk = transcript([user("one two three")])
    assert (
        Metering(tokenizer, "nobody-knows", "halves")
        .meter(talk)
        .counter.count(talk)
        .by_role["user"]
        == 6
    )
    with pytest.raises(UsageError, match="halves"):
        tokenizer("thirds")


def merged(*merges: str) -> str:
    """A tokenizer file of which only some merges are left."""
    value = tokenizer_json()
    value["model"]["merges"] = list(merges)
    return json.dumps(value)


def test_a_relative_path_names_the_file_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    for folder, merges in (("a", ["t i"]), ("b", ["t i", "d e", "ti de"])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tokenizer.json").write_text(merged(*merges))
        monkeypatch.chdir(tmp_path / folder)
        counts.append(tokenizer("tokenizer.json").count("tide"))
    assert counts == [len(["ti", "d", "e"]), len(["tide"])]


def test_a_replaced_tokenizer_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(merged("t i"))
    first = tokenizer(str(path))
    path.write_text(merged("t i", "d e", "ti de"))
    assert (first.count("tide"), tokenizer(str(path)).count("tide")) == (3, 1)
    path.unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        tokenizer(str(path))
