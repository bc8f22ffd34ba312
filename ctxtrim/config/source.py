"""What one source says: settings, checked, each with the place where it stands."""

from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, field
from typing import Any, NamedTuple

from ctxtrim.config.keys import Meaning
from ctxtrim.config.stage_specs import given, named
from ctxtrim.stage import Finding


class Value(NamedTuple):
    """A value that is checked, and where it was said."""

    value: Any
    origin: str


@dataclass(frozen=True)
class Said:
    """What the source at `path` says: `shared` by setting, `settings` by stage and setting, `models` by name and key.

    `notes` are findings about the source. Restricted values of a source that is not trusted are ignored.
    """

    path: str
    is_trusted: bool = True
    shared: dict[str, Value] = field(default_factory=dict)
    settings: dict[str, dict[str, Value]] = field(default_factory=dict)
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[Finding] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Remember what is to be told of the source."""
        self.notes.append(Finding("config", "warning", text))

    def note_restricted(self, key: str) -> None:
        """Add the warning that a key of an untrusted file is ignored."""
        finding = Finding(
            "config-ignored",
            "warning",
            f"{key} is ignored, because this file was found in the working directory; use `--config FILE` to allow it",
        )
        if finding not in self.notes:
            self.notes.append(finding)


Check = Callable[[str, Field[Any], Any], Any]
"""From where a value stands, its setting and the value to what it is for that setting, or a `UsageError`."""


def put(said: Said, where: str, meant: Iterable[Meaning], check: Check, *, is_weak: bool = False) -> None:
    """Take in a value of the settings that it is meant for. A weak one gives way to what the source said before."""
    for stage, setting, value in meant:
        found = check(where, setting, value)
        is_restricted = setting.metadata["is_restricted"]
        if not said.is_trusted and is_restricted is not None and is_restricted(found):
            said.note_restricted(where.removeprefix(f"{said.path}: "))
            continue
        if stage is None and setting.name == "pipeline":
            for text in found:
                place = f"{where} {text}"
                name, members = named(text, place)
                given(name, members, place)
        home = said.shared if stage is None else said.settings.setdefault(stage, {})
        if not (is_weak and setting.name in home):
            home[setting.name] = Value(found, where)
