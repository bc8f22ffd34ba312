"""The dialects of transcripts: one module each, in the order in which they are tried."""

from ctxtrim.formats import (
    anthropic,
    claude_code,
    codex,
    codex_exec,
    context,
    gemini,
    gemini_cli,
    llamafactory,
    openai_chat,
    openai_responses,
    openhands,
    pi,
    qwen,
    sharegpt,
)
from ctxtrim.formats.format import Format
from ctxtrim.formats.lists import list_format

FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        claude_code.FORMAT,
        qwen.FORMAT,
        codex.FORMAT,
        codex_exec.FORMAT,
        pi.FORMAT,
        list_format(context.DIALECT),
        list_format(gemini_cli.DIALECT),
        list_format(openhands.DIALECT),
        list_format(anthropic.DIALECT),
        list_format(openai_responses.DIALECT),
        list_format(gemini.DIALECT),
        list_format(sharegpt.DIALECT),
        list_format(llamafactory.DIALECT),
        list_format(openai_chat.DIALECT),
    )
}
