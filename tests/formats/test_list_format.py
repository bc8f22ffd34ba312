"""Reading message lists: elements are taken out of their list as they are read."""

import json
from collections.abc import Iterable

from builders import says, user
from msgspec.structs import replace

from ctxtrim.formats.chunks import chunk_of
from ctxtrim.formats.list_format import list_format
from ctxtrim.formats.message_lists import Element, ListContents
from ctxtrim.formats.openai import chat
from ctxtrim.text.records import split

TALK = [user("go"), says("on"), user("stop")]
LINE = json.dumps({"messages": TALK}).encode() + b"\n"


def test_a_list_is_empty_after_its_messages_were_read() -> None:
    records = split(LINE, 1)
    (transcript,) = chunk_of(list_format(chat.DIALECT), records).transcripts
    assert [message.parts[0].text for message in transcript.messages] == ["go", "on", "stop"]
    assert records[0].value == {"messages": []}


def test_a_reading_that_ended_in_deep_values_begins_again_with_all_elements() -> None:
    attempts = []

    def read(items: Iterable[Element], found: ListContents) -> None:
        """Fails once at the second element, as Python's encoder does at some depth."""
        attempts.append(1)
        for number, item in enumerate(items):
            if len(attempts) == number == 1:
                raise RecursionError
            chat.read([item], found)

    dialect = list_format(replace(chat.DIALECT, read=read))
    (transcript,) = chunk_of(dialect, split(LINE, 1)).transcripts
    assert [message.parts[0].text for message in transcript.messages] == ["go", "on", "stop"]
    assert len(attempts) == 2
