"""Named pipelines: the context policies that people already use, as stages and their settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxtrim.stages.compaction_trigger import RESERVE

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Preset:
    """`stages`, each with what it has other than by default.

    `window`: the most that the prompt and its answer may take, in tokens, whatever more a model could hold; `reserve`:
    the tokens kept free for the answer, where the window leaves any beside them. `archives`: originals are kept, in the
    user's data folder where no archive is named. `is_session`: where no window is known, `session_tokens` of the stage
    `compact` are the budget; where that stage is not `auto`, `check` replaces `trim`.
    """

    text: str
    stages: Mapping[str, Settings]
    window: int | None = None
    archives: bool = False
    reserve: int | None = None
    is_session: bool = False


PRESETS: Mapping[str, Preset] = {
    "rolling": Preset(
        "Tool results go after 5 steps; errors, small ones, what was quoted or is used, and files in use stay.",
        {"truncate": {"metadata": True}},
    ),
    "budget": Preset(
        "The prompt fits a window of 128000 tokens, 4096 of them kept for the answer.",
        {"trim": {}},
        window=128_000,
    ),
    "retention": Preset(
        "Tool results are whole for two turns, then three lines and a pointer to the original.",
        {
            "truncate": {
                "clock": "turns",
                "max_age": 1,
                "max_tokens": 0,
                "replace": "head",
                "keep_errors": False,
                "keep_small": 0,
                "keep_quoted": False,
                "keep_chains": False,
                "keep_active_files": False,
            }
        },
        archives=True,
    ),
    "compact": Preset(
        "A session is compacted until it fits: digests of old tool results, one summary of old messages.",
        {
            "truncate": {
                "clock": "none",
                "max_tokens": 0,
                "max_lines": 2000,
                "max_bytes": 51_200,
                "max_chars": 204_800,
                "spill_above": 204_800,
                "keep_active_files": False,
            },
            "cutoff": {},
            "compact": {},
            "trim": {},
        },
        reserve=RESERVE,
        is_session=True,
    ),
}

_ORDER = ("truncate", "cutoff", "compact", "trim", "check")
"""In which stages of several presets run: results first, then the session, then the budget, the verdict last."""


def merged(names: Sequence[str]) -> Preset:
    """Several presets as one; what a later one says of a stage, the window or the reserve wins."""
    found = [PRESETS[name] for name in names]
    stages: dict[str, Settings] = {}
    for preset in found:
        for stage, settings in preset.stages.items():
            stages[stage] = {**stages.get(stage, {}), **settings}
    windows = [preset.window for preset in found if preset.window is not None]
    reserves = [preset.reserve for preset in found if preset.reserve is not None]
    return Preset(
        " ".join(preset.text for preset in found),
        {name: stages[name] for name in _ORDER if name in stages},
        windows[-1] if windows else None,
        any(preset.archives for preset in found),
        reserves[-1] if reserves else None,
        any(preset.is_session for preset in found),
    )
