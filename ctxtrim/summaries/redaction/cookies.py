"""Values of cookies in `Cookie:` and `Set-Cookie:` headers, in code that sets them, and in
`--cookie`.
"""

import re

from ctxtrim.summaries.redaction import values

_QUOTE = r"\\{0,4}[\"'`]"
_COOKIES = re.compile(
    rf"(?P<lead>[Cc]ookies?(?:(?:{_QUOTE})?[ \t]{{0,4}}(?:=>|[:=])[ "
    rf"\t]{{0,4}}|(?<=--cookie)[ \t=]{{1,4}}|{_QUOTE},\s?)"
    rf"(?:{_QUOTE})?)(?P<pairs>(?:[A-Za-z0-9_.$%*!-]{{1,100}}=[^\s;,\"'`\\]*+(?:; ?)?+)++)"
)
_PAIR = re.compile(r"(?P<name>[^\s;=]+)=(?P<value>[^;]+)")
_SESSION = re.compile("sess|sid|auth|token|csrf|xsrf|jwt|login|remember|ticket", re.IGNORECASE)
_ATTRIBUTES = frozenset(("domain", "expires", "max-age", "path", "priority", "samesite", "version"))
_SHORTEST = 8  # characters of a value that can be secret


def without_cookies(text: str) -> tuple[str, int]:
    """The text with a mask instead of each value that belongs to a session or looks random, and
    their number.
    """
    if "ookie" not in text:
        return text, 0
    masked = 0

    def mask_pair(pair: re.Match[str]) -> str:
        nonlocal masked
        name, value = pair["name"], pair["value"]
        is_named = _SESSION.search(name) is not None and not values.is_placeholder(value)
        if (
            name.lower() in _ATTRIBUTES
            or len(value) < _SHORTEST
            or not (is_named or values.is_random(value))
        ):
            return pair[0]
        masked += 1
        return f"{name}=[REDACTED cookie]"

    text = _COOKIES.sub(lambda match: match["lead"] + _PAIR.sub(mask_pair, match["pairs"]), text)
    return text, masked
