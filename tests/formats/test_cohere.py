"""Cohere's chat requests, which are Chat Completions with documents and plans."""

import json
from typing import Any

import pytest
from builders import call, conversation, result, says, user
from conftest import Run
from harness import read, run

PLAN = "First the gauge, then the table. " * 10
DATA = {"depth": "3 m", "log": [f"gauge {number} reads 3 m" for number in range(40)]}


def request(data: Any, **more: Any) -> dict[str, Any]:
    """A request with a document as the content of a result."""
    block = {"type": "document", "document": {"id": "d1", "data": data}}
    answer = call("c1", name="depth") | {"tool_plan": PLAN}
    messages = [user("How deep?"), answer, result("c1", "") | {"content": [block]}, says("3 m.")]
    return {"model": "command-a-03-2025", "messages": [*messages, user("And at low tide?")], **more}


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


@pytest.mark.parametrize("data", [json.dumps(DATA), DATA])
def test_the_data_of_a_document_counts_as_a_text(data: Any) -> None:
    (chunk,) = read(encoded(request(data)))
    (part,) = chunk.transcripts[0].messages[2].parts
    assert (part.kind, part.media, json.loads(part.text)) == ("tool_result", None, DATA)


def test_only_the_data_of_a_document_is_shortened(ctxtrim: Run) -> None:
    value = request("The gauge reads 3 m. " * 200)
    ran = ctxtrim("trim", "--budget", "500", stdin=encoded(value))
    written = json.loads(ran.out)
    document = written["messages"][2]["content"][0]["document"]
    assert len(document["data"]) < 1000
    document["data"] = "The gauge reads 3 m. " * 200
    assert (ran.code, written) == (0, value)


def test_a_plan_is_reasoning_that_can_be_removed(ctxtrim: Run) -> None:
    value = request("3 m")
    (chunk,) = read(encoded(value))
    parts = chunk.transcripts[0].messages[1].parts
    assert [part.kind for part in parts] == ["reasoning", "tool_call"]
    ran = ctxtrim("trim", "--thinking", "strip", stdin=encoded(value))
    del value["messages"][1]["tool_plan"]
    assert (ran.code, json.loads(ran.out)) == (0, value)


@pytest.mark.parametrize(
    ("documents", "is_reported"),
    [(["Low tide at 4."], True), ([{"data": {"text": "Low tide at 4."}}], True), ([], False)],
)
def test_documents_next_to_the_messages_are_reported(documents: Any, is_reported: bool) -> None:
    data = conversation([user("How deep?"), says("3 m.")], model="gpt-4o", documents=documents)
    (row,) = run(data, tokenizer=None).rows
    messages = [finding.message for finding in row.findings if finding.code == "not-counted"]
    expected = ["`documents` next to the messages are not read; not counted"]
    assert messages == (expected if is_reported else [])
    assert row.count.exactness == ("estimated" if is_reported else "exact")
