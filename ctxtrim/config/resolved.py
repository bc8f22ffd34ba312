"""All that the sources say, the strongest first, and what is in force."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ctxtrim.config.automatic import Preference
from ctxtrim.config.from_agents_json import agents_file
from ctxtrim.config.from_environment import CONFIG, environment
from ctxtrim.config.from_options import command_line
from ctxtrim.config.from_toml import own_file, project_table
from ctxtrim.config.keys import SETTINGS
from ctxtrim.config.own_models import ModelOf, own_models
from ctxtrim.config.run_settings import SHARED, names
from ctxtrim.config.source import Said, Value
from ctxtrim.config.stage_specs import complete, given, named
from ctxtrim.io.inputs import is_same
from ctxtrim.metering import Binding
from ctxtrim.pipeline import Spec
from ctxtrim.presets import Preset, merged
from ctxtrim.stage import Finding
from ctxtrim.tokens import Tokenizer

OWN, PROJECT, AGENTS = Path("ctxtrim.toml"), Path("pyproject.toml"), Path("agents.config.json")
DEFAULT = "default"
"""The origin of values that nobody said."""

_AUTOMATIC = "rolling,budget"
"""The automatic pipeline where none is configured, as presets."""


@dataclass(frozen=True)
class Config:
    """The sources, the strongest first: the command line, the environment, files. `preference` turns the pipeline on.

    `is_automatic`: neither the command line nor the command names stages.
    """

    sources: tuple[Said, ...]
    preference: Preference
    is_automatic: bool = False

    def shared(self, name: str) -> Value:
        """A setting of the whole run."""
        found = (said.shared[name] for said in self.sources if name in said.shared)
        return next(found, Value(SHARED[name].default, DEFAULT))

    @cached_property
    def values(self) -> dict[str, Any]:
        """All settings of the whole run; None where a text is empty, which leaves it to the transcript."""
        said = {name: self.shared(name).value for name in SHARED}
        return {name: None if value == "" else value for name, value in said.items()}

    def binding(
        self, tokenizer_of: Callable[[str], Tokenizer], model_of: ModelOf, *, is_session: bool = False
    ) -> Binding:
        """What transcripts are measured with; the preset's window and reserve count where nothing else is said.

        `is_session`: a reserve that leaves nothing of the window is no error. The limit is then max tokens (S3-2).
        """
        values = self.values
        reserve, spare = values["reserve"], self.preset.reserve
        if is_session and reserve is not None:
            reserve, spare = None, reserve
        return Binding(
            tokenizer_of,
            values["model"],
            values["tokenizer"],
            values["context_window"],
            reserve,
            values["budget"],
            values["safety"],
            values["calibrate"],
            model_of,
            self.preset.window,
            spare,
            self.settings("compact")["session_tokens"].value if self.preset.is_session and not is_session else None,
        )

    @property
    def enabled(self) -> Value:
        """Whether the automatic pipeline runs; the preference that is stored counts more than files."""
        line, variables, *_ = self.sources
        said = line.shared.get("enabled") or variables.shared.get("enabled")
        return said or self.preference.value or self.shared("enabled")

    @cached_property
    def preset(self) -> Preset:
        """The presets that are named, as one; those of the automatic pipeline where nothing else is configured."""
        return merged(names(self._preset.value))

    @property
    def _preset(self) -> Value:
        found = self.shared("preset")
        is_silent = self.is_automatic and not found.value and not self.shared("pipeline").value
        return Value(_AUTOMATIC, DEFAULT) if is_silent else found

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of the preset, by name. A session that is not compacted by itself is not trimmed either."""
        if not self.preset.is_session or self.settings("compact")["auto"].value:
            return tuple(self.preset.stages)
        return tuple("check" if name == "trim" else name for name in self.preset.stages)

    def pipeline(self) -> tuple[Spec, ...]:
        """The configured stages. What an entry says of its stage counts as much as the source that it stands in."""
        texts, origin = self.shared("pipeline")
        if not texts:
            return tuple(self.spec(name) for name in self.stages)
        home = next(said for said in self.sources if "pipeline" in said.shared)
        specs = []
        for text in texts:
            name, members = named(text, origin)
            entry = {key: Value(value, origin) for key, value in given(name, members, origin).items()}
            said = self.settings(name, home, entry)
            specs.append(Spec(name, {key: value.value for key, value in said.items()}))
        return tuple(specs)

    def spec(self, text: str) -> Spec:
        """One `-s`; what it does not say of its stage is as it is in force."""
        name, members = named(text, f"-s {text}")
        base = {key: value.value for key, value in self.settings(name).items()}
        return complete(name, members, f"-s {text}", base=base)

    def settings(
        self, stage: str, home: Said | None = None, entry: Mapping[str, Value] | None = None
    ) -> dict[str, Value]:
        """The settings of a stage. `entry` is what the source `home` says of it in its pipeline."""
        preset, origin = self.preset.stages.get(stage, {}), f"preset {self._preset.value}"
        layers: list[Mapping[str, Value]] = []
        for said in self.sources:
            layers += [entry] if said is home and entry else []
            layers.append(said.settings.get(stage, {}))
        layers.append({key: Value(value, origin) for key, value in preset.items()})
        layers.append({key: Value(field.default, DEFAULT) for key, field in SETTINGS[stage].items()})
        return {key: next(layer[key] for layer in layers if key in layer) for key in SETTINGS[stage]}

    @property
    def notes(self) -> list[tuple[str, Finding]]:
        """What is to be told of the sources, each with its path."""
        return [(said.path, note) for said in self.sources for note in said.notes]

    @property
    def model_of(self) -> ModelOf:
        """What a model's name means."""
        return own_models(self.sources)


def configured(
    values: Mapping[str, Any],
    variables: Mapping[str, str],
    folder: Path,
    *,
    is_automatic: bool = False,
) -> Config:
    """All sources that there are: options, variables, files of this folder, and those of the user's own one.

    Files of this folder are not trusted, unless `--config` names them: see `Said`.

    A `UsageError` names what is wrong in the sources of our own, an `InputError` a file that cannot be read.
    """
    named = values.get("config") or variables.get(CONFIG)
    sources = (
        command_line(values),
        environment(variables),
        *([_named(Path(named))] if named else []),
        *(read(path) for path, read in _FOUND if not named or not is_same(path, Path(named))),
        own_file(folder / "config.toml", is_trusted=True),
    )
    return Config(sources, Preference(folder / "rolling-context"), is_automatic)


_FOUND: tuple[tuple[Path, Callable[[Path], Said]], ...] = (
    (OWN, own_file),
    (PROJECT, project_table),
    (AGENTS, agents_file),
)
"""The files of the working directory, the strongest first, and how each is read."""


def _named(path: Path) -> Said:
    """What the file that `--config` names says; its name tells its kind."""
    if path.name == PROJECT.name:
        return project_table(path, is_named=True)
    return (agents_file if path.suffix == ".json" else own_file)(path, is_named=True)
