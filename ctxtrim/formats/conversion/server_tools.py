"""Tools that a provider runs: a request has their uses with the results, and the calls they made.

::

    use ──▶ calls that the tool makes, with results ──▶ result
"""

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.conversion.block_members import DIRECT, BlockMembers
from ctxtrim.formats.conversion.losses import Losses
from ctxtrim.formats.conversion.pieces import Piece
from ctxtrim.formats.conversion.target import Turn
from ctxtrim.formats.fields import members
from ctxtrim.model import ServerLink

Links = Callable[[Any], tuple[ServerLink, ...]]
"""The links of a block or an item in the format of a target."""


def linked(turns: Sequence[Turn], links: Links, losses: Losses) -> list[Turn]:
    """The turns without uses and results that lack the other, and without callers that they lack.

    A use may wait for its result if the model continues the last answer.
    """
    uses = _kept_uses(turns, links)
    past_uses: set[str] = set()
    linked_turns = []
    for turn in turns:
        pieces = []
        for piece in turn.pieces:
            linked_piece = _linked(piece, uses, past_uses, links)
            _list_losses(piece, linked_piece, turn, losses)
            if linked_piece is not None:
                pieces.append(linked_piece)
                past_uses |= {name for kind, name in _links([linked_piece], links) if kind == "use"}
        results = tuple(
            replace(answer, members=_with_known_caller(answer.members, past_uses, links))
            for answer in turn.results
        )
        linked_turns.append(replace(turn, pieces=tuple(pieces), results=results))
    return linked_turns


def _linked(piece: Piece, uses: Set[str], past_uses: Set[str], links: Links) -> Piece | None:
    """The piece, a call without its caller if that is not before it; None for a piece that lacks
    its use or its result.
    """
    if piece.kind == "call":
        return replace(piece, members=_with_known_caller(piece.members, past_uses, links))
    if piece.kind == "native":
        for kind, name in links(piece.value):
            if name not in (uses if kind == "use" else past_uses):
                return None
    return piece


def _list_losses(piece: Piece, linked_piece: Piece | None, turn: Turn, losses: Losses) -> None:
    """List a piece that is lost, or the caller that a call lost."""
    if linked_piece is None:
        kind = members(piece.value).get("type")
        losses.lose("server tool", f"a {kind} without its use or its result", turn.message)
    elif "caller" in piece.members and "caller" not in linked_piece.members:
        what = "the member caller: the request has no use of a server tool that it names"
        losses.lose("call origin", what, turn.message)


def _kept_uses(turns: Sequence[Turn], links: Links) -> set[str]:
    """The ids of the uses that have a result after them, or that the model continues."""
    uses: set[str] = set()
    answered_uses: set[str] = set()
    for kind, name in (link for turn in turns for link in _links(turn.pieces, links)):
        if kind == "use":
            uses.add(name)
        elif kind == "result" and name in uses:
            answered_uses.add(name)
    return answered_uses | (uses & _continued(turns, links))


def _continued(turns: Sequence[Turn], links: Links) -> set[str]:
    """The ids that the last answer names, if only the results of its calls follow it at once."""
    answers = [position for position, turn in enumerate(turns) if turn.role == "assistant"]
    if not answers:
        return set()
    last = answers[-1]
    next_turns = turns[last + 1 : last + 2]
    if next_turns and next_turns[0].role != "tool":
        return set()
    return {link.id for link in _links(turns[last].pieces, links)}


def _links(pieces: Iterable[Piece], links: Links) -> list[ServerLink]:
    """The links of native pieces and of calls."""
    tool_pieces = [piece for piece in pieces if piece.kind in ("native", "call")]
    values = (piece.members if piece.value is None else piece.value for piece in tool_pieces)
    return [link for value in values for link in links(value)]


def _with_known_caller(source_members: BlockMembers, uses: Set[str], links: Links) -> BlockMembers:
    """Members without a caller, unless it is one of some uses or the model itself."""
    caller = source_members.get("caller")
    if caller is None or caller == DIRECT or any(link.id in uses for link in links(source_members)):
        return source_members
    return {key: value for key, value in source_members.items() if key != "caller"}
