"""The checkpoint of a compaction without an LLM: the facts under the headings that an LLM is asked for."""

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

HEADINGS = ("Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps", "Critical Context")
"""What a checkpoint is made of, in this order."""
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
    where: Shape,
    limit: int,
    tokenizer: Tokenizer,
    earlier: str | None = None,
    redacts: bool = True,
) -> str:
    """The facts of some messages under the headings of a checkpoint, in at most `limit` tokens.

    It is read back and merged like any other summary of facts; empty where `facts` would be.
    """
    return facts(messages, where, limit, tokenizer, earlier, redacts, LAYOUT)
