"""Requests that continue a response, conversation or thread of the provider: their results answer
calls that only it has, and it refuses the request without them.
"""

import json
from typing import Any

import pytest
from conftest import Run

LONG = "depth 12 m at buoy 4, wind from the north\n" * 30
CONTINUATIONS: list[dict[str, Any]] = [
    {"previous_response_id": "resp_1"},
    {"conversation": "conv_1"},
    {"conversation": {"id": "conv_1"}},
]


def output(call_id: str, text: str) -> dict[str, str]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def request(*items: dict[str, Any], **fields: Any) -> bytes:
    return (json.dumps({"model": "gpt-5", "input": items} | fields) + "\n").encode()


def user(text: str) -> dict[str, str]:
    return {"type": "message", "role": "user", "content": text}


@pytest.mark.parametrize("fields", CONTINUATIONS)
def test_a_result_of_a_stored_call_is_valid(ctxtrim: Run, fields: dict[str, Any]) -> None:
    data = request(output("c1", "12 m"), **fields)
    profile = ("--profile", "openai-responses", "--as", "request")
    assert ctxtrim("check", *profile, stdin=data).code == 0
    assert ctxtrim("check", "--fix", stdin=data).out == data


def test_without_a_stored_conversation_it_is_not(ctxtrim: Run) -> None:
    for fields in ({}, {"previous_response_id": None}, {"prompt": {"id": "pmpt_1"}}):
        data = request(output("c1", "12 m"), **fields)
        assert ctxtrim("check", stdin=data).code == 4


def test_a_call_without_a_result_is_still_an_error(ctxtrim: Run) -> None:
    call = {"type": "function_call", "call_id": "c2", "name": "look", "arguments": "{}"}
    data = request(call, user("and?"), previous_response_id="resp_1")
    assert b"call-without-result" in ctxtrim("check", stdin=data).out


@pytest.mark.parametrize("strategy", ["priority", "oldest", "middle", "age"])
def test_trim_shortens_the_result_of_a_stored_call_and_never_drops_it(
    ctxtrim: Run, strategy: str
) -> None:
    items = [output("c1", LONG), user("Old remark. " * 40), user("How deep is it now?")]
    data = request(*items, previous_response_id="resp_1")
    ran = ctxtrim("trim", "--budget", "90", "--strategy", strategy, stdin=data)
    kept = json.loads(ran.out)["input"]
    assert ran.code == 0
    assert [item.get("call_id") for item in kept] == ["c1", None]
    assert len(kept[0]["output"]) < len(LONG)


@pytest.mark.parametrize("strategy", ["priority", "oldest", "middle", "age"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_trim_shortens_the_results_of_a_request_without_a_prompt(
    ctxtrim: Run, strategy: str, number: int
) -> None:
    items = [output(f"c{at}", f"depth at buoy {at}: 12 m\n" * 300) for at in range(number)]
    data = request(*items, previous_response_id="resp_1")
    ran = ctxtrim("trim", "--budget", "800", "--strategy", strategy, stdin=data)
    kept = json.loads(ran.out)["input"]
    assert ran.code == 0
    assert [item["call_id"] for item in kept] == [item["call_id"] for item in items]
    sizes = [len(item["output"]) for item in kept]
    assert max(sizes) == sizes[-1]  # the newest keeps most
    assert sum(sizes) > 1500  # most of the room is used
    assert ctxtrim("check", "--budget", "800", stdin=ran.out).code == 0


def test_a_request_that_fits_only_without_the_result_is_reported(ctxtrim: Run) -> None:
    data = request(output("c1", "x"), user("now " * 20), previous_response_id="resp_1")
    ran = ctxtrim("trim", "--budget", "31", stdin=data)
    assert (ran.code, ran.out) == (3, b"")


@pytest.mark.parametrize(
    "stages",
    [
        ("cutoff", "--tool-cutoff", "0"),
        ("summarize", "--keep-recent-turns", "0"),
        ("compact", "--max-messages", "1", "--keep-recent-messages", "1", "--tool-cutoff", "0"),
    ],
)
def test_no_stage_replaces_the_result_of_a_stored_call(
    ctxtrim: Run, stages: tuple[str, ...]
) -> None:
    answer = {"type": "message", "role": "assistant", "content": "It is shallow. " * 40}
    prompts = [user("Look again, at every buoy. " * 40), answer, user("And now?")]
    data = request(output("c1", LONG), *prompts, previous_response_id="resp_1")
    ran = ctxtrim("run", "-s", stages[0], *stages[1:], stdin=data)
    kept = json.loads(ran.out)["input"]
    assert [item for item in kept if item.get("type") == "function_call_output"] == [
        output("c1", LONG)
    ]


def test_a_result_that_continues_a_thread_of_claude_answers_a_stored_call(ctxtrim: Run) -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": LONG}
    talk = [{"role": "user", "content": [result]}]
    body = {"model": "claude-opus-5", "max_tokens": 90, "messages": talk}
    continued = {"thread": {"type": "continue", "previous_message_id": "msg_1"}}
    data = (json.dumps(body | continued) + "\n").encode()
    assert ctxtrim("check", stdin=(json.dumps(body) + "\n").encode()).code == 4
    assert ctxtrim("check", stdin=data).code == 0
    assert ctxtrim("check", "--fix", stdin=data).out == data
