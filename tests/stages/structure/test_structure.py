"""The rules of providers: for each rule a conversation that breaks it and a conversation that
satisfies it.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from builders import call, conversation, result, says, step, user
from conftest import Run
from harness import read, run
from hypothesis import given
from hypothesis import strategies as st
from strategies import budgets, files

from ctxtrim.conversation.turns import shape
from ctxtrim.model import Transcript
from ctxtrim.stages.structure import PROFILES, findings

SYSTEM = {"role": "system", "content": "Be kind."}
FINE = [SYSTEM, user("go"), *step("a", "text"), says("so"), user("and?")]
THINKS = {"role": "assistant", "reasoning_content": "hm"}
ODD_CALL = {
    "role": "assistant",
    "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "no"}}],
}
CUSTOM_CALL = {
    "role": "assistant",
    "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "f", "input": "no"}}],
}
TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {}}}]


def broken(
    profile: str, messages: list[dict[str, Any]], how: str = "recording", **envelope: Any
) -> list[str]:
    """The codes of the rules that some messages break, warnings with a question mark."""
    stages = [("check", {"profile": profile, "as_": how})]
    row = run(conversation(messages, **envelope), stages, limit=10_000_000).rows[0]
    return [
        finding.code + ("?" if finding.severity == "warning" else "") for finding in row.findings
    ]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_valid_request_breaks_no_rule_of_any_provider(profile: str) -> None:
    assert broken(profile, FINE, "request", tools=TOOLS) == []


@pytest.mark.parametrize("how", ["recording", "request"])
def test_openai_accepts_empty_content_next_to_calls(how: str) -> None:
    talk = [user("go"), call("a") | {"content": ""}, result("a", ""), user("and?")]
    assert broken("openai", talk, how, tools=TOOLS) == []
    assert broken("openai", [user("go"), {"role": "assistant", "content": None}, user("and?")]) == [
        "empty-content"
    ]


@pytest.mark.parametrize("content", [None, [], ...])
def test_openai_refuses_a_result_without_content(content: Any) -> None:
    answer = {"role": "tool", "tool_call_id": "a", "content": content}
    if content is ...:
        del answer["content"]
    talk = [user("go"), call("a"), answer, user("and?")]
    assert broken("openai", talk, tools=TOOLS) == ["empty-content"]
    assert broken("strict", talk, tools=TOOLS) == ["empty-content"]
    asks = {"role": "assistant", "function_call": {"name": "look", "arguments": "{}"}}
    legacy = [user("go"), asks, {"role": "function", "name": "look", "content": None}, user("and?")]
    assert broken("openai", legacy) == []


def test_a_result_that_is_only_an_image_has_content() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    talk = [user("go"), call("a"), result("a", [image]), user("and?")]
    assert broken("openai", talk, tools=TOOLS) == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", []),
        (None, []),
        ([{"type": "text", "text": "low"}], []),
        ([{"type": "text", "text": " "}, {"type": "text", "text": "low"}], ["empty-content"]),
        ([{"type": "text", "text": ""}], ["empty-content"]),
    ],
    ids=str,
)
def test_anthropic_refuses_blank_texts_among_the_blocks_of_a_result(
    content: Any, expected: list[str]
) -> None:
    use = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "a", "content": content}
    talk = [
        user("go"),
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [answer]},
    ]
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    assert broken("anthropic", talk, "request", tools=tools) == expected


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([user("go"), result("x", "text")], {"tool-result-without-call"}),
        ([user("go"), call("a"), user("so?"), says("oh")], {"call-without-result"}),
        ([user("go"), call("a"), user("wait"), result("a", "text")], {"tool-result-not-adjacent"}),
        ([user("go"), {"role": "assistant"}, user("and?")], {"empty-content"}),
        ([user("go"), says(" "), user("and?")], {"empty-content"}),
        ([user(""), says("so"), user("and?")], {"empty-content"}),
        ([says("Hello!"), user("go")], {"first-not-user"}),
        ([user("go"), user("now")], {"roles-not-alternating"}),
        ([user("go"), says("so"), says("then")], {"roles-not-alternating", "ends-with-assistant"}),
        (
            [user("go"), says("so"), call("a"), result("a", "text")],
            {"roles-not-alternating", "call-after-model"},
        ),
        ([user("go"), *step("a", "text"), *step("a", "text")], {"duplicate-call-id"}),
        ([user("go"), SYSTEM, says("so"), user("and?")], {"system-not-first"}),
        ([user("go"), THINKS], {"thinking-only-message"}),
        ([user("half \ud83d"), says("so"), user("and?")], {"lone-surrogate"}),
        ([user("go"), says("so")], {"ends-with-assistant"}),
        ([user("go"), call("a")], {"call-without-result"}),
    ],
)
def test_the_strict_profile_includes_the_rules_of_every_provider(
    messages: list[dict[str, Any]], expected: set[str]
) -> None:
    names = set(broken("strict", messages, "request", tools=TOOLS))
    assert expected <= names
    assert names - expected <= {"reasoning-without-follower", "ends-with-assistant"}


@pytest.mark.parametrize(
    ("profile", "messages", "expected"),
    [
        ("openai", [says("Hello!"), user("go"), user("now"), SYSTEM, says("so")], []),
        ("openai", [user("go"), ODD_CALL, result("a", "x")], ["arguments-not-json?"]),
        ("openai", [user("go"), CUSTOM_CALL, result("a", "x")], []),
        ("openai-responses", [user("go"), THINKS, user("so?")], ["reasoning-without-follower"]),
        ("anthropic", [user("go"), user("now"), says("so"), SYSTEM],
         ["roles-not-alternating?", "system-not-first?", "system-out-of-place"]),
        ("anthropic", [user("go"), SYSTEM, says("so"), user("and?"), SYSTEM],
         ["system-not-first?", "system-not-first?"]),
        ("anthropic", [user("go"), SYSTEM, user("now")],
         ["system-not-first?", "roles-not-alternating?", "system-out-of-place"]),
        ("anthropic", [user("go"), says("so")], ["ends-with-assistant?"]),
        ("gemini", [user("go"), says("so"), call("a"), result("a", "x")], ["call-after-model"]),
        ("gemini", [says("Hello!"), user("go")], ["first-not-user?"]),
    ],
)  # fmt: skip
def test_each_provider_has_its_own_rules(
    profile: str, messages: list[dict[str, Any]], expected: list[str]
) -> None:
    assert broken(profile, messages, tools=TOOLS) == expected


def test_results_of_parallel_calls_may_come_in_any_order() -> None:
    """Also very many of them: work that grows with the square would take hours."""
    ids = [f"c{number}" for number in range(40_000)]
    results = [result(call_id, "text") for call_id in reversed(ids)]
    assert broken("openai", [user("go"), call(*ids), *results, user("and?")], tools=TOOLS) == []
    late = [user("go"), call(*ids), *results[1:], user("and?"), results[0]]
    assert broken("openai", late, tools=TOOLS) == ["tool-result-not-adjacent"]
    unanswered = [user("go"), *map(call, ids), user("and?")]
    assert broken("openai", unanswered, tools=TOOLS) == ["call-without-result"] * len(ids)


def test_a_rule_for_requests_alone_is_a_warning_in_a_recording() -> None:
    talk = [user("go"), *step("a", "text"), says("so")]
    assert broken("anthropic", talk, tools=TOOLS) == ["ends-with-assistant?"]
    assert broken("anthropic", talk, "request", tools=TOOLS) == ["ends-with-assistant"]
    assert broken("anthropic", talk, "request") == ["tools-missing", "ends-with-assistant"]


def test_a_finding_names_the_message_and_the_error_of_the_provider() -> None:
    row = run(
        conversation([user("go"), result("x", "text")]), [("check", {"profile": "openai"})]
    ).rows[0]
    assert [(finding.index, finding.line) for finding in row.findings] == [(1, 1)]
    assert "must be a response to a preceeding message" in row.findings[0].details[0]


def _errors(profile: str, transcript: Transcript) -> set[str]:
    turn_shape = shape(transcript.messages)
    return {
        finding.code
        for finding in findings(PROFILES[profile], transcript, turn_shape)
        if finding.severity == "error"
    }


@pytest.mark.parametrize("profile", PROFILES)
@given(files(), st.lists(st.sampled_from(["truncate", "trim"]), min_size=1, max_size=2), budgets)
def test_no_stage_breaks_a_rule_that_the_input_satisfied(
    profile: str, data: bytes, names: list[str], budget: int
) -> None:
    ran = run(data, [(name, {}) for name in names], limit=budget)
    before = [
        transcript
        for chunk in read(data)
        for transcript in chunk.transcripts
        if transcript.messages
    ]
    after = [
        transcript
        for chunk in read(ran.data or b"")
        for transcript in chunk.transcripts
        if transcript.messages
    ]
    if len(before) == len(after):
        for old, new in zip(before, after, strict=True):
            assert _errors(profile, old) or not _errors(profile, new)


def parts(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


USE = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
TEXT = {"type": "text", "text": "so"}
CALL = {"type": "tool_use", "id": "a", "name": "bash", "input": {}}
BY = CALL | {"caller": {"type": "code_execution_20250825", "tool_id": "s"}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "text"}
ASKS, SEES = parts("user", TEXT), parts("user", RESULT)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([ASKS, parts("assistant", USE, FOUND, TEXT), ASKS], []),
        ([ASKS, parts("assistant", USE)], []),  # paused
        ([ASKS, parts("assistant", USE), parts("assistant", FOUND, TEXT), ASKS],
         ["roles-not-alternating?"]),
        ([ASKS, parts("assistant", USE, BY), SEES], []),
        ([ASKS, parts("assistant", USE, CALL), parts("user", RESULT, TEXT)], []),
        ([ASKS, parts("assistant", USE, BY), SEES, parts("assistant", FOUND, TEXT), ASKS], []),
        ([ASKS, parts("assistant", CALL | {"caller": {"type": "direct"}}), SEES], []),
        ([ASKS, parts("assistant", FOUND, TEXT), ASKS], ["server-tool-result-without-use"]),
        ([ASKS, parts("assistant", FOUND, USE), ASKS],
         ["server-tool-result-without-use", "server-tool-use-without-result"]),
        ([ASKS, parts("assistant", TEXT, USE), ASKS], ["server-tool-use-without-result"]),
        ([ASKS, parts("assistant", USE, BY), SEES, parts("assistant", TEXT), ASKS],
         ["server-tool-use-without-result"]),
        ([ASKS, parts("assistant", BY), SEES], ["server-tool-caller-missing"]),
        ([ASKS, parts("assistant", TEXT | {"text": "\ud800"}, BY), SEES],
         ["server-tool-caller-missing", "lone-surrogate"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("how", ["recording", "request"])
def test_the_use_of_a_server_tool_has_its_result(
    messages: list[dict[str, Any]], expected: list[str], how: str
) -> None:
    assert broken("anthropic", messages, how, tools=[{"name": "bash", "input_schema": {}}]) == (
        expected
    )


@pytest.mark.parametrize(
    ("results", "is_split"),
    [
        ([["a", "b", "c"]], False),
        ([["a"], ["b", "c"]], True),
        ([["a", "b"], ["c"]], True),
    ],
)
def test_the_results_of_parallel_calls_are_in_one_user_message(
    results: list[list[str]], is_split: bool
) -> None:
    """Anthropic merges user messages today, older gateways and Bedrock refuse them."""
    uses = [{"type": "tool_use", "id": name, "name": "look", "input": {}} for name in "abc"]
    talk = [ASKS, parts("assistant", *uses)]
    for names in results:
        blocks = [{"type": "tool_result", "tool_use_id": name, "content": "ok"} for name in names]
        talk.append(parts("user", *blocks))
    tools = [{"name": "look", "input_schema": {}}]
    code = "roles-not-alternating"
    assert broken("anthropic", talk, "request", tools=tools) == [f"{code}?"] * is_split
    assert broken("strict", talk, "request", tools=tools) == [code] * is_split


def test_results_of_other_formats_are_messages_of_their_own() -> None:
    talk = [user("go"), call("a", "b"), result("a", "x"), result("b", "y"), user("and?")]
    assert broken("strict", talk, "request", tools=TOOLS) == []


@pytest.mark.parametrize("top", [{}, {"system": "Be brief."}])
def test_anthropic_takes_no_system_message_at_the_start(top: dict[str, Any]) -> None:
    talk = [SYSTEM, ASKS, parts("assistant", CALL), SEES]
    tools = [{"name": "bash", "input_schema": {}}]
    for how in ("recording", "request"):
        assert broken("anthropic", talk, how, tools=tools, **top) == ["system-out-of-place"]
        assert broken("anthropic", talk[1:], how, tools=tools, **top) == []


@pytest.mark.parametrize("before", [[], [SYSTEM]])
def test_gemini_takes_no_function_call_at_the_start(before: list[dict[str, Any]]) -> None:
    talk = [*before, *step("a", "text"), user("and?")]
    assert broken("gemini", talk, "request") == ["call-after-model", "first-not-user?"]
    assert broken("gemini", [user("go"), *talk], "request") == []


def test_a_breach_that_several_providers_refuse_is_one_finding() -> None:
    data = conversation([says("so"), user("and?")])
    (finding,) = run(data, [("check", {"profile": "strict"})]).rows[0].findings
    assert finding.code == "first-not-user"
    assert len(finding.details) == 2


def test_many_server_tools_are_checked_in_proportion_to_their_number() -> None:
    """Work that grows with the square would take hours."""
    uses = [parts("assistant", USE | {"id": str(number)}) for number in range(20_000)]
    found = broken("anthropic", [ASKS, *uses, ASKS])
    assert found.count("server-tool-use-without-result") == len(uses)


@pytest.mark.parametrize("has_reasoning", [True, False])
def test_an_item_does_not_show_whether_it_needs_reasoning(has_reasoning: bool) -> None:
    """A model without reasoning writes items with equal ids."""
    said = {"type": "message", "id": "msg_a", "role": "assistant", "content": "so"}
    reasoning = [{"type": "reasoning", "id": "rs_a", "summary": []}] if has_reasoning else []
    asked = {"type": "message", "role": "user", "content": "go"}
    data = json.dumps({"model": "gpt-5", "input": [asked, *reasoning, said, asked]}).encode()
    row = run(data, [("check", {"profile": "openai-responses"})]).rows[0]
    assert list(row.steps[0].findings) == []
    codes = ["not-counted"] if has_reasoning else []  # the text that the API stored
    assert [finding.code for finding in row.findings] == codes


@pytest.mark.parametrize(
    "item",
    [
        {"summary": []},
        {"summary": [], "content": []},
        {"summary": [], "encrypted_content": None},
        {"summary": [{"type": "summary_text", "text": "look first"}]},
        {"summary": [], "encrypted_content": "gAAAA"},
    ],
)
def test_reasoning_needs_the_item_after_it_whatever_it_contains(item: dict[str, Any]) -> None:
    """By default the API sends no text: it stored the reasoning."""
    answer = {"type": "message", "id": "m_1", "role": "assistant", "content": "12 m"}
    reasoning = {"type": "reasoning", "id": "rs_1"} | item
    for items, codes in (([reasoning], ["reasoning-without-follower"]), ([reasoning, answer], [])):
        request = {"model": "gpt-5", "input": [user("How deep?"), *items, user("And now?")]}
        check = ("check", {"profile": "openai-responses"})
        row = run(json.dumps(request).encode(), [check]).rows[0]
        assert [finding.code for finding in row.steps[0].findings] == codes


def test_members_for_debugging_are_refused_in_requests_but_not_by_openai() -> None:
    shortened = result("a", "text") | {"_originalLength": 900, "_truncatedAt": 6}
    talk = [user("go"), call("a"), shortened, user("and?")]
    for profile in PROFILES:
        expected = [] if profile == "openai" else ["unknown-member"]
        assert broken(profile, talk, "request", tools=TOOLS) == expected
        assert broken(profile, talk, tools=TOOLS) == [f"{code}?" for code in expected]


def _anthropic(text: str) -> dict[str, Any]:
    use = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "a", "content": text}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [answer]},
        *({"role": role, "content": "So?"} for role in ("assistant", "user")),
    ]
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    return {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages, "tools": tools}


def _responses(text: str) -> dict[str, Any]:
    item = {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "a", "output": text}
    prompts = [{"role": "user", "content": "Look."}, {"role": "user", "content": "So?"}]
    return {"model": "gpt-5", "input": [prompts[0], item, output, prompts[1]]}


def _gemini(text: str) -> dict[str, Any]:
    answer = {"functionResponse": {"name": "look", "response": {"output": text}}}
    contents = [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
        {"role": "user", "parts": [answer]},
        *({"role": role, "parts": [{"text": "So?"}]} for role in ("model", "user")),
    ]
    return {"model": "gemini-2.5-pro", "contents": contents}


def _bedrock(text: str) -> dict[str, Any]:
    use = {"toolUse": {"toolUseId": "a", "name": "look", "input": {}}}
    answer = {"toolResult": {"toolUseId": "a", "content": [{"text": text}]}}
    messages = [
        {"role": "user", "content": [{"text": "Look."}]},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [answer]},
        *({"role": role, "content": [{"text": "So?"}]} for role in ("assistant", "user")),
    ]
    return {"modelId": "anthropic.claude-3-haiku-20240307-v1:0", "messages": messages}


@pytest.mark.parametrize(
    ("profile", "request_of"),
    [
        ("anthropic", _anthropic),
        ("openai-responses", _responses),
        ("gemini", _gemini),
        ("", _bedrock),
    ],
)
def test_truncate_with_metadata_writes_no_request(
    ctxtrim: Run, profile: str, request_of: Callable[[str], dict[str, Any]]
) -> None:
    data = json.dumps(request_of("a line of a log\n" * 400)).encode()
    check = ("check", "--as", "request", *(("--profile", profile) if profile else ()))
    assert ctxtrim(*check, stdin=data).code == 0
    truncate = ("truncate", "--preset", "rolling", "--max-age", "0", "--quiet")
    with_members = ctxtrim(*truncate, stdin=data).out
    assert b"_originalLength" in with_members
    ran = ctxtrim(*check, stdin=with_members)
    assert (ran.code, b"[unknown-member]" in ran.out) == (4, True)
    without = ctxtrim(*truncate, "--no-metadata", stdin=data).out
    assert (without != data, ctxtrim(*check, stdin=without).code) == (True, 0)
