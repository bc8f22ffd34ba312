"""Updates `parentId` links between lines of a list when lines are removed or inserted."""

from collections.abc import Sequence, Set
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Insertion, Relinked
from ctxtrim.model import Line, Span
from ctxtrim.text.records import split


def relink(
    lines: Sequence[Line], removed: Set[Span], kept: Set[Span], inserted: Sequence[Insertion]
) -> Relinked:
    """The edits with updated links: if a line's parent is removed, its nearest kept ancestor
    replaces it.

    An inserted line follows the line before it, and the next line follows the inserted one. A line
    is an object with an `id` and a `parentId`.
    """
    if not any(b'"parentId"' in line.data for line in lines):
        return Relinked({}, removed, inserted)
    around: dict[tuple[Span, bool], list[int]] = {}
    for number, insertion in enumerate(inserted):
        around.setdefault((insertion.span, insertion.is_after), []).append(number)
    additions = list(inserted)
    kept_ancestors: dict[str, Any] = {}  # by the id of a removed line: its nearest kept ancestor
    values: dict[Span, dict[str, Any]] = {}
    last: Any = None  # the id of the line before
    follows_new = False

    def hang(numbers: Sequence[int]) -> None:
        nonlocal last, follows_new
        for number in numbers:
            if "parentId" in additions[number].value:
                additions[number] = replace(
                    additions[number], value=additions[number].value | {"parentId": last}
                )
                last, follows_new = additions[number].value["id"], True

    for index, line in enumerate(lines):
        span, value = Span(index), split(line.data, line.number)[0].value
        hang(around.get((span, False), ()))
        if isinstance(value, dict) and isinstance(value.get("id"), str):
            parent = value.get("parentId")
            kept_ancestor = kept_ancestors.get(parent, parent) if isinstance(parent, str) else None
            if span in removed:
                kept_ancestors[value["id"]] = kept_ancestor
            else:
                kept_ancestor = last if follows_new and "parentId" in value else kept_ancestor
                if kept_ancestor != parent:
                    values[span] = {"parentId": kept_ancestor}
                last, follows_new = value["id"], False
        hang(around.get((span, True), ()))
    return Relinked(values, removed, additions)
