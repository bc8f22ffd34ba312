"""Completion in shells: the words that may follow an option, and the scripts of the shells."""

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from ctxtrim.cli.typer_commands import COMPLETE, PROGRAM
from ctxtrim.config.option import Option
from ctxtrim.config.presets import PRESETS
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.errors import OutputError, UsageError
from ctxtrim.reports import REPORTS
from ctxtrim.text.names import option_name

SHELLS = ("bash", "zsh", "fish")


def completed(option: Option) -> Callable[[str], list[str]] | None:
    """The function from the start of a value to the values of an option, None without any."""
    words = _WORDS.get(option.name)
    if words is None and not option.choices:
        return None

    def complete(incomplete: str) -> list[str]:
        known = words() if words is not None else filter(None, option.choices or ())
        return [word for word in known if word.startswith(incomplete)]

    return complete


def completed_stages(incomplete: str) -> list[str]:
    """The stages and settings that `-s` accepts: `trim`, then `trim:strategy=` after a colon."""
    name, colon, rest = incomplete.partition(":")
    if not colon:
        return [stage for stage in SETTINGS if stage.startswith(incomplete)]
    given, comma, last = rest.rpartition(",")
    before = f"{name}:{given}{comma}"
    keys = (option_name(key) for key in SETTINGS.get(name, {}))
    return [f"{before}{key}=" for key in keys if key.startswith(last)]


def _models() -> Iterator[str]:
    from ctxtrim.tokens.models import known_models  # the registry, which few runs need

    return (model.name for model in known_models())


_WORDS: dict[str, Callable[[], Iterator[str]]] = {
    "model": _models,
    "preset": lambda: iter(PRESETS),
    "report_format": lambda: iter(REPORTS),
}
"""The values of options whose declaration has no choices."""


def script(shell: str) -> str:
    """The completion script of a shell; an empty name is the shell that runs the program."""
    typer_completion = import_module("typer.completion")
    return str(
        typer_completion.get_completion_script(
            prog_name=PROGRAM, complete_var=COMPLETE, shell=_known(shell)
        )
    )


def install(shell: str) -> str:
    """Install the completion script of a shell and return what was done."""
    typer_completion = import_module("typer.completion")
    try:
        name, path = typer_completion.install(
            shell=_known(shell), prog_name=PROGRAM, complete_var=COMPLETE
        )
    except OSError as error:
        raise OutputError(
            f"completion cannot be installed: {error}; use --show-completion"
        ) from error
    return f"{name} completion is installed in {path}; it works in new terminals"


def _known(shell: str) -> str:
    name = shell or _running() or Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        found = f"unknown shell {name}" if name else "the shell cannot be detected"
        raise UsageError(f"{found}; name one of {', '.join(SHELLS)}")
    return name


def _running() -> str:
    """The shell that runs the program, empty if it is unknown."""
    import shellingham

    try:
        return str(shellingham.detect_shell()[0])
    except (shellingham.ShellDetectionFailure, OSError):
        return ""
