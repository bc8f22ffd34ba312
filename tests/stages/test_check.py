"""Check: the verdict as findings."""

from typing import Any

from builders import call, conversation, result, says, step, user
from harness import run


def codes(messages: list[dict[str, Any]], budget: int = 10_000) -> list[tuple[str, str]]:
    row = run(conversation(messages), [("check", {})], limit=budget).rows[0]
    return [(finding.code, finding.severity) for finding in row.findings]


def test_a_finished_conversation_has_no_findings() -> None:
    assert codes([user("go"), *step("a", "text"), says("done")]) == []


def test_a_count_above_the_budget_is_an_overflow() -> None:
    assert codes([user("word " * 100)], 50) == [("overflow", "error")]


def test_a_result_without_a_call_is_an_error() -> None:
    assert codes([user("go"), result("nobody", "text")]) == [("tool-result-without-call", "error")]


def test_a_call_without_a_result_is_an_error() -> None:
    assert codes([user("go"), call("a"), user("and?"), says("oh")]) == [
        ("call-without-result", "error")
    ]
    assert codes([user("go"), call("a", "b"), result("a", "text"), says("oh")]) == [
        ("call-without-result", "error")
    ]


def test_a_last_call_without_a_result_is_a_warning() -> None:
    assert codes([user("go"), *step("a", "text"), call("b")]) == [
        ("call-without-result", "warning")
    ]
    assert codes([user("go"), call("a", "b"), result("a", "text")]) == [
        ("call-without-result", "warning")
    ]


def test_reused_ids_are_valid() -> None:
    assert codes([user("go"), *step("a", "text"), *step("a", "text"), says("done")]) == []


def test_an_overflow_that_a_later_stage_fixes_is_not_reported() -> None:
    talk = [user("go"), *step("a", "word " * 100), user("now")]
    row = run(conversation(talk), [("check", {}), ("trim", {})], limit=50).rows[0]
    assert row.findings == ()
    assert row.steps[0].findings[0].code == "overflow"
