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
    before: set[str] = set()  # the uses so far
    found = []
    for turn in turns:
        pieces = []
        for piece in turn.pieces:
            kept = _linked(piece, uses, before, links)
            before |= {link.id for link in _links(kept, links) if link.kind == "use"}
            pieces += kept
            _list_losses(piece, kept, turn, losses)
        results = tuple(
            replace(answer, members=_known(answer.members, before, links))
            for answer in turn.results
        )
        found.append(replace(turn, pieces=tuple(pieces), results=results))
    return found


def _linked(piece: Piece, uses: Set[str], before: Set[str], links: Links) -> list[Piece]:
    """The piece, a call without its caller if that is not before it; nothing for a piece that
    lacks its use or its result.
    """
    if piece.kind == "call":
        return [replace(piece, members=_known(piece.members, before, links))]
    if piece.kind != "native":
        return [piece]
    is_whole = all(
        link.id in (uses if link.kind == "use" else before) for link in links(piece.value)
    )
    return [piece] if is_whole else []


def _list_losses(piece: Piece, kept: Sequence[Piece], turn: Turn, losses: Losses) -> None:
    """List a piece that is lost, or the caller of a call."""
    if not kept:
        kind = members(piece.value).get("type")
        losses.lose("server tool", f"a {kind} without its use or its result", turn.message)
    elif "caller" in piece.members and "caller" not in kept[0].members:
        what = "the member caller: the request has no use of a server tool that it names"
        losses.lose("call origin", what, turn.message)


def _kept_uses(turns: Sequence[Turn], links: Links) -> set[str]:
    """The ids of the uses that have a result after them, or that the model continues."""
    uses: set[str] = set()
    answered: set[str] = set()
    for kind, name in (link for turn in turns for link in _links(turn.pieces, links)):
        if kind == "use":
            uses.add(name)
        elif kind == "result" and name in uses:
            answered.add(name)
    return answered | (uses & _continued(turns, links))


def _continued(turns: Sequence[Turn], links: Links) -> set[str]:
    """The ids that the last answer names, if only the results of its calls follow it at once."""
    last = max((at for at, turn in enumerate(turns) if turn.role == "assistant"), default=None)
    if last is None:
        return set()
    after = turns[last + 1 : last + 2]
    if after and after[0].role != "tool":
        return set()
    return {link.id for link in _links(turns[last].pieces, links)}


def _links(pieces: Iterable[Piece], links: Links) -> list[ServerLink]:
    """The links of native pieces and of calls."""
    known = [piece for piece in pieces if piece.kind in ("native", "call")]
    values = (piece.members if piece.value is None else piece.value for piece in known)
    return [link for value in values for link in links(value)]


def _known(found: BlockMembers, uses: Set[str], links: Links) -> BlockMembers:
    """Members without a caller, unless it is one of some uses or the model itself."""
    caller = found.get("caller")
    if caller is None or caller == DIRECT or any(link.id in uses for link in links(found)):
        return found
    return {key: value for key, value in found.items() if key != "caller"}
