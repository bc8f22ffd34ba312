"""Bounded memory of inputs: a line or a document has a largest size, compressed or not."""

import gzip
import json
import resource
import subprocess
import zlib
from collections import deque
from collections.abc import Callable
from io import BytesIO
from itertools import groupby, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import zstandard
from bytecodes import bytecodes
from conftest import COMMAND, ENVIRONMENT, ROOT, Ran, Run
from hypothesis import given
from hypothesis import strategies as st
from samples import chat, line, messages, shortened

from ctxtrim.formats.lines import numbered
from ctxtrim.formats.reading import open_reading
from ctxtrim.io.inputs import Input, reading
from ctxtrim.text.records import LinePart

SPACE = 1 << 30
"""Bytes of address space that a bounded run may have."""


def bounded(*words: object, stdin: int | None = None) -> Ran:
    """The command under a memory limit: a process above the limit dies."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        stdin=stdin,
        capture_output=True,
        cwd=ROOT,
        env=ENVIRONMENT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE)),
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return Ran(done.returncode, done.stdout, done.stderr.decode())


def zeros(compressor: Callable[[], "zlib._Compress"], mebibytes: int) -> bytes:
    """That many MiB of zeros, compressed."""
    stream, block = compressor(), bytes(1 << 20)
    return b"".join([stream.compress(block) for _ in range(mebibytes)] + [stream.flush()])


BOMBS = {
    "gz": lambda: zeros(lambda: zlib.compressobj(1, wbits=31), 1100),
    "zst": lambda: zeros(lambda: zstandard.ZstdCompressor().compressobj(), 1100),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_small_file_that_expands_to_an_endless_line_is_refused_in_little_memory(
    tmp_path: Path, kind: str
) -> None:
    bomb = tmp_path / f"zeros.jsonl.{kind}"
    bomb.write_bytes(BOMBS[kind]())
    ran = bounded("count", bomb)
    assert (ran.code, ran.out) == (1, b"")
    expected = (
        f"{bomb}:1: error: the line has more than 1,073,741,824 bytes; raise --max-size to read it"
    )
    assert ran.err.splitlines()[0] == expected


def test_an_endless_line_of_a_device_is_refused_at_the_limit() -> None:
    with Path("/dev/zero").open("rb") as zero:
        for words, name in ((("/dev/zero",), "/dev/zero"), (("-",), "<stdin>")):
            ran = bounded("count", "--max-size", "64MiB", *words, stdin=zero.fileno())
            assert ran.code == 1
            assert ran.err.splitlines()[0].startswith(
                f"{name}:1: error: the line has more than 67,108,864 bytes; "
            )


PACKS = {"plain": bytes, "gz": gzip.compress, "zst": zstandard.ZstdCompressor().compress}


@pytest.mark.parametrize("pack", PACKS.values(), ids=PACKS)
def test_a_line_of_the_largest_size_is_read_and_a_longer_line_is_reported(
    ctxtrim: Run, tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    short, long = line(chat()), line(messages(40))
    file = tmp_path / "chats"
    file.write_bytes(pack(short + long + short))
    ran = ctxtrim("run", "--max-size", len(long), file)
    assert (ran.code, ran.out) == (0, short + long + short)
    ran = ctxtrim("run", "--max-size", len(long) - 1, file)
    assert (ran.code, ran.out) == (1, short + long + short)
    ran = ctxtrim(
        "check",
        "--verbose",
        "--tokenizer",
        "chars4",
        "--max-size",
        len(long) - 1,
        file,
        "fixtures/messages.jsonl",
    )
    assert ran.code == 1
    assert (
        f"{file}:2: error: the line has more than {len(long) - 1:,} bytes; raise "
        "--max-size to read it" in ran.err
    )
    assert b"messages.jsonl:1" in ran.out, "other inputs go on"


def conversations(size: int) -> tuple[bytes, bytes]:
    """A file with lines of more than `size` bytes between conversations, and what is expected when
    the conversations are shortened.
    """
    long = b'{"messages": [{"role": "user", "content": "' + b"x" * size + b'"}]}'
    blank = b" " * size + b"\n"
    lines = (line(), line(), b"\n\n", long, b"\n", blank, b"{cut\n", line(), long, b"\n", long)
    data = b"".join((*lines, b"\n", line(), long))
    return data, data.replace(line(), shortened(line()))


@pytest.mark.parametrize("limit", [20_000, 1_500_000])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_line_above_the_limit_stays_and_all_others_are_edited(
    ctxtrim: Run, tmp_path: Path, limit: int, jobs: int
) -> None:
    data, expected = conversations(2 * limit)
    file, other, out = tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "out.jsonl"
    file.write_bytes(data)
    other.write_bytes(line())
    words = ("truncate", "--tokenizer", "chars4", "--max-size", limit, "--jobs", jobs)
    ran = ctxtrim(*words, file, other)
    assert (ran.code, ran.out) == (1, expected + b"\n" + shortened(line()))
    problem = f": error: the line has more than {limit:,} bytes; raise --max-size to read it; "
    found = [row.partition(problem)[0] for row in ran.err.splitlines() if problem in row]
    assert found == [f"{file}:{number}" for number in (5, 6, 9, 10, 12)]
    assert ctxtrim(*words, stdin=gzip.compress(data)).out == expected
    assert ctxtrim(*words, file, "-o", out).code == 1
    assert out.read_bytes() == expected
    archive = ("--archive", tmp_path / "archive")
    assert ctxtrim(*words, *archive, "--in-place", file).code == 1
    assert file.read_bytes() == expected
    assert ctxtrim("restore", *archive, file).out == data
    ran = ctxtrim("restore", *archive, "--max-size", limit, file)
    assert (ran.code, ran.out) == (1, b"")
    assert f"{file}:5: the line has more than {limit:,} bytes" in ran.err


def test_an_endless_line_after_a_conversation_takes_little_memory(tmp_path: Path) -> None:
    bomb = tmp_path / "zeros.jsonl.gz"
    bomb.write_bytes(gzip.compress(line(chat())) + BOMBS["gz"]())
    ran = bounded("check", "--tokenizer", "chars4", "--max-size", "64MiB", bomb)
    assert ran.code == 1
    assert ran.err.startswith(f"{bomb}:2: error: the line has more than 67,108,864 bytes; ")
    assert ran.out.startswith(b"1 transcript, ")


@pytest.mark.parametrize("before", [b"\n", b"{cut\n", b'{"event": "tick"}\n'])
def test_a_line_above_the_limit_before_the_first_conversation_refuses_the_file(
    ctxtrim: Run, before: bytes
) -> None:
    ran = ctxtrim("run", "--max-size", "1KB", stdin=before + line(messages(40)) + line(chat()))
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err.startswith("<stdin>:2: error: the line has more than 1,000 bytes; ")


@given(
    st.lists(st.sampled_from([b"", b"\n", b" \n", b"x", b"long \n" * 3, b"y" * 30])),
    st.integers(1, 40),
)
def test_no_byte_and_no_line_number_is_lost_at_any_limit(pieces: list[bytes], limit: int) -> None:
    data = b"".join((b".", *pieces))
    with TemporaryDirectory() as folder:
        file = Path(folder, "a.jsonl")
        file.write_bytes(data)
        with reading(Input(str(file), "a.jsonl"), limit) as lines:
            found = list(numbered(lines))
    joined = {
        number: b"".join(part for _, part in parts)
        for number, parts in groupby(found, lambda item: item[0])
    }
    assert joined == dict(enumerate(BytesIO(data), 1))
    assert {number for number, part in found if isinstance(part, LinePart)} == {
        number for number, whole in joined.items() if len(whole) > limit
    }


def test_the_size_limit_applies_to_a_transcript_and_not_to_the_file(
    ctxtrim: Run, tmp_path: Path
) -> None:
    several, events, document = tmp_path / "a.jsonl", tmp_path / "events.jsonl", tmp_path / "a.json"
    several.write_bytes(line(chat()) * 30)
    events.write_bytes(b"".join(json.dumps(message).encode() + b"\n" for message in chat() * 30))
    document.write_text(json.dumps({"messages": chat() * 30}, indent=1))
    assert ctxtrim("run", "--max-size", "1KB", several).out == several.read_bytes()
    for file, what in (
        (events, "the file is a single transcript, and it"),
        (document, "the document"),
    ):
        out = tmp_path / "out"
        ran = ctxtrim("run", "--max-size", "1KB", file, "-o", out)
        assert (ran.code, out.exists()) == (1, False)
        number = ran.err.removeprefix(f"{file}:").split(":")[0]
        assert ran.err.startswith(
            f"{file}:{number}: error: {what} has more than 1,000 bytes; raise --max-size"
        )


def test_a_limit_of_one_byte_is_in_the_singular(ctxtrim: Run) -> None:
    ran = ctxtrim("count", "--max-size", "1", stdin=line(chat()))
    assert "error: the line has more than 1 byte; raise --max-size" in ran.err


def test_a_document_after_lines_and_a_large_rest_is_bounded(ctxtrim: Run, tmp_path: Path) -> None:
    file = tmp_path / "cut.jsonl"
    file.write_bytes(b'{"messages": [\n' + line(chat()) * 30)
    ran = ctxtrim("count", "--max-size", "1KB", file)
    assert ran.code == 1
    assert "the document has more than 1,000 bytes" in ran.err


@pytest.mark.parametrize("text", ["65536", "64KiB", "64kib"])
def test_max_size_accepts_units(ctxtrim: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "ctxtrim.toml").write_text(f'max-size = "{text}"\n')
    shown = [
        ctxtrim("config", "show", CTXTRIM_MAX_SIZE=text).out,
        ctxtrim("config", "show", cwd=tmp_path).out,
    ]
    for out in shown:
        rows = [row.split() for row in out.decode().splitlines()]
        assert ["max-size", "64KiB"] in [row[:2] for row in rows]


@pytest.mark.parametrize("text", ["0", "-1KiB", "much", "1TiB", "KiB"])
def test_an_invalid_size_is_wrong_usage(ctxtrim: Run, text: str) -> None:
    ran = ctxtrim("count", f"--max-size={text}", stdin=line(chat()))
    assert ran.code == 2
    assert f"--max-size {text}" in ran.err


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_lines_across_frames_and_blocks_are_read(ctxtrim: Run, kind: str) -> None:
    data = line(messages(3000)) + line(chat()) + line(messages(900)).rstrip()
    pack = PACKS[kind]
    cuts = [0, 7, 70_001, len(data) - 1, len(data)]
    frames = b"".join(pack(data[start:end]) for start, end in pairwise(cuts))
    assert ctxtrim("run", stdin=frames).out == data


EVENT = json.dumps(chat()[0]).encode() + b"\n"
TEXTS = {"nothing": b"", "conversation": line(chat()), "event": EVENT}


@pytest.mark.parametrize("first", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("last", TEXTS.values(), ids=TEXTS)
def test_blank_lines_stay_and_the_lines_after_them_keep_their_numbers(
    ctxtrim: Run, first: bytes, last: bytes
) -> None:
    broken = b'{"messages": [}\n'
    data = b"\n \n" * 40 + first + b"\n\t\r\n" * 3 + broken + b"\n\n" + last + b"\n\n"
    ran = ctxtrim("run", stdin=data)
    assert ran.out == data
    if first:
        number = data[: data.index(broken)].count(b"\n") + 1
        assert f"<stdin>:{number}: error: " in ran.err


def test_blank_lines_before_events_count_as_lines_left_out(ctxtrim: Run) -> None:
    ran = ctxtrim("count", stdin=b"\n" * 100 + EVENT + b"\n" * 20)
    assert b"left out: 120 lines" in ran.out


@pytest.mark.parametrize("limit", ["1MiB", "1GiB"])
def test_blank_lines_at_the_beginning_are_bounded_in_memory(tmp_path: Path, limit: str) -> None:
    bomb = tmp_path / "blank.jsonl.gz"
    bomb.write_bytes(gzip.compress(b"\n" * (1 << 24), 1))
    ran = bounded("count", "--max-size", limit, bomb)
    assert ran.code == 1
    if limit == "1MiB":
        assert ran.err.startswith(
            f"{bomb}:1048577: error: the run of blank lines has more than 1,048,576 bytes; "
            "raise --max-size to read it"
        )
    else:
        assert ran.err.startswith(f"{bomb}: error: no transcript found")


@pytest.mark.parametrize("before", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("blank", [b"\n", b"7\n"])
def test_a_line_without_content_takes_little_work(before: bytes, blank: bytes) -> None:
    """Whether a line is blank or a number shows without a look at each format."""

    def work(lines: int) -> int:
        data = before + blank * lines
        return bytecodes(lambda: deque(open_reading(iter(BytesIO(data))).chunks, 0))

    work(100)  # fills caches
    few, many = work(1000), work(2000)
    assert many - few < 1000 * (400 if blank.isspace() else 3000)
