"""Conversions as tests see them: a transcript, and the transcript that its request reads as."""

import json
from collections import Counter as Tally
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest
from harness import read

from ctxtrim.conversation.turns import shape
from ctxtrim.findings import Finding
from ctxtrim.formats import FORMATS
from ctxtrim.formats.conversion import TARGETS
from ctxtrim.formats.conversion.request import convert
from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Part, Transcript
from ctxtrim.stages.structure import PROFILES, findings

READ = tuple(name for name in TARGETS if name in FORMATS)
"""The targets whose requests a format reads."""
each_target = pytest.mark.parametrize("to", READ)
PROFILE_OF = {
    "openai-chat": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "openai-responses": "openai-responses",
}
"""The structure rules of each of them."""


def transcripts(data: bytes) -> list[Transcript]:
    """All transcripts of a file that have messages."""
    return [found for chunk in read(data) for found in chunk.transcripts if found.messages]


def transcript_of(value: Any) -> Transcript:
    """The transcript in a JSON value."""
    (transcript,) = transcripts(json.dumps(value).encode() + b"\n")
    return transcript


@dataclass(frozen=True)
class Converted:
    """A transcript converted to a target; `text` is None if it cannot be."""

    source: Transcript
    to: str
    text: str | None
    findings: tuple[Finding, ...]

    @cached_property
    def value(self) -> Any:
        """The request as JSON."""
        return json.loads(self.text or "null")

    @cached_property
    def request(self) -> Transcript:
        """The request as a transcript."""
        data = (self.text or "").encode() + b"\n"
        (chunk,) = open_reading([data], (FORMATS[self.to],)).chunks
        (request,) = chunk.transcripts
        return request

    @property
    def kinds(self) -> Tally[str]:
        """The losses and changes by kind."""
        return Tally(f"{finding.code} {finding.kind}" for finding in self.findings)

    @property
    def breaches(self) -> set[str]:
        """The codes of the rules for requests that the request breaks.

        A recording that ends with an answer still does.
        """
        rules, request = PROFILES[PROFILE_OF[self.to]], self.request
        found = findings(rules, request, shape(request.messages), is_request=True)
        return {finding.code for finding in found} - {"ends-with-assistant"}


def converted(source: Transcript, to: str, **options: Any) -> Converted:
    """A transcript converted to a target."""
    found = convert(source, to, **options)
    return Converted(source, to, found.text, found.findings)


def parts_of(transcript: Transcript, *kinds: str) -> list[Part]:
    """The parts of some kinds that the model reads."""
    return [
        part
        for message in transcript.messages
        if message.agent_visible
        for part in message.parts
        if part.kind in kinds
    ]
