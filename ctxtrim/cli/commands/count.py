"""`ctxtrim count`."""

from ctxtrim.cli.options import command

COMMAND = command(
    "count",
    stages=["count"],
    text="Count the tokens of transcripts and show where they are.",
    writes=False,
    first=("counting",),
)
