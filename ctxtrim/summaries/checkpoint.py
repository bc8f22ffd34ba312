"""The checkpoint of a compaction without an LLM: facts under the headings that an LLM would use."""

from collections.abc import Sequence

from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Message
from ctxtrim.summaries.facts import facts
from ctxtrim.summaries.sections import (
    ANSWERS,
    CHANGED,
    COMMANDS,
    CONSTRAINTS,
    DECISIONS,
    EARLIER,
    ERRORS,
    NEXT,
    READ,
    REQUESTS,
    TOOLS,
    Layout,
)
from ctxtrim.tokens import Tokenizer

HEADINGS = (
    "Goal",
    "Constraints & Preferences",
    "Progress",
    "Key Decisions",
    "Next Steps",
    "Critical Context",
)
"""The headings of a checkpoint, in order."""
LAYOUT: Layout = tuple(
    zip(
        HEADINGS,
        (
            (REQUESTS,),
            (CONSTRAINTS,),
            (ANSWERS, CHANGED, READ, COMMANDS, TOOLS),
            (DECISIONS,),
            (NEXT,),
            (ERRORS, EARLIER),
        ),
        strict=True,
    )
)


def checkpoint(
    messages: Sequence[Message],
    shape: Shape,
    limit: int,
    tokenizer: Tokenizer,
    earlier: str | None = None,
    redacts: bool = True,
) -> str:
    """The facts of some messages under the headings of a checkpoint, in at most `limit` tokens.

    The text can be parsed and merged like any summary of facts. Empty if `facts` would be empty.
    """
    return facts(messages, shape, limit, tokenizer, earlier, redacts, LAYOUT)
