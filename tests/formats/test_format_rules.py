"""Every transcript has the rules of its format."""

import json
from typing import Any

import pytest
from harness import read
from strategies import CONVERSATIONS

from ctxtrim.formats import FORMATS
from ctxtrim.model import FormatRules

TALK = [
    {"role": "user", "texts": ["Which berths are free?"]},
    {"role": "assistant", "texts": ["Berths 2 and 4."], "calls": []},
    {"role": "user", "texts": ["Book berth 2."]},
]


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_transcripts_have_the_rules_of_their_format(name: str) -> None:
    lines = (json.dumps(CONVERSATIONS[name](TALK, number)) + "\n" for number in range(2))
    chunks = read("".join(lines).encode())
    rules = FORMATS[name.partition(",")[0]].rules
    found = [transcript.rules for chunk in chunks for transcript in chunk.transcripts]
    assert len(found) >= 2
    assert all(each == rules for each in found)


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("openai-chat", FormatRules()),
        ("context", FormatRules(records_calls=False)),
        ("sharegpt", FormatRules(must_alternate=True)),
        ("bedrock", FormatRules(adds_texts=True, must_alternate=True)),
        ("pi", FormatRules(hides=True)),
    ],
)
def test_a_format_has_the_rules_of_what_it_can_write(name: str, rules: FormatRules) -> None:
    assert FORMATS[name].rules == rules


@pytest.mark.parametrize("name", [name for name in FORMATS if FORMATS[name].placed])
def test_lists_at_another_path_have_the_rules_of_their_format(name: str) -> None:
    placed = FORMATS[name].placed
    assert placed is not None
    assert placed("log").rules == FORMATS[name].rules


def test_single_elements_of_bedrock_have_its_strict_roles() -> None:
    elements: list[dict[str, Any]] = [
        {"role": "user", "content": [{"text": "Which berths are free?"}]},
        {"role": "assistant", "content": [{"text": "Berths 2 and 4."}]},
    ]
    data = "".join(json.dumps(element) + "\n" for element in elements).encode()
    ((transcript,),) = (chunk.transcripts for chunk in read(data))
    assert transcript.strict_roles == "elements"
