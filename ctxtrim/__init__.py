"""Count, truncate, trim and check recorded LLM conversations.

::

    tokens = ctxtrim.estimate_tokens(messages, "gpt-4o")
    pipeline = ctxtrim.Pipeline("truncate:max-age=5", "trim", model="gpt-4o", budget=30_000)
    prompt = pipeline.run(messages).messages
    assert ctxtrim.fits("session.jsonl", model="gpt-4o")

The public names are those of `ctxtrim.api`; each is loaded when it is first used.
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
