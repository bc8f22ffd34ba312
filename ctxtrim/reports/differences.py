"""What a run changes, message by message, as in a diff.

::

    @@ message 3, line 4 (result of bash): truncated, 1,204 → 210 tokens: age 7 > 5
    - the first lines that only the input has
    - … 120 lines more
    + the first lines that only the output has
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

from ctxtrim.conversation.tool_results import tool_name
from ctxtrim.model import Message, Part, Transcript
from ctxtrim.pipeline import PipelineRun
from ctxtrim.reports.model import Difference
from ctxtrim.stage import Action, Change
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.tokenizer import Exactness, worse

_LINES = 3  # lines of a text that are shown before and after
_WIDTH = 100  # characters of a line


class _Item(NamedTuple):
    """A message, its tokens, and who wrote it."""

    message: Message
    tokens: int
    subject: str


def differences(transcript: Transcript, result: PipelineRun) -> Iterator[Difference]:
    """Every message that differs between a transcript as read and its result, in order."""
    written = _items(result.edited or result.transcript, result.meter.counter)
    known: dict[int | None, _Item] = {
        item.message.index: item for item in written if item.message.index is not None
    }
    inserted = _inserted(written)
    reasons, added = _reasons(result)
    exactness_read, exactness = result.exactness_read, result.count.exactness
    for item in _items(transcript, result.meter_read.counter):
        index = item.message.index
        yield from (_addition(new, added, exactness) for new in inserted.get(index, ()))
        after = known.get(index)
        if after is not None and after.message == item.message:
            continue
        change = reasons.get(index)
        action: Action = "dropped" if after is None else "truncated"
        if change is not None and change.action not in ("kept", "dropped"):
            action = change.action
        before, text = _text(item.message), "" if after is None else _text(after.message)
        start = 0 if after is None else _common(before.split("\n"), text.split("\n"))
        removed, more_removed = _first(before, start)
        inserted_lines, more_inserted = _first(text, start)
        yield Difference(
            message=index,
            line=transcript.line_of(item.message),
            subject=item.subject,
            action=action,
            reason=change.reason if change is not None else "",
            tokens_before=item.tokens,
            tokens_after=0 if after is None else after.tokens,
            exactness=exactness_read if after is None else worse(exactness_read, exactness),
            before=removed,
            before_more=more_removed,
            after=inserted_lines,
            after_more=more_inserted,
        )
    yield from (_addition(new, added, exactness) for new in inserted.get(None, ()))


def _items(transcript: Transcript, counter: Counter) -> list[_Item]:
    messages = transcript.messages
    calls = counter.shape(messages).call
    costs = counter.costs(messages)
    return [
        _Item(message, cost.total, _subject(message, call))
        for message, cost, call in zip(messages, costs, calls, strict=True)
    ]


def _subject(message: Message, call: Part | None) -> str:
    """Who wrote the message, or which tool."""
    result = message.result
    if result is not None:
        return f"result of {tool_name(result, call)}"
    names = [part.name for part in message.parts if part.kind == "tool_call" and part.name]
    return f"{message.role} calling {', '.join(dict.fromkeys(names))}" if names else message.role


def _inserted(items: Sequence[_Item]) -> dict[int | None, list[_Item]]:
    """New messages by the index of the message that follows them."""
    insertions: dict[int | None, list[_Item]] = {}
    following: int | None = None
    for item in reversed(items):
        if item.message.index is None:
            insertions.setdefault(following, []).insert(0, item)
        else:
            following = item.message.index
    return insertions


def _reasons(result: PipelineRun) -> tuple[dict[int | None, Change], str]:
    """The last edit of each message by its index, and the reason of the last insertion."""
    edits = [
        measured.change
        for step in result.steps
        for measured in step.changes
        if measured.change.action != "kept" and measured.change.line is None
    ]
    added = [change.reason for change in edits if change.message is None]
    changed = {change.message: change for change in edits}
    return changed, added[-1] if added else ""


def _addition(item: _Item, reason: str, exactness: Exactness) -> Difference:
    lines, more = _first(_text(item.message), 0)
    return Difference(
        message=None,
        line=None,
        subject=item.subject,
        action="inserted",
        reason=reason,
        tokens_before=0,
        tokens_after=item.tokens,
        exactness=exactness,
        after=lines,
        after_more=more,
    )


def _text(message: Message) -> str:
    """What the model reads of a message."""
    return "\n".join(filter(None, (part.text for part in message.parts)))


def _common(before: Iterable[str], after: Iterable[str]) -> int:
    """The number of equal lines at the start."""
    pairs = zip(before, after, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _first(text: str, start: int) -> tuple[tuple[str, ...], int]:
    """The first lines from a line on, each of at most `_WIDTH` characters, and how many follow."""
    lines = text.split("\n")[start:] if text else []
    shown = tuple(
        line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…" for line in islice(lines, _LINES)
    )
    return shown, len(lines) - len(shown)
