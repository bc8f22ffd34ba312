"""A plain conversation as Codex writes it down."""

from collections.abc import Iterator
from typing import Any

from writers.openai_responses import items, reasoned

DEAD = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "of no use"}],
}
META = {"id": "s", "cwd": "/x", "cli_version": "0.99.0"}
MIRRORS = {"user": "user_message", "assistant": "agent_message"}


def codex_events(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A rollout: items between events for the terminal."""
    begin, talk = _begin(talk)
    return [*begin, *_shown(items(talk))]


def long_session(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A rollout that was compacted on the way, and whose last turn was taken back."""
    events, talk = _begin(talk)
    values = reasoned(talk)
    events += [_event("response_item", item) for item in (*values[:1], DEAD)]
    if len(values) % 2:
        events.append(_event("compacted", {"message": "x", "replacement_history": values[:3]}))
        values = values[3:]
    else:
        events.append(
            _event("compacted", {"message": "Another language model began: it said this."})
        )
    rest = [_event("response_item", DEAD | {"role": "user"}), _event("response_item", DEAD)]
    return [
        *events,
        *_shown(values),
        *rest,
        _event("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
    ]


def bare_session(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A rollout of mid-2025: items without an envelope, and states between them."""
    header = {"id": "s", "timestamp": "2025-07-01T03:04:05.678Z", "instructions": "Be brief."}
    state = {"record_type": "state"}
    return [header, *(line for item in reasoned(talk) for line in (item, state))]


def _begin(talk: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The first lines, which take the system message, and the rest of the conversation."""
    meta = dict(META)
    if talk and talk[0]["role"] == "system":
        meta["base_instructions"] = {"text": talk[0]["texts"][0]}
        talk = talk[1:]
    return [_event("session_meta", meta), _event("turn_context", {"model": "gpt-5-codex"})], talk


def _shown(values: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for position, item in enumerate(values):
        if item.get("role") in MIRRORS:
            yield _event(
                "event_msg", {"type": MIRRORS[item["role"]], "message": "as the terminal shows it"}
            )
        yield _event("response_item", item)
        if position % 4 == 3:
            usage = {"input_tokens": 10 * position, "output_tokens": 5}
            yield _event("event_msg", {"type": "token_count", "info": {"last_token_usage": usage}})


def _event(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": "2026-01-02T03:04:05.678Z", "type": kind, "payload": payload}
