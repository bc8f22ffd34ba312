"""Chat Completions as data for training, logs and other clients write them: other members, other
roles, calls in strings.
"""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from builders import call, conversation, result, says, user
from conftest import Run
from harness import read, unpaired
from pictures import png

from ctxtrim import truncate_old_tool_outputs
from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Transcript

SYSTEM = {"role": "system", "content": "Answer as the harbour master."}
PROMPT = [SYSTEM, user("Which berths are free?")]
ANSWER = [says("Berths 2 and 4.")]
TALK = [*PROMPT, *ANSWER]
TOOLS = [{"type": "function", "function": {"name": "berths", "parameters": {"type": "object"}}}]


def transcripts(value: Any) -> tuple[str | None, list[Transcript]]:
    """The format of a value on a line, and its transcripts."""
    data = json.dumps(value).encode() + b"\n"
    reading = open_reading(BytesIO(data))
    found = [transcript for chunk in reading.chunks for transcript in chunk.transcripts]
    return reading.format.name if reading.format else None, found


def texts(transcript: Transcript) -> list[str]:
    return [part.text for message in transcript.messages for part in message.parts]


@pytest.mark.parametrize(
    "value",
    [
        {"conversations": TALK},
        {"conversation": TALK, "turn": 1},
        {"trajectory": TALK, "resolved": True},
        {"dialogue": TALK},
        {"request": {"messages": TALK}, "response": {"choices": []}},
        {"request": {"url": "/v1", "body": {"messages": TALK}}},
        {"request_body": {"messages": TALK}},
        {"kwargs": {"messages": TALK}},
        {"chat": {"messages": TALK}},
        {"data": [{"messages": TALK}]},
        {"results": [{"messages": TALK}]},
        {"conversations": [{"messages": TALK}]},
        {"prompt": PROMPT, "completion": ANSWER},
        {"prompt": PROMPT, "chosen": ANSWER, "rejected": []},
        {"input": {"messages": PROMPT}, "preferred_output": ANSWER, "non_preferred_output": []},
        {"attempts": [{"history": TALK}]},
        [{"conversations": TALK}],
        [{"prompt": PROMPT, "completion": ANSWER}],
    ],
)
def test_messages_under_other_members_are_one_conversation(value: Any) -> None:
    form, (found,) = transcripts(value)
    assert form == "openai-chat"
    assert texts(found) == [message["content"] for message in TALK]


def test_a_preferred_and_a_rejected_answer_are_never_in_one_conversation() -> None:
    other = [*PROMPT, says("None.")]
    _, found = transcripts({"chosen": TALK, "rejected": other})
    assert [texts(each)[-1] for each in found] == ["Berths 2 and 4.", "None."]
    _, found = transcripts({"prompt": PROMPT, "chosen": ANSWER, "rejected": [says("None.")]})
    assert [texts(each)[-1] for each in found] == ["Berths 2 and 4.", "None."]


def test_copies_next_to_the_usual_list_are_not_read() -> None:
    _, found = transcripts({"messages": TALK, "input": PROMPT, "trajectory": TALK})
    assert [texts(each) for each in found] == [[message["content"] for message in TALK]]
    _, found = transcripts({"history": TALK, "attempts": [{"history": TALK}]})
    assert len(found) == 1


def test_elements_of_an_array_may_have_their_messages_under_different_members() -> None:
    _, found = transcripts([{"messages": TALK}, {"conversation": PROMPT}])
    assert [len(each.messages) for each in found] == [3, 2]


def test_a_prompt_and_its_completion_are_edited_as_one_conversation(ctxtrim: Run) -> None:
    old = [user("Berths? " * 60), says("None. " * 60)]
    line = {"prompt": [SYSTEM, *old, PROMPT[1]], "completion": ANSWER}
    ran = ctxtrim("trim", "--budget", "80", stdin=json.dumps(line).encode())
    assert json.loads(ran.out) == {"prompt": PROMPT, "completion": ANSWER}


def test_chat_messages_under_input_are_not_items_of_responses() -> None:
    talk = [user("go"), call("c1"), result("c1", "done"), says("Done.")]
    form, (found,) = transcripts({"input": talk, "ideal": "x", "model": "gpt-4o"})
    assert form == "openai-chat"
    assert [message.role for message in found.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert not unpaired(found)
    assert transcripts({"input": PROMPT, "model": "gpt-4o"})[0] == "openai-responses"


def test_calls_as_json_in_a_string_are_paired_with_their_results(ctxtrim: Run) -> None:
    calls = json.dumps(call("c1", "c2")["tool_calls"])
    talk = [
        user("go " * 100),
        {"role": "assistant", "content": "", "tool_calls": calls},
        result("c1", "one " * 100),
        result("c2", "two " * 100),
        says("Done."),
        user("Again?"),
        {"role": "assistant", "content": None, "function_call": '{"name": "f", "arguments": "{}"}'},
        {"role": "function", "name": "f", "content": "three"},
    ]
    data = conversation(talk)
    (found,) = read(data)[0].transcripts
    assert [len(message.calls) for message in found.messages] == [0, 2, 0, 0, 0, 0, 1, 0]
    assert found.messages[1].calls[0].call_id == "c1"
    assert not unpaired(found)
    ran = ctxtrim("trim", "--budget", "60", stdin=data)
    assert json.loads(ran.out)["messages"] == talk[5:]
    assert ctxtrim("check", "--budget", "100", stdin=ran.out).code == 0


def stored_calls(*ids: str) -> dict[str, Any]:
    """An answer with calls as verifiers stores them: each is JSON in a string."""
    answer = call(*ids, line="deep " * 20)
    return answer | {"tool_calls": [json.dumps(each) for each in answer["tool_calls"]]}


def test_calls_that_are_strings_in_a_list_are_as_good_as_objects(ctxtrim: Run) -> None:
    plain = [user("go"), call("c1", "c2", line="deep " * 20), result("c1", "a"), result("c2", "b")]
    talk = [plain[0], stored_calls("c1", "c2"), *plain[2:]]
    expected, data = conversation(plain, model="gpt-4o"), conversation(talk, model="gpt-4o")
    counts = [json.loads(ctxtrim("count", "--json", stdin=each).out) for each in (expected, data)]
    rows = [count["transcripts"][0] for count in counts]
    assert rows[0]["tokens"] == rows[1]["tokens"]
    assert [row["by_kind"]["tool_call"] > 40 for row in rows] == [True, True]
    assert ctxtrim("check", stdin=data).code == 0
    for target in ("openai-chat", "anthropic"):
        converted = [ctxtrim("convert", "--to", target, stdin=each) for each in (expected, data)]
        assert json.loads(converted[0].out) == json.loads(converted[1].out)


def test_a_call_in_a_list_of_strings_is_edited_with_its_result(ctxtrim: Run) -> None:
    old = [user("go " * 60), stored_calls("c1", "c2"), result("c1", "a"), result("c2", "b" * 90)]
    new = [user("Again?"), stored_calls("c3"), result("c3", "c"), says("Done.")]
    trimmed = ctxtrim("trim", "--budget", "150", stdin=conversation(old + new))
    assert json.loads(trimmed.out)["messages"] == new
    cut = ctxtrim("truncate", "--max-tokens", "8", stdin=conversation([*old, *new]))
    messages = json.loads(cut.out)["messages"]
    assert (messages[1], messages[3] == old[3]) == (old[1], False)
    unanswered = [*old[:3], *new]
    fixed = ctxtrim("check", "--fix", stdin=conversation(unanswered))
    one_call = old[1] | {"tool_calls": old[1]["tool_calls"][:1]}
    assert json.loads(fixed.out)["messages"] == [old[0], one_call, old[2], *new]


def test_a_single_call_next_to_a_content_is_paired_with_its_result(ctxtrim: Run) -> None:
    one = call("c1", line="deep")["tool_calls"][0]
    for stored in (one, json.dumps(one)):
        answer = {"role": "assistant", "content": "", "tool_call": stored}
        data = conversation([user("go"), answer, result("c1", "a"), says("Done.")])
        (found,) = read(data)[0].transcripts
        assert ([each.call_id for each in found.messages[1].calls], found.uncounted) == (["c1"], 0)
        assert not unpaired(found)
        assert ctxtrim("check", stdin=data).code == 0
        alone = ctxtrim("check", "--fix", stdin=conversation([user("go"), answer, user("Well?")]))
        assert b"tool_call" not in alone.out
        assert ctxtrim("check", stdin=alone.out).code == 0


@pytest.mark.parametrize(
    ("member", "uncounted"),
    [
        ({"tool_calls": ["berths(at=3)"]}, 1),
        ({"tool_calls": "[{'name': 'berths'}]"}, 1),
        ({"tool_call": "berths(at=3)"}, 1),
        ({"tool_calls": "[]", "function_call": "null"}, 0),
    ],
)
def test_a_string_that_is_no_call_makes_an_estimate(member: Any, uncounted: int) -> None:
    answer = says("See the chart.") | member
    (found,) = read(conversation([user("go"), answer]))[0].transcripts
    assert (list(found.messages[1].calls), found.uncounted) == ([], uncounted)


@pytest.mark.parametrize("key", ["arguments", "args", "input", "parameters"])
@pytest.mark.parametrize("is_inside", [False, True])
def test_arguments_of_a_call_count_under_every_usual_key(key: str, is_inside: bool) -> None:
    asked = {"name": "berths", key: {"at": 3}}
    asked = {"id": "c1"} | ({"function": asked} if is_inside else asked)
    data = conversation([user("go"), says("") | {"tool_calls": [asked]}, result("c1", "nine")])
    (found,) = read(data)[0].transcripts
    assert [(part.name, part.text) for part in found.messages[1].calls] == [
        ("berths", '{"at":3}'),
    ]


def test_a_call_without_known_arguments_counts_as_its_json() -> None:
    asked = {"id": "c1", "name": "berths", "arguments_json": '{"at": 3}'}
    plain = {"id": "c2", "type": "function", "function": {"name": "sail"}}
    answer = says("") | {"tool_calls": [asked, plain]}
    data = conversation([user("go"), answer, result("c1", "nine"), result("c2", "ok")])
    (found,) = read(data)[0].transcripts
    first, second = found.messages[1].calls
    assert json.loads(first.text) == asked
    assert second.text == ""


@pytest.mark.parametrize(
    "value",
    [
        {"messages": TALK, "tools": json.dumps(TOOLS)},
        {"messages": [SYSTEM | {"tools": TOOLS}, *TALK[1:]]},
        {"conversations": [SYSTEM | {"tools": json.dumps(TOOLS)}, *TALK[1:]]},
    ],
)
def test_tools_in_a_string_or_in_the_system_message_count(value: Any) -> None:
    _, (found,) = transcripts(value)
    assert found.tools is not None
    assert json.loads(found.tools) == TOOLS


def test_roles_of_training_data_are_read() -> None:
    spoken = json.dumps({"name": "berths", "arguments": {"at": 3}})
    _, (swift,) = transcripts(
        {
            "messages": [
                user("go"),
                {"role": "tool_call", "content": spoken},
                {"role": "tool_response", "content": "two"},
                says("Two."),
            ]
        }
    )
    assert [message.role for message in swift.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [call.name for call in swift.messages[1].calls] == ["berths"]
    assert not unpaired(swift)
    _, (plain,) = transcripts(
        {
            "messages": [
                {"role": "human", "content": "a"},
                {"role": "ai", "content": "b"},
                {"role": "human", "content": "c"},
                {"role": "bot", "content": "d"},
                {"role": "user", "content": "e"},
                {"role": "model", "content": "f"},
            ]
        }
    )
    assert [message.role for message in plain.messages] == ["user", "assistant"] * 3


def test_tool_messages_of_smolagents_are_a_call_and_its_result() -> None:
    def blocks(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "content": [{"type": "text", "text": text}]}

    talk = [
        blocks("user", "go"),
        blocks("tool-call", "Calling tools:\n[…]"),
        blocks("tool-response", "Observation:\ntwo"),
    ]
    _, (found,) = transcripts({"messages": talk})
    assert [part.kind for message in found.messages for part in message.parts] == [
        "text",
        "tool_call",
        "tool_result",
    ]
    assert not unpaired(found)


def test_an_ipython_message_is_the_result_of_the_code_before_it(ctxtrim: Run) -> None:
    talk = [
        user("Add them. " * 40),
        says("<|python_tag|>print(1 + 2)"),
        {"role": "ipython", "content": "3 " * 100},
        says("Three."),
        user("And now?"),
    ]
    data = conversation(talk)
    (found,) = read(data)[0].transcripts
    assert found.messages[2].role == "tool"
    assert ctxtrim("check", "--budget", "1000", stdin=data).code == 0
    ran = ctxtrim("trim", "--budget", "30", stdin=data)
    assert json.loads(ran.out)["messages"] == talk[-1:]


def test_a_tool_use_of_the_provider_in_an_inspect_log_counts_with_its_result(ctxtrim: Run) -> None:
    search = {
        "type": "tool_use",
        "tool_type": "web_search",
        "id": "w1",
        "name": "web_search",
        "arguments": "{}",
        "result": "found " * 50,
    }
    answer = {"role": "assistant", "content": [search, {"type": "text", "text": "Berth 2."}]}
    talk = [*PROMPT, answer | {"tool_calls": [{"id": "t1", "function": "bash", "arguments": {}}]}]
    talk += [{"role": "tool", "tool_call_id": "t1", "content": "ok"}, says("Done.")]
    form, (found,) = transcripts({"eval": {"model": "m"}, "samples": [{"messages": talk}]})
    assert form == "openai-chat"
    assert "found found" in found.messages[2].parts[0].text
    assert not unpaired(found)


@pytest.mark.parametrize("prefix", ["attachment://", "tc://"])
def test_contents_that_an_inspect_log_stores_apart_count(ctxtrim: Run, prefix: str) -> None:
    image = f"data:image/png;base64,{png(200, 100)}"
    long = "".join(f"line {number}\n" for number in range(500))

    def log(shown: str, text: str, attachments: dict[str, str]) -> dict[str, Any]:
        content = [{"type": "text", "text": "What is it?"}, {"type": "image", "image": shown}]
        talk = [{"role": "user", "content": content}, call("c1"), result("c1", text), says("Ok.")]
        sample = {"messages": talk, "attachments": attachments}
        return {"eval": {"model": "openai/gpt-4o"}, "samples": [sample]}

    apart = log(f"{prefix}a1", f"{prefix}b2", {"a1": image, "b2": long})
    inline = log(image, long, {})
    counts = [
        json.loads(ctxtrim("count", "--json", stdin=json.dumps(each).encode()).out)["transcripts"]
        for each in (apart, inline)
    ]
    assert counts[0][0]["tokens"] == counts[1][0]["tokens"]
    ran = ctxtrim("truncate", "--max-tokens", "100", stdin=json.dumps(apart).encode())
    left = json.loads(ran.out)["samples"][0]
    assert left["messages"][2]["content"].startswith("line 0\n")
    assert left["messages"][0] == apart["samples"][0]["messages"][0]
    assert left["attachments"] == apart["samples"][0]["attachments"]


@pytest.mark.parametrize(
    ("flag", "text", "is_kept"),
    [
        ({}, "warped\n", False),
        ({}, "Error: warped\n", True),
        ({"is_error": True}, "warped\n", True),
        ({"isError": True}, "warped\n", True),
        ({"status": "error"}, "warped\n", True),
        ({"is_error": None, "status": "success"}, "Error: warped\n", True),
        ({"is_error": False}, "Error: warped\n", False),
        ({"isError": False}, "Error: warped\n", False),
    ],
)
def test_s0_11_the_flag_next_to_a_result_says_whether_it_is_an_error(
    ctxtrim: Run, flag: dict[str, Any], text: str, is_kept: bool
) -> None:
    old = [call("c0"), result("c0", text * 200) | flag]
    steps = [message for n in range(1, 8) for message in (call(f"c{n}"), result(f"c{n}", "ok"))]
    messages = [user("go"), *old, *steps]
    data = conversation(messages)
    assert (ctxtrim("truncate", stdin=data).out == data) == is_kept
    assert (truncate_old_tool_outputs(messages) == messages) == is_kept


def test_the_error_of_a_tool_in_an_inspect_log_is_its_result(ctxtrim: Run) -> None:
    failed = result("c1", "") | {"error": {"type": "timeout", "message": "No wind. " * 40}}
    talk = [user("Sail."), call("c1"), failed, says("Later.")]
    log = {"eval": {"model": "openai/gpt-4o"}, "samples": [{"messages": talk}]}
    (found,) = transcripts(log)[1]
    (part,) = found.messages[2].parts
    assert (part.text, part.is_error) == (f"Error: {failed['error']['message']}", True)
    written = ctxtrim("convert", "--to", "openai-chat", stdin=json.dumps(log).encode())
    assert json.loads(written.out)["messages"][2]["content"] == part.text
    (found,) = transcripts({"samples": [{"messages": [*talk[:2], result("c1", "ok")]}]})[1]
    assert found.messages[2].parts[0].text == "ok"


def test_responses_and_outputs_in_a_list_of_chat_messages_are_read() -> None:
    items = [
        {"object": "response", "output": []},
        {"type": "function_call_output", "call_id": "c1", "output": "seen"},
        {"note": "no message"},
    ]
    _, (found,) = transcripts({"messages": [*PROMPT, *items]})
    assert [message.role for message in found.messages] == ["system", "user", "tool"]
    assert found.uncounted == 0


def test_the_model_and_usage_of_a_mini_swe_agent_run_are_read() -> None:
    usage = {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60}
    answer = ANSWER[0] | {"extra": {"response": {"model": "deepseek-chat", "usage": usage}}}
    _, (found,) = transcripts({"info": {"config": {}}, "messages": [*PROMPT, answer]})
    assert found.model == "deepseek-chat"
    assert found.usage is not None
    assert found.usage.prompt_tokens == 50
    info = {"config": {"model": {"model_name": "gpt-5-mini"}}}
    _, (found,) = transcripts({"info": info, "messages": TALK})
    assert found.model == "gpt-5-mini"


def test_messages_with_blocks_of_goose_are_not_chat_messages() -> None:
    block = {"type": "toolRequest", "id": "a", "toolCall": {"value": {"name": "b"}}}
    form, _ = transcripts({"messages": [*PROMPT, {"role": "assistant", "content": [block]}]})
    assert form is None


@pytest.mark.parametrize("is_array", [False, True])
@pytest.mark.parametrize(
    "record",
    [
        lambda asked, answer: {"request": asked, "response": answer},
        lambda asked, answer: {"request": {"body": asked}, "response": {"body": answer}},
        lambda asked, answer: {"request_body": asked, "response_body": answer},
    ],
)
def test_a_logged_request_has_its_answer(
    ctxtrim: Run, record: Callable[[Any, Any], Any], is_array: bool
) -> None:
    old = [user("Sound the bay. " * 40), says("Nine fathoms. " * 40)]
    usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
    answer = {"id": "x", "choices": [{"index": 0, "message": ANSWER[0]}], "usage": usage}
    value = record({"model": "gpt-4o", "messages": [*old, *PROMPT]}, answer)
    _, (found,) = transcripts([value] if is_array else value)
    assert texts(found)[-2:] == [PROMPT[1]["content"], ANSWER[0]["content"]]
    if not is_array:
        assert (found.model, found.usages[0].prompt_tokens) == ("gpt-4o", 20)
    data = json.dumps([value] if is_array else value).encode()
    shorter = record({"model": "gpt-4o", "messages": PROMPT}, answer)
    ran = ctxtrim("trim", "-b", "60", stdin=data)
    assert json.loads(ran.out) == ([shorter] if is_array else shorter)
    summarized = ctxtrim("trim", "-b", "100", "--summarize", stdin=data)
    assert (summarized.code, ANSWER[0]["content"] in summarized.out.decode()) == (0, True)


@pytest.mark.parametrize("prompt", ["Be brief.", [{"type": "text", "text": "Be brief."}]])
def test_a_system_prompt_next_to_the_messages_comes_first(ctxtrim: Run, prompt: Any) -> None:
    old = [user("Sound the bay. " * 40), says("Nine fathoms. " * 40)]
    value = {"system": prompt, "conversations": [*old, PROMPT[1]]}
    form, (found,) = transcripts(value)
    assert (form, found.messages[0].role, texts(found)[0]) == ("openai-chat", "system", "Be brief.")
    data = json.dumps(value).encode()
    kept = json.loads(ctxtrim("trim", "-b", "40", stdin=data).out)
    assert kept == {"system": prompt, "conversations": [PROMPT[1]]}
    bare = ctxtrim("trim", "-b", "14", "--no-preserve-system-prompt", stdin=data)
    assert json.loads(bare.out) == {"conversations": [PROMPT[1]]}
    summarized = json.loads(ctxtrim("summarize", "--keep-recent-turns", "0", stdin=data).out)
    assert [message["role"] for message in summarized["conversations"]] == ["user"]


def test_the_prompt_of_an_agent_next_to_the_messages_comes_first(ctxtrim: Run) -> None:
    """As Hermes Agent writes it."""
    old = [user("Sound the bay. " * 40), says("Nine fathoms. " * 40)]
    around = {"model": "gpt-4o", "system_prompt": "Be brief. " * 60}
    data = json.dumps(around | {"messages": [*old, PROMPT[1]]}).encode()
    trimmed = ctxtrim("trim", "-b", "210", stdin=data)
    assert json.loads(trimmed.out) == around | {"messages": [PROMPT[1]]}
    refused = ctxtrim("trim", "-b", "100", stdin=data)
    assert refused.code == 3  # the prompt alone is longer
    bare = ctxtrim("trim", "-b", "20", "--no-preserve-system-prompt", stdin=data)
    assert json.loads(bare.out) == {"model": "gpt-4o", "messages": [PROMPT[1]]}
    summarized = json.loads(ctxtrim("summarize", "--keep-recent-turns", "0", stdin=data).out)
    assert [message["role"] for message in summarized["messages"]] == ["user"]


def test_the_prompt_of_an_agent_is_not_read_next_to_the_same_system_message() -> None:
    value = {"system_prompt": SYSTEM["content"], "messages": TALK}
    _, (found,) = transcripts(value)
    assert [message.role for message in found.messages] == ["system", "user", "assistant"]


@pytest.mark.parametrize("model", ["gpt-4o", "claude-opus-4-6"])
def test_an_answer_of_chat_completions_shows_the_format_of_its_request(model: str) -> None:
    answer = {"choices": [{"message": ANSWER[0]}]}
    asked = {"model": model, "messages": [user("Sound the bay.")]}
    for value in (
        {"request": asked, "response": answer},
        {"request_body": asked, "response_body": answer},
    ):
        form, (found,) = transcripts(value)
        assert (form, texts(found)) == ("openai-chat", ["Sound the bay.", "Berths 2 and 4."])


def test_an_answer_alone_is_a_conversation_of_one_message(ctxtrim: Run) -> None:
    usage = {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60}
    response = {
        "id": "r1",
        "object": "chat.completion",
        "model": "gpt-4o",
        "choices": [{"index": 0, "message": ANSWER[0], "finish_reason": "stop"}],
        "usage": usage,
    }
    batch = {"custom_id": "1", "response": {"status_code": 200, "body": response}}
    for value in (response, batch):
        form, (found,) = transcripts(value)
        assert (form, found.model, texts(found)) == ("openai-chat", "gpt-4o", ["Berths 2 and 4."])
        assert found.usage is not None
        assert found.usage.prompt_tokens == 50
        data = json.dumps(value).encode()
        assert ctxtrim("trim", "--budget", "20", stdin=data).out == data
    _, (found,) = transcripts(response | {"messages": PROMPT})
    assert (len(found.messages), texts(found)[-1]) == (3, "Berths 2 and 4.")


def test_the_answer_of_a_batch_of_anthropic_is_read() -> None:
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "Berth 2."}],
        "usage": {"input_tokens": 300, "output_tokens": 9},
    }
    form, (found,) = transcripts(
        {"custom_id": "a", "result": {"type": "succeeded", "message": answer}}
    )
    assert (form, found.model, texts(found)) == ("anthropic", "claude-sonnet-4-5", ["Berth 2."])
