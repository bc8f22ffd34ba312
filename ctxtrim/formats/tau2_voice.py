"""Voice simulations of tau2-bench: `{"mode": "full_duplex", "ticks": [{agent_chunk, user_chunk}]}`.

A tick holds what both sides do at the same time, in this order: the agent's chunk and calls, their
results, the user's chunk and calls, their results. Consecutive chunks of one speaker are a message.
Checked against `data_model/message.py` of sierra-research/tau2-bench (2026). Ticks are the time
line of the audio, so that no tick is removed: a dropped chunk has null as its content.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ctxtrim.formats.base import Edit, Insertion, Site
from ctxtrim.formats.fields import elements, members, string
from ctxtrim.formats.message_lists import Dialect, Element, ListContents
from ctxtrim.formats.message_parts import listed_calls, text_of
from ctxtrim.model import Message, Part, Role, Span

_SIDES: tuple[tuple[str, Role], ...] = (("agent", "assistant"), ("user", "user"))
_CONTENT_KEYS = ("content", "speech_insert")
_INSERTED = "text"
"""The source of a chunk that is a message alone."""


def knows(value: object) -> bool:
    """Whether a value is a tick."""
    if not isinstance(value, dict) or type(value.get("tick_id")) is not int:
        return False
    return any(
        f"{side}_{kind}" in value for side, _ in _SIDES for kind in ("chunk", "tool_results")
    )


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read the messages of all ticks."""
    run: list[_Piece] = []  # the chunks of a message
    for value, span, _ in items:
        for piece in _pieces(value, span):
            if run and not piece.continues(run[-1]):
                _add(run, contents)
                run = []
            run.append(piece)
    if run:
        _add(run, contents)


def _add(run: Sequence["_Piece"], contents: ListContents) -> None:
    """Add the message of some pieces."""
    parts = chain.from_iterable(piece.parts for piece in run)
    spans = chain.from_iterable(piece.spans for piece in run)
    contents.add(run[0].role, parts, *spans, value=run[0].result)


class _Piece(NamedTuple):
    """A chunk with its calls, or a result, which is also given as its JSON value.

    `is_alone`: no chunk before or after it belongs to the same message.
    """

    role: Role
    parts: list[Part]
    spans: list[Span]
    is_alone: bool
    result: dict[str, Any] | None = None

    def continues(self, before: "_Piece") -> bool:
        """Whether it belongs to the message of the piece before it, which a call ends."""
        if self.role != before.role or self.is_alone or before.is_alone:
            return False
        return all(part.kind != "tool_call" for part in before.parts)


def _pieces(value: Any, span: Span) -> Iterator[_Piece]:
    """The chunks and results of a tick."""
    if not knows(value):
        return
    for side, role in _SIDES:
        chunk, value_span = members(value.get(f"{side}_chunk")), span.inside(f"{side}_chunk")
        parts, spans = _speech(chunk, value_span)
        key = f"{side}_tool_calls"
        calls = listed_calls(value.get(key), span.inside(key), "arguments")
        parts += calls
        spans += [span.inside(key, index) for index in range(len(calls))]
        if parts:
            yield _Piece(role, parts, spans, is_alone=chunk.get("source") == _INSERTED)
        key = f"{side}_tool_results"
        for index, result in enumerate(map(members, elements(value.get(key)))):
            place = span.inside(key, index)
            yield _Piece("tool", [_result(result, place)], [place], is_alone=True, result=result)


def _speech(chunk: dict[str, Any], span: Span) -> tuple[list[Part], list[Span]]:
    """The texts of a chunk: its content, unless it is audio, and other texts."""
    parts: list[Part] = []
    spans: list[Span] = []
    text, value_span = string(chunk.get("content")), span.inside("content")
    if text and chunk.get("is_audio") is not True:
        parts.append(Part("text", text, span=value_span, block=value_span))
        spans.append(value_span)
    for key in ("speech_effects", "source_effects"):
        speech = members(members(chunk.get(key)).get("speech_insert")).get("text")
        if isinstance(speech, str) and speech:
            parts.append(Part("text", speech))
            spans.append(span.inside(key, "speech_insert"))
    return parts, spans


def _result(value: dict[str, Any], span: Span) -> Part:
    text, error = string(value.get("content")), value.get("error")
    value_span = span.inside("content") if text is not None else None
    is_error = True if error is True else None
    return Part("tool_result", text or "", string(value.get("id")), None, is_error, span=value_span)


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Results next to the results of their tick; other messages as ticks."""
    earlier, later = site.earlier, site.later
    if run[0].role == "tool" and earlier is not None:
        last = earlier.spans[-1]
        if earlier.role == "tool":
            return [Insertion(_result_value(message), last, is_after=True) for message in run]
        tick = _tick(last)
        side = next(side for side, role in _SIDES if role == earlier.role)
        key = f"{side}_tool_results"
        if isinstance(members(site.value_of(tick)).get(key), list):
            return [Insertion(_result_value(message), tick.inside(key, 0)) for message in run]
    is_after = site.follows(run)
    other = (earlier or site.last).spans[-1] if is_after or later is None else later.spans[0]
    neighbour = members(site.value_of(_tick(other)))
    return [Insertion(_tick_value(message, neighbour), _tick(other), is_after) for message in run]


def _tick(span: Span) -> Span:
    """The span of the tick that contains a span."""
    starts = tuple(f"{side}_" for side, _ in _SIDES)
    is_inside = [isinstance(key, str) and key.startswith(starts) for key in span.path]
    return Span(span.line, span.path[: is_inside.index(True)])


def _tick_value(message: Message, neighbour: dict[str, Any]) -> dict[str, Any]:
    time = {key: neighbour[key] for key in ("tick_id", "timestamp") if key in neighbour}
    if message.result is not None:
        return time | {"agent_tool_results": [_result_value(message)]}
    side = next(side for side, role in _SIDES if role == message.role)
    text = text_of(message.parts)
    chunk = {"role": message.role, "content": text, "contains_speech": False, "source": _INSERTED}
    return time | {f"{side}_chunk": chunk}


def _result_value(message: Message) -> dict[str, Any]:
    call_id = message.result.call_id if message.result is not None else None
    return {"id": call_id, "role": "tool", "content": text_of(message.parts), "error": False}


def relink(edit: Edit) -> Edit:
    """The edit with null for dropped contents."""
    contents = {span for span in edit.removed if span.path and span.path[-1] in _CONTENT_KEYS}
    return edit.with_value(contents, None)


DIALECT = Dialect(
    "tau2-voice",
    knows,
    read,
    insert,
    relink=relink,
    places=("ticks", "simulations[*].ticks", "[*].ticks", ""),
)
