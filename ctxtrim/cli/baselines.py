"""The baseline file of `check`: read before a run, compared with it, and updated after it."""

import os
from collections.abc import Sequence
from functools import partial
from io import BytesIO
from pathlib import Path

from ctxtrim.config.option import Values
from ctxtrim.config.run_settings import given
from ctxtrim.errors import STDIN, InputError, UsageError, reason
from ctxtrim.findings import INCOMPLETE, Finding
from ctxtrim.io.compression import kind_of, unpacked
from ctxtrim.io.inputs import Input
from ctxtrim.io.outputs import write_file
from ctxtrim.io.paths import contents_of, mode_of, resolved, too_long
from ctxtrim.reports.baseline import Baseline, parse_entries
from ctxtrim.reports.report import Report
from ctxtrim.text.numbers import parse_tolerance, several

_MAX_SIZE = 1 << 28  # bytes, after decompression


def open_baseline(values: Values) -> Baseline | None:
    """The baseline that the options name; None without one."""
    file, updates = values["baseline"], bool(values["update_baseline"])
    tolerance = given(values, "tolerance")
    if not file:
        for name in ("update_baseline", "tolerance"):
            if values[name]:
                raise UsageError(f"--{name.replace('_', '-')} needs --baseline FILE")
        return None
    path = Path(file)
    try:
        entries = parse_entries(_content(path))
    except FileNotFoundError:
        if not updates:
            raise InputError(f"{path}: no such baseline; --update-baseline writes it") from None
        entries = []
    except OSError as error:
        text = f"{path}: cannot be read: {reason(error)}; name another file"
        raise InputError(text) from error
    except InputError as error:
        raise InputError(
            f"{path}: {error}; name another file, or delete it and use --update-baseline"
        ) from None
    name_of = partial(_name, resolved(path).parent)
    return Baseline(entries, name_of, parse_tolerance(tolerance), updates=updates)


def _content(path: Path) -> bytes:
    """The bytes of a file, decompressed."""
    data = contents_of(path, _MAX_SIZE)
    kind = kind_of(data)
    if kind is None:
        return data
    content = bytearray()
    for block in unpacked(BytesIO(data), kind):
        content += block
        if len(content) > _MAX_SIZE:
            raise too_long(_MAX_SIZE)
    return bytes(content)


def _name(folder: Path, path: str) -> str:
    """The path of an input relative to the folder of the baseline, with `/`."""
    return path if path == STDIN else Path(os.path.relpath(resolved(Path(path)), folder)).as_posix()


def finish_baseline(
    baseline: Baseline, file: Path, sources: Sequence[Input], report: Report
) -> None:
    """Note new and vanished transcripts; write the baseline if it is updated.

    A transcript has vanished if its input was read without it, or if its file no longer exists.
    Other entries of inputs that this run does not read stay, also those of standard input.
    """
    folder = resolved(file).parent
    failed = {path for path, finding in report.findings if finding.code in INCOMPLETE}
    read = {_name(folder, source.path) for source in sources if source.path not in failed}

    def is_gone(path: str) -> bool:
        return path in read or (path != STDIN and not mode_of(folder / path))

    vanished = baseline.vanished(is_gone)
    for entry in () if baseline.updates else vanished:
        text = f"{entry.place} is not in the inputs any more; --update-baseline removes it"
        report.note(str(file), Finding("vanished", "info", text))
    new = several(baseline.new, "new transcript")
    if baseline.updates:
        write_file(file, "".join(baseline.updated(vanished)).encode())
        report.note(
            str(file), Finding("baseline", "info", f"updated: {new}, {len(vanished):,} removed")
        )
    elif baseline.new:
        report.note(str(file), Finding("baseline", "info", f"{new}; --update-baseline adds them"))
