"""Options of the API, with the keys of `ctxtrim.toml` or the names in other programs.

::

    {"model": "gpt-4o", "reserve": 8192, "keep_recent_turns": 3}
    {"maxContextTokens": 128000, "reservedOutputTokens": 4096, "enabled": True}
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from ctxtrim.config.from_call import call_config
from ctxtrim.config.resolution import Config
from ctxtrim.errors import UsageError
from ctxtrim.metering import USAGE, Metering
from ctxtrim.pipeline import Spec, StagePipeline
from ctxtrim.tokenizers import family_of, registrations, tokenizer
from ctxtrim.tokens.models import Model, assumed_model

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Settings:
    """The settings of a call: tokenizer, model, budget and stages.

    `is_on` is false if the config disables the layer.
    """

    config: Config
    metering: Metering
    stages: tuple[Spec, ...]
    is_on: bool

    def pipeline(self, *stages: Spec) -> StagePipeline:
        """Some stages with these settings."""
        return StagePipeline(stages, self.metering, self.config.thinking)

    def of_stage(self, name: str) -> dict[str, Any]:
        """The settings of a stage, which need not be one of `stages`."""
        return self.config.spec(name).settings


def parse_options(
    location: str, *options: Options | None, preset: str = "budget", is_session: bool = False
) -> Settings:
    """The settings from configs and keywords; the last one wins.

    Missing options have the values of the preset. Files and the environment are not read. Raises
    `UsageError`, beginning with `location`, for an unknown option or an invalid value.
    `is_session`: as in `Config.metering`.
    """
    config = call_config(location, preset, *(mapping for mapping in options if mapping is not None))
    if config.values["tokenizer"] == USAGE:
        raise UsageError(
            f"{location}: tokenizer {USAGE}: recorded usage cannot be used to trim; name "
            "another tokenizer"
        )
    metering = config.metering(
        tokenizer, _model_of, is_session=is_session, registrations=registrations
    )
    return Settings(config, metering, config.pipeline(), config.enabled.value)


def _model_of(name: str | None) -> Model:
    """The model of a name, with the tokenizer that the program registered for its family."""
    model = assumed_model(name)
    family = family_of(name) if name is not None else None
    return model if family is None else replace(model, tokenizer=family)
