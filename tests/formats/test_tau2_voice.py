"""Voice simulations of tau2-bench: chunks are messages, and no tick is removed."""

import json
from pathlib import Path
from typing import Any

from harness import read, run, unpaired

FIXTURE = Path("fixtures/tau2-voice.json")
LONG = "a tide comes in " * 200


def tick(number: int, **more: Any) -> dict[str, Any]:
    return {"tick_id": number, "timestamp": "t"} | more


def agent(text: str) -> dict[str, Any]:
    return {"agent_chunk": {"role": "assistant", "content": text}}


def user(text: str) -> dict[str, Any]:
    return {"user_chunk": {"role": "user", "content": text}}


def simulation(*ticks: dict[str, Any]) -> bytes:
    return json.dumps({"id": "v", "mode": "full_duplex", "ticks": list(ticks)}).encode()


def ticks(data: bytes | None) -> list[dict[str, Any]]:
    return json.loads(data or b"")["ticks"]


def test_the_fixture_is_one_conversation() -> None:
    data = FIXTURE.read_bytes()
    chunk = read(data)[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    assert (chunk.format.name, transcript.id) == ("tau2-voice", "harbour-call")
    assert [message.role for message in transcript.messages] == [
        *("assistant", "user", "assistant", "tool", "assistant")
    ]
    texts = [[part.text for part in message.parts] for message in transcript.messages]
    assert texts[:2] == [["Harbour ", "desk."], ["Is the lock ", "open?", "One moment."]]
    assert not unpaired(transcript)
    assert run(data).data == data


def test_a_dropped_chunk_is_null_and_its_tick_stays() -> None:
    old = [tick(0, **user(LONG)), tick(1, **agent(LONG), **user(LONG))]
    new = [tick(2, **user("And now?")), tick(3, **agent("Low."))]
    written = ticks(
        run(simulation(*old, tick(9, **agent("Yes.")), *new), [("trim", {})], limit=100).data
    )
    assert [value["tick_id"] for value in written] == [0, 1, 9, 2, 3]
    assert (written[0], written[1]["user_chunk"]["content"]) == (
        tick(0, user_chunk={"role": "user", "content": None}),
        None,
    )
    assert written[3:] == new


def test_a_call_without_its_result_gets_one_in_its_tick() -> None:
    calls = [{"id": name, "name": "look", "arguments": {}} for name in ("c1", "c2")]
    result = {"id": "c1", "role": "tool", "content": "high", "error": False}
    first = tick(0, **user("Look."))
    second = tick(1, **agent("I look."), agent_tool_calls=calls, agent_tool_results=[result])
    data = simulation(first, second, tick(2, **user("Well?")))
    new = run(data, [("repair", {"repair": "synthesize"})]).data
    assert [value["id"] for value in ticks(new)[1]["agent_tool_results"]] == ["c1", "c2"]
    assert not unpaired(read(new or b"")[0].transcripts[0])


def test_calls_of_the_user_are_answered_too() -> None:
    call = {"id": "c1", "name": "toggle", "arguments": {}, "requestor": "user"}
    result = {"id": "c1", "role": "tool", "content": "on", "requestor": "user"}
    data = simulation(
        tick(0, **agent("Switch it on.")),
        tick(1, **user("Yes."), user_tool_calls=[call], user_tool_results=[result]),
    )
    (transcript,) = read(data)[0].transcripts
    assert [message.role for message in transcript.messages] == ["assistant", "user", "tool"]
    assert not unpaired(transcript)
