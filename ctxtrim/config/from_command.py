"""The settings of a command: its options, environment variables, files of the project and of the
user.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ctxtrim.config.from_agents_json import agents_file
from ctxtrim.config.from_environment import CONFIG, environment
from ctxtrim.config.from_toml import own_file, project_table
from ctxtrim.config.keys import Meaning
from ctxtrim.config.option import Option, Values
from ctxtrim.config.preference import Preference
from ctxtrim.config.resolution import Config
from ctxtrim.config.run_settings import OPTIONS, SHARED
from ctxtrim.config.source import SettingsSource, assign
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.findings import Finding
from ctxtrim.io.paths import is_reachable, is_same, mode_of, repository
from ctxtrim.pipeline import Spec
from ctxtrim.stages import STAGES
from ctxtrim.text.names import option_name

_OWN, _PROJECT = Path("ctxtrim.toml"), Path("pyproject.toml")
_FOLDER_FILES: tuple[tuple[Path, Callable[[Path], SettingsSource]], ...] = (
    (_OWN, own_file),
    (_PROJECT, project_table),
    (Path("agents.config.json"), agents_file),
)
"""The files of a project folder in order of precedence, each with its reader."""
_ARGUMENTS = ("files", "stage")
"""Arguments of a command that are not settings: the inputs, and the stages of `run`."""


def command_config(
    values: Values,
    variables: Mapping[str, str],
    folder: Path | None,
    *,
    is_automatic: bool = False,
    reads_project: bool = True,
) -> Config:
    """The configuration from options, environment variables, files of the project and files in
    `folder`, which is the user's, if there is one.

    Files of the project are not trusted unless `--config` names them (see `SettingsSource`), and
    not read if not `reads_project`. Raises `UsageError` for an invalid setting and `InputError` for
    a file that cannot be read.
    """
    named = values.get("config") or variables.get(CONFIG)
    path = Path(named) if named else None
    sources = [_command_line(values), environment(variables)]
    if path is not None:
        sources.append(_named_source(path))
    if reads_project:
        sources += _folder_sources(path)
    preference = None
    if folder is not None:
        sources.append(_user_source(folder / "config.toml"))
        preference = folder / "rolling-context"
    return Config(tuple(sources), Preference(preference), is_automatic)


def unused_options(config: Config, specs: Sequence[Spec]) -> Iterator[tuple[str, Finding]]:
    """A warning for each option of a command that has no effect on the stages of a run."""
    options = config.sources[0]
    for option, fields in _fields_of_options(options).items():
        reasons = [
            spec.stage.unused(spec.settings).get(fields[spec.name], "")
            for spec in specs
            if spec.name in fields
        ]
        if all(reasons):
            other = f": it is a setting of {', '.join(fields)}"
            text = f"{option} has no effect{f' {reasons[0]}' if reasons else other}"
            yield options.path, Finding("config-ignored", "warning", text)


def _command_line(values: Values) -> SettingsSource:
    """The settings in some options, by option name.

    None and an empty list mean that the option is not given.
    """
    source = SettingsSource("command line")
    for name, value in values.items():
        if value in (None, (), []):
            continue
        if name in SHARED:
            matches = [Meaning(None, SHARED[name], value)]
        elif name in OPTIONS or name in _ARGUMENTS:
            continue
        else:
            matches = [
                Meaning(stage, known[name], value)
                for stage, known in SETTINGS.items()
                if name in known
            ]
        assign(source, f"--{option_name(name)}", matches, Option.parse)
    return source


def _folder_sources(named: Path | None) -> list[SettingsSource]:
    """The settings in the nearest folder with a configuration, without the file of `--config`.

    Folders from the working directory up to the root of its repository are searched; without a
    repository, the working directory only. If it was deleted, nothing is searched. Warnings about
    files of folders below the nearest one are kept.
    """
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return []
    root = repository(here) or here
    lower_sources: list[SettingsSource] = []
    for level in range(len(here.relative_to(root).parts) + 1):
        folder = Path(*[".."] * level)
        sources, is_configured = [], bool(mode_of(folder / _OWN))
        for name, read in _FOLDER_FILES:
            if named is not None and is_same(folder / name, named):
                is_configured = True
                continue
            source = read(folder / name)
            sources.append(source)
            is_configured |= not source.is_empty
        if is_configured:
            return [*lower_sources, *sources]
        lower_sources += [source for source in sources if source.notes]
    return lower_sources


def _user_source(path: Path) -> SettingsSource:
    """The settings in the user's file; a warning instead if its folder cannot be searched, which is
    often that of another user.
    """
    if is_reachable(path):
        return own_file(path, is_trusted=True)
    source = SettingsSource(str(path), is_file=True)
    source.note("is not read, because its folder cannot be searched; set HOME to your own folder")
    return source


def _named_source(path: Path) -> SettingsSource:
    """The settings in the file of `--config`, whose name decides the reader."""
    if path.name == _PROJECT.name:
        return project_table(path, is_named=True)
    if path.suffix == ".json":
        return agents_file(path, is_named=True)
    return own_file(path, is_named=True)


def _fields_of_options(source: SettingsSource) -> dict[str, dict[str, str]]:
    """The fields that the options of a command line set, by option and stage."""
    options: dict[str, dict[str, str]] = {}
    for stage, settings in source.settings.items():
        for name, value in settings.items():
            options.setdefault(value.origin, {})[stage] = name
    for name in ("llm_model", "llm_command"):
        if name in source.shared:
            stages = [stage for stage in STAGES if "summarizer" in STAGES[stage].run_fields()]
            options[source.shared[name].origin] = dict.fromkeys(stages, "summarizer")
    return options
