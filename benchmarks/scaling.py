"""Measures how processor time and memory grow with the number of messages, the number of files, and
the size of one result.

    python benchmarks/scaling.py [--sizes 1,10,100] [--runs 1] [--commands trim,truncate]
                                 [--grow messages,files,log]

Each row is a command at three sizes:

- messages: one session of 1,000, 10,000 and 100,000 messages, in OpenAI's format (on one line) and
  in Claude Code's (a line each)
- one session of Claude Code of 1, 10 and 100 MB, as its users have them: long results, each on its
  line twice, and lines of progress
- prompts: the same number of messages of the user in a row, which an API takes as one
- files: folders of 100, 1,000 and 10,000 files of 12 messages
- one result of 240 kB, 2.4 MB and 24 MB: a log, a diff, nested JSON, brackets, one long line

Every run has a process of its own. Seconds are processor time without start-up: the process works
on a few transcripts first, so that its imports and vocabularies are loaded. The exponent is that of
the last two sizes; 1 is linear. MB is the peak memory of the process at the largest size. With
several runs, the fastest counts.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from math import log
from pathlib import Path
from typing import Any

MODEL = "gpt-4o"
COMMANDS: dict[str, list[str]] = {
    "count": [],
    "trim": ["--budget", "8000"],
    "truncate": ["--max-tokens", "1000"],
    "summarize": ["--budget", "8000"],
    "convert": ["--to", "gemini"],
}
MESSAGES = 1000
FILES = 100
PER_FILE = 12  # messages
RESULT = 240_000  # characters; another engine counts less than 200 kB

Messages = list[dict[str, Any]]


def main() -> None:
    """Measure and print, or run one command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="1,10,100", help="factors of the smallest size")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--grow", default=",".join(SHAPES), help="what grows")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_child(*options.child)))
        return
    factors = [float(factor) for factor in options.sizes.split(",")]
    titles = "".join(f"{f'{factor:g} x':>10}" for factor in factors)
    print(f"{'grows':14}{'command':12}{titles}{'exponent':>10}{'MB':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.grow.split(","):
            paths = []
            for factor in factors:
                paths.append(Path(folder) / f"{name}-{factor:g}")
                SHAPES[name](paths[-1], factor)
            for command in options.commands.split(","):
                print(_row(name, command, factors, paths, options.runs), flush=True)


def _row(name: str, command: str, factors: list[float], paths: list[Path], runs: int) -> str:
    """The row of one command at all sizes."""
    seconds, memory = [], 0.0
    for path in paths:
        results = [_run(command, path) for _ in range(runs)]
        seconds.append(min(result["seconds"] for result in results))
        memory = max(result["memory"] for result in results)
    times = "".join(f"{each:8.2f} s" for each in seconds)
    exponent = "-"
    if len(seconds) > 1:
        growth = log(max(seconds[-1], 0.001) / max(seconds[-2], 0.001))
        exponent = f"{growth / log(factors[-1] / factors[-2]):.2f}"
    return f"{name:14}{command:12}{times}{exponent:>10}{memory:8.0f}"


# Data


def _chat(path: Path, factor: float) -> None:
    messages = list(_session(int(MESSAGES * factor)))
    path.write_text(json.dumps({"messages": messages}) + "\n")


def _claude_code(path: Path, factor: float) -> None:
    with path.open("w") as file:
        for number, message in enumerate(_session(int(MESSAGES * factor))):
            file.write(json.dumps(_entry(number, message)) + "\n")


def _prompts(path: Path, factor: float) -> None:
    draw = random.Random(1)
    prompts = [{"role": "user", "content": _prose(draw, 8)} for _ in range(int(MESSAGES * factor))]
    path.write_text(json.dumps({"messages": prompts}) + "\n")


def _entry(number: int, message: dict[str, Any]) -> dict[str, Any]:
    """A line of a Claude Code session."""
    role, content = message["role"], [{"type": "text", "text": message["content"]}]
    if role == "tool":
        role, use = "user", message["tool_call_id"]
        content = [{"type": "tool_result", "tool_use_id": use, "content": message["content"]}]
    for call in message.get("tool_calls", ()):
        name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
        content.append({"type": "tool_use", "id": call["id"], "name": name, "input": arguments})
    role = "assistant" if role == "assistant" else "user"
    return {
        "parentUuid": f"m{number - 1}" if number else None,
        "sessionId": "s",
        "type": role,
        "message": {"role": role, "content": content},
        "uuid": f"m{number}",
        "timestamp": "2026-01-01T00:00:00.000Z",
    }


def _long_session(path: Path, factor: float) -> None:
    draw = random.Random(1)
    number = 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < factor * 1e6:
            for entry in _step(draw, number):
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            number += 4


def _step(draw: random.Random, number: int) -> Iterator[dict[str, Any]]:
    """The lines of a prompt, a call, its progress and its result."""
    name, path = f"call_{number}", {"file_path": f"src/{draw.choice(WORDS)}.py"}
    text = "\n".join(f"{row:>6}→  {_prose(draw, 6)}" for row in range(draw.randint(5, 120)))
    call = {"id": name, "function": {"name": "Read", "arguments": json.dumps(path)}}
    answer = {"role": "assistant", "content": _prose(draw, 20), "tool_calls": [call]}
    progress = {"type": "progress", "data": {"output": _prose(draw, 100)}, "parentToolUseID": name}
    result = {"role": "tool", "tool_call_id": name, "content": text}
    yield _entry(number, {"role": "user", "content": _prose(draw, 20)})
    yield _entry(number + 1, answer)
    yield _entry(number + 2, {"role": "user", "content": ""}) | progress
    yield _entry(number + 3, result) | {"toolUseResult": {"file": {"content": text}}}


def _files(path: Path, factor: float) -> None:
    path.mkdir()
    for number in range(int(FILES * factor)):
        messages = list(_session(PER_FILE, number))
        (path / f"{number}.json").write_text(json.dumps({"messages": messages}))


def _one_result(text: Callable[[int], str]) -> Callable[[Path, float], None]:
    """What writes a conversation whose only result is a text of a size."""

    def write(path: Path, factor: float) -> None:
        messages = list(_session(3))
        messages[-1]["content"] = text(int(RESULT * factor))
        messages.append({"role": "assistant", "content": "Done."})
        path.write_text(json.dumps({"messages": messages}) + "\n")

    return write


def _session(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """The messages of an agent: a prompt every twenty messages, calls and their results."""
    draw = random.Random(seed)
    step = number = 0
    while number < count:
        if number % 20 == 0:
            yield {"role": "user", "content": _prose(draw, 20)}
        elif number % 2:
            step += 1
            arguments = {"path": f"src/{draw.choice(WORDS)}/{draw.choice(WORDS)}.py", "line": step}
            function = {"name": draw.choice(TOOLS), "arguments": json.dumps(arguments)}
            call = {"id": f"call_{step}", "type": "function", "function": function}
            yield {"role": "assistant", "content": _prose(draw, 8), "tool_calls": [call]}
        else:
            text = _prose(draw, draw.randint(5, 80))
            yield {"role": "tool", "tool_call_id": f"call_{step}", "content": text}
        number += 1


def _prose(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(WORDS, k=words))


def _log(size: int) -> str:
    draw = random.Random(1)
    line = "2026-01-01 10:{:02}:00 {} {} took {} ms"
    levels = ["INFO"] * 49 + ["ERROR"]
    return "\n".join(
        line.format(at % 60, levels[at % 50], _prose(draw, 3), at) for at in range(size // 55)
    )


def _diff(size: int) -> str:
    draw, lines = random.Random(1), []
    for _ in range(size // 1300):
        name = f"{draw.choice(WORDS)}.py"
        lines += [f"diff --git a/{name} b/{name}", f"--- a/{name}", f"+++ b/{name}"]
        lines.append("@@ -1,30 +1,30 @@")
        lines += [f"{draw.choice('+- ')}{_prose(draw, 6)}" for _ in range(30)]
    return "\n".join(lines)


def _json(size: int) -> str:
    draw = random.Random(1)
    rows = [
        {"id": at, "tags": [draw.choice(WORDS)], "inner": {"a": [1, {"text": _prose(draw, 8)}]}}
        for at in range(size // 130)
    ]
    return json.dumps({"rows": rows})


def _brackets(size: int) -> str:
    return "[" + ",".join(["[" * 200 + "]" * 200] * (size // 400)) + "]"


def _long_line(size: int) -> str:
    return _prose(random.Random(1), size // 7)


def _words() -> list[str]:
    draw = random.Random(0)
    return [
        "".join(draw.choices("abcdefghijklmnoprstuvwy", k=draw.randint(2, 9))) for _ in "x" * 9000
    ]


TOOLS = ("read_file", "bash", "grep")
WORDS = _words()
SHAPES: dict[str, Callable[[Path, float], None]] = {
    "messages": _chat,
    "claude-code": _claude_code,
    "session": _long_session,
    "prompts": _prompts,
    "files": _files,
    "log": _one_result(_log),
    "diff": _one_result(_diff),
    "json": _one_result(_json),
    "brackets": _one_result(_brackets),
    "line": _one_result(_long_line),
}


# Runs


def _run(command: str, path: Path) -> dict[str, float]:
    """The figures of one command in its own process."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [sys.executable, __file__, "--child", command, str(path), folder]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command} {path.name} failed:\n{done.stderr}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def _child(command: str, path: str, folder: str) -> dict[str, float]:
    """Run a command, and return its figures."""
    from ctxtrim.cli.app import app

    small, output = Path(folder) / "small", Path(folder) / "out"
    _files(small, 1)  # more than 200 kB, so that the vocabulary for large inputs is loaded

    def work(source: str) -> None:
        target = [] if command == "count" else ["-o", f"{output}-{Path(source).name}"]
        arguments = [command, source, *COMMANDS[command], *target, "--model", MODEL]
        with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing):
            app(arguments, prog_name="ctxtrim", standalone_mode=False)

    work(str(small))
    start = time.process_time()
    work(path)
    seconds = time.process_time() - start
    unit = 1 if sys.platform == "darwin" else 1024
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    return {"seconds": seconds, "memory": memory}


if __name__ == "__main__":
    main()
