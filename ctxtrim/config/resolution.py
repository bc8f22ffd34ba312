"""The effective configuration: all sources in order of precedence."""

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.config.input_options import preset_names
from ctxtrim.config.own_models import ModelOf, own_models
from ctxtrim.config.preference import Preference
from ctxtrim.config.presets import SESSION, Preset, checks, merged
from ctxtrim.config.run_settings import SHARED
from ctxtrim.config.source import PathSection, SettingsSource, Value
from ctxtrim.config.stage_specs import SETTINGS, parse_stage, restricted_settings
from ctxtrim.errors import excerpt
from ctxtrim.findings import Finding
from ctxtrim.metering import RESERVE, Metering
from ctxtrim.pipeline import Spec
from ctxtrim.stages.reasoning import ReasoningMode
from ctxtrim.tokens.tokenizer import Tokenizer

DEFAULT = "default"
"""The origin of values that no source sets."""

_AUTOMATIC = "rolling,budget"
"""The automatic pipeline where none is configured, as presets."""


class PipelineEntry(NamedTuple):
    """A stage of the configured pipeline: its settings, and the names of those in its entry."""

    stage: str
    named: tuple[str, ...]
    settings: dict[str, Value]


class Config(Struct, frozen=True, dict=True):
    """The sources in order of precedence, and the stored preference for the automatic pipeline.

    `is_automatic`: neither the command nor its options name stages.
    """

    sources: tuple[SettingsSource, ...]
    preference: Preference = Preference(None)
    is_automatic: bool = False

    def sections_of(self, path: str) -> tuple[PathSection, ...]:
        """The `[[paths]]` sections that match a file."""
        return tuple(
            section
            for source in self.sources
            for section in source.sections
            if section.matches(Path(path))
        )

    def with_sections(self, sections: Collection[PathSection]) -> "Config":
        """The configuration for files that these sections match.

        A section has the precedence of its file, above the other settings there and above earlier
        sections.
        """
        sources: list[SettingsSource] = []
        for source in self.sources:
            own = [section.settings for section in source.sections if section in sections]
            sources += [*reversed(own), source]
        return replace(self, sources=tuple(sources))

    def shared(self, name: str) -> Value:
        """The value of a run setting."""
        values = (source.shared[name] for source in self.sources if name in source.shared)
        return next(values, Value(SHARED[name].default, DEFAULT))

    @cached_property
    def values(self) -> dict[str, Any]:
        """The values of all run settings.

        An empty string becomes None: the transcript or its model decides.
        """
        values = {name: self.shared(name).value for name in SHARED}
        return {name: None if value == "" else value for name, value in values.items()}

    @property
    def thinking(self) -> ReasoningMode | None:
        """What happens to reasoning; None for the default of the model."""
        mode = self.values["thinking"]
        return None if mode == "auto" else mode

    def metering(
        self,
        tokenizer_of: Callable[[str], Tokenizer],
        model_of: ModelOf,
        *,
        is_session: bool = False,
        registrations: Callable[[], int] = int,
    ) -> Metering:
        """The tokenizer, model and budget for transcripts.

        The preset's window and reserve are the fallback. Its reserve is used if it leaves at
        least half of the window.

        `is_session`: any reserve is used that leaves a token. A larger one is not an error; the
        limit is then the session tokens.
        """
        values = self.values
        reserve, default_reserve = values["reserve"], self.preset.reserve
        least_room, session_limit = default_reserve or 1, None
        if is_session:
            default_reserve = default_reserve if reserve is None else reserve
            reserve, least_room = None, 1
        elif self.preset.is_session:
            session_limit = self.settings(SESSION)["session_tokens"].value
        return Metering(
            tokenizer_of,
            model=values["model"],
            tokenizer=values["tokenizer"],
            context_window=values["context_window"],
            reserve=reserve,
            limit=values["budget"],
            safety=values["safety"],
            calibrates=values["calibrate"],
            model_of=model_of,
            max_window=self.preset.window,
            default_reserve=default_reserve,
            least_room=least_room,
            registrations=registrations,
            session_limit=session_limit,
        )

    @property
    def enabled(self) -> Value:
        """Whether the automatic pipeline runs.

        The stored preference takes precedence over files.
        """
        for source in self.sources:
            if not source.is_file and "enabled" in source.shared:
                return source.shared["enabled"]
        return self.preference.value or self.shared("enabled")

    @cached_property
    def preset(self) -> Preset:
        """The named presets, merged; those of the automatic pipeline if nothing is configured."""
        return merged(preset_names(self._preset_names.value))

    @property
    def _preset_names(self) -> Value:
        preset = self.shared("preset")
        is_unset = self.is_automatic and not preset.value and not self.shared("pipeline").value
        return Value(_AUTOMATIC, "automatic pipeline") if is_unset else preset

    def effective(self, name: str) -> Value:
        """The value of a run setting. If no source sets it, it is that of the preset, or the
        default.
        """
        if name == "preset":
            return self._preset_names
        value, origin = self.shared(name), f"preset {self._preset_names.value}"
        if value.value is not None:
            return value
        if name == "reserve" and self.preset.reserve is not None:
            return Value(self.preset.reserve, origin)
        if name == "reserve":
            return Value(RESERVE, value.origin)
        if name == "context_window" and self.preset.window is not None:
            return Value(self.preset.window, f"{origin}: at most")
        return value

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the preset's stages.

        With `auto` off, a session preset checks instead of trimming.
        """
        if not self.preset.is_session or self.settings(SESSION)["auto"].value:
            return tuple(self.preset.stages)
        return checks(self.preset.stages)

    def pipeline(self) -> tuple[Spec, ...]:
        """The configured stages."""
        if not self.shared("pipeline").value:
            return tuple(self.spec(name) for name in self.stages)
        return tuple(Spec(entry.stage, _values(entry.settings)) for entry in self.entries)

    @property
    def entries(self) -> tuple[PipelineEntry, ...]:
        """The entries of the configured pipeline.

        Settings in an entry have the precedence of the source that has the pipeline.
        """
        texts, origin = self.shared("pipeline")
        if not texts:
            return ()
        place = next(
            place for place, source in enumerate(self.sources) if "pipeline" in source.shared
        )
        stronger, weaker = self.sources[:place], self.sources[place:]
        entries = []
        for text in texts:
            name, settings = parse_stage(text, origin)
            ignored = () if weaker[0].is_trusted else restricted_settings(name, settings)
            own = {
                key: Value(value, origin) for key, value in settings.items() if key not in ignored
            }
            entry = SettingsSource(origin, settings={name: own})
            config = replace(self, sources=(*stronger, entry, *weaker))
            entries.append(PipelineEntry(name, tuple(settings), config.settings(name)))
        return tuple(entries)

    def spec(self, text: str) -> Spec:
        """The stage of one `-s`.

        Settings that the text does not name have their configured values.
        """
        name, settings = parse_stage(text, f"-s {excerpt(text) or repr(text)}")
        return Spec(name, _values(self.settings(name)) | settings)

    def settings(self, stage: str) -> dict[str, Value]:
        """The settings of a stage."""
        preset, origin = self.preset.stages.get(stage, {}), f"preset {self._preset_names.value}"
        settings = {key: Value(option.default, DEFAULT) for key, option in SETTINGS[stage].items()}
        settings |= {key: Value(value, origin) for key, value in preset.items()}
        for source in reversed(self.sources):
            settings = source.over(stage, settings)
        return settings

    @property
    def notes(self) -> list[tuple[str, Finding]]:
        """The findings about the sources, each with the path of its source."""
        return [(source.path, note) for source in self.sources for note in source.notes]

    @property
    def files(self) -> list[Path]:
        """The files of the sources, whether they exist or not."""
        return [Path(source.path) for source in self.sources if source.is_file]

    @property
    def model_of(self) -> ModelOf:
        """A function from a model's name to the model, with the user's own models."""
        return own_models(self.sources)


def _values(settings: Mapping[str, Value]) -> dict[str, Any]:
    return {key: value.value for key, value in settings.items()}
