"""Write digests: texts by an LLM or by rules that replace the calls and results of steps."""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.conversation.tool_results import ToolResult, results
from ctxtrim.conversation.turns import Shape, grouped
from ctxtrim.evidence.one_line import line_of_result
from ctxtrim.model import Message, Part
from ctxtrim.stages.placement.leads import digest_message, with_leads
from ctxtrim.summaries import digests, markers
from ctxtrim.summaries.digests import DigestEntry
from ctxtrim.summaries.excerpts import bounded, head
from ctxtrim.summaries.prompts import MAX_DIGEST, tool_prompt
from ctxtrim.summaries.redaction import redacted
from ctxtrim.summaries.summarizer import FALLBACK, Summarizer, Summary, SummaryRequest, summarized
from ctxtrim.tokens.counter import Counter

_MAX_BY_RULES = 800  # characters of a digest that no LLM wrote
_QUOTE = 200  # characters of the assistant's words next to its calls
_EXCERPT = 80  # characters: with less room, an entry has no excerpt of a result
_HEADER = len(digests.digest_text([DigestEntry(markers.DIGEST, "")]))
_BLANK = re.compile(r"\n\s*\n")


class Step(Struct, frozen=True):
    """Calls and results that are removed together.

    `words` is the text of the assistant next to its calls.
    """

    exchange: int
    positions: tuple[int, ...]
    results: tuple[ToolResult, ...]
    words: str


def steps(shape: Shape, protected: Set[int]) -> list[Step]:
    """The removable steps, oldest first: all calls have results, and a prompt or an answer follows.
    An exchange that ends with words has more than steps.
    """
    messages = shape.messages
    tool_results = {result.position: result for result in results(shape, shape.ages())}
    exchanges = grouped(range(len(messages)), shape.exchange)
    open_exchanges = {shape.exchange[position] for position, _ in shape.unanswered}
    roles = ("assistant", "user")
    spoken = [position for position in shape.visible if messages[position].role in roles]
    removable = []
    for exchange, answers in grouped(tool_results, shape.exchange).items():
        positions = exchanges[exchange]
        ends_with_words = messages[positions[-1]].role != "tool"
        if messages[exchange].role == "user" or exchange in open_exchanges or ends_with_words:
            continue
        if protected.isdisjoint(positions) and spoken and positions[-1] < spoken[-1]:
            step_results = tuple(tool_results[position] for position in answers)
            words = (_words(messages[at]) for at in positions if messages[at].role != "tool")
            removable.append(
                Step(exchange, positions, step_results, "\n".join(filter(None, words)))
            )
    return removable


def _words(message: Message) -> str:
    """The text of a message without its leading digests; empty if the text contains its calls."""
    if any(call.span is None and call.block is None for call in message.calls):
        return ""  # quoted calls would look like new ones
    return "\n".join(part.text for part in with_leads(message).parts if _is_own_text(part)).strip()


def _is_own_text(part: Part) -> bool:
    """Whether a part is a text, and neither of a server tool nor the JSON of another block."""
    is_json = part.span is None and part.text.startswith("{")
    return part.kind == "text" and not part.server and not is_json


@dataclass(frozen=True)
class DigestWriter:
    """The writer of digests: an LLM if there is one, else one line per result with its head and
    tail.
    """

    counter: Counter
    mode: str
    summarizer: Summarizer | None
    redacts: bool

    def of(self, group: Sequence[Step], limit: int, may_ask: bool) -> Summary:
        """The digest of steps, without a title.

        As a message it has fewer than `limit` tokens if possible. `may_ask`: whether an LLM may be
        used.
        """
        if self.redacts:
            group = [_masked(step) for step in group]
        short = _brief_text(group)
        if self._size(short) >= limit:
            return Summary(short, FALLBACK)

        def fallback() -> str:
            full = _full_text(group[0]) if len(group) == 1 else short
            return full if self._size(full) < limit else short

        if self.mode != "llm" or self.summarizer is None or not may_ask:
            return Summary(fallback(), FALLBACK)
        lines = _brief_lines(group[0]) if len(group) == 1 else []
        opening = "".join(f"{line}\n" for line in lines)
        request = SummaryRequest(
            self._prompt(group),
            MAX_DIGEST,
            limit - self._size(opening),
            self.counter.tokenizer,
            max_chars=max(1, MAX_DIGEST - _HEADER - len(opening)),
            redacts=self.redacts,
        )
        summary = summarized(request, self.summarizer, lambda: "")
        text = _without_separators(f"{opening}{summary.text}")
        if summary.text and self._size(text) < limit:
            return replace(summary, text=text)
        return replace(summary, text=fallback(), by=FALLBACK, origin="rules")

    def _size(self, text: str) -> int:
        """The tokens of a digest, including the line that may separate it from an answer."""
        whole = digests.digest_text([DigestEntry(markers.DIGEST, text)])
        message = digest_message(whole, hides=False)
        return self.counter.cost(message, 0).total + self.counter.text(markers.END)

    def _prompt(self, group: Sequence[Step]) -> str:
        """The prompt for the digest of steps."""
        group_results = [result for step in group for result in step.results]
        names = ", ".join(dict.fromkeys(result.tool for result in group_results))
        calls = [result.call.text for result in group_results if result.call is not None]
        arguments = "\n".join(calls)
        outputs = [
            result.text if len(group_results) == 1 else f"{line_of_result(result)}\n{result.text}"
            for result in group_results
        ]
        return tool_prompt(names, arguments, "\n\n".join(outputs), redacts=self.redacts)


def _brief_text(group: Sequence[Step]) -> str:
    """The shortest digest of steps: the assistant's text and a line for each result of the newest
    steps.
    """
    entries = []
    for step in group:
        lines = "\n".join(_brief_lines(step))
        text = _without_separators(bounded(lines, _MAX_BY_RULES - _HEADER))
        entries.append(DigestEntry(markers.DIGEST, text))
    if len(entries) == 1:
        return entries[0].text
    return "\n\n".join(filter(None, digests.bounded_texts(entries, _MAX_BY_RULES, len)))


def _brief_lines(step: Step) -> list[str]:
    """The assistant's text, and a line for each result."""
    words = [f"> {head(step.words, _QUOTE)}"] if step.words else []
    return [*words, *map(line_of_result, step.results)]


def _full_text(step: Step) -> str:
    """The assistant's text, and a line for each result with its head and tail if there is room."""
    brief = _brief_lines(step)
    room = _MAX_BY_RULES - _HEADER - sum(len(line) + 2 for line in brief)
    room //= len(step.results)
    lines = brief[: -len(step.results)]
    for result, line in zip(step.results, brief[len(lines) :], strict=True):
        lines.append(line)
        excerpt = bounded(result.text.strip(), room) if room >= _EXCERPT else ""
        if excerpt:
            lines.append(excerpt)
    return _without_separators(bounded("\n".join(lines), _MAX_BY_RULES - _HEADER))


def _without_separators(text: str) -> str:
    """A text without empty lines, which separate entries, and without end markers."""
    return _BLANK.sub("\n", markers.without_ends(text)).strip()


def _masked(step: Step) -> Step:
    """A step without secrets.

    Masking comes before clipping, because a clipped key is not recognizable.
    """
    masked = []
    for result in step.results:
        call = result.call and replace(result.call, text=redacted(result.call.text))
        masked.append(replace(result, text=redacted(result.text), call=call))
    return replace(step, results=tuple(masked), words=redacted(step.words))
