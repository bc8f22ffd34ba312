"""Sessions that agent programs store in their usual folders. They are only read.

Sources of folders and variables: the documentation and source text of each program, November 2026.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_START = 1 << 16  # bytes of a file in which its folder is looked for
_CWD = re.compile(rb'"(?:cwd|working_dir)"\s*:\s*("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True)
class AgentProgram:
    """A program and the place of its sessions.

    `folders` are pairs of an environment variable and a folder below its value. The first variable
    that is set counts, else `default` below the home folder. `pattern` matches sessions below it,
    `without` the names of files that are no sessions. `is_folder`: it matches a folder of
    files inside a session, which is the folder around it.
    """

    name: str
    folders: tuple[tuple[str, str], ...]
    default: str
    pattern: str
    without: str = " "
    is_folder: bool = False

    def folder(self, environment: Mapping[str, str]) -> Path:
        """The folder with the sessions, whether it exists or not."""
        for variable, below in self.folders:
            if environment.get(variable):
                return Path(environment[variable]).expanduser() / below
        return Path.home() / self.default


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
        """The folder in which the program ran, None if the session does not say it.

        Old sessions of Gemini CLI have the hash of a folder; it is compared with the folders
        around `here`.
        """
        path = self.path / "base_state.json" if self.program.is_folder else self.path
        with suppress(OSError), path.open("rb") as file:
            if found := _CWD.search(file.read(_START)):
                with suppress(ValueError):
                    return str(json.loads(found[1]))
        folder = self.path.parent.parent
        with suppress(OSError, UnicodeDecodeError):
            return (folder / ".project_root").read_text().strip() or None
        for parent in (here, *here.parents):
            if hashlib.sha256(str(parent).encode(errors="surrogateescape")).hexdigest() == (
                folder.name
            ):
                return str(parent)
        return None


def sessions(environment: Mapping[str, str]) -> list[Session]:
    """All sessions of all programs, the newest first. Folders that cannot be read have none."""
    found = [session for program in PROGRAMS for session in _sessions(program, environment)]
    return sorted(found, key=lambda session: (-session.modified, str(session.path)))


def latest(found: list[Session], here: Path) -> Session | None:
    """The newest session of the project around a folder, else the newest of all.

    `found` has the newest first.
    """
    root = _root(here)
    for session in found:
        project = session.project(here)
        if project is not None and Path(project).is_relative_to(root):
            return session
    return found[0] if found else None


def _root(here: Path) -> Path:
    """The root of the repository around a folder, else the folder."""
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def _sessions(program: AgentProgram, environment: Mapping[str, str]) -> Iterator[Session]:
    folder = program.folder(environment)
    with suppress(OSError):
        for path in folder.glob(program.pattern):
            if not path.name.startswith(program.without):
                with suppress(OSError):
                    yield _session(program, path)


def _session(program: AgentProgram, path: Path) -> Session:
    files = [Path(entry) for entry in os.scandir(path)] if program.is_folder else [path]
    found = [file.stat() for file in files]
    return Session(
        program,
        path.parent if program.is_folder else path,
        max((status.st_mtime for status in found), default=path.stat().st_mtime),
        sum(status.st_size for status in found),
    )
