"""`ctxtrim run`."""

from ctxtrim.cli.options import command

COMMAND = command(
    "run",
    stages=None,
    text="Run several stages in one pass: -s truncate:max-age=5 -s trim -s check.",
    writes=True,
)
