"""The attachments of Claude Code: which ones the client sends, and their text.

Since about version 2.1.270 the client records what it sends as `rendered`, next to the attachment.
Before, it put words around the text of an attachment, which are not in the file and not counted.
[Claude Code, `normalizeAttachmentForAPI`]
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ctxtrim.formats.anthropic.blocks import is_injected, user_block
from ctxtrim.formats.fields import members, string
from ctxtrim.formats.media_blocks import media_of
from ctxtrim.formats.message_parts import content_parts
from ctxtrim.model import Message, Part, Span
from ctxtrim.text.records import dump

# Attachments that the client never sends; it sends all others. The last ones are from old versions.
_HIDDEN = frozenset((
    "already_read_file", "attention_budget", "batching_reminder_sent", "command_permissions",
    "context_efficiency", "credential_org", "edited_image_file", "goal_status", "hook_cancelled",
    "hook_deferred_tool", "hook_error_during_execution", "hook_non_blocking_error",
    "hook_permission_decision", "hook_system_message", "max_turns_reached",
    "secondary_reminder_sent", "structured_output", "teammate_shutdown_batch", "thinking_drop",
    "tool_host_result_lines",
    "autocheckpointing", "background_task_status", "companion_intro", "compaction_reminder",
    "context_tip", "current_session_memory", "echo_activities", "fold_nudge", "pen_mode_enter",
    "pen_mode_exit", "task_progress", "thinking_reminder", "todo", "ultramemory",
    "ultrawork_request", "verify_plan_reminder",
))  # fmt: skip

# Attachments that the client does not send if this member is empty.
_NEEDED = {
    "diagnostics": "files",
    "hook_additional_context": "content",
    "hook_success": "content",
    "invoked_skills": "skills",
    "skill_listing": "content",
}
_HOOKS = ("SessionStart", "UserPromptSubmit")
"""The events whose hooks add their output to the context."""

# The members that the client sends, of attachments of which it does not send all. A dot leads into
# an object, or into each object of a list.
_TEXTS = {
    "agent_listing_delta": ("addedLines", "removedTypes"),
    "batching_reminder": ("text",),
    "compact_file_reference": ("filename",),
    "critical_system_reminder": ("content",),
    "date": ("date",),
    "date_change": ("newDate",),
    "deferred_tools_delta": ("addedLines", "removedNames"),
    "deferred_tools_record": ("entries",),
    "diagnostics": ("files",),
    "directory": ("path", "content"),
    "edited_text_file": ("filename", "snippet"),
    "environment": ("snapshot",),
    "file": ("filename", "content.file.content", "content.file.cells"),
    "hook_additional_context": ("hookName", "content"),
    "hook_blocking_error": ("hookName", "blockingError"),
    "hook_stopped_continuation": ("hookName", "message"),
    "hook_success": ("hookName", "content"),
    "instructions": ("files.path", "files.content"),
    "invoked_skills": ("skills.name", "skills.path", "skills.content"),
    "mcp_instructions_delta": ("addedBlocks", "removedNames"),
    "mcp_resource": ("server", "uri", "content.contents.text"),
    "model": ("text",),
    "nested_memory": ("content.path", "content.content"),
    "opened_file_in_ide": ("filename",),
    "plan_file_reference": ("planFilePath", "planContent"),
    "relevant_memories": ("memories.path", "memories.content"),
    "sandbox_instructions": ("content",),
    "secondary_reminder": ("text",),
    "selected_lines_in_ide": ("filename", "content"),
    "session_context": ("context",),
    "silent_turn_reminder": ("text",),
    "skill_listing": ("content",),
    "task_reminder": ("content",),
    "todo_reminder": ("content",),
    "total_tokens_reminder": ("text",),
}


def attachment_message(attachment: dict[str, Any], rendered: object, span: Span) -> Message | None:
    """The attachment of an event at `span` as a user message without spans; None if the client does
    not send it.

    `rendered`: the messages that the client recorded as sent, if it did.
    """
    kind = string(attachment.get("type")) or ""
    is_typed = kind == "queued_command" and _is_typed(attachment)
    if isinstance(rendered, list):
        parts = tuple(_rendered_parts(rendered, span.inside("rendered")))
        return Message("user", parts, is_injected=not is_typed) if parts else None
    if not _is_sent(kind, attachment):
        return None
    if kind == "queued_command":
        prompt_span = span.inside("attachment", "prompt")
        prompt_parts = content_parts(attachment.get("prompt"), prompt_span, user_block)
        parts = prompt_parts or (Part("text", dump(attachment)),)
        return Message("user", parts, is_injected=not is_typed)
    text = Part("text", _text(kind, attachment))
    media = _file(members(attachment.get("content"))) if kind == "file" else None
    parts = (text,) if media is None else (text, media)
    return Message("user", parts, is_injected=True)


def _is_sent(kind: str, attachment: dict[str, Any]) -> bool:
    if kind in _HIDDEN or (kind in _NEEDED and not attachment.get(_NEEDED[kind])):
        return False
    return kind != "hook_success" or attachment.get("hookEvent") in _HOOKS


def _rendered_parts(items: Sequence[Any], span: Span) -> Iterator[Part]:
    """The parts of the messages that the client sent for an attachment."""
    for index, item in enumerate(items):
        content, content_span = members(item).get("content"), span.inside(index, "content")
        yield from content_parts(content, content_span, user_block)


def _is_typed(attachment: dict[str, Any]) -> bool:
    """Whether the person queued a text while the model worked. The client queues texts, too."""
    origin = members(attachment.get("origin")).get("kind") or "human"
    mode = attachment.get("commandMode", "prompt")
    if origin != "human" or mode != "prompt" or attachment.get("isMeta"):
        return False
    prompt = attachment.get("prompt")
    texts = [prompt] if isinstance(prompt, str) else list(_texts(prompt, ("text",)))
    return not is_injected(texts[0] if texts else "")


def _file(content: dict[str, Any]) -> Part | None:
    """The image or PDF of a file; None for other files."""
    kind, file = content.get("type"), members(content.get("file"))
    data = file.get("base64")
    if kind not in ("image", "pdf") or not isinstance(data, str):
        return None
    mime = "application/pdf" if kind == "pdf" else file.get("type")
    source = {"type": "base64", "media_type": mime, "data": data}
    media = media_of({"type": "image" if kind == "image" else "document", "source": source})
    return None if media is None else Part("attachment", media=media)


def _text(kind: str, attachment: dict[str, Any]) -> str:
    """The text of an attachment; its JSON if no member with a text is known."""
    paths = [path.split(".") for path in _TEXTS.get(kind, ())]
    texts = [text for path in paths for text in _texts(attachment, path)]
    return "\n".join(texts) if texts else dump(attachment)


def _texts(value: Any, path: Sequence[str]) -> Iterator[str]:
    """The texts under a path, of each element of lists on the way."""
    if isinstance(value, list):
        for element in value:
            yield from _texts(element, path)
    elif path:
        if isinstance(value, dict):
            yield from _texts(value.get(path[0]), path[1:])
    elif value is not None:
        yield value if isinstance(value, str) else dump(value)
