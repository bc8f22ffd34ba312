"""Requests to Claude, counted with texts by ctok and our framings, compared with the counts of the
API.
"""

import ctok
import pytest
from builders import transcript, user
from claude_requests import QUESTION, SCIENTIST, WEATHER, counted

MODELS = {"3.0": "claude-opus-4-5", "4.7": "claude-opus-4-7"}


def test_documented_examples_are_counted_exactly() -> None:
    """14 tokens to the token; of the 403 the tool's schema is 41, which its JSON never falls short
    of.

    The 403 has a prompt of 346 tokens, which later documentation and recorded requests give as 313.
    """
    assert counted(transcript(SCIENTIST), name="claude-v3").tokens == 14
    count = counted(transcript(QUESTION, tools=WEATHER), name="claude-v3")
    assert count.tokens - count.tools_schema == 403 - 346 - 41
    assert count.overhead["tool_prompt"] == 313
    assert 41 <= count.overhead["schemas"] <= 80


@pytest.mark.parametrize("version", MODELS)
def test_every_recorded_message_counts_like_the_api_and_its_bound_no_less(
    version: str,
) -> None:
    """For each piece of its vocabularies, ctok contains a message and the API's count for it."""
    recorded = {
        value["probe"]: value["raw"]
        for value in ctok.pieces(version).values()
        if value.get("raw") is not None
    }
    assert len(recorded) > 10_000
    talks = {probe: transcript([user(probe)]) for probe in list(recorded)[::7]}
    own, bound = (
        f"claude-v{version.removesuffix('.0')}",
        f"claude-v{version.removesuffix('.0')}-bound",
    )
    for probe, talk in talks.items():
        assert counted(talk, MODELS[version], own).tokens == recorded[probe]
        assert counted(talk, MODELS[version], bound).tokens >= recorded[probe]
