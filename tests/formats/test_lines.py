"""Sessions are decoded one line at a time: bounded memory, the same lines, the same findings."""

import json
from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from typing import Any

import pytest
from harness import read
from memory import measured
from msgspec.structs import replace

from ctxtrim.formats import FORMATS
from ctxtrim.formats.chunks import whole_chunk
from ctxtrim.formats.lines import ByteBlock, LineRecords, SourceValues
from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Line, Source, Span, Transcript
from ctxtrim.text.records import JsonRecord, split


def records(data: bytes) -> LineRecords:
    lines = data.splitlines(keepends=True)
    return LineRecords(
        data,
        lambda: (record for number, line in enumerate(lines, 1) for record in split(line, number)),
    )


def test_a_block_has_the_lines_of_the_file_and_their_numbers() -> None:
    found = records(b'{"a": 1}\n\n[2] [3]\n{"b"')
    values = [record.value for record in found]
    assert values[0] == {"a": 1} and values[2:4] == [[2], [3]]
    assert list(found.lines) == [
        Line(b'{"a": 1}\n', 1), Line(b"\n", 2), Line(b"[2]", 3), Line(b" [3]\n", 3),
        Line(b'{"b"', 4),
    ]  # fmt: skip
    assert found.lines[-1] == Line(b'{"b"', 4)
    assert found.lines.number_at(Span(3, ("b",))) == 3
    assert [record.number for record in found.odd] == [3, 3, 4]
    with pytest.raises(IndexError):
        found.lines[5]


def test_lines_are_complete_although_a_reader_stops_early() -> None:
    found = records(b"[1]\n[2]\n[3]\n")
    assert next(iter(found)).value == [1]
    found.finish()
    assert [line.data for line in found.lines] == [b"[1]\n", b"[2]\n", b"[3]\n"]
    assert [record.value for record in found] == [[1], [2], [3]]
    assert len(found.lines) == 3


def test_pieces_of_a_block_are_those_that_it_was_made_of() -> None:
    pieces = (b"one\n", b"", b"two and three")
    block = ByteBlock.of(b"one\nand\n", iter([[(0, 4)], [], [b"two ", (4, 7), b" three"]]))
    assert block.data == b"one\ntwo and three"
    assert tuple(block) == pieces == (block[0], block[1], block[2])


def test_a_document_is_joined() -> None:
    block = ByteBlock.of(b'{"a": 1}', iter([[(0, 6), b"2", (7, 8)]]))
    assert block.data == b'{"a": 2}'
    assert isinstance(block.data, bytes)
    assert tuple(block) == (b'{"a": 2}',)


def test_values_are_parsed_again_after_many_others() -> None:
    lines = [Line(b"[%d]" % number, number) for number in range(200)]
    values = SourceValues(lines)
    assert [value[0] for value in values] == list(range(200))
    assert values[0] == [0]
    assert values.at(Span(199, (0,))) == 199


def claude_code(number: int, text: str) -> dict[str, Any]:
    """A result that is on its line twice, as Claude Code writes it."""
    answer = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text}
    return {
        "parentUuid": f"e{number - 1}" if number else None,
        "type": "user",
        "uuid": f"e{number}",
        "sessionId": "s",
        "message": {"role": "user", "content": [answer]},
        "toolUseResult": {"rows": [{"row": row, "cells": ["a", "b", "c"]} for row in range(40)]},
    }


def codex(number: int, text: str) -> dict[str, Any]:
    """A message that an event repeats, with many small values."""
    if number % 2:
        rows = [{"row": row, "cells": ["a", "b", "c"]} for row in range(40)]
        return {"timestamp": "t", "type": "event_msg", "payload": {"type": "rows", "rows": rows}}
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return {"timestamp": "t", "type": "response_item", "payload": item}


@pytest.mark.parametrize("event", [claude_code, codex])
def test_values_that_no_model_reads_take_no_memory(
    event: Callable[[int, str], dict[str, Any]],
) -> None:
    data = b"".join(json.dumps(event(number, "out")).encode() + b"\n" for number in range(3000))
    with measured() as memory:
        (chunk,) = open_reading(iter(BytesIO(data))).chunks
    assert chunk.data == data
    assert len(chunk.transcripts[0].messages) >= 1500
    assert memory.peak < 3.5 * len(data)  # all values would take ten times the size of the file


def test_a_line_that_is_not_json_is_named_and_the_rest_is_read() -> None:
    lines = [json.dumps(claude_code(number, f"text {number}")).encode() for number in range(100)]
    lines[80] = lines[80][:-20]
    lines[90] = lines[90].replace(b"text", b"\xff")
    chunk = read(b"\n".join(lines))[0]
    assert [(finding.code, finding.line) for finding in chunk.findings] == [
        ("not-json", 81), ("not-json", 91),
    ]  # fmt: skip
    assert len(chunk.transcripts[0].messages) == 9  # since the line that breaks the chain
    assert chunk.data == b"\n".join(lines)


def test_a_line_that_is_nested_too_deeply_is_named_and_the_rest_is_read() -> None:
    deep = b"[" * 600 + b"]" * 600 + b"\n"

    def reader(found: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
        """Fails at deep values, as Python's encoder does at some depth."""
        values = [record.value for record in found]
        if any(str(value).count("[") > 500 for value in values):
            raise RecursionError
        return [Transcript((), Source(lines, ()), uncounted=len(values))]

    found = records(b"[1]\n" + deep + b"[2]\n")
    chunk = whole_chunk(replace(FORMATS["codex"], read=reader), found)
    assert chunk.error is None
    assert [(finding.message, finding.line) for finding in chunk.findings] == [
        ("nested too deeply to read; the line is kept unchanged and not counted", 2)
    ]
    assert chunk.transcripts[0].uncounted == len(chunk.lines) == 3
    assert chunk.data == b"[1]\n" + deep + b"[2]\n"
