"""Members of messages, calls and tools besides their content: they travel, or are listed."""

import json
from typing import Any

import pytest
from conftest import Run
from conversions import converted, transcript_of
from pictures import PICTURE

from ctxtrim.formats.conversion import TARGETS

each_target = pytest.mark.parametrize("to", TARGETS)


def said(text: str, phase: str) -> dict[str, Any]:
    """An answer of OpenAI in a phase."""
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "role": "assistant", "phase": phase, "content": content}


ASKED = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Tide?"}]}
ITEMS = [
    ASKED,
    said("I look first.", "commentary"),
    said("At the north buoy.", "final_answer"),
    {"type": "function_call", "call_id": "a", "name": "look", "namespace": "port",
     "arguments": "{}"},
    {"type": "function_call_output", "call_id": "a", "output": "low"},
    {"type": "custom_tool_call", "call_id": "b", "name": "note", "namespace": "port",
     "input": "low"},
    {"type": "custom_tool_call_output", "call_id": "b", "output": "noted"},
    said("Low.", "final_answer"),
]  # fmt: skip


def rollout(items: list[dict[str, Any]]) -> bytes:
    """Some items as events of Codex."""
    return b"".join(
        json.dumps({"type": "response_item", "payload": item}).encode() + b"\n" for item in items
    )


@pytest.mark.parametrize(
    "data", [json.dumps({"model": "gpt-5.4", "input": ITEMS}).encode(), rollout(ITEMS)],
    ids=["request", "rollout"],
)  # fmt: skip
def test_phases_and_namespaces_stay_in_responses(ctxtrim: Run, data: bytes) -> None:
    ran = ctxtrim("convert", "--to", "openai-responses", stdin=data)
    assert json.loads(ran.out)["input"] == ITEMS
    assert "lost" not in ran.err
    assert (
        "lost: 3 answer phases, 2 call namespaces"
        in ctxtrim("convert", "--to", "openai-chat", stdin=data).err
    )


def pi(api: str, *blocks: dict[str, Any]) -> Any:
    """An answer of pi by an API, and the prompt before it."""
    answer = {"role": "assistant", "content": blocks, "api": api, "stopReason": "stop"}
    prompt = {"role": "user", "content": [{"type": "text", "text": "Tide?"}], "timestamp": 1}
    return {"messages": [prompt, answer]}


def test_phases_in_pi_stay_in_responses() -> None:
    def text(words: str, phase: str) -> dict[str, Any]:
        signature = json.dumps({"v": 1, "id": "msg_1", "phase": phase})
        return {"type": "text", "text": words, "textSignature": signature}

    plain = {"type": "text", "text": "Sure.", "textSignature": "msg_2"}
    blocks = (text("I look first.", "commentary"), text("Low.", "final_answer"), plain)
    source = transcript_of(pi("openai-responses", *blocks))
    found = converted(source, "openai-responses")
    said_plainly = {key: value for key, value in said("Sure.", "").items() if key != "phase"}
    assert found.value["input"][1:] == [*ITEMS[1:2], said("Low.", "final_answer"), said_plainly]
    assert found.findings == ()
    assert converted(source, "anthropic").kinds == {"lost answer phase": 2}


def test_signatures_of_gemini_in_pi_stay_in_gemini() -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "I look.", "textSignature": "dGV4dA=="},
        {"type": "toolCall", "id": "a", "name": "look", "arguments": {},
         "thoughtSignature": "c2ln"},
    ]  # fmt: skip
    source = transcript_of(pi("google-generative-ai", *blocks))
    parts = converted(source, "gemini").value["contents"][1]["parts"]
    assert [part["thoughtSignature"] for part in parts] == ["dGV4dA==", "c2ln"]
    assert converted(source, "openai-chat").kinds["lost signature"] == 2
    others = transcript_of(pi("openai-completions", *blocks))
    assert "dGV4dA==" not in (converted(others, "gemini").text or "")


def test_signatures_of_gemini_in_opencode_stay_in_gemini() -> None:
    def signed(signature: str) -> dict[str, Any]:
        return {"metadata": {"google": {"thoughtSignature": signature}}}

    state = {"status": "completed", "input": {}, "output": "low"}
    answer = [
        {"type": "text", "text": "I look."} | signed("dGV4dA=="),
        {"type": "tool", "callID": "a", "tool": "look", "state": state} | signed("c2ln"),
    ]
    messages = [
        {"info": {"role": role, "sessionID": "ses_1", "id": f"msg_{role}"}, "parts": parts}
        for role, parts in (("user", [{"type": "text", "text": "Tide?"}]), ("assistant", answer))
    ]
    source = transcript_of({"info": {"id": "ses_1"}, "messages": messages})
    parts = converted(source, "gemini").value["contents"][1]["parts"]
    assert [part["thoughtSignature"] for part in parts] == ["dGV4dA==", "c2ln"]
    assert converted(source, "openai-chat").kinds == {"lost signature": 2}


def test_a_phase_of_another_program_is_not_written() -> None:
    answer = {"role": "assistant", "content": "Low.", "phase": "planning"}
    source = transcript_of({"messages": [{"role": "user", "content": "Tide?"}, answer]})
    assert "planning" not in (converted(source, "openai-responses").text or "")


def test_annotations_of_a_message_of_chat_completions_are_listed() -> None:
    link = {"type": "url_citation", "url_citation": {"url": "https://harbor.example"}}
    answer = {"role": "assistant", "content": "Low.", "annotations": [link]}
    source = transcript_of({"messages": [{"role": "user", "content": "Tide?"}, answer]})
    for to in TARGETS:
        assert converted(source, to).kinds == {"lost citation": 1}


def claude(caller: dict[str, str]) -> Any:
    """A call of Claude with a caller."""
    use = {"type": "tool_use", "id": "c", "name": "look", "input": {}, "caller": caller}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "low"}
    search = {"type": "server_tool_use", "id": "s", "name": "code_execution", "input": {}}
    return {"messages": [
        {"role": "user", "content": "Tide?"},
        {"role": "assistant", "content": [search, use]},
        {"role": "user", "content": [result]},
    ]}  # fmt: skip


@pytest.mark.parametrize("kind", ["code_execution_20250825", "direct"])
def test_the_caller_of_a_call_stays_with_anthropic(kind: str) -> None:
    caller = {"type": kind} | ({} if kind == "direct" else {"tool_id": "s"})
    request = claude(caller)
    same = converted(transcript_of(request), "anthropic")
    assert same.value["messages"][1] == request["messages"][1]
    for to in ("openai-chat", "openai-responses", "gemini"):
        lost = converted(transcript_of(request), to).kinds["lost call origin"]
        assert lost == (kind != "direct")  # as a call without a caller


@each_target
def test_a_call_of_a_program_of_openai_is_listed(to: str) -> None:
    call = {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}",
            "caller": {"type": "program", "caller_id": "p"}}  # fmt: skip
    output = {"type": "function_call_output", "call_id": "a", "output": "low"}
    found = converted(transcript_of({"input": [ASKED, call, output]}), to)
    assert "program" not in (found.text or "")
    assert found.kinds["lost call origin"] == 1


SCHEMA = {"type": "object", "properties": {"berth": {"type": "integer"}}}


def tools_of(tool: dict[str, Any], to: str) -> Any:
    """The tools of a request with one tool, and the kinds of its findings."""
    request = {"messages": [{"role": "user", "content": "Tide?"}], "tools": [tool]}
    if "functionDeclarations" in tool:
        request = {"contents": [{"role": "user", "parts": [{"text": "Tide?"}]}], "tools": [tool]}
    found = converted(transcript_of(request), to)
    return found.value["tools"], found.kinds


def test_strict_tools_stay_so_except_in_gemini() -> None:
    claude = {"name": "look", "strict": True, "eager_input_streaming": True, "input_schema": SCHEMA}
    assert tools_of(claude, "anthropic") == ([claude], {})
    function = {"name": "look", "parameters": SCHEMA, "strict": True}
    chat = {"type": "function", "function": function}
    assert tools_of(chat, "openai-chat") == ([chat], {})
    assert tools_of(chat, "openai-responses") == ([{"type": "function", **function}], {})
    assert tools_of(chat, "anthropic")[0][0]["strict"] is True
    assert tools_of(chat, "gemini")[1] == {"lost tool setting": 1}


def responses_tools(tool: dict[str, Any], to: str) -> Any:
    """The tools of a request of OpenAI Responses with one tool, and the kinds of its findings."""
    found = converted(transcript_of({"input": [ASKED], "tools": [tool]}), to)
    return found.value["tools"], found.kinds


@pytest.mark.parametrize("strict", [{}, {"strict": False}, {"strict": True}])
def test_functions_of_responses_are_as_strict_as_before(strict: dict[str, bool]) -> None:
    tool = {"type": "function", "name": "look", "parameters": SCHEMA} | strict
    assert responses_tools(tool, "openai-responses") == ([tool], {})
    (chat,), _ = responses_tools(tool, "openai-chat")
    assert chat["function"].get("strict", False) == strict.get("strict", False)


@pytest.mark.parametrize(
    "settings",
    [{"defer_loading": True}, {"allowed_callers": ["programmatic"]}, {"async": True},
     {"output_schema": SCHEMA}],
)  # fmt: skip
def test_settings_of_tools_stay_in_responses(settings: dict[str, Any]) -> None:
    function = {"type": "function", "name": "look", "parameters": SCHEMA} | settings
    custom = {"type": "custom", "name": "look"} | settings
    for tool in (function, custom):
        assert responses_tools(tool, "openai-responses") == ([tool], {})
        for to in ("openai-chat", "anthropic", "gemini"):
            tools, kinds = responses_tools(tool, to)
            assert settings.keys().isdisjoint(tools[0])
            assert kinds["lost tool setting"] + kinds["lost result schema"] == 1


def test_deferred_tools_of_anthropic_stay_with_it() -> None:
    tool = {"name": "look", "defer_loading": True, "input_schema": SCHEMA}
    assert tools_of(tool, "anthropic") == ([tool], {})
    assert tools_of(tool, "openai-responses")[1] == {"lost tool setting": 1}


def test_schemas_of_results_stay_in_gemini() -> None:
    function = {"name": "look", "behavior": "NON_BLOCKING", "response": {"type": "STRING"}}
    tool = {"functionDeclarations": [function]}
    assert tools_of(tool, "gemini") == ([tool], {})
    assert tools_of(tool, "openai-chat")[1] == {"lost tool setting": 1, "lost result schema": 1}


@each_target
def test_annotations_of_tools_of_mcp_are_listed(to: str) -> None:
    tool = {"name": "look", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}
    tools, kinds = tools_of(tool, to)
    assert "readOnlyHint" not in json.dumps(tools)
    assert kinds == {"lost tool setting": 1}


SIGNED = {"extra_content": {"google": {"thought_signature": "c2ln"}}}


def test_a_signature_of_gemini_in_chat_completions_stays_so_and_in_gemini() -> None:
    function = {"name": "look", "arguments": "{}"}
    call = {"id": "a", "type": "function", "function": function} | SIGNED
    messages = [
        {"role": "user", "content": "Tide?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "low"},
        {"role": "assistant", "content": "Low."} | SIGNED,
    ]
    source = transcript_of({"messages": messages})
    same = converted(source, "openai-chat")
    assert (same.value["messages"], same.findings) == (messages, ())
    gemini = converted(source, "gemini")
    assert gemini.value["contents"][1]["parts"][0]["thoughtSignature"] == "c2ln"
    assert gemini.kinds == {"lost signature": 1}  # that of the text
    assert converted(source, "openai-responses").kinds == {"lost signature": 2}


@pytest.mark.parametrize("place", ["call", "function"])
def test_signatures_of_gemini_in_litellm_are_those_of_chat_completions(place: str) -> None:
    fields = {"provider_specific_fields": {"thought_signature": "c2ln"}}
    call: dict[str, Any] = {
        "id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"},
    }  # fmt: skip
    signed = call | fields
    if place == "function":
        signed = call | {"function": call["function"] | fields}
    texts = {"provider_specific_fields": {"thought_signatures": ["c2ln", "dGV4dA=="]}}
    messages = [
        {"role": "user", "content": "Tide?"},
        {"role": "assistant", "content": "I look.", "tool_calls": [signed]} | texts,
        {"role": "tool", "tool_call_id": "a", "content": "low"},
        {"role": "assistant", "content": "Low.", "provider_specific_fields": {"refusal": None}},
    ]
    source = transcript_of({"messages": messages})
    same = converted(source, "openai-chat")
    text = {"extra_content": {"google": {"thought_signature": "dGV4dA=="}}}
    assert same.value["messages"][1] == {
        "role": "assistant", "content": "I look.", "tool_calls": [call | SIGNED], **text,
    }  # fmt: skip
    assert same.findings == ()
    gemini = converted(source, "gemini")
    assert gemini.value["contents"][1]["parts"][1]["thoughtSignature"] == "c2ln"
    assert gemini.kinds == {"lost signature": 1}  # that of the text
    assert converted(source, "anthropic").kinds["lost signature"] == 2


@each_target
def test_settings_of_a_response_of_gemini_are_in_it_or_listed(to: str) -> None:
    response = {"id": "a", "name": "look", "response": {"output": "low"},
                "willContinue": True, "scheduling": "SILENT"}  # fmt: skip
    call = {"functionCall": {"id": "a", "name": "look", "args": {}}, "thoughtSignature": "c2ln"}
    contents: list[Any] = [
        {"role": "user", "parts": [{"text": "Tide?"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [{"functionResponse": response}]},
    ]
    found = converted(transcript_of({"contents": contents}), to)
    if to == "gemini":
        assert (found.value["contents"], found.findings) == (contents, ())
    else:
        assert found.kinds["lost result setting"] == 2


@each_target
def test_the_name_of_an_image_is_listed(to: str) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": PICTURE, "displayName": "buoy.png"}}
    found = converted(transcript_of({"contents": [{"role": "user", "parts": [image]}]}), to)
    assert found.kinds == {"lost file name": 1}


@each_target
@pytest.mark.parametrize("detail", ["low", "high", "auto", None])
def test_the_detail_of_an_image_stays_for_openai(to: str, detail: str | None) -> None:
    place = {"url": "https://harbor.example/buoy.png"} | ({"detail": detail} if detail else {})
    content = [{"type": "image_url", "image_url": place}]
    found = converted(transcript_of({"messages": [{"role": "user", "content": content}]}), to)
    is_lost = detail in ("low", "high") and "openai" not in to
    assert found.kinds == ({"lost image resolution": 1} if is_lost else {})
    if to == "openai-chat":
        assert found.value["messages"][0]["content"] == content


@each_target
def test_the_resolution_of_an_image_of_gemini_is_listed_once(to: str) -> None:
    image = {"fileData": {"mimeType": "image/png", "fileUri": "https://harbor.example/buoy.png"},
             "mediaResolution": {"level": "MEDIA_RESOLUTION_HIGH"}}  # fmt: skip
    contents = [{"role": "user", "parts": [image]}]
    found = converted(transcript_of({"contents": contents}), to)
    if to == "gemini":
        assert found.value == {"contents": contents}
    else:
        assert found.kinds == {"lost image resolution": 1}


@pytest.mark.parametrize("detail", ["low", "high"])
def test_the_detail_of_a_file_stays_in_responses(detail: str) -> None:
    file = {"type": "input_file", "file_id": "file-1", "detail": detail}
    items = [{"type": "message", "role": "user", "content": [file]}]
    source = transcript_of({"model": "gpt-5.4", "input": items})
    assert converted(source, "openai-responses").value["input"] == items
    assert converted(source, "openai-chat").kinds == {"lost image resolution": 1}


@each_target
def test_a_spoken_answer_stays_in_chat_completions_by_its_id(to: str) -> None:
    audio = {"id": "audio_1", "data": "UklGRg==", "expires_at": 1, "transcript": "Low."}
    messages = [
        {"role": "user", "content": "Tide?"},
        {"role": "assistant", "content": None, "audio": audio},
        {"role": "user", "content": "Sure?"},
    ]
    found = converted(transcript_of({"messages": messages}), to)
    if to == "openai-chat":
        assert found.value["messages"][1] == messages[1] | {"audio": {"id": "audio_1"}}
        assert found.findings == ()
    else:
        assert found.kinds == {"lost sound": 1, "lost empty message": 1}
        assert "a sound with a file id of openai" in found.findings[0].message
    assert found.breaches == set()


def test_a_caller_without_its_server_tool_is_listed() -> None:
    request = claude({"type": "code_execution_20250825", "tool_id": "gone"})
    found = converted(transcript_of(request), "anthropic")
    assert "caller" not in (found.text or "")
    assert found.kinds["lost call origin"] == 1
    assert found.breaches == set()


@each_target
def test_a_cache_breakpoint_next_to_a_content_is_listed(to: str) -> None:
    cached = {"cache_control": {"type": "ephemeral"}}
    messages = [
        {"role": "system", "content": "Be brief."} | cached,
        {"role": "user", "content": "Tide?"} | cached,
        {"role": "assistant", "content": "Low."} | cached,
    ]
    found = converted(transcript_of({"messages": messages}), to)
    assert "cache_control" not in (found.text or "")
    assert found.kinds["lost cache breakpoint"] == 3


CHECK = {"id": "s", "code": "odd", "message": "Odd."}
BUILT_IN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"type": "computer_call", "id": "c", "call_id": "a", "action": {"type": "wait"},
      "status": "completed", "pending_safety_checks": [CHECK]},
     {"type": "computer_call_output", "call_id": "a", "output": "tide",
      "acknowledged_safety_checks": [CHECK]}),
    ({"type": "tool_search_call", "call_id": "a", "execution": "client",
      "arguments": {"query": "tide"}},
     {"type": "tool_search_output", "call_id": "a", "execution": "client", "tools": []}),
    ({"type": "shell_call", "call_id": "a", "action": {"commands": ["tide"]}},
     {"type": "shell_call_output", "call_id": "a", "output": [{"stdout": "low"}]}),
    ({"type": "local_shell_call", "id": "a", "status": "completed",
      "action": {"type": "exec", "command": ["tide"], "env": {}}},
     {"type": "local_shell_call_output", "id": "a", "output": "low"}),
    ({"type": "apply_patch_call", "call_id": "a", "status": "completed",
      "operation": {"type": "delete_file", "path": "tide"}},
     {"type": "apply_patch_call_output", "call_id": "a", "status": "completed", "output": "ok"}),
]  # fmt: skip


@each_target
@pytest.mark.parametrize(("call", "output"), BUILT_IN, ids=lambda item: item["type"])
def test_calls_of_tools_that_openai_defines_stay_in_responses(
    to: str, call: dict[str, Any], output: dict[str, Any]
) -> None:
    items = [ASKED, call, output]
    found = converted(transcript_of({"model": "gpt-5.4", "input": items}), to)
    assert found.breaches == set()
    if to == "openai-responses":
        assert (found.value["input"], found.findings) == (items, ())
    else:
        assert "Odd." not in (found.text or "")
        assert found.kinds["changed call type"] == 1
        assert found.kinds["lost safety check"] == 2 * (call["type"] == "computer_call")


def test_a_built_in_call_with_the_result_of_a_function_or_none_is_a_function_call() -> None:
    shell = BUILT_IN[3][0] | {"call_id": "a"}
    output = {"type": "function_call_output", "call_id": "a", "output": "low"}
    for items in ([ASKED, shell, output], [ASKED, shell]):
        source = transcript_of({"model": "gpt-5.4", "input": items})
        found = converted(source, "openai-responses")
        kinds = [item["type"] for item in found.value["input"][1:]]
        assert kinds == ["function_call", "function_call_output"]
        assert found.kinds["changed call type"] == 1


@each_target
def test_images_next_to_a_content_are_kept(to: str) -> None:
    message = {"role": "user", "content": "Tide?", "images": [PICTURE]}
    found = converted(transcript_of({"messages": [message]}), to)
    assert PICTURE in (found.text or "")
    assert found.findings == ()
