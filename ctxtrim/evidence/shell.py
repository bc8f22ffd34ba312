"""The simple commands of a shell command line: their words and redirections.

Quotes, substitutions, comments and here-documents are read as a POSIX shell reads them. Commands
inside a substitution or a here-document are left out. Any text can be read: one that is not a
command line gives some commands or none.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

_OUTSIDE = re.compile(
    r"(?P<space>[ \t\r]+|\\\n)"
    r"|(?P<operator>\n|&>>?|&&|\|\||\|&|[;&|()]|\d*(?:<<<|<<-?|<>|<&|>>|>&|>\||[<>]))"
    r"|(?P<quoted>'[^']*')"
    r"|(?P<escaped>\\.)"
    r"|(?P<expansion>\$\(|`(?:[^`\\]|\\.)*`|\$'(?:[^'\\]|\\.)*'|\$\{[^}\n]{0,200}\}|\$)"
    r"|(?P<text>[^\s'\"\\$`&|;()<>]+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_INSIDE = re.compile(
    r"(?P<text>[^\"\\$`]+)|(?P<escaped>\\.)|(?P<expansion>\$\(|`(?:[^`\\]|\\.)*`|\$)|(?P<other>.)",
    re.DOTALL,
)
_DELIMITER = re.compile(r"[ \t]*\\?(['\"]?)([^\s'\"|;&<>()]+)\1")


class Word(NamedTuple):
    """A word without its quotes; `is_plain`: it is known without running the shell."""

    text: str
    is_plain: bool


@dataclass(slots=True)
class SimpleCommand:
    """The words of a command, its redirections (operator and target), and the operator after it."""

    words: list[Word] = field(default_factory=list)
    redirections: list[tuple[str, Word]] = field(default_factory=list)
    end: str = ""

    @property
    def name(self) -> str:
        """The first word that is no assignment of a variable; empty if there is none."""
        return next((word.text for word in self.words if "=" not in word.text), "")


def simple_commands(line: str) -> list[SimpleCommand]:
    """The simple commands of a command line, in order."""
    reader = _Reader(line)
    reader.read()
    return [command for command in reader.commands if command.words or command.redirections]


def hides_failure(line: str) -> bool:
    """Whether a command line can end with exit code 0 although a command in it failed: the output
    of that command is piped to another.
    """
    if "|" not in line or "pipefail" in line or "PIPESTATUS" in line:
        return False
    return any(
        command.end in ("|", "|&") and command.name not in ("echo", "printf", "cat")
        for command in simple_commands(line)
    )


class _Reader:
    """Reads a command line from left to right."""

    def __init__(self, line: str) -> None:
        self.commands = [SimpleCommand()]
        self._line = line
        self._position = 0
        self._texts: list[str] = []  # of the word that is read
        self._has_word = False
        self._is_plain = True
        self._redirection = ""  # the operator before the word
        self._openings: list[str] = []  # the quotes and parentheses that are not closed yet
        self._depth = 0  # of substitutions
        self._last_lines: list[str] = []  # of the here-documents that follow

    def read(self) -> None:
        """Read all commands; stop at a quote that does not end."""
        while self._position < len(self._line):
            is_quoted = self._openings[-1:] == ['"']
            match = (_INSIDE if is_quoted else _OUTSIDE).match(self._line, self._position)
            if match is None:
                return
            text, kind = match[0], match.lastgroup
            self._position = match.end()
            if kind == "other" and text in "'`":
                return
            if kind == "space":
                self._end_word()
            elif kind == "operator":
                self._read_operator(text)
            elif text == '"':
                self._add("")
                self._openings.pop() if is_quoted else self._openings.append(text)
            elif text[0] == "#" and not (is_quoted or self._has_word):
                end = self._line.find("\n", self._position)
                self._position = end if end >= 0 else len(self._line)
            else:
                self._read_text(text, kind)
        self._end_word()

    def _read_text(self, text: str, kind: str | None) -> None:
        if kind == "expansion":
            self._add("", is_plain=False)
            if text == "$(":
                self._open()
        elif kind == "quoted":
            self._add(text[1:-1])
        else:
            self._add(text.removeprefix("\\") if kind == "escaped" else text)

    def _open(self) -> None:
        self._openings.append("(")
        self._depth += 1

    def _add(self, text: str, is_plain: bool = True) -> None:
        if not self._depth:
            self._has_word = True
            self._texts.append(text)
            self._is_plain = self._is_plain and is_plain

    def _read_operator(self, text: str) -> None:
        if not self._depth:
            self._end_word()
        if text.lstrip("0123456789") in ("<<", "<<-"):
            delimiter = _DELIMITER.match(self._line, self._position)
            self._last_lines += [delimiter[2]] if delimiter else []
        if text == "\n":
            self._skip_documents()
        if self._depth:
            if text == "(":
                self._open()
            elif text == ")":
                self._openings.pop()
                self._depth -= 1
        elif text == "(" and self._line.startswith("(", self._position):
            self._open()  # arithmetic: two parentheses close it
        elif "<" in text or ">" in text or text == "&>":
            self._redirection = text
        else:
            self.commands[-1].end = text
            self.commands.append(SimpleCommand())

    def _skip_documents(self) -> None:
        """Go to the end of the here-documents that begin here."""
        for last_line in self._last_lines:
            pattern = re.compile(rf"^[\t ]*{re.escape(last_line)}\r?$", re.MULTILINE)
            match = pattern.search(self._line, self._position)
            self._position = match.end() if match else len(self._line)
        self._last_lines = []

    def _end_word(self) -> None:
        if self._depth or not self._has_word:
            return
        word = Word("".join(self._texts), self._is_plain)
        if self._redirection:
            self.commands[-1].redirections.append((self._redirection, word))
        else:
            self.commands[-1].words.append(word)
        self._texts, self._has_word, self._is_plain, self._redirection = [], False, True, ""
