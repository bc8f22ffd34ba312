"""Masks keys, passwords and tokens, so that none is sent to a summarizer or written into a summary.

A secret is identified by its own format (`key_formats`), by the PEM block around it
(`private_keys`) or by its context (`contexts`): a URL, a header, a command line, an assignment. A
UUID, a commit or a hash alone is not a secret. Variables and placeholders (`$TOKEN`, `<token>`) are
kept. The time grows linearly with the text.
"""

import re
from functools import partial

from ctxtrim.summaries.redaction.contexts import CONTEXTS, Context
from ctxtrim.summaries.redaction.cookies import without_cookies
from ctxtrim.summaries.redaction.key_formats import KEYS, kind_of
from ctxtrim.summaries.redaction.private_keys import without_private_keys

__all__ = ["redacted"]

# a mask can reveal a further secret, as in `mysql -pA -pB`; the number is bounded to keep the time
# linear
_ROUNDS = 10


def redacted(text: str, redacts: bool = True) -> str:
    """The text with `[REDACTED kind]` instead of each secret; unchanged if not `redacts`.

    Masking a masked text changes nothing.
    """
    for _ in range(_ROUNDS if redacts else 0):
        masked = _masked_once(text)
        if masked == text:
            break
        text = masked
    return text


def _masked_once(text: str) -> str:
    text = without_private_keys(text)
    text = KEYS.sub(lambda match: f"[REDACTED {kind_of(match[0])}]", text)
    text = without_cookies(text)
    for context in CONTEXTS:
        if any(map(text.__contains__, context.hints)):
            text = context.pattern.sub(partial(_mask, context), text)
    return text


def _mask(context: Context, match: re.Match[str]) -> str:
    if "[REDACTED" in match["secret"] or not context.is_secret(match):
        return match[0]
    start, end = (offset - match.start() for offset in match.span("secret"))
    return f"{match[0][:start]}[REDACTED {context.kind}]{match[0][end:]}"
