"""Compares `count` and `trim` over a folder of transcripts with a plain loop and with a lower
bound, in a single run.

    python benchmarks/corpus.py FOLDER [--runs 7]

Everything runs in one process on one core, with vocabularies loaded beforehand. Each figure is the
median of several runs. The contenders run alternately, so that a change of machine speed affects
all of them. MB are bytes of the files.

- floor: `orjson.loads` of every line (or document), and gigatoken over the same texts that ctxtrim
  counts
- plain: the usual hand-written loop: `json.loads` of every line and tiktoken over the same texts;
  for trim, the oldest messages are dropped until the rest fits
- count, trim: ctxtrim's stream, from the lines of the file to the row of the report (and the bytes,
  for trim)
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import orjson

from ctxtrim.formats.reading import open_reading
from ctxtrim.io.collector import calm_collector
from ctxtrim.metering import Metering
from ctxtrim.pipeline import Pipeline, Spec
from ctxtrim.stream import Job, stream
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokenizers.encodings import VOCABULARIES, gigatoken_engine, tiktoken_engine

ENCODING = "o200k_base"
BUDGET = 8000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    calm_collector()  # as the command line does
    files = [
        path.read_bytes() for path in sorted(options.folder.rglob("*.json*")) if path.is_file()
    ]
    files = [data for data in files if open_reading(BytesIO(data)).format]
    texts = [_texts(data) for data in files]
    size, read = (
        sum(map(len, files)) / 1e6,
        sum(len(text.encode(errors="replace")) for each in texts for text in each) / 1e6,
    )
    print(
        f"{len(files)} files, {size:.1f} MB, of which the model reads {read:.1f} MB; "
        f"{ENCODING}, budget {BUDGET}\n"
    )

    path = VOCABULARIES / f"{ENCODING}.tiktoken"
    fast, slow = gigatoken_engine(ENCODING, path), tiktoken_engine(ENCODING, path)
    contenders: dict[str, Callable[[], object]] = {
        "floor": lambda: _plain(files, texts, orjson.loads, fast),
        "ctxtrim count": lambda: _ctxtrim(files, ("count", {"largest": 5})),
        "plain count": lambda: _plain(files, texts, json.loads, slow),
        "ctxtrim trim": lambda: _ctxtrim(files, ("trim", {})),
        "plain trim": lambda: _plain_trim(files, texts, slow),
    }
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for run in range(options.runs + 1):
        for name, work in contenders.items():
            start = time.perf_counter()
            work()
            if run:  # the first warms up
                times[name].append(time.perf_counter() - start)
    floor = statistics.median(times["floor"])
    print(f"{'':15}{'seconds':>9}{'MB/s':>8}{'of the floor':>14}")
    for name, seconds in times.items():
        middle = statistics.median(seconds)
        print(f"{name:15}{middle:9.3f}{size / middle:8.1f}{100 * floor / middle:12.0f} %")
    for stage in ("count", "trim"):
        ratios = [
            slow / fast
            for slow, fast in zip(times[f"plain {stage}"], times[f"ctxtrim {stage}"], strict=True)
        ]
        print(
            f"\nctxtrim {stage} is {statistics.median(ratios):.1f} times as fast as the plain loop",
            end="",
        )
    print()


def _texts(data: bytes) -> list[str]:
    """The texts that ctxtrim counts in a file, each of them once."""
    chunks = open_reading(BytesIO(data)).chunks
    messages = (
        message
        for chunk in chunks
        for transcript in chunk.transcripts
        for message in transcript.messages
    )
    return [part.text for message in messages for part in message.parts if part.media is None]


def _values(data: bytes, loads: Callable[[bytes], object]) -> None:
    for line in [data] if data[:2] in (b"[\n", b"{\n") else data.split(b"\n"):
        try:
            loads(line)
        except ValueError:
            continue


def _plain(
    files: list[bytes],
    texts: list[list[str]],
    loads: Callable[[bytes], object],
    count: Callable[[str], int],
) -> int:
    for data in files:
        _values(data, loads)
    return sum(count(text) for each in texts for text in each)


def _plain_trim(files: list[bytes], texts: list[list[str]], count: Callable[[str], int]) -> int:
    total = 0
    for data, each in zip(files, texts, strict=True):
        _values(data, json.loads)
        counts = [count(text) for text in each]
        while sum(counts) > BUDGET:
            counts.pop(0)
        total += len(json.dumps(each[-len(counts) :]))
    return total


def _ctxtrim(files: list[bytes], *stages: tuple[str, dict[str, int]]) -> int:
    job = Job(
        Pipeline(
            tuple(Spec(name, settings) for name, settings in stages),
            Metering(tokenizer, tokenizer=ENCODING, limit=BUDGET),
        ),
        keeps_changes=False,
    )
    return sum(
        len(done.rows) for data in files for done in stream("", open_reading(BytesIO(data)), job)
    )


if __name__ == "__main__":
    main()
