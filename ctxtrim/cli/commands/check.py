"""`ctxtrim check`."""

from ctxtrim.cli.options import command

COMMAND = command(
    "check",
    "Check that transcripts fit the budget and that every call has its result.",
    stages=["check"],
    writes=False,
    fixing=["repair"],
    first=["checking", "gate"],
)
