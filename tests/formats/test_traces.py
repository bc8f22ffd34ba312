"""Logs of requests: a trace is one transcript; `--each-request` reads and edits each request."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from depth import examples
from harness import read, run
from hypothesis import given, settings
from strategies import as_json, conversations
from writers import langfuse, langsmith, litellm, opentelemetry
from writers.requests import growing

from ctxtrim.formats import FORMATS
from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Transcript

Talk = list[dict[str, Any]]
Request = Callable[[Talk, int, str], Any]

LONG = "high water and low water " * 60
SYSTEM = {"role": "system", "texts": ["You keep the tide tables."]}
TALK: Talk = [
    SYSTEM,
    {"role": "user", "texts": ["When is the harbour dry?"]},
    {
        "role": "assistant",
        "texts": ["I look."],
        "calls": [{"id": "c1", "name": "bash", "input": {}}],
    },
    {"role": "tool", "id": "c1", "texts": [LONG], "error": None, "image": False},
    {"role": "assistant", "texts": ["At noon."], "calls": []},
    {"role": "user", "texts": ["And tomorrow?"]},
    {"role": "assistant", "texts": ["At one."], "calls": []},
]


def exported(talk: Talk, number: int, trace: str) -> dict[str, Any]:
    return opentelemetry.export(opentelemetry.span(opentelemetry.attributes(talk), number, trace))


REQUESTS: dict[str, Request] = {
    "opentelemetry": exported,
    "langfuse": langfuse.generation,
    "langsmith": lambda talk, number, trace: langsmith.run(talk, 0, trace),
    "litellm": litellm.payload,
}
formats = pytest.mark.parametrize("name", REQUESTS)
FIXTURES = [Path(f"fixtures/{name}.jsonl") for name in REQUESTS]


def log(name: str, talks: list[Talk], trace: str = "T") -> list[bytes]:
    """A line for each request of a trace."""
    return [
        as_json(REQUESTS[name](talk, number, trace), {}) + b"\n"
        for number, talk in enumerate(talks)
    ]


def found(data: bytes) -> list[Transcript]:
    return [transcript for chunk in read(data) for transcript in chunk.transcripts]


def each(name: str, data: bytes) -> list[Transcript]:
    """The transcripts of a file with `--each-request`."""
    form = FORMATS[name].each_request
    assert form is not None
    reading = open_reading(data.splitlines(keepends=True), (form,))
    return [transcript for chunk in reading.chunks for transcript in chunk.transcripts]


def texts(transcript: Transcript) -> list[str]:
    """The texts of the messages, without calls."""
    return [
        "".join(part.text for part in message.parts if part.kind != "tool_call")
        for message in transcript.messages
    ]


@formats
def test_requests_that_repeat_a_growing_prefix_are_one_transcript(name: str) -> None:
    (transcript,) = found(b"".join(log(name, growing(TALK))))
    assert [message.role for message in transcript.messages] == [each["role"] for each in TALK]
    assert texts(transcript) == ["".join(each["texts"]) for each in TALK]
    assert (transcript.id, transcript.line, transcript.model) == ("T", 3, "gpt-4o")
    assert [usage.message for usage in transcript.usages] == [2, 4, 6]
    assert [call.call_id for message in transcript.messages for call in message.calls] == ["c1"]


@formats
def test_each_request_is_a_transcript_and_each_line_a_chunk(name: str) -> None:
    data = b"".join(log(name, growing(TALK)))
    assert [len(transcript.messages) for transcript in each(name, data)] == [3, 5, 7]
    assert len({transcript.id for transcript in each(name, data)}) in (1, 3)


@formats
def test_branches_are_transcripts_and_repeat_no_request(name: str) -> None:
    other = [SYSTEM, *TALK[1:4], {"role": "assistant", "texts": ["Ask the pilot."], "calls": []}]
    titles = [{"role": "system", "texts": ["You write titles."]}, TALK[1], TALK[4]]
    data = b"".join(log(name, [*growing(TALK), other, titles, titles]))
    assert [texts(transcript)[-1] for transcript in found(data)] == [
        *("At one.", "Ask the pilot.", "At noon."),
    ]


@formats
def test_a_request_that_is_logged_twice_counts_once_unless_its_images_may_differ(
    name: str,
) -> None:
    seen = TALK[1] | {"image": True}
    assert len(found(b"".join(log(name, [TALK[:3], TALK[:3]])))) == 1
    assert len(found(b"".join(log(name, [TALK[:2], TALK[:3]])))) == 1
    assert len(found(b"".join(log(name, [[seen, TALK[4]], [seen, TALK[4]]])))) == 2
    assert len(found(b"".join(log(name, [[seen, *TALK[2:3]], [seen, *TALK[2:5]]])))) == 1


@formats
def test_traces_may_be_interleaved(name: str) -> None:
    ours, theirs = log(name, growing(TALK), "T"), log(name, growing(TALK[:5]), "U")
    mixed = [theirs[0], ours[0], ours[1], theirs[1], ours[2]]
    assert [(each.line, len(each.messages)) for each in found(b"".join(mixed))] == [(4, 5), (5, 7)]


@formats
def test_a_trace_with_several_requests_is_not_edited(name: str) -> None:
    lines = log(name, growing(TALK))
    alone = log(name, [TALK], "U")
    ran = run(b"".join(lines), [("truncate", {"max_tokens": 30})])
    assert [finding.code for finding in ran.findings] == ["not-editable"]
    assert "--each-request" in ran.findings[0].message
    ran = run(b"".join([*lines, *alone]), [("truncate", {"max_tokens": 30})])
    assert (ran.data or b"").count(b"\n") == 1  # all requests of the trace are left out
    assert b"truncated" in (ran.data or b"")
    assert run(b"".join(lines), [("trim", {})]).data == b"".join(lines)


def test_if_traces_share_a_line_all_of_them_are_left_out() -> None:
    spans = [
        opentelemetry.span(opentelemetry.attributes(talk), number, trace)
        for number, (talk, trace) in enumerate([(TALK[:3], "T"), (TALK[:3], "U"), (TALK, "T")])
    ]
    lines = [as_json(opentelemetry.export(*each), {}) + b"\n" for each in (spans[:2], spans[2:])]
    ran = run(b"".join(lines), [("truncate", {"max_tokens": 30})])
    assert (ran.data, [row.is_written for row in ran.rows]) == (None, [False, False])
    assert [finding.code for finding in ran.findings] == ["not-editable"]


@formats
def test_each_request_is_edited_on_the_command_line(
    name: str, ctxtrim: Run, tmp_path: Path
) -> None:
    path, out = tmp_path / "log.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(b"".join(log(name, growing(TALK))))
    refused = ctxtrim("trim", "--budget", "100", path)
    assert (refused.code, refused.out) == (1, b"")
    assert "3 records" in refused.err
    words = ("--each-request", "--budget", "100")
    ran = ctxtrim("trim", *words, "--archive", tmp_path / "a", path, "-o", out)
    assert ran.code == 0
    rows = json.loads(ctxtrim("count", *words, "--json", out).out)["transcripts"]
    assert len(rows) == 3
    assert all(row["tokens"] <= 100 for row in rows)
    assert ctxtrim("trim", *words, out).out == out.read_bytes()
    assert ctxtrim("restore", out, "--archive", tmp_path / "a").out == path.read_bytes()
    assert ctxtrim("trim", "--each-request", path).out == path.read_bytes()


def test_each_request_changes_nothing_in_other_formats(ctxtrim: Run) -> None:
    path = "fixtures/agent.jsonl"
    assert ctxtrim("count", "--each-request", path).out == ctxtrim("count", path).out


@pytest.mark.parametrize("path", FIXTURES, ids=str)
def test_a_fixture_is_recognized_and_stays_the_same(path: Path) -> None:
    data = path.read_bytes()
    (chunk,) = read(data)
    assert chunk.format is not None
    assert chunk.format.name == path.stem
    assert [len(each.messages) for each in chunk.transcripts][-1] in (3, 5)
    assert run(data).data == data


@formats
@settings(max_examples=examples(60))
@given(talk=conversations())
def test_the_messages_of_a_trace_are_counted_once(name: str, talk: Talk) -> None:
    """An independent count: the messages of the conversation up to the last answer."""
    talks = growing(talk)
    if not talks:
        return
    transcripts = found(b"".join(log(name, talks)))
    assert [len(each.messages) for each in transcripts] == [len(talks[-1])]
    assert [message.role for message in transcripts[0].messages] == [
        message["role"] for message in talks[-1]
    ]
    sizes = [len(each.messages) for each in each_of(name, talks)]
    assert sizes == [len(talk) for talk in talks]


def each_of(name: str, talks: list[Talk]) -> list[Transcript]:
    return each(name, b"".join(log(name, talks)))
