"""Runs files through the library as the command line does, in memory."""

from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from typing import Any

from ctxtrim.config.stage_specs import SETTINGS, parse_stage
from ctxtrim.conversation.turns import shape
from ctxtrim.findings import LEFT_OUT, Finding
from ctxtrim.formats.chunks import Chunk
from ctxtrim.formats.reading import open_reading
from ctxtrim.metering import Metering
from ctxtrim.model import Transcript
from ctxtrim.pipeline import Spec, StagePipeline
from ctxtrim.reports.model import Row
from ctxtrim.stage import Original, StageOriginals
from ctxtrim.stream import done_chunks
from ctxtrim.stream.job import Job
from ctxtrim.tokenizers import tokenizer


@dataclass(frozen=True)
class Ran:
    """The result of a run. `data` is None if nothing was written; `kept` holds the originals of
    replaced texts.

    `findings` include findings about the file and about transcripts with internal errors.
    """

    data: bytes | None
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    kept: dict[str, bytes]


@dataclass(frozen=True)
class Shelf:
    """Keeps originals in memory, by their SHA-256."""

    kept: dict[str, bytes] = field(default_factory=dict)

    def keep(self, originals: Sequence[Original], stage: str) -> dict[int, str]:
        texts = {
            original.index: original.text.encode("utf-8", "surrogatepass") for original in originals
        }
        names = {index: sha256(text).hexdigest() for index, text in texts.items()}
        self.kept.update((names[index], text) for index, text in texts.items())
        return names

    def path_of(self, name: str) -> str:
        return f"/shelf/{name}"

    def take(self) -> StageOriginals:
        """None: the originals stay on the shelf."""
        return ()


def parse(text: str, settings: Mapping[str, Any]) -> Spec:
    """The stage of one `-s`, with some settings, which may be texts as on a command line."""
    name, given = parse_stage(text, text)
    assert settings.keys() <= SETTINGS[name].keys(), settings.keys() - SETTINGS[name].keys()
    defaults = {key: option.default for key, option in SETTINGS[name].items()}
    options = {
        key: option.parse(key, settings[key])
        for key, option in SETTINGS[name].items()
        if settings.get(key) not in (None, [])
    }
    return Spec(name, defaults | options | given)


def run(data: bytes, stages: Sequence[tuple[str, dict[str, Any]]] = (), **metering: Any) -> Ran:
    """The file through some stages."""
    specs = tuple(Spec(name, parse(name, settings).settings) for name, settings in stages)
    job = Job(StagePipeline(specs, Metering(tokenizer, **({"tokenizer": "chars4"} | metering))))
    shelf = Shelf()
    done = list(done_chunks("file", open_reading(BytesIO(data)).chunks, job, shelf))
    written = [outcome.data for outcome in done if outcome.data is not None]
    return Ran(
        b"".join(written) if written or not done else None,
        tuple(row for outcome in done for row in outcome.rows),
        tuple(
            finding
            for outcome in done
            for finding in (*outcome.findings, *_unhandled(outcome.rows))
        ),
        shelf.kept,
    )


def _unhandled(rows: Sequence[Row]) -> list[Finding]:
    return [finding for row in rows for finding in row.findings if finding.code in LEFT_OUT]


def read(data: bytes) -> list[Chunk]:
    """The chunks of a file."""
    return list(open_reading(BytesIO(data)).chunks)


def unpaired(transcript: Transcript) -> Tally[str]:
    """Results without calls and calls without results among the visible messages."""
    turn_shape = shape(transcript.messages)
    results = Tally(
        "result"
        for position, message in enumerate(transcript.messages)
        if message.role == "tool" and message.agent_visible and turn_shape.call[position] is None
    )
    return results + Tally("call" for _ in turn_shape.unanswered)
