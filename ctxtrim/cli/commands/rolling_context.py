"""`ctxtrim rolling-context`."""

from typing import Annotated

import typer

from ctxtrim.cli.exit_codes import Debug, concluded
from ctxtrim.cli.request import configuration
from ctxtrim.cli.terminal import print_text
from ctxtrim.config import WORDS, Config
from ctxtrim.errors import UsageError
from ctxtrim.io.outputs import write_to
from ctxtrim.text.escaping import clean

_STATUS = "status"


def rolling_context(
    wanted: Annotated[
        str | None,
        typer.Argument(metavar="[on|off|status]", help="Turn it on or off (also enable, disable), or only show it."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Whether `ctxtrim run` runs the configured pipeline where no stage and no preset is named.

    Without an argument it is turned over. What is stored counts more than configuration files, and less than
    CTXTRIM_ENABLED and --enabled.
    """
    raise typer.Exit(concluded(lambda: _rolling_context(wanted), shows_traceback=debug))


def _rolling_context(wanted: str | None) -> int:
    if wanted not in (None, _STATUS, *WORDS):
        raise UsageError(f"rolling-context {wanted}: expected on, off or status")
    config = configuration({})
    if wanted != _STATUS:
        is_on = WORDS[wanted] if wanted is not None else not _stored(config)
        sink = write_to(config.preference.path, makes_folders=True)
        sink.write(b"on\n" if is_on else b"off\n")
        sink.commit()
    print_text(f"{clean(_told(config))}\n")
    return 0


def _stored(config: Config) -> bool:
    """What is stored, else what files say."""
    return bool((config.preference.value or config.shared("enabled")).value)


def _told(config: Config) -> str:
    value, origin = config.enabled
    stored = config.preference.value
    state = f"rolling context is {'on' if value else 'off'}"
    if stored is not None and origin == stored.origin:
        return f"{state} (kept in {origin})"
    kept = "nothing is stored" if stored is None else f"what is stored says {'on' if stored.value else 'off'}"
    return f"{state} ({origin}; {kept} in {config.preference.path})"


_SINGLE = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
_SINGLE.command("rolling-context", context_settings={"max_content_width": 120})(rolling_context)
COMMAND = typer.main.get_command(_SINGLE)
