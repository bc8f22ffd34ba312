"""The work to replay a session grows with its number of lines, whatever the lines do."""

from collections.abc import Iterable
from typing import Any

import pytest
from bytecodes import bytecodes
from msgspec.json import encode
from test_codex import counted, event, item, message
from test_kimi import compaction, said, step
from test_openai_responses import says

from ctxtrim.formats.agents import kimi
from ctxtrim.formats.base import Format
from ctxtrim.formats.openai import codex
from ctxtrim.model import Line
from ctxtrim.text.records import split

Replay = tuple[Format, Iterable[Any], Iterable[Any]]
"""A format, records that repeat, and records that repeat after all of these."""

KIMI_TURN = [said("user", "One."), *step("Two.", usage={"inputOther": 3, "output": 2})]
CODEX_TURN = [item(says("user", "One.")), item(says("assistant", "Two."))]
ROLLBACK = message("thread_rolled_back", num_turns=1)
COMPACTED = event("compacted", {"message": "They met."})
REPLAYS: dict[str, Replay] = {
    "kimi-undo": (kimi.FORMAT, 2 * KIMI_TURN, [{"type": "context.undo", "count": 1}]),
    "kimi-undo-too-many": (kimi.FORMAT, KIMI_TURN, [{"type": "context.undo", "count": 9999}]),
    "kimi-compaction": (kimi.FORMAT, [*KIMI_TURN, compaction(keptUserMessageCount=1)], []),
    "kimi-older-compaction": (kimi.FORMAT, [*2 * KIMI_TURN, compaction(compactedCount=2)], []),
    "codex-rollback": (codex.FORMAT, [*2 * CODEX_TURN, ROLLBACK], [ROLLBACK]),
    "codex-rollback-without-turn": (codex.FORMAT, CODEX_TURN[1:], [ROLLBACK]),
    "codex-compaction": (codex.FORMAT, [*CODEX_TURN, COMPACTED], [COMPACTED]),
    "codex-usage": (codex.FORMAT, [CODEX_TURN[0], counted(3, 2)], []),
}


@pytest.mark.parametrize(("form", "first", "then"), REPLAYS.values(), ids=REPLAYS)
def test_the_work_grows_with_the_lines(form: Format, first: list[Any], then: list[Any]) -> None:
    def work(times: int) -> int:
        data = map(encode, first * times + then * times)
        lines = [Line(line, number) for number, line in enumerate(data, 1)]
        records = [record for line in lines for record in split(line.data, line.number)]
        return bytecodes(lambda: form.read(records, lines))

    work(1)  # loads modules and fills caches
    assert work(200) < 4.5 * work(50)
