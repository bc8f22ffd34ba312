"""`ctxtrim sessions`: the sessions of agent programs on this machine."""

import os
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ctxtrim.cli.command_types import JSON, HelpfulCommand, HelpfulOption
from ctxtrim.cli.messages import print_data, print_text
from ctxtrim.cli.terminal import fitted
from ctxtrim.config.option import Option
from ctxtrim.errors import CtxtrimError
from ctxtrim.formats.choice import FormatChoice
from ctxtrim.io.clock import minute, utc
from ctxtrim.io.inputs import Input
from ctxtrim.io.sessions import PROGRAMS, Session, sessions
from ctxtrim.metering import Metering
from ctxtrim.reports.tables import Table
from ctxtrim.stream.files import FileReader
from ctxtrim.text.escaping import json_text
from ctxtrim.text.records import MAX_SIZE
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokens.tokenizer import MARKS, Exactness

_MAX_READ = 32_000_000  # bytes of sessions whose tokens are counted
_MOST = Option("most", "List the N newest sessions; 0 lists all. [default: 20]", 20, least=0)


def list_sessions(most: str, is_json: bool) -> int:
    """List the sessions of agent programs, the newest first: program, date, project, size, tokens.

    Programs: Claude Code, Codex, Gemini CLI, Qwen Code, pi and OpenHands, in their usual folders
    or in the folders that their environment variables name. Other commands read the newest session
    with --latest: the newest of the current project, else the newest of all.

    Tokens are those of count for the newest 32 MB of sessions. Older ones show their bytes as an
    upper bound (≤), or nothing if they are compressed. A narrow terminal leaves out the files;
    --json shows them.
    """
    number = _MOST.parse("--most", most)
    newest = sessions(os.environ)
    listed = list(_described(islice(newest, number or None)))
    if is_json:
        print_data(f"{json_text({'version': 1, 'sessions': listed}, indent=1)}\n")
        return 0
    if not newest:
        names = ", ".join(dict.fromkeys(program.name for program in PROGRAMS))
        print_text(f"no sessions of {names}\n")
        return 0
    columns = ("program", "date", ">bytes", ">tokens", "project", "file")
    rows = tuple(map(_cells, listed))
    table = Table("", columns, rows, optional=("file", "bytes"), whole=("date",))
    text = fitted(table)
    print_text(text if " file" in text.partition("\n")[0] else f"{text}--json shows the files\n")
    if more := len(newest) - len(listed):
        print_text(f"… and {more:,} older sessions; --most 0 lists all\n")
    return 0


def _described(newest: Iterable[Session]) -> Iterator[dict[str, Any]]:
    """Sessions as values. Tokens are counted until `_MAX_READ` bytes are read."""
    here, remaining = Path.cwd(), _MAX_READ
    metering = Metering(tokenizer)
    for session in newest:
        remaining -= session.size
        counted = _counted(session, metering) if remaining >= 0 else None
        # the size of a compressed file is no bound of its tokens
        bound = (None, None) if session.is_packed else (session.size, "bounded")
        tokens, exactness = counted or bound
        yield {
            "program": session.program.name,
            "time": utc(session.modified),
            "project": session.project(here),
            "bytes": session.size,
            "tokens": tokens,
            "exactness": exactness,
            "path": str(session.path),
        }


def _counted(session: Session, metering: Metering) -> tuple[int, Exactness] | None:
    """The tokens of a session and their exactness; None if it cannot be read."""
    path = str(session.path)
    tokens = 0
    labels: list[Exactness] = []
    try:
        with FileReader(FormatChoice(), MAX_SIZE).open(Input(path, path)) as content:
            for transcript in chain.from_iterable(chunk.transcripts for chunk in content.chunks):
                counter = metering.meter(transcript).counter
                tokens += counter.tokens(transcript)
                labels.append(counter.exactness(transcript))
    except CtxtrimError:
        return None
    if not labels:
        return None
    return tokens, labels[0] if len(set(labels)) == 1 else "estimated"


def _cells(session: dict[str, Any]) -> tuple[str, ...]:
    exactness = session["exactness"]
    return (
        session["program"],
        minute(session["time"]),
        f"{session['bytes']:,}",
        f"{MARKS[exactness]}{session['tokens']:,}" if exactness else "-",
        session["project"] or "-",
        session["path"],
    )


COMMAND = HelpfulCommand(
    "sessions",
    list_sessions,
    [
        HelpfulOption(
            ["-n", "--most"],
            default=str(_MOST.default),
            metavar=_MOST.shown_metavar,
            help=_MOST.help,
        ),
        JSON,
    ],
)
