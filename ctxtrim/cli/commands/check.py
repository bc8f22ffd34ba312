"""`ctxtrim check`."""

from ctxtrim.cli.options import command

COMMAND = command(
    "check",
    "Say whether transcripts fit their budget and whether calls and results belong together.",
    stages=["check"],
    writes=False,
    fixing=["repair"],
)
