"""Instruction files for agents (AGENTS.md and their like), which clients send as messages."""

import re

from ctxtrim.loading import lazy_pattern
from ctxtrim.model import Message

_NAMES = (
    r"(?:(?:AGENTS|CLAUDE|GEMINI|QWEN|CONVENTIONS|copilot-instructions)(?:\.local|\.override)?\.md\b"
    r"|\.(?:cursor|windsurf|cline)rules\b)"
)
_TAGS = r"(?:user_instructions|INSTRUCTIONS|environment_context|project_instructions)"
_MENTION = lazy_pattern(rf"(?<!\w){_NAMES}|<{_TAGS}>")
_REACH = 500  # characters that are searched for the name
# The beginning of a text with such a file: Codex (a heading, tags), Claude Code (a reminder),
# Gemini CLI, opencode, and the file itself under its own name.
_BEGINNING = lazy_pattern(
    rf"\s*(?:<{_TAGS}>"
    rf"|# (?:\S{{0,200}}/)?{_NAMES}(?: instructions\b[^\n]*)?[ \t]*(?:\n|$)"
    rf"|(?:Contents of|Instructions from:|--- ?Context from:) [^\n]{{0,300}}?{_NAMES}"
    rf"|<system-reminder>.{{0,{_REACH}}}?(?:# claudeMd\b|Contents of [^\n]{{0,300}}?{_NAMES}))",
    re.DOTALL,
)
_WRAPPER = lazy_pattern(
    rf"\s*(?:# [^\n]{{0,300}}\n\s*)?<(system-reminder|{_TAGS})>.*?</\1>", re.DOTALL
)


def is_instructions(message: Message) -> bool:
    """Whether a user message contains such a file.

    In a message of the client, the name of the file or the client's tag in the first 500 characters
    is enough. Otherwise a text of the message must begin as clients wrap such a file.
    """
    if message.role != "user":
        return False
    texts = [part.text for part in message.parts if part.kind == "text"]
    if message.is_injected and any(_MENTION.search(text, 0, _REACH) for text in texts):
        return True
    return any(map(_BEGINNING.match, texts))


def is_only_instructions(message: Message) -> bool:
    """Whether a user message consists of such files only, so that no person typed it."""
    if message.role != "user" or not message.parts:
        return False
    first_part = message.parts[0]
    if first_part.kind != "text" or not _BEGINNING.match(first_part.text):
        return False
    return all(part.kind == "text" and _is_file(part.text) for part in message.parts)


def _is_file(text: str) -> bool:
    """Whether a text is such a file as clients wrap it, with nothing after it."""
    if not _BEGINNING.match(text):
        return False
    end = 0
    while match := _WRAPPER.match(text, end):
        end = match.end()
    return end == 0 or not text[end:].strip()
