"""Measures the share of references of later answers that a trim keeps, compared with other ways to
make a prompt fit.

    python benchmarks/kept.py FOLDER [--budgets 2000 8000 32000] [--half choose|decide]
        [--save FILE] [--against FILE]

At ten evenly spaced requests of each session, the messages before the request are trimmed to a
budget. A reference is an atom of these messages (module `references`) that one of the
next twenty answers repeats. It is kept if the remaining messages contain the same atom. A request
counts only if its prompt exceeds the budget while its system messages and its current task do not.
Shares are of all references together. Differences are between shares, with their 95 % interval by a
bootstrap over sessions.

- priority, oldest: `trim` with that strategy
- LangChain: `trim_messages`, strategy `last`, with the system message, without and with
  `start_on="human"`; if it is installed
- last ten results: a placeholder replaces all other results, then the oldest exchanges are dropped
- oracle: knows the future, and keeps the whole exchanges with the most references per token

Sessions are transcripts with at least ten answers and 2,000 tokens, at most `--most` of a file.
`--half` selects every other session: one half to choose a drop order, the other to verify it.
`--save` writes the results of each session, and `--against` compares with such a file, also from
another version.
"""

import argparse
import json
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from msgspec.structs import replace
from references import References, atoms_of, references

from ctxtrim import STAGES, Message, Part, Transcript
from ctxtrim.conversation.tasks import current_task
from ctxtrim.conversation.turns import shape
from ctxtrim.formats.reading import open_reading
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.models import FRAMINGS
from ctxtrim.tokens.tokenizer import Budget

try:
    from langchain_core.messages import (
        AIMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
        trim_messages,
    )
except ImportError:
    trim_messages = None

REQUESTS, ANSWERS = 10, 20
LEAST_ANSWERS, LEAST_TOKENS = 10, 2000
RESAMPLES = 2000
ENCODING = "o200k_base"


@dataclass(frozen=True)
class Session:
    """A session: its transcript without hidden messages, the positions of its answers, and its
    references.
    """

    name: str
    transcript: Transcript
    answers: list[int]
    references: References


@dataclass(frozen=True)
class Prompt:
    """The messages before a request, their cost, and the atoms of the next answers."""

    transcript: Transcript
    counter: Counter
    costs: list[int]
    fixed: int
    budget: int
    wanted: frozenset[str]
    references: References

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages before the request."""
        return self.transcript.messages


Contender = Callable[[Prompt], Sequence[Message]]


@dataclass(frozen=True)
class Point:
    """The result of a contender at a request: kept and total references, and the used share of the
    budget.
    """

    session: str
    budget: int
    kept: int
    all: int
    used: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--budgets", type=int, nargs="+", default=[2000, 8000, 32000])
    parser.add_argument("--most", type=int, default=6, help="sessions of one file")
    parser.add_argument("--half", choices=("choose", "decide"))
    parser.add_argument("--only", nargs="+", help="these contenders only")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    options = parser.parse_args()
    selected = list(sessions(options.folder, options.most))
    if options.half:
        selected = selected[options.half == "decide" :: 2]
    names = options.only or [
        name for name in CONTENDERS if trim_messages or not name.startswith("LangChain")
    ]
    points = {name: [] for name in names}
    for session in selected:
        for prompt in prompts(session, options.budgets):
            for name in names:
                points[name].append(measured(session, prompt, CONTENDERS[name]))
    if options.save:
        options.save.write_text(
            json.dumps({name: [vars(item) for item in each] for name, each in points.items()})
        )
    if options.against:
        saved = json.loads(options.against.read_text())
        points |= {
            f"{name}, before": [Point(**item) for item in each] for name, each in saved.items()
        }
    report(len(selected), points, options.budgets)


def sessions(folder: Path, most: int) -> Iterator[Session]:
    """The sessions of a folder, in the order of their names."""
    counter = Counter(tokenizer(ENCODING), FRAMINGS["openai"])
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        reading = open_reading(BytesIO(path.read_bytes()))
        transcripts = (
            [transcript for chunk in reading.chunks for transcript in chunk.transcripts]
            if reading.format
            else []
        )
        long = [
            transcript
            for transcript in map(_visible, transcripts)
            if len(_answers(transcript)) >= LEAST_ANSWERS
        ]
        long = [item for item in long if counter.fresh().tokens(item) >= LEAST_TOKENS]
        for number, transcript in enumerate(long[:most]):
            yield Session(
                f"{path.name} {number}",
                transcript,
                _answers(transcript),
                references(transcript.messages),
            )


def _visible(transcript: Transcript) -> Transcript:
    return replace(
        transcript,
        messages=tuple(message for message in transcript.messages if message.agent_visible),
    )


def _answers(transcript: Transcript) -> list[int]:
    return [
        position
        for position, message in enumerate(transcript.messages)
        if message.role == "assistant"
    ]


def prompts(session: Session, budgets: Sequence[int]) -> Iterator[Prompt]:
    """The prompts of a session that exceed a budget and can be trimmed to it, for each budget."""
    counter = Counter(tokenizer(ENCODING), FRAMINGS["openai"])
    costs = [cost.total for cost in counter.costs(session.transcript.messages)]
    fixed = counter.fixed(session.transcript)
    step = len(session.answers) / (REQUESTS + 1)
    for number in dict.fromkeys(int(step * position) for position in range(1, REQUESTS + 1)):
        end = session.answers[number]
        messages = session.transcript.messages[:end]
        task = current_task(messages)
        least = sum(
            costs[at]
            for at, message in enumerate(messages)
            if message.role == "system" or at == task
        )
        following = session.references.to(end, session.answers[number : number + ANSWERS])
        wanted = frozenset(item.atom for item in following)
        for budget in budgets:
            if wanted and fixed + sum(costs[:end]) > budget >= fixed + least:
                whole = replace(session.transcript, messages=messages)
                yield Prompt(whole, counter, costs[:end], fixed, budget, wanted, session.references)


def measured(session: Session, prompt: Prompt, contender: Contender) -> Point:
    """The part of a prompt that a contender keeps."""
    left = contender(prompt)
    tokens = (
        prompt.fixed + sum(cost.total for cost in prompt.counter.costs(tuple(left))) if left else 0
    )
    own = {
        id(item): atoms
        for item, atoms in zip(prompt.messages, prompt.references.atoms, strict=False)
    }
    kept = set().union(*(own.get(id(item)) or atoms_of(item) for item in left)) & prompt.wanted
    return Point(session.name, prompt.budget, len(kept), len(prompt.wanted), tokens / prompt.budget)


# The contenders.


def _trim(strategy: str) -> Contender:
    def left(prompt: Prompt) -> Sequence[Message]:
        budget = Budget(128_000, 0, limit=prompt.budget)
        outcome = STAGES["trim"](prompt.counter, budget, strategy=strategy)(prompt.transcript)
        return (
            ()
            if any(finding.code == "overflow" for finding in outcome.findings)
            else outcome.transcript.messages
        )

    return left


def _langchain(**settings: str) -> Contender:
    def left(prompt: Prompt) -> Sequence[Message]:
        makes = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
        given = [
            ToolMessage(content="", tool_call_id="1", id=str(at))
            if message.role == "tool"
            else makes[message.role](content="", id=str(at))
            for at, message in enumerate(prompt.messages)
        ]
        kept = trim_messages(
            given,
            max_tokens=prompt.budget,
            token_counter=lambda some: (
                prompt.fixed + sum(prompt.costs[int(item.id)] for item in some)
            ),
            strategy="last",
            include_system=True,
            **settings,
        )
        return [prompt.messages[int(item.id)] for item in kept]

    return left


def _last_ten_results(prompt: Prompt) -> Sequence[Message]:
    """Placeholders replace all results but the last ten; then exchanges are dropped, oldest
    first.
    """
    messages, turn_shape = list(prompt.messages), shape(prompt.messages)
    results = [at for at, message in enumerate(messages) if message.role == "tool"]
    for at in results[:-10]:
        messages[at] = replace(
            messages[at], parts=(Part("tool_result", "[cleared]", messages[at].result.call_id),)
        )
    costs = [
        prompt.counter.cost(item, fan).total
        for item, fan in zip(messages, turn_shape.fan, strict=True)
    ]
    task = current_task(messages)
    homes = [
        home
        for home in dict.fromkeys(turn_shape.exchange)
        if home != task and messages[home].role != "system"
    ]
    return _without(prompt, messages, costs, homes)


def _without(
    prompt: Prompt, messages: list[Message], costs: list[int], homes: Sequence[int]
) -> Sequence[Message]:
    """The messages without exchanges, in some order, until the rest fits."""
    exchange, gone, tokens = shape(prompt.messages).exchange, set(), prompt.fixed + sum(costs)
    spent: dict[int, int] = {}
    for at, cost in enumerate(costs):
        spent[exchange[at]] = spent.get(exchange[at], 0) + cost
    for home in homes:
        if tokens <= prompt.budget:
            break
        gone.add(home)
        tokens -= spent[home]
    return [item for at, item in enumerate(messages) if exchange[at] not in gone]


def _oracle(prompt: Prompt) -> Sequence[Message]:
    """System messages, the current task, and exchange after exchange with the most new references a
    token that fits.
    """
    messages, turn_shape = prompt.messages, shape(prompt.messages)
    task = current_task(messages)
    exchanges: dict[int, list[int]] = {}
    for at, home in enumerate(turn_shape.exchange):
        exchanges.setdefault(home, []).append(at)
    held = [home for home in exchanges if messages[home].role == "system" or home == task]
    room = (
        prompt.budget
        - prompt.fixed
        - sum(prompt.costs[at] for home in held for at in exchanges[home])
    )
    wanted = set(prompt.wanted).difference(
        *(prompt.references.atoms[at] for home in held for at in exchanges[home])
    )
    left = {
        home: set().union(*(prompt.references.atoms[at] for at in each))
        for home, each in exchanges.items()
    }
    cost = {home: sum(prompt.costs[at] for at in each) for home, each in exchanges.items()}
    kept = set(held)
    while True:
        fitting = [home for home in exchanges if home not in kept and cost[home] <= room]
        best = max(fitting, key=lambda home: len(left[home] & wanted) / cost[home], default=None)
        if best is None:
            return [item for at, item in enumerate(messages) if turn_shape.exchange[at] in kept]
        kept.add(best)
        room -= cost[best]
        wanted -= left[best]


CONTENDERS: dict[str, Contender] = {
    "priority": _trim("priority"),
    "oldest": _trim("oldest"),
    "LangChain": _langchain(),
    "LangChain, start_on human": _langchain(start_on="human"),
    "last ten results": _last_ten_results,
    "oracle": _oracle,
}


# the printed rows


def report(count: int, points: dict[str, list[Point]], budgets: Sequence[int]) -> None:
    """A table: the share of references kept, the budget used, and how far `priority` is ahead."""
    print(
        f"{count} sessions; {ENCODING}; share of references kept, median share of the "
        "budget used, and how far"
    )
    print("priority is ahead in points, with its 95 % interval\n")
    first = next(iter(points))
    print("| | " + " | ".join(f"{budget:,}" for budget in budgets) + " |")
    print("| --- |" + " --- |" * len(budgets))
    for name, own in points.items():
        cells = []
        for budget in budgets:
            these = [item for item in own if item.budget == budget]
            if not these:
                cells.append("")
                continue
            used = statistics.median(item.used for item in these)
            cell = f"{100 * share(these):.1f}, {100 * used:.0f} %"
            if name != first:
                low, middle, high = ahead(
                    [point for point in points[first] if point.budget == budget], these
                )
                cell += f" ({middle:+.1f}: {low:+.1f} to {high:+.1f})"
            cells.append(cell)
        print(f"| {name} | " + " | ".join(cells) + " |")
    sizes = [
        len([point for point in points[first] if point.budget == budget]) for budget in budgets
    ]
    print(f"\nrequests: {', '.join(map(str, sizes))}; references:", end=" ")
    print(
        ", ".join(
            str(sum(point.all for point in points[first] if point.budget == budget))
            for budget in budgets
        )
    )


def share(points: Sequence[Point]) -> float:
    """The references kept of all."""
    return sum(point.kept for point in points) / max(1, sum(point.all for point in points))


def ahead(ours: Sequence[Point], theirs: Sequence[Point]) -> tuple[float, float, float]:
    """The difference of two shares, in points: the 95 % interval around it."""
    by_session: dict[str, list[int]] = {}
    for sign, points in ((0, ours), (1, theirs)):
        for point in points:
            sums = by_session.setdefault(point.session, [0, 0, 0, 0])
            sums[2 * sign] += point.kept
            sums[2 * sign + 1] += point.all
    rows = [row for row in by_session.values() if row[1] and row[3]]
    chance = random.Random(1)

    def difference(some: Sequence[list[int]]) -> float:
        a, b, c, d = (sum(column) for column in zip(*some, strict=True))
        return 100 * (a / b - c / d)

    drawn = sorted(difference(chance.choices(rows, k=len(rows))) for _ in range(RESAMPLES))
    return drawn[RESAMPLES // 40], difference(rows), drawn[-RESAMPLES // 40]


if __name__ == "__main__":
    main()
