"""Results that are JSON objects, and documents, in a conversion."""

import json
from typing import Any

import pytest
from conversions import converted, each_target, parts_of, transcript_of, transcripts
from pictures import PICTURE as PNG
from pictures import URL

from ctxtrim.stages.repair import ANSWER

PROMPT = {"role": "user", "content": "How is the tide?"}


def gemini(response: Any) -> Any:
    """A call with a response."""
    call = {"functionCall": {"id": "c", "name": "look", "args": {}}}
    result = {"functionResponse": {"id": "c", "name": "look", "response": response}}
    contents = [
        {"role": "user", "parts": [{"text": "How is the tide?"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [result]},
    ]
    return transcript_of({"contents": contents})


def claude(*blocks: Any) -> Any:
    """A call with a result of some blocks."""
    call = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": list(blocks)}
    messages = [
        PROMPT,
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    return transcript_of({"messages": messages})


def responses(output: Any) -> Any:
    """A call with an output."""
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Tide?"}]},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": output},
    ]
    return transcript_of({"input": items})


def result_texts(source: Any, to: str) -> list[str]:
    """The texts of the results after a conversion without losses."""
    found = converted(source, to)
    assert not any(finding.code == "lost" for finding in found.findings)
    return [part.spelled for part in parts_of(found.request, "tool_result")]


@pytest.mark.parametrize(
    "response",
    [
        {"tide": "low", "metres": 3},
        {"stdout": "low", "stderr": "none", "code": 1},
        {"output": "low", "error": ""},
        {"tide": "low"},
        {"result": {"tide": "low"}},
        {"error": "no tide", "code": 2},
    ],
    ids=str,
)
def test_a_structured_response_keeps_its_json(response: dict[str, Any]) -> None:
    source = gemini(response)
    for to in ("openai-chat", "anthropic", "openai-responses"):
        (text,) = result_texts(source, to) if "error" not in response else error_texts(source, to)
        assert json.loads(text) == response
    same = converted(source, "gemini").value["contents"][2]["parts"][0]["functionResponse"]
    assert same["response"] == response


PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


@pytest.mark.parametrize("blank", ["", " \n"])
def test_blank_texts_among_the_blocks_of_a_result_are_dropped(blank: str) -> None:
    text, empty = {"type": "text", "text": "low"}, {"type": "text", "text": blank}
    for blocks, kept in (
        ([empty, PICTURE], [PICTURE]),
        ([PICTURE, empty], [PICTURE]),
        ([empty, text], "low"),
        ([empty, empty], blank),
    ):
        found = converted(claude(*blocks), "anthropic")
        assert found.value["messages"][2]["content"][0]["content"] == kept
        assert found.breaches == set()


@each_target
def test_a_result_of_an_image_alone_has_no_empty_text(to: str) -> None:
    (image,) = parts_of(converted(claude(PICTURE), to).request, "attachment")
    assert image.media is not None
    output = converted(claude(PICTURE), "openai-responses").value["input"][2]["output"]
    assert [block["type"] for block in output] == ["input_image"]


def error(*blocks: Any) -> Any:
    """A call with an error of some blocks, and a message after it."""
    call = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": list(blocks), "is_error": True}
    return transcript_of({"messages": [
        PROMPT, {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result, {"type": "text", "text": "Again."}]},
    ]})  # fmt: skip


def test_the_images_of_an_error_follow_the_results() -> None:
    found = converted(error({"type": "text", "text": "fog"}, PICTURE), "anthropic")
    result, *others = found.value["messages"][2]["content"]
    assert (result["content"], result["is_error"]) == ("fog", True)
    assert others == [PICTURE, {"type": "text", "text": "Again."}]
    assert found.kinds["changed attachment"] == 1


@pytest.mark.parametrize("blocks", [[], [PICTURE], [{"type": "text", "text": " "}]], ids=len)
def test_an_error_without_a_text_gets_one(blocks: list[Any]) -> None:
    found = converted(error(*blocks), "anthropic")
    assert found.value["messages"][2]["content"][0]["content"] == ANSWER
    assert found.kinds["changed result"] == 1


def error_texts(source: Any, to: str) -> list[str]:
    return [part.spelled for part in parts_of(converted(source, to).request, "tool_result")]


@pytest.mark.parametrize("key", ["output", "result", "error"])
def test_a_response_of_one_text_is_the_text(key: str) -> None:
    assert error_texts(gemini({key: "low"}), "openai-chat") == ["low"]
    same = converted(gemini({key: "low"}), "gemini").value["contents"][2]["parts"][0]
    assert same["functionResponse"]["response"] == {key: "low"}


@each_target
def test_the_output_of_a_kiro_command_keeps_its_values(to: str) -> None:
    output = {"exit_status": "1", "stdout": "low", "stderr": "no chart"}
    records = [
        {"version": "v1", "kind": kind, "data": {"message_id": kind, "content": [block]}}
        for kind, block in (
            ("Prompt", {"kind": "text", "data": "Tide?"}),
            ("AssistantMessage", {"kind": "toolUse", "data": {
                "toolUseId": "c", "name": "look", "input": {}}}),
            ("ToolResults", {"kind": "toolResult", "data": {
                "toolUseId": "c", "status": "success",
                "content": [{"kind": "json", "data": output}]}}),
        )
    ]  # fmt: skip
    (source,) = transcripts("".join(json.dumps(each) + "\n" for each in records).encode())
    found = converted(source, to)
    if to == "gemini":
        response = found.value["contents"][2]["parts"][0]["functionResponse"]["response"]
        assert response == output
    else:
        assert [json.loads(text) for text in result_texts(source, to)] == [output]


@each_target
def test_an_output_that_is_an_object_is_json(to: str) -> None:
    output = {"stdout": "low", "stderr": "", "exit": 0}
    for source in (responses(output), responses([output])):
        if to == "gemini":
            part = converted(source, to).value["contents"][2]["parts"][0]
            assert part["functionResponse"]["response"] == output
        else:
            assert [json.loads(text) for text in result_texts(source, to)] == [output]


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "json", "json": {"tide": "low"}}, '{"tide":"low"}'),
        ({"type": "resource", "resource": {"uri": "file:///tide", "text": "low"}}, "low"),
        ({"text": "low"}, "low"),
        ("low", "low"),
        ({"type": "chart", "tide": "low"}, '{"type":"chart","tide":"low"}'),
        (
            {"type": "search_result", "title": "Tides", "source": "https://tides.example",
             "content": [{"type": "text", "text": "low"}]},
            "Tides\nhttps://tides.example\nlow",
        ),
    ],
    ids=str,
)  # fmt: skip
def test_a_block_of_a_result_is_its_text_or_its_json(block: Any, text: str) -> None:
    assert result_texts(claude(block), "openai-chat") == [text]
    assert result_texts(responses([block]), "openai-responses") == [text]


def test_the_bytes_of_a_resource_are_lost() -> None:
    block = {"type": "resource", "resource": {"uri": "file:///tide", "blob": "AAAA"}}
    assert converted(claude(block), "openai-chat").kinds == {"lost content block": 1}


def test_a_block_of_an_unknown_type_outside_of_results_keeps_its_text() -> None:
    block = {"type": "note", "text": "low", "by": "Ada"}
    source = transcript_of({"messages": [{"role": "user", "content": [block, {"text": "tide"}]}]})
    found = converted(source, "openai-chat")
    texts = [part.text for part in parts_of(found.request, "text")]
    assert texts == ["low", "tide"]
    assert [finding.message for finding in found.findings] == [
        "the fields by of a block of type note"
    ]


def test_an_image_in_a_document_is_kept() -> None:
    image = {"type": "base64", "media_type": "image/png", "data": PNG}
    content = [{"type": "text", "text": "the tide"}, {"type": "image", "source": image}]
    document = {"type": "document", "title": "Tides", "context": "a chart"}
    document["source"] = {"type": "content", "content": content}  # type: ignore[assignment]
    source = transcript_of({"system": "Look.", "messages": [
        {"role": "user", "content": [document]}]})  # fmt: skip
    assert converted(source, "openai-chat").value["messages"][1]["content"] == [
        {"type": "text", "text": "Tides\na chart\nthe tide"},
        {"type": "image_url", "image_url": {"url": URL}},
    ]
    assert converted(source, "anthropic").value["messages"][0]["content"] == [document]
