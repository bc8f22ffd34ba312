"""Generated transcripts: a conversation in every supported format and style."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from writers import (
    adk_eval,
    ai_sdk_ui,
    ai_studio,
    anthropic,
    antigravity,
    atif,
    autogen,
    bedrock,
    claude_code,
    codex,
    codex_exec,
    context,
    copilot,
    crush,
    cursor_agent,
    droid_exec,
    gemini,
    gemini_cli,
    gemini_cli_stream,
    goose,
    grok,
    kimi,
    kiro,
    kiro_cli,
    langchain,
    langfuse,
    langsmith,
    litellm,
    llamafactory,
    mini_swe_agent,
    openai_chat,
    openai_responses,
    opencode,
    opencode_2,
    opencode_run,
    openhands,
    opentelemetry,
    pi,
    qwen,
    sharegpt,
    swe_agent_web,
    tau2_voice,
    windsurf,
)

# Texts of real files: words, code, other scripts, and text with a meaning in JSON, for terminals or
# for tokenizers.
FRAGMENTS = (
    "ok", "Error: no such file", "Traceback (most recent call last)", "exit code 1", "0 errors",
    "def f(x):\n    return x", "naïve café", "日本語の説明", "🚀🚀", "e\u0301", "\u2028",
    "\x1b[31mred\x1b[0m", "\r\n", "\t", '"quoted"', "\\n", "{}", "<|endoftext|>",
    "[content truncated - 7 steps ago]", "... [truncated 12 characters] ...", " " * 40, "=" * 40,
    "line\n" * 30, "word " * 120,
)  # fmt: skip
TEXTS = (
    *FRAGMENTS,
    *(" ".join(FRAGMENTS[position : position + 5]) for position in range(0, len(FRAGMENTS), 3)),
    *(fragment * 50 for fragment in FRAGMENTS),
    "\n".join(f"line {number} of the log" for number in range(300)),
    "Error: at the head\n" + "detail\n" * 400,
    "fine\n" * 400 + "Exit code 2",
    "\ud800",
    "a\udc80b",
    "",
)
texts = st.one_of(st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.text(max_size=8))
files_named = st.sampled_from([{}, {}, {"path": "/app/a.py"}, {"file_path": "b.py"}])
# a small set, so that ids are reused, as in real files
call_ids = st.sampled_from(["c1", "c2", "c3", "c4", "c5"])


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A conversation as plain values: role, texts, calls with ids, results.

    Not always a well-formed one.

    Some steps are hidden from the model, in formats with visibility.
    """
    messages: list[dict[str, Any]] = []
    if draw(st.booleans()):
        messages.append({"role": "system", "texts": [draw(texts)]})
    if draw(st.integers(0, 5)) == 0:
        messages.append({"role": "assistant", "texts": ["Hello!"], "calls": []})
    for _ in range(draw(st.integers(0, 3))):
        prompt = {"role": "user", "texts": draw(st.lists(texts, min_size=1, max_size=2))}
        messages.append(prompt | {"image": draw(st.integers(0, 4)) == 0})
        for _ in range(draw(st.integers(0, 4))):
            hidden = draw(st.integers(0, 7)) == 0
            ids = draw(st.lists(call_ids, max_size=3, unique=True))
            calls = [
                {
                    "id": name,
                    "name": draw(st.sampled_from(["bash", "Read"])),
                    "input": {"x": draw(texts)} | draw(files_named),
                }
                for name in ids
            ]
            words = draw(st.lists(texts, min_size=0 if calls else 1, max_size=1))
            messages.append({"role": "assistant", "texts": words, "calls": calls, "hidden": hidden})
            if draw(st.integers(0, 9)) == 0:
                ids = [*ids[1:], "orphan"]
            for name in draw(st.permutations(ids)):
                result = {
                    "role": "tool",
                    "id": name,
                    "texts": draw(st.lists(texts, min_size=1, max_size=3)),
                }
                messages.append(
                    result
                    | {
                        "image": draw(st.integers(0, 4)) == 0,
                        "error": draw(st.sampled_from([None, None, True, False])),
                    }
                    | {"hidden": hidden}
                )
    return messages


@st.composite
def styles(draw: st.DrawFn) -> dict[str, Any]:
    """Styles of JSON: with or without escapes and spaces."""
    return {
        "ensure_ascii": draw(st.booleans()),
        "separators": draw(st.sampled_from([None, (",", ":"), (" , ", " :  ")])),
    }


def as_json(value: Any, style: dict[str, Any], **more: Any) -> bytes:
    """A value as JSON bytes; characters outside UTF-8 are escaped."""
    text = json.dumps(value, **style, **more)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, **(style | {"ensure_ascii": True}), **more).encode()


CONVERSATIONS: dict[str, Callable[[list[dict[str, Any]], int], Any]] = {
    "openai-chat": openai_chat.conversation,
    "openai-chat, in a string": openai_chat.row,
    "openai-chat, AutoGen": autogen.conversation,
    "openai-chat, AG-UI": openai_chat.ag_ui,
    "openai-chat, responses": mini_swe_agent.trajectory,
    "openai-responses": openai_responses.conversation,
    "openai-responses, rollouts": openai_responses.rollout,
    "anthropic": anthropic.conversation,
    "ai-sdk-ui": ai_sdk_ui.chat,
    "ai-studio": ai_studio.chat,
    "atif": atif.trajectory,
    "atif, compacted": lambda talk, number: atif.trajectory(talk, 1),
    "bedrock": bedrock.request,
    "bedrock, logs": bedrock.log,
    "bedrock, sessions": bedrock.session,
    "context": context.conversation,
    "pi": pi.conversation,
    "gemini": gemini.conversation,
    "gemini, events": gemini.adk_session,
    "adk-eval": adk_eval.case,
    "gemini-cli": gemini_cli.session,
    "crush": crush.session,
    "crush, as shown": crush.shown,
    "goose": goose.session,
    "opencode": opencode.session,
    "opencode, 2": opencode_2.session,
    "openhands": openhands.history,
    "openhands, pairs": openhands.pairs,
    "openhands, old": openhands.resolver,
    "sharegpt": sharegpt.conversation,
    "llamafactory": llamafactory.conversation,
    "opentelemetry": opentelemetry.conversation,
    "langchain": langchain.state,
    "langfuse": langfuse.generation,
    "langfuse, traces": langfuse.trace,
    "langsmith": langsmith.run,
    "langsmith, chains": langsmith.nested,
    "litellm": litellm.payload,
    "windsurf": windsurf.export,
    "kiro": kiro.conversation,
    "swe-agent-web": swe_agent_web.trajectory,
    "tau2-voice": tau2_voice.simulation,
}
"""By format: a plain conversation and its number in the file, as a JSON value."""

EVENTS: dict[str, Callable[[list[dict[str, Any]]], list[Any]]] = {
    "openai-chat": lambda talk: [openai_chat.openai_message(message) for message in talk],
    "openai-chat, AutoGen": autogen.messages,
    "claude-code": claude_code.claude_events,
    "openai-responses": openai_responses.items,
    "openai-responses, reasoning": openai_responses.reasoned,
    "codex": codex.codex_events,
    "codex, long": codex.long_session,
    "codex, bare": codex.bare_session,
    "codex-exec": codex_exec.exec_events,
    "anthropic": anthropic.elements,
    "ai-sdk-ui": ai_sdk_ui.messages,
    "bedrock": bedrock.elements,
    "bedrock, strands": bedrock.strands,
    "context": context.context_messages,
    "pi": lambda talk: [pi.pi_message(message, position) for position, message in enumerate(talk)],
    "pi, sessions": pi.sessions,
    "pi, old sessions": pi.old_sessions,
    "gemini": gemini.contents,
    "gemini-cli": gemini_cli.log,
    "gemini-cli-stream": gemini_cli_stream.events,
    "langchain": langchain.messages,
    "langchain, serialized": lambda talk: langchain.messages(talk, 3),
    "copilot-cli": copilot.events,
    "copilot-cli, compacted": copilot.compacted,
    "cursor-agent": cursor_agent.events,
    "droid-exec": droid_exec.events,
    "goose": goose.lines,
    "grok-cli": grok.items,
    "antigravity": antigravity.steps,
    "windsurf, steps": windsurf.steps,
    "kimi": kimi.records,
    "kimi, compacted": kimi.compacted,
    "kiro-cli": kiro_cli.records,
    "kiro-cli, compacted": kiro_cli.compacted,
    "opencode, 2": lambda talk: opencode_2.session(talk, 1)["messages"],
    "opencode-run": opencode_run.events,
    "openhands": openhands.events,
    "openhands, 1": openhands.sdk_events,
    "openhands, condensed": openhands.condensed,
    "qwen": qwen.events,
    "sharegpt": lambda talk: [turn for message in talk for turn in sharegpt.turns(message)],
    "llamafactory": llamafactory.messages,
}
"""By format and layout: a plain conversation as the values of lines."""


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file of any format and layout, with the oddities that real ones have."""
    style = draw(styles())
    end = draw(st.sampled_from([b"\n", b"\r\n"]))
    layout = draw(st.sampled_from(["conversations", "document", "events"]))
    if layout == "events":
        values = EVENTS[draw(st.sampled_from(sorted(EVENTS)))](draw(conversations()))
    else:
        spelled = CONVERSATIONS[draw(st.sampled_from(sorted(CONVERSATIONS)))]
        most = 2 if layout == "document" else 3
        talks = draw(st.lists(conversations(), min_size=1, max_size=most))
        values = [spelled(talk, number) for number, talk in enumerate(talks)]
    if layout == "document":
        return as_json(
            values if len(values) > 1 else values[0], style, indent=draw(st.sampled_from([None, 2]))
        )
    lines = [as_json(value, style) for value in values]
    for _ in range(draw(st.integers(0, 1))):
        lines.insert(
            draw(st.integers(0, len(lines))),
            draw(st.sampled_from([b"", b'{"unknown": 1e5, "unknown": "\\u00e9"}', b"  "])),
        )
    glued = draw(st.integers(0, 9)) == 0
    data = b"".join(
        line + (b"" if glued and position == 0 and line.strip() else end)
        for position, line in enumerate(lines)
    )
    return data if draw(st.booleans()) else data.removesuffix(end)


limits = st.sampled_from([0, 3, 10, 60, 500])
truncations = st.fixed_dictionaries(
    {},
    optional={
        "clock": st.sampled_from(["steps", "turns", "none"]),
        "max_age": st.integers(0, 4),
        "max_tokens": st.sampled_from([0, 32, 50, 200, 2000]),
        "max_lines": limits,
        "max_bytes": limits,
        "max_chars": limits,
        "mode": st.sampled_from(["head-tail", "head", "tail"]),
        "spill_above": st.sampled_from([0, 100, 2000]),
        "tool": st.sampled_from(
            [
                (),
                ("bash:max-tokens=40,mode=tail",),
                ("Read:max-age=0,replace=head", "bash:max-age=1,max-lines=5"),
            ]
        ),
        "replace": st.sampled_from(["placeholder", "stub", "head", "summary"]),
        "placeholder": st.sampled_from(
            [
                "[content truncated - {age} steps ago]",
                "[gone {N}]",
                "[{tool} {path}: {tokens} tokens, {lines} lines, {id}, {sha256}]",
            ]
        ),
        "pointer": st.sampled_from(
            [
                '[TRUNCATED — full output in get_task_trace(traceId="{id}")]',
                "(see {id}, {sha256})",
                "[more]",
            ]
        ),
        "head_lines": st.sampled_from([0, 1, 3, 40]),
        "assign_ids": st.sampled_from([True, True, False]),
        "keep_errors": st.booleans(),
        "errors": st.sampled_from(["strict", "loose"]),
        "keep_small": st.sampled_from([0, 20, 100]),
        "keep_quoted": st.booleans(),
        "keep_chains": st.booleans(),
        "keep_active_files": st.booleans(),
        "active_steps": st.sampled_from([0, 1, 10]),
        "keep_tools": st.sampled_from([(), ("Rea.",), ("bash", "x+")]),
        "pin": st.sampled_from([(), ("café",), ("tool:Read",), ("id:c1", "^line 7")]),
        "dedupe": st.booleans(),
        "metadata": st.booleans(),
        "current_step": st.sampled_from([0, 2, 20]),
        "current_turn": st.sampled_from([0, 2, 20]),
    },
)
budgets = st.one_of(st.integers(1, 60), st.integers(60, 3000))
trims = st.fixed_dictionaries(
    {},
    optional={
        "strategy": st.sampled_from(["priority", "oldest", "middle", "age"]),
        "target": st.sampled_from(["1.0", "0.8", "0.3"]),
        "keep_recent_turns": st.integers(0, 3),
        "keep_recent_messages": st.integers(0, 5),
        "keep_recent_tokens": st.sampled_from([0, 50, 500]),
        "keep_errors": st.booleans(),
        "keep_small": st.sampled_from([0, 20]),
        "keep_quoted": st.booleans(),
        "keep_chains": st.booleans(),
        "keep_active_files": st.booleans(),
        "keep_tools": st.sampled_from([(), ("bash|read_file",)]),
        "preserve_system_prompt": st.booleans(),
        "keep_answer": st.booleans(),
        "pin": st.sampled_from([(), ("error",), ("tool:bash",), ("id:c1",)]),
        "summarize": st.booleans(),
        "summary_tokens": st.sampled_from([5, 40, 1000]),
    },
)
summaries = st.fixed_dictionaries(
    {},
    optional={
        "keep_recent_turns": st.integers(0, 3),
        "keep_recent_messages": st.integers(0, 5),
        "keep_recent_tokens": st.sampled_from([0, 50, 500]),
        "summary_tokens": st.sampled_from([5, 40, 1000]),
        "pin": st.sampled_from([(), ("error",), ("tool:bash",)]),
    },
)
removals = st.fixed_dictionaries(
    {"max_age": st.integers(0, 3)},
    optional={
        "clock": st.sampled_from(["steps", "turns"]),
        "pin": st.sampled_from([(), ("error",), ("tool:bash",), ("id:c1",)]),
    },
)
cutoffs = st.fixed_dictionaries(
    {"tool_cutoff": st.integers(0, 3)},
    optional={
        "tool_summary": st.sampled_from(["llm", "heuristic", "off"]),
        "summary_place": st.sampled_from(["in-place", "append"]),
        "redact": st.booleans(),
        "pin": st.sampled_from([(), ("error",), ("tool:bash",), ("id:c1",)]),
    },
)
compactions = st.fixed_dictionaries(
    {
        "session_tokens": st.sampled_from([0, 10, 100, 1000, 8000]),
        "max_messages": st.sampled_from([0, 3, 10, 50]),
    },
    optional={
        "keep_recent_messages": st.integers(0, 6),
        "keep_recent_tokens": st.sampled_from([0, 20, 300, 20_000]),
        "tool_cutoff": st.integers(0, 3),
        "tool_summary": st.sampled_from(["llm", "heuristic", "off"]),
        "auto": st.sampled_from([True, True, True, False]),
        "pin": st.sampled_from([(), ("error",), ("tool:bash",), ("id:c1",)]),
    },
)
