"""Masks what looks like a key, so that no secret is sent or summarised.

What is masked has the prefix of a known kind of key, stands in a PEM block, or stands behind a name that says what it
is. A uuid, a commit or a digest alone in a text is none of these and stays. The time grows linearly with the text.
"""

import re

_WORD = r"(?<![A-Za-z0-9_-])"  # a token begins here, so that no run of characters is looked at twice
_HAS_DIGIT = r"(?=[A-Za-z_-]*[0-9])"
_PRIVATE = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"

_TOKENS = (
    (
        "private key",
        ("-----BEGIN ",),
        re.compile(
            rf"-----BEGIN {_PRIVATE}"
            rf"(?:[^-]*(?:-(?!----)[^-]*)*-----END {_PRIVATE}|(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{{40,}})*)"
        ),
    ),
    ("token", ("eyJ",), re.compile(rf"{_WORD}eyJ[A-Za-z0-9_-]{{8,}}\.eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]{{8,}}")),
    (
        "api key",
        ("sk-", "_live_", "_test_", "gsk_", "AIza", "SG."),
        re.compile(
            rf"{_WORD}(?:sk-{_HAS_DIGIT}[A-Za-z0-9_-]{{20,}}|[rsp]k_(?:live|test)_[A-Za-z0-9]{{16,}}"
            r"|gsk_[A-Za-z0-9]{40,}|AIza[A-Za-z0-9_-]{35}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,})"
        ),
    ),
    (
        "access key",
        ("AKIA", "ASIA", "AROA", "AIDA"),
        re.compile(r"(?<![A-Za-z0-9_-])(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ),
    (
        "access token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "hf_", "npm_", "pypi-"),
        re.compile(
            rf"{_WORD}(?:gh[pousr]_[A-Za-z0-9]{{30,}}|github_pat_[A-Za-z0-9_]{{40,}}|glpat-[A-Za-z0-9_-]{{20,}}"
            r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,})"
        ),
    ),
)
"""By kind: what is a key wherever it stands, and before it what no such key is without, which is found faster."""

_BEARER = re.compile(r"\b([Bb]earer|BEARER|[Bb]asic)([ \t]{1,8})(?=[A-Za-z_.~+/=-]*[0-9])[A-Za-z0-9._~+/=-]{16,}")
_LOGIN = re.compile(r"(://[^\s/:@\[\]]{1,64}:)(?!\[REDACTED)[^\s/:@]{3,200}(?=@)")
_NAMED = re.compile(
    r"(?P<name>passwo?r?d|passphrase|pwd|secret|token|credentials?|(?:api|access|secret|private|auth|signing|encryption)"
    r"(?:[_-]|[ ])?(?:access[_-]?)?key(?:[_-]?id)?)(?P<end>\\?[\"'])?(?P<sign>[ \t]{0,8}(?::|=>|=)[ \t]{0,8})"
    r"(?:(?P<quote>\\?[\"'`])(?P<quoted>(?!\[REDACTED)[^\s\"'`\\]{4,400})(?P=quote)"
    r"|(?P<bare>(?!\[REDACTED)[^\s\"'`\\,;&|(){}\[\]<>$]{4,400})(?![(\[]))",
    re.IGNORECASE,
)
_HINTS = re.compile("pass|pwd|secret|token|credential|key", re.IGNORECASE)
_PLAIN = frozenset((
    "none", "null", "nil", "true", "false", "undefined", "string", "str", "text", "bytes", "password", "secret",
    "token", "required", "optional", "changeme",
))  # fmt: skip
_RANDOM = 12  # characters from which on a value can look random


def redacted(text: str) -> tuple[str, int]:
    """The text with `[REDACTED kind]` in the place of what looks like a key, and how many were masked.

    Masking what was masked changes nothing.
    """
    masked = 0
    for kind, hints, pattern in _TOKENS:
        if any(hint in text for hint in hints):
            text, found = pattern.subn(f"[REDACTED {kind}]", text)
            masked += found
    if any(hint in text for hint in ("earer", "EARER", "asic")):
        text, found = _BEARER.subn(r"\1\2[REDACTED token]", text)
        masked += found
    if "@" in text:
        text, found = _LOGIN.subn(r"\1[REDACTED password]", text)
        masked += found
    if _HINTS.search(text):
        text, found = _assignments(text)
        masked += found
    return text, masked


def _assignments(text: str) -> tuple[str, int]:
    """The values that names of secrets are given: `password=…`, `"api_key": "…"`."""
    masked = 0

    def mask(found: re.Match[str]) -> str:
        nonlocal masked
        value = found["quoted"] or found["bare"]
        if not _is_secret(found, value):
            return found[0]
        masked += 1
        kind = "password" if found["name"].lower().startswith("p") and "key" not in found["name"].lower() else "key"
        quote = found["quote"] or ""
        return f"{found['name']}{found['end'] or ''}{found['sign']}{quote}[REDACTED {kind}]{quote}"

    text = _NAMED.sub(mask, text)
    return text, masked


def _is_secret(found: re.Match[str], value: str) -> bool:
    """Whether a value behind the name of a secret is one, and no type, number, variable or word of prose."""
    name = found["name"].lower()
    if value.lower().strip(".") in _PLAIN or value.lower() == name or value.startswith(("/", "./", "~")):
        return False
    has_digit, has_letter = any(c.isdigit() for c in value), any(c.isalpha() for c in value)
    if name.startswith(("pass", "pwd")):
        is_tight = found["sign"] == "=" and re.fullmatch(r"[\w.]*\.\w+", value) is None
        return found["quoted"] is not None or is_tight or (has_digit and has_letter)
    return len(value) >= _RANDOM and has_digit and has_letter and "://" not in value
