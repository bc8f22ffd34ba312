"""Sessions that agent programs store in their usual folders. They are only read.

Sources of folders and variables: the documentation and source text of each program, November 2026.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from ctxtrim.errors import InputError
from ctxtrim.io.compression import MAGIC_SIZE, Unpacked, kind_of, unpacked
from ctxtrim.io.paths import expanded, repository

_START = 1 << 20  # bytes of a file, decompressed, in which its folder is looked for
_WORKING_DIR = re.compile(rb'"working_dir"\s*:\s*("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True)
class AgentProgram:
    """A program and the place of its sessions.

    `folders` are pairs of an environment variable and a folder below its value. The first variable
    that is set counts, else `default` below the home folder. `pattern` matches sessions below it,
    `without` the beginning of names that are no sessions. `is_folder`: it matches a folder of
    files inside a session, which is the folder around it. `names_project`: the folder around the
    sessions names the project.
    """

    name: str
    folders: tuple[tuple[str, str], ...]
    default: str
    pattern: str
    without: str | None = None
    is_folder: bool = False
    names_project: bool = False

    def folder(self, environment: Mapping[str, str]) -> Path | None:
        """The folder with the sessions, whether it exists or not; None without a home folder."""
        around, below = "~", self.default
        for variable, folder in self.folders:
            if environment.get(variable):
                around, below = environment[variable], folder
                break
        path = expanded(around)
        return None if path is None else path / below


PROGRAMS = (
    AgentProgram(
        "Claude Code",
        (("CLAUDE_CONFIG_DIR", "projects"),),
        ".claude/projects",
        "*/*.jsonl",
        without="agent-",  # sessions of subagents
    ),
    AgentProgram("Codex", (("CODEX_HOME", "sessions"),), ".codex/sessions", "**/rollout-*.json*"),
    AgentProgram(
        "Gemini CLI",
        (("GEMINI_CLI_HOME", ".gemini/tmp"),),
        ".gemini/tmp",
        "*/chats/session-*.json*",
        names_project=True,
    ),
    AgentProgram(
        "Qwen Code",
        (("QWEN_RUNTIME_DIR", "projects"), ("QWEN_HOME", "projects")),
        ".qwen/projects",
        "*/chats/*.jsonl",
    ),
    AgentProgram(
        "pi",
        (("PI_CODING_AGENT_SESSION_DIR", ""), ("PI_CODING_AGENT_DIR", "sessions")),
        ".pi/agent/sessions",
        "**/*.jsonl",
    ),
    AgentProgram(
        "OpenHands",
        (("OPENHANDS_CONVERSATIONS_DIR", ""), ("OPENHANDS_PERSISTENCE_DIR", "conversations")),
        ".openhands/conversations",
        "*/events",
        is_folder=True,
    ),
    AgentProgram(
        "OpenHands",  # its desktop program
        (("OH_CONVERSATIONS_PATH", ""),),
        ".openhands/agent-canvas/conversations",
        "*/events",
        is_folder=True,
    ),
    AgentProgram("OpenHands", (), ".openhands/sessions", "*/events", is_folder=True),  # before 1.0
)


@dataclass(frozen=True)
class Session:
    """A session: `modified` in seconds since 1970, `size` in bytes."""

    program: AgentProgram
    path: Path
    modified: float
    size: int

    def project(self, here: Path) -> str | None:
        """The folder in which the program ran, None if the session does not say it."""
        if self.program.is_folder:
            return _working_dir(self.path / "base_state.json")
        named = _named_project(self.path.parent.parent, here) if self.program.names_project else ""
        return named or _recorded_project(self.path)

    @cached_property
    def is_packed(self) -> bool:
        """Whether its file is compressed."""
        if not self.program.is_folder:
            with suppress(OSError), self.path.open("rb") as file:
                return kind_of(file.read(MAGIC_SIZE)) is not None
        return False


def _working_dir(path: Path) -> str | None:
    """The folder in the settings of a session of OpenHands."""
    with suppress(OSError, ValueError):
        if path.is_file() and (match := _WORKING_DIR.search(path.read_bytes())):
            return str(json.loads(match[1]))
    return None


def _named_project(folder: Path, here: Path) -> str | None:
    """The folder to which a folder of sessions of Gemini CLI belongs.

    Older versions name it by the hash of that folder; it is compared with the folders around
    `here`.
    """
    root = folder / ".project_root"
    with suppress(OSError, UnicodeDecodeError):
        if root.is_file() and (text := root.read_text().strip()):
            return text
    for parent in (here, *here.parents):
        name = hashlib.sha256(str(parent).encode(errors="surrogateescape")).hexdigest()
        if name == folder.name:
            return str(parent)
    return None


def _recorded_project(path: Path) -> str | None:
    """The `cwd` of the first record that has it, itself or in the `payload` of Codex.

    Deeper members of this name are arguments of tools.
    """
    with suppress(OSError, InputError), path.open("rb") as file:
        kind = kind_of(file.read(MAGIC_SIZE))
        file.seek(0)
        start: BinaryIO = file if kind is None else BufferedReader(Unpacked(unpacked(file, kind)))
        remaining = _START
        while remaining > 0 and (line := start.readline(remaining)):
            remaining -= len(line)
            if folder := _cwd(line):
                return folder
    return None


def _cwd(line: bytes) -> str | None:
    """The folder in a record of a session, None if it has none."""
    value: Any = None
    if b'"cwd"' in line:
        with suppress(ValueError, RecursionError):
            value = json.loads(line)
    for record in (value, value.get("payload") if isinstance(value, dict) else None):
        if isinstance(record, dict) and isinstance(record.get("cwd"), str):
            return str(record["cwd"])
    return None


def sessions(environment: Mapping[str, str]) -> list[Session]:
    """All sessions of all programs, the newest first. Folders that cannot be read have none.

    Raises `InputError` if no folder is known, because the user has no home folder.
    """
    folders = [(program, program.folder(environment)) for program in PROGRAMS]
    known = [(program, folder) for program, folder in folders if folder is not None]
    if not known:
        raise InputError(
            "there is no home folder to look for sessions; set HOME, or a variable such as "
            "CODEX_HOME"
        )
    entries = [session for program, folder in known for session in _sessions(program, folder)]
    return sorted(entries, key=lambda session: (-session.modified, str(session.path)))


def latest(newest: list[Session], here: Path) -> Session | None:
    """The newest session of the project around a folder, else the newest of all.

    `newest`: all sessions, the newest first.
    """
    root = repository(here) or here
    for session in newest:
        project = session.project(here)
        if project is not None and Path(project).is_relative_to(root):
            return session
    return newest[0] if newest else None


def _sessions(program: AgentProgram, folder: Path) -> Iterator[Session]:
    with suppress(OSError):
        for path in folder.glob(program.pattern):
            if program.without is None or not path.name.startswith(program.without):
                with suppress(OSError):
                    yield _session(program, path)


def _session(program: AgentProgram, path: Path) -> Session:
    """The session at a path. Raises `OSError` if it is of another kind, such as a pipe."""
    files = [Path(entry) for entry in os.scandir(path)] if program.is_folder else [path]
    statuses = [file.stat() for file in files]
    if not program.is_folder and not stat.S_ISREG(statuses[0].st_mode):
        raise OSError("not a regular file")
    return Session(
        program,
        path.parent if program.is_folder else path,
        max((status.st_mtime for status in statuses), default=path.stat().st_mtime),
        sum(status.st_size for status in statuses),
    )
