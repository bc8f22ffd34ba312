"""The words with which Copilot CLI names attachments in a prompt.

The size of a file is that at the time of the request. Newer versions record the words
(`taggedFilesEntry`); for older ones it is the largest that is likely.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ctxtrim.formats.fields import members, string

_LINES = "1000000 lines"


def names_of(attachments: Sequence[Mapping[str, Any]], is_sent: Sequence[bool]) -> str:
    """What a prompt says of its attachments, after its text; empty if it names none.

    `is_sent`: whether the bytes of each attachment are sent.
    """
    pairs = list(zip(attachments, is_sent, strict=True))
    labels = [_label(value) for value, sent in pairs if sent]
    files = [_entry(value) for value, sent in pairs if not sent and _has_path(value)]
    references = [_reference(value) for value in attachments if _is_reference(value)]
    texts = (
        *labels,
        _tagged("tagged_files", files),
        _tagged("github_references", references),
    )
    return "".join(f"\n\n{text}" for text in texts if text)


def _label(value: Mapping[str, Any]) -> str:
    """The words before an image or a document."""
    path = string(value.get("path"))
    name = string(value.get("displayName"))
    return f"Image file at path {path}" if path else name or "Attached image"


def _has_path(value: Mapping[str, Any]) -> bool:
    return value.get("type") in ("file", "directory") and bool(string(value.get("path")))


def _entry(value: Mapping[str, Any]) -> str:
    """The line of a file or a folder."""
    entry = string(value.get("taggedFilesEntry"))
    if entry:
        return entry
    lines = members(value.get("lineRange"))
    if lines:
        return f"* {value['path']} (lines {lines.get('start')}-{lines.get('end')} of {_LINES})"
    return f"* {value['path']} ({_LINES})"


def _is_reference(value: Mapping[str, Any]) -> bool:
    return value.get("type") == "github_reference"


def _reference(value: Mapping[str, Any]) -> str:
    """The line of an issue, a pull request or a discussion."""
    kind, state = value.get("referenceType"), value.get("state")
    title = f"#{value.get('number')} - {value.get('title')}"
    return f"{title} [{kind}] [{state}] ({value.get('url')})"


def _tagged(tag: str, lines: Sequence[str]) -> str:
    return "\n".join((f"<{tag}>", *lines, f"</{tag}>")) if lines else ""
