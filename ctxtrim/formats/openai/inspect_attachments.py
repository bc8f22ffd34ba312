"""Contents that an inspect log stores once, under `attachments` of the sample.

A text or an image is then `attachment://HASH`, in old logs `tc://HASH`. An edit of such a text
writes the text itself. [UKGovernmentBEIS/inspect_ai, `resolve_sample_attachments`]
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ctxtrim.formats.message_lists import Element

_PREFIXES = ("attachment://", "tc://")


def resolved(elements: Iterable[Element], attachments: Mapping[str, Any]) -> Iterator[Element]:
    """The elements with the contents that their references name."""
    for element in elements:
        value = element.value
        if isinstance(value, dict) and "content" in value:
            content = _content(value["content"], attachments)
            element = element._replace(value=value | {"content": content})
        yield element


def _content(value: Any, attachments: Mapping[str, Any]) -> Any:
    """A content, or a value inside it, with the stored contents."""
    if isinstance(value, str):
        if not value.startswith(_PREFIXES):
            return value
        return attachments.get(value.partition("://")[2], value)
    if isinstance(value, list):
        return [_content(inner, attachments) for inner in value]
    if isinstance(value, dict):
        return {key: _content(inner, attachments) for key, inner in value.items()}
    return value
