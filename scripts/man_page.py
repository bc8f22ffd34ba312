"""The man page, from the help pages of all commands and stages."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from ctxtrim import STAGES
from ctxtrim.cli.app import COMMANDS, app
from ctxtrim.cli.command_types import PROGRAM
from ctxtrim.cli.help_pages import Page, command_page, stage_page

_CODES = {
    "0": "Success. For check: every transcript fits and is well formed.",
    "1": "The result is incomplete: a file cannot be read or written, or has no transcript.",
    "2": "Wrong usage: an unknown option, setting or value.",
    "3": "Overflow: a transcript does not fit the budget.",
    "4": "check only: a transcript breaks the structure rules.",
}
_FILES = {
    "ctxtrim.toml, pyproject.toml ([tool.ctxtrim]), agents.config.json": "Settings of a project.",
    "~/.config/ctxtrim/config.toml": "Settings of the user on Linux.",
    "~/Library/Application Support/ctxtrim/config.toml": "Settings of the user on macOS.",
}
_VARIABLES = {
    "CTXTRIM_NAME": "Sets the option --name, as in CTXTRIM_MAX_AGE=3.",
    "CTXTRIM_CONFIG": "Names the file of --config.",
    "CTXTRIM_LLM_API_KEY": "The key of the endpoint of --llm-model.",
    "NO_COLOR": "Turns colors off.",
}


def man_page() -> str:
    """The text of `ctxtrim.1`, for groff and mandoc."""
    lines = ['.TH CTXTRIM 1 "" "ctxtrim" "User Commands"', ".SH NAME"]
    lines += [r"ctxtrim \- count, truncate, trim and check recorded LLM conversations"]
    context = app.make_context(PROGRAM, [], resilient_parsing=True)
    first = command_page(app, context)
    lines += [".SH SYNOPSIS", _roff(first.usage), ".SH DESCRIPTION", *_paragraphs(first.text)]
    lines += _examples(first.examples)
    lines += [".SH COMMANDS"]
    for page in _pages(app, context):
        lines += _section(page)
    lines += [".SH STAGES", "Stages of ctxtrim run that are no commands, for \\-s."]
    for name in STAGES:
        if name not in COMMANDS:
            lines += _section(stage_page(name))
    for title, rows in (
        ("OPTIONS", {entry.names: entry.text for entry in first.panels["Options"]}),
        ("ENVIRONMENT", _VARIABLES),
        ("FILES", _FILES),
        ("EXIT STATUS", _CODES),
    ):
        lines += [f".SH {title}", *_rows(rows)]
    return "\n".join(lines) + "\n"


def _pages(root: Any, context: Any) -> Iterator[Page]:
    """The page of each command, and of the commands of a group after it."""
    for name in COMMANDS:
        command = root.get_command(context, name)
        inner = click.Context(command, info_name=name, parent=context)
        yield command_page(command, inner)
        for child in command.list_commands(inner) if hasattr(command, "list_commands") else ():
            part = command.get_command(inner, child)
            yield command_page(part, click.Context(part, info_name=child, parent=inner))


def _section(page: Page) -> Iterator[str]:
    yield f'.SS "{_roff(page.name)}"'
    yield _roff(page.usage)
    yield from _paragraphs(page.text)
    for title, entries in page.panels.items():
        if title != "Commands":
            yield f".PP\n\\fB{_roff(title)}\\fR"
            yield from _rows({entry.names: entry.text for entry in entries})
    yield from _paragraphs(page.note)
    yield from _examples(page.examples)


def _rows(rows: Mapping[str, str]) -> Iterator[str]:
    for names, text in rows.items():
        yield f".TP\n\\fB{_roff(names)}\\fR\n{_roff(text)}"


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        if paragraph.strip():
            yield f".PP\n{_roff(' '.join(paragraph.split()))}"


def _examples(examples: tuple[str, ...]) -> Iterator[str]:
    if examples:
        yield ".PP\n.nf\n.RS"
        yield from map(_roff, examples)
        yield ".RE\n.fi"


_GLYPHS = {"—": "\\(em", "≤": "\\(<=", "≈": "\\(~=", "'": "\\(aq", "`": "\\(ga"}


def _roff(text: str) -> str:
    """A text with the characters that groff would interpret escaped."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    for char, name in _GLYPHS.items():
        escaped = escaped.replace(char, name)
    return f"\\&{escaped}" if escaped.startswith(".") else escaped
