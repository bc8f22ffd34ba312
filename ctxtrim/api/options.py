"""What a program asks for, by the names that files of ours have, and those of the designs that ctxtrim grew from.

::

    {"model": "gpt-4o", "reserve": 8192, "keep_recent_turns": 3}
    {"maxContextTokens": 128000, "reservedOutputTokens": 4096, "trimStrategy": "priority-based", "enabled": True}
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ctxtrim.config import Config, program
from ctxtrim.errors import UsageError
from ctxtrim.metering import USAGE, Binding
from ctxtrim.pipeline import Spec
from ctxtrim.stages.reasoning import Thinking
from ctxtrim.tokenizers import family_of, tokenizer
from ctxtrim.tokens.models import Model

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Settings:
    """What prompts are measured with, and the stages that make them fit.

    `is_on`: unless the config says that it is not enabled. `thinking`: None for what the model needs.
    """

    config: Config
    binding: Binding
    stages: tuple[Spec, ...]
    is_on: bool
    thinking: Thinking | None

    def of_stage(self, name: str) -> dict[str, Any]:
        """The settings of a stage, whether it is one of those that run or not."""
        return self.config.spec(name).settings


def settings(options: Options | None, where: str, preset: str = "budget", *, is_session: bool = False) -> Settings:
    """The settings that some options are; what they leave out is as a preset has it.

    A `UsageError` begins with `where` they were given, and names what is none of ours or has no such value.
    `is_session`: as in `Config.binding`.
    """
    config = program(dict(options or {}), where, preset)
    values = config.values
    if values["tokenizer"] == USAGE:
        raise UsageError(f"{where}: tokenizer {USAGE}: recorded usage is no measure to trim by; name another one")
    binding = config.binding(tokenizer, _with_own(config.model_of), is_session=is_session)
    thinking = None if values["thinking"] == "auto" else values["thinking"]
    return Settings(config, binding, config.pipeline(), config.enabled.value, thinking)


def _with_own(model_of: Callable[[str | None], Model]) -> Callable[[str | None], Model]:
    """What a model's name means, with the tokenizer that the program has added for its family."""

    def found(name: str | None) -> Model:
        model = model_of(name)
        family = family_of(name) if name is not None else None
        return model if family is None else replace(model, tokenizer=family)

    return found
