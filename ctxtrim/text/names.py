"""Names of settings: kebab-case, snake_case and camelCase, and suggestions for unknown names."""

from collections.abc import Callable, Iterable


def option_name(name: str) -> str:
    """The name of a setting as users write it: kebab-case, without the underscore after a Python
    keyword.
    """
    return name.removesuffix("_").replace("_", "-")


def kebab_case(key: str) -> str:
    """A camelCase key in kebab-case."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in key)


def camel_case(key: str) -> str:
    """A key in kebab-case in camelCase."""
    first, *words = key.split("-")
    return first + "".join(map(str.capitalize, words))


def snake_case(key: str) -> str:
    """A key in kebab-case, snake_case or camelCase in snake_case."""
    return kebab_case(key).replace("-", "_")


def field_name(key: str, names: Iterable[str]) -> str | None:
    """The name among `names` that a key in kebab-case, snake_case or camelCase means, None for an
    unknown key.

    A name like a Python keyword ends with an underscore.
    """
    name = snake_case(key)
    return next((field for field in (name, f"{name}_") if field in names), None)


def suggestion(word: str, words: Iterable[str], shown: Callable[[str], str] = str) -> str:
    """The text that suggests the word nearest to an unknown one, as `shown` writes it; empty if
    none is near.
    """
    from difflib import get_close_matches  # only errors need it

    nearest = get_close_matches(word, words, n=1)
    return f" (did you mean {shown(nearest[0])}?)" if nearest else ""
