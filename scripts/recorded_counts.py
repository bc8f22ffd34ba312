"""Compares counts with the input tokens that provider APIs recorded, and prints tables by vendor,
model and feature.

    FILE=../shared/recorded-counts/recorded.jsonl
    python scripts/recorded_counts.py $FILE [--by model] [--misses 20]
    python scripts/recorded_counts.py $FILE --by-source
    python scripts/recorded_counts.py $FILE --markdown > docs/recorded-counts.md

Each line of the file is a pair: a request body, and the input tokens that the API counted for it.
A request is counted like `ctxtrim count --model MODEL` counts a file with this request alone.
"""

import argparse
import json
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import held_out

from ctxtrim import Transcript
from ctxtrim.formats.reading import open_reading
from ctxtrim.metering import Metering
from ctxtrim.tokens.facts import Fact
from ctxtrim.tokens.models import assumed_model, known_models
from ctxtrim.tokens.tokenizer import Exactness
from ctxtrim.tokens.vendors import anthropic, google, open_models, openai

LABELS: tuple[Exactness, ...] = ("exact", "bounded", "reconstructed", "estimated")


@dataclass(frozen=True)
class Pair:
    """A recorded request: its source, its tokens as counted by the API, and its tokens as counted
    here.

    `counted` and `exactness` are None if the request is not recognized.
    """

    id: str
    source: str
    host: str
    api: str
    model: str
    features: tuple[str, ...]
    recorded: int
    counted: int | None
    exactness: Exactness | None

    @property
    def difference(self) -> int:
        """Tokens counted above the recorded ones; negative if the count is too low or missing."""
        return (self.counted or 0) - self.recorded

    @property
    def vendor(self) -> str:
        """The vendor of the model."""
        return assumed_model(self.model).provider or "unknown"


def requests(path: Path) -> Iterator[tuple[dict[str, Any], Transcript | None]]:
    """Every line of a file and the transcript of its request; None if the request is not
    recognized.
    """
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            data = json.dumps(row["request"]).encode() + b"\n"
            transcripts = [
                transcript
                for chunk in open_reading(BytesIO(data)).chunks
                for transcript in chunk.transcripts
            ]
            yield row, transcripts[-1] if transcripts else None


def pairs(path: Path, metering: Callable[[str], Metering]) -> Iterator[Pair]:
    """Every pair of a file. `metering` makes the metering for a model."""
    for row, transcript in requests(path):
        count = None
        if transcript is not None:
            count = metering(row["model"]).meter(transcript).counter.count(transcript)
        yield Pair(
            row["id"],
            row["source"].split("@")[0],
            row["host"],
            row["form"],
            row["model"],
            tuple(row["features"]),
            row["recorded"],
            count and count.tokens,
            count and count.exactness,
        )


def main() -> None:
    """Count every pair and print the tables."""
    from ctxtrim import tokenizer

    options = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    options.add_argument("file", type=Path, help="the pairs, one JSON object a line")
    options.add_argument(
        "--by", choices=sorted(GROUPS), action="append", help="which tables; all by default"
    )
    options.add_argument("--markdown", action="store_true", help="print docs/recorded-counts.md")
    options.add_argument(
        "--by-source", action="store_true", help="check constants on sources not chosen from"
    )
    options.add_argument(
        "--misses", type=int, default=0, help="also list this many counts that are too low"
    )
    given = options.parse_args()
    meterings: dict[str, Metering] = {}

    def metering(model: str) -> Metering:
        return meterings.setdefault(model, Metering(tokenizer, model))

    def checked() -> Iterator[held_out.Check]:
        return held_out.checks(held_out.uses(requests(given.file), metering))

    if given.by_source:
        rows = list(held_out.rows(list(checked())))
        width = max(len(row[0]) for row in rows)
        sys.stdout.write("\n".join(_plain(row, width) for row in rows) + "\n")
        return
    parsed_pairs = list(pairs(given.file, metering))
    if given.markdown:
        sys.stdout.write("\n".join(document(parsed_pairs, list(checked()))) + "\n")
        return
    for name in given.by or GROUPS:
        sys.stdout.write("\n".join(table(name, parsed_pairs, GROUPS[name])) + "\n\n")
    low = sorted(
        (pair for pair in parsed_pairs if pair.counted and pair.difference < 0),
        key=lambda pair: pair.difference,
    )
    for pair in low[: given.misses]:
        features = " ".join(pair.features)
        sys.stdout.write(
            f"{pair.id} {pair.difference} {pair.exactness} {pair.host} {pair.model} {features}\n"
        )


def _features(pair: Pair) -> Iterable[str]:
    marks = set(pair.features) - {"system", "multi_turn", "name"}
    return (f"{pair.api}: {mark}" for mark in marks or {"plain"})


GROUPS: dict[str, Callable[[Pair], Iterable[str]]] = {
    "label": lambda pair: ("all", str(pair.exactness)),
    "vendor": lambda pair: (f"{pair.vendor}, {pair.api}",),
    "feature": _features,
    "model": lambda pair: (f"{pair.vendor}: {assumed_model(pair.model).name or pair.model}",),
    "host": lambda pair: (f"{pair.host}, {pair.api}",),
}


INTRODUCTION = """# How counts compare with what APIs recorded

Provider APIs report the input tokens of each request. {pairs:,} recorded requests are counted by ctxtrim and compared
with the report. Reproduce the tables with

    python scripts/recorded_counts.py ../shared/recorded-counts/recorded.jsonl

`tests/tokens/test_recorded_counts.py` counts all of them and checks the promises: no count labelled `exact` or `bounded` is
below the recorded one, except for the requests that the test lists by id with a reason. The recorded requests are not part
of the repository; without them, the test is skipped.

- `pairs`: requests; `refused`: not recognized as a request; `hits`: counts equal to the recorded one.
- `exact low`, `bound low`, `recon low`, `estim low`: counts below the recorded one, by their label.
- `lowest`: the largest undercount, in tokens.
- `median %`, `p95 %`: how far counts are above the recorded ones.

This file is for Python {version}. Claude is counted by ctok on Python 3.12 and newer, and bounded on 3.11.

Some estimates are too low, because no known rule explains the recorded counts:

- Qwen on Venice, which adds a system prompt of 870 to 1,560 tokens (unless the request turns it off) or search results
  (11 pairs)
- two prompts of DeepSeek V4 that cost 70 tokens more than others of the same form
- mathematics on Gemini, where digits are separate tokens (5 pairs, up to 60 tokens)
- one request to Gemini 3 Pro, recorded with 157 and with 299 tokens
- a file listing on Qwen 3 1.7B (19 tokens)
- an unknown model

Some examples in OpenAI's reference of Responses, recorded before its release (March 2025), have more input tokens than
any recorded request of the same form: 36 for a prompt that costs 18.

Mistral Small 3.2 counts as on Venice. `reasoning.mode: "pro"` of OpenAI has no known rule: 1,550 tokens are added, and
110 for each answer in the history. xAI sometimes counts reasoning again that the request does not contain; its
allowance is the largest recorded one.

A constant that no documentation and too few requests support makes its count an estimate: tools that the provider runs
or describes (web search, computer use, memory, …), OpenAI tools without a declaration, Anthropic's `task_budget` and
citations, and structured output of gpt-oss.
"""  # noqa: E501

FACTS = """## What each vendor adds to a prompt

The constants in `ctxtrim/tokens/vendors/`, in tokens, with their source and the number of recorded requests that they
were checked against. A framing has the value of the framing above it for a field that it does not list.
"""  # noqa: E501


def document(pairs: Sequence[Pair], checks: Sequence[held_out.Check]) -> Iterator[str]:
    """The lines of `docs/recorded-counts.md`."""
    version = ".".join(map(str, sys.version_info[:2]))
    yield INTRODUCTION.format(pairs=len(pairs), version=version)
    yield held_out.summary(checks) + "\n"
    for name in ("label", "vendor", "feature", "model"):
        yield f"## By {name}\n"
        head, *rows = table(name, pairs, GROUPS[name], _markdown)
        yield from (head, re.sub(r"[^|]+", " --- ", head), *rows, "")
    yield FACTS
    yield from tool_prompts()
    for module in (openai, anthropic, google, open_models):
        yield f"### {(module.__doc__ or '').split(':')[0]}\n"
        yield "| framing | field | value | pairs | source |\n| --- | --- | --- | --- | --- |"
        seen: dict[str, Fact] = {}
        for family, facts in module.TABLES.items():
            for field, fact in facts.items():
                if seen.get(field) != fact:
                    value = getattr(fact.value, "__name__", None) or repr(fact.value)
                    yield f"| {family} | {field} | `{value}` | {fact.pairs} | {fact.source} |"
                    seen[field] = fact
        yield ""


def tool_prompts() -> Iterator[str]:
    """The lines of a table: the cost of Anthropic's instructions for tools, by model."""
    by_prompt: dict[tuple[int, int], list[str]] = defaultdict(list)
    for model in known_models():
        if model.tool_prompt is not None:
            by_prompt[model.tool_prompt].append(model.name)
    yield (
        "Anthropic's prompt for tools by model (`TOOL_PROMPTS` in `scripts/registry.py`, from "
        "platform.claude.com):\n"
    )
    yield "| models | may call a tool | must call a tool |\n| --- | --- | --- |"
    for (may, must), names in by_prompt.items():
        yield f"| {', '.join(names)} | {may} | {must} |"
    yield ""


def _plain(cells: Sequence[str], width: int) -> str:
    return cells[0].ljust(width) + "".join(f"{cell:>10}" for cell in cells[1:])


def _markdown(cells: Sequence[str], width: int) -> str:
    return "| " + " | ".join(cells) + " |"


def table(
    name: str,
    pairs: Sequence[Pair],
    groups: Callable[[Pair], Iterable[str]],
    write: Callable[[Sequence[str], int], str] = _plain,
) -> Iterator[str]:
    """The lines of a table: pairs, exact hits, counts too low by label, and how far counts are
    above in percent.
    """
    rows: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        for group in groups(pair):
            rows[group].append(pair)
    head = (
        "pairs",
        "refused",
        "hits",
        *(f"{label[:5]} low" for label in LABELS),
        "lowest",
        "median %",
        "p95 %",
    )
    width = max(map(len, (name, *rows)))
    yield write((name, *head), width)
    for group, members in sorted(rows.items(), key=lambda item: (-len(item[1]), item[0])):
        yield write((group, *_cells(members)), width)


def _cells(members: Sequence[Pair]) -> Iterator[str]:
    known = [pair for pair in members if pair.counted is not None]
    over = sorted(100 * pair.difference / pair.recorded for pair in known)
    yield from (
        str(len(members)),
        str(len(members) - len(known)),
        str(sum(not pair.difference for pair in known)),
    )
    for label in LABELS:
        yield str(sum(pair.difference < 0 for pair in known if pair.exactness == label))
    yield str(min((0, *(pair.difference for pair in known))))
    yield f"{statistics.median(over):.1f}" if over else "-"
    yield f"{over[min(len(over) - 1, int(0.95 * len(over)))]:.1f}" if over else "-"


if __name__ == "__main__":
    main()
