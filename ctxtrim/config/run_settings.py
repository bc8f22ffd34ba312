"""The options of a run, in the order of `ctxtrim config show`.

Each option is one row. The command-line option, the configuration key, the environment variable and
the API keyword are made from it. Stages declare the other settings.
"""

from collections.abc import Mapping

from ctxtrim.config.option import Option
from ctxtrim.formats import FORMATS
from ctxtrim.presets import PRESETS
from ctxtrim.stages.reasoning import MODES
from ctxtrim.text.records import MAX_SIZE
from ctxtrim.tokenizers.tokenizer_files import is_path

SIZES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
"""Bytes by the units that may follow a size."""
REPORT_NAMES = "{reports}"
"""The place of the names of all reports in a help text: this package imports no report."""


def preset_names(text: str) -> list[str]:
    """The presets in a comma-separated text. Raises `ValueError` for an unknown preset."""
    presets = [name.strip() for name in text.split(",")] if text else []
    for name in presets:
        if name not in PRESETS:
            raise ValueError(f"unknown preset {name}; expected one of {', '.join(PRESETS)}")
    return presets


def _always(value: object) -> bool:
    """Configuration found in the working directory can set no value of the option."""
    return True


SECTIONS: Mapping[str, tuple[Option, ...]] = {
    "preset": (
        Option(
            "preset",
            "",
            f"Apply a named preset: {', '.join(PRESETS)}. run also runs the preset's stages.",
            "NAME",
            check=preset_names,
        ),
    ),
    "automatic": (
        Option(
            "pipeline", (), "The stages of the automatic pipeline, as -s takes them.", is_flag=False
        ),
        Option("enabled", False, "Run the configured stages if neither -s nor --preset names any."),
    ),
    "input": (
        Option(
            "format",
            "auto",
            f"Set the format of the input: auto, {', '.join(FORMATS)}. [default: auto]",
            "NAME",
            choices=("auto", *FORMATS),
        ),
        Option(
            "explain_format",
            False,
            "Show the detected format of each input, and how certain it is.",
            is_setting=False,
        ),
        Option(
            "messages_path",
            "",
            "Set the path of message lists in documents, as in 'simulations[*].messages'.",
            "PATH",
        ),
        Option(
            "max_size",
            MAX_SIZE,
            "Refuse longer lines and documents, after decompression. [default: 1GiB]",
            "BYTES",
            least=1,
            units=SIZES,
        ),
        Option(
            "model",
            "",
            "Set the model: window, limits, tokenizer. [default: the last one in the transcript]",
            "NAME",
        ),
        Option(
            "context_window",
            None,
            "Set the context window in tokens. [default: the model's, else 128000]",
            least=1,
        ),
        Option("reserve", None, "Keep N tokens free for the answer. [default: 4096]", least=0),
        Option(
            "budget",
            None,
            "Set the most tokens of the prompt. "
            "[default: window - reserve, at most the model's max input]",
            least=1,
        ),
        Option(
            "tokenizer",
            "",
            "Set the tokenizer; usage: recorded usage, for count and check. "
            "[default: by model, else o200k_base]",
            "NAME",
            is_restricted=is_path,
        ),
        Option(
            "safety",
            1.0,
            "Multiply estimated counts by this factor, at least 1. [default: 1.0]",
            "F",
            least=1,
        ),
        Option("calibrate", False, "Raise counts to match the usage that a transcript records."),
        Option(
            "config",
            "",
            "Read settings from this file before those of the project and the user.",
            "FILE",
            is_setting=False,
        ),
    ),
    "editing": (
        Option(
            "thinking",
            "auto",
            "Set what to do with reasoning in edited transcripts: auto (by model), "
            f"{', '.join(MODES)}. [default: auto]",
            "MODE",
            choices=("auto", *MODES),
        ),
        Option(
            "keep_snapshots",
            False,
            "Keep snapshot and progress lines of dropped messages (Claude Code).",
        ),
    ),
    "output": (
        Option(
            "output",
            "",
            "Write to this file, or into this folder if there are several inputs.",
            "PATH",
            short="-o",
            is_setting=False,
        ),
        Option("in_place", False, "Replace each file that changes.", is_setting=False),
        Option(
            "on_overflow",
            "fail",
            "Leave out transcripts that cannot fit, or keep them unchanged. [default: fail]",
            choices=("fail", "keep"),
        ),
    ),
    "archive": (
        Option(
            "archive",
            "",
            "Store the original of every edit in this folder.",
            "DIR",
            is_restricted=_always,
        ),
    ),
    "summarizing": (
        Option(
            "summary_store",
            "",
            "Store summaries in this file and insert them into later prompts.",
            "FILE",
            is_restricted=_always,
        ),
        Option(
            "llm_model",
            "",
            "Let this model at an OpenAI-compatible endpoint write summaries.",
            "NAME",
            is_restricted=_always,
        ),
        Option(
            "llm_base_url",
            "",
            "Set the endpoint; the key is CTXTRIM_LLM_API_KEY. [default: OpenAI's]",
            "URL",
            is_restricted=_always,
        ),
        Option(
            "llm_command",
            "",
            "Let this command write summaries: it reads a prompt on standard input and prints the "
            "summary.",
            "CMD",
            is_restricted=_always,
        ),
        Option(
            "llm_timeout",
            60.0,
            "Limit the time for a summary. [default: 60]",
            "SECONDS",
            least=1,
            is_restricted=_always,
        ),
    ),
    "events": (
        Option(
            "events",
            "",
            "Append a JSON line to this file when a compaction starts and ends.",
            "FILE",
            is_restricted=_always,
        ),
        Option("dry_run", False, "Report only; write nothing.", is_setting=False),
    ),
    "reporting": (
        Option(
            "log",
            "",
            "Append a JSON line for each transcript to this file: "
            "time, original, final, max, dropped.",
            "FILE",
            is_restricted=_always,
        ),
        Option(
            "report",
            "",
            "Write the token report to this path; - is standard output.",
            "PATH",
            is_setting=False,
        ),
        Option(
            "report_format",
            "",
            f"Set the format of the report: {REPORT_NAMES}. "
            "[default: by the path's suffix, else text]",
            "NAME",
            is_setting=False,
        ),
        Option("json", False, "Print the JSON report on standard output.", is_setting=False),
        Option(
            "explain",
            False,
            "Show one row for each message: role, step, age, tokens, decision, reason.",
        ),
        Option("quiet", False, "Print only errors on standard error."),
        Option("progress", True, "Show a progress bar if standard error is a terminal."),
        Option(
            "color",
            "auto",
            "Set when to use colors; NO_COLOR is respected. [default: auto]",
            choices=("auto", "always", "never"),
        ),
        Option("debug", False, "Show the traceback of an unexpected error.", is_setting=False),
    ),
    "fixing": (
        Option(
            "fix",
            False,
            "Repair calls and results first: files in place, standard input to output.",
            is_setting=False,
        ),
    ),
}
"""The options by section. Commands choose the sections that they have."""

OPTIONS = {option.name: option for section in SECTIONS.values() for option in section}
"""All options of a run by name."""
SHARED = {name: option for name, option in OPTIONS.items() if option.is_setting}
"""The options that configuration can set. An empty string or None leaves the choice to the
transcript, its model or the preset.
"""
