"""The finding about the messages that a provider still has in its prompt cache."""

from collections.abc import Iterator

from ctxtrim.conversation.turns import visible
from ctxtrim.findings import Finding
from ctxtrim.model import Transcript
from ctxtrim.tokens.counter import Counter


def prompt_cache(counter: Counter, transcript: Transcript) -> Iterator[Finding]:
    """The finding about the first message that a prompt cache lacks; none if it has all messages.

    The cache has the messages as read, so edits of earlier stages count too.
    """
    sent = transcript.source.messages
    before = visible(sent)
    after = [message for message in transcript.messages if message.agent_visible]
    same = 0
    while same < min(len(before), len(after)) and sent[before[same]] == after[same]:
        same += 1
    if same < len(before):
        first = before[same]
        tokens = sum(cost.total for cost in counter.costs(sent)[:first])
        text = (
            f"a prompt cache stays valid for the messages before message {first}: "
            f"{tokens:,} tokens, plus the request overhead"
        )
        yield Finding("prompt-cache", "info", text, index=first, tokens=tokens)
