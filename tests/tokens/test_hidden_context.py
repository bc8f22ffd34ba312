"""Requests whose prompt has more than the file: estimates, with a finding that says why."""

import json
from typing import Any

import pytest
from builders import user
from harness import run

CHAT = {"model": "gpt-4o", "messages": [user("How deep?")]}
RESPONSES = {"model": "gpt-4o", "input": "How deep?"}
CLAUDE = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [user("How deep?")]}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "How deep?"}]}]}
SKILL = {"type": "anthropic", "skill_id": "pptx", "version": "latest"}


def counted(request: dict[str, Any]) -> tuple[str, list[str]]:
    """The exactness of a request, and the findings about text that is not counted."""
    (row,) = run(json.dumps(request).encode(), tokenizer=None).rows
    found = [finding for finding in row.findings if finding.code == "not-counted"]
    return row.count.exactness, [finding.message for finding in found]


@pytest.mark.parametrize(
    ("request_body", "field"),
    [
        (RESPONSES | {"previous_response_id": "resp_1"}, "previous_response_id"),
        (RESPONSES | {"conversation": "conv_1"}, "conversation"),
        (RESPONSES | {"conversation": {"id": "conv_1"}}, "conversation"),
        (RESPONSES | {"prompt": {"id": "pmpt_1", "version": "2"}}, "prompt"),
        (CHAT | {"model": "openai/gpt-4o:online"}, "model"),
        (CHAT | {"plugins": [{"id": "web", "max_results": 3}]}, "plugins"),
        (RESPONSES | {"store": False, "plugins": [{"id": "web"}]}, "plugins"),
        (CHAT | {"web_search_options": {}}, "web_search_options"),
        (CHAT | {"data_sources": [{"type": "azure_search"}]}, "data_sources"),
        (
            CLAUDE | {"mcp_servers": [{"type": "url", "url": "https://x", "name": "y"}]},
            "mcp_servers",
        ),
        (CLAUDE | {"container": {"skills": [SKILL]}}, "container"),
        (GEMINI | {"cachedContent": "cachedContents/1"}, "cachedContent"),
    ],
)
def test_text_that_the_provider_adds_makes_an_estimate(
    request_body: dict[str, Any], field: str
) -> None:
    text = f"`{field}`: the provider adds text that the file does not contain; not counted"
    assert counted(request_body) == ("estimated", [text])


@pytest.mark.parametrize("kind", ["web_search_call", "code_interpreter_call", "mcp_call"])
@pytest.mark.parametrize("place", ["input", "output"])
def test_items_of_tools_that_the_provider_ran_make_an_estimate(kind: str, place: str) -> None:
    """No source says what a model reads of them."""
    talk: list[dict[str, Any]] = [user("How deep?"), {"role": "assistant", "content": "2 m."}]
    ran = {"type": kind, "id": "it_1", "status": "completed"}
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "2 m"}
    request = {"model": "gpt-4o", "instructions": "Be brief.", "input": talk}
    assert counted(request) == ("exact", [])
    assert counted(request | {place: [*talk, call, result]}) == ("bounded", [])
    assert counted(request | {place: [*talk, ran]}) == ("estimated", [])


@pytest.mark.parametrize(
    "request_body",
    [
        RESPONSES | {"previous_response_id": None, "conversation": None, "prompt": None},
        CHAT | {"conversation": "a", "prompt": {"id": "b"}},  # notes of a log
        CHAT | {"plugins": [{"id": "web", "enabled": False}, {"id": "response-healing"}]},
        CHAT | {"data_sources": [], "container": {"skills": []}, "mcp_servers": []},
    ],
)
def test_fields_that_add_no_text_leave_a_count_exact(request_body: dict[str, Any]) -> None:
    assert counted(request_body) == ("exact", [])


@pytest.mark.parametrize("more", [{}, {"type": None}, {"type": "item_reference"}])
def test_an_item_that_the_provider_stored_makes_an_estimate(more: dict[str, Any]) -> None:
    items = [{"id": "msg_1"} | more, user("How deep?")]
    exactness, messages = counted(RESPONSES | {"input": items})
    assert (exactness, len(messages)) == ("estimated", 1)


def test_a_request_with_context_management_is_recognized() -> None:
    compaction = {"type": "compaction", "compact_threshold": 1000}
    assert counted(RESPONSES | {"context_management": [compaction]}) == counted(RESPONSES)


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        ([{"type": "redacted_thinking", "data": "QUJD" * 100}], 100),
        (
            [
                {
                    "type": "web_search_tool_result",
                    "content": [{"url": "http://x", "encrypted_content": "QUJD" * 100}],
                }
            ],
            100,
        ),
    ],
)
def test_encrypted_blocks_of_claude_count_by_their_length(
    content: list[dict[str, Any]], tokens: int
) -> None:
    def request(data: str) -> Any:
        answer = json.loads(json.dumps(content).replace("QUJD" * 100, data))
        talk = [user("x"), {"role": "assistant", "content": answer}, user("y")]
        (row,) = run(json.dumps(CLAUDE | {"messages": talk}).encode(), tokenizer=None).rows
        return row.count

    assert request("QUJD" * 100).tokens - request("QUJD").tokens == tokens - 1
    assert request("QUJD" * 100).exactness == "estimated"


@pytest.mark.parametrize(
    ("more", "is_bound"),
    [
        ({}, True),
        ({"model": "claude-opus-6"}, False),
        ({"container": {"skills": [SKILL]}}, False),
    ],
)
def test_only_a_bound_is_called_an_upper_bound(more: dict[str, Any], is_bound: bool) -> None:
    (row,) = run(json.dumps(CLAUDE | more).encode(), tokenizer=None).rows
    has_note = "claude-bounded" in [finding.code for finding in row.findings]
    assert has_note == (row.count.exactness == "bounded")
    assert is_bound or row.count.exactness == "estimated"
