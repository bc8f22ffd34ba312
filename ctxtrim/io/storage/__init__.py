"""Sessions of many files, each read and written as one document."""

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from ctxtrim.io.paths import mode_of

if TYPE_CHECKING:
    from ctxtrim.io.storage.session import StoredSession


def stored_session(path: Path) -> "StoredSession | None":
    """The session of many files that a path names; None for any other path.

    The path of a session of opencode is a file; those of OpenHands and Strands Agents are folders.
    A folder that cannot be searched is none: who walks or reads it reports the reason.
    """
    mode = mode_of(path)
    if stat.S_ISDIR(mode):
        from ctxtrim.io.storage.openhands import openhands_session
        from ctxtrim.io.storage.strands import strands_session

        try:
            return openhands_session(path) or strands_session(path)
        except OSError:
            return None
    if (
        stat.S_ISREG(mode)
        and path.suffix == ".json"
        and path.absolute().parent.parent.name == "session"
    ):
        from ctxtrim.io.storage.opencode import opencode_session

        return opencode_session(path)
    return None
