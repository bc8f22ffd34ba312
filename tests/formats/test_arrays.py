"""Large arrays of conversations are read one element at a time, with the same results."""

import json
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import pytest
from conftest import Run
from harness import parse
from memory import measured
from msgspec.structs import replace

from ctxtrim.formats.reading import open_reading
from ctxtrim.metering import Metering
from ctxtrim.pipeline import Spec, StagePipeline
from ctxtrim.reports.rows import Details
from ctxtrim.stream import done_chunks
from ctxtrim.stream.job import Done, Job
from ctxtrim.text.records import BOM, value_of
from ctxtrim.tokenizers import tokenizer

Stages = Sequence[tuple[str, dict[str, Any]]]
NEVER = 1 << 60


def sharegpt(number: int, turns: int = 3) -> dict[str, Any]:
    """A conversation with a long question, and a member that no format reads."""
    talk = []
    for turn in range(turns):
        talk.append({"from": "human", "value": f"Question {turn} of {number}: " + "why? " * 30})
        talk.append({"from": "gpt", "value": f"Because of {turn * number}."})
    return {"id": f"talk-{number}", "conversations": talk, "score": 1.50}


def chat(number: int, name: str = "read") -> dict[str, Any]:
    """A conversation with a tool result that contains JSON."""
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": "{}"}}
    rows = json.dumps([{"row": row, "text": "cell " * 20} for row in range(number + 4)])
    return {
        "messages": [
            {"role": "user", "content": f"Read table {number}."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": rows},
            {"role": "assistant", "content": "It has rows."},
        ]
    }


def results(data: bytes, stages: Stages, large: int, **options: Any) -> list[Done]:
    limit = options.pop("limit", None)
    specs = tuple(Spec(name, parse(name, settings).settings) for name, settings in stages)
    metering = Metering(tokenizer, tokenizer="chars4", **({"limit": limit} if limit else {}))
    details = Details(explained=True, left_out=True, differences=True)
    job = Job(StagePipeline(specs, metering), details=details, **options)
    return list(done_chunks("file", open_reading(BytesIO(data), large=large).chunks, job, None))


def merged(done: Sequence[Done]) -> Done:
    """Several results as one."""
    written = [each.data for each in done if each.data is not None]
    return replace(
        done[0],
        read=b"".join(each.read for each in done),
        output=b"".join(written) if written else None,
        rows=tuple(row for each in done for row in each.rows),
        findings=tuple(finding for each in done for finding in each.findings),
        is_changed=any(each.is_changed for each in done),
        is_lossy=any(each.is_lossy for each in done),
        is_open=False,
    )


def logged(number: int) -> dict[str, Any]:
    """A request with the answer next to it."""
    talk = chat(number)
    *sent, answer = talk["messages"]
    usage = {"prompt_tokens": 90 + number, "completion_tokens": 5}
    response = {"id": f"r{number}", "choices": [{"index": 0, "message": answer}], "usage": usage}
    return {"messages": sent, "response": response}


def pair(number: int, chosen: str, rejected: str) -> dict[str, Any]:
    """Two lists with one prompt and two answers."""
    talk = chat(number)["messages"]
    prompt = [*talk, {"role": "user", "content": f"Sum up table {number}."}]
    other_answer = {"role": "assistant", "content": "I cannot."}
    return {chosen: [*prompt, talk[-1]], rejected: [*prompt, other_answer]}


TALKS = [sharegpt(number) for number in range(5)]
CHATS = [chat(number) for number in range(4)]
SPELLED = [json.dumps(each).encode() for each in CHATS]
GERMAN = json.dumps(chat(2, "größe"), ensure_ascii=False).encode()
UNREAD = "some are no conversations"  # such arrays are always read one element at a time
ARRAYS = {
    "one line": json.dumps(TALKS).encode(),
    "dense": json.dumps(CHATS, separators=(",", ":")).encode() + b"\n",
    "many lines": json.dumps(TALKS, indent=2).encode() + b"\n",
    "spaces": b"\r\n[ " + b" ,\r\n\t".join(SPELLED) + b"]\r\n\n",
    "logs": json.dumps([*map(logged, range(4)), chat(4)]).encode(),
    "a byte order mark": BOM + b" [" + b", ".join(SPELLED) + b"]\n",
    "other characters": b"[%b]" % b",".join((*SPELLED, json.dumps("größe").encode(), GERMAN)),
    "pairs": json.dumps(
        [pair(number, "messages", "rejected_messages") for number in range(4)]
    ).encode(),
    "pairs of TRL": json.dumps(
        [pair(number, "chosen", "rejected") for number in range(4)]
    ).encode(),
    UNREAD: json.dumps([TALKS[0], {"a": 1}, 7, None, TALKS[1]]).encode(),
    "more lines": json.dumps(TALKS).encode() + b"\n" + json.dumps(TALKS[:2]).encode() + b"\n",
}
RUNS: dict[str, tuple[Stages, dict[str, Any]]] = {
    "count": ([("count", {})], {}),
    "trim": ([("trim", {})], {"limit": 120}),
    "too large": ([("trim", {})], {"limit": 12}),
    "too large, kept": ([("trim", {})], {"limit": 12, "on_overflow": "keep"}),
    "truncate": ([("truncate", {"max_tokens": 40})], {}),
    "with a summary": ([("trim", {"summarize": True})], {"limit": 140, "on_overflow": "write"}),
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", ARRAYS)
def test_the_results_are_those_of_an_array_that_is_read_as_a_whole(name: str, run: str) -> None:
    data, (stages, options) = ARRAYS[name], RUNS[run]
    by_element = results(data, stages, 1, **options)
    whole = results(data, stages, NEVER, **options)
    assert len(by_element) > len(whole) or name == UNREAD
    assert merged(by_element) == merged(whole)
    assert merged(by_element).is_changed or run != "trim"


def test_places_are_those_in_the_array() -> None:
    rows = [row for done in results(ARRAYS["many lines"], [], 1) for row in done.rows]
    lines = ARRAYS["many lines"].decode().split("\n")
    starts = [number for number, line in enumerate(lines, 1) if line == "  {"]
    assert [(row.line, row.index, row.pointer) for row in rows] == [
        (line, index, (index,)) for index, line in enumerate(starts)
    ]


def test_one_conversation_that_does_not_fit_leaves_out_the_array() -> None:
    long = sharegpt(9)
    long["conversations"] = [{"from": "human", "value": "word " * 4000}]
    done = results(json.dumps([*TALKS, long]).encode(), [("trim", {})], 1, limit=500)
    assert {each.data for each in done} == {None}
    assert all(each.is_lossy for each in done)
    assert not any(row.is_written for each in done for row in each.rows)


CALL = {"type": "tool_use", "id": "t", "name": "n", "input": {}}
ANTHROPIC = {
    "messages": [
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
    ]
}
PLAIN = {"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]}


@pytest.mark.parametrize(
    "value",
    [
        [PLAIN] * 3 + [ANTHROPIC],
        [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}],
        [PLAIN, TALKS[0]],
        [PLAIN, {"traj": PLAIN["messages"]}],
        [{"a": 1}, {"b": 2}],
    ],
)
def test_other_arrays_are_read_as_before(value: list[Any]) -> None:
    data = json.dumps(value).encode()
    readings = [open_reading(BytesIO(data), large=large) for large in (1, NEVER)]
    assert readings[0].detection == readings[1].detection
    by_element, whole = (results(data, [("count", {})], large) for large in (1, NEVER))
    assert merged(by_element) == merged(whole)


def bedrock_log(operation: str, sent: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """An invocation log of Bedrock."""
    return {
        "schemaType": "ModelInvocationLog",
        "operation": operation,
        "modelId": "anthropic.claude-3-haiku-20240307-v1:0",
        "input": {"inputBodyJson": sent},
        "output": {"outputBodyJson": answer},
    }


CONVERSE = bedrock_log(
    "Converse",
    {"messages": [{"role": "user", "content": [{"text": "Which berths are free? " * 9}]}]},
    {"output": {"message": {"role": "assistant", "content": [{"text": "Two."}]}}},
)
INVOKE = bedrock_log(
    "InvokeModel",
    {"anthropic_version": "bedrock-2023-05-31", **ANTHROPIC},
    {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Three."}]},
)
RESPONSES = {
    "model": "gpt-4o",
    "instructions": "You are careful. " * 8,
    "input": [{"role": "user", "content": "Hello. " * 20}, {"role": "user", "content": "Hello"}],
}
MIXED = {
    "logs": [CONVERSE, INVOKE, CONVERSE],
    "logs of Anthropic first": [INVOKE, CONVERSE, CONVERSE],
    "chats": [PLAIN, TALKS[0], PLAIN],
    "requests of two APIs": [PLAIN, RESPONSES, PLAIN],
}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("large", [1, NEVER])
@pytest.mark.parametrize("start", [b"", BOM])
@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_several_formats_is_read_as_the_same_values_on_lines(
    name: str, large: int, indent: int | None, start: bytes
) -> None:
    values = MIXED[name]
    lines = b"".join(json.dumps(value).encode() + b"\n" for value in values)
    data = start + json.dumps(values, indent=indent).encode() + b"\n"
    for stages, options in (RUNS["count"], RUNS["truncate"], ([("trim", {})], {"limit": 90})):
        on_lines = merged(results(lines, stages, NEVER, **options))
        in_array = merged(results(data, stages, large, **options))
        assert [(row.format, row.count, row.messages) for row in in_array.rows] == [
            (row.format, row.count, row.messages) for row in on_lines.rows
        ]
        assert [row.pointer[0] for row in in_array.rows] == list(range(len(values)))
        assert in_array.data is not None and on_lines.data is not None
        assert in_array.data.startswith(start)
        assert value_of(in_array.data) == list(map(json.loads, on_lines.data.splitlines()))
        assert in_array.data == data or in_array.is_changed


@pytest.mark.parametrize("large", [1, NEVER])
@pytest.mark.parametrize("value", [b"NaN", rb'"half of \ud83d"'])
def test_values_that_only_python_accepts_hide_no_element_of_another_format(
    value: bytes, large: int
) -> None:
    plain = json.dumps(PLAIN | {"note": 0}).encode().replace(b'"note": 0', b'"note": %b' % value)
    data = b"[%b, %b]\n" % (json.dumps(RESPONSES).encode(), plain)
    done = merged(results(data, [("trim", {})], large, limit=60))
    assert [row.format for row in done.rows] == ["openai-responses", "openai-chat"]
    assert done.is_changed
    assert done.data is not None
    assert done.data.endswith(plain + b"]\n")


@pytest.mark.parametrize("large", [1, NEVER])
@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(
    "value",
    [PLAIN["messages"], {"samples": [PLAIN]}, {"id": 7, "question": [PLAIN["messages"]]},
     {"talk": {"messages": PLAIN["messages"]}}],
)  # fmt: skip
def test_an_element_that_is_not_read_is_reported_at_its_line(
    value: Any, is_first: bool, large: int
) -> None:
    values = [value, PLAIN] if is_first else [PLAIN, value]
    data = json.dumps(values, indent=2).encode()
    done = merged(results(data, [("trim", {})], large, limit=90))
    line = data[: data.index(json.dumps(value, indent=2).replace("\n", "\n  ").encode())].count(
        b"\n"
    )
    assert [(finding.code, finding.line) for finding in done.findings] == [("not-read", line + 1)]
    assert (len(done.rows), done.data) == (1, data)


def test_elements_that_are_no_conversations_are_reported_as_lines_are(ctxtrim: Run) -> None:
    values = [PLAIN, {"type": "header"}, {"messages": []}, {}, "x", 7, {"foo": 1}, {"bar": [2]}]
    ran = ctxtrim("check", stdin=json.dumps(values).encode())
    assert "<stdin>:1: warning: 2 values, the first of them here, have no conv" in ran.err
    assert ctxtrim("check", "--strict", stdin=json.dumps(values).encode()).code == 4
    assert "no conv" not in ctxtrim("check", stdin=json.dumps(values[:6]).encode()).err


def test_an_empty_conversation_in_an_array_is_not_read_in_another_format() -> None:
    emptied = {"conversations": [], "messages": []}
    done = results(json.dumps([TALKS[0], emptied]).encode(), [("count", {})], NEVER)
    assert [row.format for each in done for row in each.rows] == ["sharegpt"]


def test_an_array_of_several_formats_is_not_written_in_part() -> None:
    data = json.dumps([CONVERSE, INVOKE]).encode()
    done = results(data, [("trim", {})], NEVER, limit=30)
    assert {each.data for each in done} == {None}


@pytest.mark.parametrize("end", [b"", b"]]", b"],", b"] x", b"}"])
def test_an_array_with_a_bad_end_is_reported_as_before(end: bytes) -> None:
    data = ARRAYS["many lines"].rstrip()[:-1] + end
    by_element, whole = (results(data, [("count", {})], large) for large in (1, NEVER))
    assert merged(by_element) == merged(whole)


def test_memory_is_that_of_the_bytes() -> None:
    talks = [json.dumps(sharegpt(number, turns=40)) for number in range(600)]
    data = f"[{','.join(talks)}]".encode()
    lines = BytesIO(data)
    job = Job(StagePipeline((), Metering(tokenizer, tokenizer="chars4")))
    with measured() as memory:
        for done in done_chunks("file", open_reading(lines).chunks, job, None):
            assert len(done.read) < 1 << 16
    assert len(data) > 1 << 22
    assert memory.peak < 2.5 * len(data)


def test_a_message_that_is_an_element_by_itself_is_not_dropped() -> None:
    result = {"role": "function", "content": "A result without its call."}
    data = json.dumps([{"messages": [{"role": "user"}]}, result]).encode()
    done = merged(results(data, [("repair", {})], NEVER))
    assert done.data is None
    (finding,) = (
        found for row in done.rows for found in row.findings if found.code != "not-counted"
    )
    assert (finding.code, "an element of an array by itself" in finding.message) == (
        "not-editable",
        True,
    )
