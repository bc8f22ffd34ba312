"""`ctxtrim trim`."""

from ctxtrim.cli.options import command

COMMAND = command(
    "trim",
    "Drop the least important messages until the transcript fits the budget.",
    stages=["trim"],
    writes=True,
)
