"""`ctxtrim trim`."""

from ctxtrim.cli.options import command

COMMAND = command(
    "trim", "Let go of the least important until the transcript fits its budget.", stages=["trim"], writes=True
)
