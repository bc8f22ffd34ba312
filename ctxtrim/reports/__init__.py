"""Report formats by name.

A format reads the rows of a report and yields its text piece by piece; it keeps no rows.
"""

from collections.abc import Callable, Iterator

from ctxtrim.loading.lazy_table import LazyTable, module_table
from ctxtrim.reports.model import Report

REPORTS: LazyTable[Callable[[Report], Iterator[str]]] = module_table(
    "ctxtrim.reports",
    {
        "text": "text:render",
        "json": "json:render",
        "jsonl": "jsonl:render",
    },
)

_BLOCK = 1 << 16  # characters


def blocks(pieces: Iterator[str]) -> Iterator[str]:
    """The text in larger pieces, which are faster to write."""
    block: list[str] = []
    size = 0
    for piece in pieces:
        block.append(piece)
        size += len(piece)
        if size >= _BLOCK:
            yield "".join(block)
            block, size = [], 0
    if block:
        yield "".join(block)
