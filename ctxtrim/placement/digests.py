"""Digests of steps: what an LLM or rules write about calls and results that are removed."""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from ctxtrim.conversation.tool_results import Result, results
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence import extract_key_info, summary_line
from ctxtrim.model import Message
from ctxtrim.placement.leads import digest_message, with_leads
from ctxtrim.summaries import (
    DIGEST,
    FALLBACK,
    HEURISTIC,
    Request,
    Summarizer,
    Summary,
    bounded,
    digests,
    heuristic,
    markers,
    redacted,
    summarized,
    tool_prompt,
)
from ctxtrim.summaries.digests import Entry
from ctxtrim.summaries.excerpts import head
from ctxtrim.tokens.counter import Counter

MODES = ("llm", "heuristic", "off")
"""Who writes digests; `off`: nobody, and nothing is removed."""

_QUOTE = 200  # characters of the assistant's words next to its calls
_EXCERPT = 80  # characters: with less room, an entry has no excerpt of a result
_HEADER = len(digests.written([Entry(markers.DIGEST, "")]))
_BLANK = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class Step:
    """Calls and their results that are removed together; `words` are the assistant's next to its calls."""

    home: int
    positions: tuple[int, ...]
    results: tuple[Result, ...]
    words: str


def steps(messages: Sequence[Message], where: Shape, held: Set[int]) -> list[Step]:
    """The steps that may be removed, oldest first: all calls are answered, and a prompt or an answer follows."""
    ages = [where.steps - step for step in where.step]
    found: dict[int, list[Result]] = {}
    for result in results(messages, where, ages):
        found.setdefault(where.exchange[result.position], []).append(result)
    whole: dict[int, list[int]] = {}
    for place, home in enumerate(where.exchange):
        whole.setdefault(home, []).append(place)
    open_homes = {place for place, _ in where.unanswered}
    roles = ("assistant", "user")
    last = max(
        (at for at, message in enumerate(messages) if message.agent_visible and message.role in roles), default=-1
    )
    return [
        Step(home, tuple(whole[home]), tuple(inside), _words(messages[home]))
        for home, inside in found.items()
        if messages[home].role != "user"
        and home not in open_homes
        and held.isdisjoint(whole[home])
        and whole[home][-1] < last
    ]


def _words(message: Message) -> str:
    """The text of a message, without the digests that it begins with."""
    return "\n".join(part.text for part in with_leads(message).parts if part.kind == "text").strip()


@dataclass(frozen=True)
class Digests:
    """How digests are written: by an LLM where there is one, else a line for each result and its head and tail."""

    counter: Counter
    mode: str
    summarizer: Summarizer | None = None
    redacts: bool = True

    def of(self, some: Sequence[Step], limit: int, asks: bool = True) -> Summary:
        """The digest of steps, without a title: in fewer than `limit` tokens as a message where that is possible.

        `asks`: whether an LLM may be asked.
        """
        short = self.least(some)
        if self.size(short) >= limit:
            return Summary(short, FALLBACK)
        some = [_masked(step) for step in some] if self.redacts else some

        def fallback() -> str:
            full = _full(some[0]) if len(some) == 1 else short
            return full if self.size(full) < limit else short

        if self.mode != "llm" or self.summarizer is None or not asks:
            return Summary(fallback(), FALLBACK)
        opening = "".join(f"{line}\n" for step in some for line in _opening(step)) if len(some) == 1 else ""
        request = Request(
            self._prompt(some),
            DIGEST,
            limit - self.size(opening),
            self.counter.tokenizer,
            most=max(1, DIGEST - _HEADER - len(opening)),
            redacts=self.redacts,
        )
        found = summarized(request, self.summarizer, lambda: "")
        text = _closed(f"{opening}{found.text}")
        if found.text and self.size(text) < limit:
            return replace(found, text=text)
        return replace(found, text=fallback(), by=FALLBACK)

    def least(self, some: Sequence[Step]) -> str:
        """The shortest digest of steps: the assistant's words and a line for each result, of the newest steps."""
        some = [_masked(step) for step in some] if self.redacts else some
        short = [_closed(bounded("\n".join(_opening(step)), HEURISTIC - _HEADER)) for step in some]
        if len(short) == 1:
            return short[0]
        entries = [Entry(markers.DIGEST, text) for text in short]
        return "\n\n".join(filter(None, digests.bounded(entries, HEURISTIC, len)))

    def size(self, text: str) -> int:
        """The tokens of a digest, and of the line that may separate it from an answer."""
        message = digest_message(digests.written([Entry(markers.DIGEST, text)]), hides=False)
        return self.counter.cost(message, 0).total + self.counter.text(markers.END)

    def _prompt(self, some: Sequence[Step]) -> str:
        found = [result for step in some for result in step.results]
        names = ", ".join(dict.fromkeys(result.tool for result in found))
        arguments = "\n".join(result.call.text for result in found if result.call is not None)
        outputs = [result.text if len(found) == 1 else f"{_line(result)}\n{result.text}" for result in found]
        return tool_prompt(names, arguments, "\n\n".join(outputs), redacts=self.redacts)


def _opening(step: Step) -> list[str]:
    """The assistant's words, and a line for each result."""
    words = [f"> {head(step.words, _QUOTE)}"] if step.words else []
    return [*words, *map(_line, step.results)]


def _full(step: Step) -> str:
    """The assistant's words, and each result as a line with its head and tail where there is room for them."""
    words = _opening(step)[: -len(step.results)]
    lines = [_line(result) for result in step.results]
    room = (HEURISTIC - _HEADER - sum(len(line) + 2 for line in (*words, *lines))) // len(lines)
    excerpts = [heuristic(result.text, room) if room >= _EXCERPT else "" for result in step.results]
    body = [piece for pair in zip(lines, excerpts, strict=True) for piece in pair if piece]
    return _closed(bounded("\n".join((*words, *body)), HEURISTIC - _HEADER))


def _closed(text: str) -> str:
    """A text without empty lines, which separate entries, and in which nothing reads as the end of the digests."""
    return _BLANK.sub("\n", text.replace(markers.END, "\n")).strip()


def _masked(step: Step) -> Step:
    """A step without secrets, masked before anything is cut: no format identifies a part of a key."""

    def masked(result: Result) -> Result:
        call = result.call and replace(result.call, text=redacted(result.call.text)[0])
        return replace(result, text=redacted(result.text)[0], call=call)

    return replace(step, results=tuple(map(masked, step.results)), words=redacted(step.words)[0])


def _line(result: Result) -> str:
    """How a result is told on one line."""
    part = result.message.result
    arguments = result.call.text if result.call is not None else None
    info = extract_key_info(result.text, result.tool, arguments, part.is_error if part else None)
    return summary_line(info, result.tool)
