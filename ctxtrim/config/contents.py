"""The bytes of a configuration file."""

import errno
from pathlib import Path

from ctxtrim.errors import InputError, reason
from ctxtrim.io.paths import MISSING, bounded_contents

_MAX_SIZE = 1 << 24  # bytes; a larger file is not a configuration


def contents(path: Path, *, is_named: bool) -> bytes | None:
    """The bytes of the file at a path; None if there is no file.

    A file that the user names must exist and may be a pipe. Any other file must be a regular file,
    because reading a pipe or a device in a stranger's folder may never end. Raises `InputError` if
    the file cannot be read.
    """
    try:
        if not is_named and path.exists() and not path.is_file():
            raise InputError(
                f"{path}: cannot be read: it is not a regular file; remove it or rename it"
            )
        return bounded_contents(path, _MAX_SIZE)
    except OSError as error:
        if isinstance(error, MISSING) and not is_named:
            return None
        advice = "; name another file" if error.errno == errno.EFBIG else ""
        raise InputError(f"{path}: cannot be read: {reason(error)}{advice}") from error
