"""Sessions of the Agent Development Kit: rewinds, compactions, internal events, transcriptions."""

import json
from typing import Any

import pytest
from conftest import Run
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


def call(time: float, *names: str) -> Value:
    calls = [{"functionCall": {"id": name, "name": "sail", "args": {}}} for name in names]
    return event(time, "model", *calls)


def response(name: str, text: str) -> Value:
    return {"functionResponse": {"id": name, "name": "sail", "response": {"result": text}}}


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
    assert texts(session(*later)) == ["They counted to two.", "And three.", "fourth"]


RETAINED = (
    user(1, "first " * 20),
    says(1.5, "one"),
    user(2, "Read the log."),
    call(3, "c1"),
    event(4, "user", response("c1", "tide " * 40)),
    compaction(5, 1, 1.5, "They counted to one."),
    says(6, "It is high."),
)


def test_events_after_the_end_of_a_compaction_are_sent_after_it(ctxtrim: Run) -> None:
    data = session(*RETAINED)
    assert texts(data) == [
        "They counted to one.", "Read the log.", "{}", "tide " * 40, "It is high.",
    ]  # fmt: skip
    assert run(data, [("truncate", {"max_tokens": 20})], limit=10**6).data != data
    trimmed = ctxtrim("trim", "--budget", "22", stdin=data).out
    assert texts(trimmed) == ["Read the log.", "It is high."]
    assert b"first" not in trimmed


def test_a_compaction_with_an_unknown_role_is_not_counted() -> None:
    strange = compaction(3, 1, 2.5, "They counted to two.")
    strange["actions"]["compaction"]["compactedContent"]["role"] = "critic"
    found = transcript(user(1, "Count."), strange)
    assert (found.messages, found.uncounted) == ((), 1)


def test_a_compaction_inside_the_time_of_another_is_not_sent() -> None:
    inner, outer = compaction(5, 1, 1.5, "Part."), compaction(7, 1, 4, "Whole.")
    events = (*RETAINED[:5], inner, RETAINED[6], outer)
    assert texts(session(*events)) == ["Whole.", "It is high."]
    trimmed = run(session(*events, user(9, "On.")), [("trim", {})], limit=8).data or b""
    assert texts(trimmed) == ["On."]
    assert b"Part." not in trimmed and b"first" not in trimmed


def test_of_compactions_with_one_end_the_longer_is_sent() -> None:
    inner, outer = compaction(5, 1.5, 2.5, "Part."), compaction(7, 1, 2.5, "Whole.")
    events = (*COMPACTED[:4], inner, outer, user(8, "third"))
    assert texts(session(*events)) == ["Whole.", "third"]


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


def test_contents_of_thoughts_alone_are_not_sent() -> None:
    thought = {"text": "Which tide? " * 9, "thought": True}
    sealed = {"functionCall": {"id": "c1", "name": "sail", "args": {}}, "thoughtSignature": "c2ln"}
    events = (
        user(1, "Sail."),
        event(2, "model", thought),
        event(3, "model", {"text": ""}),
        event(4, "model", thought, sealed),
        event(5, "user", {"functionResponse": {"id": "c1", "name": "sail", "response": {}}}),
        event(6, "model", {"thought": True, "thoughtSignature": "c2ln"}, {"text": "Done."}),
    )
    found = transcript(*events)
    roles = [message.role for message in found.messages]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert [message.spans[0].path[1] for message in found.messages] == [0, 3, 4, 5]


@pytest.mark.parametrize("place", [{"isolationScope": "c1"}, {"branch": "clerk.mate@c1"}])
def test_what_an_agent_did_for_a_call_is_in_its_response(place: Value, ctxtrim: Run) -> None:
    inner = (
        event(3, "model", {"functionCall": {"id": "c2", "name": "look", "args": {}}}, **place),
        event(4, "user", response("c2", "fog " * 40), **place),
        event(5, "model", {"text": "I sailed."}, **place),
    )
    begun = (user(1, "Sail."), call(2, "c1"), *inner)
    done = (event(6, "user", response("c1", "sailed")), says(7, "Done."))
    data = session(*begun, *done)
    assert texts(data) == ["Sail.", "{}", "sailed", "Done."]
    assert ctxtrim("check", "--budget", "2000", stdin=data).code == 0
    assert texts(session(*begun))[-1] == "I sailed."
    more = (*begun, *done, user(9, "Thanks."))
    trimmed = run(session(*more), [("trim", {})], limit=14).data or b""
    assert texts(trimmed)[-1] == "Thanks." and b"sailed" not in trimmed
    assert b"fog" not in trimmed
    nested = {"isolationScope": "c2"}
    deeper = (*begun[:3], event(3.5, "model", {"text": "Fog?"}, **nested), *more[3:])
    assert texts(session(*deeper)) == texts(session(*more))
    assert (run(session(*deeper), [("trim", {})], limit=14).data or b"") == trimmed


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
            end = draw(st.integers(start, time)) + 0.5
            events.append(compaction(time + 0.7, start, end, f"Summary {time}. " * 4))
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


ASKED = (
    user(1, "Sail."),
    call(2, "c1"),
    event(3, "user", response("c1", "needs a confirmation")),
    event(4, "user", response("c1", "wind " * 40)),
    says(5, "Done."),
)
WAITED = (
    user(1, "Sail. " * 40),
    call(2, "c1", "c2"),
    event(3, "user", response("c1", "sailed"), response("c2", "pending")),
    says(4, "Wait."),
    user(5, "Now?"),
    says(6, "Not yet."),
    event(7, "user", response("c2", "arrived")),
    says(8, "Here."),
)


def test_of_several_responses_to_a_call_only_the_last_is_sent_after_it(ctxtrim: Run) -> None:
    assert texts(session(*ASKED)) == ["Sail.", "{}", "wind " * 40, "Done."]
    assert texts(session(*WAITED)) == [
        "Sail. " * 40, "{}{}", "sailed", "arrived", "Wait.", "Now?", "Not yet.", "Here.",
    ]  # fmt: skip
    for events in (ASKED, WAITED):
        data = session(*events)
        assert ctxtrim("check", "--budget", "2000", stdin=data).code == 0
        assert ctxtrim("run", "-s", "repair", stdin=data).out == data


def test_a_response_answers_the_last_call_with_its_id() -> None:
    events = (user(1, "Sail."), call(2, "c1"), event(3, "user", response("c1", "once")))
    again = (call(4, "c1"), event(5, "user", response("c1", "twice")), says(6, "Done."))
    assert texts(session(*events, *again)) == ["Sail.", "{}", "once", "{}", "twice", "Done."]


def test_the_earlier_responses_are_removed_with_the_last() -> None:
    trimmed = run(session(*ASKED), [("trim", {})], limit=30).data or b""
    assert texts(trimmed) == ["Sail.", "Done."]
    assert b"needs a confirmation" not in trimmed
    trimmed = run(session(*WAITED), [("trim", {})], limit=40).data or b""
    assert b"arrived" not in trimmed and b"pending" not in trimmed


@st.composite
def waiting(draw: st.DrawFn) -> tuple[Value, ...]:
    """Sessions with calls that have some responses, now or later."""
    events: list[Value] = []
    open_calls: list[str] = []
    for time in range(draw(st.integers(1, 6))):
        names = [f"c{time}-{number}" for number in range(draw(st.integers(1, 2)))]
        events += [user(time, f"question {time} " * 9), call(time + 0.1, *names)]
        events.append(event(time + 0.2, "user", *(response(name, "wait") for name in names)))
        open_calls += names
        for later in draw(st.lists(st.sampled_from(open_calls), max_size=2, unique=True)):
            more = response(later, f"tide {time} " * draw(st.integers(1, 20)))
            events += [says(time + 0.3, f"still {time}"), event(time + 0.4, "user", more)]
        events.append(says(time + 0.5, f"answer {time}"))
    return tuple(events)


@given(waiting(), st.one_of(trims, st.just({})), budgets)
def test_responses_that_are_not_sent_stay_so(
    events: tuple[Value, ...], settings: Value, budget: int
) -> None:
    data = session(*events)
    assert not run(data, [("check", {})], limit=10**6).findings
    ran = run(data, [("trim", settings)], limit=budget)
    assert not [finding for finding in ran.findings if "this is a bug" in finding.message]
    if ran.data is not None:
        assert not run(ran.data, [("check", {})], limit=10**6).findings
        assert run(ran.data, [("trim", settings)], limit=budget).data == ran.data
