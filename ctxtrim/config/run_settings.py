"""The settings of a run that configuration can set, besides the settings of stages.

Options about one run only, such as where to write and which report, are not settings.
"""

from dataclasses import Field, dataclass
from typing import Any

from ctxtrim.formats import FORMATS
from ctxtrim.presets import PRESETS
from ctxtrim.stage import setting, settings_of
from ctxtrim.stages.reasoning import MODES
from ctxtrim.text.records import MAX_SIZE
from ctxtrim.tokenizers.tokenizer_files import is_path


def _restricted(default: Any, text: str, least: int | None = None) -> Any:
    """A setting that configuration found in the working directory cannot set."""
    return setting(default, text, least, is_restricted=lambda value: True)


SIZES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
"""Bytes by the units that may follow a size."""


def names(text: str) -> list[str]:
    """The presets in a comma-separated text. Raises `ValueError` for an unknown preset."""
    presets = [name.strip() for name in text.split(",")] if text else []
    for name in presets:
        if name not in PRESETS:
            raise ValueError(f"unknown preset {name}; expected one of {', '.join(PRESETS)}")
    return presets


@dataclass(init=False, repr=False, eq=False)  # only a table of fields: it has no instances
class Shared:
    """Run settings. With an empty string or None, the transcript, its model or the
    preset decides.
    """

    preset: str = setting("", "Presets to apply, and their stages.", check=names)
    pipeline: tuple[str, ...] = setting(
        (), "The stages of the automatic pipeline, as -s takes them."
    )
    enabled: bool = setting(False, "Whether the automatic pipeline runs.")
    format: str = setting("auto", "The format of the input.", choices=("auto", *FORMATS))
    messages_path: str = setting("", "The path of message lists in larger documents.")
    max_size: int = setting(
        MAX_SIZE, "The most bytes of a line or a document.", least=1, units=SIZES
    )
    model: str = setting("", "The model that defines window, limits and tokenizer.")
    context_window: int | None = setting(
        None, "The context window of the model in tokens.", least=1
    )
    reserve: int | None = setting(None, "Tokens to keep free for the answer.", least=0)
    budget: int | None = setting(None, "The most tokens of the prompt.", least=1)
    tokenizer: str = setting("", "The tokenizer.", is_restricted=is_path)
    safety: float = setting(1.0, "The factor for estimated counts.", least=1)
    calibrate: bool = setting(False, "Raise counts to match the usage that a transcript records.")
    thinking: str = setting(
        "auto", "What to do with reasoning in edited transcripts.", choices=("auto", *MODES)
    )
    keep_snapshots: bool = setting(False, "Keep snapshot and progress lines of dropped messages.")
    on_overflow: str = setting(
        "fail", "What to do with transcripts that cannot fit.", choices=("fail", "keep")
    )
    archive: str = _restricted("", "Store the original of every edit in this folder.")
    summary_store: str = _restricted(
        "", "Store summaries in this file and insert them into later prompts."
    )
    llm_model: str = _restricted(
        "", "The model that writes summaries, at an OpenAI-compatible endpoint."
    )
    llm_base_url: str = _restricted("", "The endpoint of that model.")
    llm_command: str = _restricted("", "The command that writes summaries.")
    llm_timeout: float = _restricted(60.0, "The most seconds that a summary may take.", least=1)
    events: str = _restricted(
        "", "Append a JSON line to this file when a compaction starts and ends."
    )
    log: str = _restricted("", "Append a JSON line for each transcript to this file.")
    explain: bool = setting(False, "Show one row for each message.")
    quiet: bool = setting(False, "Print only errors on standard error.")
    progress: bool = setting(True, "Show a progress bar if standard error is a terminal.")
    color: str = setting("auto", "When to use colors.", choices=("auto", "always", "never"))


SHARED: dict[str, Field[Any]] = {field.name: field for field in settings_of(Shared)}  # type: ignore[arg-type]

OPTIONS = (
    "explain_format",
    "report",
    "report_format",
    "json",
    "output",
    "in_place",
    "dry_run",
    "fix",
    "config",
    "debug",
)
"""Options that no configuration can hold."""
