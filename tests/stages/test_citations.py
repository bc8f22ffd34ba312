"""The prompt that Anthropic adds for citations is counted while a source to cite is there."""

import json
from typing import Any

import pytest
from builders import says, user
from conftest import Run

from ctxtrim.tokenizers.claude_ctok import available
from ctxtrim.tokens.tokenizer import MARKS

MARK = MARKS["reconstructed" if available() else "bounded"]
MODEL = "claude-sonnet-4-6"
PROMPT = 560
SOURCE = {
    "type": "search_result",
    "source": "https://example.com/tides",
    "title": "Tides",
    "content": [{"type": "text", "text": "High water at six."}],
    "citations": {"enabled": True},
}
QUESTION = {"role": "user", "content": [SOURCE, {"type": "text", "text": "When is high water?"}]}
LATER = [says("At six. " * 30), user("And low water?"), says("At noon."), user("Thanks, and fog?")]


def request(*messages: dict[str, Any]) -> bytes:
    return json.dumps({"model": MODEL, "max_tokens": 9, "messages": messages}).encode()


def tokens(ctxtrim: Run, data: bytes) -> int:
    ran = ctxtrim("count", "--json", stdin=data)
    (row,) = json.loads(ran.out)["transcripts"]
    return int(row["tokens"])


def trimmed(ctxtrim: Run, data: bytes, budget: int, *options: str) -> tuple[int, bytes, str]:
    ran = ctxtrim("trim", "-b", str(budget), *options, stdin=data)
    return ran.code, ran.out, ran.err


@pytest.mark.parametrize("budget", [640, 300])
def test_the_prompt_for_citations_goes_with_the_last_source(ctxtrim: Run, budget: int) -> None:
    """The messages after the source fit any of the budgets only without the prompt."""
    data = request(QUESTION, *LATER)
    assert tokens(ctxtrim, data) > PROMPT
    code, out, err = trimmed(ctxtrim, data, budget)
    left = tokens(ctxtrim, out)
    assert (code, left < 100) == (0, True)
    assert f"{MARK}{left} tokens" in err
    assert json.loads(out)["messages"][-1] == LATER[-1]


def test_the_prompt_for_citations_stays_with_a_source_that_is_kept(ctxtrim: Run) -> None:
    cited = {"role": "user", "content": [SOURCE, {"type": "text", "text": "And today?"}]}
    data = request(QUESTION, *LATER[:-1], cited)
    code, out, _ = trimmed(ctxtrim, data, 700)
    assert (code, json.loads(out)["messages"][-1]) == (0, cited)
    assert PROMPT < tokens(ctxtrim, out) <= 700
    assert trimmed(ctxtrim, data, 500)[0] == 3


def test_the_others_get_the_room_of_the_prompt(ctxtrim: Run) -> None:
    """Without its source, everything after it fits."""
    data = request(QUESTION, *LATER)
    without = request(*LATER[1:])
    assert trimmed(ctxtrim, data, tokens(ctxtrim, without))[1] == without


def test_a_search_result_in_a_tool_result_is_a_source(ctxtrim: Run) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "search", "input": {}}

    def searched(source: dict[str, Any]) -> bytes:
        answer = {"type": "tool_result", "tool_use_id": "c1", "content": [source]}
        talk = {"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}
        return request(user("When is high water?"), *talk)

    silent = SOURCE | {"citations": {"enabled": False}}
    more = tokens(ctxtrim, searched(SOURCE)) - tokens(ctxtrim, searched(silent))
    assert abs(more - PROMPT) < 10


def test_a_document_that_becomes_a_text_is_no_source(ctxtrim: Run) -> None:
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}
    document = {"type": "document", "source": source, "citations": {"enabled": True}}
    cited = {"role": "user", "content": [document, {"type": "text", "text": "When?"}]}
    data = request(cited, says("At nine."), user("Thanks."))
    ran = ctxtrim("run", "-s", "drop-images:clock=turns,max-age=0", stdin=data)
    assert (ran.code, b'"document"' in ran.out) == (0, False), ran.err
    left = tokens(ctxtrim, ran.out)
    assert (left < 100, f"{MARK}{left} tokens" in ran.err) == (True, True), ran.err
