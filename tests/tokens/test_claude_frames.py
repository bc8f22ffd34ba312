"""The framing of Claude's texts: never below the documentation of Anthropic and recorded
sessions.
"""

import json
from typing import Any

import pytest
from builders import conversation, says, transcript, user
from claude_requests import QUESTION, SCIENTIST, WEATHER, counted
from harness import read
from test_corpus import CORPUS, needs_corpus

from ctxtrim import estimate_tokens
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.models import FRAMINGS

ANTHROPIC = [name for name in FRAMINGS if name.startswith("anthropic")]
LOGS = sorted((CORPUS / "litellm-log").glob("*claude*"))


@pytest.mark.parametrize("name", ["claude-v3", "claude-v3-bound"])
def test_no_documented_example_is_counted_too_low(name: str) -> None:
    assert counted(transcript(SCIENTIST), name=name).tokens >= 14
    assert counted(transcript(QUESTION, tools=WEATHER), name=name).tokens >= 403


def test_the_bound_covers_the_frame_of_4_7() -> None:
    """11 tokens around a single message and, by `ctok`, 14 of its text; 6 around one of 4.8."""
    repeated = [user("a" * 14)]
    for version, tokens in (("4-7", 25), ("4-8", 20)):
        name = f"claude-v{version.replace('-', '.')}-bound"
        model = f"claude-opus-{version}"
        assert estimate_tokens(repeated, model, tokenizer=name) >= tokens


@pytest.mark.parametrize("name", ANTHROPIC)
@pytest.mark.parametrize("calls", [1, 2, 3, 5])
@pytest.mark.parametrize("arguments", [0, 1, 4])
@pytest.mark.parametrize("reasons", [False, True])
def test_a_step_costs_no_less_than_recorded_sessions_show(
    name: str, calls: int, arguments: int, reasons: bool
) -> None:
    """The growth of the prompt besides the texts, in 265 steps of recorded sessions: 5 tokens and
    more, see `models`.
    """
    spelled = json.dumps(dict.fromkeys("abcd"[:arguments], ""))
    function = {"name": "", "arguments": spelled}
    made: dict[str, Any] = {"role": "assistant", "content": None}
    made["tool_calls"] = [
        {"id": f"c{n}", "type": "function", "function": function} for n in range(calls)
    ]
    if reasons:
        made["reasoning_content"] = "."
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": ""} for n in range(calls)]
    talk = transcript([user("go"), made, *results])
    counter = Counter(Letters(), FRAMINGS[name])
    assert (
        sum(message.parts[0].kind == "reasoning" for message in talk.messages if message.parts)
        == reasons
    )
    step = (
        sum(cost.total for cost in counter.costs(talk.messages)[1:]) - calls * arguments - reasons
    )
    assert step >= 5 + 42 * calls + 14 * calls * arguments + 15 * reasons + 24 * (calls > 1)
    assert step <= 100 * calls + 25 * calls * arguments + 20


class Letters:
    """A token per letter: the cost of the texts is known."""

    name, exactness = "letters", "exact"

    def count(self, text: str) -> int:
        return len(text)

    ceiling = count


def test_a_system_prompt_of_claude_adds_only_its_text() -> None:
    counter = Counter(Letters(), FRAMINGS["anthropic-v3"])
    with_prompt, without = (
        transcript([{"role": "system", "content": "abc"}, says("x")]),
        transcript([says("x")]),
    )
    assert counter.tokens(with_prompt) - counter.tokens(without) == 3


@needs_corpus
@pytest.mark.parametrize("path", LOGS or [CORPUS], ids=lambda path: path.name[-19:])
def test_no_recorded_request_with_tools_is_counted_too_low(path: Any) -> None:
    log = json.loads(path.read_bytes())
    talk = read(conversation(log["messages"], tools=log["tools"]))[0].transcripts[0]
    recorded = log["response"]["usage"]["prompt_tokens"]
    assert recorded <= counted(talk).tokens <= 1.6 * recorded
    own = counted(talk, name="claude-v3")
    assert recorded <= own.tokens
    if own.exactness == "reconstructed":
        assert own.tokens <= 1.02 * recorded
