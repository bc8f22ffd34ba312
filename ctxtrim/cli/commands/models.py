"""`ctxtrim models`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from ctxtrim.cli.exit_codes import Debug, concluded
from ctxtrim.cli.request import configuration
from ctxtrim.cli.terminal import print_text, say
from ctxtrim.metering import BOUND
from ctxtrim.reports.text import Table, plain
from ctxtrim.text.escaping import clean, json_text
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokens import Exactness
from ctxtrim.tokens.framing import Framing
from ctxtrim.tokens.models import Model, find_model, framing_of, known_models, nearest_models

_ALSO = 8  # names told beside the one explained


def models(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A model, or a part of its name.")] = None,
    is_json: Annotated[bool, typer.Option("--json", help="The models as JSON.")] = False,
    debug: Debug = False,
) -> None:
    """Window, limits, tokenizer, exactness, source and date of a model.

    Without NAME all models are listed. A part of several names lists those; a name that no model has tells the nearest.
    """
    raise typer.Exit(concluded(lambda: _models(name, is_json), shows_traceback=debug))


def _models(name: str | None, is_json: bool) -> int:
    own = configuration({}).model_of(name)
    model = (own if own.source else find_model(name)) if name else None
    listed = [one for one in known_models() if name is None or name.lower() in one.name or name.lower() == _vendor(one)]
    if model is None and not listed:
        nearest = ", ".join(nearest_models(name or ""))
        say(
            f"ctxtrim: no model {name or ''} is known"
            + (f" (nearest names: {nearest})" if nearest else "")
            + "; --context-window and --tokenizer make up for it"
        )
        return 1
    if is_json:
        shown = {"version": 1, "models": [_fields(one) for one in ([model] if model else listed)]}
        text = json_text(shown, indent=2) + "\n"
    elif model is not None:
        text = _explained(model, [one.name for one in listed if one.name != model.name])
    else:
        text = plain(_table(listed)) + f"{len(listed):,} model{'' if len(listed) == 1 else 's'}\n"
    print_text(text)
    return 0


def _vendor(model: Model) -> str:
    return model.provider.lower()


def _fields(model: Model) -> dict[str, Any]:
    """A model as the JSON output has it."""
    name, framing = framing_of(model, tokenizer(model.tokenizer).exactness)
    return {
        "name": model.name,
        "provider": model.provider,
        "context_window": model.context_window,
        "max_input": model.max_input or model.context_window,
        "max_output": model.max_output,
        "tokenizer": model.tokenizer,
        "exactness": _exactness(model),
        "framing": name,
        "tool_prompt": _tool_prompt(framing),
        "image_policy": model.image_policy,
        "image": model.image,
        "source": model.source,
        "date": model.date,
    }


def _exactness(model: Model) -> Exactness:
    """How far a count of plain messages can be trusted."""
    counts = tokenizer(model.tokenizer).exactness
    return counts if counts != "exact" or framing_of(model, counts)[1].is_verified else "bounded"


def _tool_prompt(framing: Framing) -> dict[str, int] | None:
    """What is charged once where tool schemas are sent, and where one must be called; None where it depends on them."""
    request = framing.request
    if request.declares is not None:
        return None
    forced = request.tools if request.tools_forced is None else request.tools_forced
    return {"auto": request.tools, "forced": forced}


def _told(prompt: Mapping[str, int]) -> str:
    forced = f", {prompt['forced']} where one must be called" if prompt["forced"] != prompt["auto"] else ""
    return f"{prompt['auto']} tokens beside tool schemas{forced}"


def _explained(model: Model, others: Sequence[str]) -> str:
    """One model, a line for each thing known of it."""
    counted = tokenizer(model.tokenizer)
    remark = "; on Python 3.12 and newer ctok counts it" if counted.name.endswith(BOUND) else ""
    tokens = f"{counted.name} ({_exactness(model)} for plain messages{remark})"
    framing, numbers = framing_of(model, counted.exactness)
    facts = {
        "model": model.name,
        "provider": model.provider,
        "context window": f"{model.context_window:,} tokens",
        "max input": f"{model.max_input or model.context_window:,} tokens",
        "max output": f"{model.max_output:,} tokens" if model.max_output else "not known",
        "tokenizer": tokens,
        "framing": framing,
        **({"tool prompt": _told(prompt)} if (prompt := _tool_prompt(numbers)) else {}),
        "one image": f"at most {model.image:,} tokens ({model.image_policy})",
        "source": model.source,
        "date": model.date,
    }
    if others:
        rest = f" and {len(others) - _ALSO} more" if len(others) > _ALSO else ""
        facts["see also"] = ", ".join(others[:_ALSO]) + rest
    width = max(map(len, facts))
    return "".join(f"{fact.ljust(width)}  {clean(value)}\n" for fact, value in facts.items())


def _table(listed: Sequence[Model]) -> Table:
    columns = ("model", "provider", ">window", ">max input", ">max output", "tokenizer", "counts", "date")
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
    return Table("", columns, rows)


_SINGLE = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
_SINGLE.command("models", context_settings={"max_content_width": 120})(models)
COMMAND = typer.main.get_command(_SINGLE)
