"""Values of cookies in `Cookie:` and `Set-Cookie:` headers, in code that sets them, and in
`--cookie`.
"""

import re

from ctxtrim.summaries.redaction import values

_QUOTE = r"\\{0,4}[\"'`]"
_COOKIES = re.compile(
    rf"(?P<lead>[Cc]ookies?(?:(?:{_QUOTE})?[ \t]{{0,4}}(?:=>|[:=])[ \t]{{0,4}}"
    rf"|(?<=--cookie)[ \t=]{{1,4}}|{_QUOTE},\s?)(?:{_QUOTE})?)"
    rf"(?P<pairs>(?:[A-Za-z0-9_.$%*!-]{{1,100}}=[^\s;,\"'`\\]*+(?:; ?)?+)++)"
)
_PAIR = re.compile(r"(?P<name>[^\s;=]+)=(?P<value>[^;]+)")
_SESSION = re.compile("sess|sid|auth|token|csrf|xsrf|jwt|login|remember|ticket", re.IGNORECASE)
_ATTRIBUTES = frozenset(("domain", "expires", "max-age", "path", "priority", "samesite", "version"))
_SHORTEST = 8  # characters of a value that can be secret


def without_cookies(text: str) -> str:
    """The text with a mask instead of each value that belongs to a session or looks random."""
    if "ookie" not in text:
        return text
    return _COOKIES.sub(lambda match: match["lead"] + _PAIR.sub(_mask, match["pairs"]), text)


def _mask(pair: re.Match[str]) -> str:
    name, value = pair["name"], pair["value"]
    if name.lower() in _ATTRIBUTES or len(value) < _SHORTEST:
        return pair[0]
    is_named = _SESSION.search(name) is not None and not values.is_placeholder(value)
    return f"{name}=[REDACTED cookie]" if is_named or values.is_random(value) else pair[0]
