"""A list of any length in little memory: the last values in memory, the others in a
temporary file.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import IO, Generic, Protocol, TypeVar

from ctxtrim.errors import OutputError, os_errors_as

T = TypeVar("T")
_MAX_BATCH = 1 << 15  # the size of the values in memory


class Store(Protocol[T]):
    """A list, or a `Spool`."""

    def append(self, value: T, /) -> None:
        """Add a value."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[T]: ...


class Spool(Generic[T]):
    """Values in the order in which they were added; they can be read several times.

    `size` is the size of a value, in a unit of which 32,768 may be in memory. The temporary file
    has no name, so it never outlives the process.
    """

    def __init__(self, size: Callable[[T], int]) -> None:
        self._size = size
        self._batch: list[T] = []
        self._batch_size = 0
        self._stored = 0  # values in the file
        self._end = 0  # of the file, after its last whole batch
        self._file: IO[bytes] | None = None

    def append(self, value: T) -> None:
        """Add a value; an `OutputError` if the temporary file cannot be written."""
        self._batch.append(value)
        self._batch_size += self._size(value)
        if self._batch_size >= _MAX_BATCH:
            self._store()

    def extend(self, values: Iterable[T]) -> None:
        """Add some values, as `append` does."""
        for value in values:
            self.append(value)

    def __len__(self) -> int:
        return self._stored + len(self._batch)

    def __iter__(self) -> Iterator[T]:
        if self._file is not None:
            yield from self._read_back(self._file)
        yield from self._batch

    def _read_back(self, file: IO[bytes]) -> Iterator[T]:
        """The values in the temporary file."""
        import pickle  # for long reports only

        position = 0
        while position < self._end:
            file.seek(position)
            batch: list[T] = pickle.load(file)
            position = file.tell()
            yield from batch

    def close(self) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            self._file.close()

    def _store(self) -> None:
        """Move the values in memory to the file.

        A batch of values that share objects takes little space.
        """
        with os_errors_as(OutputError, "the temporary file of the report cannot be written"):
            import pickle  # for reports that do not fit in memory only
            import tempfile

            self._file = self._file or tempfile.TemporaryFile()  # noqa: SIM115 (`close` closes it)
            self._file.seek(self._end)
            pickle.dump(self._batch, self._file, pickle.HIGHEST_PROTOCOL)
            self._file.flush()
            self._end = self._file.tell()
        self._stored += len(self._batch)
        self._batch, self._batch_size = [], 0
