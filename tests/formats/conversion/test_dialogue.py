"""Calls and results, roles and ids in a converted conversation."""

import json
import math
from typing import Any

import pytest
from conversions import converted, each_target, parts_of, transcript_of, transcripts

from ctxtrim.formats.conversion.dialogue import OPENING
from ctxtrim.model import Transcript
from ctxtrim.stages.repair import ANSWER
from ctxtrim.text.records import dump


def call(call_id: str, name: str = "look", arguments: str = '{"berth": 2}') -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def answer(*calls: dict[str, Any], text: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": list(calls)}


def result(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def chat(*messages: dict[str, Any], **fields: Any) -> Any:
    prompt = {"role": "user", "content": "Is berth 2 free?"}
    return transcript_of({"messages": [prompt, *messages], **fields})


@each_target
def test_results_follow_their_calls(to: str) -> None:
    moored = {"role": "user", "content": "Hurry."}
    messages = (answer(call("a"), call("b")), result("b", "free"), moored, result("a", "taken"))
    found = converted(chat(*messages), to)
    assert found.kinds["changed order"] == 1
    assert [part.text for part in parts_of(found.request, "tool_result")] == ["free", "taken"]
    assert [part.text for part in parts_of(found.request, "text")][-1] == "Hurry."
    assert found.breaches - {"tools-missing"} == set()


def test_results_of_very_many_parallel_calls_stay_in_order() -> None:
    """Work that grows with the square would take an hour."""
    ids = [f"c{number}" for number in range(20_000)]
    found = converted(
        chat(answer(*map(call, ids)), *(result(each, each) for each in ids)), "gemini"
    )
    assert [part.text for part in parts_of(found.request, "tool_result")] == ids


@each_target
def test_a_call_without_a_result_gets_one_that_says_so(to: str) -> None:
    found = converted(chat(answer(call("a"), call("b")), result("b", "free")), to)
    texts = {part.call_id: part.text for part in parts_of(found.request, "tool_result")}
    assert texts == {"a": ANSWER, "b": "free"}
    (finding,) = [each for each in found.findings if each.kind == "result"]
    assert (finding.code, finding.index, finding.line) == ("changed", 1, 1)


@each_target
def test_a_result_without_a_call_becomes_a_user_text(to: str) -> None:
    found = converted(chat(result("gone", "free")), to)
    assert found.kinds == {"changed result": 1}
    assert not parts_of(found.request, "tool_result")
    assert [part.text for part in parts_of(found.request, "text")] == ["Is berth 2 free?", "free"]


@each_target
def test_call_ids_are_unique_and_kept_if_they_are_valid(to: str) -> None:
    messages = (answer(call("a")), result("a", "one"), answer(call("a")), result("a", "two"))
    found = converted(chat(*messages), to)
    assert [part.call_id for part in parts_of(found.request, "tool_call")] == ["a", "a_2"]
    assert [part.call_id for part in parts_of(found.request, "tool_result")] == ["a", "a_2"]
    assert found.kinds["changed call id"] == 1


@pytest.mark.parametrize("to", ["anthropic", "gemini"])
def test_characters_that_ids_cannot_have_are_replaced(to: str) -> None:
    found = converted(chat(answer(call("functions.look:0")), result("functions.look:0", "")), to)
    assert [part.call_id for part in parts_of(found.request, "tool_call")] == ["functions_look_0"]


def test_an_id_is_not_too_long_for_chat_completions() -> None:
    name = "call_" + "x" * 60
    found = converted(chat(answer(call(name)), result(name, "free")), "openai-chat")
    assert [part.call_id for part in parts_of(found.request, "tool_call")] == [name[:40]]


@each_target
def test_calls_without_ids_get_stable_ones(to: str) -> None:
    parts = [{"functionCall": {"name": "look", "args": {}}}] * 2
    results = [
        {"functionResponse": {"name": "look", "response": {"output": text}}} for text in "xy"
    ]
    contents = [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": parts},
        {"role": "user", "parts": results},
    ]
    found = converted(transcript_of({"contents": contents}), to)
    ids = [part.call_id for part in parts_of(found.request, "tool_call")]
    assert ids == ["call_1", "call_2"]
    assert [part.call_id for part in parts_of(found.request, "tool_result")] == ids
    assert converted(transcript_of({"contents": contents}), to).text == found.text


@each_target
def test_hidden_messages_are_left_out_and_counted(to: str) -> None:
    hidden = {"role": "user", "content": "secret", "timestamp": 2}
    messages = [
        {"role": "user", "content": "Open the lock.", "timestamp": 1},
        hidden | {"metadata": {"agentVisible": False, "userVisible": True}},
        {"role": "assistant", "content": [{"type": "text", "text": "Open."}], "api": "x",
         "stopReason": "stop", "timestamp": 3},
    ]  # fmt: skip
    found = converted(transcript_of({"messages": messages}), to)
    assert found.kinds == {"lost hidden message": 1}
    assert [part.text for part in parts_of(found.request, "text")] == ["Open the lock.", "Open."]


@pytest.mark.parametrize("to", ["anthropic", "gemini"])
def test_roles_alternate_and_the_user_is_first(to: str) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "Ahoy."},
        {"role": "user", "content": "One."},
        {"role": "user", "content": "Two."},
        {"role": "system", "content": "The tide is low."},
        {"role": "assistant", "content": "Aye."},
        {"role": "assistant", "content": "Aye aye."},
    ]
    request = converted(transcript_of({"messages": messages}), to).request
    assert [(message.role, [part.text for part in message.parts]) for message in request.messages][
        1:
    ] == [
        ("user", [OPENING]),
        ("assistant", ["Ahoy."]),
        ("user", ["One.", "Two.", "The tide is low."]),
        ("assistant", ["Aye.", "Aye aye."]),
    ]
    assert [part.text for part in request.messages[0].parts] == ["Be brief."]


@pytest.mark.parametrize("to", ["openai-chat", "openai-responses"])
def test_openai_keeps_system_messages_in_their_place(to: str) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "One."},
        {"role": "system", "content": "The tide is low."},
    ]
    found = converted(transcript_of({"messages": messages}), to)
    assert [message.role for message in found.request.messages] == ["system", "user", "system"]
    assert found.findings == ()


@pytest.mark.parametrize("to", ["openai-chat", "openai-responses"])
def test_developer_messages_stay_so_for_openai(to: str) -> None:
    texts = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "One."}]
    items = [
        {"type": "message", "role": message["role"],
         "content": [{"type": "input_text", "text": message["content"]}]}
        for message in texts
    ]  # fmt: skip
    chats, request = transcript_of({"messages": texts}), transcript_of({"input": items})
    for source in (chats, request, rollout(items)):
        found = converted(source, to)
        messages = found.value["messages" if to == "openai-chat" else "input"]
        assert [message["role"] for message in messages] == ["developer", "user"]
        assert converted(source, "anthropic").value["system"] == "Be brief."


@each_target
def test_arguments_that_are_not_an_object_are_kept(to: str) -> None:
    found = converted(chat(answer(call("a", "patch", "*** Begin")), result("a", "done")), to)
    (part,) = parts_of(found.request, "tool_call")
    if to == "openai-responses":
        assert part.text == "*** Begin"
        assert found.value["input"][1]["type"] == "custom_tool_call"
        assert found.value["input"][2]["type"] == "custom_tool_call_output"
        assert found.kinds["changed call type"] == 1
    else:
        assert part.text == '{"input":"*** Begin"}'
        assert found.kinds["changed argument"] == 1


@each_target
@pytest.mark.parametrize("number", ["1e999", "-1e400", "NaN", "Infinity"])
def test_arguments_with_a_number_that_json_does_not_have_are_a_text(to: str, number: str) -> None:
    arguments = f'{{"depth": {number}}}'
    found = converted(chat(answer(call("a", "look", arguments)), result("a", "done")), to)
    (part,) = parts_of(found.request, "tool_call")
    expected = arguments if to == "openai-responses" else json.dumps({"input": arguments})
    assert part.text.replace(" ", "") == expected.replace(" ", "")


@each_target
def test_an_object_with_a_number_that_json_does_not_have_is_a_text(to: str) -> None:
    use = {"type": "tool_use", "id": "a", "name": "look", "input": {"depth": math.nan}}
    answered = {"type": "tool_result", "tool_use_id": "a", "content": "done"}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [answered]},
    ]
    (part,) = parts_of(converted(transcript_of({"messages": messages}), to).request, "tool_call")
    text = '{"depth":NaN}'
    assert part.text == (text if to == "openai-responses" else dump({"input": text}))


def test_members_of_one_name_in_arguments_are_listed() -> None:
    source = chat(answer(call("a", "look", '{"berth": 1, "berth": 2}')), result("a", "free"))
    found = converted(source, "anthropic")
    assert found.value["messages"][1]["content"][0]["input"] == {"berth": 2}
    assert found.kinds["changed argument"] == 1
    same = converted(source, "openai-chat")
    assert same.value["messages"] == source_messages(source)
    assert same.findings == ()


def source_messages(source: Transcript) -> Any:
    return json.loads(source.source.lines[0].data)["messages"]


CUSTOM = {"name": "note", "input": '{"berth": 2}'}


@each_target
def test_a_custom_call_stays_custom_for_openai(to: str) -> None:
    calls = [{"id": "a", "type": "custom", "custom": CUSTOM}]
    messages = {"role": "assistant", "content": None, "tool_calls": calls}, result("a", "done")
    items = [
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "Is berth 2 free?"}]},
        {"type": "custom_tool_call", "call_id": "a", **CUSTOM},
        {"type": "custom_tool_call_output", "call_id": "a", "output": "done"},
    ]  # fmt: skip
    for source in (chat(*messages), transcript_of({"input": items})):
        found = converted(source, to)
        assert found.breaches - {"tools-missing"} == set()
        if to == "openai-chat":
            assert found.value["messages"][1:] == list(messages)
        elif to == "openai-responses":
            assert found.value["input"] == items
            assert found.findings == ()
        else:
            (part,) = parts_of(found.request, "tool_call")
            assert part.text == dump({"input": CUSTOM["input"]})
            assert found.kinds["changed argument"] == 1


def test_a_server_tool_after_a_call_is_before_it_for_anthropic() -> None:
    call = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    answer = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    messages = [
        {"role": "user", "content": "Tide?"},
        {"role": "assistant", "content": [call, search, answer]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]},
    ]
    found = converted(transcript_of({"messages": messages}), "anthropic")
    assert found.value["messages"][1]["content"] == [search, answer, call]
    assert found.kinds["changed order"] == 1
    assert found.breaches == set()


@each_target
@pytest.mark.parametrize("role", ["user", "system"])
def test_reasoning_of_others_than_the_model_is_listed(to: str, role: str) -> None:
    block = {"type": "thinking", "thinking": "Low, I think.", "signature": "s"}
    messages = [{"role": "user", "content": "Tide?"}, {"role": role, "content": [block]}]
    found = converted(transcript_of({"messages": messages}), to)
    assert "Low" not in (found.text or "")
    assert found.kinds == {"lost reasoning text": 1, "lost empty message": 1}


@each_target
@pytest.mark.parametrize("kind", ["local_shell_call", "shell_call", "apply_patch_call"])
def test_a_call_of_a_tool_that_openai_defines_is_a_function_call_elsewhere(
    to: str, kind: str
) -> None:
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Tide?"}]},
        {"type": kind, "call_id": "a", "action": {"command": ["tide"]}},
        {"type": f"{kind}_output", "call_id": "a", "output": "low"},
    ]
    for source in (transcript_of({"input": items}), rollout(items)):
        found = converted(source, to)
        (part,) = parts_of(found.request, "tool_call")
        assert part.text == '{"command":["tide"]}'
        assert found.kinds["changed call type"] == (to != "openai-responses")


def rollout(items: list[dict[str, Any]]) -> Transcript:
    """Some items as events of Codex."""
    events = [
        {"timestamp": "2026-01-01T00:00:00.000Z", "type": "response_item", "payload": item}
        for item in items
    ]
    (source,) = transcripts("".join(json.dumps(each) + "\n" for each in events).encode())
    return source


@each_target
def test_ids_with_halves_of_surrogate_pairs_stay_unique(to: str) -> None:
    ids = ["\ud800", "\ud801"]
    found = converted(chat(answer(*map(call, ids)), *(result(each, "x") for each in ids)), to)
    called = [part.call_id for part in parts_of(found.request, "tool_call")]
    assert len(set(called)) == 2
    assert [part.call_id for part in parts_of(found.request, "tool_result")] == called


@each_target
def test_actions_in_texts_stay_texts(to: str) -> None:
    messages = [
        {"role": "user", "content": "List the buoys.", "message_type": "observation"},
        {"role": "assistant", "content": "ls", "thought": "", "action": "ls",
         "message_type": "action"},
        {"role": "user", "content": "north", "message_type": "observation"},
    ]  # fmt: skip
    found = converted(transcript_of({"messages": messages}), to)
    assert [message.role for message in found.request.messages] == ["user", "assistant", "user"]
    assert found.findings == ()


def test_names_of_authors_stay_in_chat_completions() -> None:
    source = transcript_of({"messages": [{"role": "user", "name": "Ada", "content": "Ahoy."}]})
    assert converted(source, "openai-chat").value["messages"][0]["name"] == "Ada"
    assert converted(source, "anthropic").kinds == {"lost author name": 1}


@pytest.mark.parametrize(
    ("name", "valid"), [("Ada Lovelace", "Ada_Lovelace"), ("a<b|c", "a_b_c"), ("x" * 70, "x" * 64)]
)
def test_characters_that_names_of_authors_cannot_have_are_replaced(name: str, valid: str) -> None:
    source = transcript_of({"messages": [{"role": "user", "name": name, "content": "Ahoy."}]})
    found = converted(source, "openai-chat")
    assert found.value["messages"][0]["name"] == valid
    assert found.kinds == {"changed author name": 1}


@each_target
def test_a_refusal_stays_so_for_openai_and_is_a_text_elsewhere(to: str) -> None:
    refused = {"role": "assistant", "content": None, "refusal": "No."}
    block = {"type": "refusal", "refusal": "No."}
    item = {"type": "message", "role": "assistant", "content": [block]}
    asked = {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "Is berth 2 free?"}]}  # fmt: skip
    for source in (
        chat(refused),
        chat({"role": "assistant", "content": [block]}),
        transcript_of({"input": [asked, item]}),
    ):
        found = converted(source, to)
        texts = [part.text for part in parts_of(found.request, "text")]
        assert texts == ["Is berth 2 free?", "No."]
        if to == "openai-chat":
            assert found.value["messages"][1] == refused
        elif to == "openai-responses":
            assert found.value["input"][1] == item
        assert found.kinds == ({} if "openai" in to else {"changed refusal": 1})


def test_fields_of_the_request_that_are_lost_are_listed() -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    found = converted(chat(response_format=schema, tool_choice="required"), "openai-chat")
    assert found.kinds == {"lost output schema": 1, "lost tool choice": 1}


def test_a_transcript_without_messages_to_send_is_not_converted() -> None:
    found = converted(transcript_of({"messages": [{"role": "system", "content": "Hm."}]}), "gemini")
    assert found.text is None
    assert [finding.code for finding in found.findings] == ["not-converted"]


@pytest.mark.parametrize("to", ["anthropic", "gemini", "openai-responses"])
def test_a_transcript_of_reasoning_alone_is_not_converted(to: str) -> None:
    messages = [
        {"role": "system", "content": "Hm."},
        {"role": "assistant", "content": None, "reasoning_content": "Hm."},
    ]
    found = converted(transcript_of({"messages": messages}), to)
    assert found.text is None
    assert [finding.code for finding in found.findings] == ["not-converted"]


def test_messages_of_unknown_roles_are_listed() -> None:
    gull = {"role": "gull", "content": "x"}
    assert [finding.message for finding in converted(chat(gull), "gemini").findings] == [
        "1 message has an unknown role"
    ]
    assert [finding.message for finding in converted(chat(gull, gull), "gemini").findings] == [
        "2 messages have an unknown role"
    ]


@each_target
def test_a_call_that_grok_ran_itself_is_lost_and_listed(to: str) -> None:
    lines = [
        {"type": "system", "content": "Be brief."},
        {"type": "user", "content": [{"type": "text", "text": "What is the tide?"}]},
        {"type": "backend_tool_call", "kind": {"tool_type": "web_search", "action": "tide"}},
        {"type": "assistant", "content": "Low.", "model_id": "grok-4"},
    ]
    (source,) = transcripts("".join(json.dumps(each) + "\n" for each in lines).encode())
    found = converted(source, to)
    assert "web_search" not in (found.text or "")
    assert found.kinds["lost content block"] == 1
