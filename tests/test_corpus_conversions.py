"""Conversions of real transcripts, if there is a corpus."""

from pathlib import Path

from conversions import converted, each_target, transcripts
from test_corpus import FILES, files, needs_corpus


@needs_corpus
@files(FILES)
@each_target
def test_every_transcript_becomes_a_valid_request(path: Path, to: str) -> None:
    for transcript in transcripts(path.read_bytes()):
        found = converted(transcript, to)
        has_turns = any(
            message.agent_visible and message.role != "system" and message.parts
            for message in transcript.messages
        )
        if found.text is None:
            assert not has_turns
        else:
            assert found.breaches == set()
