"""Tools that a provider runs: a request has their uses only with the results."""

import json
from typing import Any

import pytest
from conftest import Run
from conversions import converted, transcript_of
from hypothesis import given
from hypothesis import strategies as st

Value = dict[str, Any]
PROGRAM = {"type": "program", "id": "prog_1", "call_id": "p", "code": "look()", "fingerprint": "f"}
CALLER = {"caller": {"type": "program", "caller_id": "p"}}
CALL = {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "low"}
RESULT = {"type": "program_output", "id": "po_1", "call_id": "p", "result": "Low water.",
          "status": "completed"}  # fmt: skip
PROGRAMMED = [PROGRAM, CALL | CALLER, OUTPUT | CALLER, RESULT]


def says(role: str, text: str) -> Value:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def request(*items: Value) -> Value:
    """A request of OpenAI Responses."""
    return {"model": "gpt-5.4", "input": [says("user", "Tide?"), *items]}


def use(name: str, tool: str = "code_execution") -> Value:
    return {"type": "server_tool_use", "id": name, "name": tool, "input": {}}


def found(name: str, tool: str = "code_execution") -> Value:
    return {"type": f"{tool}_tool_result", "tool_use_id": name, "content": {"text": "low"}}


def claude(*blocks: Value) -> Value:
    """A request of Anthropic with one answer."""
    talk = [("user", "Tide?"), ("assistant", list(blocks)), ("user", "Thanks.")]
    return {"messages": [{"role": role, "content": content} for role, content in talk]}


def test_a_program_its_calls_and_its_output_stay_in_responses() -> None:
    source = request(*PROGRAMMED, says("assistant", "Low."), says("user", "Thanks."))
    found = converted(transcript_of(source), "openai-responses")
    assert (found.value, found.findings) == (source, ())


def test_a_program_that_waits_for_its_calls_stays_in_responses() -> None:
    source = request(*PROGRAMMED[:3])
    found = converted(transcript_of(source), "openai-responses")
    assert (found.value, found.findings) == (source, ())


APPROVAL = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "tides",
            "name": "look", "arguments": "{}"}  # fmt: skip
APPROVED = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
MCP_CALL = {"type": "mcp_call", "id": "mcp_1", "approval_request_id": "mcpr_1", "name": "look",
            "server_label": "tides", "arguments": "{}", "output": "low"}  # fmt: skip


@pytest.mark.parametrize("items", [[APPROVAL, APPROVED, MCP_CALL], [APPROVAL, APPROVED]])
def test_a_request_for_approval_and_its_answer_stay_in_responses(items: list[Value]) -> None:
    source = request(*items)
    found = converted(transcript_of(source), "openai-responses")
    assert (found.value, found.findings) == (source, ())


@pytest.mark.parametrize("item", [APPROVAL, APPROVED])
def test_half_of_an_approval_is_lost(item: Value) -> None:
    rest = [says("assistant", "Low."), says("user", "Thanks.")]
    found = converted(transcript_of(request(item, *rest)), "openai-responses")
    assert found.value == request(*rest)
    assert found.kinds == {"lost server tool": 1}


@pytest.mark.parametrize("to", ["openai-chat", "anthropic", "gemini"])
def test_an_approval_is_listed_where_it_is_lost(to: str) -> None:
    source = request(APPROVAL, APPROVED, says("assistant", "Low."), says("user", "Thanks."))
    found = converted(transcript_of(source), to)
    assert "mcp" not in (found.text or "")
    assert found.kinds["lost content block"] == 2


@pytest.mark.parametrize("to", ["openai-chat", "anthropic", "gemini"])
def test_a_program_is_listed_where_it_is_lost(to: str) -> None:
    source = request(*PROGRAMMED, says("assistant", "Low."), says("user", "Thanks."))
    found = converted(transcript_of(source), to)
    assert "prog" not in (found.text or "")
    assert found.breaches <= {"tools-missing"}
    assert (found.kinds["lost content block"], found.kinds["lost call origin"] > 0) == (2, True)


def test_a_program_without_its_output_is_lost_with_its_name(ctxtrim: Run) -> None:
    source = request(*PROGRAMMED[:3], says("assistant", "Low."), says("user", "Thanks."))
    found = converted(transcript_of(source), "openai-responses")
    assert found.value["input"][1:3] == [CALL, OUTPUT]
    assert found.kinds == {"lost server tool": 1, "lost call origin": 1}


@pytest.mark.parametrize("tool", ["advisor", "web_search", "tool_of_next_year"])
def test_every_server_tool_of_anthropic_stays_with_its_result(tool: str) -> None:
    source = claude(use("s", tool), found("s", tool), {"type": "text", "text": "Low."})
    same = converted(transcript_of(source), "anthropic")
    assert (same.value["messages"], same.findings) == (source["messages"], ())


@pytest.mark.parametrize("block", [use("s"), found("s")])
def test_half_of_a_server_tool_is_lost(block: Value) -> None:
    text = {"type": "text", "text": "Low."}
    half = converted(transcript_of(claude(block, text)), "anthropic")
    assert half.value == converted(transcript_of(claude(text)), "anthropic").value
    assert half.kinds == {"lost server tool": 1}


def rollout(*items: Value) -> bytes:
    """A session of Codex, whose items have a member for its backend."""
    private = {"internal_chat_message_metadata_passthrough": {"turn_id": "t1"}}
    lines = [{"type": "session_meta", "payload": {"id": "s1", "cwd": "/w"}}]
    lines += [{"type": "response_item", "payload": item | private} for item in items]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def test_items_of_codex_lose_its_private_member(ctxtrim: Run) -> None:
    items = [
        {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "tide"}},
        {"type": "compaction", "encrypted_content": "c2VhbGVk"},
        {"type": "reasoning", "summary": [], "encrypted_content": "c2VhbGVk"},
        {"type": "local_shell_call", "call_id": "a", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "local_shell_call_output", "call_id": "a", "output": "tides.txt"},
    ]
    data = rollout(says("user", "Tide?"), *items, says("user", "Thanks."))
    ran = ctxtrim("convert", "--to", "openai-responses", "-m", "gpt-5.4", stdin=data)
    assert json.loads(ran.out)["input"] == [says("user", "Tide?"), *items, says("user", "Thanks.")]
    assert "lost" not in ran.err


@pytest.mark.parametrize("kind", ["web_search_call", "code_interpreter_call", "mcp_call"])
def test_an_item_is_lost_without_the_id_that_the_api_requires(ctxtrim: Run, kind: str) -> None:
    data = rollout(says("user", "Tide?"), {"type": kind, "status": "completed"})
    ran = ctxtrim("convert", "--to", "openai-responses", "-m", "gpt-5.4", stdin=data)
    assert json.loads(ran.out)["input"] == [says("user", "Tide?")]
    assert "lost: 1 content block" in ran.err


BLOCKS = [
    {"type": "text", "text": "Low."},
    use("s"), use("t", "advisor"), found("s"), found("t", "advisor"),
    {"type": "tool_use", "id": "c", "name": "look", "input": {},
     "caller": {"type": "code_execution_20250825", "tool_id": "s"}},
]  # fmt: skip


@given(st.lists(st.sampled_from(BLOCKS), unique_by=json.dumps), st.booleans())
def test_no_request_has_a_use_without_its_result(blocks: list[Value], is_last: bool) -> None:
    source = claude({"type": "text", "text": "I look."}, *blocks)
    if is_last:
        source["messages"].pop()
    made = converted(transcript_of(source), "anthropic")
    assert not {code for code in made.breaches if code.startswith("server-tool")}


@given(st.lists(st.sampled_from(PROGRAMMED), unique_by=json.dumps))
def test_no_request_has_a_program_without_its_output(items: list[Value]) -> None:
    source = request(*items, says("assistant", "Low."), says("user", "Thanks."))
    items = converted(transcript_of(source), "openai-responses").value["input"]
    programs = {item["call_id"] for item in items if item["type"] == "program"}
    assert {item["call_id"] for item in items if item["type"] == "program_output"} == programs
    assert {item["caller"]["caller_id"] for item in items if "caller" in item} <= programs
