"""Masks keys, passwords and tokens, so that none is sent to a summarizer or written into a summary.

A secret is identified by its own format (`key_formats`), by the PEM block around it
(`private_keys`) or by its context (`contexts`): a URL, a header, a command line, an assignment. A
UUID, a commit or a hash alone is not a secret. Variables and placeholders (`$TOKEN`, `<token>`) are
kept. The time grows linearly with the text.
"""

import re

from ctxtrim.summaries.redaction.contexts import CONTEXTS, Context
from ctxtrim.summaries.redaction.cookies import without_cookies
from ctxtrim.summaries.redaction.key_formats import KEYS, kind_of
from ctxtrim.summaries.redaction.private_keys import without_private_keys

__all__ = ["redacted"]

# a mask can reveal a further secret, as in `mysql -pA -pB`; the number is bounded to keep the time
# linear
_ROUNDS = 10


def redacted(text: str) -> tuple[str, int]:
    """The text with `[REDACTED kind]` instead of each secret, and the number of secrets masked in
    this call.

    Masking a masked text changes nothing.
    """
    masked = 0
    for _ in range(_ROUNDS):
        text, number = _masked_once(text)
        if number == 0:
            break
        masked += number
    return text, masked


def _masked_once(text: str) -> tuple[str, int]:
    text, private_keys = without_private_keys(text)
    text, keys = KEYS.subn(lambda match: f"[REDACTED {kind_of(match[0])}]", text)
    text, cookies = without_cookies(text)
    masked = private_keys + keys + cookies
    for context in CONTEXTS:
        if any(map(text.__contains__, context.hints)):
            text, number = _without(context, text)
            masked += number
    return text, masked


def _without(context: Context, text: str) -> tuple[str, int]:
    """The text without the secrets in one kind of context, and their number."""
    masked = 0

    def mask(match: re.Match[str]) -> str:
        nonlocal masked
        if "[REDACTED" in match["secret"] or not context.is_secret(match):
            return match[0]
        masked += 1
        start, end = (offset - match.start() for offset in match.span("secret"))
        return f"{match[0][:start]}[REDACTED {context.kind}]{match[0][end:]}"

    return context.pattern.sub(mask, text), masked
