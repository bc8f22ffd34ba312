"""The summarizer and the summary store from the options."""

from pathlib import Path
from typing import TYPE_CHECKING

from ctxtrim.config.option import Values
from ctxtrim.errors import UsageError

if TYPE_CHECKING:
    from ctxtrim.archive.summary_store import SummaryStore
    from ctxtrim.summaries.summarizer import Summarizer


def has_summary_service(values: Values) -> bool:
    """Whether a run may use a model or command, or change a summary store."""
    return any(values[name] for name in ("llm_model", "llm_command", "summary_store"))


def summarizer_of(values: Values) -> "Summarizer | None":
    """The model or command that writes summaries, None for summaries by rules."""
    model, command, url = values["llm_model"], values["llm_command"], values["llm_base_url"]
    if model and command:
        raise UsageError("--llm-model and --llm-command cannot be combined; give one of them")
    if url and not model:
        raise UsageError("--llm-base-url needs --llm-model; give both")
    if model:
        from ctxtrim.summarizers.endpoint import Endpoint

        return Endpoint(model, url or None, values["llm_timeout"])
    if command:
        from ctxtrim.summarizers.command import Command

        return Command(command, values["llm_timeout"])
    return None


def store_of(values: Values) -> "SummaryStore | None":
    """The summary store, None without one.

    Raises `CtxtrimError` if the store cannot be read or written.
    """
    if not values["summary_store"]:
        return None
    from ctxtrim.archive.summary_store import SummaryStore

    store = SummaryStore(Path(values["summary_store"]))
    store.check()
    return store
