"""A plain conversation as Codex writes it down."""

from typing import Any

from spelling_openai_responses import items

META = {"id": "s", "cwd": "/x", "cli_version": "0.99.0"}
MIRRORS = {"user": "user_message", "assistant": "agent_message"}


def codex_events(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A rollout: items among what only the terminal shows; long ones were compacted, or rolled back, on the way."""
    meta = dict(META)
    if talk and talk[0]["role"] == "system":
        meta["base_instructions"] = {"text": talk[0]["texts"][0]}
        talk = talk[1:]
    found = items(talk)
    events = [_event("session_meta", meta), _event("turn_context", {"model": "gpt-5-codex"})]
    if len(found) > 6:
        dead = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "of no use"}]}
        events += [_event("response_item", found[0]), _event("response_item", dead)]
        if len(found) % 2:
            events.append(_event("compacted", {"message": "x", "replacement_history": found[:3]}))
            found = found[3:]
        else:
            events.append(_event("compacted", {"message": "Another language model began: it said this."}))
    for place, item in enumerate(found):
        if item.get("role") in MIRRORS:
            events.append(_event("event_msg", {"type": MIRRORS[item["role"]], "message": "as the terminal shows it"}))
        events.append(_event("response_item", item))
        if place % 4 == 3:
            usage = {"input_tokens": 10 * place, "output_tokens": 5}
            events.append(_event("event_msg", {"type": "token_count", "info": {"last_token_usage": usage}}))
    if len(found) > 8:
        events.append(_event("response_item", {"type": "message", "role": "user", "content": "taken back"}))
        events.append(_event("event_msg", {"type": "thread_rolled_back", "num_turns": 1}))
    return events


def _event(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": "2026-01-02T03:04:05.678Z", "type": kind, "payload": payload}
