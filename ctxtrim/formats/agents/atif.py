"""Trajectories in ATIF, the Agent Trajectory Interchange Format of Harbor.

::

    {"schema_version": "ATIF-v1.7", "agent": {"model_name", "tool_definitions"}, "steps": [step, …],
     "subagent_trajectories"?: [trajectory, …]}

    step    {"step_id", "source": "system" | "user" | "agent", "message", "reasoning_content"?,
             "tool_calls"?: [{"tool_call_id", "function_name", "arguments"}],
             "observation"?: {"results": [{"source_call_id"?, "content"}]}, "metrics"?}

A step of the agent is an assistant message and one tool result for each of its calls. Contents are
texts or lists of texts, images and sounds. The observation of a system step with the boundary
`replace` is a summary that replaces all steps before it; without one, the next prompt may contain
it. Source: `rfcs/0001-trajectory-format.md` of harbor-framework/harbor (version 1.8), whose
validator wants step ids from 1 on.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.agents import STEP_ROLES, knows_step
from ctxtrim.formats.base import BEFORE_SUMMARY, Edit, Insertion, Site
from ctxtrim.formats.fields import Located, elements, first_string, located, members, string
from ctxtrim.formats.media_blocks import text_or_block
from ctxtrim.formats.message_lists import (
    Element,
    Envelope,
    ListContents,
    element_site,
    insert_elements,
)
from ctxtrim.formats.message_parts import call_part, content_parts, result_parts, text_of
from ctxtrim.formats.usage import openai_usage
from ctxtrim.model import Message, Part, Span
from ctxtrim.text.records import dump

_BETWEEN = "a step of the agent takes no message between its results"
_RESULTS = ("observation", "results")


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read the messages of each step since the last one that replaces the context."""
    items = list(items)
    steps = [item for item in items if knows_step(item.value)]
    contents.uncounted += sum("source" in members(item.value) for item in items) - len(steps)
    boundaries = [index for index, item in enumerate(steps) if _replaces(item.value)]
    boundary = boundaries[-1] if boundaries else -1
    parts = _observation_parts(steps[boundary]) if boundaries else ()
    if parts:
        spans = (steps[boundary].whole, *(item.whole for item in steps[:boundary]))
        contents.add_summary(parts, *spans)
    for item in steps[boundary + 1 :]:
        role = STEP_ROLES[item.value["source"]]
        if role == "assistant":
            _add_answer(item, contents)
        else:
            texts = _contents(item.value["message"], item.span.inside("message"))
            contents.add(role, (*texts, *_observation_parts(item)), item.whole)


def _replaces(step: dict[str, Any]) -> bool:
    """Whether a step replaces all steps before it, by its observation if it has one."""
    management = members(members(step.get("extra")).get("context_management"))
    return step["source"] == "system" and management.get("boundary") == "replace"


def _results(step: dict[str, Any], span: Span) -> list[Located]:
    """The results in the observation of a step."""
    values = members(step.get("observation")).get("results")
    results = located(values, span.inside(*_RESULTS))
    return [result for result in results if isinstance(result[0], dict)]


def _observation_parts(item: Element) -> tuple[Part, ...]:
    """The contents of the results of a system or user step."""
    return tuple(
        part
        for result, span in _results(item.value, item.span)
        for part in _contents(result.get("content"), span.inside("content"))
    )


def _contents(content: Any, span: Span) -> tuple[Part, ...]:
    return content_parts(content, span, _content)


def _content(value: Any, span: Span) -> Part:
    """A text, an image or a sound of a content. The path of an attachment may be a data URL."""
    source = members(members(value).get("source"))
    path, seconds = string(source.get("path")) or "", source.get("duration_sec")
    has_data = path.startswith("data:")
    part = text_or_block({"type": value.get("type"), "data": path} if has_data else value, span)
    if part.media is not None and part.media.kind == "audio" and isinstance(seconds, int | float):
        return replace(part, media=replace(part.media, seconds=float(seconds)))
    return part


def _add_answer(item: Element, contents: ListContents) -> None:
    """Add a step of the agent: its answer, then its results.

    A result that names no call of the step answers the first call without a result; further calls
    belong to it and count as text. Without calls, it is the result of the answer itself.
    """
    step, span, whole = item
    contents.model = string(step.get("model_name")) or contents.model
    contents.add_usage(openai_usage(step.get("metrics"), len(contents.messages)))
    calls = _calls(step, span)
    call_ids = [call.call_id for call in calls]
    results = _results(step, span)
    groups = _groups(results, call_ids)
    ids = frozenset(call_ids)
    if any(_call_id(result) not in ids for result, _ in results):
        calls = [call if call.call_id in groups else _as_text(call) for call in calls]
    action = Part("tool_call") if None in groups and not calls else None
    parts = (*_reasoning(step, span), *_contents(step["message"], span.inside("message")), *calls)
    contents.add("assistant", parts, whole, action=action)
    for call_id, pieces in groups.items():
        _add_result(call_id, pieces, contents)


def _reasoning(step: dict[str, Any], span: Span) -> Iterator[Part]:
    text, home = step.get("reasoning_content"), span.inside("reasoning_content")
    if isinstance(text, str):
        yield Part("reasoning", text, span=home, block=home)


def _calls(step: dict[str, Any], span: Span) -> list[Part]:
    home = span.inside("tool_calls")
    return [
        call_part(
            dump(call.get("arguments")),
            call.get("tool_call_id"),
            call.get("function_name"),
            None,
            home.inside(index),
        )
        for index, call in enumerate(map(members, elements(step.get("tool_calls"))))
    ]


def _as_text(call: Part) -> Part:
    return Part("text", dump({"name": call.name, "arguments": call.text}), block=call.block)


def _call_id(result: dict[str, Any]) -> str | None:
    return string(result.get("source_call_id"))


def _groups(
    results: Sequence[Located], call_ids: Sequence[str | None]
) -> dict[str | None, list[Located]]:
    """The results by the call that they answer, in order; by None in a step without calls."""
    groups: dict[str | None, list[Located]] = {}
    result_ids = {_call_id(value) for value, _ in results}
    ids = frozenset(call_ids)
    open_ids = iter([call_id for call_id in call_ids if call_id not in result_ids])
    last_id = call_ids[-1] if call_ids else None
    for value, span in results:
        if _call_id(value) in ids:
            last_id = _call_id(value)
        else:
            last_id = next(open_ids, last_id)
        groups.setdefault(last_id, []).append((value, span))
    return groups


def _add_result(call_id: str | None, results: Sequence[Located], contents: ListContents) -> None:
    """Add the message of the results of one call."""
    parts = [
        part
        for value, span in results
        for part in _contents(value.get("content"), span.inside("content"))
    ]
    spans = (span for _, span in results)
    contents.add("tool", result_parts(parts, call_id), *spans, value=results[0][0])


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The tools and the model of the agent, and the id of the trajectory."""
    agent = members(value.get("agent"))
    tools = elements(agent.get("tool_definitions"))
    name = first_string((value.get("trajectory_id"), value.get("session_id")))
    return Envelope(dump(tools) if tools else None, model=string(agent.get("model_name")), id=name)


def insert(run: Sequence[Message], site: Site) -> list[Insertion]:
    """Each message as a step, and each result in the observation of its call's step.

    Raises a `NotEditableError` for a message between the results of a step, or before a summary.
    """
    if site.later is not None and _replaces(site.value_of(_step(site.later.spans[0]))):
        raise NotEditableError(BEFORE_SUMMARY)
    results = [message for message in run if message.role == "tool"]
    rest = [message for message in run if message.role != "tool"]
    insertions = _observations(results, site) if results else []
    if rest:
        step_site = element_site(site, _step, _BETWEEN)
        insertions += insert_elements(rest, step_site, map(_json_value, rest))
    return insertions


def _step(span: Span) -> Span:
    return Span(span.line, span.path[: span.path.index("steps") + 2])


def _observations(results: Sequence[Message], site: Site) -> list[Insertion]:
    """The insertions of results next to the results of their step, or as its observation."""
    values = [_observation(message) for message in results]
    neighbour = site.earlier
    if neighbour is not None and neighbour.role == "tool":
        return [Insertion(value, neighbour.spans[-1], is_after=True) for value in values]
    if neighbour is None:
        raise NotEditableError("a result needs the step of its call")
    span = _step(neighbour.spans[0])
    step = members(site.value_of(span))
    others = elements(members(step.get("observation")).get("results"))
    if others:
        return [Insertion(value, span.inside(*_RESULTS, 0)) for value in values]
    observation = members(step.get("observation")) | {"results": values}
    return [Insertion(step | {"observation": observation}, span, replaces=True)]


def _observation(message: Message) -> dict[str, Any]:
    result = message.result
    name = None if result is None else result.call_id
    return {"source_call_id": name, "content": text_of(message.parts)}


def _json_value(message: Message) -> dict[str, Any]:
    source = "agent" if message.role == "assistant" else message.role
    return {"step_id": 0, "source": source, "message": text_of(message.parts)}


def relink(edit: Edit) -> Edit:
    """The edit with step ids from 1 on."""
    spans = (*edit.removed, *(insertion.span for insertion in edit.inserted))
    homes = {
        Span(span.line, span.path[: span.path.index("steps") + 1])
        for span in spans
        if "steps" in span.path
    }
    return edit.with_members(chain.from_iterable(_numbers(edit, home) for home in homes))


def _numbers(edit: Edit, home: Span) -> Iterator[tuple[Span | Insertion, dict[str, int]]]:
    """The new ids of the kept and the new steps of a list."""
    spans = (home.inside(index) for index in range(len(edit.value_at(home))))
    items = (item for item in edit.in_order(spans) if _is_step(item, edit))
    for number, item in enumerate(items, 1):
        if isinstance(item, Insertion) or edit.value_at(item)["step_id"] != number:
            yield item, {"step_id": number}


def _is_step(item: Span | Insertion, edit: Edit) -> bool:
    return isinstance(item, Insertion) or knows_step(edit.value_at(item))
