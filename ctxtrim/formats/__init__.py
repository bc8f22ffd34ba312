"""The dialects of transcripts: one module each, in the order in which they are tried."""

from ctxtrim.formats import claude_code, openai_chat
from ctxtrim.formats.format import Format

FORMATS: dict[str, Format] = {
    "claude-code": claude_code.FORMAT,
    "openai-chat": openai_chat.FORMAT,
}
