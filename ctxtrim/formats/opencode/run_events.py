"""The output of `opencode run --format json`: an event with one part of a message per line.

::

    {"type": "step_start", "timestamp", "sessionID", "part": {"type": "step-start", "messageID"}}
    {"type": "text" | "reasoning", …, "part": {"type", "text", "time"}}
    {"type": "tool_use", …, "part": {"type": "tool", "callID", "tool", "state": {…}}}
    {"type": "step_finish", …, "part": {"type": "step-finish", "tokens"}}
    {"type": "error", …, "error"}

Every part is complete, and a tool part has a call and its result. A part that opencode updates
again, as when it clears an old result, is written again. The prompts are not in the stream, except
texts that opencode itself sends (`synthetic`), and neither are earlier messages of a session that
is continued. Reasoning is written with `--thinking` only. Other events are not sent.
[anomalyco/opencode, packages/opencode/src/cli/cmd/run.ts and src/session/compaction.ts]
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from ctxtrim.formats.base import Insertion, Site, session
from ctxtrim.formats.fields import Located, members, metadata_in, string
from ctxtrim.formats.message_lists import ListContents, insert_elements
from ctxtrim.formats.message_parts import event_id, text_of
from ctxtrim.formats.opencode import knows_run
from ctxtrim.formats.opencode.session import add_steps
from ctxtrim.model import Line, Message, Part, Span, Transcript
from ctxtrim.text.records import JsonRecord


class _Piece(NamedTuple):
    """A part, the lines with it, of which the last one has its newest state, and the event of the
    first one, which has the debug members of its result.
    """

    part: dict[str, Any]
    lines: tuple[int, ...]
    first_event: Mapping[str, Any]

    @property
    def span(self) -> Span:
        """The span of the part in its newest state."""
        return Span(self.lines[-1], ("part",))


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """A conversation for each session id."""
    sessions: dict[str, dict[object, _Piece]] = {}
    for line, record in enumerate(records):
        if knows_run(record.value):
            event = members(record.value)
            part = event["part"]
            pieces = sessions.setdefault(event["sessionID"], {})
            key = string(part.get("id")) or line
            earlier = pieces.get(key, _Piece(part, (), event))
            pieces[key] = _Piece(part, (*earlier.lines, line), earlier.first_event)
    return [
        transcript
        for name, pieces in sessions.items()
        for transcript in _conversation(name, list(pieces.values()), lines)
    ]


def _conversation(name: str, pieces: Sequence[_Piece], lines: Sequence[Line]) -> list[Transcript]:
    contents = ListContents()
    has_usage = not any(_is_cleared(piece.part) for piece in pieces)  # else it is outdated
    answer: list[Located] = []
    for piece in pieces:
        if not _is_prompt(piece.part):
            answer.append((piece.part, piece.span))
            continue
        add_steps(answer, contents, None, has_usage)
        answer = []
        text = Part("text", piece.part["text"], span=piece.span.inside("text"), block=piece.span)
        contents.add("user", [text], piece.span, is_injected=True)
    add_steps(answer, contents, None, has_usage)
    by_span = {piece.span: piece for piece in pieces}
    messages = [_on_lines(message, by_span) for message in contents.messages]
    return session(messages, lines, id=name, usages=tuple(contents.usages))


def _is_prompt(part: dict[str, Any]) -> bool:
    """Whether a part is a text that opencode sends as a user message."""
    is_text = part["type"] == "text" and isinstance(part.get("text"), str)
    return is_text and part.get("synthetic") is True


def _is_cleared(part: dict[str, Any]) -> bool:
    """Whether a part is a call whose result opencode no longer sends."""
    return bool(members(members(part.get("state")).get("time")).get("compacted"))


def _on_lines(message: Message, by_span: Mapping[Span, _Piece]) -> Message:
    """A message that is removed with its lines. A part on several lines is not removed alone."""
    parts = []
    for part in message.parts:
        piece = by_span.get(part.block) if part.block is not None else None
        if piece is not None:
            part = replace(part, block=Span(piece.lines[0]) if len(piece.lines) == 1 else None)
        parts.append(part)
    all_lines = sorted(line for span in message.spans for line in by_span[span].lines)
    metadata = message.metadata
    if message.role == "tool":
        metadata = metadata_in(by_span[message.spans[0]].first_event)
    spans = tuple(map(Span, all_lines))
    return replace(message, parts=tuple(parts), spans=spans, metadata=metadata)


def insert(run: Sequence[Message], site: Site) -> list[Insertion]:
    """Each message as an event, after the last line of a step or before the first line of one."""
    earlier = site.earlier
    if earlier is not None and earlier.role == "tool":
        line = earlier.spans[0]
        earlier = next(
            message
            for message in site.messages
            if message.role == "assistant" and line in message.spans
        )
    events = [members(site.value_of(message.spans[0])) for message in _neighbours(site)]
    ids = [members(event.get("part")).get("id") for event in events]
    values = [_event(message, events[0], f"{ids} {number}") for number, message in enumerate(run)]
    return insert_elements(run, replace(site, earlier=earlier), values)


def _neighbours(site: Site) -> list[Message]:
    """The messages around a site; any message if there are none."""
    return [message for message in (site.earlier, site.later) if message] or [site.last]


def _event(message: Message, neighbour: dict[str, Any], seed: str) -> dict[str, Any]:
    """A message as an event with a text, in the session of another event."""
    text, session_id = text_of(message.parts), neighbour["sessionID"]
    name = event_id(seed, text)
    part = {"id": f"prt_{name}", "sessionID": session_id, "messageID": f"msg_{name}"}
    part |= {"type": "text", "text": text}
    if message.role != "assistant":
        part["synthetic"] = True
    time = {"timestamp": neighbour["timestamp"]} if "timestamp" in neighbour else {}
    return {"type": "text", **time, "sessionID": session_id, "part": part}
