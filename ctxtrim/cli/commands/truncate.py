"""`ctxtrim truncate`."""

from ctxtrim.cli.options import command

COMMAND = command(
    "truncate",
    stages=["truncate"],
    text="Shorten tool results that are too old or too long; nothing else changes.",
    writes=True,
)
