"""The commands. Those that run stages are rows of a table, the others are modules, each imported
when its command runs.
"""

from typing import NamedTuple

COMMANDS = {
    "count": "Count tokens and show where they are.",
    "truncate": "Shorten tool results that are too old or too long.",
    "trim": "Drop the least important messages until the transcript fits the budget.",
    "summarize": "Replace old messages by one summary.",
    "convert": "Convert transcripts to requests for another provider.",
    "check": "Check that transcripts fit the budget and that every call has its result.",
    "run": "Run several stages in one pass.",
    "trace": "Get, list or verify original tool results in an archive.",
    "restore": "Restore the input of a run, byte for byte, from its output.",
    "sessions": "List the sessions of agent programs on this machine.",
    "archive": "List or remove the runs that can be undone.",
    "models": "Show the window, limits and tokenizer of a model.",
    "config": "Show every setting and its origin, or write a configuration file.",
    "rolling-context": "Turn the automatic pipeline of run on or off.",
    "help": "Explain a command or stage with all of its options.",
}
"""What each command does."""


class StageCommand(NamedTuple):
    """A command that runs some stages. If `stages` is None, the user names them with `-s`.

    `writes`: the transcript is the output of the command. `text`: more than the list of commands
    says about it. `fixing`: the stages that `--fix` runs first; with it, the command writes
    transcripts too. `first`: sections of options before those of the input; `output`: those of a
    command that writes.
    """

    stages: tuple[str, ...] | None
    text: str | None = None
    writes: bool = True
    fixing: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    output: tuple[str, ...] = ("target", "output", "editing", "archive", "events")

    @property
    def with_fix(self) -> "StageCommand":
        """The command with `--fix`."""
        return self._replace(stages=(*self.fixing, *(self.stages or ())), writes=True)

    @property
    def counts(self) -> bool:
        """Whether it shows where the tokens are."""
        return "counting" in self.first

    @property
    def checks(self) -> bool:
        """Whether its result is a verdict."""
        return "checking" in self.first

    @property
    def converts(self) -> bool:
        """Whether it writes requests for another API."""
        return "converting" in self.first

    @property
    def edits(self) -> bool:
        """Whether it writes edited transcripts."""
        return self.writes and not self.converts


STAGE_COMMANDS = {
    "count": StageCommand(
        ("count",),
        "Count the tokens of transcripts and show where they are.",
        writes=False,
        first=("counting",),
    ),
    "truncate": StageCommand(
        ("truncate",),
        "Shorten tool results that are too old or too long; nothing else changes.",
    ),
    "trim": StageCommand(("trim",)),
    "summarize": StageCommand(("summarize",)),
    "convert": StageCommand(
        (),
        "Convert transcripts to requests for another provider; the report lists what is lost.",
        first=("converting",),
        output=("target",),
    ),
    "check": StageCommand(
        ("check",),
        f"""{COMMANDS["check"]}

        Exit codes: 0 all pass, 1 a file or line cannot be read, 2 wrong usage, 3 above a budget,
        limit or baseline, 4 a call without its result or another invalid structure.
        """,
        writes=False,
        fixing=("repair",),
        first=("checking", "gate"),
    ),
    "run": StageCommand(
        None, "Run several stages in one pass: -s truncate:max-age=5 -s trim -s check."
    ),
}
"""The commands that run stages."""
