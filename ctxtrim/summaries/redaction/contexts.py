"""Secrets that their context identifies: a URL, a header, a login file, a command line, an
assignment.

All repetitions are bounded or end at a character that cannot begin the next match, so that the time
stays linear.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from ctxtrim.loading import lazy_pattern
from ctxtrim.summaries.redaction import values

_Match = re.Match[str]


class Context(NamedTuple):
    """A context of secrets: the group `secret` of `pattern` is a secret if `is_secret` agrees.

    `hints`: a text without any of them has no match; they are found much faster than the pattern.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    is_secret: Callable[[_Match], bool]


_ESCAPE = r"\\{0,15}"  # JSON in JSON escapes its quotes: 15 times in the fourth string
_QUOTE = rf"{_ESCAPE}[\"'`]"
_BLANK = r"[ \t]{0,8}"
_SIGN = rf"(?:{_QUOTE})?(?P<sign>{_BLANK}(?:=>|:=|[:=]){_BLANK})"  # between a name and its value
_BREAK = r"(?:\s|\\[nrt]){1,8}"
# between a flag and its value, also in a JSON array
_NEXT = rf"(?:[ \t]{{1,8}}|=|{_QUOTE},\s?(?={_QUOTE}))"
_BARE = r"[^\s\"'`\\,;&|(){}\[\]<>]"
_ARGUMENT = rf"(?:{_ESCAPE}(?P<quote>[\"']))?(?P<secret>(?(quote)[^\"'\n\\]|{_BARE}){{3,400}}+)"
_VALUE = (
    rf"(?:(?P<quote>{_QUOTE})(?=(?P<quoted>(?:(?!(?P=quote)|\\[nr])(?:\\.|[^\\\n])){{4,400}})(?P=quote))|(?:{_QUOTE})?)"
    rf"(?P<secret>(?(quote)(?P=quoted)|{_BARE}{{4,400}}+(?![(\[])))"
)


def _spellings(*names: str) -> str:
    """Names in lower case, upper case and capitalized, as one alternation."""
    return "|".join(
        spelling for name in names for spelling in (name, name.upper(), name.capitalize())
    )


_PASSWORDS = (
    rf"(?:{_spellings('password', 'passwd', 'passphrase', 'passcode', 'pwd')}"
    r"|passwrd|pass(?<=[_\-\"']pass)|PASS(?<=[_-]PASS)|Pass(?<=[a-z]Pass))"
)
_KEY_OWNERS = (
    "api", "access", "account", "app", "auth", "consumer", "encryption", "license", "master",
    "private", "secret", "shared", "signing", "storage", "subscription",
)  # fmt: skip
_KEYS = (
    rf"(?:{_spellings('secret', 'token', 'credential', 'credentials')}"
    rf"|(?:{_spellings(*_KEY_OWNERS)})[_ "
    rf"-]?(?:(?:{_spellings('access')})[_-]?)?(?:{_spellings('key')})"
    r"(?:[_-]?(?:id|ID|Id))?)"
)


def _is_value(match: _Match) -> bool:
    return not values.is_placeholder(match["secret"])


def _is_random(match: _Match) -> bool:
    return values.is_random(match["secret"])


def _is_url_password(match: _Match) -> bool:
    """Whether `name:value@` in a URL is a login, not `host:8080/path@…` or `image:tag@sha256:…`."""
    is_port = re.match(r"[0-9]{1,5}(?:/|$)", match["secret"]) is not None and not match["user"]
    is_path = re.match(r"[0-9]{1,5}/", match["secret"]) is not None
    is_digest = match.string.startswith("@sha256:", match.end())
    return _is_value(match) and not is_port and not is_path and not is_digest


def _is_credential(match: _Match) -> bool:
    """Whether the value of an `Authorization` header, or of a scheme such as
    `Bearer`, is a secret.
    """
    return values.is_random(match["secret"]) or values.is_login(match["secret"])


def _is_after_curl(match: _Match) -> bool:
    """Whether `-u user:password` belongs to curl: in other programs it is a user and a group."""
    start = match.start()
    return match.string.rfind("curl", max(0, start - 1000), start) >= 0 and _is_value(match)


def _is_password(match: _Match) -> bool:
    if match["name"].lower() == "pass" and (match["secret"].isalpha() or " " in match["secret"]):
        return False
    return values.is_password(match["secret"], match["quote"] is not None, match["sign"] == "=")


def _is_password_argument(match: _Match) -> bool:
    return values.is_password_argument(
        match["secret"], match["quote"] is not None, not match["next"]
    )


def _is_key(match: _Match) -> bool:
    is_attribute = (
        match["quote"] is None and match["sign"] != "=" and values.is_attribute(match["secret"])
    )
    return not is_attribute and not values.is_prose(match["secret"]) and _is_random(match)


CONTEXTS = (
    Context(
        "webhook",
        (
            "hooks.slack.com",
            "/api/webhooks/",
            "webhook.office.com",
            "hooks.zapier.com",
            "chat.googleapis.com",
        ),
        lazy_pattern(
            r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks"
            r"|webhook\.office\.com/webhookb2|hooks\.zapier\.com/hooks/catch|chat\.googleapis\.com/v1/spaces)"
            r"/(?P<secret>[A-Za-z0-9_@/?&=.%+-]{20,}+)"
        ),
        lambda match: (
            _is_random(match) and not values.is_placeholder(match["secret"].rpartition("/")[2])
        ),
    ),
    Context(
        "token",
        ("@",),
        lazy_pattern(r":\\?/\\?/(?P<secret>[A-Za-z0-9_.~%+-]{16,400})(?=:?@|:x-oauth-basic@)"),
        _is_random,
    ),
    Context(
        "password",
        ("@",),
        lazy_pattern(
            r":\\?/\\?/(?P<user>[^\s/:@\[\]\"'`<>]{0,64}):"
            r"(?P<secret>[^\s@\"'`<>\\]{1,200}+(?:@[^\s/@:,?&=\"'`<>\\]{1,100}(?=@)){0,3})(?=@)"
        ),
        _is_url_password,
    ),
    Context(
        "token",
        ("uthorization", "UTHORIZATION"),
        lazy_pattern(
            rf"(?:[Aa]uthorization|AUTHORIZATION){_SIGN}(?:{_QUOTE})?"
            rf"(?:[A-Za-z][A-Za-z0-9-]{{1,20}}[ \t]{{1,8}})?"
            r"(?P<secret>[^\s\"'`,;\\<>(){}\[\]$]{8,}+)(?![(\[])"
        ),
        _is_credential,
    ),
    Context(
        "token",
        ("earer", "EARER"),
        lazy_pattern(r"\b(?:[Bb]earer|BEARER)[ \t]{1,8}(?P<secret>[A-Za-z0-9._~+/=-]{16,}+)"),
        lambda match: any(character.isdigit() for character in match["secret"]),
    ),
    Context(
        "token",
        ("asic",),
        lazy_pattern(r"\b[Bb]asic[ \t]{1,8}(?P<secret>[A-Za-z0-9._~+/=-]{6,}+)"),
        lambda match: (
            values.is_login(match["secret"]) or (len(match["secret"]) >= 16 and _is_random(match))
        ),
    ),
    Context(
        "password",
        ("auth",),
        lazy_pattern(
            rf"(?<![A-Za-z])auth{_SIGN}(?:{_QUOTE})?(?P<secret>[A-Za-z0-9+/]{{6,400}}+={{0,2}})"
        ),
        lambda match: values.is_login(match["secret"]),
    ),
    Context(
        "password",
        ("password",),
        lazy_pattern(
            rf"\b(?:machine{_BREAK}[^\s\\]{{1,253}}|default){_BREAK}login{_BREAK}[^\s\\]{{1,100}}"
            rf"{_BREAK}password{_BREAK}(?P<secret>[^\s\\\"']{{1,400}})"
        ),
        _is_value,
    ),
    Context(
        "signature",
        ("sig=", "Signature="),
        lazy_pattern(
            r"(?:[?&;]|u0026)(?:sig|(?:X-(?:Amz|Goog)-)?Signature)=(?P<secret>[A-Za-z0-9%+/_=-]{20,}+)",
        ),
        _is_random,
    ),
    Context(
        "password",
        ("curl",),
        lazy_pattern(
            rf"(?<![A-Za-z0-9_\]-])(?:-u|-U|--user|--proxy-user){_NEXT}?(?:{_QUOTE})?[^\s:\"'`\\]{{0,64}}:"
            r"(?P<secret>[^\s\"'`\\]{1,200}+)"
        ),
        _is_after_curl,
    ),
    Context(
        "password",
        ("mysql", "mariadb"),
        lazy_pattern(
            rf"\b(?:mysql|mariadb)[a-z_-]*+(?=[ \t])[^\n|;&\\]{{0,200}}?[ \t]-p{_ARGUMENT}"
        ),
        _is_value,
    ),
    Context(
        "password",
        ("sshpass", " login", "mongo", "redis-cli", "ldap"),
        lazy_pattern(
            r"\b(?:(?:sshpass|(?:docker|podman|registry) login|mongo[a-z]*+)\b"
            r"[^\n|;&\\]{0,200}?[ \t]-p"
            r"|redis-cli\b[^\n|;&\\]{0,200}?[ \t]-a"
            r"|ldap[a-z]++\b[^\n|;&\\]{0,200}?[ \t]-w)"
            rf"[ \t]{{1,8}}{_ARGUMENT}"
        ),
        _is_value,
    ),
    Context(
        "password",
        ("pass:",),
        lazy_pattern(
            rf"-pass(?:in|out|wd)?[ \t]{{1,8}}(?:{_QUOTE})?pass:(?P<secret>[^\s\"'`\\]{{4,400}}+)"
        ),
        _is_value,
    ),
    Context(
        "password",
        ("-pa", "-pwd", "-storepass", "-keypass"),
        lazy_pattern(
            r"(?<![A-Za-z0-9_\]-])--?(?:[a-z]{1,20}-){0,3}(?:store|key)?(?:password|passwd|passphrase|pass|pwd)"
            rf"{_NEXT}{_ARGUMENT}(?=[ \t]{{0,8}}(?P<next>[A-Za-z0-9(.,:]?))"
        ),
        _is_password_argument,
    ),
    Context(
        "key",
        ("-token", "-secret", "-api", "-access", "-account", "-auth", "-private"),
        lazy_pattern(
            r"(?<![A-Za-z0-9_\]-])--(?:[a-z]{1,20}-){0,3}(?:token|secret|(?:api|access|account|auth|private|secret)-?key)"
            rf"{_NEXT}{_ARGUMENT}"
        ),
        lambda match: values.is_random(match["secret"], 8),
    ),
    Context(
        "password",
        ("pass", "Pass", "PASS", "pwd", "Pwd", "PWD"),
        lazy_pattern(rf"(?P<name>{_PASSWORDS})[0-9]?{_SIGN}{_VALUE}"),
        _is_password,
    ),
    Context(
        "key",
        ("ecret", "ECRET", "oken", "OKEN", "redential", "REDENTIAL", "key", "Key", "KEY"),
        lazy_pattern(rf"(?P<name>{_KEYS}){_SIGN}{_VALUE}"),
        _is_key,
    ),
)
"""In the order in which they are masked."""
