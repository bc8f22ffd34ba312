"""Conversion: from a transcript in any format to a request of a provider, with a list of losses.

A target is one module and one row in `TARGETS`.
"""

from typing import TYPE_CHECKING

from msgspec import Struct

from ctxtrim.findings import Finding
from ctxtrim.loading import LazyTable, module_table

if TYPE_CHECKING:
    from ctxtrim.formats.conversion.target import Target

TARGETS: "LazyTable[Target]" = module_table(
    "ctxtrim.formats.conversion",
    {
        "openai-chat": "openai_chat:TARGET",
        "anthropic": "anthropic:TARGET",
        "gemini": "gemini:TARGET",
        "openai-responses": "openai_responses:TARGET",
    },
)


class Conversion(Struct, frozen=True):
    """A request as JSON text, and findings for all losses and changes.

    `text` is None if the transcript cannot be converted; a finding has the reason. `to` is the
    target, which is also the format of the request.
    """

    text: str | None
    findings: tuple[Finding, ...]
    to: str = ""
