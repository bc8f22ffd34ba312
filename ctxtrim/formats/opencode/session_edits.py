"""Edits of opencode sessions: inserted messages, and links after removals and insertions.

Messages are sorted by time and id, so the ids of new messages sort after those before them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.base import BEFORE_SUMMARY, Edit, Insertion, Site
from ctxtrim.formats.fields import members
from ctxtrim.formats.message_lists import element_of
from ctxtrim.formats.message_parts import text_of
from ctxtrim.formats.opencode import info_of, knows
from ctxtrim.formats.opencode.sent_messages import SentMessages, compaction_at, tail_start
from ctxtrim.model import Message, Span


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each new message as a separate message; an answer around it is split.

    Raises a `NotEditableError` before the summary of a compaction, which opencode sends first.
    """
    earlier = _message_around(site.earlier.spans[0]) if site.earlier is not None else None
    later = _message_around(site.later.spans[0]) if site.later is not None else None
    if site.later is not None and later is not None and earlier == later:
        return _split(run, site, site.later, later)
    span = later or earlier or _message_around(site.last.spans[0])
    is_after = later is None
    neighbour = members(site.value_of(span))
    if not is_after and info_of(neighbour).get("summary") is True:
        raise NotEditableError(BEFORE_SUMMARY)
    previous = neighbour if is_after else members(_previous(span, site))
    return [
        Insertion(_new_message(message, neighbour, previous, number), span, is_after)
        for number, message in enumerate(run)
    ]


def _message_around(span: Span) -> Span:
    """The message that contains a span, which is that message or one of its parts."""
    return element_of(span, ("parts",))


def _previous(span: Span, site: Site) -> Any:
    """The message before a message; None if it is the first."""
    if not span.path:
        return site.value_of(Span(span.line - 1)) if span.line else None
    index = int(span.path[-1])
    return site.value_of(span.outer.inside(index - 1)) if index else None


def _split(
    run: Sequence[Message], site: Site, later: Message, message_span: Span
) -> list[Insertion]:
    """Messages between two steps of an answer. Its second half gets a new id."""
    original = site.messages[later.index or 0]
    blocks = {part.block for part in later.parts}
    dropped_blocks = {part.block for part in original.parts if part.block not in blocks}
    cut = next((span for span in original.spans if span not in dropped_blocks), original.spans[0])
    value, position = site.value_of(message_span), cut.path[-1]
    info = info_of(value)
    second_half = {"info": info | {"id": _name(info.get("id"), "again", position, len(run))}}
    messages = (
        _new_message(message, value, value, number, position) for number, message in enumerate(run)
    )
    return [Insertion(message, cut, cuts=True, reopened=second_half) for message in messages]


def _new_message(
    message: Message, neighbour: Any, previous: Any, number: int, position: Any = 0
) -> dict[str, Any]:
    """A message with a text, sorted after the message before it."""
    text, neighbour_info = text_of(message.parts), info_of(neighbour)
    previous_info = info_of(previous)
    created = members((previous_info or neighbour_info).get("time")).get("created")
    name = _name(previous_info.get("id"), text, position, number)
    ids = {"sessionID": neighbour_info["sessionID"]} if "sessionID" in neighbour_info else {}
    info: dict[str, Any] = {"id": name} | ids
    if isinstance(created, (int, float)):
        info["time"] = {"created": created if previous_info else created - 1}
    role = "assistant" if message.role == "assistant" else "user"
    fields = _shared_fields(role, neighbour_info)
    part = {"id": f"prt_{name.removeprefix('msg_')}"} | ids | {"messageID": name}
    body = {"type": "text", "text": text, "synthetic": True}
    return {"info": info | {"role": role} | fields, "parts": [part | body]}


def _shared_fields(role: str, info: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that opencode requires, as in a neighbour of either role."""
    keys = ("providerID", "modelID")
    if role == info.get("role"):
        return {key: info[key] for key in ("agent", "model", "parentID", *keys) if key in info}
    if role == "assistant":
        return {key: value for key, value in members(info.get("model")).items() if key in keys}
    model = {key: info[key] for key in keys if key in info}
    agent = info.get("agent", info.get("mode"))
    return ({} if agent is None else {"agent": agent}) | ({"model": model} if model else {})


def _name(value: Any, content: str, position: Any, number: int) -> str:
    """An id that sorts after the one before it.

    Without one, it sorts before all ids, which start with a time.
    """
    from hashlib import sha256  # few conversations need it

    previous = value if isinstance(value, str) else "msg_000000000000"
    digest = sha256(f"{previous} {content}".encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{previous}_{position:04}{number:02}{digest}"


def relink(edit: Edit) -> Edit:
    """The edit with updated links: of parts to the second half of their message, of answers to a
    kept prompt, and of a compaction to the first message that it keeps.
    """
    removed: set[Span] = set(edit.removed)
    changes = list(_halves(edit))
    for session in _sessions(edit):
        changes += _parents(session, edit)
        for span, start in _tails(session, edit):
            if start is None:
                removed.add(span.inside("tail_start_id"))
            else:
                changes.append((span, {"tail_start_id": start}))
    return replace(edit.with_members(changes), removed=removed)


def _halves(edit: Edit) -> Iterator[tuple[Span, dict[str, Any]]]:
    """The parts after each cut, with the id of the half that contains them."""
    cuts = {insertion.span: insertion.reopened for insertion in edit.inserted if insertion.cuts}
    for span in cuts:
        parts = edit.value_at(span.outer)
        for position in range(int(span.path[-1]), len(parts)):
            part = span.outer.inside(position)
            if part in cuts and part != span:
                break
            if part not in edit.removed and "messageID" in members(parts[position]):
                yield part, {"messageID": cuts[span]["info"]["id"]}


_Session = Sequence[tuple[Span, Any]]


def _sessions(edit: Edit) -> Iterator[_Session]:
    """The messages of each edited session, with their spans."""
    spans = {_message_around(span) for span in (*edit.removed, *edit.kept)}
    arrays = {span.outer for span in spans if span.path}
    for array in sorted(arrays, key=lambda span: (span.line, len(span.path), str(span.path))):
        values = edit.value_at(array)
        if isinstance(values, list):
            yield [
                (array.inside(index), value) for index, value in enumerate(values) if knows(value)
            ]
    if any(not span.path for span in spans):
        yield [(Span(line), value) for line, value in enumerate(edit.values) if knows(value)]


def _kept_ids(session: _Session, edit: Edit) -> Iterator[tuple[int, Any]]:
    """The `info` of each kept and new message, with the position that it is at or next to."""
    for position, (span, value) in enumerate(session):
        for item in edit.in_order([span]):
            yield position, info_of(item.value if isinstance(item, Insertion) else value)


def _parents(session: _Session, edit: Edit) -> Iterator[tuple[Span, dict[str, Any]]]:
    """Answers whose prompt is removed, with the id of the nearest prompt before them."""
    removed_ids = {info_of(value)["id"] for span, value in session if span in edit.removed}
    prompt_id: Any = None
    for position, info in _kept_ids(session, edit):
        parent = info.get("parentID")
        if info.get("role") == "user":
            prompt_id = info["id"]
        elif isinstance(parent, str) and parent in removed_ids and prompt_id:
            span, value = session[position]
            if info_of(value) is info:
                yield span.inside("info"), {"parentID": prompt_id}


def _tails(session: _Session, edit: Edit) -> Iterator[tuple[Span, str | None]]:
    """The compaction in effect, with the id of the first message that it now keeps."""
    context = SentMessages([value for _, value in session])
    if context.summary is None or context.boundary == context.summary:
        return
    span, value = session[context.boundary]
    position = compaction_at(value)
    start = tail_start(value)
    if start is None or span in edit.removed:
        return
    positions = range(context.tail, context.boundary)
    ids = (info["id"] for place, info in _kept_ids(session, edit) if place in positions)
    first_id = next(ids, None)
    if first_id != start:
        yield span.inside("parts", position or 0), first_id
