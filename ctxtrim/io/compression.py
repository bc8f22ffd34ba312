"""Compressed bytes: gzip and zstd, detected by the first bytes when read, by the file's name when
written.
"""

import io
import zlib
from collections.abc import Generator, Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from ctxtrim.errors import CtxtrimError, InputError, OutputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Compression = Literal["gzip", "zstd"]
SUFFIXES: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}
_SKIPPABLE = b"\x2a\x4d\x18"  # of a zstd frame that a reader skips, after one of 16 bytes
MAGIC: dict[bytes, Compression] = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    **{bytes([0x50 + number]) + _SKIPPABLE: "zstd" for number in range(16)},
}
"""The first bytes of compressed files."""
MAGIC_SIZE = max(map(len, MAGIC))
"""The number of first bytes that show whether a file is compressed."""
_BLOCK = 1 << 17  # bytes read at a time
_MAX_STEP = 1 << 20  # bytes that one step of zlib may give
# compressed bytes that one step of zstd takes; 4 of them give at most 128 KiB, so a step gives 8
# MiB
_FED = 1 << 8
_GZIP = 31  # zlib's code for a window of 32 kB inside gzip's frame


def kind_of(start: bytes) -> Compression | None:
    """The compression of a file that starts with these bytes, None if it is not compressed."""
    return next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), None)


def kind_named(path: PurePath) -> Compression | None:
    """The compression for a file name, None if there is none."""
    return SUFFIXES.get(path.suffix.lower())


def unpacked(file: BinaryIO, kind: Compression) -> Iterator[bytes]:
    """The decompressed bytes in blocks of at most 8 MiB; `InputError` if cut off or damaged."""
    try:
        is_whole = yield from _gunzipped(file) if kind == "gzip" else _unzstd(file)
    except _errors(kind) as error:
        raise InputError(
            f"the {kind} data in it is damaged ({detail_of(error)}); get the file again"
        ) from error
    if not is_whole:
        raise InputError(f"the {kind} data in it is cut off; get the whole file again")


def detail_of(error: Exception) -> str:
    """The message of a decompressor, without the code of the error."""
    text = str(error)
    return text.partition("while decompressing data: ")[2] or text


def _gunzipped(file: BinaryIO) -> Generator[bytes, None, bool]:
    """The blocks; returns whether the last frame has its end. Frames may be padded with zeros."""
    frame: Any = None
    while data := file.read(_BLOCK):
        while data := data if frame else data.lstrip(b"\0"):
            frame = frame or zlib.decompressobj(_GZIP)
            yield frame.decompress(data, _MAX_STEP)
            data = frame.unused_data if frame.eof else frame.unconsumed_tail
            frame = None if frame.eof else frame
    return frame is None


def _unzstd(file: BinaryIO) -> Generator[bytes, None, bool]:
    """The blocks; returns whether the last frame has its end.

    A zstd step has no limit for its output, so it gets little input.
    """
    zstandard = _zstandard(InputError)
    # the default refuses files of `zstd --long`; memory is used only as far as there are bytes
    decompressor = zstandard.ZstdDecompressor(max_window_size=1 << zstandard.WINDOWLOG_MAX)
    frame: Any = None
    while data := file.read(_BLOCK):
        start = 0
        while start < len(data):
            frame = frame or decompressor.decompressobj(read_across_frames=False)
            fed = data[start : start + _FED]
            yield frame.decompress(fed)
            start += len(fed) - len(frame.unused_data)
            frame = None if frame.eof else frame
    return frame is None


class Unpacked(io.RawIOBase):
    """A file of decompressed blocks, for a `BufferedReader` to read lines from."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Fill the buffer from the current block; 0 after the last one."""
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = memoryview(block)
        target = memoryview(buffer)
        size = min(len(target), len(self._rest))
        target[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _errors(kind: Compression) -> tuple[type[Exception], ...]:
    return (_zstandard(InputError).ZstdError,) if kind == "zstd" else (zlib.error,)


def packer(kind: Compression) -> Any:
    """A compressor with `compress` and `flush`. Its output depends on the input bytes alone."""
    if kind == "gzip":
        return zlib.compressobj(wbits=_GZIP)
    zstandard = _zstandard(OutputError, "writing zstd data")
    return zstandard.ZstdCompressor(write_checksum=True).compressobj()


def _zstandard(error: type[CtxtrimError], what: str = "it is compressed with zstd, which") -> Any:
    try:
        import zstandard
    except ImportError:
        raise error(f"{what} needs a package: pip install 'ctxtrim[zstd]'") from None
    return zstandard
