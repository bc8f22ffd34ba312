"""How the time of every stage grows with the size of a nasty text: the exponent, the worst case first.

    python benchmarks/hostile.py [--sizes 1M,4M,16M] [--texts 'flags*,JSON*'] [--places result] [--stages 'trim*']

Each case is one command line over a small conversation that holds one nasty text (`hostile_texts.py`) in one place: a
tool result, several results of 4 kB, the user's or the assistant's words, the arguments of a call, or both a result and
the user's words, who then quotes it. A case runs in a process of its own, within `--timeout` seconds of processor time
and `--memory` MB. What is measured is that processor time, without the start of Python.

The exponent is the slope of a line through the logarithms of size and time; times below 0.02 s are left out, for they
are mostly noise. 1 is linear. The script ends with exit code 1 where an exponent is above 1.2, or a case fails or runs
out of time. Why 1.2: sorting in `n log n` shows as 1.07 between 1 and 16 MB, and caches that become too small and
allocation cost up to a tenth more; quadratic work shows as 2 once it outweighs the rest, and 1.5 long before.

All cases with the usual sizes take hours on one core; `--sizes 64k,256k,1M` is a screening of some minutes. Sizes below
200 kB are counted by another engine, so begin above where the exponent of counting matters.
"""

import argparse
import json
import math
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from hostile_texts import TEXTS

LINEAR = 1.2
FLOOR = 0.02  # seconds
UNITS = {"k": 1 << 10, "M": 1 << 20}
SPREAD = 4096  # bytes of a text that one of several results has
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
    "truncate --max-tokens, Claude": "truncate --clock none --max-tokens 2000 --tokenizer claude-v4.8-bound",
    "truncate --max-tokens, cl100k": "truncate --clock none --max-tokens 2000 --tokenizer cl100k_base",
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
    """One command line over one text in one place."""

    text: str
    place: str
    stage: str


@dataclass(frozen=True)
class Outcome:
    """The processor seconds by size in bytes, and what went wrong."""

    case: Case
    seconds: dict[int, float]
    trouble: str

    @property
    def exponent(self) -> float:
        """The slope of the logarithms, 0 where fewer than two times can be measured."""
        points = [(math.log(size), math.log(time)) for size, time in self.seconds.items() if time >= FLOOR]
        if len(points) < 2:
            return 0.0
        x, y = (sum(column) / len(points) for column in zip(*points, strict=True))
        return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)

    @property
    def is_bad(self) -> bool:
        """Whether the script ends with exit code 1 for it."""
        return bool(self.trouble) or self.exponent > LINEAR


def main() -> None:
    """Measure, print and exit."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="1M,4M,16M", help="bytes of the text, smallest first")
    for name in ("texts", "places", "stages"):
        parser.add_argument(f"--{name}", default="*", help="those whose names match one of these patterns")
    parser.add_argument("--timeout", type=int, default=120, help="processor seconds of one run")
    parser.add_argument("--memory", type=int, default=6000, help="MB of one run")
    parser.add_argument("--show", type=int, default=40, help="rows that are printed; bad ones always are")
    options = parser.parse_args()
    sizes = [_size(size) for size in options.sizes.split(",")]
    cases = list(_cases(options.texts, options.places, options.stages))
    if not cases:
        parser.error("no case has such a text, place and stage")
    with tempfile.TemporaryDirectory() as folder:
        _settle(Path(folder), {case.stage for case in cases})
        outcomes = []
        for number, case in enumerate(cases, 1):
            outcomes.append(_outcome(case, sizes, Path(folder), options.timeout, options.memory))
            if outcomes[-1].is_bad or number % 100 == 0:
                print(f"{number:5} of {len(cases)}: {_row(outcomes[-1], sizes)}", file=sys.stderr, flush=True)
    _show(outcomes, sizes, options.show)
    raise SystemExit(any(outcome.is_bad for outcome in outcomes))


def _size(text: str) -> int:
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def _cases(texts: str, places: str, stages: str) -> Iterator[Case]:
    for text in _matching(TEXTS, texts):
        for place in _matching(PLACES, places):
            known = STAGES if place in ("result", "results") else EVERYWHERE
            for stage in _matching(known, stages):
                yield Case(text, place, stage)


def _matching(names: Iterable[str], patterns: str) -> list[str]:
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns.split(","))]


def _settle(folder: Path, stages: Iterable[str]) -> None:
    """Load in this process what every case needs, and keep its settings and files apart from the user's."""
    os.chdir(folder)
    os.environ |= {"TMPDIR": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    for text in (TEXTS["flags"](10_000), TEXTS["prose"](300_000)):  # little and much text have engines of their own
        (folder / "in.jsonl").write_bytes(_conversation(text, "quoted"))
        for stage in stages:
            _command(STAGES[stage])


def _outcome(case: Case, sizes: list[int], folder: Path, timeout: int, memory: int) -> Outcome:
    seconds: dict[int, float] = {}
    command = STAGES[case.stage]
    for size in sizes:
        (folder / "in.jsonl").write_bytes(_conversation(TEXTS[case.text](size), case.place))
        seconds[size], trouble = _run(command, folder, timeout, memory)
        if trouble:
            return Outcome(case, seconds, trouble)
    return Outcome(case, seconds, "")


def _run(command: str, folder: Path, timeout: int, memory: int) -> tuple[float, str]:
    """The processor seconds of a command line in a process of its own, and what went wrong."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (timeout, timeout))
        resource.setrlimit(resource.RLIMIT_AS, (memory << 20, memory << 20))
        os.dup2(os.open(folder / "errors.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os._exit(_command(command))
    _, status, usage = os.wait4(child, 0)
    seconds = usage.ru_utime + usage.ru_stime
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        is_late = number in (signal.SIGXCPU, signal.SIGKILL) and seconds > 0.9 * timeout
        return seconds, "time" if is_late else signal.Signals(number).name
    code = os.waitstatus_to_exitcode(status)
    errors = (folder / "errors.txt").read_text(errors="replace").strip().split("\n")
    return seconds, "" if code in ANSWERS else f"exit {code}: {errors[-1][:100]}"


def _command(command: str) -> int:
    """Run a command line here; its exit code."""
    from ctxtrim.__main__ import main as ctxtrim

    if not command.startswith(("count", "check")):
        command += " --quiet --on-overflow keep -o out.jsonl"
    sys.argv = ["ctxtrim", *command.split(), "in.jsonl"]
    try:
        with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing):
            ctxtrim()
    except SystemExit as end:
        return int(end.code or 0)
    except MemoryError:
        print("MemoryError", file=sys.stderr)
        return 1
    return 0


def _conversation(text: str, place: str) -> bytes:
    """One conversation of OpenAI's chat format on a line, with the text in a place of it."""
    texts = [text[start : start + SPREAD] for start in range(0, len(text), SPREAD)] if place == "results" else [text]
    messages = [{"role": "system", "content": "You help."}, {"role": "user", "content": "Look into it, please."}]
    for number, result in enumerate(texts if place in ("result", "results", "quoted") else ["ok"]):
        messages += _step(number, {"command": f"show {number}"}, result)
    messages += _step(len(texts), {"command": text if place == "arguments" else "make"}, "made\n" * 200)
    messages += [
        {"role": "assistant", "content": text if place == "assistant" else "It is done."},
        {"role": "user", "content": text if place in ("user", "quoted") else "Now the rest."},
    ]
    for number in range(3):
        messages += _step(len(texts) + 1 + number, {"command": f"test {number}"}, f"passed {number}\n" * 50)
    messages += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Thanks. What else?"}]
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
    ordered = sorted(outcomes, key=lambda one: (bool(one.trouble), one.exponent), reverse=True)
    bad = sum(outcome.is_bad for outcome in outcomes)
    widths = "".join(f"{f'{size >> 10} kB':>12}" for size in sizes)
    print(f"{'text':22}{'place':11}{'stage':32}{widths}{'exponent':>10}")
    for outcome in ordered[: max(most, bad)]:
        print(_row(outcome, sizes))
    print(f"\n{len(outcomes)} cases, {bad} of them above {LINEAR}, failed or out of time")


def _row(outcome: Outcome, sizes: list[int]) -> str:
    case = outcome.case
    times = "".join(f"{f'{time:.2f} s' if time is not None else '':>12}" for time in map(outcome.seconds.get, sizes))
    exponent = f"{outcome.exponent:10.2f}" if outcome.exponent else f"{'-':>10}"
    return f"{case.text:22}{case.place:11}{case.stage:32}{times}{exponent}  {outcome.trouble}".rstrip()


if __name__ == "__main__":
    main()
