"""Measures how the time of every stage grows with the size of a hostile text: the exponent, the
worst case first.

    python benchmarks/hostile.py [--sizes 1M,4M,16M] [--further 1.1]
                                 [--texts 'flags*,JSON*'] [--places result] [--stages 'trim*']

Each case is a command line over a small conversation that contains a hostile text
(`hostile_texts.py`) at one position: a tool result, several results of 4 kB, a user or assistant
message, the arguments of a call, or both a result and a later user message that quotes it. A case
runs in a separate process, within `--timeout` seconds of processor time and `--memory` MB. The
measured value is this processor time, without the start of Python.

The exponent is the slope of a line through the logarithms of size and time, or the slope between
the two largest sizes if that is smaller: a one-time cost, such as a reloaded vocabulary, is not
growth. Times below 0.02 s are ignored, since they are mostly noise. 1 is linear. With `--further
E`, sizes after the second are measured only if the exponent of the first two is above E. In that
case both are measured twice, and the shorter times count.

gigatoken and tiktoken merge an endless word in `n log n` or worse, and random access to more memory
than a cache holds is slower. No program that counts exactly with them can be faster. So the time
inside them is measured separately: `ours` is the exponent of all other time, `encoder` the exponent
of their time, and `given` the exponent of the number of characters passed to them, which reveals
text that is encoded repeatedly. `all` is the exponent of the total time.

A command that edits can have nothing to do at a small size, if the text is within its limit. Sizes
at which the output equals the input are ignored if the command edits the text at a larger size.

The script exits with 1 if `ours` or `given` is above 1.2, or a case fails or times out. Why 1.2:
sorting in `n log n` shows as 1.07 between 1 and 16 MB, and exhausted caches and allocation cost up
to a tenth more; quadratic work shows as 2 once it dominates, and as 1.5 long before. The script
also lists cases of which only `all` is above 1.2.

Another engine counts sizes below 200 kB, so start with larger sizes to measure the exponent of
counting.
"""

import argparse
import filecmp
import json
import math
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from hostile_texts import TEXTS

LINEAR = 1.2
FLOOR = 0.02  # seconds
UNITS = {"k": 1 << 10, "M": 1 << 20}
SPREAD = 4096  # size in bytes of one of several results
ANSWERS = (0, 3, 4)  # exit codes of a complete answer: done, overflow, broken structure

ONLY_RESULTS = {
    "truncate --replace placeholder": "truncate --max-age 0 --max-tokens 0 --keep-small 0",
    "truncate --replace head": "truncate --max-age 0 --max-tokens 0 --replace head",
    "truncate --replace stub": "truncate --max-age 0 --max-tokens 0 --replace stub",
    "truncate --replace summary": "truncate --max-age 0 --max-tokens 0 --replace summary",
    "truncate --errors loose": "truncate --max-age 0 --max-tokens 300 --errors loose",
    "truncate --max-tokens 300": "truncate --clock none --max-tokens 300",
    "truncate --max-tokens 300 head": "truncate --clock none --max-tokens 300 --mode head",
    "truncate --max-tokens 300 tail": "truncate --clock none --max-tokens 300 --mode tail",
    "truncate --max-tokens 50000": "truncate --clock none --max-tokens 50000",
    "truncate --max-tokens, Claude": "truncate --clock none --max-tokens 2000 --tokenizer "
    "claude-v4.8-bound",
    "truncate --max-tokens, cl100k": "truncate --clock none --max-tokens 2000 "
    "--tokenizer cl100k_base",
    "truncate --max-tokens, chars4": "truncate --clock none --max-tokens 2000 --tokenizer chars4",
    "truncate --max-lines": "truncate --clock none --max-tokens 0 --max-lines 200",
    "truncate --max-bytes": "truncate --clock none --max-tokens 0 --max-bytes 20000",
    "truncate --max-chars": "truncate --clock none --max-tokens 0 --max-chars 20000",
    "truncate --dedupe": "truncate --clock none --max-tokens 0 --dedupe",
    "cutoff": "run -s cutoff:tool_cutoff=1",
}
"""Command lines by name, of stages that look at tool results alone."""

EVERYWHERE = {
    "count": "count",
    "count, Claude": "count --tokenizer claude-v4.8-bound",
    "count, cl100k": "count --tokenizer cl100k_base",
    "count, unknown": "count --tokenizer unknown",
    "check": "check --profile strict",
    "check --fix": "check --fix",
    "truncate": "truncate --max-age 1 --max-tokens 300",
    "trim": "trim --budget 4000",
    "trim --strategy oldest": "trim --budget 4000 --strategy oldest",
    "summarize": "summarize --keep-recent-turns 1",
    "compact": "run --preset compact",
    "rolling": "run --preset rolling",
}
"""The same, of stages that look at every message."""

STAGES = EVERYWHERE | ONLY_RESULTS
PLACES = ("result", "results", "user", "assistant", "arguments", "quoted")


@dataclass(frozen=True)
class Case:
    """A command line over a text at a position."""

    text: str
    place: str
    stage: str


@dataclass(frozen=True)
class Measured:
    """Processor seconds of a run, the share inside the encoders, and the number of characters
    passed to the encoders.

    `edits`: whether the output differs from the input. `trouble`: the failure, if any.
    """

    seconds: float
    encoder: float = 0.0
    given: int = 0
    edits: bool = True
    trouble: str = ""


@dataclass(frozen=True)
class Outcome:
    """The measurements, by size in bytes."""

    case: Case
    measured: Mapping[int, Measured]

    @property
    def trouble(self) -> str:
        """The first failure, if any."""
        return next(
            (measurement.trouble for measurement in self.measured.values() if measurement.trouble),
            "",
        )

    @property
    def exponents(self) -> dict[str, float]:
        """The exponents by name; 0 if fewer than two sizes are comparable."""
        edits = any(measurement.edits for measurement in self.measured.values())
        points = {
            size: measurement
            for size, measurement in self.measured.items()
            if measurement.edits or not edits
        }
        return {
            "all": _slope({size: measurement.seconds for size, measurement in points.items()}),
            "ours": _slope(
                {
                    size: measurement.seconds - measurement.encoder
                    for size, measurement in points.items()
                }
            ),
            "encoder": _slope({size: measurement.encoder for size, measurement in points.items()}),
            "given": _slope({size: measurement.given for size, measurement in points.items()}),
        }

    @property
    def is_open(self) -> bool:
        """Whether too few sizes were measured at which the text is edited."""
        edits = [measurement.edits for measurement in self.measured.values()]
        return any(edits) and edits.count(True) < min(2, len(edits))

    @property
    def is_bad(self) -> bool:
        """Whether the script ends with exit code 1 for it."""
        return bool(self.trouble) or max(self.exponents["ours"], self.exponents["given"]) > LINEAR

    @property
    def is_listed(self) -> bool:
        """Whether it is printed in any case."""
        return self.is_bad or self.exponents["all"] > LINEAR


def _slope(times: Mapping[int, float]) -> float:
    """The slope of the logarithms over all sizes or the last two, whichever is less; 0 with fewer
    than two values.
    """
    points = [
        (math.log(size), math.log(value)) for size, value in sorted(times.items()) if value >= FLOOR
    ]
    if len(points) < 2:
        return 0.0
    return min(_fitted(points), _fitted(points[-2:]))


def _fitted(points: list[tuple[float, float]]) -> float:
    """The slope of the line that fits some points best."""
    x, y = (sum(column) / len(points) for column in zip(*points, strict=True))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


class Meter:
    """The processor seconds inside the encoders and the characters that they were given, in this
    process.
    """

    def __init__(self) -> None:
        self.seconds, self.given = 0.0, 0

    def timed(self, encode: Callable[..., Any], position: int = 0) -> Callable[..., Any]:
        """Wrap a function with a measurement; its text is the argument at position `place`."""

        def measured(*arguments: Any, **more: Any) -> Any:
            start = time.process_time()
            try:
                return encode(*arguments, **more)
            finally:
                self.seconds += time.process_time() - start
                self.given += len(arguments[position])

        return measured

    def attach(self) -> None:
        """Measure all calls of gigatoken and tiktoken from now on."""
        import tiktoken

        from ctxtrim.tokenizers import gigatoken_memory

        meter, bounded_count = self, gigatoken_memory.bounded_count

        class Timed:
            """A tokenizer of gigatoken whose calls are measured."""

            def __init__(self, tokenizer: Any) -> None:
                self.backend, self.encode = self, meter.timed(tokenizer.backend.encode)

        gigatoken_memory.bounded_count = lambda make, *elsewhere: bounded_count(
            lambda: Timed(make()), *elsewhere
        )
        encode = tiktoken.Encoding.encode_ordinary
        tiktoken.Encoding.encode_ordinary = self.timed(encode, 1)  # type: ignore[method-assign]


METER = Meter()


def main() -> None:
    """Measure, print and exit."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="1M,4M,16M", help="bytes of the text, smallest first")
    parser.add_argument(
        "--further",
        type=float,
        default=0,
        help="measure more than two sizes above this exponent only",
    )
    for name in ("texts", "places", "stages"):
        parser.add_argument(
            f"--{name}", default="*", help="those whose names match one of these patterns"
        )
    parser.add_argument("--timeout", type=int, default=120, help="processor seconds of one run")
    parser.add_argument("--memory", type=int, default=6000, help="MB of one run")
    parser.add_argument(
        "--show", type=int, default=40, help="rows that are printed; bad ones always are"
    )
    options = parser.parse_args()
    sizes = [_size(size) for size in options.sizes.split(",")]
    cases = list(_cases(options.texts, options.places, options.stages))
    if not cases:
        parser.error("no case has such a text, place and stage")
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.text, case.place), []).append(case)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        _settle(Path(folder), {case.stage for case in cases})
        for number, ((text, position), group) in enumerate(groups.items(), 1):
            screen = Screen(Path(folder), sizes, options.further, options.timeout, options.memory)
            measured = screen.outcomes(group)
            outcomes += measured
            for outcome in filter(lambda one: one.is_listed, measured):
                print(_row(outcome, sizes), file=sys.stderr, flush=True)
            print(f"{number} of {len(groups)}: {text}, {position}", file=sys.stderr, flush=True)
    _show(outcomes, sizes, options.show)
    raise SystemExit(any(outcome.is_bad for outcome in outcomes))


def _size(text: str) -> int:
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def _cases(texts: str, places: str, stages: str) -> Iterator[Case]:
    for text in _matching(TEXTS, texts):
        for position in _matching(PLACES, places):
            known = STAGES if position in ("result", "results") else EVERYWHERE
            for stage in _matching(known, stages):
                yield Case(text, position, stage)


def _matching(names: Iterable[str], patterns: str) -> list[str]:
    return [
        name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns.split(","))
    ]


def _settle(folder: Path, stages: Iterable[str]) -> None:
    """Load in this process the data that every case needs, and isolate its settings and files from
    the user's.
    """
    os.chdir(folder)
    METER.attach()
    os.environ |= {
        "TMPDIR": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
    }
    for text in (
        TEXTS["flags"](10_000),
        TEXTS["prose"](300_000),
    ):  # small and large texts have separate engines
        (folder / "in.jsonl").write_bytes(_conversation(text, "quoted"))
        for stage in stages:
            _command(STAGES[stage])


@dataclass(frozen=True)
class Screen:
    """Measures the cases of a text at a position, size by size, so that each file is written
    once.
    """

    folder: Path
    sizes: list[int]
    further: float
    timeout: int
    memory: int

    def outcomes(self, cases: list[Case]) -> list[Outcome]:
        """The measurements of each case."""
        outcomes = {case: Outcome(case, {}) for case in cases}
        for position, size in enumerate(self.sizes):
            left = [case for case in cases if self._goes_on(outcomes[case], position)]
            if left:
                self._measure(outcomes, left, size)
            if position == 1 and self.further:  # a suspicious exponent can be noise
                doubtful = [case for case in left if self._goes_on(outcomes[case], 2)]
                for again in self.sizes[:2] if doubtful else ():
                    self._measure(outcomes, doubtful, again)
        return list(outcomes.values())

    def _goes_on(self, outcome: Outcome, position: int) -> bool:
        """Whether this size is measured at this position."""
        if outcome.trouble:
            return False
        return position < 2 or outcome.is_open or max(outcome.exponents.values()) > self.further

    def _measure(self, found: dict[Case, Outcome], cases: list[Case], size: int) -> None:
        """Measure some cases at a size; of several times the shortest counts."""
        (self.folder / "in.jsonl").write_bytes(
            _conversation(_text(cases[0].text, size), cases[0].place)
        )
        for case in cases:
            now, before = self._run(STAGES[case.stage]), found[case].measured.get(size)
            best = now if before is None or now.seconds < before.seconds else before
            found[case] = Outcome(case, {**found[case].measured, size: best})

    def _run(self, command: str) -> Measured:
        """A command line in a separate process."""
        source, out, errors = (
            self.folder / name for name in ("in.jsonl", "out.jsonl", "errors.txt")
        )
        out.unlink(missing_ok=True)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (self.timeout, self.timeout))
            resource.setrlimit(resource.RLIMIT_AS, (self.memory << 20, self.memory << 20))
            os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            METER.seconds, METER.given = 0.0, 0
            code = _command(command)
            os.write(writing, json.dumps([METER.seconds, METER.given]).encode())
            os._exit(code)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read()
        _, status, usage = os.wait4(child, 0)
        seconds = usage.ru_utime + usage.ru_stime
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            is_late = number in (signal.SIGXCPU, signal.SIGKILL) and seconds > 0.9 * self.timeout
            return Measured(seconds, trouble="time" if is_late else signal.Signals(number).name)
        code = os.waitstatus_to_exitcode(status)
        if code not in ANSWERS:
            last = errors.read_text(errors="replace").strip().split("\n")[-1]
            return Measured(seconds, trouble=f"exit {code}: {last[:100]}")
        edits = not out.exists() or not filecmp.cmp(source, out, shallow=False)
        return Measured(seconds, *json.loads(answer), edits)


@lru_cache(2)
def _text(name: str, size: int) -> str:
    return TEXTS[name](size)


def _command(command: str) -> int:
    """Run a command line here; its exit code."""
    from ctxtrim.cli.app import command_line
    from ctxtrim.cli.exit_codes import exit_code_of

    if not command.startswith(("count", "check")):
        command += " --quiet --on-overflow keep -o out.jsonl"
    sys.argv = ["ctxtrim", *command.split(), "in.jsonl"]
    try:
        with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing):
            return exit_code_of(command_line)
    except MemoryError:
        print("MemoryError", file=sys.stderr)
        return 1


def _conversation(text: str, position: str) -> bytes:
    """One line with a conversation in OpenAI's chat format that contains the text at a position."""
    texts = (
        [text[start : start + SPREAD] for start in range(0, len(text), SPREAD)]
        if position == "results"
        else [text]
    )
    messages = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "Look into it, please."},
    ]
    for number, result in enumerate(
        texts if position in ("result", "results", "quoted") else ["ok"]
    ):
        messages += _step(number, {"command": f"show {number}"}, result)
    messages += _step(
        len(texts), {"command": text if position == "arguments" else "make"}, "made\n" * 200
    )
    messages += [
        {"role": "assistant", "content": text if position == "assistant" else "It is done."},
        {"role": "user", "content": text if position in ("user", "quoted") else "Now the rest."},
    ]
    for number in range(3):
        messages += _step(
            len(texts) + 1 + number, {"command": f"test {number}"}, f"passed {number}\n" * 50
        )
    messages += [
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks. What else?"},
    ]
    return json.dumps({"messages": messages}).encode() + b"\n"


def _step(number: int, arguments: dict[str, str], result: str) -> list[dict[str, object]]:
    """A call and its result."""
    function = {"name": "bash", "arguments": json.dumps(arguments)}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": result},
    ]


def _show(outcomes: list[Outcome], sizes: list[int], most: int) -> None:
    """Print a table, the worst first."""
    ordered = sorted(
        outcomes,
        key=lambda one: (bool(one.trouble), one.is_bad, one.exponents["all"]),
        reverse=True,
    )
    bad, listed = (
        sum(getattr(outcome, name) for outcome in outcomes) for name in ("is_bad", "is_listed")
    )
    widths = "".join(f"{f'{size >> 10} kB':>12}" for size in sizes)
    names = "".join(f"{name:>9}" for name in ("all", "ours", "encoder", "given"))
    print(f"{'text':22}{'place':11}{'stage':32}{widths}{names}")
    for outcome in ordered[: max(most, listed)]:
        print(_row(outcome, sizes))
    print(
        f"\n{len(outcomes)} cases, {bad} of them above {LINEAR}, failed or out of time, "
        f"and {listed - bad}"
    )
    print(f"above {LINEAR} in the time of the encoder alone")


def _row(outcome: Outcome, sizes: list[int]) -> str:
    case, measured = outcome.case, outcome.measured
    times = "".join(
        f"{f'{measured[size].seconds:.2f} s' if size in measured else '':>12}" for size in sizes
    )
    exponents = "".join(
        f"{value:9.2f}" if value else f"{'-':>9}" for value in outcome.exponents.values()
    )
    name = f"{case.text:22}{case.place:11}{case.stage:32}"
    return f"{name}{times}{exponents}  {outcome.trouble}".rstrip()


if __name__ == "__main__":
    main()
