"""Named pipelines: common context policies as stages and settings."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ctxtrim.config.option import Values
from ctxtrim.stages.compaction_trigger import RESERVE


class Preset(Struct, frozen=True):
    """A named pipeline. `stages` maps stage names to the settings that differ from the defaults.

    `window`: the maximum of the prompt and its answer in tokens, even if the model allows more.
    `reserve`: the tokens kept free for the answer, if that is at most half of the window.
    `archives`: the stages that store originals, in the user's data folder if no archive is set.
    `is_session`: without a known window that is large enough for the reserve, `session_tokens` of
    the stage `SESSION` is the budget; if that stage is not `auto`, `checks` applies.
    """

    text: str
    stages: Mapping[str, Values]
    window: int | None = None
    archives: tuple[str, ...] = ()
    reserve: int | None = None
    is_session: bool = False


PRESETS: Mapping[str, Preset] = {
    "rolling": Preset(
        "Truncate tool results older than 5 steps; keep errors, small, quoted and used "
        "results, and files in use.",
        {"truncate": {"metadata": True}},
    ),
    "budget": Preset(
        "Fit the prompt into the model's window, at most 128000 tokens, with 4096 reserved for the "
        "answer.",
        {"trim": {}},
        window=128_000,
    ),
    "retention": Preset(
        "Keep tool results whole for two turns, then three lines and a pointer to the original.",
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
        archives=("truncate",),
    ),
    "compact": Preset(
        "Compact a session until it fits: digests of old tool results, "
        "one summary of old messages.",
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
"""The order of the stages of combined presets: results first, then the session, the budget, and the
verdict last.
"""


SESSION = "compact"
"""The stage that compacts a session. Its settings apply to all session presets."""


def checks(stages: Iterable[str]) -> tuple[str, ...]:
    """The stages with a check of the budget instead of a trim to it."""
    return tuple("check" if name == "trim" else name for name in stages)


def merged(names: Sequence[str]) -> Preset:
    """Several presets as one.

    The last preset that sets a stage setting, the window or the reserve takes precedence.
    """
    presets = [PRESETS[name] for name in names]
    stages: dict[str, Values] = {}
    for preset in presets:
        for stage, settings in preset.stages.items():
            stages[stage] = {**stages.get(stage, {}), **settings}
    windows = [preset.window for preset in presets if preset.window is not None]
    reserves = [preset.reserve for preset in presets if preset.reserve is not None]
    return Preset(
        " ".join(preset.text for preset in presets),
        {name: stages[name] for name in _ORDER if name in stages},
        windows[-1] if windows else None,
        tuple(stage for preset in presets for stage in preset.archives),
        reserves[-1] if reserves else None,
        any(preset.is_session for preset in presets),
    )
