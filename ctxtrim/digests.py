"""Digests: a short text in the place of whole steps, whose calls and results are hidden, or dropped.

::

    prompt · step · step · step                     where a format can say who sees a message
    prompt · (step) · [digest] · step · step        the step stays in the file, hidden from the model

    prompt · step · step · step                     elsewhere
    [digest, then the prompt's own text] · step · step

A digest is the client's: no prompt, and never shown to the person where the format can say so.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from ctxtrim.counter import Counter
from ctxtrim.evidence import extract_key_info, summary_line
from ctxtrim.model import Message
from ctxtrim.results import Result, results
from ctxtrim.summaries import (
    DIGEST,
    FALLBACK,
    HEURISTIC,
    Request,
    Summarizer,
    Summary,
    bounded,
    heuristic,
    redacted,
    summarized,
    titles,
    tool_prompt,
)
from ctxtrim.summaries.excerpts import head
from ctxtrim.summing import digest_message
from ctxtrim.turns import Shape

MODES = ("llm", "heuristic", "off")
"""Who writes digests; `off`: nobody, so that nothing is taken away either."""

_QUOTE = 200  # characters of what was said beside the calls
_EXCERPT = 80  # characters: with less room, none is taken from a result


@dataclass(frozen=True)
class Step:
    """Calls and their results that go together; `said` is what the assistant said beside its calls."""

    home: int
    positions: tuple[int, ...]
    results: tuple[Result, ...]
    said: str


def steps(messages: Sequence[Message], where: Shape, held: Set[int]) -> list[Step]:
    """The steps that may go, oldest first: all whose calls are answered, and to which something was said since."""
    ages = [where.steps - step for step in where.step]
    found: dict[int, list[Result]] = {}
    for one in results(messages, where, ages):
        found.setdefault(where.exchange[one.position], []).append(one)
    whole: dict[int, list[int]] = {}
    for place, home in enumerate(where.exchange):
        whole.setdefault(home, []).append(place)
    open_homes = {place for place, _ in where.unanswered}
    spoken = (place for place, one in enumerate(messages) if one.agent_visible and one.role in ("assistant", "user"))
    last = max(spoken, default=-1)
    return [
        Step(home, tuple(whole[home]), tuple(inside), _said(messages[home]))
        for home, inside in found.items()
        if messages[home].role != "user"
        and home not in open_homes
        and held.isdisjoint(whole[home])
        and whole[home][-1] < last
    ]


def _said(message: Message) -> str:
    return "\n".join(part.text for part in message.parts if part.kind == "text").strip()


@dataclass(frozen=True)
class Digests:
    """How digests are written: an LLM's where there is one, else a line a result and the head and tail of each."""

    counter: Counter
    mode: str
    summarizer: Summarizer | None = None
    redacts: bool = True

    def of(self, some: Sequence[Step], title: str, limit: int) -> Summary:
        """The digest of some steps in fewer than `limit` tokens as a message; its text is empty where there is none."""
        if self.redacts:
            some = [_masked(step) for step in some]
        opening = "\n".join((title, *(f"> {head(step.said, _QUOTE)}" for step in some if step.said)))
        lines = "\n".join(_line(one) for step in some for one in step.results)
        short = self._closed(bounded(f"{opening}\n{lines}", HEURISTIC))
        if self.size(short) >= limit:
            return Summary("", FALLBACK)

        def fallback() -> str:
            full = self._full(some, opening)
            return full if self.size(full) < limit else short

        if self.mode != "llm" or self.summarizer is None:
            return Summary(fallback(), FALLBACK)
        asked = Request(
            self._prompt(some),
            DIGEST,
            limit - self.size(opening),
            self.counter.tokenizer,
            most=max(1, DIGEST - len(opening) - 1),
            redacts=self.redacts,
        )
        found = summarized(asked, self.summarizer, lambda: "")
        text = self._closed(f"{opening}\n{found.text}")
        if found.text and self.size(text) < limit:
            return replace(found, text=text)
        return replace(found, text=fallback(), by=FALLBACK)

    def size(self, text: str) -> int:
        """The tokens of a digest, and of the line that may stand between it and a prompt."""
        return self.counter.cost(digest_message(text, hides=False), 0).total + self.counter.text(titles.END)

    def _full(self, some: Sequence[Step], opening: str) -> str:
        """Each result as a line, and its head and tail where there is room for them."""
        found = [one for step in some for one in step.results]
        lines = [_line(one) for one in found]
        room = (HEURISTIC - len(opening) - sum(len(line) + 2 for line in lines)) // max(1, len(found))
        texts = [heuristic(one.text, room) if room >= _EXCERPT else "" for one in found]
        body = "\n".join(piece for pair in zip(lines, texts, strict=True) for piece in pair if piece)
        return self._closed(bounded(f"{opening}\n{body}", HEURISTIC))

    def _prompt(self, some: Sequence[Step]) -> str:
        found = [one for step in some for one in step.results]
        names = ", ".join(dict.fromkeys(one.tool for one in found))
        arguments = "\n".join(one.call.text for one in found if one.call is not None)
        texts = [one.text if len(found) == 1 else f"{_line(one)}\n{one.text}" for one in found]
        return tool_prompt(names, arguments, "\n\n".join(texts), redacts=self.redacts)

    def _closed(self, text: str) -> str:
        """A digest in which nothing reads as its end."""
        return text.replace(titles.END, "\n").strip()


def _masked(step: Step) -> Step:
    """A step without secrets, masked before anything is cut: no format identifies a part of a key."""

    def masked(result: Result) -> Result:
        call = result.call and replace(result.call, text=redacted(result.call.text)[0])
        return replace(result, text=redacted(result.text)[0], call=call)

    return replace(step, results=tuple(map(masked, step.results)), said=redacted(step.said)[0])


def _line(one: Result) -> str:
    """How a result is told on one line."""
    part = one.message.result
    arguments = one.call.text if one.call is not None else None
    return summary_line(extract_key_info(one.text, one.tool, arguments, part.is_error if part else None), one.tool)
