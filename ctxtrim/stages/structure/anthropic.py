"""Rules of Anthropic Messages, with their sources in brackets.

All results must follow in the message after their calls, before any text. Thinking blocks are kept
or removed as a whole. Consecutive messages of one role are merged today, but older gateways reject
them: a warning. So is a system message in the middle, which only newer models accept.

The use of a server tool and its result are in one message, or in two if the model paused its turn
or the server tool waits for results of the client.
"""

from itertools import pairwise

from ctxtrim.model import Message, Span
from ctxtrim.stages.structure import checks, loop_start
from ctxtrim.stages.structure.rule import Breach, CheckedMessages, Rule

_NO_RESULT = (
    "`tool_use` ids were found without `tool_result` blocks immediately after. Each `tool_use` "
    "block must have a corresponding `tool_result` block in the next message. "
    "[anthropics/claude-code#2697]"
)
_NOT_ALTERNATING = (
    'messages: roles must alternate between "user" and "assistant", but found multiple "user" '
    "roles in a row [baibot#13]"
)


def _first_not_user(conversation: CheckedMessages) -> checks.Breaches:
    """A first message that is not from the user. The API ignores all before a `compaction`."""
    messages = conversation.messages
    return (
        breach
        for breach in checks.first_not_user(conversation)
        if not messages[breach.position].is_summary
    )


def _split_results(conversation: CheckedMessages) -> checks.Breaches:
    """Results of one message's calls in several user messages, in requests to Anthropic."""
    caller = conversation.shape.caller
    if not conversation.is_anthropic:
        return
    results = [
        (position, message) for position, message in conversation.sent if message.role == "tool"
    ]
    for (previous_position, previous_message), (position, message) in pairwise(results):
        elements = {_element(previous_message), _element(message)} - {None}
        if caller[previous_position] == caller[position] and len(elements) > 1:
            yield Breach(position, "the results of one answer are in two user messages")


def _element(message: Message) -> Span | None:
    """The element of the list with the blocks of a message; None for an inserted message."""
    if not message.spans:
        return None
    span = message.spans[0]
    is_block = span.path[-2:-1] == ("content",)
    return span.outer.outer if is_block else span


def _system_among_messages(conversation: CheckedMessages) -> checks.Breaches:
    """System messages before the first turn that are not in the member `system`, in requests to
    Anthropic.
    """
    for position, message in conversation.sent:
        if message.role != "system" or not conversation.is_anthropic:
            return
        if message.spans and "system" not in message.spans[0].path:
            yield Breach(position, "a system message is the first of the messages")


RULES: tuple[Rule, ...] = (
    *checks.pairing(
        "unexpected `tool_use_id` found in `tool_result` blocks. Each `tool_result` block must "
        "have a corresponding `tool_use` block in the previous message. [EchoBird#106]",
        _NO_RESULT,
    ),
    Rule("tool-result-not-adjacent", checks.result_apart, _NO_RESULT),
    Rule(
        "server-tool-result-without-use",
        checks.server_result_without_use,
        "unexpected `tool_use_id` found in `…_tool_result` blocks. Each `…_tool_result` block "
        "must have a corresponding `server_tool_use` block before it. "
        "[anthropics/claude-code#64383]",
    ),
    Rule(
        "server-tool-use-without-result",
        checks.server_use_without_result,
        "`…` tool use with id `srvtoolu_…` was found without a corresponding `…_tool_result` "
        "block [anthropics/anthropic-sdk-python#1151]",
    ),
    Rule(
        "server-tool-caller-missing",
        checks.caller_without_use,
        "source tool `srvtoolu_…` not found for tool use block [vercel/ai#12504]",
    ),
    Rule(
        "text-after-call",
        checks.text_after_call,
        "refused with status 400: text may not follow `tool_use` [sst/opencode, recorded request]",
    ),
    Rule(
        "duplicate-call-id",
        checks.duplicate_call_id,
        "`tool_use` ids must be unique [anthropics/claude-code#20901]",
    ),
    Rule(
        "empty-content",
        checks.blank_text,
        "messages: text content blocks must be non-empty [anthropics/claude-code#59812]",
    ),
    Rule(
        "thinking-only-message",
        checks.only_reasoning,
        "all messages must have non-empty content except for the optional final assistant "
        "message [vercel/ai#13430]",
    ),
    loop_start.THINKING,
    Rule(
        "first-not-user",
        _first_not_user,
        'messages: first message must use the "user" role [lobehub/lobe-chat#1601]',
    ),
    Rule("roles-not-alternating", checks.not_alternating, _NOT_ALTERNATING, "warning"),
    Rule("roles-not-alternating", _split_results, _NOT_ALTERNATING, "warning"),
    Rule(
        "system-not-first",
        checks.system_not_first,
        "role 'system' is not supported on this model (before Opus 4.8)",
        "warning",
    ),
    Rule(
        "system-out-of-place",
        checks.system_out_of_place,
        "refused also by newer models: a system message must follow a user turn and precede an "
        "assistant turn [BerriAI/litellm, mid_conversation_system.py]",
    ),
    Rule(
        "system-out-of-place",
        _system_among_messages,
        "messages.0: use the top-level 'system' parameter for the initial system prompt",
    ),
    Rule(
        "ends-with-assistant",
        checks.ends_with_assistant,
        "This model does not support assistant message prefill. The conversation must end with "
        "a user message. [copilot-api#261]",
        for_request=True,
    ),
    Rule(
        "tools-missing",
        checks.calls_without_tools,
        "Requests which include `tool_use` or `tool_result` blocks must define tools "
        "[BerriAI/litellm#5388]",
        for_request=True,
    ),
    Rule(
        "unknown-member",
        checks.debug_members,
        "messages.….tool_result._originalLength: Extra inputs are not permitted "
        "[anthropics/claude-code#4378]",
        for_request=True,
    ),
    Rule(
        "lone-surrogate",
        checks.lone_surrogate,
        "no low surrogate in string [anthropics/claude-code#60394]",
    ),
)
