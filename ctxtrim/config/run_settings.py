"""The settings of a whole run, as stages have theirs: what may stand in configuration beside the settings of stages.

What an option asks of one run alone (where to write, which report) is no setting.
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
    """The presets that a text names; a `ValueError` tells what is none."""
    found = [name.strip() for name in text.split(",")] if text else []
    for name in found:
        if name not in PRESETS:
            raise ValueError(f"no such preset {name}; there are {', '.join(PRESETS)}")
    return found


@dataclass(init=False, repr=False, eq=False)  # a table of fields, of which nothing is made
class Shared:
    """Empty texts, and numbers that are None, leave it to the transcript, its model or the preset."""

    preset: str = setting("", "Settings by name, and the stages that run.", check=names)
    pipeline: tuple[str, ...] = setting((), "The stages of the automatic pipeline, as -s takes them.")
    enabled: bool = setting(False, "Whether the automatic pipeline runs.")
    format: str = setting("auto", "Dialect of the input.", choices=("auto", *FORMATS))
    messages_path: str = setting("", "Where message lists are in larger documents.")
    max_size: int = setting(MAX_SIZE, "Bytes that a line or a document may have.", least=1, units=SIZES)
    model: str = setting("", "Which window, limits and tokenizer.")
    context_window: int | None = setting(None, "What the model can hold, in tokens.", least=1)
    reserve: int | None = setting(None, "Tokens kept free for the answer.", least=0)
    budget: int | None = setting(None, "Tokens the prompt may fill.", least=1)
    tokenizer: str = setting("", "A tokenizer by name.", is_restricted=is_path)
    safety: float = setting(1.0, "Factor on estimated counts.", least=1)
    calibrate: bool = setting(False, "Learn from the usage that a transcript records.")
    thinking: str = setting("auto", "What becomes of it where messages are edited.", choices=("auto", *MODES))
    keep_snapshots: bool = setting(False, "Keep snapshot and progress lines of dropped messages.")
    on_overflow: str = setting("fail", "What becomes of what cannot be made to fit.", choices=("fail", "keep"))
    archive: str = _restricted("", "Keep the original of everything that is edited here.")
    summary_store: str = _restricted("", "Keep summaries in this file, and put them back into later prompts.")
    llm_model: str = _restricted("", "The model that writes summaries, at an OpenAI-compatible endpoint.")
    llm_base_url: str = _restricted("", "The endpoint of that model.")
    llm_command: str = _restricted("", "A command that writes summaries.")
    llm_timeout: float = _restricted(60.0, "How many seconds a summary may take.", least=1)
    events: str = _restricted("", "Append JSON lines to this file as compactions start and end.")
    log: str = _restricted("", "Append a JSON line for each transcript to this file.")
    explain: bool = setting(False, "One row a message.")
    quiet: bool = setting(False, "Say nothing on standard error but errors.")
    progress: bool = setting(True, "A progress bar on standard error, where that is a terminal.")
    color: str = setting("auto", "Colours.", choices=("auto", "always", "never"))


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
