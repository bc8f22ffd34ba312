"""Tool results in plain message lists: steps, files in use, one-line summaries, and the truncation
of old results.
"""

from collections.abc import Sequence
from typing import Unpack

from ctxtrim.api.configs import TruncateConfig
from ctxtrim.api.messages import (
    M,
    PlainMessage,
    PlainMessages,
    conversation,
    message_list,
    position_of,
)
from ctxtrim.api.options import parse_options
from ctxtrim.conversation.tool_results import results
from ctxtrim.conversation.turns import shape
from ctxtrim.errors import InputError, excerpt, must_be_text, must_be_whole
from ctxtrim.evidence.active_files import FileReference, file_references
from ctxtrim.evidence.key_info import extract_key_info
from ctxtrim.evidence.one_line import summary_line


def count_steps(messages: PlainMessages) -> int:
    """The number of steps in a list.

    A step is an assistant message with calls; parallel calls are one step.

    Args:
        messages: dicts or SDK objects in the shape of Chat Completions or Anthropic.

    Returns:
        The number of steps.

    Raises:
        InputError: a value is not a message; the text has its position, from 0.
    """
    return shape(conversation(messages).transcript.messages).steps


def tag_steps(messages: PlainMessages) -> tuple[int, ...]:
    """The step of each message of a list.

    Args:
        messages: dicts or SDK objects in the shape of Chat Completions or Anthropic.

    Returns:
        A number for each message, from 1; 0 before the first step.

    Raises:
        InputError: a value is not a message; the text has its position, from 0.
    """
    messages = message_list(messages)
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
    """The files in use in the last steps.

    Args:
        messages: dicts or SDK objects in the shape of Chat Completions or Anthropic.
        active_steps: the number of last steps.
        current_step: the step from which ages count; by default the last one.

    Returns:
        References to files, in order of their last use.

    Raises:
        InputError: a value is not a message; the text has its position, from 0.
        UsageError: a step is not a whole number, or `active_steps` is negative.
    """
    must_be_whole(active_steps, "active_files: active_steps", least=0)
    if current_step is not None:
        must_be_whole(current_step, "active_files: current_step")
    read = conversation(messages).transcript.messages
    read_shape = shape(read)
    now = read_shape.steps if current_step is None else current_step
    references = file_references(read_shape)
    return [
        reference for reference in references if now - reference.last_access_step <= active_steps
    ]


def summarize_tool_output(message: PlainMessage, tool_name: str | None = None) -> str:
    """A summary of a tool result in one line.

    Args:
        message: a message with a tool result.
        tool_name: the name of the tool, if the message does not have it.

    Returns:
        One line of at most 200 characters.

    Raises:
        InputError: the value is not a message, or has no tool result.
    """
    if tool_name is not None:
        must_be_text(tool_name, "summarize_tool_output: tool_name")
    read = conversation([message]).transcript.messages
    tool_results = results(shape(read), [0] * len(read))
    if not tool_results:
        raise InputError(f"expected a message with a tool result, found {excerpt(str(message))}")
    text = "\n".join(result.text for result in tool_results)
    tool = tool_name or next((result.tool for result in tool_results if result.tool != "?"), "tool")
    flags = {result.is_error for result in tool_results}
    is_error: bool | None = True in flags
    if not is_error and None in flags:
        is_error = None  # the text decides for a result without a flag
    return summary_line(extract_key_info(text, tool, is_error=is_error), tool)


def truncate_old_tool_outputs(
    messages: Sequence[M],
    config: TruncateConfig | None = None,
    current_step: int | None = None,
    **options: Unpack[TruncateConfig],
) -> list[M]:
    """A new list in which old tool results are replaced and long results are clipped.

    Defaults are those of the preset `rolling`. Shortened results have `_originalLength`
    (characters) and `_truncatedAt` (age in steps), which most providers refuse: `metadata=False`
    leaves them out of a list that is sent.

    Args:
        messages: dicts or SDK objects in the shape of Chat Completions or Anthropic.
        config: settings of `truncate` and their aliases: `max_age` in steps, `max_tokens` of a
            result, and others. With `enabled` false the messages are unchanged.
        current_step: the step from which ages count; by default the last one.
        **options: keys of the config as keywords; they take precedence.

    Returns:
        A new list of dicts.

    Raises:
        InputError: a value is not a message; the text has its position, from 0.
        UsageError: an option is unknown or invalid.
    """
    step = {"current_step": current_step}
    settings = parse_options("truncate_old_tool_outputs", config, options, step, preset="rolling")
    read = conversation(messages)
    if not settings.is_on:
        return read.with_messages(read.transcript)
    pipeline = settings.pipeline(settings.config.spec("truncate"))
    return read.with_messages(pipeline.run(read.transcript).transcript)
