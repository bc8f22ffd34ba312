"""The lines of a snapshot: a line for each message and part, with ids and clocks."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import conversation, user
from conftest import FIXTURES
from pictures import PICTURE
from sessions import anthropic_session, openai_session
from strategies import CONVERSATIONS, EVENTS

import ctxtrim
from ctxtrim.errors import InputError
from ctxtrim.testing.snapshots import TranscriptSnapshot, lines

HOSTILE = "a\u2028b\u0085c\x7f\x00\ud800 \r\n\x1b[31m 日本語"


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.json*")), ids=lambda path: path.name)
def test_every_part_is_a_line_in_every_format(path) -> None:  # type: ignore[no-untyped-def]
    transcripts = list(ctxtrim.read(path))
    found = list(lines(path))
    assert found == list(lines(transcripts)) == list(lines(path.read_bytes()))
    messages = [message for transcript in transcripts for message in transcript.messages]
    tools = sum(transcript.tools is not None for transcript in transcripts)
    parts = sum(len(message.parts) for message in messages)
    assert len(found) == len(transcripts) + tools + len(messages) + parts


def test_ids_and_clocks_are_kept() -> None:
    found = list(lines(FIXTURES / "claude-code.jsonl"))
    heads = [line for line in found[1:] if not line.startswith(" ")]
    assert heads
    assert all("uuid=" in line and "timestamp=20" in line for line in heads)
    assert found[0].startswith("transcript id=")


def test_the_id_and_the_clock_of_a_conversation_are_not_those_of_its_messages() -> None:
    data = conversation([user("Which buoy is lit?")], id="c-1", created=1_700_000_000)
    assert list(lines(data)) == ["transcript id=c-1", "user", '  text "Which buoy is lit?"']


def test_texts_stay_on_one_line_and_are_readable() -> None:
    head, text = list(lines([{"role": "user", "content": HOSTILE}]))[1:]
    assert head == "user"
    assert text.splitlines() == [text]
    assert json.loads(text.removeprefix("  text ")) == HOSTILE
    assert "日本語" in text
    text.encode()


def test_what_the_model_does_not_read_and_what_failed_is_told() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    failed = {"type": "tool_result", "tool_use_id": "t1", "content": "no boat", "is_error": True}
    talk = [user("Look."), {"role": "assistant", "content": [call]}]
    found = list(lines([*talk, {"role": "user", "content": [failed]}]))
    assert found[-1] == '  tool_result id=t1 error=true "no boat"'
    done = [{**failed, "is_error": False}]
    assert list(lines([*talk, {"role": "user", "content": done}]))[-1] == (
        '  tool_result id=t1 "no boat"'
    )
    pi = {"role": "user", "content": [{"type": "text", "text": "One?"}], "timestamp": 7}
    hidden = written([pi | {"metadata": {"agentVisible": False}}, pi])
    heads = [line for line in lines(hidden) if line.startswith("user")]
    assert ["visible=false" in head for head in heads] == [True, False]


@pytest.mark.parametrize("messages", [openai_session(3), anthropic_session(3)])
def test_lines_have_no_numbers(messages: list[dict[str, object]]) -> None:
    whole, rest = list(lines(messages)), list(lines(messages[1:]))
    assert whole[-len(rest) + 1 :] == rest[1:]


TALK: list[dict[str, Any]] = [
    {"role": "user", "texts": ["Which boat?"], "image": True},
    {
        "role": "assistant",
        "texts": ["A moment."],
        "calls": [{"id": "c1", "name": "look", "input": {"x": "pier"}}],
    },
    {"role": "tool", "id": "c1", "texts": ["pier"], "image": True, "error": None},
    {"role": "assistant", "texts": ["The red boat."], "calls": []},
]
"""A conversation with an image in a prompt and one in a result."""


def written(values: list[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


FILES = {name: written([write(TALK, 0)]) for name, write in CONVERSATIONS.items()}
FILES |= {f"{name}, by line": written(write(TALK)) for name, write in EVENTS.items()}
FILES.pop("openhands, condensed, by line")  # its messages with images are condensed
ILLUSTRATED = [name for name, data in FILES.items() if PICTURE.encode() in data]


@pytest.mark.parametrize("name", ILLUSTRATED)
def test_another_image_is_another_line_in_every_format(name: str) -> None:
    other = f"{PICTURE[:-16]}BBBB{PICTURE[-12:]}"
    before = list(lines(FILES[name]))
    after = list(lines(FILES[name].replace(PICTURE.encode(), other.encode())))
    is_image = [line.startswith("  attachment ") for line in before]
    assert any(is_image)
    assert [old != new for old, new in zip(before, after, strict=True)] == is_image


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": {"url": "https://boats.test/SHIP.png"}},
        {"type": "image_url", "image_url": {"url": "https://boats.test/a.png", "detail": "SHIP"}},
        {"type": "file", "file": {"file_id": "SHIP"}},
        {"type": "file", "file": {"filename": "SHIP.pdf", "file_data": "JVBERi0="}},
        {"type": "video_url", "video_url": {"url": "https://boats.test/SHIP.mp4"}},
        {"type": "image", "source": {"type": "url", "url": "https://boats.test/SHIP.png"}},
    ],
)
def test_a_url_an_id_or_a_name_identifies_an_attachment(block: dict[str, Any]) -> None:
    def shown(block: dict[str, Any]) -> list[str]:
        return list(lines([{"role": "user", "content": [block, {"type": "text", "text": "?"}]}]))

    boat = json.loads(json.dumps(block).replace("SHIP", "boat"))
    before, after = shown(block), shown(boat)
    assert [old != new for old, new in zip(before, after, strict=True)] == [0, 0, 1, 0]
    backwards = dict(reversed(block.items()))
    assert shown(backwards | {"cache_control": {"type": "ephemeral"}}) == before


def test_an_iterator_has_the_lines_of_its_list() -> None:
    path = FIXTURES / "agent.jsonl"
    assert list(lines(ctxtrim.read(path))) == list(lines(path))
    messages = openai_session(3)
    assert list(lines(message for message in messages)) == list(lines(messages))


@pytest.mark.parametrize("data", [b"", b"hello", [], iter([])])
def test_data_without_a_transcript_are_an_error(data: object) -> None:
    with pytest.raises(InputError, match=r"no transcript found|not JSON"):
        list(lines(data))  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [None, 5, {"messages": openai_session(1)}])
def test_data_that_are_no_list_are_named(data: object) -> None:
    with pytest.raises(InputError) as caught:
        list(lines(data))  # type: ignore[arg-type]
    assert str(caught.value) == f"expected a list of messages, found {str(data)[:80]}"


def test_bytes_with_a_malformed_line_are_an_error_as_in_a_file(tmp_path: Path) -> None:
    data = json.dumps({"messages": openai_session(2)}).encode() + b"\n{oops\n"
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    with pytest.raises(InputError) as of_path:
        list(lines(path))
    with pytest.raises(InputError) as of_bytes:
        list(lines(data))
    assert str(of_path.value) == f"{path}:2: {of_bytes.value}"
    assert of_bytes.value.line == 2


def test_files_have_the_same_name_in_old_versions_of_syrupy() -> None:
    assert TranscriptSnapshot._file_extension == TranscriptSnapshot.file_extension == "transcript"
