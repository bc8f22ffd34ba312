"""Help texts: a page for each command and stage, made from the declarations of its options.

A short page has one line for each common option. A full page explains all.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from ctxtrim.cli.examples import EXAMPLES
from ctxtrim.config.option import Option
from ctxtrim.config.run_settings import IN_STAGES, OPTIONS
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.stage import CHANGE, KEEP, REPORT, RULES, SUMMARIES
from ctxtrim.stages import STAGES
from ctxtrim.text.names import option_name

_OTHERS = "Options"
_ORDER = ("Commands", "Stages", "Input", "Budget", CHANGE, KEEP, RULES, "Output")
_LAST = (SUMMARIES, REPORT, _OTHERS)
_COMMON = {"--version", "--help"}  # of every command; only the first page shows them
_COLUMN = 27  # of the texts
_CLAUSE = re.compile(r"[.;:](?: |$)| \[default")
_DEFAULT = re.compile(r" \[default: [^ ]+\]$")  # of one word


class HelpEntry(Struct, frozen=True):
    """An option, argument or command: its names as in a usage line, and its text."""

    names: str
    text: str
    is_rare: bool = False

    @property
    def brief(self) -> str:
        """The first clause of the text, and the default if it is one word."""
        default = _DEFAULT.search(self.text)
        return f"{_CLAUSE.split(self.text)[0]}.{default[0] if default else ''}"


class Page(Struct, frozen=True):
    """The help of a command or stage. `panels` are entries by heading; `note` is the last line."""

    name: str
    usage: str
    text: str
    examples: tuple[str, ...]
    panels: dict[str, list[HelpEntry]]
    note: str


def command_page(command: Any, context: Any) -> Page:
    """The page of a command."""
    path = context.command_path.removeprefix("ctxtrim").strip()
    panels: dict[str, list[HelpEntry]] = {}
    for name, text in getattr(command, "descriptions", lambda _: [])(context):
        panels.setdefault("Commands", []).append(HelpEntry(name, text))
    for parameter in command.get_params(context):
        panel = getattr(parameter, "panel", "") or _OTHERS
        if not getattr(parameter, "hidden", False):
            panels.setdefault(panel, []).append(_entry(parameter, is_root=not path))
    note = ""
    if panels.pop(IN_STAGES, []):
        note = (
            f"Stages: {', '.join(STAGES)}. `ctxtrim help STAGE` shows its settings, "
            "which are options of run too."
        )
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    return Page(path, usage, command.help or "", EXAMPLES.get(path, ()), _ordered(panels), note)


def stage_page(name: str) -> Page:
    """The page of a stage: its settings, with the names of the options."""
    panels: dict[str, list[HelpEntry]] = {}
    for option in SETTINGS[name].values():
        panels.setdefault(option.panel, []).append(HelpEntry(_names(option), option.help))
    keys = list(SETTINGS[name].values())
    first = f":{option_name(keys[0].name)}=…" if keys else ""
    note = f"In -s, write a setting without the leading dashes, as in {name}{first}."
    usage = f"ctxtrim run -s {name}:KEY=VALUE,KEY=VALUE [OPTIONS] [FILE]..."
    text = textwrap.dedent((STAGES[name].__doc__ or "").partition("\n\n")[0])
    return Page(name, usage, text, EXAMPLES.get(name, ()), _ordered(panels), note)


def full_text(page: Page, width: int, *, is_bold: bool) -> str:
    """A page with everything about each option."""
    panels = {
        title: [(entry.names, entry.text) for entry in entries]
        for title, entries in page.panels.items()
    }
    return _text(page, panels, page.note, width, is_bold)


def short_text(page: Page, width: int, *, is_bold: bool) -> str:
    """A page with a line for each common option."""
    panels = {
        title: [(entry.names, entry.brief) for entry in entries if not entry.is_rare]
        for title, entries in page.panels.items()
    }
    more = ""
    if page.name:
        more = f"`ctxtrim help {page.name}` explains all options, `ctxtrim --help` the exit codes."
    note = " ".join(filter(None, (page.note, more)))
    return _text(page, panels, note, width, is_bold)


def _text(
    page: Page,
    panels: dict[str, list[tuple[str, str]]],
    note: str,
    width: int,
    is_bold: bool,
) -> str:
    def heading(title: str) -> str:
        return f"\x1b[1m{title}:\x1b[0m" if is_bold else f"{title}:"

    usage = textwrap.fill(page.usage, width, initial_indent="Usage: ", subsequent_indent=" " * 7)
    blocks = [usage, *_paragraphs(page.text, width)]
    if page.examples:
        blocks.append("\n".join([heading("Examples"), *(f"  {line}" for line in page.examples)]))
    for title, rows in panels.items():
        if rows:
            blocks.append("\n".join([heading(title), *_rows(rows, width)]))
    if note:
        blocks.append(textwrap.fill(note, width, break_on_hyphens=False))
    return "\n\n".join(blocks) + "\n"


def _paragraphs(text: str, width: int) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        lines = " ".join(paragraph.split())
        if lines:
            yield textwrap.fill(
                lines, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
            )


def _rows(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """The lines of a panel: names, then the text in a column."""
    for names, text in rows:
        text = text.replace("[default: ", "[default:\xa0")  # no line ends here
        lines = textwrap.wrap(text, max(width - _COLUMN, 20), break_on_hyphens=False) or [""]
        start = f"  {names}"
        if len(start) >= _COLUMN:
            yield start
            start = ""
        for line in lines:
            yield f"{start.ljust(_COLUMN)}{line}".replace("\xa0", " ").rstrip()
            start = ""


def _entry(parameter: Any, is_root: bool) -> HelpEntry:
    option = OPTIONS.get(parameter.name)
    is_common = not _COMMON.isdisjoint(parameter.opts) and not is_root
    is_rare = option.is_rare if option is not None else is_common
    text = " ".join((parameter.help or "").split())
    if parameter.param_type_name == "argument":
        return HelpEntry(parameter.metavar or parameter.name.upper(), text)
    flags = sorted(parameter.opts, key=len)
    if parameter.secondary_opts:
        flags = [flag.replace("--", "--[no-]") if len(flag) > 2 else flag for flag in flags]
    metavar = "" if parameter.is_flag else f" {parameter.metavar or 'TEXT'}"
    return HelpEntry(", ".join(flags) + metavar, text, is_rare)


def _names(option: Option) -> str:
    """The names of a setting as an option."""
    name = option_name(option.name)
    is_flag = isinstance(option.default, bool)
    return f"--[no-]{name}" if is_flag else f"--{name} {option.shown_metavar}"


def _ordered(panels: dict[str, list[HelpEntry]]) -> dict[str, list[HelpEntry]]:
    middle = [title for title in panels if title not in _ORDER + _LAST]
    return {title: panels[title] for title in (*_ORDER, *middle, *_LAST) if title in panels}
