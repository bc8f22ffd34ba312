"""`ctxtrim count`."""

from ctxtrim.cli.options import command

COMMAND = command(
    "count",
    "Count the tokens of transcripts and show where they are.",
    stages=["count"],
    writes=False,
    first=("counting",),
)
