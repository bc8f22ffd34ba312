"""The options of a run, in the order of `ctxtrim config show`.

Each option is one row. The command-line option, the configuration key, the environment variable and
the API keyword are made from it. Stages declare the other settings.
"""

from collections.abc import Mapping
from typing import Any

from ctxtrim.config.option import Option
from ctxtrim.conversion import TARGETS
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


def _restricted(
    name: str, metavar: str, text: str, default: Any = "", least: int | None = None
) -> Option:
    """An option that configuration found in the working directory cannot set."""
    return Option(name, text, default, metavar, least=least, is_restricted=lambda value: True)


SECTIONS: Mapping[str, tuple[Option, ...]] = {
    "preset": (
        Option(
            "preset",
            f"Apply a named preset: {', '.join(PRESETS)}. run also runs the preset's stages.",
            metavar="NAME",
            check=preset_names,
        ),
    ),
    "automatic": (
        Option(
            "pipeline", "The stages of the automatic pipeline, as -s takes them.", (), is_flag=False
        ),
        Option("enabled", "Run the configured stages if neither -s nor --preset names any.", False),
    ),
    "input": (
        Option(
            "format",
            f"Set the format of the input: auto, {', '.join(FORMATS)}. [default: auto]",
            "auto",
            metavar="NAME",
            choices=("auto", *FORMATS),
        ),
        Option(
            "explain_format",
            "Show the detected format of each input, and how certain it is.",
            False,
            is_setting=False,
        ),
        Option(
            "messages_path",
            "Set the path of message lists in documents, as in 'simulations[*].messages'.",
            metavar="PATH",
        ),
        Option(
            "each_request",
            "Read each request of a trace as a transcript, not each conversation.",
            False,
        ),
        Option(
            "max_size",
            "Refuse longer lines and documents, after decompression. [default: 1GiB]",
            MAX_SIZE,
            metavar="BYTES",
            least=1,
            units=SIZES,
        ),
        Option(
            "jobs",
            "Use N processes. [default: all cores if the input is large, else 1]",
            None,
            least=1,
        ),
        Option(
            "model",
            "Set the model: window, limits, tokenizer. [default: the last one in the transcript]",
            metavar="NAME",
        ),
        Option(
            "context_window",
            "Set the context window in tokens. [default: the model's, else 128000]",
            None,
            least=1,
        ),
        Option("reserve", "Keep N tokens free for the answer. [default: 4096]", None, least=0),
        Option(
            "budget",
            "Set the most tokens of the prompt. "
            "[default: window - reserve, at most the model's max input]",
            None,
            least=1,
        ),
        Option(
            "tokenizer",
            "Set the tokenizer; usage: recorded usage, for count and check. "
            "[default: by model, else o200k_base]",
            metavar="NAME",
            is_restricted=is_path,
        ),
        Option(
            "safety",
            "Multiply estimated counts by this factor, at least 1. [default: 1.0]",
            1.0,
            metavar="F",
            least=1,
        ),
        Option("calibrate", "Raise counts to match the usage that a transcript records.", False),
        Option(
            "config",
            "Read settings from this file before those of the project and the user.",
            metavar="FILE",
            is_setting=False,
        ),
    ),
    "editing": (
        Option(
            "thinking",
            "Set what to do with reasoning in edited transcripts: auto (by model), "
            f"{', '.join(MODES)}. [default: auto]",
            "auto",
            metavar="MODE",
            choices=("auto", *MODES),
        ),
        Option(
            "keep_snapshots",
            "Keep snapshot and progress lines of dropped messages (Claude Code).",
            False,
        ),
    ),
    "converting": (
        Option(
            "to",
            f"Set the API of the requests: {', '.join(TARGETS)}.",
            metavar="TARGET",
            choices=("", *TARGETS),
            is_setting=False,
        ),
        Option(
            "reasoning",
            "Keep reasoning if the target can hold it, or drop all of it. [default: keep]",
            "keep",
            choices=("keep", "drop"),
            is_setting=False,
        ),
    ),
    "target": (
        Option(
            "output",
            "Write to this file, or into this folder if there are several inputs.",
            metavar="PATH",
            short="-o",
            is_setting=False,
        ),
        Option("dry_run", "Report only; write nothing.", False, is_setting=False),
    ),
    "output": (
        Option("in_place", "Replace each file that changes.", False, is_setting=False),
        Option(
            "on_overflow",
            "Leave out transcripts that cannot fit, or keep them unchanged. [default: fail]",
            "fail",
            choices=("fail", "keep"),
        ),
    ),
    "archive": (_restricted("archive", "DIR", "Store the original of every edit in this folder."),),
    "summarizing": (
        _restricted(
            "summary_store",
            "FILE",
            "Store summaries in this file and insert them into later prompts.",
        ),
        _restricted(
            "llm_model", "NAME", "Let this model at an OpenAI-compatible endpoint write summaries."
        ),
        _restricted(
            "llm_base_url",
            "URL",
            "Set the endpoint; the key is CTXTRIM_LLM_API_KEY. [default: OpenAI's]",
        ),
        _restricted(
            "llm_command",
            "CMD",
            "Let this command write summaries: it reads a prompt on standard input and prints the "
            "summary.",
        ),
        _restricted(
            "llm_timeout", "SECONDS", "Limit the time for a summary. [default: 60]", 60.0, least=1
        ),
    ),
    "events": (
        _restricted(
            "events", "FILE", "Append a JSON line to this file when a compaction starts and ends."
        ),
    ),
    "reporting": (
        _restricted(
            "log",
            "FILE",
            "Append a JSON line for each transcript to this file: "
            "time, original, final, max, dropped.",
        ),
        Option(
            "report",
            "Write the token report to this path; - is standard output.",
            metavar="PATH",
            is_setting=False,
        ),
        Option(
            "report_format",
            f"Set the format of the report: {REPORT_NAMES}. "
            "[default: by the path's suffix, else text]",
            metavar="NAME",
            is_setting=False,
        ),
        Option("json", "Print the JSON report on standard output.", False, is_setting=False),
        Option(
            "explain",
            "Show one row for each message: role, step, age, tokens, decision, reason.",
            False,
        ),
        Option("quiet", "Print only errors on standard error.", False),
        Option("progress", "Show a progress bar if standard error is a terminal.", True),
        Option(
            "color",
            "Set when to use colors; NO_COLOR is respected. [default: auto]",
            "auto",
            choices=("auto", "always", "never"),
        ),
        Option("debug", "Show the traceback of an unexpected error.", False, is_setting=False),
    ),
    "fixing": (
        Option(
            "fix",
            "Repair calls and results first: files in place, standard input to output.",
            False,
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
