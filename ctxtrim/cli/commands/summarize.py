"""`ctxtrim summarize`."""

from ctxtrim.cli.options import command

COMMAND = command("summarize", stages=["summarize"], writes=True)
