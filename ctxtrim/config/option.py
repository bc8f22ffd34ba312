"""The declaration of an option, and the conversion of its values.

The command-line option, the key of configuration files, the environment variable and the keyword of
the API are made from the declaration.
"""

from collections.abc import Callable, Mapping
from dataclasses import Field
from math import isfinite
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtrim.errors import UsageError, excerpt
from ctxtrim.text.names import suggestion
from ctxtrim.text.numbers import decimal_number, percentage, whole_number

Values = Mapping[str, Any]
"""Values by the names of their options."""

_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")
LARGEST = 2**63 - 1  # the largest position in a sequence
_LONGEST_CHOICES = 20  # characters of choices that are shown in place of a metavar


class Option(Struct, frozen=True):
    """The declaration of an option: its default, help and valid values.

    The type of the default is the type of the values; `()` is a list of texts, None a number that
    is not set. `metavar` is derived if it is empty. `least` is the minimum of a number, `units` the
    factors of the words that may follow it; `is_share`: it may be a share, such as `80%`. `choices`
    are all valid words; `aliases` are words of other programs for them. `check` raises a
    `ValueError` with the reason for an invalid text. `is_restricted` returns whether a value runs a
    program, sends data, or names a file or folder.

    `panel` is the heading in help texts; the help of a command only names an option that `is_rare`.
    `is_setting`: configuration can set it, not only the command line. `is_flag`: the command line
    can set it, not only configuration. `is_keyword`: calls of the API can set it, which write no
    files and print nothing.
    """

    name: str
    help: str
    default: Any = ""
    metavar: str = ""
    short: str = ""
    least: int | None = None
    choices: tuple[str, ...] | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[str], object] | None = None
    is_restricted: Callable[[Any], bool] | None = None
    units: Mapping[str, float] = field(default_factory=dict)
    is_share: bool = False
    panel: str = ""
    is_rare: bool = False
    is_setting: bool = True
    is_flag: bool = True
    is_keyword: bool = True

    @property
    def shown_metavar(self) -> str:
        """The word for a value in the help text."""
        if self.metavar:
            return self.metavar
        if isinstance(self.default, int | None):
            return "N"
        if isinstance(self.default, float):
            return "F"
        words = "|".join(filter(None, self.choices or ())) or "TEXT"
        return words if len(words) < _LONGEST_CHOICES else "NAME"

    def in_panel(self, panel: str) -> "Option":
        """The same option in a panel of the help texts."""
        return replace(self, panel=panel)

    def parse(self, location: str, value: Any) -> Any:
        """The value of a text, from a command line, `-s` or the environment.

        A list is one text or several. Raises `UsageError` beginning with `location`.
        """
        if isinstance(self.default, bool):
            word = str(value).lower()
            if word not in _TRUE + _FALSE:
                raise UsageError(f"{_place(location, value)}: expected true or false")
            return word in _TRUE
        if isinstance(self.default, int | float | None):
            return self._number(location, value)
        if isinstance(self.default, tuple):
            texts = value if isinstance(value, list | tuple) else [value]
            return tuple(self._text(location, text) for text in texts)
        return self._text(location, value)

    def convert(self, location: str, value: Any) -> Any:
        """The value of a file, in which a number may be a string, as in `"30k"`.

        Raises `UsageError` beginning with `location`.
        """
        if isinstance(value, str) and self.is_number:
            return self.parse(location, value)
        return self.convert_strictly(location, value, spelled_in_file)

    def convert_strictly(
        self, location: str, value: Any, spelled: Callable[[object], str] = repr
    ) -> Any:
        """The value of a program, in which a number is not a string.

        Raises `UsageError` beginning with `location`, with a wrong value as `spelled` writes it.
        """
        default = 0 if self.default is None else self.default
        kind, expected = next(row[1:] for row in _KINDS if isinstance(default, row[0]))
        must_be(location, value, kind, expected, spelled)
        return self.parse(location, value)

    def written(self, value: Any) -> str:
        """A value as the user can write it, in the largest unit that leaves a whole number."""
        whole = [
            (factor, name)
            for name, factor in self.units.items()
            if isinstance(value, int) and value and value % factor == 0
        ]
        factor, name = max(whole, default=(1, ""))
        return f"{value // factor}{name}" if name else str(value)

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers."""
        return isinstance(self.default, int | float | None) and not isinstance(self.default, bool)

    def _number(self, location: str, value: Any) -> int | float | str:
        text = self._text(location, str(value))
        try:
            part = percentage(text) if self.is_share else None
            if part is not None:
                return part
            read = decimal_number if isinstance(self.default, float) else whole_number
            number = read(text, self.units)
        except ValueError:
            place = _place(location, value)
            raise UsageError(f"{place}: expected {self._expected}") from None
        if self.least is not None and not self.least <= number < float("inf"):
            is_finite = isinstance(number, int) or isfinite(number)
            kind = "" if is_finite else "a finite number of "
            raise UsageError(f"{location} {value}: expected {kind}at least {self.least}")
        return min(number, LARGEST) if isinstance(number, int) else number

    def restricts(self, value: Any) -> bool:
        """Whether only trusted sources may set a value."""
        return self.is_restricted is not None and self.is_restricted(value)

    @property
    def _expected(self) -> str:
        """The valid numbers, for messages."""
        units = f", with or without a unit ({', '.join(self.units)})" if self.units else ""
        if isinstance(self.default, float):
            return f"a number{units}"
        examples = ", such as 30000, 30_000 or 30k" if not units else ""
        percent = ", or a share of the window above 0% and at most 100%" if self.is_share else ""
        return f"a whole number{examples}{units}{percent}"

    def _text(self, location: str, value: Any) -> str:
        value = self.aliases.get(value, value)
        if self.choices is not None and value not in self.choices:
            words = [choice for choice in self.choices if choice]
            hint = suggestion(str(value), words)
            place = _place(location, value)
            raise UsageError(f"{place}: expected one of {', '.join(words)}{hint}")
        if self.check is not None:
            try:
                self.check(str(value))
            except ValueError as error:
                raise UsageError(f"{_place(location, value)}: {error}") from None
        return str(value)


def _place(location: str, value: object) -> str:
    """The place of an invalid value and the value, in quotes if it would not be visible."""
    text = str(value)
    return f"{location} {text if text.strip() else repr(text)}"


def stage_option(setting: Field[Any], aliases: Mapping[str, str]) -> Option:
    """The declaration of a stage setting. Its help ends with the default."""
    option = Option(setting.name, default=setting.default, aliases=aliases, **setting.metadata)
    text = option.help
    if option.default not in (None, ()):
        shown = str(option.default)
        shown = shown.lower() if isinstance(option.default, bool) else shown
        text += f" [default: {shown or 'none'}]"
    if isinstance(option.default, tuple):
        text += " May be repeated."
    return replace(option, help=text)


_KINDS: tuple[tuple[type, Any, str], ...] = (
    (bool, bool, "true or false"),
    (int, int, "a whole number"),
    (float, float, "a number"),
    (tuple, str | list[str], "a string or a list of strings"),
    (str, str, "a string"),
)
"""The type of a default, the type of values in documents, and its name in messages."""


def spelled_in_file(value: object) -> str:
    """A value as configuration files write it: `true` and `null`, and dates without quotes."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value) if isinstance(value, str | int | float | list | dict) else str(value)


def must_be(
    location: str,
    value: Any,
    kind: Any,
    expected: str,
    spelled: Callable[[object], str] = spelled_in_file,
) -> None:
    """Raise `UsageError` if a value does not have a type, which may have bounds."""
    import msgspec  # most runs find no document

    try:
        if isinstance(value, set | frozenset):  # of which msgspec would make a list
            raise msgspec.ValidationError
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError):  # half of a surrogate pair
        text = excerpt(spelled(value))
        raise UsageError(f"{location}: expected {expected}, found {text}") from None
