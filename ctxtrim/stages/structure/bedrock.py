"""Rules of Amazon Bedrock, with their sources in brackets: of its Converse API, and of Anthropic's
messages in `InvokeModel` and batches.

Elements of user and assistant alternate, and the first is the user's. Several messages may be in
one element, such as results and the text after them.
"""

from ctxtrim.conversation.elements import elements
from ctxtrim.stages.structure import checks, loop_start
from ctxtrim.stages.structure.checks import Breaches
from ctxtrim.stages.structure.rule import Breach, CheckedMessages, Rule


def _not_alternating(conversation: CheckedMessages) -> Breaches:
    """Two consecutive elements of one role."""
    was_prompt: bool | None = None
    for element in elements(conversation.messages):
        if element.is_prompt == was_prompt:
            role = "user" if element.is_prompt else "assistant"
            yield Breach(element.positions[0], f"two elements from {role} in a row")
        was_prompt = element.is_prompt


def _starts_with_answer(conversation: CheckedMessages) -> Breaches:
    """A first element that is not the user's. An answer alone is a response, not a conversation."""
    items = elements(conversation.messages)
    if len(items) > 1 and not items[0].is_prompt:
        yield Breach(
            items[0].positions[0], "the first element is from assistant, not from the user"
        )


RULES: tuple[Rule, ...] = (
    *checks.pairing(),
    Rule(
        "first-not-user",
        _starts_with_answer,
        "A conversation must start with a user message. [strands-agents/sdk-typescript#727]",
    ),
    Rule(
        "roles-not-alternating",
        _not_alternating,
        "A conversation must alternate between user and assistant roles. "
        "[langchain-ai/langchain-aws#71, #130]",
    ),
    Rule(
        "empty-content",
        checks.no_content,
        "The content field in the Message object is empty. [archestra-ai/archestra#4220]",
    ),
    loop_start.THINKING,
    Rule(
        "unknown-member",
        checks.debug_members,
        'Unknown parameter in messages[…]: "_originalLength", must be one of: … '
        "[huggingface/agents-course#593]",
        for_request=True,
    ),
)
