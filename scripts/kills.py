"""Kill ctxtrim at random moments, and edit a file that another process appends to: nothing may
break or be lost.

    python scripts/kills.py [--kills 500] [--live 200] [--steps 4000] [--seed 1]

A program that replaces a file without a second look loses appended lines, and longer runs lose
more. `--steps` is the size of the session to which lines are appended, and so the length of a run.
Version 0.1.0 lost 11 of 28 appended steps in 12 runs over 4,000 steps.

Prints figures and exits with 1 if a target is neither the old nor the new file, a temporary file
remains after the next run, an archive is damaged, or appended lines are lost.
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
COMMAND = (sys.executable, "-m", "ctxtrim")
QUICK = ("--tokenizer", "chars4", "--quiet")
TIMES = re.compile(rb'"(created|updated)": "[^"]*"')
OLD = b'{"messages": [{"role": "user", "content": "what was there before"}]}\n'
MODES = {
    "-o": ("truncate", "--max-age", "0", "t.jsonl", "-o", "out.jsonl"),
    "--in-place": ("truncate", "--max-age", "0", "t.jsonl", "--in-place"),
    "--archive": ("truncate", "--max-age", "0", "t.jsonl", "--in-place", "--archive", "kept"),
    "--summary-store": (
        "summarize",
        "--keep-recent-turns",
        "1",
        "t.jsonl",
        "-o",
        "out.jsonl",
        "--summary-store",
        "s",
    ),
}
TARGETS = ("t.jsonl", "out.jsonl", "s")


def transcript(number: int) -> bytes:
    """A single-line conversation whose first tool result is old and long."""
    messages: list[dict[str, object]] = [{"role": "user", "content": f"line {number}"}]
    for step in range(3):
        call = {
            "id": f"{number}-{step}",
            "type": "function",
            "function": {"name": "look", "arguments": "{}"},
        }
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append(
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": f"entry {step} of {number}. " * 60,
            }
        )
    messages += [
        {"role": "user", "content": "And now?"},
        {"role": "assistant", "content": "It is done."},
    ]
    return json.dumps({"id": f"talk {number}", "messages": messages}).encode() + b"\n"


def step(number: int) -> bytes:
    """A tool call and its long result, on two lines of a single-conversation file."""
    call = {
        "id": f"call {number}",
        "type": "function",
        "function": {"name": "look", "arguments": "{}"},
    }
    result = {
        "role": "tool",
        "tool_call_id": call["id"],
        "content": f"entry {number} of the log. " * 30,
    }
    messages = ({"role": "assistant", "content": None, "tool_calls": [call]}, result)
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def start(folder: Path, words: tuple[str, ...]) -> subprocess.Popen[bytes]:
    """A run of ctxtrim in a folder, for a user without configuration."""
    nobody = folder.parent / "nobody"
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("CTXTRIM_")
    }
    environment |= {"XDG_CONFIG_HOME": f"{nobody}/config", "XDG_DATA_HOME": f"{nobody}/data"}
    return subprocess.Popen(
        [*COMMAND, *words, *QUICK], cwd=folder, env=environment, stderr=subprocess.DEVNULL
    )


def state(folder: Path) -> dict[str, bytes]:
    """The targets without the times in a summary store."""
    return {
        name: TIMES.sub(b"", (folder / name).read_bytes())
        for name in TARGETS
        if (folder / name).exists()
    }


def temporary_files(folder: Path) -> list[Path]:
    """The temporary files anywhere in a folder."""
    return list(folder.rglob("*.ctxtrim-tmp"))


def kills(folder: Path, mode: str, count: int, moments: random.Random) -> Counter[str]:
    """Kill `count` runs at random moments; returns the number of runs by outcome."""
    words = MODES[mode]
    before = {"t.jsonl": b"".join(map(transcript, range(60)))}
    before |= {"out.jsonl": OLD} if "out.jsonl" in words else {}
    folder.mkdir()

    def reset() -> None:
        (folder / "s").unlink(missing_ok=True)
        for name, data in before.items():
            (folder / name).write_bytes(data)

    reset()
    begin = time.monotonic()
    assert start(folder, words).wait() == 0
    took, after = time.monotonic() - begin, state(folder)
    counts: Counter[str] = Counter(kills=count)
    for number in range(count):
        reset()
        left = len(temporary_files(folder))
        process = start(folder, words)
        sent = SIGNALS[number % len(SIGNALS)]
        time.sleep(moments.uniform(0 if moments.random() < 0.3 else took * 0.5, took * 1.1))
        is_late = process.poll() is not None
        process.send_signal(sent)
        process.wait()
        now = state(folder)
        counts["after the end"] += is_late
        counts["replaced"] += now == after
        counts["partial targets"] += any(
            data not in (before.get(name), after[name]) for name, data in now.items()
        )
        counts["missing targets"] += not before.keys() <= now.keys()
        if sent != signal.SIGKILL:
            counts["temporary files after SIGINT or SIGTERM"] += len(temporary_files(folder)) > left
        else:
            counts["temporary files after SIGKILL"] += len(temporary_files(folder)) > left
        if mode == "--archive" and now == after:
            restored = subprocess.run(
                [*COMMAND, "restore", "t.jsonl", "--archive", "kept"],
                cwd=folder,
                capture_output=True,
            )
            counts["not restored"] += restored.stdout != before["t.jsonl"]
    reset()
    assert start(folder, words).wait() == 0
    counts["temporary files after the next run"] = len(temporary_files(folder))
    if mode == "--archive":
        verified = subprocess.run(
            [*COMMAND, "trace", "verify", "--archive", "kept"], cwd=folder, capture_output=True
        )
        counts["damaged archives"] = verified.returncode
    return counts


def live(folder: Path, count: int, steps: int, moments: random.Random) -> Counter[str]:
    """Replace a session of `steps` steps `count` times in place while a process opens it, appends a
    line and closes it.
    """
    folder.mkdir()
    path = folder / "t.jsonl"
    path.write_bytes(
        b'{"role": "user", "content": "Look."}\n'
        + b"".join(step(-number) for number in range(steps))
    )
    words = MODES["--in-place"]
    counts: Counter[str] = Counter({"in-place runs": count})
    assert start(folder, words).wait() == 0
    begin = time.monotonic()
    assert start(folder, words).wait() == 0
    took = time.monotonic() - begin
    here = [
        sys.executable,
        __file__,
        "--append",
        str(path),
        "--pause",
        str(took),
        "--seed",
        str(moments.random()),
    ]
    appender = subprocess.Popen(here, stdout=subprocess.PIPE)
    assert appender.stdout is not None
    appender.stdout.readline()
    try:
        for _ in range(count):
            inode = path.stat().st_ino
            counts[f"exit code {start(folder, words).wait()}"] += 1
            counts["replaced"] += path.stat().st_ino != inode
    finally:
        appender.terminate()
        number = int([b"0", *appender.stdout.read().split()][-1])
        appender.wait()
        appender.stdout.close()
    results = {json.loads(line).get("tool_call_id") for line in path.read_bytes().splitlines()}
    counts["appended steps"] = number
    counts["lost steps"] = len({f"call {item}" for item in range(1, number + 1)} - results)
    counts["temporary files"] = len(temporary_files(folder))
    return counts


def append(path: Path, pause: float, seed: float) -> None:
    """Open the file, append a line and close it, repeatedly; print the number of lines."""
    pauses, number = random.Random(seed), 0
    print(number, flush=True)
    while True:
        with path.open("ab") as file:
            file.write(step(number + 1))
        number += 1
        print(number, flush=True)
        time.sleep(pauses.uniform(0, pause))


def main() -> None:
    """Kill, append, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--live", type=int, default=200)
    parser.add_argument(
        "--steps", type=int, default=4000, help="of the session that lines are appended to"
    )
    parser.add_argument("--seed", type=float, default=1)
    parser.add_argument("--append", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--pause", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.append is not None:
        append(options.append, options.pause, options.seed)
    moments, bad = random.Random(options.seed), 0
    with tempfile.TemporaryDirectory() as name:
        for position, mode in enumerate(MODES if options.kills else ()):
            share = (options.kills + position) // len(MODES)
            counts = kills(Path(name, mode.strip("-")), mode, share, moments)
            bad += sum(
                counts[key]
                for key in (
                    "partial targets",
                    "missing targets",
                    "not restored",
                    "temporary files after the next run",
                    "damaged archives",
                )
            )
            print(
                f"{mode}: " + ", ".join(f"{count} {key}" for key, count in counts.items()),
                flush=True,
            )
        counts = (
            live(Path(name, "live"), options.live, options.steps, moments)
            if options.live
            else Counter()
        )
        bad += counts["lost steps"] + counts["temporary files"]
        print("live: " + ", ".join(f"{count} {key}" for key, count in counts.items()), flush=True)
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
