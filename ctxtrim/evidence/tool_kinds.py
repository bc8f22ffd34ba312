"""What a call does, by its tool name and arguments: the kind of tool, the files, the command.

The names are those of common agents: Claude Code, Codex, Cursor, Gemini CLI, Copilot, OpenHands,
SWE-agent, Cline, nanocoder, the file system server of MCP and similar ones. Case, `_`, `-` and
prefixes such as `mcp__server__` are ignored.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal

from ctxtrim.model import Part
from ctxtrim.text.records import parsed

ToolKind = Literal["read", "write", "edit", "delete", "search", "bash", "other"]

_NAMES: dict[ToolKind, str] = {
    "read": """
        read cat view open readfile readfiles readmanyfiles readmultiplefiles readtextfile
        readmediafile readnotebook notebookread viewfile openfile fileread loadfile
        getfilecontent getfilecontents
    """,
    "write": """
        write create writefile writetofile writetextfile filewrite savefile createfile
        createnewfile newfile copyfile movefile mv
    """,
    "edit": """
        edit insert patch replace editfile editnotebook editexistingfile fileedit multiedit
        notebookedit applypatch applydiff strreplace searchreplace searchandreplace
        replaceinfile replacelines insertcontent inserteditintofile replacestringinfile
        multireplacestringinfile updatefile appendfile appendtofile stringreplace insertlines
        deletelines diffedit replacespan syntaxislandedit renamesymbol extractfunction
    """,
    "delete": """
        delete remove rm deletefile deletefiles deletepath removefile rmdir
    """,
    "search": """
        search grep glob find ls list rg ripgrep grepsearch greptool globtool globfilesearch
        filesearch codesearch codebasesearch searchcode searchfile searchfiles searchfilecontent
        searchfilecontents searchtext searchdir searchdirectory searchforpattern findfile
        findfiles findbyname listdir listdirectory listfiles directorytree
        listcodedefinitionnames findreferences documentsymbols gotodefinition
    """,
    "bash": """
        bash sh shell exec execute terminal cmd powershell pwsh localshell localshellcall
        execcommand executecommand executebash runbash bashtool runcommand runcmd
        runshellcommand runterminal runterminalcmd runterminalcommand runinterminal shellcommand
        shellexec codeexec
    """,
}
_KINDS: dict[str, ToolKind] = {
    name: kind for kind, names in _NAMES.items() for name in names.split()
}
# Tools with several actions on files, chosen by the argument `command`.
_EDITORS = {
    "strreplacebasededittool",
    "strreplaceeditor",
    "strreplaceedittool",
    "texteditor",
    "fileeditor",
}
_EDITOR_COMMANDS: dict[str, ToolKind] = {"view": "read", "create": "write", "delete": "delete"}
_PATH_KEYS = (
    "path", "paths", "file", "files", "filename", "filenames", "filepath", "filepaths",
    "notebookpath", "targetfile", "targetnotebook", "absolutepath", "relativepath",
    "relativeworkspacepath",
)  # fmt: skip
_OTHER = re.compile(r"[^a-z0-9]")
_PREFIX = re.compile(r"__|[.:/]")
_COMMAND_KEYS = ("command", "cmd", "CommandLine", "script")
_PATCH_HEADER = re.compile(
    r"^\*\*\* (Update File|Add File|Delete File|Move to): (.*\S)", re.MULTILINE
)
_PATCH_KINDS: dict[str, ToolKind] = {"Add File": "write", "Delete File": "delete"}
_CONTAINERS = {dict, list}
_LONGEST = 4096  # characters of a path
_SHORT = 4096  # characters of arguments whose files are cached
_LETTERS = 64  # characters of a name that is cached
_RANGE = re.compile(r"line|offset|limit|range|start|end$|head|tail|page|chunk|length|max")
"""Arguments that limit a read to a part of a file, by normalized name."""


def kind_of_tool(name: str | None, arguments: str = "") -> ToolKind:
    """The kind of a tool by its name.

    Multi-purpose tools are classified by the arguments of the call (JSON text).
    """
    base_name = _without_prefix(name or "")
    if base_name in _EDITORS:
        tree = _tree(arguments)
        command = tree.get("command") if isinstance(tree, dict) else None
        return _EDITOR_COMMANDS.get(command, "edit") if isinstance(command, str) else "other"
    kind = _KINDS.get(base_name, "other")
    return "edit" if kind == "bash" and "*** Begin Patch" in arguments else kind


def paths_of(call: Part) -> tuple[str, ...]:
    """The files that a call names in its arguments, in order.

    Empty if the arguments are neither JSON nor a patch.
    """
    return tuple(dict.fromkeys(path for path, _ in accesses(call)))


def accesses(call: Part) -> Sequence[tuple[str, ToolKind]]:
    """The files that a call names and what it does to each, without a leading `./`."""
    if len(call.text) <= _SHORT:
        return _short_accesses(call.name, call.text)
    return tuple(_accesses(call.name, call.text))


@lru_cache(maxsize=1024)  # several rules look at the same calls
def _short_accesses(name: str | None, arguments: str) -> Sequence[tuple[str, ToolKind]]:
    return tuple(_accesses(name, arguments))


def _accesses(name: str | None, arguments: str) -> Iterator[tuple[str, ToolKind]]:
    kind = kind_of_tool(name, arguments)
    tree = _tree(arguments)
    if kind == "edit" and "*** " in arguments:
        for text in strings(arguments):
            for action, path in _PATCH_HEADER.findall(text):
                yield path.removeprefix("./"), _PATCH_KINDS.get(action, "edit")
    if isinstance(tree, dict):
        for value in _values(tree):
            if value and "\n" not in value and len(value) <= _LONGEST:
                yield value.removeprefix("./") or value, kind


def is_full_read(call: Part) -> bool:
    """Whether a call reads whole files, without lines, offset or limit."""
    tree = _tree(call.text)
    return isinstance(tree, dict) and not any(
        _RANGE.search(_plain_name(key)) and value for key, value in tree.items()
    )


def command_of(call: Part) -> str | None:
    """The command line that a call runs; None for other calls.

    For `["bash", "-lc", "ls"]` it is `ls`.
    """
    kind = kind_of_tool(call.name)
    if kind not in ("bash", "other") or _plain_name(call.name or "") in _EDITORS:
        return None
    tree = _tree(call.text)
    if tree is None:  # arguments that are not JSON are the command, unless they are truncated JSON
        is_command = kind == "bash" and not call.text.lstrip().startswith(("{", "["))
        return call.text.strip() or None if is_command else None
    if not isinstance(tree, dict):
        return None
    values = [tree.get(key) for key in _COMMAND_KEYS]
    action = tree.get("action")
    if isinstance(action, dict):  # the arguments of Codex's local shell
        values.append(action.get("command"))
    return next(filter(None, map(_command, values)), None)


def strings(arguments: str) -> list[str]:
    """The strings in the arguments of a call, in order, without keys.

    The text itself if it is not JSON.
    """
    tree = _tree(arguments)
    if tree is None:
        return [arguments]
    if isinstance(tree, dict) and _CONTAINERS.isdisjoint(map(type, tree.values())):
        return [value for value in tree.values() if isinstance(value, str)]
    texts, stack = [], [tree]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, dict | list):
            stack.extend(reversed(list(value.values()) if isinstance(value, dict) else value))
    return texts


def string_at(arguments: str, *keys: str) -> str | None:
    """The first non-empty string argument with one of these names; None if there is none."""
    tree = _tree(arguments)
    values = (tree.get(key) for key in keys) if isinstance(tree, dict) else ()
    return next((value for value in values if isinstance(value, str) and value), None)


def _tree(arguments: str) -> Any:
    """The parsed arguments; None if they are not JSON."""
    try:
        return parsed(arguments)
    except (ValueError, RecursionError):
        return None


def _plain_name(name: str) -> str:
    """A name in lower case without punctuation."""
    return _short_plain_name(name) if len(name) <= _LETTERS else _OTHER.sub("", name.lower())


def _without_prefix(name: str) -> str:
    """A name like that of `_plain_name`, without a prefix such as `mcp__server__`."""
    return _short_last(name) if len(name) <= _LETTERS else _plain_name(_PREFIX.split(name)[-1])


@lru_cache(maxsize=4096)
def _short_last(name: str) -> str:
    return _plain_name(_PREFIX.split(name)[-1])


@lru_cache(maxsize=4096)  # names of tools and arguments repeat
def _short_plain_name(name: str) -> str:
    return _OTHER.sub("", name.lower())


def _values(tree: dict[str, Any]) -> Iterator[str]:
    """The strings at keys that name a file, also in lists and in lists of objects
    with such keys.
    """
    for key, value in tree.items():
        if _plain_name(key) in _PATH_KEYS:
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, dict):
                    yield from (
                        path
                        for name, path in item.items()
                        if _plain_name(name) in _PATH_KEYS and type(path) is str
                    )
                elif isinstance(item, str):
                    yield item


def _command(value: Any) -> str | None:
    """A command as one text; it may be a list of words."""
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return value[2] if len(value) == 3 and re.fullmatch(r"-\w*c", value[1]) else " ".join(value)
    return value.strip() or None if isinstance(value, str) else None
