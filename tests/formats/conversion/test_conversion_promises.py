"""The promises of a conversion, over generated conversations and fixtures in every format."""

import json
import re
from collections import Counter as Tally
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES
from conversions import Converted, converted, each_target, parts_of, transcripts
from hypothesis import given
from strategies import CONVERSATIONS, as_json, conversations, files, styles

from ctxtrim.formats.conversion.dialogue import OPENING
from ctxtrim.formats.lines import SourceValues
from ctxtrim.model import Part, Span, Transcript
from ctxtrim.stages.repair import ANSWER
from ctxtrim.text.records import dump

LESS_TEXT = {"lost content block", "lost user's call", "lost message of an unknown role"}
MOVES = {"changed order", "changed result", "changed system message", "changed first message"}
SURROGATES = re.compile("[\ud800-\udfff]")


@each_target
@given(files())
def test_every_transcript_becomes_a_valid_request(to: str, data: bytes) -> None:
    for found in conversions(data, to):
        assert found.breaches == set()


@each_target
@given(files())
def test_a_request_has_the_texts_of_its_transcript(to: str, data: bytes) -> None:
    for found in conversions(data, to):
        kinds = found.kinds.keys()
        if kinds.isdisjoint(LESS_TEXT):
            before, after = words(found.source), words(found.request)
            assert Tally(before) == Tally(after)
            assert before == after or not kinds.isdisjoint(MOVES)


@each_target
@given(files())
def test_calls_and_attachments_are_kept_or_listed(to: str, data: bytes) -> None:
    for found in conversions(data, to):
        calls = [len(parts_of(each, "tool_call")) for each in (found.source, found.request)]
        assert calls[0] == calls[1] + found.kinds["lost user's call"]
        ids = [call.call_id for call in parts_of(found.request, "tool_call")]
        assert all(ids)
        assert len(set(ids)) == len(ids)
        media = [
            sum(part.media is not None for part in parts_of(each, "attachment"))
            for each in (found.source, found.request)
        ]
        lost = sum(found.kinds[f"lost {what}"] for what in ("image", "document", "file", "sound"))
        assert media[0] == media[1] + lost or "lost user's call" in found.kinds


@pytest.mark.parametrize("path", sorted(FIXTURES.iterdir()), ids=lambda path: path.name)
@each_target
def test_every_fixture_becomes_a_valid_request(to: str, path: Path) -> None:
    found = conversions(path.read_bytes(), to)
    assert found
    for each in found:
        assert each.breaches == set()


def conversions(data: bytes, to: str) -> list[Converted]:
    """The transcripts of a file that a target can hold, converted."""
    found = [converted(transcript, to) for transcript in transcripts(data)]
    return [each for each in found if each.text is not None]


def words(transcript: Transcript) -> list[str]:
    """The words of the texts and results, without those that a conversion inserts."""
    kept = (text for text in texts_of(transcript) if text not in (OPENING, ANSWER))
    return SURROGATES.sub("\ufffd", " ".join(kept)).split()


def texts_of(transcript: Transcript) -> Iterator[str]:
    """The texts and results; a result that is an object with more than a text is its JSON."""
    values = SourceValues(transcript.source.lines)
    seen: set[Span] = set()
    for part in parts_of(transcript, "text", "tool_result"):
        value = values.at(part.source) if part.source is not None else None
        if not isinstance(value, dict) or is_text(value):
            yield part.spelled
        elif part.source is not None and part.source not in seen:
            seen.add(part.source)
            yield dump(value)


def is_text(response: dict[str, Any]) -> bool:
    """Whether a response of Gemini is only a text."""
    return list(response) in (["output"], ["error"]) and all(
        isinstance(value, str) for value in response.values()
    )


@pytest.mark.parametrize("to", ["openai-chat", "anthropic"])
@given(files())
def test_a_request_converted_to_its_own_api_does_not_change(to: str, data: bytes) -> None:
    for found in conversions(data, to):
        again = converted(found.request, to)
        assert again.value == found.value
        assert again.findings == ()


@pytest.mark.parametrize("to", ["openai-chat", "anthropic"])
@given(conversations(), styles())
def test_a_round_trip_without_findings_has_equal_messages(
    to: str, talk: list[dict[str, Any]], style: dict[str, Any]
) -> None:
    for found in conversions(as_json(CONVERSATIONS[to](talk, 0), style), to):
        if not found.findings:
            assert merged(found.request) == merged(found.source)


def merged(transcript: Transcript) -> list[tuple[str, list[Part]]]:
    """The parts of adjacent messages of one role, without empty ones."""
    found: list[tuple[str, list[Part]]] = []
    for message in transcript.messages:
        parts = [part for part in message.parts if part.text or part.media]
        if found and found[-1][0] == message.role:
            found[-1][1].extend(parts)
        elif parts:
            found.append((message.role, parts))
    return found


def test_json_is_strict() -> None:
    data = b'{"messages": [{"role": "user", "content": "\\ud800 a"}], "tools": [NaN]}\n'
    (found,) = conversions(data, "anthropic")
    assert json.loads(found.text or "")["messages"][0]["content"] == "\ufffd a"
    assert found.kinds == {"changed character": 1, "lost number": 1}
