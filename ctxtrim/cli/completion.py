"""Completion in shells: the words that may follow an option, and the scripts of the shells."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from ctxtrim.cli.command_types import COMPLETE, PROGRAM
from ctxtrim.config.option import Option
from ctxtrim.config.presets import PRESETS
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.errors import OutputError, UsageError, reason
from ctxtrim.io.paths import expanded
from ctxtrim.reports import REPORTS
from ctxtrim.text.names import option_name

_SHELLS: dict[str, type[ShellComplete]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}
_PLACES = {
    "bash": ".bash_completions/ctxtrim.sh",
    "zsh": ".zfunc/_ctxtrim",
    "fish": ".config/fish/completions/ctxtrim.fish",
}
"""The file of the completion script of each shell, in the home folder."""
_STARTS = {
    "bash": (".bashrc", "source ~/.bash_completions/ctxtrim.sh"),
    "zsh": (".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
}
"""The file that a shell reads at its start, and the line that loads the script; fish needs none."""


def completed(option: Option, incomplete: str) -> list[str]:
    """The values of an option that begin with a text."""
    words = _WORDS.get(option.name)
    known = words() if words is not None else filter(None, option.choices or ())
    return [word for word in known if word.startswith(incomplete)]


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


def script(command: click.Command, shell: str) -> str:
    """The completion script of a shell; an empty name is the shell of the user."""
    completion = _SHELLS[_known(shell)](command, {}, PROGRAM, COMPLETE)
    return (completion.source_template % completion.source_vars()).strip()


def install(command: click.Command, shell: str) -> str:
    """Install the completion script of a shell and return what was done."""
    name = _known(shell)
    home = expanded("~")
    if home is None:
        raise OutputError(
            "completion cannot be installed: there is no home folder; set HOME, or use "
            "--show-completion"
        )
    path = home / _PLACES[name]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{script(command, name)}\n", encoding="utf-8")
        if name in _STARTS:
            file, line = _STARTS[name]
            _add_line(home / file, line)
    except OSError as error:
        raise OutputError(
            f"{error.filename or path}: completion cannot be installed: {reason(error)}; "
            "use --show-completion"
        ) from error
    return f"{name} completion is installed in {path}; it works in new terminals"


def _add_line(path: Path, line: str) -> None:
    """Append a line to a file, unless the file has it."""
    before = path.read_bytes() if path.exists() else b""
    if line.encode() not in before.splitlines():
        with path.open("ab") as file:
            file.write(f"\n{line}\n".encode())


def _known(shell: str) -> str:
    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in _SHELLS:
        problem = f"unknown shell {name}" if name else "the shell cannot be detected"
        raise UsageError(f"{problem}; name one of {', '.join(_SHELLS)}")
    return name
