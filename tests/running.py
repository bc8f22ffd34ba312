"""Runs files through the library as the command line does, in memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from ctxtrim.binding import Binding
from ctxtrim.formats.chunks import Chunk, open_reading
from ctxtrim.pipeline import Spec
from ctxtrim.report import Row
from ctxtrim.specs import parse
from ctxtrim.stage import Finding
from ctxtrim.stream import Job, stream
from ctxtrim.tokenizers import tokenizer


@dataclass(frozen=True)
class Ran:
    """What became of a file: None where nothing was written."""

    data: bytes | None
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]


def run(data: bytes, stages: Sequence[tuple[str, dict[str, Any]]] = (), **binding: Any) -> Ran:
    """The file through some stages."""
    specs = tuple(Spec(name, parse(name, settings).settings) for name, settings in stages)
    job = Job(specs, Binding(tokenizer, **({"tokenizer": "chars4"} | binding)))
    done = list(stream("file", open_reading(BytesIO(data)), job))
    written = [one.data for one in done if one.data is not None]
    return Ran(
        b"".join(written) if written or not done else None,
        tuple(row for one in done for row in one.rows),
        tuple(finding for one in done for finding in one.findings),
    )


def read(data: bytes) -> list[Chunk]:
    """The chunks of a file."""
    return list(open_reading(BytesIO(data)).chunks)
