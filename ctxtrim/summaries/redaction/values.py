"""Whether a value is a secret: no variable, placeholder, type, number or word of prose."""

import binascii
import re

_RANDOM = 12  # characters from which on a value can look random
_LONGEST = 80  # characters of a passphrase
_PLACEHOLDER = re.compile(
    # variables
    r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?|\$[{(].*|\$[0-9@*#?]|%[A-Za-z_]+%|.*%[sdvqr]\b.*|%\(.*|@[A-Za-z_]+@"
    r"|.*\$\{.*|[<{\[(].*|.*[<{]\w+[>}].*|\.{2,}.*|…+|[xX*.•#_=?-]+"  # markup and filling
    r"|your.*|change[_-]?(?:me|it|this)"
    r"|(?:example|placeholder|dummy|sample|redacted|hidden|insert|replace)(?:[_ .-].*)?"
    r"|(?:os|env|process|self|this|config|settings|secrets?|vars?|data|args?|options?|props?|req|request)\.\w.*"
    r"|/.*|\./.*|~/.*|\\.*",
    re.IGNORECASE | re.DOTALL,
)
_PLAIN = frozenset((
    "none", "null", "nil", "true", "false", "undefined", "string", "str", "text", "bytes",
    "password", "secret", "token", "required", "optional", "changeme",
))  # fmt: skip
_FLAG_WORDS = ("flag", "option", "argument", "parameter", "value")
_ATTRIBUTE = re.compile(r"[A-Za-z_][\w.]*\.[A-Za-z_]\w*")
_PROSE = re.compile(
    # no letters between other characters, such as the `a` of `a$b`
    r"(?<![^\s\"'(])"
    r"(?:a|an|and|are|at|be|by|can|cannot|do|does|for|from|if|in|incorrect|invalid|is|may|missing|must|no|not|of|on"
    r"|or|password|passwords|please|required|should|that|the|this|to|token|use|used|was|will|with|wrong|you|your)"
    r"(?![^\s\"').,:;!?])",
    re.IGNORECASE,
)


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder for a secret: a variable, a template or filler text."""
    return value.lower().strip(".") in _PLAIN or _PLACEHOLDER.fullmatch(value) is not None


def is_random(value: str, shortest: int = _RANDOM) -> bool:
    """Whether a value has digits and letters and at least `shortest` characters, and is not a
    placeholder or URL.
    """
    if len(value) < shortest or "://" in value or is_placeholder(value):
        return False
    return _has_digits_and_letters(value)


def is_login(value: str) -> bool:
    """Whether a value is `user:password` in Base64."""
    try:
        login = binascii.a2b_base64(value + "=" * (-len(value) % 4)).decode()
    except (ValueError, UnicodeError):
        return False
    return ":" in login and login.isprintable()


def is_attribute(value: str) -> bool:
    """Whether a value is a name with a dot in it, as code writes it."""
    return _ATTRIBUTE.fullmatch(value) is not None


def is_prose(value: str) -> bool:
    """Whether a value has blanks and is too long for a passphrase, or has a word of a sentence."""
    return " " in value and (len(value) > _LONGEST or _PROSE.search(value) is not None)


def is_password(value: str, is_quoted: bool, is_tight: bool) -> bool:
    """Whether a value assigned to a name such as `password` is one.

    `is_tight`: the assignment is an equals sign without blanks around it.
    """
    if is_placeholder(value) or is_prose(value):
        return False
    if " " in value or is_quoted or (is_tight and not is_attribute(value)):
        return True
    return _has_digits_and_letters(value)


def is_password_argument(value: str, is_quoted: bool, is_last: bool) -> bool:
    """Whether a value after a flag such as `--password` is one, and no word of a sentence or name
    of an argument.

    `is_last`: no further word follows, only a flag, the end of the line or of the command.
    """
    if is_placeholder(value) or _PROSE.fullmatch(value) is not None or value.startswith("-"):
        return False
    if is_quoted or not value.isalpha():
        return not value.isupper() or not value.replace("_", "").isalpha()
    return value.islower() and is_last and value.removesuffix("s") not in _FLAG_WORDS


def _has_digits_and_letters(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))
