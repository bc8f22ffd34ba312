"""`ctxtrim check`."""

from ctxtrim.cli.options import command

COMMAND = command(
    "check",
    stages=["check"],
    writes=False,
    fixing=["repair"],
    first=["checking", "gate"],
)
