"""The supported formats, one module each, in the order of detection."""

from ctxtrim.formats import bedrock, llamafactory, sharegpt, swe_agent_web, tau2_voice
from ctxtrim.formats import numbered_turns as context
from ctxtrim.formats.agents import (
    AI_SDK_UI,
    ATIF,
    CURSOR_AGENT,
    antigravity,
    copilot,
    crush,
    droid_exec,
    goose,
    grok,
    kimi,
    kiro,
    kiro_cli,
    windsurf,
)
from ctxtrim.formats.anthropic import claude_code
from ctxtrim.formats.anthropic import messages as anthropic
from ctxtrim.formats.base import Format
from ctxtrim.formats.gemini import AI_STUDIO, CLI_STREAM, adk_eval, gemini_cli, gemini_prompts
from ctxtrim.formats.gemini import contents as gemini
from ctxtrim.formats.gemini import qwen_code as qwen
from ctxtrim.formats.list_format import list_format
from ctxtrim.formats.openai import chat as openai_chat
from ctxtrim.formats.openai import codex, codex_exec
from ctxtrim.formats.openai import responses as openai_responses
from ctxtrim.formats.opencode import OPENCODE, OPENCODE_RUN
from ctxtrim.formats.openhands import OPENHANDS
from ctxtrim.formats.pi import session as pi
from ctxtrim.formats.traces import langchain_messages, langfuse, langsmith, litellm, opentelemetry

FORMATS: dict[str, Format] = {
    file_format.name: file_format
    for file_format in (
        claude_code.FORMAT,
        CURSOR_AGENT,
        qwen.FORMAT,
        codex.FORMAT,
        codex_exec.FORMAT,
        kimi.FORMAT,
        copilot.FORMAT,
        droid_exec.FORMAT,
        pi.FORMAT,
        grok.FORMAT,
        opentelemetry.FORMAT,
        langfuse.FORMAT,
        langsmith.FORMAT,
        litellm.FORMAT,
        antigravity.FORMAT,
        kiro_cli.FORMAT,
        list_format(context.DIALECT),
        CLI_STREAM,
        gemini_prompts.FORMAT,
        list_format(gemini_cli.DIALECT),
        OPENCODE_RUN,
        list_format(OPENCODE),
        list_format(goose.DIALECT),
        list_format(crush.DIALECT),
        list_format(AI_SDK_UI),
        list_format(ATIF),
        list_format(OPENHANDS),
        list_format(bedrock.DIALECT),
        list_format(anthropic.DIALECT),
        list_format(openai_responses.DIALECT),
        list_format(adk_eval.DIALECT),
        list_format(AI_STUDIO),
        list_format(gemini.DIALECT),
        list_format(sharegpt.DIALECT),
        list_format(llamafactory.DIALECT),
        list_format(windsurf.DIALECT),
        list_format(kiro.DIALECT),
        list_format(tau2_voice.DIALECT),
        list_format(swe_agent_web.DIALECT),
        list_format(langchain_messages.IN_FILES),
        list_format(openai_chat.DIALECT),
    )
}
