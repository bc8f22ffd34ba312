"""Tool results in plain message lists: steps, files in use, one-line summaries, and the truncation
of old results.
"""

from dataclasses import replace
from typing import Any

from ctxtrim.api.messages import PlainMessage, PlainMessages, conversation, position_of
from ctxtrim.api.options import Options, parse_options
from ctxtrim.conversation.tool_results import results
from ctxtrim.conversation.turns import shape
from ctxtrim.evidence import FileReference, extract_key_info, file_references, summary_line
from ctxtrim.pipeline import Pipeline


def count_steps(messages: PlainMessages) -> int:
    """The number of steps in a list.

    A step is an assistant message with calls; parallel calls are one step.
    """
    return shape(conversation(messages).transcript.messages).steps


def tag_steps(messages: PlainMessages) -> tuple[int, ...]:
    """The step of each message of a list, from 1; 0 before the first step."""
    read = conversation(messages).transcript.messages
    steps: dict[int, int] = {}
    for message, step in zip(read, shape(read).step, strict=True):
        position = position_of(message)
        if position is not None:
            steps.setdefault(position, step)
    tags: list[int] = []
    last = 0
    for position in range(len(messages)):
        last = steps.get(position, last)
        tags.append(last)
    return tuple(tags)


def active_files(
    messages: PlainMessages, active_steps: int = 5, current_step: int | None = None
) -> list[FileReference]:
    """The files in use in the last `active_steps` steps, in order of their last use."""
    read = conversation(messages).transcript.messages
    read_shape = shape(read)
    now = read_shape.steps if current_step is None else current_step
    references = file_references(read, read_shape)
    return [
        reference for reference in references if now - reference.last_access_step <= active_steps
    ]


def summarize_tool_output(message: PlainMessage, tool_name: str | None = None) -> str:
    """A summary of a tool result in one line of at most 200 characters.

    `tool_name` is needed if the message does not name its tool.
    """
    read = conversation([message]).transcript.messages
    tool_results = results(read, shape(read), [0] * len(read))
    text = "\n".join(result.text for result in tool_results)
    tool = tool_name or next((result.tool for result in tool_results if result.tool != "?"), "tool")
    return summary_line(extract_key_info(text, tool), tool)


def truncate_old_tool_outputs(
    messages: PlainMessages,
    config: Options | None = None,
    current_step: int | None = None,
    *,
    enabled: bool | None = None,
    model: str | None = None,
) -> list[dict[str, Any]]:
    """A new list in which old tool results are replaced and long results are clipped.

    `config` has the keys of configuration files and their aliases (`maxAge`, `maxTokensPerOutput`,
    …). Defaults are those of the preset `rolling`. The messages are unchanged unless truncation is
    enabled, by `enabled` or in the config. Shortened results have `_originalLength` (characters)
    and `_truncatedAt` (age), unless `metadata` is false. Raises `UsageError` for an unknown
    setting.
    """
    options = dict(config or {})
    is_on = bool(options.pop("enabled", False)) if enabled is None else enabled
    settings = parse_options(options, "truncate_old_tool_outputs", "rolling")
    read = conversation(messages)
    if not is_on:
        return read.with_messages(read.transcript)
    metering = settings.metering if model is None else replace(settings.metering, model=model)
    spec = settings.config.spec("truncate")
    if current_step is not None:
        spec = replace(spec, settings={**spec.settings, "current_step": current_step})
    pipeline = Pipeline((spec,), metering, settings.thinking)
    return read.with_messages(pipeline.run(read.transcript).transcript)
