"""Chats of Google AI Studio: chunks that are thoughts, texts, files and code."""

import json
from io import BytesIO
from typing import Any

import pytest
from harness import read, run
from insertions import SUMMARY, format_of, written
from msgspec.structs import replace
from pictures import PICTURE

from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Media, Transcript

Value = dict[str, Any]
LONG = "a gull flies by " * 200
SYSTEM = {"parts": [{"text": "Answer as the harbour master."}]}


def chunk(role: str, text: str, **more: Any) -> Value:
    return {"text": text, "role": role, "tokenCount": 4} | more


def chat(*chunks: Value, system: Any = SYSTEM) -> Value:
    return {
        "runSettings": {"temperature": 1.0, "model": "models/gemini-2.5-pro"},
        "systemInstruction": system,
        "chunkedPrompt": {
            "chunks": list(chunks),
            "pendingInputs": [{"text": "a draft", "role": "user"}],
        },
    }


def document(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode()


def format_and_transcript(data: bytes) -> tuple[str | None, Transcript]:
    reading = open_reading(BytesIO(data))
    (found,) = (transcript for chunk in reading.chunks for transcript in chunk.transcripts)
    return reading.format.name if reading.format else None, found


def shown(*chunks: Value) -> list[tuple[str, list[tuple[str, str]]]]:
    _, found = format_and_transcript(document(chat(*chunks, system={})))
    return [
        (message.role, [(part.kind, part.text) for part in message.parts])
        for message in found.messages
    ]


TALK = [
    {"driveDocument": {"id": "1a"}, "role": "user", "tokenCount": 900},
    chunk("user", "How deep is it?"),
    chunk("model", "I look.", isThought=True, thoughtSignatures=["", "abcd"]),
    chunk("model", "Two metres.", finishReason="STOP", parts=[{"text": "Two "}, {"text": "m."}]),
    chunk("user", "And tomorrow?"),
    chunk("model", "Three."),
]


def test_a_chat_is_read_with_its_system_instruction() -> None:
    form, found = format_and_transcript(document(chat(*TALK)))
    assert (form, found.model, found.uncounted) == ("ai-studio", "gemini-2.5-pro", 0)
    assert [
        (message.role, [part.kind for part in message.parts]) for message in found.messages
    ] == [
        ("system", ["text"]),
        ("user", ["attachment", "text"]),
        ("assistant", ["reasoning", "text"]),
        ("user", ["text"]),
        ("assistant", ["text"]),
    ]
    assert found.messages[1].parts[0].media == Media("file", size=900)
    assert [part.sealed for part in found.messages[2].parts] == [4, 0]
    assert run(document(chat(*TALK))).data == document(chat(*TALK))


@pytest.mark.parametrize("system", [{}, {"text": "Be terse."}, {"parts": [{"text": "Be terse."}]}])
def test_the_system_instruction_has_several_forms(system: Value) -> None:
    _, found = format_and_transcript(document(chat(*TALK, system=system)))
    texts = [part.text for part in found.messages[0].parts if found.messages[0].role == "system"]
    assert texts == ([] if system == {} else ["Be terse."])


def test_code_and_pieces_that_the_text_does_not_repeat_are_counted() -> None:
    code = {"language": "PYTHON", "code": "1 + 1"}
    result = {"outcome": "OUTCOME_OK", "output": "2"}
    assert shown(
        chunk("user", "Add."),
        {"role": "model", "parts": [{"text": "I add."}, {"executableCode": code}]},
        {"role": "model", "codeExecutionResult": result},
        {"role": "model", "errorMessage": "stopped"},
    ) == [
        ("user", [("text", "Add.")]),
        (
            "assistant",
            [
                ("text", "I add."),
                ("text", '{"executableCode":{"language":"PYTHON","code":"1 + 1"}}'),
            ],
        ),
        (
            "assistant",
            [("text", '{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}}')],
        ),
    ]


def test_an_edited_text_loses_its_copy_and_its_recorded_tokens() -> None:
    parts = [{"text": LONG[:9]}, {"text": LONG[9:]}]
    talk = [chunk("user", "How deep?"), chunk("model", LONG, parts=parts, finishReason="STOP")]
    data = document(chat(*talk, *TALK[4:]))
    (only,) = read(data)
    (found,) = only.transcripts
    old = found.messages[2]
    new = replace(old, parts=(replace(old.parts[0], text="Shorter."),))
    meant = replace(found, messages=(*found.messages[:2], new, *found.messages[3:]))
    out = written(only, format_of(data), meant)
    short = {"text": "Shorter.", "role": "model", "finishReason": "STOP"}
    assert json.loads(out) == chat(talk[0], short, *TALK[4:])


def test_old_chunks_are_dropped_and_a_summary_is_a_chunk() -> None:
    data = document(chat(chunk("user", LONG), *TALK[2:]))
    out = run(data, [("trim", {})], limit=60).data
    assert out is not None and json.loads(out) == chat(*TALK[4:])
    (only,) = read(data)
    (found,) = only.transcripts
    meant = replace(found, messages=(found.messages[0], SUMMARY, *found.messages[3:]))
    out = written(only, format_of(data), meant)
    assert json.loads(out) == chat({"text": SUMMARY.parts[0].text, "role": "user"}, *TALK[4:])


def test_an_image_is_replaced_by_a_chunk_with_a_text() -> None:
    image = {"inlineFile": {"mimeType": "image/png", "data": PICTURE}, "role": "user"}
    data = document(chat(image, *TALK[1:]))
    out = run(data, [("drop-images", {"max_age": 0, "clock": "turns"})], model="gpt-4o").data
    assert out is not None
    first = json.loads(out)["chunkedPrompt"]["chunks"][0]
    assert first["role"] == "user" and first["text"].startswith("[image, 1024×768")


def test_a_chunk_without_a_text_is_not_sent() -> None:
    talk = [chunk("model", "Hello."), chunk("user", ""), chunk("model", LONG)]
    _, found = format_and_transcript(document(chat(*talk)))
    assert [message.index for message in found.messages] == [0, 1, 2]
    assert run(document(chat(*talk)), [("trim", {})], limit=60).findings == ()


def test_lines_with_a_role_and_a_text_are_no_chat() -> None:
    data = b'{"role": "user", "text": "Hello."}\n'
    assert open_reading(BytesIO(data)).format is None


def test_a_chat_with_a_system_instruction_alone_takes_a_chunk() -> None:
    for value in (chat(), [chat(), chat(*TALK)]):
        data = document(value)
        (chunk_read,) = read(data)
        first, *rest = chunk_read.transcripts
        meant = replace(first, messages=(*first.messages, SUMMARY))
        out = json.loads(written(chunk_read, format_of(data), meant, *rest))
        edited = out if isinstance(out, dict) else out[0]
        (new,) = edited["chunkedPrompt"]["chunks"]
        assert (new["role"], new["text"]) == ("user", SUMMARY.parts[0].text)


def test_chats_of_an_array_keep_their_order_without_a_system_instruction() -> None:
    chats = [chat(chunk("user", text)) for text in ("North.", "South.", "East.")]
    del chats[0]["systemInstruction"]
    found = [transcript for each in read(document(chats)) for transcript in each.transcripts]
    assert [transcript.messages[-1].parts[0].text for transcript in found] == [
        *("North.", "South.", "East."),
    ]
    data = document([chat(*TALK), chat(*TALK)])
    (both,) = read(data)
    first, second = both.transcripts
    meant = replace(first, messages=(SUMMARY, *first.messages[1:]))
    out = json.loads(written(both, format_of(data), meant, second))
    assert ["systemInstruction" in value for value in out] == [False, True]
