"""Events of compactions (S3-12)."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from builders import conversation, says, user
from conftest import Run
from harness import parse, read
from test_compact import talk

from ctxtrim.errors import ArchiveError, SummaryError
from ctxtrim.metering import Metering
from ctxtrim.pipeline import Services, StagePipeline
from ctxtrim.stage import Original
from ctxtrim.stages.events import Event
from ctxtrim.summaries.summarizer import Reply
from ctxtrim.tokenizers import tokenizer


def emitted_events(messages: list[dict[str, Any]], **more: Any) -> list[Event]:
    (transcript,) = read(conversation(messages))[0].transcripts
    events: list[Event] = []
    try:
        pipeline = StagePipeline((parse("compact", {}),), Metering(tokenizer, None, "chars4"))
        pipeline.run(transcript, Services(on_event=events.append, **more))
    except ArchiveError as error:
        assert [event.error for event in events] == [None, str(error)]
    return events


def test_s3_12_a_compaction_emits_start_and_end_events() -> None:
    start, end = emitted_events(talk(30))
    assert (start.event, end.event) == ("start", "end")
    assert start.trigger == end.trigger
    assert "tokens >= the limit of 8,000" in start.trigger
    assert (start.messages_before, start.tokens_after, start.messages_after, start.error) == (
        69,
        None,
        None,
        None,
    )
    assert (end.tokens_before, end.messages_before, end.error) == (start.tokens_before, 69, None)
    assert end.tokens_after is not None
    assert end.tokens_after < start.tokens_before
    assert end.messages_after is not None
    assert end.messages_after < 69


def test_s3_12_no_event_is_emitted_unless_compaction_is_due() -> None:
    assert emitted_events([user("hi"), says("ok")]) == []
    assert [
        event.trigger for event in emitted_events(talk(3), cause="context length exceeded")
    ] == ["context length exceeded"] * 2


class Broken:
    """A summarizer that never answers."""

    name = "broken"

    def summarize(self, prompt: str, max_tokens: int) -> Reply:
        raise SummaryError("no answer in time")


class Full:
    """A keeper on a disk that is full."""

    def keep(self, originals: Sequence[Original], stage: str) -> dict[int, str]:
        raise ArchiveError("no space left")

    def path_of(self, name: str) -> str:
        return name


def test_s3_12_the_end_event_holds_the_error() -> None:
    _, end = emitted_events(talk(30), summarizer=Broken())
    assert "broken: no answer in time" in (end.error or "")
    assert end.tokens_after is not None
    _, end = emitted_events(talk(30), keeper=Full())
    assert (end.error, end.tokens_after) == ("no space left", None)


def test_s3_12_events_are_written_as_lines_to_a_file(ctxtrim: Run, tmp_path: Path) -> None:
    events, source = tmp_path / "events.jsonl", tmp_path / "talk.jsonl"
    source.write_bytes(conversation(talk(3)) + conversation(talk(40)))
    ran = ctxtrim(
        "run",
        "-s",
        "compact",
        "--tokenizer",
        "chars4",
        "--events",
        events,
        source,
        "-o",
        tmp_path / "out.jsonl",
    )
    assert ran.code == 0, ran.err
    start, end = map(json.loads, events.read_text().splitlines())
    assert (start["event"], end["event"]) == ("start", "end")
    assert (start["path"], start["line"]) == (str(source), 2)
    assert start["before"] == end["before"]
    assert start["before"]["messages"] == 89
    assert end["after"]["tokens"] < end["before"]["tokens"]
    assert "error" not in end


def test_s3_12_a_dry_run_writes_no_events(ctxtrim: Run, tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    words = ("run", "-s", "compact", "--tokenizer", "chars4", "--events", events)
    assert ctxtrim(*words, "--dry-run", stdin=conversation(talk(40))).code == 0
    assert not events.exists()
    assert ctxtrim(*words, stdin=conversation(talk(40))).code == 0
    assert events.exists()


def test_s3_12_an_unwritable_events_file_is_reported_before_any_edit(
    ctxtrim: Run, tmp_path: Path
) -> None:
    source = tmp_path / "talk.jsonl"
    source.write_bytes(conversation(talk(40)))
    ran = ctxtrim(
        "run", "-s", "compact", "--events", tmp_path / "no" / "events", "--in-place", source
    )
    assert ran.code == 1
    assert str(tmp_path / "no" / "events") in ran.err
    assert source.read_bytes() == conversation(talk(40))


@pytest.mark.parametrize("command", ["count", "check"])
def test_s3_12_commands_without_output_lack_the_events_option(ctxtrim: Run, command: str) -> None:
    assert ctxtrim(command, "--events", "x").code == 2
