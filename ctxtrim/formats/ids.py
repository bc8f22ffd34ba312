"""Ids of events that no client wrote."""

from uuid import NAMESPACE_OID, uuid5


def made_id(near: object, said: str, number: int = 0) -> str:
    """An id made of what an event says, of the event beside it, and of its place among several that are put there."""
    name = f"{near} {number} {said}" if number else f"{near} {said}"
    return str(uuid5(NAMESPACE_OID, name.encode(errors="surrogatepass").decode(errors="replace")))
