"""Requests to Gemini as Google's SDK takes them: texts and parts as contents, and `config`."""

import json
from typing import Any

import pytest
from harness import read, run, unpaired
from msgspec.structs import replace
from test_gemini_contents import call, model, result, user

from ctxtrim.model import Transcript

MODEL = "gemini-2.5-flash"
TOOL = {"functionDeclarations": [{"name": "look", "parameters": {"type": "object"}}]}
PLAN = {"type": "OBJECT", "properties": {"pier": {"type": "STRING"}}}
PDF = {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0="}}


def line(contents: Any, **around: Any) -> bytes:
    return json.dumps({"model": MODEL, "contents": contents} | around).encode() + b"\n"


def transcript(data: bytes) -> Transcript:
    (chunk,) = read(data)
    assert chunk.format is not None and chunk.format.name == "gemini"
    return chunk.transcripts[0]


@pytest.mark.parametrize(
    ("loose", "contents"),
    [
        ("Which pier?", [user("Which pier?")]),
        (["Which pier?", "Be brief."], [user("Which pier?", "Be brief.")]),
        ([PDF, "Which pier?"], [user(PDF, "Which pier?")]),
        (
            ["Look.", call(), result({"output": "4"}), "So?"],
            [user("Look."), model(call()), user(result({"output": "4"}), "So?")],
        ),
        (
            ["Look.", {"text": "Now."}, model("Pier 4."), "Sure?"],
            [user("Look.", "Now."), model("Pier 4."), user("Sure?")],
        ),
    ],
)
def test_texts_and_parts_read_as_the_contents_that_the_sdk_makes(loose: Any, contents: Any) -> None:
    found = transcript(line(loose))
    assert found.messages == transcript(line(contents)).messages
    assert not unpaired(found)


@pytest.mark.parametrize("prompt", ["Be brief.", ["Be brief."], {"text": "Be brief."}])
def test_a_config_has_the_system_prompt_the_tools_and_the_schema(prompt: Any) -> None:
    config = {"system_instruction": prompt, "tools": [TOOL], "response_schema": PLAN}
    found = transcript(line("Which pier?", config=config))
    around = {"systemInstruction": user("Be brief."), "tools": [TOOL]}
    plain = transcript(
        line([user("Which pier?")], generationConfig={"responseSchema": PLAN}, **around)
    )
    assert (found.messages, found.tools, found.options) == (
        plain.messages,
        plain.tools,
        plain.options,
    )


@pytest.mark.parametrize(
    "value",
    [
        {"model": "gemini-embedding-001", "contents": "Which pier?"},
        {"model": MODEL, "contents": "Which pier?", "score": 4},
        {"model": "other", "contents": ["Which pier?"]},
        {"contents": ["Which pier?"]},
    ],
)
def test_texts_of_other_requests_are_no_contents(value: Any) -> None:
    assert all(chunk.format is None for chunk in read(json.dumps(value).encode() + b"\n"))


def test_edits_keep_the_other_texts_and_parts_as_they_were() -> None:
    contents = ["Old. " * 30, model("Pier 4."), "Look.", call(), result({"output": "4 " * 300})]
    contents += ["And now?"]
    data = line(contents, config={})
    trimmed = run(data, [("trim", {})], limit=10).data or b""
    assert json.loads(trimmed)["contents"] == ["And now?"]
    cut = json.loads(run(data, [("truncate", {"max_age": 0, "max_tokens": 20})]).data or b"")
    assert cut["contents"][4]["functionResponse"]["response"]["output"] != "4 " * 300
    cut["contents"][4] = contents[4]
    assert cut == json.loads(data)


def test_an_open_call_gets_a_result_among_texts() -> None:
    data = line(["Look.", call(), model("I wait."), "So?"])
    out = run(data, [("repair", {"repair": "synthesize"})]).data or b""
    assert not unpaired(transcript(out))
    messages = transcript(out).messages
    assert [replace(message, index=0) for message in messages if message.role != "tool"] == [
        replace(message, index=0) for message in transcript(data).messages
    ]
