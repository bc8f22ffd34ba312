"""Compressed input and output: detected from content, written by file name, refused if truncated or
damaged.
"""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from conftest import Run
from samples import line, shortened

PLAIN = line() * 3
PACKED = {"gz": gzip.compress(PLAIN, mtime=0), "zst": zstandard.ZstdCompressor().compress(PLAIN)}


def unpack(data: bytes, kind: str) -> bytes:
    return (
        gzip.decompress(data)
        if kind == "gz"
        else zstandard.ZstdDecompressor().decompressobj().decompress(data)
    )


@pytest.mark.parametrize("kind", PACKED)
def test_a_compressed_input_gives_the_bytes_inside(ctxtrim: Run, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"a.jsonl.{kind}"
    file.write_bytes(PACKED[kind])
    assert ctxtrim("run", file).out == PLAIN
    assert ctxtrim("run", stdin=PACKED[kind]).out == PLAIN
    file.rename(tmp_path / "no-ending")
    assert ctxtrim("run", tmp_path / "no-ending").out == PLAIN


@pytest.mark.parametrize("kind", PACKED)
def test_several_frames_form_a_single_file(ctxtrim: Run, kind: str) -> None:
    assert ctxtrim("run", stdin=PACKED[kind] * 2).out == PLAIN * 2


@pytest.mark.parametrize("kind", PACKED)
def test_the_name_of_the_output_decides_its_compression(
    ctxtrim: Run, tmp_path: Path, kind: str
) -> None:
    file, out = tmp_path / "a.jsonl", tmp_path / f"out.jsonl.{kind}"
    file.write_bytes(line())
    assert ctxtrim("truncate", file, "-o", out).code == 0
    assert unpack(out.read_bytes(), kind) == shortened(line())


@pytest.mark.parametrize("name", ["a.jsonl.GZ", "a.JSONL.Gz"])
def test_an_ending_in_capital_letters_compresses_too(
    ctxtrim: Run, tmp_path: Path, name: str
) -> None:
    assert ctxtrim("truncate", "-o", tmp_path / name, stdin=line()).code == 0
    assert unpack((tmp_path / name).read_bytes(), "gz") == shortened(line())


@pytest.mark.parametrize("kind", PACKED)
def test_in_place_a_compressed_file_stays_compressed(
    ctxtrim: Run, tmp_path: Path, kind: str
) -> None:
    file = tmp_path / f"a.jsonl.{kind}"
    file.write_bytes(PACKED[kind])
    assert ctxtrim("truncate", "--in-place", file).code == 0
    assert unpack(file.read_bytes(), kind) == shortened(line()) * 3
    once = file.read_bytes()
    assert ctxtrim("truncate", "--in-place", file).code == 0
    assert file.read_bytes() == once


@pytest.mark.parametrize("kind", PACKED)
def test_nothing_of_a_truncated_file_is_used(ctxtrim: Run, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"cut.jsonl.{kind}"
    file.write_bytes(PACKED[kind][:-10])
    ran = ctxtrim("truncate", file)
    assert (ran.code, ran.out) == (1, b"")
    assert "cut.jsonl" in ran.err
    assert "cut off; get the whole file again" in ran.err
    out = tmp_path / "out.jsonl"
    assert ctxtrim("truncate", file, "-o", out).code == 1
    assert not out.exists()


@pytest.mark.parametrize("kind", PACKED)
def test_nothing_of_a_damaged_file_is_used(ctxtrim: Run, kind: str) -> None:
    damaged = bytearray(PACKED[kind])
    damaged[20] ^= 0xFF
    damaged[21] ^= 0xFF
    ran = ctxtrim("truncate", stdin=bytes(damaged))
    assert (ran.code, ran.out) == (1, b"")
    assert "damaged" in ran.err or "cut off" in ran.err


def test_damage_is_described_without_the_code_of_a_library(ctxtrim: Run) -> None:
    ran = ctxtrim("count", stdin=gzip.compress(b"")[:10] + b"\xff" * 20)
    assert "the gzip data in it is damaged (invalid block type); get the file again" in ran.err


def test_a_missing_package_for_the_output_is_named(
    ctxtrim: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    out = tmp_path / "out.jsonl.zst"
    ran = ctxtrim("run", "-o", out, stdin=PLAIN)
    assert (ran.code, out.exists()) == (1, False)
    assert f"{out}: writing zstd data needs a package: pip install 'ctxtrim[zstd]'" in ran.err


def test_folders_are_walked_for_compressed_files(ctxtrim: Run, tmp_path: Path) -> None:
    for kind, data in PACKED.items():
        (tmp_path / f"a.jsonl.{kind}").write_bytes(data)
    (tmp_path / "picture.png.gz").write_bytes(PACKED["gz"])
    out = tmp_path / "out"
    assert ctxtrim("truncate", tmp_path, "-o", out).code == 0
    assert sorted(file.name for file in out.iterdir()) == ["a.jsonl.gz", "a.jsonl.zst"]
    assert unpack((out / "a.jsonl.zst").read_bytes(), "zst") == shortened(line()) * 3


def test_compressing_the_same_bytes_twice_gives_the_same_bytes(
    ctxtrim: Run, tmp_path: Path
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(PLAIN)
    for name in ("one.gz", "two.gz"):
        assert ctxtrim("run", file, "-o", tmp_path / name).code == 0
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()


def test_the_tool_of_the_system_reads_the_output(ctxtrim: Run, tmp_path: Path) -> None:
    file, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl.gz"
    file.write_bytes(PLAIN)
    assert ctxtrim("run", file, "-o", out).code == 0
    assert subprocess.run(["gzip", "-dc", out], capture_output=True, check=True).stdout == PLAIN


def test_a_compressed_file_without_a_suffix_is_compressed_again_in_place(
    ctxtrim: Run, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    path.write_bytes(PACKED["gz"])
    words = ("--in-place", "--archive", tmp_path / "x", path)
    assert ctxtrim("truncate", "--tokenizer", "chars4", *words).code == 0
    assert gzip.decompress(path.read_bytes()) != PLAIN
    assert ctxtrim("restore", *words).code == 0
    assert gzip.decompress(path.read_bytes()) == PLAIN


SKIPPED = b"\x5f\x2a\x4d\x18\x05\0\0\0notes"
WIDE = zstandard.ZstdCompressionParameters(window_log=28)


def wide(data: bytes) -> bytes:
    """A frame that refers further back than readers take by default."""
    frame = zstandard.ZstdCompressor(compression_params=WIDE).compressobj()
    return frame.compress(data) + frame.flush()


@pytest.mark.parametrize(
    "data",
    [
        PACKED["gz"] + b"\0" * 512,
        PACKED["gz"] + b"\0" * 200_000,
        SKIPPED + PACKED["zst"],
        PACKED["zst"] + SKIPPED,
        wide(PLAIN),
    ],
    ids=["zeros", "many zeros", "skipped first", "skipped last", "wide window"],
)
def test_rare_frames_are_read(ctxtrim: Run, tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "a.jsonl.x"
    file.write_bytes(data)
    for ran in (ctxtrim("run", file), ctxtrim("run", stdin=data)):
        assert (ran.code, ran.out) == (0, PLAIN)


def test_a_compressed_line_may_have_the_largest_size(ctxtrim: Run) -> None:
    for size, code in ((len(line()), 0), (len(line()) - 1, 1)):
        ran = ctxtrim("truncate", "--max-size", size, stdin=gzip.compress(line()))
        assert ran.code == code


def test_damage_of_a_written_file_would_be_noticed(ctxtrim: Run, tmp_path: Path) -> None:
    assert ctxtrim("truncate", "-o", tmp_path / "x.jsonl.zst", stdin=line()).code == 0
    data = (tmp_path / "x.jsonl.zst").read_bytes()
    assert zstandard.get_frame_parameters(data).has_checksum
