"""The work to replay a session grows with its size, whatever its events do."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from bytecodes import bytecodes
from msgspec.json import encode
from test_codex import counted, event, item, message
from test_kimi import compaction, said, step
from test_openai_responses import says

from ctxtrim.formats import FORMATS
from ctxtrim.model import Line
from ctxtrim.text.records import split

Replay = tuple[str, Callable[[int], list[Any]]]
"""The name of a format, and the lines of a session of some size."""

KIMI_TURN = [said("user", "One."), *step("Two.", usage={"inputOther": 3, "output": 2})]
UNDO, UNDO_ALL = ({"type": "context.undo", "count": count} for count in (1, 9999))
CODEX_TURN = [item(says("user", "One.")), item(says("assistant", "Two."))]
ROLLBACK = message("thread_rolled_back", num_turns=1)
COMPACTED = event("compacted", {"message": "They met."})


def kimi_branches(size: int) -> list[Any]:
    """Branches whose bases end after them, which no program writes."""
    names = ["main", *(f"b{number}" for number in range(size))]
    switches = [
        {"type": "agent.switched", "branch": name, "base": {"branch": base, "line": 9999}}
        for base, name in pairwise(names)
    ]
    return [*switches, *KIMI_TURN * size]


def ui_parts(size: int) -> list[Any]:
    part = {"type": "tool-read", "state": "output-available", "input": {}, "output": "nine"}
    parts = [part | {"toolCallId": f"c{number}"} for number in range(size)]
    return [[{"role": "assistant", "parts": parts}]]


def adk_rewinds(size: int) -> list[Any]:
    content = {"role": "user", "parts": [{"text": "One."}]}
    event = {"author": "user", "invocationId": "i", "timestamp": 1, "content": content}
    rewind = {"author": "user", "actions": {"rewindBeforeInvocationId": "unknown"}}
    return [{"id": "s", "appName": "a", "userId": "u", "events": [event, rewind] * size}]


def gemini_calls(size: int) -> list[Any]:
    calls = [{"id": f"c{number}", "name": "read", "args": {}} for number in range(size)]
    content = [{"functionCall": call} for call in calls]
    answer = {"id": "m", "type": "gemini", "content": content, "toolCalls": calls[::-1]}
    return [{"sessionId": "s", "projectHash": "p", "messages": [answer]}]


def gemini_patches(size: int) -> list[Any]:
    """Patches that each add the result of one call of an answer."""
    calls = [{"id": f"c{number}", "name": "read", "args": {}} for number in range(size)]
    patches = [{"id": call["id"], "result": "nine"} for call in calls]
    return [
        {"sessionId": "s", "projectHash": "p", "kind": "main"},
        {"id": "m", "type": "gemini", "content": "", "toolCalls": calls},
        *({"$patch": {"id": "m", "toolCalls": [patch]}} for patch in patches),
    ]


def openhands_calls(size: int) -> list[Any]:
    """The parallel calls of one answer, each in an event of its own."""
    return [
        {
            "id": f"e{number}",
            "source": "agent",
            "kind": "ActionEvent",
            "action": {"kind": "Look"},
            "tool_call_id": f"c{number}",
            "tool_call": {"id": f"c{number}", "name": "look", "arguments": "{}"},
            "llm_response_id": "r",
        }
        for number in range(size)
    ]


def openhands_condensations(size: int) -> list[Any]:
    """Condensations that each forget all events before them."""
    said = {"source": "user", "action": "message", "args": {"content": "One."}}
    forgets = {"source": "agent", "action": "condensation"}
    events: list[Any] = []
    for number in range(0, 2 * size, 2):
        ends = {"forgotten_events_start_id": 0, "forgotten_events_end_id": number}
        events += [said | {"id": number}, forgets | {"id": number + 1, "args": ends}]
    return [events]


def roo_summaries(size: int) -> list[Any]:
    """Summaries that each hide the one before."""
    summary = {"role": "assistant", "content": "They met.", "ts": 1, "isSummary": True}
    links = [
        {"condenseId": f"s{number}", "condenseParent": f"s{number + 1}"} for number in range(size)
    ]
    return [[{"role": "user", "content": "One.", "ts": 1}, *(summary | link for link in links)]]


REPLAYS: dict[str, Replay] = {
    "kimi-undo": ("kimi", lambda size: 2 * size * KIMI_TURN + size * [UNDO]),
    "kimi-undo-too-many": ("kimi", lambda size: size * KIMI_TURN + size * [UNDO_ALL]),
    "kimi-compaction": (
        "kimi",
        lambda size: size * [*KIMI_TURN, compaction(keptUserMessageCount=1)],
    ),
    "kimi-older-compaction": (
        "kimi",
        lambda size: size * [*KIMI_TURN, *KIMI_TURN, compaction(compactedCount=2)],
    ),
    "kimi-branches": ("kimi", kimi_branches),
    "codex-rollback": (
        "codex",
        lambda size: size * [*CODEX_TURN, *CODEX_TURN, ROLLBACK] + size * [ROLLBACK],
    ),
    "codex-rollback-without-turn": (
        "codex",
        lambda size: size * CODEX_TURN[1:] + size * [ROLLBACK],
    ),
    "codex-compaction": (
        "codex",
        lambda size: size * [*CODEX_TURN, COMPACTED] + size * [COMPACTED],
    ),
    "codex-usage": ("codex", lambda size: size * [CODEX_TURN[0], counted(3, 2)]),
    "ai-sdk-ui-parts": ("ai-sdk-ui", ui_parts),
    "adk-rewinds": ("gemini", adk_rewinds),
    "gemini-cli-calls": ("gemini-cli", gemini_calls),
    "gemini-cli-patches": ("gemini-cli", gemini_patches),
    "openhands-calls": ("openhands", openhands_calls),
    "openhands-condensations": ("openhands", openhands_condensations),
    "roo-code-summaries": ("anthropic", roo_summaries),
}


@pytest.mark.parametrize(("name", "session"), REPLAYS.values(), ids=REPLAYS)
def test_the_work_grows_with_the_size(name: str, session: Callable[[int], list[Any]]) -> None:
    def work(size: int) -> int:
        lines = [Line(encode(value), number) for number, value in enumerate(session(size), 1)]
        records = [record for line in lines for record in split(line.data, line.number)]
        return bytecodes(lambda: FORMATS[name].read(records, lines))

    work(1)  # loads modules and fills caches
    assert work(200) < 4.5 * work(50)
