"""Messages of the AI SDK: calls and results are blocks, of which one message may have several."""

import json
from typing import Any

import pytest
from conftest import Run
from harness import read, run
from hypothesis import given
from hypothesis import strategies as st
from insertions import SUMMARY, written
from msgspec.structs import replace
from pictures import PICTURE
from strategies import budgets, summaries, trims, truncations

from ctxtrim.formats import FORMATS
from ctxtrim.model import Message, Part, Transcript

Value = dict[str, Any]


def user(text: str) -> Value:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def says(text: str) -> Value:
    return {"role": "assistant", "content": text}


def calls(*names: str, key: str = "input") -> Value:
    blocks = [
        {"type": "tool-call", "toolCallId": name, "toolName": "gauge", key: {"pier": 1}}
        for name in names
    ]
    return {"role": "assistant", "content": [{"type": "reasoning", "text": "I look."}, *blocks]}


def result(name: str, **value: Any) -> Value:
    return {"type": "tool-result", "toolCallId": name, "toolName": "gauge"} | value


def text(value: str) -> Value:
    return {"output": {"type": "text", "value": value}}


def results(*blocks: Value) -> Value:
    return {"role": "tool", "content": list(blocks)}


def conversation(*messages: Value) -> bytes:
    return json.dumps({"messages": messages}).encode() + b"\n"


def transcript(*messages: Value) -> Transcript:
    return read(conversation(*messages))[0].transcripts[0]


def test_calls_and_results_are_blocks() -> None:
    found = transcript(
        user("How deep?"), calls("a", "b"), results(result("a", **text("2 m")), result("b"))
    )
    assert [message.role for message in found.messages] == ["user", "assistant", "tool", "tool"]
    assert [part.kind for part in found.messages[1].parts] == [
        "reasoning",
        "tool_call",
        "tool_call",
    ]
    assert [(part.name, part.call_id, part.text) for part in found.messages[1].calls] == [
        ("gauge", "a", '{"pier":1}'),
        ("gauge", "b", '{"pier":1}'),
    ]
    answers = [message.result for message in found.messages[2:]]
    assert [(part.call_id, part.text) for part in answers if part] == [("a", "2 m"), ("b", "")]


@pytest.mark.parametrize(
    ("value", "expected", "is_error"),
    [
        (text("2 m"), "2 m", None),
        ({"output": {"type": "json", "value": {"m": 2}}}, '{"m":2}', None),
        ({"output": {"type": "error-text", "value": "no gauge"}}, "no gauge", True),
        ({"output": {"type": "execution-denied", "reason": "no"}}, "no", True),
        ({"output": {"type": "execution-denied"}}, "Tool execution denied.", True),
        ({"result": "2 m", "isError": False}, "2 m", False),
        ({"result": {"m": 2}}, '{"m":2}', None),
        ({"output": "2 m"}, "2 m", None),
        (
            {"output": {"type": "content", "value": [{"type": "text", "text": "2 m"}]}},
            "2 m",
            None,
        ),
    ],
)
def test_every_form_of_a_result_has_its_text_and_error_flag(
    value: Value, expected: str, is_error: bool | None
) -> None:
    found = transcript(user("How deep?"), calls("a"), results(result("a", **value)))
    answer = found.messages[2].result
    assert answer is not None
    assert (answer.text, answer.is_error) == (expected, is_error)


def test_arguments_of_old_versions_and_calls_of_the_provider() -> None:
    found = transcript(user("How deep?"), calls("a", key="args"))
    assert [part.text for part in found.messages[1].calls] == ['{"pier":1}']
    by_provider = calls("a")
    by_provider["content"][1]["providerExecuted"] = True
    assert not list(transcript(user("How deep?"), by_provider).messages[1].calls)


def test_a_file_is_an_attachment() -> None:
    file = {"type": "file", "data": "JVBERi0xLjQ=", "mediaType": "application/pdf"}
    media = transcript(user("Read") | {"content": [file]}).messages[0].parts[0].media
    assert media is not None and media.kind == "pdf"


def approved(*names: str) -> Value:
    """Calls with a request for approval each."""
    requests = [
        {"type": "tool-approval-request", "approvalId": f"p{name}", "toolCallId": name}
        for name in names
    ]
    answer = calls(*names)
    return answer | {"content": [*answer["content"], *requests]}


def approval(name: str) -> Value:
    return {"type": "tool-approval-response", "approvalId": f"p{name}", "approved": True}


def test_approvals_are_not_counted() -> None:
    answers = [result("a", **text("2 m")), result("b", **text("3 m"))]
    plain = transcript(user("How deep?"), calls("a", "b"), results(*answers))
    mixed = results(approval("a"), approval("b"), *answers)
    assert transcript(user("How deep?"), approved("a", "b"), mixed).messages == plain.messages
    alone = transcript(
        user("How deep?"),
        approved("a", "b"),
        results(approval("a"), approval("b")),
        results(*answers),
    )
    assert alone.messages == plain.messages


def test_a_conversation_may_end_with_an_approval(ctxtrim: Run) -> None:
    ends = [calls("a"), approved("a"), results(approval("a"))]
    plain = ctxtrim("check", stdin=conversation(user("How deep?"), *ends[:1]))
    ran = ctxtrim("check", stdin=conversation(user("How deep?"), *ends[1:]))
    assert ran.code == plain.code == 0


def names_in(messages: list[Value], kind: str, key: str) -> list[str]:
    """The values of a key in the blocks of a type."""
    contents = [message["content"] for message in messages if isinstance(message["content"], list)]
    return [block[key] for content in contents for block in content if block["type"] == kind]


def test_approvals_of_other_conversations_stay(ctxtrim: Run) -> None:
    """Ids are those of one conversation."""
    step = [approved("a"), results(approval("a"), result("a", **text("2 m")))]
    first = [user("How deep?"), *step, says("Deep " * 60), user("And now?")]
    second = [user("How wide?"), says("Wide " * 60), user("How deep?"), *step, says("Two.")]
    second.append(user("And now?"))
    data = json.dumps([{"messages": first}, {"messages": second}]).encode()
    changed = set()
    for budget in range(20, 120, 4):
        ran = ctxtrim("trim", "-b", str(budget), stdin=data)
        if ran.code:
            continue
        for talk in json.loads(ran.out):
            kept = talk["messages"]
            calls_kept = names_in(kept, "tool-call", "toolCallId")
            approvals = names_in(kept, "tool-approval-response", "approvalId")
            assert approvals == [f"p{name}" for name in calls_kept]
            changed.add(len(calls_kept))
    assert changed == {0, 1}


@pytest.mark.parametrize("is_mixed", [False, True])
@pytest.mark.parametrize("is_listed", [False, True])
def test_approvals_are_dropped_with_their_calls(
    ctxtrim: Run, is_mixed: bool, is_listed: bool
) -> None:
    talk = [user("How deep?")]
    for first, second in ("ab", "cd"):
        approvals = [approval(first), approval(second)]
        answers = [result(name, **text("2 m " * 40)) for name in (first, second)]
        talk += [approved(first, second), results(*(approvals if is_mixed else []), *answers)]
        if not is_mixed:
            talk.insert(-1, results(*approvals))
        talk += [says("Deep " * 20), user("And now?")]
    lines = [{"messages": talk}] if is_listed else talk
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    sizes = set()
    for budget in range(40, 420, 10):
        ran = ctxtrim("trim", "-b", str(budget), stdin=data)
        if ran.code:
            continue
        values = [json.loads(line) for line in ran.out.splitlines()]
        kept = values[0]["messages"] if is_listed else values
        found = names_in(kept, "tool-call", "toolCallId")
        assert names_in(kept, "tool-approval-request", "toolCallId") == found
        assert names_in(kept, "tool-approval-response", "approvalId") == [f"p{n}" for n in found]
        assert names_in(kept, "tool-result", "toolCallId") == found
        assert all(message["content"] for message in kept)
        sizes.add(len(found))
    assert len(sizes) > 1


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image-data", "data": PICTURE, "mediaType": "image/png"},
        {"type": "media", "data": PICTURE, "mediaType": "image/png"},
        {"type": "file-data", "data": PICTURE, "mediaType": "image/png"},
    ],
)
def test_an_image_in_a_result_counts_as_an_image_and_can_be_dropped(
    ctxtrim: Run, block: Value
) -> None:
    blocks = [{"type": "text", "text": "The gauge:"}, block]
    answer = result("a", output={"type": "content", "value": blocks})
    talk = (user("How deep?"), calls("a"), results(answer), says("2 m."), user("Thanks"))
    found = transcript(*talk).messages[2]
    media = found.parts[1].media
    assert media is not None
    assert (media.kind, media.width, media.height) == ("image", 1024, 768)
    ran = ctxtrim("run", "-s", "drop-images:clock=turns,max-age=0", stdin=conversation(*talk))
    left = json.loads(ran.out)["messages"][2]["content"][0]["output"]["value"]
    assert left[0] == blocks[0]
    assert left[1]["type"] == "text"


TALK = (
    user("How deep?"),
    calls("a", "b"),
    results(result("a", **text("2 m " * 60)), result("b", **text("3 m " * 60))),
    says("Deep."),
    user("And now?"),
    calls("c"),
    results(result("c", result="4 m " * 60)),
    says("Deeper."),
    user("Thanks"),
)


def paired(messages: list[Value]) -> bool:
    """Whether all results directly follow the message with their calls, and none is missing."""
    open_calls: list[str] = []
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else []
        if message["role"] == "tool":
            found = [block["toolCallId"] for block in blocks]
            if sorted(found) != sorted(open_calls):
                return False
            open_calls = []
        elif open_calls:
            return False
        else:
            open_calls = [block["toolCallId"] for block in blocks if block["type"] == "tool-call"]
    return not open_calls


@given(
    st.one_of(
        st.tuples(st.just("trim"), trims),
        st.tuples(st.just("truncate"), truncations),
        st.tuples(st.just("summarize"), summaries),
    ),
    budgets,
)
def test_calls_and_results_stay_together(stage: tuple[str, Value], budget: int) -> None:
    out = run(conversation(*TALK), [stage], limit=budget).data
    if out is not None:
        assert paired(json.loads(out)["messages"])


def inserted(messages: tuple[Value, ...], position: int, *new: Message) -> list[Value]:
    """The messages after new ones are inserted at a position."""
    chunk = read(conversation(*messages))[0]
    found = chunk.transcripts[0]
    meant = replace(found, messages=(*found.messages[:position], *new, *found.messages[position:]))
    values: list[Value] = json.loads(written(chunk, FORMATS["openai-chat"], meant))["messages"]
    return values


def missing(name: str) -> Message:
    return Message("tool", (Part("tool_result", "No result.", name, "gauge"),))


def test_a_result_joins_the_results_before_or_after_it() -> None:
    messages = (*TALK[:2], results(result("a", **text("2 m"))), *TALK[3:])
    added = result("b", **text("No result."))
    assert inserted(messages, 3, missing("b"))[2]["content"][1:] == [added]
    before = (*TALK[:2], results(result("b", **text("2 m"))), *TALK[3:])
    out = inserted(before, 2, missing("a"))
    assert [block["toolCallId"] for block in out[2]["content"]] == ["a", "b"]


def test_a_result_without_neighbours_is_a_message_of_its_own() -> None:
    out = inserted((*TALK[:2], *TALK[3:]), 2, missing("a"), missing("b"))
    assert out[2:4] == [
        results(result("a", **text("No result."))),
        results(result("b", **text("No result."))),
    ]


def test_a_summary_is_an_element() -> None:
    """It never becomes a block of the results before or after it."""
    for position in (4, 5):
        out = inserted(TALK, position, SUMMARY)
        assert out == [*TALK[: position - 1], out[position - 1], *TALK[position - 1 :]]
        assert out[position - 1]["role"] == "user"


def test_roo_code_does_not_send_condensed_messages(ctxtrim: Run) -> None:
    """Version 2 of its storage has messages of the AI SDK."""
    condensed = [
        user("Moor the boat.") | {"ts": 1, "condenseParent": "c1"},
        calls("a") | {"ts": 2, "condenseParent": "c1"},
        results(result("a", **text("2 m"))) | {"ts": 3, "condenseParent": "c1"},
    ]
    sealed = {"type": "reasoning", "encrypted_content": "gAAA" * 90, "id": "rs_1", "ts": 5}
    sent = [
        user("The pier is 2 m deep.") | {"ts": 4, "isSummary": True, "condenseId": "c1"},
        sealed,
        says("It is moored. " * 9) | {"ts": 6, "condenseParent": "gone"},
        user("Thanks.") | {"ts": 7},
    ]

    def history(*messages: Value) -> bytes:
        return json.dumps({"version": 2, "messages": messages}).encode()

    (found,) = read(history(*condensed, *sent))[0].transcripts
    assert [message.role for message in found.messages] == ["user", *["assistant"] * 2, "user"]
    assert [message.is_summary for message in found.messages] == [True, False, False, False]
    assert [message.parts[0].sealed for message in found.messages] == [0, 360, 0, 0]
    outputs = {
        ctxtrim("trim", "-b", str(budget), stdin=history(*condensed, *sent)).out
        for budget in range(10, 200)
    }
    assert outputs - {b""} == {
        history(*condensed, *sent),
        history(*condensed, sent[0], sent[3]),
        history(sent[3]),
    }
