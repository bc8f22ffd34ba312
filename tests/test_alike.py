"""A conversation in every format: every stage makes the same decisions (S1-11)."""

import re
from typing import Any

import pytest
from harness import read, run
from strategies import CONVERSATIONS, EVENTS, as_json
from writers.openai_responses import items

from ctxtrim.config.presets import PRESETS
from ctxtrim.stages.structure import PROFILES
from ctxtrim.summaries import markers

META = {"type": "session_meta", "payload": {"id": "s", "cwd": "/x"}}
NAMES = (
    *("openai-chat", "anthropic", "openai-responses", "claude-code", "codex", "pi", "gemini"),
    *("opentelemetry", "langfuse", "langsmith", "litellm"),
    *("goose", "crush"),
)
"""The formats that can hold the whole conversation; others lack ids, text next to a call, or calls.
"""
FORMS = {
    **{
        f"{name}, a list": (lambda talk, one=item: [one(talk, 0)])
        for name, item in CONVERSATIONS.items()
        if name in NAMES
    },
    **{f"{name}, lines": item for name, item in EVENTS.items() if name in NAMES},
    "codex, lines": lambda talk: [
        META,
        *({"type": "response_item", "payload": item} for item in items(talk)),
    ],
}
PLAIN = {"separators": (",", ":"), "ensure_ascii": False}


def plain_message(role: str, text: str, *calls: str) -> dict[str, Any]:
    made = [{"id": name, "name": "bash", "input": {"x": f"look at {name}"}} for name in calls]
    return {"role": role, "texts": [text]} | ({"calls": made} if role == "assistant" else {})


def result(of: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "id": of, "texts": [text], "image": False, "error": None}


TALK = [
    plain_message("user", "What do the tide tables say of the harbour?"),
    *(
        message
        for number in range(1, 9)
        for message in (
            plain_message("assistant", f"Step {number}.", f"c{number}"),
            result(f"c{number}", f"table {number}: " + "high water and low water " * (40 * number)),
        )
    ),
    plain_message("assistant", "They say that the harbour is dry at noon."),
    plain_message("user", "And tomorrow?"),
    plain_message("assistant", "Both at once.", "d1", "d2"),
    result("d1", "morning: " + "rising " * 600),
    result("d2", "evening: " + "falling " * 300),
    plain_message("assistant", "Tomorrow it is dry at one."),
    plain_message("user", "Thank you. And on Sunday?"),
]
ORPHANED = [*TALK[:2], *TALK[3:5], result("zz", "nobody asked"), *TALK[5:]]

STAGES: dict[str, tuple[list[dict[str, Any]], list[tuple[str, dict[str, Any]]], int]] = {
    "count": (TALK, [("count", {})], 100_000),
    "truncate": (TALK, [("truncate", {"max_age": 3, "max_tokens": 500})], 100_000),
    "truncate by turns": (
        TALK,
        [("truncate", {"clock": "turns", "max_age": 0, "replace": "stub"})],
        100_000,
    ),
    "truncate to lines": (
        TALK,
        [("truncate", {"replace": "summary", "max_age": 2, "keep_small": 0})],
        100_000,
    ),
    "truncate copies": (
        TALK,
        [("truncate", {"dedupe": True, "tool": ("bash:max-bytes=900",)})],
        100_000,
    ),
    "truncate pinned": (TALK, [("truncate", {"max_age": 0, "pin": ("table 4", "id:d1")})], 100_000),
    "spill": (
        TALK,
        [("truncate", {"max_tokens": 0, "max_chars": 500, "spill_above": 3_000})],
        100_000,
    ),
    "rolling": (TALK, list(PRESETS["rolling"].stages.items()), 100_000),
    "retention": (TALK, list(PRESETS["retention"].stages.items()), 100_000),
    "trim": (TALK, [("trim", {})], 3_000),
    "trim, recent messages included": (TALK, [("trim", {})], 900),
    "trim the oldest": (TALK, [("trim", {"strategy": "oldest"})], 3_000),
    "trim the middle": (TALK, [("trim", {"strategy": "middle", "keep_recent_turns": 1})], 3_000),
    "trim by age": (TALK, [("trim", {"strategy": "age"})], 2_000),
    "trim to a target": (TALK, [("trim", {"target": 0.7, "pin": ("table 2",)})], 4_000),
    "trim and summarize": (TALK, [("trim", {"summarize": True, "keep_recent_turns": 1})], 1_800),
    "summarize all": (
        TALK,
        [("summarize", {"keep_recent_turns": 0, "keep_recent_messages": 4})],
        100_000,
    ),
    "both": (TALK, [("truncate", {"max_age": 5, "max_tokens": 300}), ("trim", {})], 1_000),
    "cutoff": (TALK, [("cutoff", {"tool_cutoff": 4})], 100_000),
    "cutoff, appended": (
        TALK,
        [("cutoff", {"tool_cutoff": 4, "summary_place": "append"})],
        100_000,
    ),
    "summarize": (TALK, [("summarize", {"keep_recent_turns": 2})], 100_000),
    "compact": (TALK, [("compact", {"tool_cutoff": 1})], 3_000),
    "session": (
        TALK,
        [("truncate", {"max_lines": 50}), ("cutoff", {"tool_cutoff": 5}), ("compact", {})],
        4_000,
    ),
    "repair": (ORPHANED, [("repair", {})], 100_000),
    "synthesize": (ORPHANED, [("repair", {"repair": "synthesize"})], 100_000),
}


def unused(value: Any) -> Any:
    """A value without the usage that only some forms record."""
    if isinstance(value, list):
        return [unused(item) for item in value]
    return (
        {key: unused(item) for key, item in value.items() if key != "usage"}
        if isinstance(value, dict)
        else value
    )


def file_of(form: str, talk: list[dict[str, Any]]) -> bytes:
    """A conversation as a file of some form."""
    return b"\n".join(as_json(unused(value), PLAIN) for value in FORMS[form](talk)) + b"\n"


def framing(data: bytes) -> int:
    """The counts of a file: the same texts, and its own framings."""
    return run(data, model="gpt-4o", tokenizer="o200k_base").rows[0].count.tokens


def decisions(
    form: str, talk: list[dict[str, Any]], stages: list[tuple[str, dict[str, Any]]], budget: int
) -> list[Any]:
    """The rest of a conversation, message by message, and the reported findings.

    Framings differ by a few tokens, and `trim` fills a budget to the last token. So the budget
    leaves the same space for texts in each format, and a clip counts the same at any length.
    """
    data = file_of(form, talk)
    frames = framing(data) - framing(file_of("openai-chat, a list", talk))
    target = min(float(how.get("target", "1.0")) for _, how in stages)
    ran = run(
        data, stages, limit=budget + round(frames / target), model="gpt-4o", tokenizer="o200k_base"
    )
    (transcript,) = (
        transcript for chunk in read(ran.data or b"") for transcript in chunk.transcripts
    )
    left: list[Any] = []
    appends = any(how.get("summary_place") == "append" for _, how in stages)
    appended: list[str] = []
    for message in transcript.messages:
        if message.role == "system" or not message.agent_visible:  # Codex writes down its input
            continue
        texts = [part.text for part in message.parts if part.kind in ("text", "tool_result")]
        if any(name == "trim" for name, _ in stages):
            texts = [re.sub(r"(?s)(.{40}).*\n\.\.\. \[truncated .*", r"\1", text) for text in texts]
        if message.role == "user":
            texts = [item for text in texts for item in text.split(markers.END)]
        digests = [text.partition(markers.END)[0] for text in texts if markers.is_digest(text)]
        # a separate message after the prompt, or, if roles must alternate, the first text of the
        # next answer
        if digests:
            texts = [
                own
                for text in texts
                if (own := text.partition(markers.END)[2] if text[:1] == "[" else text)
            ]
            if appends:  # only in separate messages, before the newest prompt
                appended += digests
            elif left and left[-1][0] == "user":
                left[-1] = ("user", sorted([*left[-1][1], *digests]))
            else:
                left.append(("user", digests))
            if message.role == "user":
                continue
        if left and left[-1][0] == message.role == "user":
            left[-1][1].extend(texts)
            left[-1][1].sort()
        else:
            texts = sorted(texts) if message.role == "user" else texts
            left.append((message.role, texts))
    roles = {message.index: message.role for message in read(data)[0].transcripts[0].messages}
    last = max(at for at, role in roles.items() if at is not None and role == "assistant")
    hosts = {("assistant", last, "kept")}  # the answer that the digest of a compaction may lead
    changes = [
        measurement.change.action
        for step in ran.rows[0].steps
        for measurement in step.changes
        if roles.get(measurement.change.message) != "system"
        and measurement.change.action not in ("inserted", "merged")
        and measurement.change.reason != "hidden"
        and measurement.change.line is None
        and (measurement.change.action, measurement.change.message) != ("summarized", None)
        and (
            roles.get(measurement.change.message),
            measurement.change.message,
            measurement.change.action,
        )
        not in hosts
    ]
    return [left, changes, "\n\n".join(appended).count("[✓ ")]


@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("form", FORMS)
def test_every_stage_makes_the_same_decisions_in_every_format(form: str, stages: str) -> None:
    talk, specs, budget = STAGES[stages]
    assert decisions(form, talk, specs, budget) == decisions(
        "openai-chat, a list", talk, specs, budget
    )


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("form", FORMS)
def test_every_profile_gives_the_same_findings_in_every_format(form: str, profile: str) -> None:
    data = b"\n".join(as_json(value, PLAIN) for value in FORMS[form](TALK)) + b"\n"
    row = run(data, [("check", {"profile": profile})]).rows[0]
    assert [finding.code for finding in row.findings if finding.severity == "error"] == []
