"""The rule of Claude about the start of the current tool loop, with its source in brackets."""

from ctxtrim.conversation.thinking import begins_with_thinking, loop_starts
from ctxtrim.stages.structure.checks import Breaches
from ctxtrim.stages.structure.rule import Breach, CheckedMessages, Rule


def _loop_without_thinking(conversation: CheckedMessages) -> Breaches:
    """A tool loop that does not start with thinking although the request enables it."""
    messages = conversation.messages
    starts = loop_starts(messages) if conversation.needs_thinking else []
    answers = [answer for _, answer in starts if answer is not None]
    has_thinking = len(answers) < len(starts)  # the next answer starts the loop
    if starts and not (has_thinking or any(begins_with_thinking(messages[at]) for at in answers)):
        yield Breach(answers[0], "the tool loop does not start with thinking, which is enabled")


THINKING = Rule(
    "thinking-missing",
    _loop_without_thinking,
    "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is "
    "enabled, a final `assistant` message must start with a thinking block. "
    "[anomalyco/opencode#3077]",
    for_request=True,
)
