"""What may go of a conversation that is too long, from cheap to dear.

::

    priority    copies of newer results · old results · old reasoning · old exchanges
                · of recent turns: what is long of their results · their results · their exchanges
                · the same of what is kept for long (errors, quotes, chains, files in use)
                · the same of the newest exchanges after the current task
    oldest      exchanges, oldest first
    middle      exchanges, those in the middle first
    age         results, oldest first · exchanges, oldest first

    all end with: summaries · the prompt that opened the session · instructions to the agent · system messages, if they
    may go

Nothing is done here: a rung says what would go, and who climbs down stops as soon as the rest fits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ctxtrim.clipping import clip
from ctxtrim.counter import Counter
from ctxtrim.evidence import copies
from ctxtrim.model import Message, Transcript
from ctxtrim.replacement import Replacement
from ctxtrim.results import Result
from ctxtrim.retaining import Kept
from ctxtrim.stage import Action
from ctxtrim.tokens import MARKS
from ctxtrim.turns import Shape

Edit = Callable[[Message], Message]

_CLIPS = (2000, 500, 150)  # tokens that recent results are clipped to, one after the other
_ROOM = 1.2  # nothing is clipped that is not this much longer


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that may go: some messages as a whole, or what an edit takes from a single one."""

    positions: Sequence[int]
    reason: str
    edit: Edit | None = None
    action: Action = "dropped"


@dataclass(frozen=True)
class View:
    """A conversation, and what is known of its messages, by position.

    `held` never go, and why. `is_recent`: in the last turns. `kept`: what makes results worth keeping, and `soft` the
    exchanges that have such. `opening`, `instructions`, `summaries`: what goes near the end, each as it goes together.
    """

    transcript: Transcript
    where: Shape
    costs: Sequence[int]
    counter: Counter
    held: Mapping[int, str]
    is_recent: Sequence[bool]
    task: int | None
    results: Sequence[Result]
    kept: Mapping[int, Kept]
    soft: Mapping[int, str]
    opening: Sequence[int]
    instructions: Sequence[int]
    summaries: Sequence[int]
    may_drop_system: bool
    replacement: Replacement


def ladder(view: View, strategy: str) -> Iterator[Loss]:
    """The rungs of a strategy, the first to go first."""
    exchanges = _exchanges(view)
    homes = list(exchanges)
    if strategy == "oldest":
        yield from _drops(view, exchanges, homes, lambda home: "oldest first")
    elif strategy == "middle":
        middle = (len(homes) - 1) / 2
        order = sorted(range(len(homes)), key=lambda place: (abs(place - middle), place))
        yield from _drops(view, exchanges, [homes[place] for place in order], lambda home: "middle first")
    elif strategy == "age":
        yield from _replaced(view, view.results, "old result")
        yield from _drops(view, exchanges, homes, lambda home: "oldest first")
    else:
        yield from _by_priority(view, exchanges)
    for position in view.summaries:
        yield Loss((position,), "summary of what was said before")
    if view.opening:
        yield Loss(view.opening, "opening task")
    for position in view.instructions:
        yield Loss((position,), "instructions to the agent")
    if view.may_drop_system:
        for position, message in enumerate(view.transcript.messages):
            if message.role == "system" and position not in view.held:
                yield Loss((position,), "system")


def _by_priority(view: View, exchanges: Mapping[int, list[int]]) -> Iterator[Loss]:
    newest = _newest(view, list(exchanges))
    rungs = {home: _rung(view, home, home in newest) for home in exchanges}
    order = sorted(exchanges, key=lambda home: (rungs[home], view.is_recent[home]))
    drops: dict[int, list[Loss]] = {}
    for home, drop in zip(order, _drops(view, exchanges, order, partial(_named, view, rungs)), strict=True):
        drops.setdefault(rungs[home], []).append(drop)
    results: dict[int, list[Result]] = {}
    for one in view.results:
        home = view.where.exchange[one.position]
        results.setdefault(rungs.get(home, _OLD), []).append(one)

    yield from _copies(view)
    yield from _replaced(view, results.get(_OLD, ()), "old result")
    yield from _reasoning(view)
    yield from drops.get(_OLD, ())
    for rung in (_RECENT, _SOFT, _NEWEST):
        found = results.get(rung, [])
        yield from _clipped(view, [one for one in found if rung == _NEWEST or not view.kept[one.position].in_full])
        yield from _replaced(view, found if rung != _NEWEST else found[:-1], f"{_NAMES[rung]} result")
        yield from drops.get(rung, ())


_OLD, _RECENT, _SOFT, _NEWEST = range(4)
_NAMES = ("old", "recent", "kept for long", "newest")
_LAST = 3  # exchanges after the current task that go after all others


def _rung(view: View, home: int, is_newest: bool) -> int:
    if is_newest:
        return _NEWEST
    return _SOFT if home in view.soft else _RECENT if view.is_recent[home] else _OLD


def _named(view: View, rungs: Mapping[int, int], home: int) -> str:
    why = f" ({view.soft[home]})" if rungs[home] == _SOFT else ""
    return f"{_NAMES[rungs[home]]} exchange{why}"


def _newest(view: View, homes: Sequence[int]) -> set[int]:
    """The last exchanges that the current task has led to: what is being worked on right now."""
    after = [home for home in homes if view.task is None or home > view.task]
    return set(after[-_LAST:])


def _exchanges(view: View) -> dict[int, list[int]]:
    """What goes as a whole, by its first message and in order; the prompts of a turn without any other are one too."""
    found: dict[int, list[int]] = {}
    for position in _free(view):
        if not _is_prompt(view, position):
            found.setdefault(view.where.exchange[position], []).append(position)
    busy = {view.where.turn[home] for home in found}
    found |= {prompts[0]: prompts for turn, prompts in _prompts(view).items() if turn not in busy}
    return dict(sorted(found.items()))


def _prompts(view: View) -> dict[int, list[int]]:
    """The user's messages of each turn, with the results of calls that they make."""
    found: dict[int, list[int]] = {}
    for position in _free(view):
        if _is_prompt(view, position):
            found.setdefault(view.where.turn[position], []).append(position)
    return found


def _is_prompt(view: View, position: int) -> bool:
    return view.transcript.messages[view.where.exchange[position]].role == "user"


def _free(view: View) -> Iterator[int]:
    """What goes neither near the end nor never."""
    last = {*view.held, *view.opening, *view.instructions, *view.summaries}
    for position, message in enumerate(view.transcript.messages):
        if position not in last and message.role != "system":
            yield position


def _drops(
    view: View, exchanges: Mapping[int, list[int]], order: Sequence[int], reason_of: Callable[[int], str]
) -> Iterator[Loss]:
    """The exchanges in some order; with the last one of a turn its prompts go."""
    turn = view.where.turn
    last = {turn[home]: home for home in order}
    prompts = _prompts(view)
    for home in order:
        positions = exchanges[home]
        if last[turn[home]] == home and positions is not prompts.get(turn[home]):
            positions = sorted({*positions, *prompts.get(turn[home], ())})
        yield Loss(positions, f"{reason_of(home)}: turn {turn[home]}, step {view.where.step[home]}")


def _copies(view: View) -> Iterator[Loss]:
    by_position = {one.position: one for one in view.results}
    for position, newest in copies(view.transcript.messages, view.where).items():
        one = by_position.get(position)
        if one is not None and newest in by_position and _is_open(view, one):
            text = view.replacement.pointing(by_position[newest])
            yield _edit(one, "same as a newer result", partial(_as_it_is, text))


def _replaced(view: View, results: Iterable[Result], reason: str) -> Iterator[Loss]:
    mark = MARKS[view.counter.tokenizer.exactness]
    for one in results:
        if _is_open(view, one):
            tokens = f"{mark}{view.counter.text(one.text)}"
            yield _edit(
                one,
                f"{reason}: step {view.where.step[one.position]}",
                partial(view.replacement.of, tokens=tokens),
            )


def _clipped(view: View, results: Sequence[Result]) -> Iterator[Loss]:
    """Long results, a little of each at a time."""
    for limit in _CLIPS:
        for one in results:
            if view.costs[one.position] > limit * _ROOM and _is_open(view, one):
                ranges = view.kept[one.position].ranges
                reason = f"long result: at most {limit} tokens"
                yield _edit(one, reason, partial(_clip, view.counter, limit, ranges))


def _clip(counter: Counter, limit: int, ranges: Sequence[tuple[int, int]], one: Result) -> str:
    return clip(one.text, limit, counter.tokenizer, "head-tail", ranges)


def _as_it_is(text: str, one: Result) -> str:
    return text


def _is_open(view: View, one: Result) -> bool:
    """Whether a result may be shortened, and has not been replaced before."""
    return one.is_rewritable and one.position not in view.held and not view.replacement.is_done(one.text)


def _edit(one: Result, reason: str, text_of: Callable[[Result], str]) -> Loss:
    """A loss of a result: its text, made anew from what the file said."""
    return Loss((one.position,), reason, lambda message: one.with_text(text_of(one)), "truncated")


def _reasoning(view: View) -> Iterator[Loss]:
    """Thinking of old turns. What stands beside calls in a member of its own is asked back by some providers."""
    for position, message in enumerate(view.transcript.messages):
        if view.is_recent[position] or position in view.held or not message.agent_visible:
            continue
        has_calls = any(part.kind == "tool_call" for part in message.parts)
        rest = tuple(
            part
            for part in message.parts
            if part.kind != "reasoning" or part.block is None or (has_calls and part.span is not None)
        )
        if len(rest) < len(message.parts) and any(part.kind != "reasoning" for part in rest):
            yield Loss((position,), "old reasoning", partial(replace, parts=rest), "stripped")
