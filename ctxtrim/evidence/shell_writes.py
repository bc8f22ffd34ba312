"""The files that a command line of a shell writes.

Only simple forms are read: `> path`, `>> path`, `tee path` and `sed -i … path`. Paths that only the
shell knows, such as `$HOME/a` and `*.py`, are left out.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence

from ctxtrim.evidence.shell import SimpleCommand, Word, simple_commands

_WRITES = frozenset((">", ">>", ">|", "1>", "1>>", "1>|", "&>", "&>>"))
_PATH = re.compile(r"(?=[^\n]*[^\W\d_])[^\s\[\](){}<>*?!;,='\"`|&$\\][^\n\[\](){}<>*?;,'\"`|&$\\]*")
_DEVICES = ("/dev/", "/proc/", "NUL", "nul")
_IN_PLACE = re.compile(r"-[A-Za-z]*i|--in-place")
_SCRIPT = re.compile(r"-[A-Za-z]*[ef]$|--(?:expression|file)\b")
_LONGEST = 4096  # characters of a path


def written_paths(line: str) -> tuple[str, ...]:
    """The files that a command line writes, in order, without a leading `./`.

    Relative ones are below the folder of a `cd` before them.
    """
    commands = simple_commands(line)
    has_subshell = any(command.end == ")" for command in commands)
    folder = ""
    paths: dict[str, None] = {}
    for command in commands:
        names = [word for word in command.words if word.text != "sudo"]
        if command.name == "cd" and len(names) == 2 and not has_subshell:
            is_known = names[1].is_plain and len(folder) < _LONGEST
            folder = posixpath.join(folder, names[1].text) if is_known else ""
        for word in _targets(command, names):
            if word.is_plain and _is_file(word.text):
                path = word.text.removeprefix("./")
                paths[path if path.startswith("~") else posixpath.join(folder, path)] = None
    return tuple(paths)


def _targets(command: SimpleCommand, words: Sequence[Word]) -> Iterator[Word]:
    """The words of a command that name the files it writes."""
    texts = [word.text for word in words]
    if texts[:1] == ["[["] or texts[1:2] == ["="]:  # a comparison; an assignment of a program
        return
    for operator, word in command.redirections:
        if operator in _WRITES:
            yield word
    if texts[:1] == ["tee"]:
        yield from (word for word in words[1:] if not word.text.startswith("-"))
    elif texts[:1] == ["sed"] and any(map(_IN_PLACE.match, texts[1:])):
        yield from _files_of_sed(words[1:])


def _files_of_sed(words: Sequence[Word]) -> Sequence[Word]:
    """The files among the arguments of `sed`: all but options, their values and the script."""
    operands: list[Word] = []
    has_script = is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif word.text.startswith("-"):
            if _SCRIPT.match(word.text):
                has_script = True
                is_value = "=" not in word.text
        elif word.text:  # an empty one is the suffix of `-i` on macOS
            operands.append(word)
    return operands if has_script else operands[1:]


def _is_file(text: str) -> bool:
    """Whether a word can be the path of a file."""
    is_path = len(text) <= _LONGEST and _PATH.fullmatch(text) is not None
    return is_path and not text.startswith(_DEVICES) and not text.endswith((":", "/"))
