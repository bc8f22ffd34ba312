"""Compressed bytes: gzip and zstd, told by their first bytes where they are read, by the file's name where written."""

import zlib
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Any, BinaryIO, Literal

from ctxtrim.errors import CtxtrimError, InputError, OutputError

Kind = Literal["gzip", "zstd"]
SUFFIXES: dict[str, Kind] = {".gz": "gzip", ".zst": "zstd"}
_MAGIC: dict[bytes, Kind] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_BLOCK = 1 << 17  # bytes read at a time
_GZIP = 31  # zlib's code for a window of 32 kB inside gzip's frame


def kind_of(start: bytes) -> Kind | None:
    """How a file that starts with these bytes is compressed."""
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)


def kind_named(path: PurePath) -> Kind | None:
    """How a file of this name is to be compressed."""
    return SUFFIXES.get(path.suffix.lower())


def unpacked(file: BinaryIO, kind: Kind) -> Iterator[bytes]:
    """The bytes inside, block by block, of all frames; an `InputError` where they are cut off or damaged."""
    fresh = _unpacker(kind)
    frame: Any = None
    try:
        while data := file.read(_BLOCK):
            while data:
                frame = frame or fresh()
                if block := frame.decompress(data):
                    yield block
                data = frame.unused_data if frame.eof else b""
                if frame.eof:
                    frame = None
    except _errors(kind) as error:
        raise InputError(f"the {kind} data in it is damaged ({error}); get the file again") from error
    if frame is not None:
        raise InputError(f"the {kind} data in it is cut off; get the whole file again")


def lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The lines in some blocks, which end at `\\n` only."""
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        yield from (line + b"\n" for line in whole)
    if rest:
        yield rest


def _unpacker(kind: Kind) -> Callable[[], Any]:
    if kind == "gzip":
        return lambda: zlib.decompressobj(_GZIP)
    return lambda: _zstandard(InputError).ZstdDecompressor().decompressobj(read_across_frames=False)


def _errors(kind: Kind) -> tuple[type[Exception], ...]:
    return (_zstandard(InputError).ZstdError,) if kind == "zstd" else (zlib.error,)


def packer(kind: Kind) -> Any:
    """What compresses bytes, with `compress` and `flush`; the same bytes give the same bytes."""
    if kind == "gzip":
        return zlib.compressobj(wbits=_GZIP)
    return _zstandard(OutputError).ZstdCompressor(write_checksum=True).compressobj()


def _zstandard(error: type[CtxtrimError]) -> Any:
    try:
        import zstandard
    except ImportError:
        raise error("it is compressed with zstd, which needs a package: pip install 'ctxtrim[zstd]'") from None
    return zstandard
