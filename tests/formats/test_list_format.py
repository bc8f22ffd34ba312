"""Reading message lists: elements are taken out of their list as they are read."""

import json
from collections.abc import Iterable

from builders import says, user
from conftest import Run
from harness import read
from msgspec.structs import replace

from ctxtrim.formats.chunks import chunk_of
from ctxtrim.formats.list_format import list_format
from ctxtrim.formats.message_lists import Element, ListContents
from ctxtrim.formats.openai import chat
from ctxtrim.formats.self_check import written_chunk
from ctxtrim.text.records import split

TALK = [user("go"), says("on"), user("stop")]
LINE = json.dumps({"messages": TALK}).encode() + b"\n"


def test_a_list_is_empty_after_its_messages_were_read() -> None:
    records = split(LINE, 1)
    (transcript,) = chunk_of(list_format(chat.DIALECT), records).transcripts
    assert [message.parts[0].text for message in transcript.messages] == ["go", "on", "stop"]
    assert records[0].value == {"messages": []}


def test_messages_that_read_back_the_same_are_held_once() -> None:
    chunk = chunk_of(list_format(chat.DIALECT), split(LINE, 1))
    (whole,) = chunk.transcripts
    first, second, last = whole.messages
    edited = replace(second, parts=(replace(second.parts[0], text="over"),))
    out = replace(whole, messages=(first, edited, last))
    (found,) = written_chunk(chunk, [out], [False]).read_back.values()
    assert list(map(id, found.messages)) == list(map(id, out.messages))


def test_a_reading_that_ended_in_deep_values_begins_again_with_all_elements() -> None:
    attempts = []

    def read(items: Iterable[Element], found: ListContents) -> None:
        """Fails once at the second element, as Python's encoder does at some depth."""
        attempts.append(1)
        for number, item in enumerate(items):
            if len(attempts) == number == 1:
                raise RecursionError
            chat.read([item], found)

    file_format = list_format(replace(chat.DIALECT, read=read))
    (transcript,) = chunk_of(file_format, split(LINE, 1)).transcripts
    assert [message.parts[0].text for message in transcript.messages] == ["go", "on", "stop"]
    assert len(attempts) == 2


def test_lines_and_samples_that_are_not_read_are_reported(ctxtrim: Run) -> None:
    lines = [{"messages": TALK}, {"instruction": "x"}, {"messages": [{"role": "alien"}]}]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    ran = ctxtrim("check", stdin=data)
    assert ran.code == 0
    assert "<stdin>:2: warning: 2 values, the first of them here, have no conversation" in ran.err
    assert ctxtrim("check", "--strict", stdin=data).code == 4
    foreign = [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "b"}]}]
    document = {"samples": [{"messages": TALK}, {"messages": foreign}, {"messages": TALK}]}
    (chunk,) = read(json.dumps(document).encode())
    assert [len(found.messages) for found in chunk.transcripts] == [3, 0, 3]
    assert [found.uncounted for found in chunk.transcripts] == [0, 1, 0]
    assert chunk.transcripts[1].pointer == ("samples", 1)


def test_headers_events_and_emptied_conversations_are_no_unread_lines(ctxtrim: Run) -> None:
    lines = [{"messages": TALK}, {"type": "header", "version": 2}, {"conversations": []}, {}]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert "no conversation" not in ctxtrim("check", stdin=data).err


def test_a_file_of_which_nothing_is_read_is_an_error_as_before(ctxtrim: Run) -> None:
    data = json.dumps({"messages": [{"role": "alien", "content": "hi"}]}).encode()
    assert ctxtrim("check", stdin=data).code == 1
