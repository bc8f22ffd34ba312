"""`ctxtrim count`."""

from ctxtrim.cli.options import command

COMMAND = command("count", "How many tokens a transcript has, and where they sit.", stages=["count"], writes=False)
