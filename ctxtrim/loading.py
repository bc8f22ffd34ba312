"""Rows of tables, functions and patterns that load when they are first used, so that a run loads
only what it needs.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, AnyStr, TypeVar, cast

V = TypeVar("V")


class LazyTable(MutableMapping[str, V]):
    """Values by name. The names are known at once; `load` makes a value from its name."""

    def __init__(self, names: Iterable[str], load: Callable[[str], V]) -> None:
        self._names = dict.fromkeys(names)
        self._load = load
        self._loaded: dict[str, V] = {}

    def __getitem__(self, name: str) -> V:
        """The value of a name; a `KeyError` for an unknown name."""
        try:
            return self._loaded[name]
        except KeyError:
            if name not in self._names:
                raise
        self._loaded[name] = self._load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, value: V) -> None:
        """Add or replace a value."""
        self._names[name] = None
        self._loaded[name] = value

    def __delitem__(self, name: str) -> None:
        """Remove a name."""
        del self._names[name]
        self._loaded.pop(name, None)

    def __contains__(self, name: object) -> bool:
        """Whether the table has a name; loads nothing."""
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        """The names in order; loads nothing."""
        return iter(self._names)

    def __len__(self) -> int:
        """The number of names."""
        return len(self._names)


def module_table(package: str, rows: Mapping[str, str]) -> LazyTable[Any]:
    """A table of values in the modules of a package; `rows` maps names to `module:attribute`."""
    return LazyTable(rows, lambda name: _loaded(f"{package}.{rows[name]}"))


def lazy_function(name: str) -> Callable[..., Any]:
    """A function `module:attribute` that is loaded when it is first called."""
    function: Callable[..., Any] | None = None

    def call(*args: Any) -> Any:
        nonlocal function
        if function is None:
            function = _loaded(name)
        return function(*args)

    return call


def _loaded(name: str) -> Any:
    """The value of a `module:attribute`."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


class _LazyPattern:
    """A pattern that is compiled when a method is first used."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, value)
        return value


def lazy_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern that is compiled when a method is first used; not for functions of `re`."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(text, flags))
