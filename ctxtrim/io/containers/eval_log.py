"""inspect logs (`.eval`): a zip with one JSON document for each sample.

::

    _journal/start.json            written first: the model is in `eval.model`
    samples/ID_epoch_N.json        a sample; written while the evaluation runs
    header.json                    written last: `eval` again, and the results

Each sample becomes a line without white space between its values. A sample whose own `output.model`
is empty gets the `eval.model` of the log as its first member. Members may be compressed with
deflate or zstd. Source: `src/inspect_ai/log/_recorders/eval.py` and
`src/inspect_ai/log/_recorders/chunked/format.py` of UKGovernmentBEIS/inspect_ai.
"""

import re
import zlib
from collections.abc import Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import BinaryIO, cast
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import msgspec

from ctxtrim.errors import InputError, too_large
from ctxtrim.io.compression import detail_of, unpacked
from ctxtrim.text.records import dump, one_line

_SAMPLE = re.compile(r"samples/.+_epoch_\d+\.json")
_CHUNKED = re.compile(r"samples/.+_epoch_\d+/sample\.json")
_HEADERS = ("header.json", "_journal/start.json")
_ZSTD = 93  # the compression method, which Python reads since 3.14
_ENCRYPTED = 1  # the flag of a member
_BLOCK = 1 << 20  # bytes that are decompressed at a time


class _Named(msgspec.Struct):
    """An object that may name a model: the output of a sample, or the `eval` of a header."""

    model: str | None = None


class _Sample(msgspec.Struct):
    output: _Named | None = None


class _Header(msgspec.Struct):
    eval: _Named | None = None


def lines(path: Path, max_size: int) -> Iterator[bytes]:
    """The samples of a log in the order in which they were written, as JSON lines.

    The whole log is checked first: nothing of a bad file is used.
    """
    try:
        with ZipFile(path) as archive:
            members = {member.filename: member for member in archive.infolist()}
            samples = _samples(members)
            for number, sample in enumerate(samples, 1):
                for _ in _blocks(archive, sample, max_size, number):
                    pass
            header = next((members[name] for name in _HEADERS if name in members), None)
            start = _start(b"" if header is None else _content(archive, header, max_size, None))
            for number, sample in enumerate(samples, 1):
                yield _line(_content(archive, sample, max_size, number), start)
    except (BadZipFile, zlib.error, EOFError) as error:
        raise InputError(
            f"a zip archive that is damaged or cut off ({_lower(error)}); get the whole file again"
        ) from error
    except NotImplementedError as error:
        raise InputError(f"a zip archive that cannot be read ({_lower(error)})") from error


def _samples(members: Mapping[str, ZipInfo]) -> list[ZipInfo]:
    """The members that are samples; an `InputError` if there are none."""
    samples = [member for name, member in members.items() if _SAMPLE.fullmatch(name)]
    if samples:
        return samples
    if any(map(_CHUNKED.fullmatch, members)):
        raise InputError(
            "an inspect log with its samples in pieces (log version 3), which is not supported; "
            "convert it with inspect"
        )
    if any(name in members for name in _HEADERS):
        raise InputError("no transcript found: the inspect log has no samples")
    raise InputError("no transcript found: a zip archive: unpack it first")


def _blocks(
    archive: ZipFile, member: ZipInfo, max_size: int, number: int | None
) -> Iterator[bytes]:
    """The decompressed blocks of a member; an `InputError` if it has more than `max_size` bytes."""
    if member.flag_bits & _ENCRYPTED:
        raise InputError(f"{member.filename} in it is encrypted; write the log without a password")
    size = 0
    is_zstd = member.compress_type == _ZSTD
    for block in _unzstd(archive, member) if is_zstd else _inflated(archive, member):
        size += len(block)
        if size > max_size:
            raise InputError(too_large("the sample", max_size), number)
        yield block


def _inflated(archive: ZipFile, member: ZipInfo) -> Iterator[bytes]:
    with archive.open(member) as file:
        while block := file.read(_BLOCK):
            yield block


def _unzstd(archive: ZipFile, member: ZipInfo) -> Iterator[bytes]:
    """The blocks of a member that zstd compressed: it is opened as if it were stored."""
    stored = copy(member)
    stored.compress_type, stored.file_size = ZIP_STORED, member.compress_size
    del stored.CRC  # that of the decompressed bytes, checked here
    check = 0
    with archive.open(stored) as file:
        for block in unpacked(cast(BinaryIO, file), "zstd"):
            check = zlib.crc32(block, check)
            yield block
    if check != member.CRC:
        raise BadZipFile(f"Bad CRC-32 for file {member.filename!r}")


def _content(archive: ZipFile, member: ZipInfo, max_size: int, number: int | None) -> bytes:
    return b"".join(_blocks(archive, member, max_size, number))


def _start(header: bytes) -> bytes:
    """The member that names the model of a log, without the brace before it; empty if unknown."""
    try:
        named = msgspec.json.decode(header, type=_Header).eval
    except msgspec.DecodeError:
        return b""
    return f'"eval":{{"model":{dump(named.model)}}}'.encode() if named and named.model else b""


def _line(sample: bytes, start: bytes) -> bytes:
    """A sample as a line, which starts with the model of the log if the sample has none."""
    line = one_line(sample)
    if start and line.startswith(b'{"') and not _has_model(sample):
        line = b"{" + start + b"," + line[1:]
    return line + b"\n"


def _has_model(sample: bytes) -> bool:
    try:
        output = msgspec.json.decode(sample, type=_Sample).output
    except msgspec.DecodeError:  # whoever reads the line reports it
        return True
    return output is not None and bool(output.model)


def _lower(error: Exception) -> str:
    text = detail_of(error)
    return text[:1].lower() + text[1:]
