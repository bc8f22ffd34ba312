"""Lines of a list that name the line before them: what is mended when some of them go and others come."""

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

from ctxtrim.formats.base import Insertion, Mended
from ctxtrim.model import Line, Span
from ctxtrim.text.records import split


def mend(lines: Sequence[Line], removed: Set[Span], kept: Set[Span], inserted: Sequence[Insertion]) -> Mended:
    """A line whose parent goes is hung under its nearest ancestor that stays.

    A new line is hung under the one before it, and the one after it under the new one. A line is an object with an `id`
    and the `parentId` that it follows.
    """
    if not any(b'"parentId"' in line.data for line in lines):
        return Mended({}, removed, inserted)
    around: dict[tuple[Span, bool], list[int]] = {}
    for number, one in enumerate(inserted):
        around.setdefault((one.where, one.is_after), []).append(number)
    news = list(inserted)
    heirs: dict[str, Any] = {}  # of a line that goes: the ancestor that stays
    values: dict[Span, dict[str, Any]] = {}
    last: Any = None  # the line before, by its id
    follows_new = False

    def hang(numbers: Sequence[int]) -> None:
        nonlocal last, follows_new
        for number in numbers:
            if "parentId" in news[number].value:
                news[number] = replace(news[number], value=news[number].value | {"parentId": last})
                last, follows_new = news[number].value["id"], True

    for index, line in enumerate(lines):
        span, value = Span(index), split(line.data, line.number)[0].value
        hang(around.get((span, False), ()))
        if isinstance(value, dict) and isinstance(value.get("id"), str):
            parent = value.get("parentId")
            heir = heirs.get(parent, parent) if isinstance(parent, str) else None
            if span in removed:
                heirs[value["id"]] = heir
            else:
                heir = last if follows_new and "parentId" in value else heir
                if heir != parent:
                    values[span] = {"parentId": heir}
                last, follows_new = value["id"], False
        hang(around.get((span, True), ()))
    return Mended(values, removed, news)
