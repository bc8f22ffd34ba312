"""Edits of Chat Completions besides those of single values."""

from ctxtrim.formats import media_marks
from ctxtrim.formats.base import Edit
from ctxtrim.formats.message_parts import is_system_prompt
from ctxtrim.formats.openai import AG_UI_CALLS, RESPONSES, SDK_REQUEST
from ctxtrim.loading import lazy_function
from ctxtrim.text.json_paths import Path

_KIMI = (b'"_system_prompt"', b'"_checkpoint"')  # lines of a context of Kimi CLI
_with_copies = lazy_function("ctxtrim.formats.openai.autogen:with_copies")
_without_approvals = lazy_function("ctxtrim.formats.openai.ai_sdk_approvals:without_approvals")
_without_old_usage = lazy_function("ctxtrim.formats.openai.kimi_context:without_old_usage")


def owner(array: Path) -> Path | None:
    """A message is removed with the last block of its content, a response with its last item, and
    a list of calls or responses or a system prompt with its last element.
    """
    if array[-1] in ("tool_calls", AG_UI_CALLS, RESPONSES) or is_system_prompt(array):
        return array
    return array[:-1] if array[-1] in ("content", "output") else None


def relink(edit: Edit) -> Edit:
    """The edit, with attachments that match their marks, without outdated recorded tokens."""
    if len(edit.lines) > 1 and edit.mentions(0, _KIMI):  # it has a line for each message
        edit = _without_old_usage(edit)
    if _may_change_responses(edit):
        edit = _with_copies(edit)
    lines = {span.line for span in edit.removed}
    if any(edit.mentions(line, (SDK_REQUEST.encode(),)) for line in lines):
        edit = _without_approvals(edit)
    return media_marks.relink(edit)


def _may_change_responses(edit: Edit) -> bool:
    """Whether a line with an edit has responses of AutoGen."""
    lines = {span.line for span in edit.changed}
    return any(edit.mentions(line, (RESPONSES.encode(),)) for line in lines)
