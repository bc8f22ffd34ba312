"""What the text of a report shows."""

from msgspec import Struct


class View(Struct, frozen=True):
    """What the text of a report shows.

    `by`: the group of tokens; empty for roles, kinds and tools. `passing`: transcripts without
    errors too. `totals`: warnings, notes and the totals too.
    """

    by: str = ""
    passing: bool = True
    totals: bool = True


WHOLE = View()
