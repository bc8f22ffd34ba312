"""Count, truncate, trim and check recorded LLM conversations.

The names a library user imports are those of `ctxtrim.api`, loaded when they are first used.
"""

from typing import TYPE_CHECKING, Any

from ctxtrim import api
from ctxtrim.version import __version__ as __version__

if TYPE_CHECKING:
    from ctxtrim.api import *  # noqa: F403 - all names and types of the API

__all__: list[str] = []
__all__ += api.__all__


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return [*__all__, "__version__"]


if not TYPE_CHECKING:  # otherwise type checkers accept every name

    def __getattr__(name: str) -> Any:
        """Load a public name from its module."""
        return getattr(api, name)
