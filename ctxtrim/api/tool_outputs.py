"""Tool results in plain message lists: their steps, the files they show, and the truncation of old ones."""

from dataclasses import replace
from typing import Any

from ctxtrim.api.messages import PlainMessage, PlainMessages, conversation, position_of
from ctxtrim.api.options import Options, parse_options
from ctxtrim.conversation.tool_results import results
from ctxtrim.conversation.turns import shape
from ctxtrim.evidence import FileReference, extract_key_info, file_references, summary_line
from ctxtrim.pipeline import run
from ctxtrim.stages.reasoning import thinking_of


def count_steps(messages: PlainMessages) -> int:
    """How many steps a list has: assistant messages with calls; parallel calls are one."""
    return shape(conversation(messages).transcript.messages).steps


def tag_steps(messages: PlainMessages) -> tuple[int, ...]:
    """The step of each message of a list, from 1; 0 for what stands before the first one."""
    found = conversation(messages).transcript.messages
    where = shape(found)
    steps: dict[int, int] = {}
    for message, step in zip(found, where.step, strict=True):
        place = position_of(message)
        if place is not None:
            steps.setdefault(place, step)
    last, tags = 0, []
    for place in range(len(messages)):
        last = steps.get(place, last)
        tags.append(last)
    return tuple(tags)


def active_files(
    messages: PlainMessages, active_steps: int = 5, current_step: int | None = None
) -> list[FileReference]:
    """The files read or changed in the last steps, the one used last coming last."""
    found = conversation(messages).transcript.messages
    where = shape(found)
    now = where.steps if current_step is None else current_step
    return [one for one in file_references(found, where) if now - one.last_access_step <= active_steps]


def summarize_tool_output(message: PlainMessage, tool_name: str | None = None) -> str:
    """One line, of at most 200 characters, that says what a tool result was.

    `tool_name` is for shapes in which the result does not name its tool.
    """
    found = conversation([message]).transcript.messages
    known = results(found, shape(found), [0] * len(found))
    texts = "\n".join(one.text for one in known)
    tool = tool_name or next((one.tool for one in known if one.tool != "?"), "tool")
    return summary_line(extract_key_info(texts, tool), tool)


def truncate_old_tool_outputs(
    messages: PlainMessages,
    config: Options | None = None,
    current_step: int | None = None,
    *,
    enabled: bool | None = None,
    model: str | None = None,
) -> list[dict[str, Any]]:
    """A new list in which old tool results are replaced, and long ones clipped.

    `config` has the keys of configuration files, those of the designs included (`maxAge`, `maxTokensPerOutput`, …);
    what it leaves out is as the preset `rolling` has it. Nothing is done unless it is enabled, by `enabled` or in the
    config. Shortened results carry `_originalLength` (characters) and `_truncatedAt` (age), unless `metadata` is
    false. A `UsageError` names a setting that is none.
    """
    options = dict(config or {})
    is_on = bool(options.pop("enabled", False)) if enabled is None else enabled
    settings = parse_options(options, "truncate_old_tool_outputs", "rolling")
    read = conversation(messages)
    if not is_on:
        return read.with_messages(read.transcript)
    binding = settings.binding if model is None else replace(settings.binding, model=model)
    spec = settings.config.spec("truncate")
    if current_step is not None:
        spec = replace(spec, settings={**spec.settings, "current_step": current_step})
    bound = binding.bind(read.transcript)
    thinking = settings.thinking or thinking_of(bound.model)
    return read.with_messages(run(read.transcript, [spec], bound.counter, bound.budget, thinking).transcript)
