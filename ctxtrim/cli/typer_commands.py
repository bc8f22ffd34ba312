"""Commands for Typer, from functions that return an exit code."""

from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ctxtrim.cli.exit_codes import exit_code_of
from ctxtrim.config.run_settings import OPTIONS

CONTEXT = {"max_content_width": 120}
"""The settings of commands: the most columns of a help text."""


class AsGiven:
    """A command whose values are texts and flags, passed on as given.

    The configuration checks them. Typer would load pydantic for that, which takes longer than the
    check of a small file.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, including `--help`."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if not parameter.required:  # Typer reports a value that is missing
                parameter.process_value = partial(_as_given, parameter)
        return parameters


class TextCommand(AsGiven, TyperCommand):
    """A command of texts and flags."""


def _as_given(parameter: Any, ctx: Any, value: Any) -> Any:
    """The value of a parameter; an empty tuple for a list without values."""
    if value is None and (parameter.multiple or parameter.nargs == -1):
        value = ()
    return value if parameter.callback is None else parameter.callback(ctx, parameter, value)


def group(**settings: Any) -> typer.Typer:
    """A group of commands, with some settings of Typer."""
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=CONTEXT,
        **settings,
    )


def single_command(name: str, function: Callable[..., int]) -> Any:
    """The command that runs a function; see `add_command`."""
    commands = group()
    add_command(commands, name, function)
    return typer.main.get_command(commands)


def add_command(commands: typer.Typer, name: str, function: Callable[..., int]) -> None:
    """Add the command that runs a function to a group, with the option `--debug`.

    The parameters of the function are the options, its docstring is the help text.
    """
    parameters = [*signature(function, eval_str=True).parameters.values()]
    has_debug = any(parameter.name == _DEBUG.name for parameter in parameters)

    def body(**values: Any) -> None:
        is_debug = values[_DEBUG.name] if has_debug else values.pop(_DEBUG.name)
        raise typer.Exit(exit_code_of(lambda: function(**values), shows_traceback=is_debug))

    body.__doc__ = function.__doc__
    all_parameters = parameters if has_debug else [*parameters, _DEBUG]
    body.__signature__ = Signature(all_parameters)  # type: ignore[attr-defined]
    commands.command(name, cls=TextCommand, context_settings=CONTEXT)(body)


_DEBUG = Parameter(
    "debug",
    Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--debug", help=OPTIONS["debug"].help)],
)
