"""`ctxtrim truncate`."""

from ctxtrim.cli.options import command

COMMAND = command(
    "truncate",
    "Shorten tool results that are too old or too long; nothing else changes.",
    stages=["truncate"],
    writes=True,
)
