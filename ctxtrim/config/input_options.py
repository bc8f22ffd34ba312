"""The options about inputs and budgets."""

from collections.abc import Mapping

from ctxtrim.config.option import Option
from ctxtrim.config.presets import PRESETS
from ctxtrim.formats import FORMATS
from ctxtrim.metering import USAGE
from ctxtrim.text.globs import path_glob
from ctxtrim.text.json_paths import patterns
from ctxtrim.text.names import suggestion
from ctxtrim.text.records import MAX_SIZE
from ctxtrim.tokenizers import check_name
from ctxtrim.tokenizers.tokenizer_files import is_path

SIZES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
"""Bytes by the units that may follow a size."""


def preset_names(text: str) -> list[str]:
    """The presets in a comma-separated text. Raises `ValueError` for an unknown preset."""
    presets = [name.strip() for name in text.split(",")] if text else []
    for name in presets:
        if name not in PRESETS:
            hint = suggestion(name, PRESETS)
            which = "" if name == text.strip() else f" {name or repr(name)}"  # of several
            raise ValueError(f"unknown preset{which}; expected one of {', '.join(PRESETS)}{hint}")
    return presets


def _check_tokenizer(name: str) -> None:
    """Raise a `ValueError` for an unknown tokenizer."""
    if name:
        check_name(name, "auto", USAGE)


ROWS: Mapping[str, tuple[Option, ...]] = {
    "preset": (
        Option(
            "preset",
            f"Apply a named preset: {', '.join(PRESETS)}. run without -s runs its stages.",
            metavar="NAME",
            check=preset_names,
        ),
    ),
    "automatic": (
        Option(
            "pipeline", "The stages of the automatic pipeline, as -s takes them.", (), is_flag=False
        ),
        Option(
            "enabled",
            "Run the configured stages if neither -s nor --preset names any.",
            False,
            is_rare=True,
        ),
    ),
    "input": (
        Option(
            "latest",
            "Read the newest session of an agent program; of this project, if there is one.",
            False,
            is_setting=False,
        ),
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
            is_rare=True,
        ),
        Option(
            "messages_path",
            "Set the path of message lists in documents, as in 'simulations[*].messages'.",
            metavar="PATH",
            check=patterns,
            is_rare=True,
        ),
        Option(
            "each_request",
            "Read each request of a trace as a transcript, not each conversation.",
            False,
            is_rare=True,
        ),
        Option(
            "max_size",
            "Refuse longer lines and documents, after decompression. [default: 1GiB]",
            MAX_SIZE,
            metavar="BYTES",
            least=1,
            units=SIZES,
            is_rare=True,
        ),
        Option(
            "jobs",
            "Use N processes. [default: all cores if the input is large, else 1]",
            None,
            least=1,
            is_rare=True,
            is_keyword=False,
        ),
        Option(
            "config",
            "Read settings from this file. They take precedence over those of the project and the "
            "user.",
            metavar="FILE",
            is_setting=False,
        ),
    ),
    "budget": (
        Option(
            "model",
            "Set the model: window, limits, tokenizer. [default: the last one in the transcript]",
            metavar="NAME",
            short="-m",
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
            "Set the maximum tokens, or a share of the window: 30k, 80%. "
            "[default: window - reserve, at most the model's max input]",
            None,
            least=1,
            short="-b",
            is_share=True,
        ),
        Option(
            "tokenizer",
            "Set the tokenizer: auto (by model), usage (recorded usage, for count and check), "
            "o200k_base, cl100k_base, chars4, bytes4, or a tokenizer.json or .model file. "
            "[default: by model, else o200k_base]",
            metavar="NAME",
            check=_check_tokenizer,
            is_restricted=is_path,
        ),
        Option(
            "safety",
            "Divide the budget of estimated counts by this factor, at least 1. [default: 1.0]",
            1.0,
            metavar="F",
            least=1,
            is_rare=True,
        ),
        Option(
            "calibrate",
            "Raise counts to match the usage that a transcript records.",
            False,
            is_rare=True,
        ),
    ),
    "scanning": (
        Option(
            "include",
            "In folders, read only files that match: 'runs/*.jsonl'. May be repeated.",
            (),
            metavar="GLOB",
            check=path_glob,
            is_setting=False,
        ),
        Option(
            "exclude",
            "In folders, leave out files and folders that match. May be repeated.",
            (),
            metavar="GLOB",
            check=path_glob,
            is_setting=False,
        ),
        Option(
            "gitignore",
            "In folders, leave out paths that .gitignore ignores.",
            True,
            is_rare=True,
            is_keyword=False,
        ),
        Option(
            "allow_empty",
            "Accept empty inputs, JSON without a transcript, and folders without files.",
            False,
            is_setting=False,
            is_rare=True,
        ),
    ),
}
"""The options by section."""
