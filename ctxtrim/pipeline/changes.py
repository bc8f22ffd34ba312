"""The changes of a stage, measured, and the originals that they replace."""

from collections.abc import Iterator, Mapping, Sequence

from ctxtrim.conversation.tool_results import result_text, tool_name, trace_id
from ctxtrim.model import Transcript
from ctxtrim.stage import Change, Measured, Original, Outcome
from ctxtrim.tokens.counter import Counter


def measured(
    counter: Counter, before: Transcript, outcome: Outcome, archived: Mapping[int, str]
) -> tuple[Measured, ...]:
    """The changes of a stage with their costs. `archived`: the names of stored originals, by
    message index.

    Lines that are removed with their messages follow, with 0 tokens.
    """
    costs, rest = _costs_by_key(counter, before), _costs_by_key(counter, outcome.transcript)

    def with_costs(change: Change) -> Measured:
        key = change.message, change.before
        if change.message is None and change.action in ("inserted", "repaired"):
            own = rest.get(key)  # in reverse order; each new message has a change
            return Measured(change, 0, own.pop() if own else 0)
        tokens = sum(costs.get(key, ()))
        if change.message is None and change.action == "kept":
            return Measured(change, tokens, tokens)  # the message after it may be dropped
        name = None if change.message is None else archived.get(change.message)
        return Measured(change, tokens, sum(rest.get(key, ())), name)

    messages = map(with_costs, outcome.changes)
    lines = _removed_lines(before, outcome.transcript)
    return (*messages, *(Measured(change, 0, 0) for change in lines))


def _removed_lines(before: Transcript, after: Transcript) -> Iterator[Change]:
    """The changes for lines that are removed with their messages."""
    left = {message.index for message in after.messages}
    for message in before.messages:
        if message.companions and message.index not in left:
            for companion in message.companions:
                reason = f"{companion.kind} of message {message.index}"
                yield Change(None, "dropped", reason, line=before.line_at(companion.span))


def originals(
    counter: Counter, transcript: Transcript, changes: Sequence[Change]
) -> list[Original]:
    """The results that a stage changed or dropped, as they were read.

    A result that moves to a file is stored as the stage saw it, because the stage names that file
    by its hash.
    """
    changed = {
        change.message: change.action
        for change in changes
        if change.action != "kept" and change.message is not None
    }
    shape = counter.shape(transcript.messages)
    results = []
    for position, message in enumerate(transcript.messages):
        result = message.result
        if message.index in changed and message.index is not None and result is not None:
            is_archived = changed[message.index] == "archived"
            text = result_text(
                message if is_archived else transcript.source.messages[message.index]
            )
            name = result.call_id or trace_id(text)
            tool = tool_name(result, shape.call[position])
            line, action = transcript.line_of(message), changed[message.index]
            results.append(Original(message.index, name, text, tool, line, action))
    return results


def _costs_by_key(
    counter: Counter, transcript: Transcript
) -> dict[tuple[int | None, int | None], list[int]]:
    """Costs by the key that changes use for a message.

    Several messages may be inserted before the same one; their costs are in reverse order.
    """
    costs_by_key: dict[tuple[int | None, int | None], list[int]] = {}
    following: int | None = None
    costs = counter.costs(transcript.messages)
    for message, cost in zip(reversed(transcript.messages), reversed(costs), strict=True):
        key = (None, following) if message.index is None else (message.index, None)
        costs_by_key.setdefault(key, []).append(cost.total)
        following = following if message.index is None else message.index
    return costs_by_key
