"""`ctxtrim trim`."""

from ctxtrim.cli.options import command

COMMAND = command(
    "trim", "Drop the oldest exchanges until the transcript fits its budget.", stages=["trim"], writes=True
)
