"""`ctxtrim convert`."""

from ctxtrim.cli.options import command

COMMAND = command(
    "convert",
    stages=[],
    text="Convert transcripts to requests for another provider; the report lists what is lost.",
    writes=True,
    first=["converting"],
    output=["target"],
)
