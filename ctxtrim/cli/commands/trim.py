"""`ctxtrim trim`."""

from ctxtrim.cli.options import command

COMMAND = command(
    "trim",
    stages=["trim"],
    writes=True,
)
