"""One source of settings: its checked values, each with its origin."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct, field

from ctxtrim.config.keys import Meaning
from ctxtrim.config.option import Option
from ctxtrim.config.stage_specs import SETTINGS, parse_stage, restricted_settings
from ctxtrim.errors import excerpt
from ctxtrim.findings import Finding
from ctxtrim.io.paths import resolved
from ctxtrim.text.globs import Glob


class Value(NamedTuple):
    """A checked value and its origin, such as `ctxtrim.toml: truncate.max-age`."""

    value: Any
    origin: str


class PathSection(Struct, frozen=True, eq=False):
    """A `[[paths]]` section: settings for the files in `folder` that match `glob`."""

    folder: Path
    glob: Glob
    settings: "SettingsSource"

    def matches(self, path: Path) -> bool:
        """Whether the section is for a file."""
        place = resolved(path)
        return place.is_relative_to(self.folder) and self.glob.covers(
            place.relative_to(self.folder).parts
        )


class SettingsSource(Struct):
    """The settings of the source at `path`: run settings (`shared`), stage settings and models.

    `refused` has values that stage settings of sources with less precedence must not have.
    `sections` are settings for some files, which override the others of this source. `notes` are
    findings about the source. Restricted settings of an untrusted source are ignored. `is_file`:
    `path` is a file, not the name of the command line, the environment or a call.
    """

    path: str
    is_trusted: bool = True
    is_file: bool = False
    shared: dict[str, Value] = field(default_factory=dict)
    settings: dict[str, dict[str, Value]] = field(default_factory=dict)
    refused: dict[str, dict[str, Value]] = field(default_factory=dict)
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    sections: list[PathSection] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether the source sets nothing. A warning about a source is no setting."""
        values = (self.shared, self.settings, self.refused, self.models, self.sections)
        return not any(values)

    def over(self, stage: str, weaker: Mapping[str, Value]) -> dict[str, Value]:
        """The settings of a stage: those of this source, else those of sources with less
        precedence.
        """
        settings = dict(weaker)
        for name, refused in self.refused.get(stage, {}).items():
            if name in weaker and weaker[name].value == refused.value:
                settings[name] = Value(SETTINGS[stage][name].default, refused.origin)
        return settings | self.settings.get(stage, {})

    def note(self, text: str) -> None:
        """Add a warning about the source."""
        self.notes.append(Finding("config", "warning", text))

    def note_restricted(self, key: str) -> None:
        """Add the warning that a key of an untrusted file is ignored."""
        finding = Finding(
            "config-ignored",
            "warning",
            f"{key} is ignored, because this file was found in the working directory or above it; "
            "use `--config FILE` to allow it",
        )
        if finding not in self.notes:
            self.notes.append(finding)


Convert = Callable[[Option, str, Any], Any]
"""From a setting, the location of a value and the value to the converted value.

Raises `UsageError`.
"""


def assign(
    source: SettingsSource,
    location: str,
    matches: Iterable[Meaning],
    check: Convert,
    *,
    is_weak: bool = False,
) -> None:
    """Add values to a source. A weak value does not replace an earlier one of the same setting."""
    # the message about a number that is too small for several stages names the largest bound
    strictest = sorted(matches, key=lambda meaning: -(meaning.setting.least or 0))
    for stage, setting, value, is_refused in strictest:
        result = check(setting, location, value)
        if not source.is_trusted and setting.restricts(result):
            source.note_restricted(location.removeprefix(f"{source.path}: "))
            continue
        if stage is None and setting.name == "pipeline":
            for text in result:
                name, settings = parse_stage(text, f"{location} {excerpt(text)}")
                if not source.is_trusted:
                    for key in restricted_settings(name, settings):
                        source.note_restricted(f"{key} of {name} in pipeline")
        if stage is not None and is_refused:
            source.refused.setdefault(stage, {})[setting.name] = Value(result, location)
            continue
        values = source.shared if stage is None else source.settings.setdefault(stage, {})
        if not (is_weak and setting.name in values):
            values[setting.name] = Value(result, location)
