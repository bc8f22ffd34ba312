"""The options of the commands, and the function that builds a command from them.

The options of a stage are made from the settings of the stage.
"""

from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from ctxtrim.cli.exit_codes import DEBUG_HELP
from ctxtrim.config.stage_specs import option_name
from ctxtrim.formats import FORMATS
from ctxtrim.presets import PRESETS
from ctxtrim.reports import REPORTS
from ctxtrim.stage import seams_of, settings_of
from ctxtrim.stages import STAGES
from ctxtrim.stages.reasoning import MODES

Option = tuple[str, str | None, Any, str]  # name, metavar (None for a flag), default, help

CONFIG: Option = (
    "config",
    "FILE",
    None,
    "Read settings from this file before those of the project and the user.",
)
PRESET: Option = (
    "preset",
    "NAME",
    None,
    f"Apply a named preset: {', '.join(PRESETS)}. run also runs the preset's stages.",
)

COMMON: tuple[Option, ...] = (
    (
        "format",
        "NAME",
        None,
        f"Set the format of the input: auto, {', '.join(FORMATS)}. [default: auto]",
    ),
    (
        "explain_format",
        None,
        False,
        "Show the detected format of each input, and how certain it is.",
    ),
    (
        "messages_path",
        "PATH",
        None,
        "Set the path of message lists in documents, as in 'simulations[*].messages'.",
    ),
    (
        "max_size",
        "BYTES",
        None,
        "Refuse longer lines and documents, after decompression. [default: 1GiB]",
    ),
    (
        "model",
        "NAME",
        None,
        "Set the model: window, limits, tokenizer. [default: the last one in the transcript]",
    ),
    (
        "context_window",
        "N",
        None,
        "Set the context window in tokens. [default: the model's, else 128000]",
    ),
    ("reserve", "N", None, "Keep N tokens free for the answer. [default: 4096]"),
    (
        "budget",
        "N",
        None,
        "Set the most tokens of the prompt. [default: window - reserve, at most the "
        "model's max input]",
    ),
    (
        "tokenizer",
        "NAME",
        None,
        "Set the tokenizer; usage: recorded usage, for count and check. [default: by "
        "model, else o200k_base]",
    ),
    ("safety", "F", None, "Multiply estimated counts by this factor, at least 1. [default: 1.0]"),
    ("calibrate", None, None, "Raise counts to match the usage that a transcript records."),
    CONFIG,
    PRESET,
    (
        "log",
        "FILE",
        None,
        "Append a JSON line for each transcript to this file: time, original, final, max, dropped.",
    ),
    ("report", "PATH", None, "Write the token report to this path; - is standard output."),
    (
        "report_format",
        "NAME",
        None,
        f"Set the format of the report: {', '.join(REPORTS)}. [default: by the path's "
        "suffix, else text]",
    ),
    ("json", None, False, "Print the JSON report on standard output."),
    (
        "explain",
        None,
        None,
        "Show one row for each message: role, step, age, tokens, decision, reason.",
    ),
    ("quiet", None, None, "Print only errors on standard error."),
    ("progress", None, None, "Show a progress bar if standard error is a terminal."),
    (
        "color",
        "auto|always|never",
        None,
        "Set when to use colors; NO_COLOR is respected. [default: auto]",
    ),
    ("debug", None, False, DEBUG_HELP),
)

ENABLED: Option = (
    "enabled",
    None,
    None,
    "Run the configured stages if neither -s nor --preset names any.",
)
ARCHIVE: Option = ("archive", "DIR", None, "Store the original of every edit in this folder.")

WRITING: tuple[Option, ...] = (
    (
        "output",
        "PATH",
        None,
        "Write to this file, or into this folder if there are several inputs.",
    ),
    ("in_place", None, False, "Replace each file that changes."),
    (
        "on_overflow",
        "fail|keep",
        None,
        "Leave out transcripts that cannot fit, or keep them unchanged. [default: fail]",
    ),
    (
        "thinking",
        "MODE",
        None,
        "Set what to do with reasoning in edited transcripts: auto (by model), "
        f"{', '.join(MODES)}. [default: auto]",
    ),
    (
        "keep_snapshots",
        None,
        None,
        "Keep snapshot and progress lines of dropped messages (Claude Code).",
    ),
    ARCHIVE,
    ("events", "FILE", None, "Append a JSON line to this file when a compaction starts and ends."),
    ("dry_run", None, False, "Report only; write nothing."),
)

SUMMARIZING: tuple[Option, ...] = (
    (
        "summary_store",
        "FILE",
        None,
        "Store summaries in this file and insert them into later prompts.",
    ),
    ("llm_model", "NAME", None, "Let this model at an OpenAI-compatible endpoint write summaries."),
    (
        "llm_base_url",
        "URL",
        None,
        "Set the endpoint; the key is CTXTRIM_LLM_API_KEY. [default: OpenAI's]",
    ),
    (
        "llm_command",
        "CMD",
        None,
        "Let this command write summaries: it reads a prompt on standard input and prints "
        "the summary.",
    ),
    ("llm_timeout", "SECONDS", None, "Limit the time for a summary. [default: 60]"),
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


FIXING: Option = (
    "fix",
    None,
    False,
    "Repair calls and results first: files in place, standard input to output.",
)


def command(
    name: str, text: str, stages: Sequence[str], writes: bool, fixing: Sequence[str] = ()
) -> Any:
    """A command that runs some stages. Without `stages`, the user names them with `-s`.

    `writes`: the transcript is the output of the command. `fixing`: the stages that `--fix` runs
    first; with it, the command writes transcripts too.
    """

    def body(**values: Any) -> None:
        from ctxtrim.cli.runner import run_command

        if values.get("fix"):
            in_place = values["files"] not in (None, ["-"])
            raise typer.Exit(
                run_command(
                    (*fixing, *stages), True, values | {"in_place": in_place, "thinking": "keep"}
                )
            )
        raise typer.Exit(run_command(tuple(stages) or None, writes, values))

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
    single = typer.Typer(
        add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
    )
    single.command(name, context_settings=_CONTEXT)(body)
    return typer.main.get_command(single)


def _files() -> Parameter:
    return _parameter(
        "files",
        list[str] | None,
        typer.Argument(metavar="FILE", help="Files or folders to read; - is standard input."),
    )


def _stages() -> Parameter:
    text = (
        "Run a stage: name, name:key=value,key=value or name:{JSON object}. Stages run in the "
        "order given."
    )
    return _parameter(
        "stage", list[str] | None, typer.Option("-s", "--stage", metavar="STAGE", help=text)
    )


def _parameter(name: str, kind: Any, declared: Any, default: Any = None) -> Parameter:
    form: Any = Annotated  # type checkers accept no values as its arguments
    annotation = form[kind, declared]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _option(name: str, value: str | None, default: Any, text: str) -> Parameter:
    """The parameter of an option.

    Values are strings, so that `config` checks them and words the errors.

    The default is None for options that configuration can set too.
    """
    flags = _FLAGS.get(name) or (f"--{option_name(name)}",)
    if value is None:
        return _parameter(
            name, bool | None, typer.Option(*flags, help=text, show_default=False), default
        )
    return _parameter(name, str | None, typer.Option(*flags, metavar=value, help=text), default)


def _settings(stages: Sequence[str]) -> list[Parameter]:
    """The settings of some stages as options. A setting that several stages have is one option."""
    parameters: dict[str, Parameter] = {}
    for stage in stages:
        for field in settings_of(STAGES[stage]):
            name, flag = field.name, f"--{option_name(field.name)}"
            choices = field.metadata["choices"]
            text = field.metadata["help"]
            if field.default not in (None, ()):
                text += f" [default: {str(field.default).lower() or 'none'}]"
            if isinstance(field.default, bool):
                option = typer.Option(f"{flag}/--no-{option_name(name)}", help=text)
                parameters[name] = _parameter(name, bool | None, option)
            elif isinstance(field.default, tuple):
                option = typer.Option(flag, metavar="TEXT", help=f"{text} May be repeated.")
                parameters[name] = _parameter(name, list[str] | None, option)
            else:
                words = "|".join(filter(None, choices or ())) or "TEXT"
                metavar = (
                    "N"
                    if isinstance(field.default, int | None)
                    else words
                    if len(words) < 20
                    else "NAME"
                )
                parameters[name] = _parameter(
                    name, str | None, typer.Option(flag, metavar=metavar, help=text)
                )
    return list(parameters.values())
