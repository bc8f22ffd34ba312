"""The notes and the recorded tokens in contexts of Kimi CLI (`context.jsonl`).

A user message that begins with a text block `<system>…</system>` is a note of the program, such as
a checkpoint, or the summary of a compaction.

A line `{"role": "_usage", "token_count": 8123}` counts all messages before it. Kimi CLI takes the
last one as the size of the context. [MoonshotAI/kimi-cli, `src/kimi_cli/soul/context.py`]
"""

from msgspec.structs import replace

from ctxtrim.formats.base import Edit
from ctxtrim.formats.fields import members
from ctxtrim.model import Message, Span

_FIRST = ("_system_prompt", "_checkpoint")  # roles of the first line
_COMPACTED = "<system>Previous context has been compacted"


def with_note(message: Message) -> Message:
    """The user message, marked if the program wrote it."""
    note = message.parts[0].text
    if not note.endswith("</system>"):
        return message
    return replace(message, is_injected=True, is_summary=note.startswith(_COMPACTED))


def without_old_usage(edit: Edit) -> Edit:
    """The edit without the recorded tokens after its first change, which count other messages.

    Files of other programs stay as they are.
    """
    if members(edit.values[0]).get("role") not in _FIRST:
        return edit
    first = min(span.line for span in edit.changed)
    usages = {
        Span(line)
        for line, value in enumerate(edit.values)
        if line > first and members(value).get("role") == "_usage"
    }
    return replace(edit, removed=edit.removed | usages)
