"""`ctxtrim convert`."""

from ctxtrim.cli.options import command

COMMAND = command(
    "convert",
    "Convert transcripts to requests for another provider; the report lists what is lost.",
    stages=[],
    writes=True,
    first=["converting"],
    output=["target"],
)
