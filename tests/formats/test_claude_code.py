"""Claude Code sessions: live lines, messages, and repaired links."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders_claude import (
    Event,
    answers,
    call_line,
    line,
    role_texts,
    says,
    session,
    transcript,
)
from conftest import Run
from harness import read, run
from insertions import SUMMARY, written
from msgspec.structs import replace

from ctxtrim.conversation.tasks import current_task
from ctxtrim.formats import FORMATS
from ctxtrim.formats.self_check import check
from ctxtrim.formats.writing import rewrite
from ctxtrim.model import Media

PARALLEL = (
    line("u1", None, "user", "list both"),
    says("a1", "u1", "m1", type="thinking", thinking="hmm", signature="x"),
    says("a2", "a1", "m1", type="text", text="Listing."),
    call_line("a3", "a2", "m1", "c1"),
    line("p1", "a3", "progress", data={"output": "never read"}),
    call_line("a4", "p1", "m1", "c2"),
    answers(
        "r1",
        "a3",
        "c1",
        "first",
        toolUseResult={"stdout": "first, in full"},
        sourceToolAssistantUUID="a3",
    ),
    answers("r2", "a4", "c2", "second", sourceToolAssistantUUID="a4"),
    says("b1", "r2", "m2", type="text", text="Done."),
    line("u2", "b1", "user", "thanks"),
)


def test_a_message_spans_lines_and_parallel_results_are_side_branches() -> None:
    call = '{"command":"ls"}'
    assert role_texts(transcript(*PARALLEL)) == [
        ("user", "list both"),
        ("assistant", f"hmm | Listing. | {call} | {call}"),
        ("tool", "first"),
        ("tool", "second"),
        ("assistant", "Done."),
        ("user", "thanks"),
    ]


def test_an_abandoned_branch_and_a_sidechain_are_not_context() -> None:
    branch = line("x1", "b1", "user", "a prompt that was rewound")
    side = line("s1", None, "user", "a subagent's prompt") | {"isSidechain": True}
    assert role_texts(transcript(*PARALLEL[:-1], branch, side, PARALLEL[-1])) == role_texts(
        transcript(*PARALLEL)
    )


def test_a_file_with_only_a_sidechain_is_read_as_that_sidechain() -> None:
    events = [event | {"isSidechain": True} for event in PARALLEL]
    assert role_texts(transcript(*events)) == role_texts(transcript(*PARALLEL))


def test_compacted_messages_are_not_context() -> None:
    boundary = line("k1", None, "system", subtype="compact_boundary", logicalParentUuid="u2")
    summary = line(
        "k2",
        "k1",
        "user",
        "This session is being continued…",
        isCompactSummary=True,
        isVisibleInTranscriptOnly=True,
    )
    after = line("u3", "k2", "user", "go on")
    parsed = transcript(*PARALLEL, boundary, summary, after)
    assert role_texts(parsed) == [("user", "This session is being continued…"), ("user", "go on")]
    assert [message.is_injected for message in parsed.messages] == [True, False]


@pytest.mark.parametrize(
    "members",
    [
        {"origin": {"kind": "task-notification"}, "promptSource": "system"},
        {"origin": {"kind": "peer", "name": "reviewer"}},
        {"origin": {"kind": "coordinator"}, "promptSource": "sdk"},
        {"origin": {"kind": "auto-continuation"}},
        {"promptSource": "system", "turnOrigin": "scheduled"},
    ],
)
def test_a_prompt_that_names_another_origin_than_a_person_is_not_the_current_task(
    members: dict[str, Any],
) -> None:
    generated = line("u9", "r2", "user", "Continue.") | members
    parsed = transcript(*PARALLEL, generated)
    assert parsed.messages[-1].is_injected
    assert current_task(parsed.messages) == 0


@pytest.mark.parametrize(
    "text",
    [
        '<teammate-message teammate_id="scout">Reef ahead.</teammate-message>',
        "Another Claude session sent a message:\nReef ahead.",
    ],
)
def test_a_message_of_another_agent_is_not_the_current_task(text: str) -> None:
    assert current_task(transcript(*PARALLEL, line("u9", "r2", "user", text)).messages) == 0


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"origin": {"kind": "human"}, "promptSource": "typed"},
        {"origin": None, "promptSource": "queued"},
        {"origin": {"kind": None}},
        {"promptSource": "sdk", "turnOrigin": "sdk"},
    ],
)
def test_a_prompt_of_a_person_or_a_program_is_the_current_task(members: dict[str, Any]) -> None:
    parsed = transcript(*PARALLEL, line("u9", "r2", "user", "Sail south.") | members)
    assert current_task(parsed.messages) == len(parsed.messages) - 1


def test_results_cleared_by_the_client_are_counted_as_cleared() -> None:
    boundary = line(
        "k1",
        "r2",
        "system",
        subtype="microcompact_boundary",
        microcompactMetadata={"compactedToolIds": ["c1"]},
    )
    parsed = transcript(*PARALLEL[:8], boundary, PARALLEL[8] | {"parentUuid": "k1"}, PARALLEL[9])
    assert [text for role, text in role_texts(parsed) if role == "tool"] == [
        "[Old tool result content cleared]",
        "second",
    ]
    data = session(*PARALLEL[:8], boundary, PARALLEL[8] | {"parentUuid": "k1"}, PARALLEL[9])
    assert run(data, [("truncate", {"max_age": 0, "keep_small": 0})]).data == data.replace(
        b"second", b"second"
    )


def test_synthetic_messages_of_the_client_are_not_context() -> None:
    event = says("z1", "u2", "m9", type="text", text="API Error")
    event["message"]["model"] = "<synthetic>"
    parsed = transcript(*PARALLEL, event, line("u3", "z1", "user", "again"))
    assert role_texts(parsed)[-2:] == [("user", "thanks"), ("user", "again")]


def test_a_user_line_can_hold_results_and_text() -> None:
    content = [
        {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
        {
            "type": "tool_result",
            "tool_use_id": "c2",
            "content": [{"type": "text", "text": "two"}, {"type": "image", "source": {}}],
        },
        {"type": "text", "text": "and now this"},
    ]
    parsed = transcript(*PARALLEL[:6], line("r1", "a4", "user", content))
    assert role_texts(parsed)[2:] == [("tool", "one"), ("tool", "two | "), ("user", "and now this")]
    assert parsed.messages[3].parts[1].media == Media("image")


def test_tool_use_result_and_progress_are_never_edited_or_counted() -> None:
    data = session(*PARALLEL)
    count = run(data).rows[0].count.tokens
    assert (
        run(data.replace(b"first, in full", b"x" * 10_000).replace(b"never read", b"y" * 10_000))
        .rows[0]
        .count.tokens
        == count
    )


def keeping(data: bytes, *places: int) -> bytes:
    """The session with some of its messages only."""
    chunk = read(data)[0]
    transcript = chunk.transcripts[0]
    meant = replace(
        transcript, messages=tuple(transcript.messages[position] for position in places)
    )
    written = rewrite(FORMATS["claude-code"], chunk.lines, [meant]).pieces
    check(FORMATS["claude-code"], chunk.lines, written, [meant])
    return b"".join(written)


def with_snapshots() -> tuple[Event, ...]:
    """A session of two turns with a snapshot for each prompt, and progress of a call in the first
    turn.
    """
    return (
        {
            "type": "file-history-snapshot",
            "messageId": "s0",
            "snapshot": {"trackedFileBackups": {}},
        },
        line(
            "h1",
            None,
            "progress",
            data={"hookName": "SessionStart"},
            parentToolUseID="hook",
            toolUseID="hook",
        ),
        {
            "type": "file-history-snapshot",
            "messageId": "u1",
            "snapshot": {"trackedFileBackups": {}},
        },
        line("u1", "h1", "user", "run the build " * 40),
        call_line("a1", "u1", "m1", "c1"),
        line(
            "p1",
            "a1",
            "progress",
            data={"output": "compiling"},
            parentToolUseID="c1",
            toolUseID="bash-1",
        ),
        answers("r1", "p1", "c1", "built " * 400),
        {
            "type": "file-history-snapshot",
            "messageId": "u1",
            "snapshot": {},
            "isSnapshotUpdate": True,
        },
        {
            "type": "file-history-snapshot",
            "messageId": "u2",
            "snapshot": {"trackedFileBackups": {}},
        },
        line("u2", "r1", "user", "and now the tests"),
        says("a2", "u2", "m2", type="text", text="All of them pass."),
    )


def test_snapshots_and_progress_of_dropped_messages_are_dropped_and_listed(
    ctxtrim: Run, tmp_path: Path
) -> None:
    source, out, report = tmp_path / "s.jsonl", tmp_path / "out.jsonl", tmp_path / "report.json"
    source.write_bytes(session(*with_snapshots()))
    archive = tmp_path / "archive"
    ran = ctxtrim(
        "trim", source, "--budget", "60", "-o", out, "--report", report, "--archive", archive
    )
    assert ran.code == 0
    left = [json.loads(row) for row in out.read_bytes().splitlines()]
    assert [event.get("uuid") or event["messageId"] for event in left] == [
        "s0",
        "h1",
        "u2",
        "u2",
        "a2",
    ]
    assert left[3]["parentUuid"] == "h1"
    [step] = json.loads(report.read_bytes())["transcripts"][0]["steps"]
    lines = [change for change in step["changes"] if change["message"] is None]
    assert [(change["line"], change["action"], change["reason"]) for change in lines] == [
        (3, "dropped", "file-history-snapshot of message 0"),
        (8, "dropped", "file-history-snapshot of message 0"),
        (6, "dropped", "progress of message 1"),
    ]
    assert all("before" not in change for change in lines)
    assert ctxtrim("restore", out, "--archive", archive).out == source.read_bytes()


def test_keep_snapshots_keeps_the_lines_of_dropped_messages(ctxtrim: Run, tmp_path: Path) -> None:
    source, out = tmp_path / "s.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(session(*with_snapshots()))
    assert ctxtrim("trim", source, "--budget", "60", "--keep-snapshots", "-o", out).code == 0
    kinds = [json.loads(row)["type"] for row in out.read_bytes().splitlines()]
    assert kinds.count("file-history-snapshot") == 4
    assert kinds.count("progress") == 2


def test_links_are_repaired_to_the_nearest_kept_ancestor() -> None:
    leaf = {"type": "summary", "summary": "a title", "leafUuid": "b1"}
    late = line("p2", "b1", "progress", data={})
    branch = line("x1", "a4", "user", "rewound")
    data = session(leaf, *PARALLEL[:-1], late, branch, PARALLEL[-1] | {"parentUuid": "p2"})
    out = keeping(data, 0, -1)
    events = {event.get("uuid"): event for event in map(json.loads, out.splitlines())}
    assert list(events) == [None, "u1", "p1", "p2", "x1", "u2"]
    assert [events[name]["parentUuid"] for name in ("u1", "p1", "p2", "x1", "u2")] == [
        None,
        "u1",
        "p1",
        "p1",
        "p2",
    ]
    assert events[None]["leafUuid"] == "p1"
    assert role_texts(read(out)[0].transcripts[0]) == [("user", "list both"), ("user", "thanks")]


def test_a_line_is_dropped_only_with_all_its_blocks() -> None:
    content = [
        {"type": "tool_result", "tool_use_id": "c1", "content": "one " * 50},
        {"type": "text", "text": "now this"},
    ]
    data = session(
        PARALLEL[0], call_line("a3", "u1", "m1", "c1"), line("r1", "a3", "user", content)
    )
    out = keeping(data, 0, -1)
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["uuid"] for event in events] == ["u1", "r1"]
    assert events[1]["message"]["content"] == [{"type": "text", "text": "now this"}]
    assert events[1]["parentUuid"] == "u1"


def test_old_files_without_links_are_read_in_order() -> None:
    events = [
        {key: value for key, value in event.items() if key not in ("parentUuid", "uuid")}
        for event in PARALLEL
    ]
    assert role_texts(transcript(*events)) == role_texts(transcript(*PARALLEL))


def test_a_missing_parent_ends_the_chain() -> None:
    first = PARALLEL[0] | {"parentUuid": "elsewhere"}
    assert role_texts(transcript(first, *PARALLEL[1:])) == role_texts(transcript(*PARALLEL))


def test_a_cycle_of_parents_ends() -> None:
    assert role_texts(transcript(line("u1", "u2", "user", "a"), line("u2", "u1", "user", "b"))) == [
        ("user", "a"),
        ("user", "b"),
    ]


def test_all_events_in_one_document() -> None:
    data = json.dumps({"loglines": PARALLEL}, indent=2).encode()
    assert role_texts(read(data)[0].transcripts[0]) == role_texts(transcript(*PARALLEL))
    out = json.loads(run(data, [("trim", {})], limit=16).data or b"")
    assert [event["uuid"] for event in out["loglines"]] == ["p1", "u2"]


def streamed(kind: str, content: object, parent: str | None = None, **message: Any) -> Event:
    """A line of `claude -p --output-format stream-json`."""
    body = {"role": kind, "content": content, **message}
    return {"type": kind, "message": body, "parent_tool_use_id": parent, "session_id": "s"}


def asked(name: str) -> list[Event]:
    return [{"type": "tool_use", "id": name, "name": "Task", "input": {"prompt": "sound"}}]


def told(name: str, text: str) -> list[Event]:
    return [{"type": "tool_result", "tool_use_id": name, "content": text}]


STREAM = (
    {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Task"]},
    streamed("user", "Sound the bay."),
    streamed("assistant", asked("c1"), id="m1"),
    streamed("user", [{"type": "text", "text": "sound"}], "c1"),
    streamed("assistant", asked("d1"), "c1", id="n1"),
    streamed("user", told("d1", "sand " * 50), "c1"),
    streamed("user", told("c1", "Nine fathoms.")),
    streamed("assistant", [{"type": "text", "text": "Nine."}], id="m2"),
    streamed("user", "Thanks."),
    {"type": "result", "subtype": "success", "result": "Nine.", "session_id": "s"},
)


@pytest.mark.parametrize("is_array", [False, True])
def test_subagents_in_the_output_are_not_sent(is_array: bool) -> None:
    """[anthropics/claude-code-action, `run-claude-sdk.ts`: the array]"""
    data = session(*STREAM) if not is_array else json.dumps(STREAM, indent=2).encode()
    reading = read(data)[0]
    assert role_texts(reading.transcripts[0]) == [
        ("user", "Sound the bay."),
        ("assistant", '{"prompt":"sound"}'),
        ("tool", "Nine fathoms."),
        ("assistant", "Nine."),
        ("user", "Thanks."),
    ]


@pytest.mark.parametrize("is_array", [False, True])
@pytest.mark.parametrize("settings", [{}, {"summarize": True}])
def test_output_without_parents_gets_none(is_array: bool, settings: dict[str, Any]) -> None:
    events = [event | {"uuid": f"e{place}"} for place, event in enumerate(STREAM)]
    data = session(*events) if not is_array else json.dumps(events).encode()
    out = run(data, [("trim", settings)], limit=40).data or b""
    found = json.loads(out) if is_array else [json.loads(each) for each in out.splitlines()]
    assert 0 < len(found) < len(events)
    assert not any("parentUuid" in event for event in found)
    assert settings or all(event in events for event in found)


@pytest.mark.parametrize("is_synthetic", [True, False])
def test_the_first_synthetic_message_after_a_compaction_is_its_summary(is_synthetic: bool) -> None:
    events = (
        streamed("user", "Sound the bay."),
        {"type": "system", "subtype": "compact_boundary", "session_id": "s"},
        streamed("user", "sand", "c1") | {"isSynthetic": True},
        streamed("user", "The bay is deep.") | {"isSynthetic": is_synthetic},
        streamed("user", "A skill.") | {"isSynthetic": True},
    )
    messages = transcript(*events).messages
    assert [message.parts[0].text for message in messages] == ["The bay is deep.", "A skill."]
    assert [message.is_summary for message in messages] == [is_synthetic, False]
    assert [message.is_injected for message in messages] == [is_synthetic, True]


def test_the_model_is_the_last_real_model() -> None:
    events = [json.loads(json.dumps(event)) for event in PARALLEL]
    for event in events:
        if event["type"] == "assistant":
            event["message"]["model"] = "claude-opus-4-6"
    made_up = says("z1", "u2", "m9", type="text", text="API Error")
    made_up["message"]["model"] = "<synthetic>"
    assert transcript(*events, made_up).model == "claude-opus-4-6"


def survivors(budget: int, *events: Event) -> list[str]:
    """The uuids of the lines that remain after a trim; the output reads back as intended."""
    ran = run(session(*events), [("trim", {})], limit=budget)
    assert [finding.message for finding in ran.findings] == []
    return [json.loads(line)["uuid"] for line in (ran.data or b"").splitlines()]


LONG = "lorem ipsum " * 40


def test_an_abandoned_branch_never_becomes_live() -> None:
    events = (
        line("a", None, "user", "start"),
        says("z", "a", "m1", type="text", text="keep"),
        line("t", "z", "user", "task"),
        says("d", "t", "m2", type="text", text="abandoned"),
        says("b", "t", "m3", type="text", text=LONG),
        says("c", "b", "m4", type="text", text=LONG),
    )
    assert survivors(16, *events) == ["a", "t"]
    (row,) = run(session(*events), [("trim", {})], limit=16).rows
    changes = [measured.change for step in row.steps for measured in step.changes]
    assert [(change.action, change.line) for change in changes if change.message is None] == [
        ("dropped", 4)
    ]
    rootless = (
        line("z", None, "user", "dead"),
        line("a", None, "user", LONG),
        line("b", "a", "user", "hi"),
    )
    assert survivors(30, *rootless) == ["b"]


def test_a_line_that_goes_with_others_is_listed_once() -> None:
    events = (
        line("a", None, "user", "start"),
        call_line("k", "a", "m1", "t1"),
        answers("r", "k", "t1", LONG),
        line("t", "r", "user", "task"),
        says("d", "t", "m2", type="text", text="abandoned"),
        says("b", "t", "m3", type="text", text=LONG),
        says("c", "b", "m4", type="text", text=LONG),
    )
    stages = [("truncate", {"max_tokens": 20}), ("trim", {})]
    (row,) = run(session(*events), stages, limit=16).rows
    assert [step.is_edited for step in row.steps] == [True, True]
    changes = [measured.change for step in row.steps for measured in step.changes]
    assert [change.line for change in changes if change.message is None] == [5]


def test_a_text_next_to_a_dropped_result_is_kept() -> None:
    note = [
        {"type": "tool_result", "tool_use_id": "t1", "content": LONG},
        {"type": "text", "text": "note"},
    ]
    events = (
        line("a", None, "user", "start"),
        call_line("b1", "a", "m1", "t1"),
        call_line("b2", "b1", "m1", "t2"),
        line("r1", "b1", "user", note),
        answers("r2", "b2", "t2"),
        line("q", "r2", "user", "go"),
    )
    assert survivors(40, *events) == ["a", "r1", "q"]


def test_an_event_without_a_parent_does_not_follow_a_dead_branch() -> None:
    events = [
        line("a", None, "user", "start"),
        says("b", "a", "m1", type="text", text="dead"),
        line("x", "a", "user", LONG),
        line("q", None, "user", "go"),
    ]
    del events[3]["parentUuid"]
    assert survivors(30, *events) == ["a", "b", "q"]


def test_a_call_shape_in_a_user_message_is_plain_content() -> None:
    block = {"type": "tool_use", "id": "x", "name": "n", "input": {"a": LONG}}
    assert survivors(30, line("a", None, "user", [block]), line("b", "a", "user", "hi")) == ["b"]


def test_an_attachment_can_be_the_only_remaining_line() -> None:
    file = line("f", None, "attachment", attachment={"type": "file", "path": "a.py"})
    assert survivors(40, file, says("a", "f", "m1", type="text", text=LONG)) == ["f"]


def test_lines_that_share_a_uuid_are_not_linked_to_themselves() -> None:
    events = [line("a", None, "user", "start"), says("t", "a", "m0", type="text", text=LONG)]
    events += [
        says("b", "t", "m1", type="text", text="one"),
        says("b", "t", "m1", type="text", text="two"),
    ]
    ran = run(session(*events, line("c", "b", "user", "hi")), [("trim", {})], limit=40)
    left = [json.loads(line) for line in (ran.data or b"").splitlines()]
    assert [(event["uuid"], event["parentUuid"]) for event in left] == [
        ("a", None),
        ("b", "a"),
        ("b", "a"),
        ("c", "b"),
    ]


@pytest.mark.parametrize("is_document", [False, True], ids=["lines", "document"])
def test_a_message_between_a_result_and_a_text_splits_their_line(
    is_document: bool,
) -> None:
    fields = {"sessionId": "s", "cwd": "/x"}
    call = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "one"}
    events: list[Any] = [
        {
            "type": "user",
            "uuid": "a",
            "parentUuid": None,
            **fields,
            "message": {"role": "user", "content": "go"},
        },
        {
            "type": "assistant",
            "uuid": "b",
            "parentUuid": "a",
            **fields,
            "message": {"id": "m", "content": [call]},
        },
        {"type": "user", "uuid": "c", "parentUuid": "b", **fields, "toolUseResult": {"x": 1.10}}
        | {
            "message": {
                "role": "user",
                "content": [result, *({"type": "text", "text": item} for item in ("and", "so"))],
            }
        },
        {
            "type": "assistant",
            "uuid": "d",
            "parentUuid": "c",
            **fields,
            "message": {"id": "n", "content": "done"},
        },
    ]
    data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    data = json.dumps({"loglines": events}).encode() if is_document else data
    chunk = read(data)[0]
    transcript = chunk.transcripts[0]
    assert [message.role for message in transcript.messages] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]
    out = written(
        chunk,
        FORMATS["claude-code"],
        replace(transcript, messages=(*transcript.messages[:3], SUMMARY, *transcript.messages[3:])),
    )
    again = read(out)[0].transcripts[0].messages
    texts = ["go", "{}", "one", SUMMARY.parts[0].text, "and", "so", "done"]
    assert [part.text for message in again for part in message.parts] == texts
    assert [message.role for message in again] == [
        "user",
        "assistant",
        "tool",
        "user",
        "user",
        "assistant",
    ]
    assert [message.is_injected for message in again[3:5]] == [True, False]
    value = (
        json.loads(out)["loglines"]
        if is_document
        else [json.loads(line) for line in out.splitlines()]
    )
    assert [event["parentUuid"] for event in value] == [
        None,
        *(event["uuid"] for event in value[:-1]),
    ]
    assert [("toolUseResult" in item, item["sessionId"]) for item in value[2:5]] == [
        (True, "s"),
        (False, "s"),
        (False, "s"),
    ]


@pytest.mark.parametrize("mark", ["isMeta", "isSynthetic"])
def test_the_last_answer_is_kept_without_an_oversized_skill_text(
    mark: str, ctxtrim: Run, tmp_path: Path
) -> None:
    """[Claude Code, `toSDKMessages`: `isSynthetic` is the mark in a stream]"""
    source = tmp_path / "s.jsonl"
    source.write_bytes(
        session(
            line("u1", None, "user", "review the change"),
            call_line("a1", "u1", "m1", "c1"),
            answers("r1", "a1", "c1", "Launching skill: review"),
            line("k1", "r1", "user", "How to review. " * 400, **{mark: True}),
            call_line("a2", "k1", "m2", "c2"),
            answers("r2", "a2", "c2", "diff of the change"),
            says("a3", "r2", "m3", type="text", text="Two findings, both small."),
        )
    )
    ran = ctxtrim("trim", source, "--budget", "300")
    assert ran.code == 0
    left = [json.loads(row)["uuid"] for row in ran.out.splitlines()]
    assert left == ["u1", "a1", "r1", "a2", "r2", "a3"]


def test_all_lines_of_an_event_follow_an_inserted_event() -> None:
    """Some clients write an event in several lines with one id."""
    data = session(
        line("u1", None, "user", "go"),
        says("a1", "u1", "m1", type="text", text="Listing."),
        call_line("a1", "u1", "m1", "c1"),
        answers("r1", "a1", "c1"),
    )
    (chunk,) = read(data)
    (talk,) = chunk.transcripts
    meant = replace(talk, messages=(talk.messages[0], SUMMARY, *talk.messages[1:]))
    events = list(map(json.loads, written(chunk, FORMATS["claude-code"], meant).splitlines()))
    new = events[1]
    assert new["parentUuid"] == "u1"
    assert [event["parentUuid"] for event in events[2:]] == [new["uuid"], new["uuid"], "a1"]


def test_a_name_of_a_removed_event_is_kept_if_nothing_replaces_it() -> None:
    """The title line of a session may name an event of another session."""
    data = session(
        {"type": "summary", "summary": "Lamps", "leafUuid": "u1"},
        line("u1", None, "user", "go"),
        says("a1", "u1", "m1", type="text", text="Seven."),
    )
    (chunk,) = read(data)
    (talk,) = chunk.transcripts
    meant = replace(talk, messages=talk.messages[1:])
    out = written(chunk, FORMATS["claude-code"], meant).splitlines()
    assert out[0] == data.splitlines()[0]
    assert json.loads(out[1])["parentUuid"] is None
