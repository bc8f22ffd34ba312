"""Ids for inserted events."""

from uuid import NAMESPACE_OID, uuid5


def event_id(neighbour: object, content: str, number: int = 0) -> str:
    """An id derived from an event's content, its neighbour, and its position among insertions."""
    seed = f"{neighbour} {number} {content}" if number else f"{neighbour} {content}"
    return str(uuid5(NAMESPACE_OID, seed.encode(errors="surrogatepass").decode(errors="replace")))
