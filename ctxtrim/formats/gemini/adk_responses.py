"""Responses of functions in a session of the Agent Development Kit, as they are sent.

A long-running tool or one that waits for a confirmation has several responses to a call. Only the
last is sent, right after the call.
[google/adk-python, `_rearrange_events_for_async_function_responses_in_history` in
`flows/llm_flows/contents.py`]
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ctxtrim.formats.fields import elements, string
from ctxtrim.formats.gemini.parts import CALL, RESPONSE, SentContent, member
from ctxtrim.model import Span

_Key = tuple[str, int]
"""A call: its id, and the number of calls with that id before it."""


def with_last_responses(contents: Sequence[SentContent]) -> list[SentContent]:
    """The contents with the last response of each call, right after the content with the call.

    The earlier responses are removed with the last one: without it, they would be sent again.
    """
    calls, responses = _links(contents)
    answers = {key: position for position, links in enumerate(responses) for _, key in links}
    sent_contents = list(contents)
    for position, links in enumerate(responses):
        earlier_links = [(index, key) for index, key in links if answers[key] != position]
        if earlier_links:
            omissions = frozenset(index for index, _ in earlier_links)
            sent_contents[position] = replace(sent_contents[position], omissions=omissions)
        for index, key in earlier_links:
            span = contents[position].span.inside("parts", index)
            answer = answers[key]
            sent_contents[answer] = _with_earlier(sent_contents[answer], key[0], span)
    positions = [[answers[key] for key in keys if key in answers] for keys in calls]
    return list(_in_order(sent_contents, positions))


def _links(
    contents: Sequence[SentContent],
) -> tuple[list[list[_Key]], list[list[tuple[int, _Key]]]]:
    """The calls of each content, and the indices of its responses with the calls that they answer:
    the last ones with their ids.
    """
    calls: list[list[_Key]] = []
    responses: list[list[tuple[int, _Key]]] = []
    counts: Counter[str] = Counter()
    for content in contents:
        calls.append([])
        for _, call_id in _ids(content, CALL):
            calls[-1].append((call_id, counts[call_id]))
            counts[call_id] += 1
        ids = _ids(content, RESPONSE)
        responses.append([(index, (call_id, counts[call_id] - 1)) for index, call_id in ids])
    return calls, responses


def _ids(content: SentContent, keys: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The index and id of each call or response that a content has; none of a partial event."""
    if content.event.get("partial") is True:
        return
    for index, part in enumerate(elements(content.content.get("parts"))):
        call_id = string((member(part, keys) or {}).get("id"))
        if call_id is not None:
            yield index, call_id


def _with_earlier(content: SentContent, call_id: str, span: Span) -> SentContent:
    """The content that removes an earlier response to a call with its own."""
    spans = (*content.response_spans.get(call_id, ()), span)
    return replace(content, response_spans={**content.response_spans, call_id: spans})


def _in_order(
    contents: Sequence[SentContent], answers: Sequence[Sequence[int]]
) -> Iterator[SentContent]:
    """The contents, with responses right after their call, without those that have nothing left.

    `answers`: for each content the positions of the responses to its calls.
    """
    moved_positions: set[int] = set()
    for position, content in enumerate(contents):
        if position not in moved_positions and _has_parts(content):
            yield content
        later_answers = {answer for answer in answers[position] if answer > position}
        for answer in sorted(later_answers - moved_positions):
            moved_positions.add(answer)
            yield contents[answer]


def _has_parts(content: SentContent) -> bool:
    """Whether something of a content is sent."""
    parts = elements(content.content.get("parts"))
    return not parts or len(content.omissions) < len(parts)
