"""`ctxtrim summarize`."""

from ctxtrim.cli.options import command

COMMAND = command("summarize", "Put one summary in the place of all that is old.", stages=["summarize"], writes=True)
