"""Where the tokens of a transcript go: by tool, file, command, turn or role."""

import re
from collections.abc import Callable

from ctxtrim.conversation.tool_results import tool_name
from ctxtrim.evidence.tool_kinds import command_of, paths_of
from ctxtrim.model import Message, Part, Transcript
from ctxtrim.text.numbers import most_first
from ctxtrim.tokens.counter import Counter

NO_CALL = "(no tool call)"
OVERHEAD = "(request overhead)"
NO_FILE = "(no file)"
NO_COMMAND = "(no command)"
_SUBCOMMAND = re.compile(r"[a-z][a-z-]*")
_PREFIX = re.compile(r"(?:cd\s+(?:'[^']*'|\"[^\"]*\"|\S+)\s*(?:&&|;)\s*|\w+=\S*\s+|sudo\s+)+")
_LONGEST = 60  # characters of a command
_WITH_SUBCOMMAND = frozenset(
    (
        "apt", "apt-get", "brew", "cargo", "composer", "conda", "docker", "dotnet", "gh", "git",
        "go", "gradle", "helm", "kubectl", "make", "mvn", "npm", "npx", "pip", "pnpm", "poetry",
        "systemctl", "terraform", "uv", "yarn",
    )
)  # fmt: skip


def tokens_by(group: str, transcript: Transcript, counter: Counter) -> dict[str, int]:
    """The tokens by one of `GROUPS`, the largest number first; their sum is that of the request.

    A call and its result belong to the first file that the call names, and to the program that it
    runs.
    """
    shape = counter.shape(transcript.messages)
    name_of = _NAMES.get(group)
    sums: dict[str, int] = {}

    def add(name: str, tokens: int) -> None:
        if tokens:
            sums[name] = sums.get(name, 0) + tokens

    costs = counter.costs(transcript.messages)
    for position, (message, cost) in enumerate(zip(transcript.messages, costs, strict=True)):
        if name_of is None:
            is_turn = group == "turn"
            add(f"turn {shape.turn[position]}" if is_turn else message.role, cost.total)
            continue
        call = shape.call[position]
        names = [_named(name_of, message, part, call) for part in message.parts]
        for name, tokens in zip(names, cost.parts, strict=True):
            add(name, tokens)
        add(names[0] if names else NO_CALL, cost.frame)
    add(OVERHEAD, counter.fixed(transcript))
    return dict(most_first(sums))


def _named(
    name_of: Callable[[Part, Part | None], str], message: Message, part: Part, call: Part | None
) -> str:
    """The name of a part: of calls and results as `name_of` says, of other parts `NO_CALL`."""
    is_tool = message.role == "tool" or part.kind == "tool_call"
    return name_of(part, call) if is_tool else NO_CALL


def _file(part: Part, call: Part | None) -> str:
    """The first file that a call names."""
    called = part if part.kind == "tool_call" else call
    paths = paths_of(called) if called is not None else ()
    return paths[0] if paths else NO_FILE


def _command(part: Part, call: Part | None) -> str:
    """The program that a call runs, with its subcommand: `git diff`."""
    called = part if part.kind == "tool_call" else call
    line = command_of(called) if called is not None else None
    return program(line) if line is not None else NO_COMMAND


def program(line: str) -> str:
    """The program of a command line, without folders, variables and `cd` before it."""
    shown = _PREFIX.sub("", line.strip(), count=1) if _PREFIX.match(line.strip()) else line
    words = shown.split(maxsplit=2)
    if not words:
        return line.strip()[:_LONGEST]
    name = words[0].rsplit("/", 1)[-1] or words[0]
    is_pair = len(words) > 1 and name in _WITH_SUBCOMMAND and _SUBCOMMAND.fullmatch(words[1])
    return (f"{name} {words[1]}" if is_pair else name)[:_LONGEST]


_NAMES: dict[str, Callable[[Part, Part | None], str]] = {
    "tool": tool_name,
    "file": _file,
    "command": _command,
}
