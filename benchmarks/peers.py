"""Compares `count` and `trim` with other programs, with a plain loop and with a bare floor, in a
single run.

    python benchmarks/peers.py [--folder FOLDER] [--size MB] [--runs 3]

The data are conversations in OpenAI's format, one per line: generated ones of the given size, or
those of a folder, copied until they have that size. No text occurs twice. Every contender runs in a
process of its own, contenders alternate, and each figure is the median of several runs. Times are
seconds of processor time without start-up: the contender works on a few lines first, so that its
imports and vocabularies are loaded. MB are bytes of the file; memory is the peak of the process.

- floor: `orjson.loads` of every line, and gigatoken over the same texts
- plain: the loop that people write: `json.loads` and tiktoken over the same texts
- ctxtrim: the commands `count` and `trim`, with and without gigatoken
- litellm: `token_counter` and `trim_messages`
- langchain: `trim_messages` with a counter that uses tiktoken, the newest messages first
- ttok: the program, on the texts joined by line breaks

Outputs of `trim` are counted by one plain rule (the texts, 3 tokens a message and 3 more).
An orphan is a result without its call, or a call without its result where the input had it.
Contenders that are not installed are left out: `pip install 'ctxtrim[bench]'`.
"""

import argparse
import hashlib
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ctxtrim.tokenizers.encodings import PATTERNS, VOCABULARIES, gigatoken_engine

ENCODING = "o200k_base"
MODEL = "gpt-4o"
ROLES = {"system", "developer", "user", "assistant", "tool"}
LARGEST = 40  # conversations of each copy that are trimmed
COUNTERS = ("floor", "plain", "ctxtrim", "ctxtrim-tiktoken", "litellm", "ttok")
TRIMMERS = ("ctxtrim", "langchain", "litellm")

Messages = list[dict[str, Any]]


def main() -> None:
    """Measure and print, or do the work of one contender."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, help="take conversations of this folder")
    parser.add_argument("--size", type=float, default=5, help="MB of data")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--budgets", default="2000,8000")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_child(*options.child)))
        return
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.jsonl"
        large = Path(folder) / "large.jsonl"
        _write(data, large, options.folder, options.size)
        print(f"{data.stat().st_size / 1e6:.1f} MB, {ENCODING}, {options.runs} runs\n")
        _compare("count", COUNTERS, data, 0, options.runs)
        for budget in map(int, options.budgets.split(",")):
            _compare(f"trim to {budget:,}", TRIMMERS, large, budget, options.runs)


# Data


def _write(data: Path, large: Path, folder: Path | None, size: float) -> None:
    """Write conversations of about `size` MB, and the largest ones of them."""
    originals = list(_generated() if folder is None else _found(folder))
    number = written = 0
    with data.open("w") as file, large.open("w") as largest:
        while written < size * 1e6:
            lines = []
            for messages in originals:
                number += len(messages)
                line = json.dumps({"messages": _unique(messages, number)}, ensure_ascii=False)
                lines.append(line + "\n")
                written += len(line.encode())
                if folder is None and written >= size * 1e6:
                    break
            file.writelines(lines)
            largest.writelines(sorted(lines, key=len)[-LARGEST:])


def _unique(messages: Messages, number: int) -> Messages:
    """The messages with a number in each text."""
    return [
        message | {"content": f"{message.get('content') or ''} #{number + position}"}
        for position, message in enumerate(messages)
    ]


def _generated(count: int = 200) -> Iterator[Messages]:
    """Conversations of an agent: prompts, calls, results of several kinds, answers."""
    draw = random.Random(1)
    words = [
        "".join(draw.choices("abcdefghijklmnoprstuvwy", k=draw.randint(2, 9))) for _ in range(9000)
    ]
    for _ in range(count):
        messages: Messages = [{"role": "system", "content": _prose(draw, words, 300)}]
        for step in range(draw.randint(4, 30)):
            if step % 4 == 0:
                messages.append({"role": "user", "content": _prose(draw, words, 30)})
            name = f"call_{step}"
            arguments = json.dumps({"path": f"src/{draw.choice(words)}.py", "line": step})
            call = {
                "id": name,
                "type": "function",
                "function": {"name": "read_file", "arguments": arguments},
            }
            messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
            result = _rows(draw, words) if step % 3 else _prose(draw, words, 120)
            messages.append({"role": "tool", "tool_call_id": name, "content": result})
            messages.append({"role": "assistant", "content": _prose(draw, words, 40)})
        yield messages


def _long(budget: int) -> Messages:
    """The start of a generated conversation, and an old answer of more tokens than a budget."""
    system, prompt, call, result, *rest = next(_generated())
    answer = {"role": "assistant", "content": "so it is. " * budget}
    return [system, prompt, answer, {"role": "user", "content": "go on"}, call, result, *rest]


def _prose(draw: random.Random, words: list[str], most: int) -> str:
    return " ".join(draw.choices(words, k=draw.randint(most // 2, most)))


def _rows(draw: random.Random, words: list[str]) -> str:
    rows = [{"id": draw.randint(1, 10**6), "name": draw.choice(words)} for _ in range(25)]
    return json.dumps(rows)


def _found(folder: Path) -> Iterator[Messages]:
    """The conversations of at least eight messages in the JSON files of a folder, each once."""
    seen = set()
    for path in sorted(folder.rglob("*.json*")):
        for value in _values(path.read_bytes()):
            for messages in _lists(value):
                key = json.dumps(messages)
                if key not in seen:
                    seen.add(key)
                    yield [_plain_message(message) for message in messages]


def _values(data: bytes) -> Iterator[Any]:
    for text in (data, *data.split(b"\n")):
        try:
            yield json.loads(text)
        except ValueError:
            continue
        if text is data:
            return


def _lists(value: Any) -> Iterator[Messages]:
    if isinstance(value, list) and len(value) >= 8 and all(map(_is_message, value)):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _lists(inner)


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("role") not in ROLES:
        return False
    calls = value.get("tool_calls") or ()
    return isinstance(value.get("content"), str | None) and all(
        "function" in call for call in calls
    )


def _plain_message(message: dict[str, Any]) -> dict[str, Any]:
    keys = ("role", "content", "tool_calls", "tool_call_id", "name")
    return {key: message[key] for key in keys if message.get(key)}


# Contenders


def _compare(title: str, names: tuple[str, ...], data: Path, budget: int, runs: int) -> None:
    """Print a table of contenders. Ratios are those to the first of them."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(runs):
        for name, results in found.items():
            result = _run(name, data, budget)
            if result is not None:
                results.append(result)
    size = data.stat().st_size / 1e6
    print(
        f"{title:18}{'MB/s':>8}{'ratio':>8}{'MB':>8}"
        + (f"{'over':>7}{'orphans':>9}" if budget else "")
    )
    first = None
    for name, results in found.items():
        if not results:
            print(f"{name:18}{'not installed':>16}")
            continue
        seconds = statistics.median(result["seconds"] for result in results)
        first = first or seconds
        memory = statistics.median(result["memory"] for result in results)
        row = f"{name:18}{size / seconds:8.1f}{first / seconds:8.2f}{memory:8.0f}"
        if budget:
            row += f"{results[0]['over']:7.0f}{results[0]['orphans']:9.0f}"
        print(row)
    print()


def _run(name: str, data: Path, budget: int) -> dict[str, float] | None:
    """The figures of one contender in its own process, None if it is not installed."""
    command = [sys.executable, __file__, "--child", name, str(data), str(budget)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        if "ModuleNotFoundError" in done.stderr or "FileNotFoundError" in done.stderr:
            return None
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def _child(name: str, path: str, budget: str) -> dict[str, float]:
    """Do the work of a contender, and return its figures."""
    data, limit = Path(path), int(budget)
    prepare = TRIM[name] if limit else COUNT[name]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out.jsonl"
        small = Path(folder) / "small.jsonl"
        # more than 200 kB, so that ctxtrim loads the vocabulary that it uses for large inputs, and
        # a conversation that is over budget, so that all load what they need to trim
        lines = ['{"messages": [{"role": "user", "content": "hi"}]}\n'] * 5000
        lines.append(json.dumps({"messages": _long(limit)}) + "\n")
        small.write_text("".join(lines))
        work = prepare(limit, output)
        work(small)
        start = _seconds()
        work(data)
        seconds = _seconds() - start
        unit = 1 if sys.platform == "darwin" else 1024
        usages = [
            resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        ]
        memory = max(usage.ru_maxrss for usage in usages) * unit / 1e6
        over, orphans = _faults(data, output, limit) if limit else (0, 0)
    return {"seconds": seconds, "memory": memory, "over": over, "orphans": orphans}


def _seconds() -> float:
    """The processor time of this process and its finished children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


Work = Callable[[Path], object]


def _floor(budget: int, output: Path) -> Work:
    import orjson

    count = gigatoken_engine(ENCODING, VOCABULARIES / f"{ENCODING}.tiktoken")
    return lambda path: sum(map(count, _texts(path, orjson.loads)))


def _loop(budget: int, output: Path) -> Work:
    count = _tiktoken()
    return lambda path: sum(map(count, _texts(path, json.loads)))


def _tiktoken() -> Callable[[str], int]:
    """Counts as people do, with a list of tokens. Nothing is downloaded."""
    from tiktoken import Encoding
    from tiktoken.load import load_tiktoken_bpe

    ranks = load_tiktoken_bpe(str(VOCABULARIES / f"{ENCODING}.tiktoken"))
    encoding = Encoding(
        ENCODING, pat_str=PATTERNS[ENCODING], mergeable_ranks=ranks, special_tokens={}
    )
    return lambda text: len(encoding.encode_ordinary(text))


def _ctxtrim(*arguments: str) -> None:
    from ctxtrim.cli.app import app

    app([*arguments, "--model", MODEL, "--jobs", "1"], prog_name="ctxtrim", standalone_mode=False)


def _ctxtrim_count(budget: int, output: Path) -> Work:
    return lambda path: _ctxtrim("count", str(path), "--report", str(output))


def _ctxtrim_tiktoken(budget: int, output: Path) -> Work:
    sys.modules["gigatoken"] = None  # type: ignore[assignment]  # as if it were not installed
    return _ctxtrim_count(budget, output)


def _ctxtrim_trim(budget: int, output: Path) -> Work:
    return lambda path: _ctxtrim("trim", str(path), "-o", str(output), "--budget", str(budget))


def _litellm_count(budget: int, output: Path) -> Work:
    from litellm.utils import token_counter

    return lambda path: [token_counter(model=MODEL, messages=each) for each in _conversations(path)]


def _litellm_trim(budget: int, output: Path) -> Work:
    from litellm.utils import trim_messages

    def work(path: Path) -> None:
        with output.open("w") as file:
            for messages in _conversations(path):
                kept = trim_messages(messages, model=MODEL, max_tokens=budget)
                file.write(json.dumps({"messages": kept}) + "\n")

    return work


def _langchain_trim(budget: int, output: Path) -> Work:
    from langchain_core.messages import convert_to_messages, convert_to_openai_messages
    from langchain_core.messages.utils import trim_messages

    count = _tiktoken()

    def tokens(messages: list[Any]) -> int:
        calls = (call for message in messages for call in getattr(message, "tool_calls", ()))
        texts = sum(count(str(message.content)) + 3 for message in messages)
        return texts + sum(count(call["name"] + json.dumps(call["args"])) for call in calls)

    def work(path: Path) -> None:
        with output.open("w") as file:
            for messages in _conversations(path):
                kept = trim_messages(
                    convert_to_messages([{"content": "", **message} for message in messages]),
                    max_tokens=budget - 3,
                    token_counter=tokens,
                    strategy="last",
                    include_system=True,
                )
                file.write(json.dumps({"messages": convert_to_openai_messages(kept)}) + "\n")

    return work


def _ttok(budget: int, output: Path) -> Work:
    program = Path(sys.executable).with_name("ttok")
    cache = output.with_name("cache")  # where tiktoken looks before it downloads a vocabulary
    cache.mkdir()
    address = f"https://openaipublic.blob.core.windows.net/encodings/{ENCODING}.tiktoken"
    name = hashlib.sha1(address.encode()).hexdigest()
    (cache / name).write_bytes((VOCABULARIES / f"{ENCODING}.tiktoken").read_bytes())
    environment = os.environ | {"TIKTOKEN_CACHE_DIR": str(cache)}

    def work(path: Path) -> None:
        texts = "\n".join(_texts(path, json.loads))
        subprocess.run(
            [program, "-m", MODEL],
            input=texts,
            text=True,
            check=True,
            capture_output=True,
            env=environment,
        )

    return work


COUNT = {
    "floor": _floor,
    "plain": _loop,
    "ctxtrim": _ctxtrim_count,
    "ctxtrim-tiktoken": _ctxtrim_tiktoken,
    "litellm": _litellm_count,
    "ttok": _ttok,
}
TRIM = {"ctxtrim": _ctxtrim_trim, "langchain": _langchain_trim, "litellm": _litellm_trim}


def _conversations(path: Path) -> Iterator[Messages]:
    with path.open("rb") as file:
        for line in file:
            yield json.loads(line)["messages"]


def _texts(path: Path, loads: Callable[[bytes], Any]) -> Iterator[str]:
    """The texts of a file, and the names and arguments of its calls."""
    with path.open("rb") as file:
        for line in file:
            for message in loads(line)["messages"]:
                if message.get("content"):
                    yield message["content"]
                for call in message.get("tool_calls") or ():
                    yield call["function"]["name"]
                    yield call["function"]["arguments"]


def _faults(data: Path, output: Path, budget: int) -> tuple[int, int]:
    """The outputs over budget, and the orphans that the input did not have."""
    count = _tiktoken()
    known = sum(map(_orphans, _conversations(data)))
    over = orphans = 0
    for messages in _conversations(output):
        texts = [message.get("content") or "" for message in messages]
        calls = [call for message in messages for call in message.get("tool_calls") or ()]
        texts += [call["function"]["name"] + call["function"]["arguments"] for call in calls]
        over += sum(map(count, texts)) + 3 * len(messages) + 3 > budget
        orphans += _orphans(messages)
    return over, max(0, orphans - known)


def _orphans(messages: Messages) -> int:
    """The calls without a result and the results without a call."""
    calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    results = [message["tool_call_id"] for message in messages if message.get("tool_call_id")]
    return len(set(calls) ^ set(results))


if __name__ == "__main__":
    main()
