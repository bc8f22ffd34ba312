"""The job for every transcript of a run, and the result of each chunk."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ctxtrim.findings import Finding
from ctxtrim.formats.conversion import Conversion
from ctxtrim.formats.lines import Bytes
from ctxtrim.model import Transcript
from ctxtrim.pipeline import StagePipeline
from ctxtrim.reports.model import Row
from ctxtrim.reports.rows import PLAIN, Details
from ctxtrim.stage import Keeper, Memory, StageOriginals
from ctxtrim.stages.events import Event

if TYPE_CHECKING:
    from ctxtrim.summaries.summarizer import Summarizer

START = 200
"""Bytes of each chunk as read that a message may quote."""


class Job(Struct, frozen=True):
    """What to do with every transcript.

    `on_overflow`: leave out a transcript that does not fit (`fail`), keep it unchanged (`keep`), or
    write it as edited (`write`). `summarizer` writes summaries. `memory` stores them between runs,
    and new ones if it `remembers`. `on_event` is called for each compaction, with the path and the
    line of its transcript. `keeps_snapshots`: keep snapshot and progress lines of dropped
    messages. `is_quick`: an upper bound of the tokens is enough if it fits. `details`: what rows
    have besides the results. `shows_tracebacks`: the finding about a transcript that cannot be
    handled includes the traceback. `convert`: the output is a request for each transcript, not the
    edited bytes.
    """

    pipeline: StagePipeline
    on_overflow: Literal["fail", "keep", "write"] = "fail"
    keeps_snapshots: bool = False
    is_quick: bool = False
    details: Details = PLAIN
    shows_tracebacks: bool = False
    summarizer: "Summarizer | None" = None
    memory: Memory | None = None
    remembers: bool = True
    on_event: Callable[[str, int, Event], object] | None = None
    convert: Callable[[Transcript], Conversion] | None = None

    @property
    def edits(self) -> bool:
        """Whether stages may edit transcripts."""
        return any(not spec.stage.is_verdict for spec in self.pipeline.stages)


class Done(Struct, frozen=True):
    """The result of one chunk: bytes read, the output (None: left out), rows and findings.

    `is_lossy`: a transcript was left out, so the file must not be replaced. `originals`: the texts
    to store before the output is written, of a result that was made before its turn. `is_open`: the
    next result continues the line or document of this one.
    """

    read: bytes
    output: Bytes | None
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    is_changed: bool
    is_lossy: bool
    originals: StageOriginals = ()
    is_open: bool = False

    @property
    def data(self) -> bytes | None:
        """The bytes of the output; those of a large session are copied."""
        return None if self.output is None else bytes(self.output)

    def store(self, keeper: Keeper | None) -> None:
        """Let a keeper store the originals, in the turn of this result."""
        if keeper is not None:
            for originals, stage in self.originals:
                keeper.keep(originals, stage)
