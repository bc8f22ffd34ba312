"""The options of all commands, declared once, and the command made of them.

Options that belong to a stage are not declared here: they are the stage's settings.
"""

from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from ctxtrim.cli.exit_codes import DEBUG_HELP
from ctxtrim.config.stage_specs import spelled
from ctxtrim.formats import FORMATS
from ctxtrim.presets import PRESETS
from ctxtrim.reports import REPORTS
from ctxtrim.stage import seams_of, settings_of
from ctxtrim.stages import STAGES
from ctxtrim.stages.reasoning import MODES

Option = tuple[str, str | None, Any, str]  # name, what stands for its value (None: it has none), default, help

CONFIG: Option = ("config", "FILE", None, "Settings from this file, before those of the project and the user.")
PRESET: Option = ("preset", "NAME", None, f"Settings by name: {', '.join(PRESETS)}; run runs their stages too.")

COMMON: tuple[Option, ...] = (
    ("format", "NAME", None, f"Dialect of the input: auto, {', '.join(FORMATS)}. [default: auto]"),
    ("explain_format", None, False, "Say of each input what it was taken for, and how sure that is."),
    ("messages_path", "PATH", None, "Where message lists are in larger documents, as in 'simulations[*].messages'."),
    ("max_size", "BYTES", None, "Refuse a longer line or document, after decompression. [default: 1GiB]"),
    ("model", "NAME", None, "Which window, limits and tokenizer. [default: the last one the transcript records]"),
    ("context_window", "N", None, "What the model can hold, in tokens. [default: the model's, else 128000]"),
    ("reserve", "N", None, "Tokens kept free for the answer. [default: 4096]"),
    ("budget", "N", None, "Tokens the prompt may fill. [default: window - reserve, at most the model's max input]"),
    (
        "tokenizer",
        "NAME",
        None,
        "A tokenizer by name; usage: what was recorded, for count and check. [default: by model, else o200k_base]",
    ),
    ("safety", "F", None, "Factor on estimated counts, at least 1. [default: 1.0]"),
    ("calibrate", None, None, "Learn from the usage that a transcript records; counts never become lower."),
    CONFIG,
    PRESET,
    ("log", "FILE", None, "Append a JSON line for each transcript to this file: time, original, final, max, dropped."),
    ("report", "PATH", None, "Write the token report to this path; - is standard output."),
    ("report_format", "NAME", None, f"{', '.join(REPORTS)}. [default: by the path's ending, else text]"),
    ("json", None, False, "The JSON report on standard output."),
    ("explain", None, None, "One row a message: role, step, age, tokens and their addends, decision, reason."),
    ("quiet", None, None, "Say nothing on standard error but errors."),
    ("progress", None, None, "A progress bar on standard error, where that is a terminal."),
    ("color", "auto|always|never", None, "Colours; NO_COLOR is honoured. [default: auto]"),
    ("debug", None, False, DEBUG_HELP),
)

ENABLED: Option = ("enabled", None, None, "Whether the configured stages run, where neither -s nor --preset names any.")
ARCHIVE: Option = ("archive", "DIR", None, "Keep the original of everything that is edited here.")

WRITING: tuple[Option, ...] = (
    ("output", "PATH", None, "Write to this file, or into this folder where there are several inputs."),
    ("in_place", None, False, "Write each file back where it came from, if it changed."),
    ("on_overflow", "fail|keep", None, "Leave out what cannot be made to fit, or pass it on. [default: fail]"),
    (
        "thinking",
        "MODE",
        None,
        f"What becomes of it where messages are edited: auto (by model), {', '.join(MODES)}. [default: auto]",
    ),
    ("keep_snapshots", None, None, "Keep snapshot and progress lines of dropped messages (Claude Code)."),
    ARCHIVE,
    ("events", "FILE", None, "Append JSON lines to this file as compactions start and end."),
    ("dry_run", None, False, "Report only, write nothing."),
)

SUMMARIZING: tuple[Option, ...] = (
    ("summary_store", "FILE", None, "Keep summaries in this file, and put them back into later prompts."),
    ("llm_model", "NAME", None, "A model that writes summaries, at an OpenAI-compatible endpoint; else facts alone."),
    ("llm_base_url", "URL", None, "That endpoint. [default: OpenAI's own; the key is CTXTRIM_LLM_API_KEY's]"),
    (
        "llm_command",
        "CMD",
        None,
        "A command that writes summaries: a prompt on its input, the summary on its output.",
    ),
    ("llm_timeout", "SECONDS", None, "How long a summary may take. [default: 60]"),
)

_FLAGS = {
    "output": ("-o", "--output"),
    "calibrate": ("--calibrate/--no-calibrate",),
    "explain": ("--explain/--no-explain",),
    "quiet": ("--quiet/--no-quiet",),
    "keep_snapshots": ("--keep-snapshots/--no-keep-snapshots",),
    "progress": ("--progress/--no-progress",),
    "enabled": ("--enabled/--no-enabled",),
}
_CONTEXT = {"max_content_width": 120}


FIXING: Option = ("fix", None, False, "Repair calls and results first: files in place, standard input to output.")


def command(name: str, text: str, stages: Sequence[str], writes: bool, fixing: Sequence[str] = ()) -> Any:
    """A command that runs some stages; without any, `-s` names them. `writes`: the transcript is its output.

    `fixing`: the stages that `--fix` puts before them, which makes it a command that writes.
    """

    def body(**values: Any) -> None:
        from ctxtrim.cli.runner import work

        if values.get("fix"):
            in_place = values["files"] not in (None, ["-"])
            raise typer.Exit(work((*fixing, *stages), True, values | {"in_place": in_place, "thinking": "keep"}))
        raise typer.Exit(work(tuple(stages) or None, writes, values))

    parameters = [_files()]
    if not stages:
        parameters += [_stages(), _option(*ENABLED)]
    parameters += [_option(*option) for option in COMMON]
    parameters += [_option(*option) for option in WRITING if writes]
    if any("summarizer" in seams_of(STAGES[name]) for name in stages or STAGES):
        parameters += [_option(*option) for option in SUMMARIZING]
    if fixing:
        parameters += [_option(*FIXING), _option(*ARCHIVE)]
    parameters += _settings((*stages, *fixing) or tuple(STAGES))
    body.__doc__ = text
    body.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    single.command(name, context_settings=_CONTEXT)(body)
    return typer.main.get_command(single)


def _files() -> Parameter:
    return _parameter("files", list[str] | None, typer.Argument(metavar="FILE", help="Files or folders; - is stdin."))


def _stages() -> Parameter:
    text = "A stage: name, name:key=value,key=value or name:{JSON object}. Stages run in the order given."
    return _parameter("stage", list[str] | None, typer.Option("-s", "--stage", metavar="STAGE", help=text))


def _parameter(name: str, kind: Any, declared: Any, default: Any = None) -> Parameter:
    form: Any = Annotated  # its arguments are values here, which a type checker cannot follow
    annotation = form[kind, declared]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _option(name: str, value: str | None, default: Any, text: str) -> Parameter:
    """Values are taken as text: what is wrong with them is told in our own words.

    None is the default of all that configuration can say too.
    """
    flags = _FLAGS.get(name) or (f"--{spelled(name)}",)
    if value is None:
        return _parameter(name, bool | None, typer.Option(*flags, help=text, show_default=False), default)
    return _parameter(name, str | None, typer.Option(*flags, metavar=value, help=text), default)


def _settings(stages: Sequence[str]) -> list[Parameter]:
    """The settings of some stages as options; those that two stages share are one option."""
    found: dict[str, Parameter] = {}
    for stage in stages:
        for field in settings_of(STAGES[stage]):
            name, flag = field.name, f"--{spelled(field.name)}"
            choices = field.metadata["choices"]
            text = field.metadata["help"]
            if field.default not in (None, ()):
                text += f" [default: {str(field.default).lower() or 'none'}]"
            if isinstance(field.default, bool):
                option = typer.Option(f"{flag}/--no-{spelled(name)}", help=text)
                found[name] = _parameter(name, bool | None, option)
            elif isinstance(field.default, tuple):
                option = typer.Option(flag, metavar="TEXT", help=f"{text} May be repeated.")
                found[name] = _parameter(name, list[str] | None, option)
            else:
                words = "|".join(filter(None, choices or ())) or "TEXT"
                metavar = "N" if isinstance(field.default, int | None) else words if len(words) < 20 else "NAME"
                found[name] = _parameter(name, str | None, typer.Option(flag, metavar=metavar, help=text))
    return list(found.values())
