"""Digests of steps: texts by an LLM or by rules that replace calls and results."""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from ctxtrim.conversation.tool_results import ToolResult, results
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence import extract_key_info, summary_line
from ctxtrim.model import Message
from ctxtrim.placement.leads import digest_message, with_leads
from ctxtrim.summaries import (
    DIGEST,
    FALLBACK,
    HEURISTIC,
    Summarizer,
    Summary,
    SummaryRequest,
    bounded,
    digests,
    heuristic,
    markers,
    redacted,
    summarized,
    tool_prompt,
)
from ctxtrim.summaries.digests import DigestEntry
from ctxtrim.summaries.excerpts import head
from ctxtrim.tokens.counter import Counter

MODES = ("llm", "heuristic", "off")
"""Who writes digests. `off`: no digests, and nothing is removed."""

_QUOTE = 200  # characters of the assistant's words next to its calls
_EXCERPT = 80  # characters: with less room, an entry has no excerpt of a result
_HEADER = len(digests.written([DigestEntry(markers.DIGEST, "")]))
_BLANK = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class Step:
    """Calls and results that are removed together.

    `words` is the text of the assistant next to its calls.
    """

    home: int
    positions: tuple[int, ...]
    results: tuple[ToolResult, ...]
    words: str


def steps(messages: Sequence[Message], shape: Shape, protected: Set[int]) -> list[Step]:
    """The removable steps, oldest first: all calls have results, and a prompt or an
    answer follows.
    """
    results_by_step: dict[int, list[ToolResult]] = {}
    for result in results(messages, shape, shape.ages()):
        results_by_step.setdefault(shape.exchange[result.position], []).append(result)
    exchanges: dict[int, list[int]] = {}
    for position, home in enumerate(shape.exchange):
        exchanges.setdefault(home, []).append(position)
    open_homes = {position for position, _ in shape.unanswered}
    roles = ("assistant", "user")
    last_position = max(
        (
            position
            for position, message in enumerate(messages)
            if message.agent_visible and message.role in roles
        ),
        default=-1,
    )
    return [
        Step(home, tuple(exchanges[home]), tuple(step_results), _words(messages[home]))
        for home, step_results in results_by_step.items()
        if messages[home].role != "user"
        and home not in open_homes
        and protected.isdisjoint(exchanges[home])
        and exchanges[home][-1] < last_position
    ]


def _words(message: Message) -> str:
    """The text of a message without its leading digests."""
    return "\n".join(part.text for part in with_leads(message).parts if part.kind == "text").strip()


@dataclass(frozen=True)
class Digests:
    """The writer of digests: an LLM if there is one, else one line per result with its head and
    tail.
    """

    counter: Counter
    mode: str
    summarizer: Summarizer | None = None
    redacts: bool = True

    def of(self, group: Sequence[Step], limit: int, may_ask: bool = True) -> Summary:
        """The digest of steps, without a title.

        As a message it has fewer than `limit` tokens if possible.

        `may_ask`: whether an LLM may be used.
        """
        short = self.least(group)
        if self.size(short) >= limit:
            return Summary(short, FALLBACK)
        group = [_masked(step) for step in group] if self.redacts else group

        def fallback() -> str:
            full = _full_text(group[0]) if len(group) == 1 else short
            return full if self.size(full) < limit else short

        if self.mode != "llm" or self.summarizer is None or not may_ask:
            return Summary(fallback(), FALLBACK)
        opening = (
            "".join(f"{line}\n" for step in group for line in _brief_lines(step))
            if len(group) == 1
            else ""
        )
        request = SummaryRequest(
            self._prompt(group),
            DIGEST,
            limit - self.size(opening),
            self.counter.tokenizer,
            most=max(1, DIGEST - _HEADER - len(opening)),
            redacts=self.redacts,
        )
        summary = summarized(request, self.summarizer, lambda: "")
        text = _without_separators(f"{opening}{summary.text}")
        if summary.text and self.size(text) < limit:
            return replace(summary, text=text)
        return replace(summary, text=fallback(), by=FALLBACK)

    def least(self, group: Sequence[Step]) -> str:
        """The shortest digest of steps: the assistant's text and a line for each result of the
        newest steps.
        """
        group = [_masked(step) for step in group] if self.redacts else group
        short = [
            _without_separators(bounded("\n".join(_brief_lines(step)), HEURISTIC - _HEADER))
            for step in group
        ]
        if len(short) == 1:
            return short[0]
        entries = [DigestEntry(markers.DIGEST, text) for text in short]
        return "\n\n".join(filter(None, digests.bounded(entries, HEURISTIC, len)))

    def size(self, text: str) -> int:
        """The tokens of a digest, including the line that may separate it from an answer."""
        message = digest_message(digests.written([DigestEntry(markers.DIGEST, text)]), hides=False)
        return self.counter.cost(message, 0).total + self.counter.text(markers.END)

    def _prompt(self, steps: Sequence[Step]) -> str:
        results = [result for step in steps for result in step.results]
        names = ", ".join(dict.fromkeys(result.tool for result in results))
        arguments = "\n".join(result.call.text for result in results if result.call is not None)
        outputs = [
            result.text if len(results) == 1 else f"{_line(result)}\n{result.text}"
            for result in results
        ]
        return tool_prompt(names, arguments, "\n\n".join(outputs), redacts=self.redacts)


def _brief_lines(step: Step) -> list[str]:
    """The assistant's text, and a line for each result."""
    words = [f"> {head(step.words, _QUOTE)}"] if step.words else []
    return [*words, *map(_line, step.results)]


def _full_text(step: Step) -> str:
    """The assistant's text, and a line for each result with its head and tail if there is room."""
    words = _brief_lines(step)[: -len(step.results)]
    lines = [_line(result) for result in step.results]
    room = (HEURISTIC - _HEADER - sum(len(line) + 2 for line in (*words, *lines))) // len(lines)
    excerpts = [heuristic(result.text, room) if room >= _EXCERPT else "" for result in step.results]
    body = [piece for pair in zip(lines, excerpts, strict=True) for piece in pair if piece]
    return _without_separators(bounded("\n".join((*words, *body)), HEURISTIC - _HEADER))


def _without_separators(text: str) -> str:
    """A text without empty lines, which separate entries, and without the end marker of digests."""
    return _BLANK.sub("\n", text.replace(markers.END, "\n")).strip()


def _masked(step: Step) -> Step:
    """A step without secrets.

    Masking comes before clipping, because a clipped key is not recognizable.
    """

    def masked(result: ToolResult) -> ToolResult:
        call = result.call and replace(result.call, text=redacted(result.call.text))
        return replace(result, text=redacted(result.text), call=call)

    return replace(step, results=tuple(map(masked, step.results)), words=redacted(step.words))


def _line(result: ToolResult) -> str:
    """A result as one line."""
    part = result.message.result
    arguments = result.call.text if result.call is not None else None
    info = extract_key_info(result.text, result.tool, arguments, part.is_error if part else None)
    return summary_line(info, result.tool)
