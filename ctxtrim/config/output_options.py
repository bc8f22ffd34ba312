"""The options about outputs, summaries and reports."""

from collections.abc import Mapping
from typing import Any

from ctxtrim.config.option import Option
from ctxtrim.formats.conversion import TARGETS
from ctxtrim.stages.reasoning import MODES
from ctxtrim.text.numbers import parse_tolerance

GROUPS = ("tool", "file", "command", "turn", "role")
"""The groups of tokens that `count` shows."""
REPORT_NAMES = "{reports}"
"""The place of the names of all reports in a help text: this package imports no report."""


def _restricted(
    name: str,
    metavar: str,
    text: str,
    default: Any = "",
    least: int | None = None,
    is_rare: bool = False,
) -> Option:
    """An option that neither a call nor configuration found in the working directory can set."""
    return Option(
        name,
        text,
        default,
        metavar,
        least=least,
        check=_check_path if metavar in ("DIR", "FILE") else None,
        is_restricted=lambda value: True,
        is_rare=is_rare,
        is_keyword=False,
    )


def _check_path(text: str) -> None:
    """Raise a `ValueError` for a text that no file or folder can have as its path."""
    if "\0" in text:
        raise ValueError("expected a path without a null character")


ROWS: Mapping[str, tuple[Option, ...]] = {
    "editing": (
        Option(
            "thinking",
            "Set what to do with reasoning in edited transcripts: auto (by model), "
            f"{', '.join(MODES)}. [default: auto]",
            "auto",
            metavar="MODE",
            choices=("auto", *MODES),
            is_rare=True,
        ),
        Option(
            "keep_snapshots",
            "Keep snapshot and progress lines of dropped messages (Claude Code).",
            False,
            is_rare=True,
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
            "Write to this file. Several inputs are written into a folder.",
            metavar="PATH",
            short="-o",
            is_setting=False,
        ),
        Option(
            "dry_run", "Show what would change; write and store nothing.", False, is_setting=False
        ),
    ),
    "output": (
        Option("in_place", "Replace each file that changes.", False, is_setting=False),
        Option(
            "on_overflow",
            "Leave out (fail) or keep transcripts that cannot fit. [default: fail]",
            "fail",
            choices=("fail", "keep"),
        ),
    ),
    "archive": (
        _restricted(
            "archive",
            "DIR",
            "Store the original of every edit in this folder. "
            "[default for files in place: in the user's data folder]",
        ),
        Option(
            "no_archive",
            "Store no originals and move no results to files: files that are replaced in place "
            "cannot be restored.",
            False,
            is_setting=False,
        ),
    ),
    "summarizing": (
        _restricted(
            "summary_store",
            "FILE",
            "Store summaries in this file and insert them into later prompts.",
            is_rare=True,
        ),
        _restricted(
            "llm_model",
            "NAME",
            "Let this model at an OpenAI-compatible endpoint write summaries.",
            is_rare=True,
        ),
        _restricted(
            "llm_base_url",
            "URL",
            "Set the endpoint; the key is CTXTRIM_LLM_API_KEY. [default: OpenAI's]",
            is_rare=True,
        ),
        _restricted(
            "llm_command",
            "CMD",
            "Let this command write summaries: it reads a prompt on standard input and prints the "
            "summary.",
            is_rare=True,
        ),
        _restricted(
            "llm_timeout",
            "SECONDS",
            "Limit the time for a summary. [default: 60]",
            60.0,
            least=1,
            is_rare=True,
        ),
    ),
    "events": (
        _restricted(
            "events",
            "FILE",
            "Append a JSON line to this file when a compaction starts and ends.",
            is_rare=True,
        ),
    ),
    "reporting": (
        _restricted(
            "log",
            "FILE",
            "Append a JSON line for each transcript to this file: "
            "time, original, final, max, dropped.",
            is_rare=True,
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
        Option(
            "quiet", "Print only errors on standard error.", False, short="-q", is_keyword=False
        ),
        Option(
            "progress",
            "Show a progress bar if standard error is a terminal.",
            True,
            is_rare=True,
            is_keyword=False,
        ),
        Option(
            "color",
            "Set when to use colors; NO_COLOR is respected. [default: auto]",
            "auto",
            choices=("auto", "always", "never"),
            is_rare=True,
            is_keyword=False,
        ),
        Option(
            "debug",
            "Show the traceback of an unexpected error.",
            False,
            is_setting=False,
            is_rare=True,
        ),
    ),
    "counting": (
        Option(
            "by",
            f"Show the tokens by {', '.join(GROUPS[:-1])} or {GROUPS[-1]}.",
            metavar="GROUP",
            choices=("", *GROUPS),
            is_setting=False,
        ),
    ),
    "checking": (
        Option(
            "verbose",
            "Show transcripts that pass too, and count their tokens.",
            False,
            is_setting=False,
        ),
    ),
    "gate": (
        Option(
            "strict",
            "Treat warnings and estimated counts as errors, with exit code 4.",
            False,
            is_keyword=False,
        ),
        Option(
            "baseline",
            "Compare with the tokens of each transcript in this file; growth is an error.",
            metavar="FILE",
            is_setting=False,
        ),
        Option(
            "tolerance",
            "Accept this growth: tokens, or a percentage, as in 5%. [default: 0]",
            "0",
            metavar="N|N%",
            check=parse_tolerance,
            is_setting=False,
        ),
        Option(
            "update_baseline",
            "Write the tokens of this run to the baseline; growth is not an error.",
            False,
            is_setting=False,
        ),
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
"""The options by section."""
