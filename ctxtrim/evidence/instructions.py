"""Instructions to the agent: what a project says in a file of its own, which clients send as a message."""

import re

from ctxtrim.model import Message

_FILES = re.compile(
    r"\b(?:AGENTS|CLAUDE|GEMINI|QWEN|CONVENTIONS|copilot-instructions)\.md\b|\.cursorrules\b|\.windsurfrules\b"
    r"|<(?:user_instructions|INSTRUCTIONS|environment_context|project_instructions)>"
)
_REACH = 500  # characters in which it is named


def is_instructions(message: Message) -> bool:
    """Whether a message that no person typed brings such a file: its name, or the client's tag for it, stands first."""
    if message.role != "user" or not message.is_injected:
        return False
    return any(_FILES.search(part.text, 0, _REACH) for part in message.parts if part.kind == "text")
