"""Histories of AutoGen 0.2: it sends the `tool_responses` of a message."""

import json
from typing import Any

import pytest
from builders import call, conversation, result, says, user
from conftest import Run
from harness import read, unpaired
from insertions import written
from msgspec.structs import replace

LONG = "".join(f"fathom {number}\n" for number in range(300))
CALLS = call("c1", "c2")
RESULTS = [result("c1", LONG), result("c2", "nine")]
ANSWER = says("Nine.")
PLAIN = [user("Sound the bay."), CALLS, *RESULTS, ANSWER, user("And now?"), says("Ten.")]


def joined(*results: dict[str, Any]) -> dict[str, Any]:
    """A message with several results, whose content joins theirs."""
    copy = "\n\n".join(each["content"] for each in results)
    return {"content": copy, "tool_responses": list(results), "role": "tool", "name": "pilot"}


HISTORY = [*PLAIN[:2], joined(*RESULTS), *PLAIN[4:]]
STOP = user("Stop.") | {"tool_responses": RESULTS}
STOPPED = [*PLAIN[:2], STOP, ANSWER]


def edited(messages: list[dict[str, Any]], *dropped: int) -> Any:
    """The messages after an edit that drops some of those that were read."""
    (chunk,) = read(conversation(messages))
    assert chunk.format is not None
    (found,) = chunk.transcripts
    kept = tuple(message for message in found.messages if message.index not in dropped)
    meant = replace(found, messages=kept)
    return json.loads(written(chunk, chunk.format, meant))["messages"]


@pytest.mark.parametrize("history", [HISTORY, [*STOPPED[:2], STOP, *PLAIN[4:]]])
def test_the_responses_count_once_and_answer_their_calls(ctxtrim: Run, history: Any) -> None:
    (found,) = read(conversation(history))[0].transcripts
    sent = [message for message in history if "tool_responses" not in message]
    assert len(found.messages) == len(sent) + 2 + history.count(STOP)
    assert [message.result.text for message in found.messages if message.result] == [LONG, "nine"]
    assert (found.uncounted, unpaired(found)) == (0, {})
    if STOP not in history:
        counts = [
            json.loads(ctxtrim("count", "--json", stdin=conversation(talk)).out)["transcripts"][0]
            for talk in (PLAIN, history)
        ]
        assert counts[0]["tokens"] == counts[1]["tokens"]
    checked = ctxtrim("check", "--verbose", stdin=conversation(history))
    assert (checked.code, "warning" in checked.err) == (0, False)


def test_a_trim_drops_a_call_with_all_its_responses(ctxtrim: Run) -> None:
    for data in (conversation(HISTORY), b"".join(json.dumps(m).encode() + b"\n" for m in HISTORY)):
        kept = read(ctxtrim("trim", "--budget", "45", stdin=data).out)[0].transcripts[0]
        assert not any(message.calls or message.result for message in kept.messages)
    assert edited(HISTORY, 1, 2, 3) == [HISTORY[0], *HISTORY[3:]]


def test_a_shorter_response_is_also_shorter_in_the_copy(ctxtrim: Run) -> None:
    ran = ctxtrim("truncate", "--max-tokens", "40", stdin=conversation(HISTORY))
    messages = json.loads(ran.out)["messages"]
    short = messages[2]["tool_responses"][0]["content"]
    assert len(short) < 200
    assert messages == [*HISTORY[:2], joined(result("c1", short), RESULTS[1]), *HISTORY[3:]]


def test_a_response_without_a_call_is_removed_alone(ctxtrim: Run) -> None:
    orphan = [HISTORY[0], call("c2"), *HISTORY[2:]]
    fixed = ctxtrim("check", "--fix", stdin=conversation(orphan))
    assert json.loads(fixed.out)["messages"] == [*orphan[:2], joined(RESULTS[1]), *HISTORY[3:]]


@pytest.mark.parametrize("is_prompt", [False, True])
def test_a_new_result_is_one_of_the_responses(ctxtrim: Run, is_prompt: bool) -> None:
    last = user("Stop.") | {"tool_responses": RESULTS[:1]} if is_prompt else joined(RESULTS[0])
    data = conversation([*HISTORY[:2], last, ANSWER])
    ran = ctxtrim("run", "-s", "repair:repair=synthesize", stdin=data)
    new = result("c2", "[no result recorded]")
    left = last | {"tool_responses": [RESULTS[0], new]} if is_prompt else joined(RESULTS[0], new)
    assert json.loads(ran.out)["messages"] == [*HISTORY[:2], left, ANSWER]


def test_the_words_of_a_person_and_the_responses_are_removed_alone() -> None:
    assert edited(STOPPED, 1, 2, 3) == [STOPPED[0], user("Stop."), ANSWER]
    assert edited(STOPPED, 1, 2, 3, 4) == [STOPPED[0], ANSWER]
    copy = joined(*RESULTS)
    del copy["name"]
    assert edited(STOPPED, 4) == [*STOPPED[:2], copy, ANSWER]


def test_responses_in_another_form_make_an_estimate_and_stay_with_their_calls(ctxtrim: Run) -> None:
    response = {"name": "sound", "response": {"depth": 9}}
    answer = call("c1") | {"content": "Nine.", "tool_responses": [response, response]}
    data = conversation([user("How deep?"), answer, user("And now?")])
    (found,) = read(data)[0].transcripts
    note = "`tool_responses` in an unknown form"
    assert (len(found.messages), found.uncounted, found.options.unread) == (3, 0, (note,))
    fixed = ctxtrim("check", "--fix", stdin=data)
    assert (fixed.code, fixed.out) == (0, data)


def test_a_response_whose_role_is_no_text_is_not_read(ctxtrim: Run) -> None:
    odd = user("Stop.") | {"tool_responses": [result("c1", "Nine.") | {"role": []}]}
    ran = ctxtrim("count", "--json", stdin=conversation([user("How deep?"), call("c1"), odd]))
    (row,) = json.loads(ran.out)["transcripts"]
    assert (ran.code, row["messages"], row["exactness"]) == (0, 3, "estimated")
