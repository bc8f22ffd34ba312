"""Sessions of the Agent Development Kit: rewinds, compactions, internal events, transcriptions."""

import json
from typing import Any

from harness import read, run
from hypothesis import given
from hypothesis import strategies as st
from strategies import budgets, summaries, trims

from ctxtrim.model import Transcript

Value = dict[str, Any]


def event(time: float, role: str | None, *parts: Value, **more: Any) -> Value:
    content = {} if role is None else {"content": {"role": role, "parts": list(parts)}}
    author = "user" if role == "user" else "clerk"
    return (
        content
        | {"author": author, "id": f"id{time}", "timestamp": time, "actions": {}}
        | {"invocationId": f"i{int(time)}"}
        | more
    )


def user(time: float, text: str) -> Value:
    return event(time, "user", {"text": text})


def says(time: float, text: str) -> Value:
    return event(time, "model", {"text": text})


def compaction(time: float, start: float, end: float, text: str) -> Value:
    content = {"role": "model", "parts": [{"text": text}]}
    found = {"startTimestamp": start, "endTimestamp": end, "compactedContent": content}
    return event(time, None, actions={"compaction": found})


def rewind(time: float, invocation: str) -> Value:
    return event(time, None, actions={"rewindBeforeInvocationId": invocation})


def session(*events: Value) -> bytes:
    return json.dumps({"id": "s", "events": events}).encode()


def texts(data: bytes) -> list[str]:
    (transcript,) = [found for chunk in read(data) for found in chunk.transcripts]
    return ["".join(part.text for part in message.parts) for message in transcript.messages]


def transcript(*events: Value) -> Transcript:
    return read(session(*events))[0].transcripts[0]


COMPACTED = (
    user(1, "first"),
    says(1.5, "one"),
    user(2, "second"),
    says(2.5, "two"),
    compaction(3, 1, 2.5, "They counted to two."),
    user(4, "third"),
    says(4.5, "three"),
    user(5, "fourth"),
)


def test_the_content_of_a_compaction_replaces_the_events_before_it() -> None:
    found = transcript(*COMPACTED)
    assert texts(session(*COMPACTED)) == ["They counted to two.", "third", "three", "fourth"]
    assert [message.is_summary for message in found.messages] == [True, False, False, False]
    later = (*COMPACTED, compaction(6, 4, 4.5, "And three."))
    assert texts(session(*later)) == ["They counted to two.", "And three."]


def test_a_rewind_removes_the_events_since_an_invocation() -> None:
    events = (*COMPACTED[:4], rewind(3, "i2"), user(4, "other"))
    assert texts(session(*events)) == ["first", "one", "other"]
    assert texts(session(*COMPACTED[:2], rewind(3, "unknown"), user(4, "on"))) == [
        "first",
        "one",
        "on",
    ]


def test_events_of_the_client_are_not_sent() -> None:
    call = {"functionCall": {"id": "c", "name": "adk_request_credential", "args": {}}}
    answer = {"functionResponse": {"id": "c", "name": "adk_request_credential", "response": {}}}
    events = (user(1, "first"), event(2, "user", call), event(3, "user", answer), says(4, "one"))
    assert texts(session(*events)) == ["first", "one"]


def test_transcriptions_are_texts_and_consecutive_ones_are_one_message() -> None:
    events = (
        event(1, None, inputTranscription={"text": "what "}),
        event(2, None, inputTranscription={"text": "now?"}),
        event(3, None, outputTranscription={"text": "Nothing."}),
        user(4, "thanks"),
    )
    found = transcript(*events)
    assert texts(session(*events)) == ["what now?", "Nothing.", "thanks"]
    assert [message.role for message in found.messages] == ["user", "assistant", "user"]


@st.composite
def sessions(draw: st.DrawFn) -> tuple[Value, ...]:
    events: list[Value] = []
    for time in range(draw(st.integers(2, 8))):
        events += [user(time, f"question {time} " * 3), says(time + 0.5, "tide " * (time + 1) * 5)]
        extra = draw(st.sampled_from(("", "", "compaction", "rewind")))
        if extra == "compaction":
            start = draw(st.integers(0, time))
            events.append(compaction(time + 0.7, start, time + 0.5, f"Summary {time}. " * 4))
        elif extra == "rewind" and time:
            events.append(rewind(time + 0.7, f"i{time}"))
    return (*events, user(99, "thanks"))


@given(
    sessions(),
    st.one_of(st.tuples(st.just("trim"), trims), st.tuples(st.just("summarize"), summaries)),
    budgets,
)
def test_what_is_not_sent_stays_so(
    events: tuple[Value, ...], stage: tuple[str, Value], budget: int
) -> None:
    """No edit makes an event live again, and every output reads back."""
    data = session(*events)
    sent = texts(data)
    ran = run(data, [stage], limit=budget)
    assert not [finding for finding in ran.findings if "this is a bug" in finding.message]
    if ran.data is not None:
        new = [text for text in texts(ran.data) if text not in sent]
        assert len(new) <= (stage[0] == "summarize" or bool(stage[1].get("summarize")))
