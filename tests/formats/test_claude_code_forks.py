"""Subagents of Claude Code that continue the conversation of their parent."""

import json

from builders_claude import Event, answers, call_line, line, role_texts, says, session, transcript
from conftest import Run
from harness import run

FORK: Event = {
    "type": "fork-context-ref",
    "agentId": "mate",
    "parentSessionId": "s",
    "parentLastUuid": "p9",
    "contextLength": 17,
}
ASIDE = {"isSidechain": True, "agentId": "mate"}
EVENTS = (
    FORK,
    call_line("a1", "p9", "m1", "c1") | ASIDE,
    answers("r1", "a1", "c1", "Your directive: count the buoys.") | ASIDE,
    says("a2", "r1", "m2", type="text", text="Seven.") | ASIDE,
)
TEXT = "the session continues s, whose messages are in another file; not counted"


def findings(*events: Event) -> list[str]:
    ran = run(session(*events), [("count", {})])
    return [finding.message for row in ran.rows for finding in row.findings]


def test_the_messages_of_the_parent_are_reported_as_not_counted(ctxtrim: Run) -> None:
    assert len(role_texts(transcript(*EVENTS))) == 3
    assert TEXT in findings(*EVENTS)
    assert TEXT not in findings(*EVENTS[1:])
    ran = ctxtrim("check", "--strict", "--json", stdin=session(*EVENTS))
    (row,) = json.loads(ran.out)["transcripts"]
    assert (ran.code, row["exactness"]) == (4, "estimated")


def test_a_compaction_replaces_the_messages_of_the_parent() -> None:
    boundary = line("k1", None, "system", subtype="compact_boundary", logicalParentUuid="a2")
    summary = line("k2", "k1", "user", "All counted.", isCompactSummary=True)
    assert TEXT not in findings(*EVENTS, boundary | ASIDE, summary | ASIDE)


def test_a_file_that_begins_with_a_fork_is_trimmed_and_keeps_its_first_line(ctxtrim: Run) -> None:
    asked = line("u1", "p9", "user", "Count the buoys.") | ASIDE
    long = says("a1", "u1", "m1", type="text", text="Slowly. " * 90) | ASIDE
    more = line("u2", "a1", "user", "And the piers?") | ASIDE
    done = says("a2", "u2", "m2", type="text", text="Seven.") | ASIDE
    ran = ctxtrim("trim", "--budget", "150", stdin=session(FORK, asked, long, more, done))
    assert ran.code == 0, ran.err
    kept = [json.loads(each) for each in ran.out.splitlines()]
    assert kept[0] == FORK
    assert [each["uuid"] for each in kept[1:]] == ["u2", "a2"]
