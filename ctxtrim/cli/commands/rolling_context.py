"""`ctxtrim rolling-context`."""

from ctxtrim.cli.command_types import HelpfulArgument, HelpfulCommand
from ctxtrim.cli.configuration import configuration
from ctxtrim.cli.messages import print_text
from ctxtrim.config.preference import WORDS
from ctxtrim.config.resolution import Config
from ctxtrim.errors import OutputError, UsageError
from ctxtrim.io.outputs import write_file
from ctxtrim.text.escaping import clean

_STATUS = "status"


def rolling_context(word: str | None) -> int:
    """Turn the configured pipeline on or off. `ctxtrim run` runs it if no stage and no preset is
    named.

    Without an argument, toggle it. The stored preference takes precedence over configuration
    files, but not over CTXTRIM_ENABLED and --enabled.
    """
    if word not in (None, _STATUS, *WORDS):
        raise UsageError(f"rolling-context {word}: expected on, off or status")
    config = configuration({})
    if word != _STATUS:
        path = config.preference.path
        if path is None:
            raise OutputError(
                "there is no home folder for the preference; set HOME, or use --enabled"
            )
        is_on = WORDS[word] if word is not None else not _stored(config)
        write_file(path, b"on\n" if is_on else b"off\n", makes_folders=True)
    print_text(f"{clean(_description(config))}\n")
    return 0


def _stored(config: Config) -> bool:
    """The stored preference, else the value in configuration files."""
    return bool((config.preference.value or config.shared("enabled")).value)


def _description(config: Config) -> str:
    value, origin = config.enabled
    stored = config.preference.value
    state = f"rolling context is {'on' if value else 'off'}"
    if stored is not None and origin == stored.origin:
        return f"{state} (stored in {origin})"
    if config.preference.path is None:
        return f"{state} (origin: {origin}; there is no home folder for a preference)"
    preference = "no preference"
    if stored is not None:
        preference = f"the preference {'on' if stored.value else 'off'}"
    return f"{state} (origin: {origin}; {preference} is stored in {config.preference.path})"


COMMAND = HelpfulCommand(
    "rolling-context",
    rolling_context,
    [
        HelpfulArgument(
            "word",
            "on|off|status",
            "Turn the pipeline on or off (also enable, disable), or show the status.",
            required=False,
        )
    ],
)
