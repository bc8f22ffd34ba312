"""The messages of a session that opencode sends.

::

    user          {"parts": [{"type": "compaction", "tail_start_id"?}]}   the marker of a compaction
    assistant     {"info": {"summary": true, "finish", "parentID": …}}    its summary

opencode sends the summary of the last complete compaction, the messages from `tail_start_id` to its
marker, and the messages after it. Older versions write a summary without marker and `finish`. It
removes what the user undid, `{"info": {"revert": {"messageID", "partID"?}}}`, before it sends the
next prompt.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ctxtrim.formats.fields import elements, members, string
from ctxtrim.formats.message_lists import Element
from ctxtrim.formats.opencode import info_of


def before_revert(items: Iterable[Element], around: Mapping[str, Any]) -> Iterator[Element]:
    """The messages of a session of either version that the user did not undo.

    Of an answer that is undone from a part on, the last one has the parts before that.
    """
    revert = members(info_of(around).get("revert"))
    name, part = revert.get("messageID"), revert.get("partID")
    for item in items:
        own = info_of(item.value).get("id", members(item.value).get("id"))
        if not isinstance(name, str) or own != name:
            yield item
            continue
        parts = elements(item.value.get("parts"))
        ids = [members(inner).get("id") for inner in parts]
        if part in ids and part is not None:
            yield item._replace(value=item.value | {"parts": parts[: ids.index(part)]})
        return


class SentMessages:
    """What opencode sends of some messages, by position.

    `summary`: the summary of the last compaction. `boundary`: its marker; usage recorded before it
    is outdated. `tail`: the first message that it keeps. `history`: the messages that it replaces,
    and all markers before it. `rest`: the other messages, in order.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.summary, self.boundary = _last_compaction(values)
        self.tail = _first_kept(values, self.boundary)
        self.history: list[int] = []
        self.rest: list[int] = []
        for position, value in enumerate(values):
            is_old = position < self.tail or position == self.boundary
            if position == self.summary:
                continue
            if is_old or (position < self.boundary and _is_marker(value)):
                self.history.append(position)
            else:
                self.rest.append(position)


def _last_compaction(values: Sequence[Any]) -> tuple[int | None, int]:
    """The positions of the summary and of the marker of the last compaction; None and -1 without
    one.
    """
    markers = {
        info_of(value)["id"]: position for position, value in enumerate(values) if _marks(value)
    }
    summary: int | None = None
    boundary = -1
    for position, value in enumerate(values):
        info = info_of(value)
        if info.get("summary") is not True or info.get("error") or info["role"] == "user":
            continue
        parent = info.get("parentID")
        marker = markers.get(parent, -1) if isinstance(parent, str) else -1
        is_old = marker < 0 and info.get("mode") != "compaction"
        if is_old and "finish" not in info and position > boundary:
            summary, boundary = position, position
        elif info.get("finish") and position > marker > boundary:
            summary, boundary = position, marker
    return summary, boundary


def _first_kept(values: Sequence[Any], boundary: int) -> int:
    """The position of the first message that the compaction at a marker keeps; that of the marker
    if it keeps none.
    """
    start = tail_start(values[boundary]) if boundary >= 0 else None
    if start is None:
        return boundary
    ids = [info_of(value)["id"] for value in values[:boundary]]
    return ids.index(start) if start in ids else 0


def _marks(value: Any) -> bool:
    """Whether a message has the marker of a compaction."""
    return info_of(value)["role"] == "user" and compaction_at(value) is not None


def _is_marker(value: Any) -> bool:
    """Whether a message has nothing but the marker of a compaction."""
    return _marks(value) and len(value["parts"]) == 1


def compaction_at(value: Any) -> int | None:
    """The position of the compaction among the parts of a message."""
    kinds = [members(part).get("type") for part in value["parts"]]
    return kinds.index("compaction") if "compaction" in kinds else None


def tail_start(value: Any) -> str | None:
    """The id of the first message that the compaction in a message keeps."""
    position = compaction_at(value)
    return None if position is None else string(value["parts"][position].get("tail_start_id"))
