"""What stages need from outside: who writes summaries, and where they are kept."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctxtrim.archive.summary_store import Store
from ctxtrim.errors import UsageError
from ctxtrim.summaries import Summarizer


def summarizer_of(values: Mapping[str, Any]) -> Summarizer | None:
    """The model or the command that writes summaries, None for facts alone."""
    model, command, url = values["llm_model"], values["llm_command"], values["llm_base_url"]
    if model and command:
        raise UsageError("--llm-model and --llm-command both write summaries; give one of them")
    if url and not model:
        raise UsageError("--llm-base-url is the endpoint of a model; give --llm-model too")
    if model:
        from ctxtrim.summarizers import Endpoint

        return Endpoint(model, url or None, values["llm_timeout"])
    if command:
        from ctxtrim.summarizers import Command

        return Command(command, values["llm_timeout"])
    return None


def store_of(values: Mapping[str, Any]) -> Store | None:
    """The summary store, known to be of use before anything is edited."""
    if not values["summary_store"]:
        return None
    store = Store(Path(values["summary_store"]))
    store.check()
    return store
