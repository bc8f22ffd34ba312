"""`ctxtrim models`."""

from collections.abc import Mapping, Sequence
from typing import Any

from ctxtrim.cli.command_types import JSON, HelpfulArgument, HelpfulCommand
from ctxtrim.cli.configuration import configuration
from ctxtrim.cli.messages import print_data, print_text
from ctxtrim.cli.terminal import fitted
from ctxtrim.errors import UsageError
from ctxtrim.metering import BOUND
from ctxtrim.reports.tables import Table
from ctxtrim.text.escaping import clean, json_text
from ctxtrim.text.numbers import several
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokens.framing import Framing
from ctxtrim.tokens.models import (
    Model,
    find_model,
    framing_name,
    framing_of,
    known_models,
    nearest_hint,
)
from ctxtrim.tokens.tokenizer import Exactness

_SIMILAR = 8  # names of similar models to show


def models(name: str | None, is_json: bool) -> int:
    """Show the window, limits, tokenizer, exactness, source and date of a model.

    Without NAME, list all models. With part of a name, list the models that match.
    """
    configured = configuration({}).model_of(name)
    model: Model | None = None
    if name:
        model = configured if configured.source else find_model(name)
    listed = [known for known in known_models() if name is None or _matches(known, name.lower())]
    if model is None and not listed:
        raise UsageError(
            f"unknown model {clean(name or '')}{nearest_hint(name or '')}; for a model that is "
            "not listed, set --context-window and --tokenizer"
        )
    if is_json:
        document = {
            "version": 1,
            "models": [_fields(entry) for entry in ([model] if model else listed)],
        }
        print_data(json_text(document, indent=2) + "\n")
        return 0
    if model is not None:
        text = _details(model, [similar.name for similar in listed if similar.name != model.name])
    else:
        text = fitted(_table(listed)) + f"{several(len(listed), 'model')}\n"
    print_text(text)
    return 0


def _matches(model: Model, name: str) -> bool:
    """Whether `name`, in lower case, is part of the model's name or is its provider."""
    return name in model.name or name == model.provider.lower()


def _fields(model: Model) -> dict[str, Any]:
    """A model in the JSON output."""
    counts = tokenizer(model.tokenizer).exactness
    return {
        "name": model.name,
        "provider": model.provider,
        "context_window": model.context_window,
        "max_input": model.max_input or model.context_window,
        "max_output": model.max_output,
        "tokenizer": model.tokenizer,
        "exactness": _exactness(model),
        "framing": framing_name(model, counts),
        "tool_prompt": _tool_prompt(framing_of(model, counts)),
        "image_policy": model.image_policy,
        "image": model.image,
        "source": model.source,
        "date": model.date,
    }


def _exactness(model: Model) -> Exactness:
    """The exactness of a count of plain messages."""
    if not model.is_known:
        return "estimated"
    counts = tokenizer(model.tokenizer).exactness
    return counts if counts != "exact" or framing_of(model, counts).is_verified else "bounded"


def _tool_prompt(framing: Framing) -> dict[str, int] | None:
    """Tokens charged once with tool schemas, also with a forced tool call; None if they depend on
    the schemas.
    """
    request = framing.request
    if request.declares is not None:
        return None
    forced = request.tools if request.tools_forced is None else request.tools_forced
    return {"auto": request.tools, "forced": forced}


def _tool_prompt_text(prompt: Mapping[str, int]) -> str:
    text = f"{prompt['auto']:,} tokens in addition to tool schemas"
    if prompt["forced"] != prompt["auto"]:
        text += f", {prompt['forced']} with a forced tool call"
    return text


def _details(model: Model, others: Sequence[str]) -> str:
    """One model, one line for each fact."""
    counted = tokenizer(model.tokenizer)
    remark = "; on Python 3.12 and newer ctok counts it" if counted.name.endswith(BOUND) else ""
    tokens = f"{counted.name} ({_exactness(model)} for plain messages{remark})"
    prompt = _tool_prompt(framing_of(model, counted.exactness))
    facts = {
        "model": model.name,
        "provider": model.provider or "unknown",
        "context window": f"{model.context_window:,} tokens",
        "max input": f"{model.max_input or model.context_window:,} tokens",
        "max output": f"{model.max_output:,} tokens" if model.max_output else "unknown",
        "tokenizer": tokens,
        "framing": framing_name(model, counted.exactness),
        **({"tool prompt": _tool_prompt_text(prompt)} if prompt is not None else {}),
        "one image": f"at most {model.image:,} tokens ({model.image_policy})",
        "source": model.source,
        "date": model.date or "unknown",
    }
    if others:
        rest = f" and {len(others) - _SIMILAR} more" if len(others) > _SIMILAR else ""
        facts["see also"] = ", ".join(others[:_SIMILAR]) + rest
    width = max(map(len, facts))
    return "".join(f"{fact.ljust(width)}  {clean(value)}\n" for fact, value in facts.items())


def _table(listed: Sequence[Model]) -> Table:
    columns = (
        "model",
        "provider",
        ">window",
        ">max input",
        ">max output",
        "tokenizer",
        "counts",
        "date",
    )
    rows = tuple(
        (
            model.name,
            model.provider,
            f"{model.context_window:,}",
            f"{model.max_input or model.context_window:,}",
            f"{model.max_output:,}" if model.max_output else "-",
            model.tokenizer,
            _exactness(model),
            model.date,
        )
        for model in listed
    )
    optional = ("date", "max output", "counts", "max input", "provider")
    return Table("", columns, rows, optional)


COMMAND = HelpfulCommand(
    "models",
    models,
    [
        HelpfulArgument("name", "NAME", "A model, or part of its name.", required=False),
        JSON,
    ],
)
