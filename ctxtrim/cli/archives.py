"""The archive that `restore`, `trace` and `archive` read."""

from pathlib import Path
from typing import TYPE_CHECKING

from ctxtrim.archive.locations import own_archive
from ctxtrim.cli.command_types import HelpfulOption, file_names
from ctxtrim.cli.configuration import configuration
from ctxtrim.errors import NoArchiveError

if TYPE_CHECKING:
    from ctxtrim.archive.index import Archive

_DEFAULT = "[default: the configured one, else in the user's data folder]"


def archive_option(text: str = "Read this archive.") -> HelpfulOption:
    """The option `--archive` of a command that reads an archive."""
    return HelpfulOption(
        ["--archive"], metavar="DIR", help=f"{text} {_DEFAULT}", shell_complete=file_names
    )


def open_archive(folder: str | None) -> "Archive":
    """The existing archive in a folder; None for the one to which runs without `--archive` write.

    Raises `NoArchiveError` if there is none.
    """
    from ctxtrim.archive.index import Archive

    if not folder:
        folder = configuration({}, reads_project=False).shared("archive").value
    path = Path(folder) if folder else own_archive()
    if path is None:
        raise NoArchiveError(
            "there is no home folder for the archive; set HOME, or name a folder with --archive"
        )
    return Archive(path, makes=False)


def open_archive_if_any(folder: str | None) -> "Archive | None":
    """Like `open_archive`; None if the folder is not named and has no archive yet."""
    try:
        return open_archive(folder)
    except NoArchiveError:
        if folder is not None:
            raise
        return None
