"""`ctxtrim summarize`."""

from ctxtrim.cli.options import command

COMMAND = command(
    "summarize", "Replace old messages by one summary.", stages=["summarize"], writes=True
)
