"""Requests whose prompt has more than the file: estimates, with a finding that says why."""

import json
from typing import Any

import pytest
from builders import call, user
from conftest import Run
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
        (CHAT | {"dataSources": [{"type": "AzureCognitiveSearch"}]}, "dataSources"),
        (CHAT | {"preset": "harbour-guide"}, "preset"),
        (CHAT | {"model": "@preset/gpt-4o"}, "model"),
        (CHAT | {"model": "openai/gpt-4o@preset/gpt-4o"}, "model"),
        (
            CLAUDE | {"mcp_servers": [{"type": "url", "url": "https://x", "name": "y"}]},
            "mcp_servers",
        ),
        (CLAUDE | {"container": {"skills": [SKILL]}}, "container"),
        (CLAUDE | {"thread": {"type": "continue", "previous_message_id": "msg_1"}}, "thread"),
        (CLAUDE | {"compaction": {"type": "summarize"}}, "compaction"),
        (RESPONSES | {"multi_agent": {"enabled": True}}, "multi_agent"),
        (
            RESPONSES | {"input": [user("How deep?"), {"type": "compaction_trigger"}]},
            "compaction_trigger",
        ),
        (CHAT | {"model": "grok-3", "search_parameters": {"mode": "auto"}}, "search_parameters"),
        (CHAT | {"model": "qwen-plus", "enable_search": True}, "enable_search"),
        (GEMINI | {"cachedContent": "cachedContents/1"}, "cachedContent"),
    ],
)
def test_text_that_the_provider_adds_makes_an_estimate(
    request_body: dict[str, Any], field: str
) -> None:
    text = f"`{field}`: the provider adds text that the file does not contain; not counted"
    assert counted(request_body) == ("estimated", [text])


@pytest.mark.parametrize(
    ("request_body", "more"),
    [
        (CHAT, {"data_sources": [{"type": "azure_search"}]}),
        (CHAT, {"plugins": [{"id": "web"}]}),
        (CHAT, {"documents": [{"text": "2 m"}]}),
        (RESPONSES | {"store": False}, {"plugins": [{"id": "web"}]}),
        (CLAUDE, {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
        (CLAUDE, {"container": {"skills": [SKILL]}}),
    ],
)
def test_the_extra_body_of_a_call_is_part_of_the_request(
    request_body: dict[str, Any], more: dict[str, Any]
) -> None:
    """The SDKs send its fields next to the others."""
    requests = [request_body | fields for fields in (more, {"extra_body": more}, {})]
    next_to, extra, plain = (
        run(json.dumps(request).encode(), tokenizer=None).rows[0] for request in requests
    )
    assert extra.count == next_to.count != plain.count
    assert [note.message for note in extra.findings] == [note.message for note in next_to.findings]


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


@pytest.mark.parametrize("kind", ["web_search_call", "image_generation_call"])
def test_the_estimate_ends_with_the_item_that_the_provider_ran(ctxtrim: Run, kind: str) -> None:
    """In a bare list of items too, which has no fields of a request."""
    ran = {"type": kind, "id": "it_1", "status": "completed", "result": "iVBORw0KGgo="}
    says = {"type": "message", "role": "assistant", "id": "msg_1", "content": "2 m. " * 90}
    items = [user("How deep?"), ran, says, user("And at noon?")]

    def exactness(data: bytes) -> str:
        report = json.loads(ctxtrim("count", "--json", "-m", "gpt-4o", stdin=data).out)
        return str(report["transcripts"][0]["exactness"])

    data = json.dumps(items).encode()
    assert exactness(data) == "estimated"
    trimmed = ctxtrim("trim", "-b", "40", "-m", "gpt-4o", stdin=data)
    assert (trimmed.code, kind.encode() in trimmed.out) == (0, False), trimmed.err
    assert exactness(trimmed.out) == "exact"


@pytest.mark.parametrize(
    "request_body",
    [
        RESPONSES | {"previous_response_id": None, "conversation": None, "prompt": None},
        CHAT | {"conversation": "a", "prompt": {"id": "b"}},  # notes of a log
        CHAT | {"plugins": [{"id": "web", "enabled": False}, {"id": "response-healing"}]},
        CHAT | {"data_sources": [], "container": {"skills": []}, "mcp_servers": []},
        CHAT | {"dataSources": [], "preset": None},
        CHAT | {"search_parameters": {"mode": "off"}, "enable_search": False},
        RESPONSES | {"multi_agent": {"enabled": False}},
    ],
)
def test_fields_that_add_no_text_leave_a_count_exact(request_body: dict[str, Any]) -> None:
    assert counted(request_body) == ("exact", [])


@pytest.mark.parametrize("more", [{}, {"type": None}, {"type": "item_reference"}])
def test_an_item_that_the_provider_stored_makes_an_estimate(more: dict[str, Any]) -> None:
    items = [{"id": "msg_1"} | more, user("How deep?")]
    exactness, messages = counted(RESPONSES | {"input": items})
    assert (exactness, len(messages)) == ("estimated", 1)


@pytest.mark.parametrize("thread", [{"type": "create"}, None])
def test_a_thread_that_only_begins_adds_no_text(thread: dict[str, str] | None) -> None:
    assert counted(CLAUDE | {"thread": thread}) == counted(CLAUDE)


UPLOAD = {"type": "container_upload", "file_id": "file_1"}
LINK = {"type": "resource_link", "uri": "file:///tides.csv"}
VIDEO = {"type": "video", "source": {"type": "url", "url": "https://tides.example/a.mp4"}}


@pytest.mark.parametrize("block", [UPLOAD, LINK, VIDEO], ids=lambda block: block["type"])
@pytest.mark.parametrize("place", ["prompt", "result"])
@pytest.mark.parametrize("api", ["chat", "responses", "anthropic"])
def test_a_block_that_refers_to_other_content_makes_an_estimate(
    block: dict[str, Any], place: str, api: str
) -> None:
    def exactness(*blocks: dict[str, Any]) -> str:
        return counted(asks(api, place, list(blocks)))[0]

    text = {"type": "text", "text": "How deep?"}
    assert exactness(text) != "estimated"
    assert exactness(text, block) == "estimated"


def asks(api: str, place: str, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """A request of an API with blocks in its prompt or in a result."""
    prompt = user("How deep?") | ({"content": blocks} if place == "prompt" else {})
    output = blocks if place == "result" else "2 m"
    if api == "responses":
        answer = {"type": "function_call_output", "call_id": "c1", "output": output}
        return RESPONSES | {"input": [prompt, CALL, answer]}
    if api == "chat":
        talk = [prompt, call("c1"), {"role": "tool", "tool_call_id": "c1", "content": output}]
        return CHAT | {"messages": talk}
    use = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "c1", "content": output}
    talk = [prompt, {"role": "assistant", "content": [use]}, user("") | {"content": [answer]}]
    return CLAUDE | {"messages": talk}


def test_sources_and_files_of_cline_are_no_estimate() -> None:
    """They contain all that the model reads."""
    text = [{"type": "text", "text": "2 m at low tide."}]
    source = {"type": "search_result", "source": "x", "title": "Tides", "content": text}
    file = {"type": "file", "path": "tides.txt", "content": "2 m"}
    for block in (source, file):
        assert counted(asks("anthropic", "result", [block]))[0] != "estimated"


def test_an_image_file_costs_as_much_as_any_image_of_unknown_size() -> None:
    image = {"type": "image_file", "image_file": {"file_id": "file_1"}}
    url = {"type": "image_url", "image_url": {"url": "https://tides.example/a.png"}}
    rows = [
        run(json.dumps(asks("chat", "prompt", [block])).encode(), tokenizer=None).rows[0].count
        for block in (image, url)
    ]
    assert rows[0] == rows[1]
    assert rows[0].exactness == "bounded"


CALL = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "2 m"}
SUMMARY = [{"type": "summary_text", "text": "Look it up."}]
STORED = ["`reasoning`: 1 answer has only the id of text that the provider stored; not counted"]


def reasoned(**fields: Any) -> list[dict[str, Any]]:
    """A call of a tool after reasoning, and its result."""
    return [user("How deep?"), {"type": "reasoning", "summary": []} | fields, CALL, RESULT]


@pytest.mark.parametrize(
    ("fields", "exactness", "messages"),
    [
        ({"id": "rs_1"}, "estimated", STORED),
        ({"id": "rs_1", "encrypted_content": None, "content": []}, "estimated", STORED),
        ({"id": "rs_1", "summary": SUMMARY}, "estimated", []),
        ({"id": "rs_1", "content": [{"type": "reasoning_text", "text": "why"}]}, "bounded", []),
        ({"id": "rs_1", "encrypted_content": "QUJD" * 300}, "estimated", []),
        ({}, "bounded", []),
        ({"id": None, "summary": SUMMARY}, "bounded", []),
    ],
)
def test_reasoning_that_the_provider_stored_makes_an_estimate(
    fields: dict[str, Any], exactness: str, messages: list[str]
) -> None:
    """Newer models also read that of earlier turns."""
    talk = reasoned(**fields)
    later = [*talk, {"role": "assistant", "content": "2 m."}, user("And wide?")]
    for items in (talk, later):
        assert counted({"model": "o4-mini", "input": items}) == (exactness, messages)


@pytest.mark.parametrize("form", ["list", "lines", "batch"])
def test_stored_reasoning_makes_an_estimate_in_each_form_until_it_is_dropped(
    ctxtrim: Run, form: str
) -> None:
    second = CALL | {"call_id": "c2"}, RESULT | {"call_id": "c2", "output": "3 m"}
    talk = [*reasoned(id="rs_1"), user("And wide? " * 30), *second]
    data = {
        "list": json.dumps(talk),
        "lines": "\n".join(map(json.dumps, talk)),
        "batch": json.dumps({"body": {"model": "o4-mini", "input": talk}}),
    }[form]
    words = ("--format", "openai-responses", "--model", "o4-mini", "--json")
    ran = ctxtrim("count", *words, stdin=data.encode())
    (before,) = json.loads(ran.out)["transcripts"]
    assert before["exactness"] == "estimated"
    assert [finding["message"] for finding in before["findings"]] == STORED

    shorter = ctxtrim("trim", *words[:-1], "--budget", "150", stdin=data.encode())
    (after,) = json.loads(ctxtrim("count", *words, stdin=shorter.out).out)["transcripts"]
    assert b"rs_1" not in shorter.out
    assert (after["exactness"], after["findings"]) == ("bounded", [])


def test_the_rated_answers_of_a_row_for_gemini_are_reported() -> None:
    answers = [
        {"score": score, "completion": {"role": "model", "parts": [{"text": text}]}}
        for score, text in ((1, "2 m."), (0, "Deep."))
    ]
    note = "the answers in `completions` are not read; not counted"
    assert counted(GEMINI | {"completions": answers}) == ("estimated", [note])


@pytest.mark.parametrize("kind", ["json_schema", "text"])
def test_a_schema_that_an_item_sets_makes_an_estimate(kind: str) -> None:
    schema = {"type": "object", "properties": {"depth": {"type": "number"}}}
    text = {"format": {"type": kind, "name": "depth", "schema": schema}}
    update = {"type": "configuration_update", "text": text}
    note = "the format of the answer in a `configuration_update` is not read; not counted"
    exactness, notes = counted(RESPONSES | {"input": [update, user("How deep?")]})
    assert (exactness, notes) == (("exact", []) if kind == "text" else ("estimated", [note]))


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
