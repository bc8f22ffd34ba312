"""The branches of a Kimi Code session (version 0.43 and newer).

An undo starts a branch. Its record names its base by a line of the file, counted from 1::

    {"type": "agent.switched", "branch": "b1", "base": {"branch": "main", "line": 9},
     "legacyUndoLine": 15}

The live records are those of the last branch, after those of its base up to that line. The
`context.undo` at `legacyUndoLine` is for older versions. The program also restores the reminders of
undone branches that belong to no prompt, or to a live one, and never undoes settings.
[MoonshotAI/kimi-code, `wire/tree/tree.ts`, `wire/tree/fork.ts`]
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, starmap
from typing import Any

from msgspec import Struct

from ctxtrim.formats.agents.kimi_state import is_typed
from ctxtrim.formats.base import Edit
from ctxtrim.formats.fields import members, string
from ctxtrim.model import Line, Span
from ctxtrim.text.records import value_of

SWITCHED = "agent.switched"
SETTINGS = ("config.update", "profile.bind", "llm.request", "llm.tools_snapshot")
"""The types of records with the system prompt, the model and the tools."""
_MESSAGE = "context.append_message"


class Switch(Struct, frozen=True):
    """The start of a branch at a line. `undo`: the line of its `context.undo`, else 0."""

    line: int
    branch: str
    base: str
    base_line: int
    undo: int


def switch_in(value: Any, line: int) -> Switch | None:
    """The switch in a record; None if there is none, or if it names no base."""
    fields = members(value)
    base, undo = members(fields.get("base")), fields.get("legacyUndoLine")
    branch, base_line = string(fields.get("branch")), base.get("line")
    if fields.get("type") != SWITCHED or branch is None or type(base_line) is not int:
        return None
    name = string(base.get("branch")) or "main"
    return Switch(line, branch, name, base_line, undo if type(undo) is int else 0)


def live_lines(switches: Sequence[Switch], last: int) -> Iterator[int]:
    """The numbers of the live lines of a file with some switches and a last line, in order."""
    starts = {switch.branch: switch for switch in switches}
    unsent_lines = {switch.line for switch in switches} | {switch.undo for switch in switches}
    ranges: list[range] = []
    branch = switches[-1].branch
    while (switch := starts.pop(branch, None)) is not None:
        ranges.append(range(switch.line + 1, last + 1))
        branch, last = switch.base, min(switch.base_line, last, switch.line - 1)
    ranges.append(range(1, last + 1))
    for lines in reversed(ranges):
        yield from (line for line in lines if line not in unsent_lines)


def live_values(
    records: Iterable[tuple[Any, int]], lines: Sequence[Line]
) -> Iterator[tuple[Any, int]] | None:
    """The live values of the last branch and the indices of their lines; None without a branch.

    `records`: the values of records that may start a branch, and the numbers of their lines.
    """
    switches = list(filter(None, starmap(switch_in, records)))
    return _restored(switches, lines) if switches else None


def _restored(switches: Sequence[Switch], lines: Sequence[Line]) -> Iterator[tuple[Any, int]]:
    """The values that the program restores, and the indices of their lines."""
    live = {number - 1 for number in live_lines(switches, len(lines))}
    prompt_ids = {_prompt_id(value_of(lines[index].data)) for index in live}
    for index, line in enumerate(lines):
        value = value_of(line.data)
        if index in live or _outlives_undo(value, prompt_ids):
            yield value, index


def _prompt_id(value: Any) -> str | None:
    """The id of the prompt in a record; None if there is none."""
    message = members(members(value).get("message"))
    is_prompt = message.get("role") == "user" and is_typed(members(message.get("origin")))
    return string(message.get("id")) if is_prompt else None


def _outlives_undo(value: Any, prompt_ids: Container[str | None]) -> bool:
    """Whether a record of an undone branch is restored: a setting, or a reminder that belongs to no
    prompt or to one of some prompts.
    """
    fields = members(value)
    if fields.get("type") != _MESSAGE:
        return fields.get("type") in SETTINGS
    origin = members(members(fields.get("message")).get("origin"))
    owner = string(origin.get("ownerPromptId"))
    return origin.get("kind") == "injection" and (owner is None or owner in prompt_ids)


def renumbered(edit: Edit) -> Mapping[Span, Mapping[str, Any]]:
    """The changed members of all switches, whose lines have other numbers after an edit."""
    line_switches = [switch_in(value, line) for line, value in enumerate(edit.values, 1)]
    switches = [switch for switch in line_switches if switch is not None]
    if not switches:
        return {}
    numbers = _new_numbers(edit, len(line_switches))
    changes: dict[Span, dict[str, Any]] = {}
    for switch in switches:
        span = Span(switch.line - 1)
        base_line = numbers[min(max(switch.base_line, 0), len(line_switches))]
        if base_line != switch.base_line:
            changes[span.inside("base")] = {"line": base_line}
        if 0 < switch.undo <= len(line_switches) and numbers[switch.undo] != switch.undo:
            changes[span] = {"legacyUndoLine": numbers[switch.undo]}
    return changes


def _new_numbers(edit: Edit, size: int) -> Sequence[int]:
    """By the old number of a line, the number of written lines up to it.

    A new message after a line belongs to the branch of that line.
    """
    counts = [int(Span(line) not in edit.removed) for line in range(size)]
    for insertion in edit.inserted:
        if not (insertion.replaces or insertion.span.path):
            counts[insertion.span.line] += 1
    return list(accumulate(counts, initial=0))
