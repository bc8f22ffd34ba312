"""Responses of functions in a session of the Agent Development Kit, as they are sent.

A long-running tool or one that waits for a confirmation has several responses to a call. Only the
last is sent, right after the call.
[google/adk-python, `_rearrange_events_for_async_function_responses_in_history` in
`flows/llm_flows/contents.py`]
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ctxtrim.formats.fields import elements, string
from ctxtrim.formats.gemini.adk_events import SentContent
from ctxtrim.formats.gemini.parts import CALL, RESPONSE, member
from ctxtrim.model import Span


def with_last_responses(contents: Sequence[SentContent]) -> list[SentContent]:
    """The contents with the last response of each call, right after the content with the call.

    The earlier responses are removed with the last one: without it, they would be sent again.
    """
    last = {
        call_id: at for at, content in enumerate(contents) for _, call_id in _ids(content, RESPONSE)
    }
    found = [
        _without_earlier(content, {call_id for call_id in last if last[call_id] != at})
        for at, content in enumerate(contents)
    ]
    for content, sent in zip(contents, found, strict=True):
        for index, call_id in _ids(content, RESPONSE):
            if index in sent.left_out:
                at = last[call_id]
                span = content.span.inside("parts", index)
                found[at] = _with_earlier(found[at], call_id, span)
    return list(_in_order(found, last))


def _ids(content: SentContent, keys: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The index and id of each call or response that a content has; none of a partial event."""
    if content.event.get("partial") is True:
        return
    for index, part in enumerate(elements(content.content.get("parts"))):
        call_id = string((member(part, keys) or {}).get("id"))
        if call_id is not None:
            yield index, call_id


def _without_earlier(content: SentContent, answered: set[str]) -> SentContent:
    """The content without responses to calls that another content answers."""
    indices = [index for index, call_id in _ids(content, RESPONSE) if call_id in answered]
    return replace(content, left_out=frozenset(indices)) if indices else content


def _with_earlier(content: SentContent, call_id: str, span: Span) -> SentContent:
    """The content that removes an earlier response to a call with its own."""
    spans = (*content.earlier.get(call_id, ()), span)
    return replace(content, earlier={**content.earlier, call_id: spans})


def _in_order(contents: Sequence[SentContent], last: dict[str, int]) -> Iterator[SentContent]:
    """The contents, with responses right after their call, without those that have nothing left."""
    moved: set[int] = set()
    for at, content in enumerate(contents):
        if at not in moved and _has_parts(content):
            yield content
        places = {last[call_id] for _, call_id in _ids(content, CALL) if call_id in last}
        for place in sorted(places - moved):
            if place > at:
                moved.add(place)
                yield contents[place]


def _has_parts(content: SentContent) -> bool:
    """Whether something of a content is sent."""
    return len(content.left_out) < len(elements(content.content.get("parts")) or [None])
