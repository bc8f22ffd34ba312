"""What stands in the place of a result that went: a text of the user's own, or one made of what is known of it.

Every such text is known again, so that a second run leaves it alone.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from ctxtrim.conversation.tool_results import Result, lines_of, trace_id
from ctxtrim.evidence import extract_key_info, is_summary_line, paths_of, summary_line

MODES = ("placeholder", "stub", "head", "summary")
PLACEHOLDER = "[content truncated - {age} steps ago]"
POINTER = '[TRUNCATED — full output in get_task_trace(traceId="{id}")]'
FILE = "[File: {path} ({lines} lines) - content truncated, use {tool} to re-read]"
RESULT = "[{tool}: {lines} lines, {tokens} tokens - content truncated]"
COPY = "[same content as the newer result {id} of {tool}]"
NAMELESS_COPY = "[same content as a newer result of {tool}]"
READ_AGAIN = "[read again in the newer result {id} of {tool}]"
NAMELESS_READ_AGAIN = "[read again in a newer result of {tool}]"

_KEYS = {
    "age": r"\d+",
    "N": r"\d+",
    "tokens": r"[≈≤]?\d+",
    "lines": r"\d+",
    "tool": r"[^\n]*?",
    "path": r"[^\n]*?",
    "id": r"[^\n]*?",
    "sha256": r"[0-9a-f]{64}",
}
_KEY = re.compile(r"\{(\w+)\}")
_LONGEST = 200  # characters that a name or a path may take
_LINE = 400  # characters of a line that are shown, where the first lines are


@dataclass(frozen=True)
class Known:
    """What a template may tell of a result: all of them numbers or texts of one line."""

    age: int
    tokens: str
    lines: int
    tool: str
    path: str
    id: str
    sha256: str


def check_template(template: str) -> None:
    """A `ValueError` names a key that no template has."""
    strange = [key for key in _KEY.findall(template) if key not in _KEYS]
    if strange:
        raise ValueError(f"no such key {{{strange[0]}}}; there are {', '.join(f'{{{key}}}' for key in _KEYS)}")


def filled(template: str, known: Known) -> str:
    """A template with what is known of a result."""
    values: Mapping[str, object] = {
        "age": known.age,
        "N": known.age,
        "tokens": known.tokens,
        "lines": known.lines,
        "tool": _on_a_line(known.tool),
        "path": _on_a_line(known.path),
        "id": _on_a_line(known.id),
        "sha256": known.sha256,
    }
    return _KEY.sub(lambda match: str(values.get(match[1], match[0])), template)


def is_filled(template: str, text: str) -> bool:
    """Whether a text is a template with something filled in."""
    longest = len(template) + template.count("{") * (_LONGEST + 1)
    return len(text) <= longest and _pattern(template).fullmatch(text) is not None


def first_lines(text: str, lines: int, caps: bool = False) -> str:
    """The first lines of a text; `caps`: endless ones are cut, and say by how many characters."""
    kept = text.split("\n", lines)[:lines]
    return "\n".join(_capped(line) for line in kept) if caps else "\n".join(kept)


@dataclass(frozen=True)
class Replacement:
    """How results are replaced: `mode`, and the texts for it.

    `head`: so many first lines, then the pointer; `assigns`: results without an id get one of their own.
    """

    mode: str
    placeholder: str
    pointer: str
    lines: int
    assigns: bool

    def of(self, one: Result, tokens: str) -> str:
        """What stands in the place of a result of so many tokens, as reports write them."""
        known = self._known(one, tokens)
        if self.mode == "stub":
            return filled(FILE if known.path else RESULT, known)
        if self.mode == "head":
            return f"{first_lines(one.text, self.lines, caps=True)}\n{filled(self.pointer, known)}"
        if self.mode == "summary":
            return summary_line(extract_key_info(one.text, one.tool, one.call.text if one.call else None), one.tool)
        return filled(self.placeholder, known)

    def pointing(self, newest: Result) -> str:
        """What stands in the place of a result that a newer one repeats."""
        return filled(NAMELESS_COPY if newest.id is None else COPY, self._known(newest, ""))

    def read_again(self, newest: Result) -> str:
        """The text for a read of a file that a newer result shows in full."""
        return filled(NAMELESS_READ_AGAIN if newest.id is None else READ_AGAIN, self._known(newest, ""))

    def is_done(self, text: str) -> bool:
        """Whether a text is what stands in the place of a result."""
        return (
            is_filled(self.pointer, text[text.rfind("\n") + 1 :])
            or any(is_filled(template, text) for template in (self.placeholder, *_OWN))
            or is_summary_line(text)
        )

    def lacks(self, one: Result) -> bool:
        """Whether a result cannot be pointed to, having no id."""
        return one.id is None and self.mode == "head" and "{id}" in self.pointer and not self.assigns

    def _known(self, one: Result, tokens: str) -> Known:
        paths = paths_of(one.call) if one.call else ()
        return Known(
            one.age,
            tokens,
            lines_of(one.text),
            one.tool,
            paths[0] if paths else "",
            one.id or trace_id(one.text),
            sha256(one.text.encode("utf-8", "surrogatepass")).hexdigest(),
        )


_OWN = (PLACEHOLDER, FILE, RESULT, COPY, NAMELESS_COPY, READ_AGAIN, NAMELESS_READ_AGAIN)


def _capped(line: str) -> str:
    if len(line) <= _LINE:
        return line
    return f"{line[:_LINE]} ... [truncated {len(line) - _LINE} characters] ..."


def _on_a_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


@lru_cache(32)
def _pattern(template: str) -> re.Pattern[str]:
    parts = _KEY.split(template)
    known = [
        (_KEYS[part] if part in _KEYS else re.escape(f"{{{part}}}")) if place % 2 else re.escape(part)
        for place, part in enumerate(parts)
    ]
    return re.compile("".join(known))
