"""Sessions of Kimi Code: replayed as the program does, and edited so that it reads the same."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from harness import read, run
from insertions import written
from msgspec.structs import replace

from ctxtrim.formats.agents.kimi import FORMAT
from ctxtrim.model import Message, Part
from ctxtrim.model.request import Usage
from ctxtrim.stages.placement.leads import summary_message

FIXTURE = Path("fixtures/kimi.jsonl")
LONG = "a long list of boats " * 200


def said(role: str, text: str, **more: Any) -> dict[str, Any]:
    body = {"role": role, "content": [{"type": "text", "text": text}], "toolCalls": []}
    return {"type": "context.append_message", "message": body | more, "time": 7}


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "context.append_loop_event", "event": {"type": kind} | fields, "time": 8}


def step(text: str, *calls: str, usage: Any = None, result: str | None = "done") -> list[Any]:
    """The records of one step, with the results of its calls."""
    return [
        event("step.begin", uuid="s"),
        event("content.part", stepUuid="s", part={"type": "text", "text": text}),
        *(event("tool.call", toolCallId=name, name="Bash", args={"x": name}) for name in calls),
        *(
            event("tool.result", toolCallId=name, result={"output": result})
            for name in calls
            if result is not None
        ),
        event("step.end", uuid="s", usage=usage),
    ]


def compaction(**fields: Any) -> dict[str, Any]:
    return {"type": "context.apply_compaction", "summary": "They met."} | fields


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def messages(*values: Any) -> tuple[Message, ...]:
    (transcript,) = read(lines(*values))[0].transcripts
    return transcript.messages


def texts(*values: Any) -> list[str]:
    return ["".join(part.text for part in message.parts) for message in messages(*values)]


def test_the_fixture_is_one_conversation_with_its_prompt_tools_and_usage() -> None:
    chunk = read(FIXTURE.read_bytes())[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    assert (chunk.format.name, transcript.model) == ("kimi", "kimi-k2")
    assert [message.role for message in transcript.messages] == [
        *("system", "user", "assistant", "tool", "assistant", "user"),
    ]
    assert "ferry_times" in (transcript.tools or "")
    assert transcript.usages == (Usage(410, 22, 2, "kimi-k2"),)
    assert run(FIXTURE.read_bytes()).data == FIXTURE.read_bytes()


def test_a_step_is_one_message_and_is_removed_with_all_its_lines() -> None:
    values = [said("user", LONG), *step("I look.", "c1", result=LONG)]
    rest = [*step("There are nine."), said("user", "Which is the oldest?")]
    assert [len(message.parts) for message in messages(*values)] == [1, 2, 1]
    assert run(lines(*values, *rest), [("trim", {})], limit=20).data == lines(rest[-1])


def test_messages_that_arrive_during_a_call_come_after_its_result() -> None:
    begin, text, call, result, end = step("I look.", "c1")
    assert texts(begin, text, call, said("user", "Hurry."), result, end) == [
        *('I look.{"x":"c1"}', "done", "Hurry."),
    ]
    assert texts(begin, text, call, said("user", "Hurry.")) == ['I look.{"x":"c1"}', "Hurry."]


@pytest.mark.parametrize(
    "stray",
    [
        event("tool.result", toolCallId="c9", result={"output": "stray"}),
        event("content.part", part={"type": "text", "text": "stray"}),
        {"type": "turn.prompt", "input": [{"type": "text", "text": "stray"}]},
        {"type": "llm.request", "kind": "loop", "messageCount": 1},
    ],
)
def test_records_that_the_program_does_not_send_are_not_read(stray: Any) -> None:
    assert texts(said("user", "Hello."), stray, *step("Hi.")) == ["Hello.", "Hi."]


def test_an_older_compaction_replaces_the_first_messages() -> None:
    before = [said("user", "One."), *step("Two."), said("user", "Three.")]
    assert texts(*before, compaction(compactedCount=2)) == ["They met.", "Three."]
    assert messages(*before, compaction(compactedCount=2))[0].is_summary


def test_a_newer_compaction_keeps_the_prompts() -> None:
    injected = said("user", "A reminder.", origin={"kind": "injection", "variant": "x"})
    newer = compaction(compactedCount=3, keptUserMessageCount=1, contextSummary="In short.")
    before = [said("user", "One."), injected, *step("Two.")]
    assert texts(*before, newer, *step("Go on.")) == ["One.", "In short.", "Go on."]


def test_a_dropped_summary_stays_as_an_empty_text_so_that_older_messages_stay_away() -> None:
    summary = compaction(compactedCount=2, summary=LONG)
    values = [said("user", "One."), *step("Two."), summary, said("user", "Now?")]
    out = run(lines(*values), [("trim", {})], limit=30).data or b""
    assert out == lines(*values).replace(json.dumps(LONG).encode(), b'""')
    assert texts(*map(json.loads, out.splitlines())) == ["Now?"]


def test_a_block_of_a_summary_is_removed_alone() -> None:
    blocks = [{"type": "text", "text": "They met."}, {"type": "think", "think": LONG}]
    data = lines(said("user", "One."), compaction(compactedCount=1, summary={"content": blocks}))
    (chunk,) = read(data)
    (transcript,) = chunk.transcripts
    (summary,) = transcript.messages
    meant = replace(transcript, messages=(replace(summary, parts=summary.parts[:1]),))
    assert written(chunk, FORMAT, meant) == data.replace(
        b", " + json.dumps(blocks[1]).encode(), b""
    )


def test_undone_turns_and_cleared_messages_are_not_live() -> None:
    turns = [said("user", "One."), *step("Two."), said("user", "Three."), *step("Four.")]
    assert texts(*turns, {"type": "context.undo", "count": 1}) == ["One.", "Two."]
    assert texts(*turns, {"type": "context.undo", "count": 3}) == [
        "One.",
        "Two.",
        "Three.",
        "Four.",
    ]
    assert texts(*turns, {"type": "context.clear"}, said("user", "Five.")) == ["Five."]


def test_prompts_that_a_compaction_without_a_summary_kept_can_be_undone() -> None:
    turns = [said("user", "One."), *step("Two."), said("user", "Three."), *step("Four.")]
    empty = compaction(summary="", compactedCount=4, keptUserMessageCount=2)
    undo = {"type": "context.undo", "count": 1}
    assert texts(*turns, empty, undo, said("user", "Five.")) == ["One.", "Five."]
    summary = compaction(compactedCount=4, keptUserMessageCount=2)
    assert texts(*turns, summary, undo) == ["One.", "Three.", "They met."]


def reminder(text: str, variant: str, **more: Any) -> dict[str, Any]:
    return said("user", text, origin={"kind": "injection", "variant": variant} | more)


def test_an_undo_drops_the_reminders_of_the_undone_prompt() -> None:
    turn = [said("user", "One."), *step("Two.")]
    reminders = [reminder("Other.", "x", ownerPromptId="p1"), reminder("Plan.", "x")]
    owned = reminder("Own.", "x", ownerPromptId="p2")
    prompt = said("user", "Three.", id="p2")
    undo = {"type": "context.undo", "count": 1}
    assert texts(*turn, *reminders, owned, prompt, undo) == ["One.", "Two.", "Other.", "Plan."]
    assert texts(*turn, owned, reminders[1], prompt, undo) == ["One.", "Two.", "Own.", "Plan."]


def test_the_end_of_the_swarm_mode_drops_its_reminder_if_it_is_the_last_message() -> None:
    usage = {"inputOther": 3, "output": 2}
    turn = [said("user", "One."), *step("Two.", usage=usage)]
    swarm, end = reminder("Swarm.", "swarm_mode"), {"type": "swarm_mode.exit"}
    assert texts(*turn, swarm, end, said("user", "Three.")) == ["One.", "Two.", "Three."]
    assert texts(*turn, swarm, said("user", "Three."), end) == ["One.", "Two.", "Swarm.", "Three."]
    assert texts(*turn, end) == ["One.", "Two."]
    assert read(lines(*turn, swarm, end))[0].transcripts[0].usages


def tokens(ctxtrim: Run, *values: Any) -> tuple[int, str]:
    ran = ctxtrim("count", "--model", "gpt-4o", "--json", stdin=lines(*values))
    (row,) = json.loads(ran.out)["transcripts"]
    return row["tokens"], row["exactness"]


def test_tools_that_are_loaded_later_count(ctxtrim: Run) -> None:
    tools = [{"name": "tides", "description": LONG, "parameters": {"type": "object"}}]
    loaded = said("system", "", content=[], tools=tools)
    talk = (said("user", "One."), *step("Two."))
    assert tokens(ctxtrim, *talk)[1] == "exact"
    found = tokens(ctxtrim, *talk, loaded, said("user", "Three."))
    assert (found[0] > 1000, found[1]) == (True, "bounded")


def test_a_compaction_that_left_out_prompts_is_a_bound(ctxtrim: Run) -> None:
    newer = compaction(compactedCount=3, keptUserMessageCount=2)
    talk = (said("user", LONG), *step("Two."), said("user", "Three."))
    whole = tokens(ctxtrim, *talk, newer)
    cut = tokens(ctxtrim, *talk, newer | {"keptHeadUserMessageCount": 1})
    assert (whole[1], cut[1]) == ("exact", "bounded")
    assert whole[0] + 80 < cut[0]


def test_an_inserted_summary_is_no_prompt_for_the_program() -> None:
    chunk = read(lines(said("user", "One."), *step("Two.")))[0]
    (parsed,) = chunk.transcripts
    meant = replace(parsed, messages=(summary_message("[Before]"), *parsed.messages))
    out = written(chunk, FORMAT, meant)
    message = json.loads(out.splitlines()[0])["message"]
    assert message["content"] == [{"type": "text", "text": "[Before]"}]
    assert message["origin"] == {"kind": "injection", "variant": "ctxtrim"}
    undo = {"type": "context.undo", "count": 2}
    assert texts(*map(json.loads, out.splitlines()), undo) == ["[Before]", "One.", "Two."]


@pytest.mark.parametrize("position", range(4))
def test_a_new_message_before_a_compaction_is_kept_by_it(position: int) -> None:
    newer = compaction(compactedCount=3, keptUserMessageCount=1)
    data = lines(said("user", "One."), *step("Two."), newer, said("user", "Three."))
    (chunk,) = read(data)
    (parsed,) = chunk.transcripts
    new = [*parsed.messages[:position], summary_message("[So far]"), *parsed.messages[position:]]
    out = written(chunk, FORMAT, replace(parsed, messages=tuple(new)))
    shown = ["One.", "They met.", "Three."]
    shown.insert(position, "[So far]")
    assert texts(*map(json.loads, out.splitlines())) == shown


def test_repair_removes_a_call_that_never_got_a_result() -> None:
    begin, text, call, end = step("I look.", "c1", result=None)
    values = [said("user", "Look."), begin, text, call, end, said("user", "And?")]
    assert run(lines(*values), [("repair", {})]).data == lines(
        *values[:3], end, said("user", "And?")
    )


def test_repair_removes_such_a_call_from_a_message_with_its_calls() -> None:
    answer = said("assistant", "I look.", toolCalls=[{"id": "c1", "name": "Bash"}, {"id": "c2"}])
    result = said("tool", "done", toolCallId="c2")
    repaired = run(lines(answer, result, said("user", "And?")), [("repair", {})]).data
    answer["message"]["toolCalls"] = [{"id": "c2"}]
    assert repaired == lines(answer, result, said("user", "And?"))


def test_a_tool_result_is_shortened_with_its_note() -> None:
    begin, text, call, result, end = step("I look.", "c1", result=LONG)
    result["event"]["result"] |= {"isError": False, "note": "took 3 s"}
    values = [said("user", "Look."), begin, text, call, result, end]
    out = run(lines(*values), [("truncate", {"max_tokens": 60})]).data or b""
    changed = json.loads(out.splitlines()[4])["event"]["result"]
    assert "truncated" in changed["output"]
    assert "took 3 s" in changed.pop("output")
    assert changed == {"isError": False}
    result = messages(*values)[2].result
    assert result is not None
    assert (result.call_id, result.is_error) == ("c1", False)


def switched(branch: str, base: str, line: int, undo: int, turns: int = 1) -> list[dict[str, Any]]:
    """The records of an undo in newer versions, which begins a branch."""
    edge = {"branch": branch, "base": {"branch": base, "line": line}, "legacyUndoLine": undo}
    return [
        {"type": "agent.switched", "reason": "undo", "turns": turns} | edge,
        {"type": "context.undo", "count": turns},
        {"type": "context.undone", "turns": turns},
    ]


BRANCHED = (
    {"type": "metadata", "protocol_version": "1.5", "created_at": 1},
    said("user", LONG),  # 2
    *step("One."),  # 3 to 5
    said("user", "Second?"),  # 6
    *step("Two."),  # 7 to 9
    said("user", "Third?"),  # 10
    *step("Three."),  # 11 to 13
    *switched("b1", "main", 9, 15),  # 14 to 16
    said("user", "Fourth?"),  # 17
    *step("Four."),  # 18 to 20
    *switched("b2", "b1", 16, 22),  # 21 to 23
    said("user", "Fifth?"),  # 24
    *step("Five."),  # 25 to 27
)
LIVE = ["Second?", "Two.", "Fifth?", "Five."]


def test_an_undo_in_newer_versions_begins_a_branch() -> None:
    assert texts(*BRANCHED) == [LONG, "One.", *LIVE]
    across = (
        *BRANCHED[:9],
        compaction(compactedCount=2, keptUserMessageCount=1),  # 10
        *switched("b1", "main", 5, 12),
        said("user", "Third?"),
    )
    assert texts(*across) == [LONG, "One.", "Third?"]


UNDONE = (
    {"type": "config.update", "modelAlias": "kimi-k2.6", "systemPrompt": "Be kind."},
    said("user", "First?", id="p1"),
    *step("One."),  # 3 to 5
    said("user", "Second?", id="p2"),
    reminder("Plan.", "plan_mode"),
    reminder("First.", "x", ownerPromptId="p1"),
    reminder("Second.", "x", ownerPromptId="p2"),
    {"type": "config.update", "modelAlias": "kimi-k3", "systemPrompt": "Be brief."},
    *step("Two."),  # 11 to 13
    *switched("b1", "main", 5, 15),
    said("user", "Third?", id="p3"),
)


def test_an_undo_leaves_settings_and_the_reminders_that_belong_to_no_undone_prompt() -> None:
    assert texts(*UNDONE) == ["Be brief.", "First?", "One.", "Plan.", "First.", "Third?"]
    assert read(lines(*UNDONE))[0].transcripts[0].model == "kimi-k3"


def test_reminders_in_an_undone_branch_are_removed_and_restored(
    ctxtrim: Run, tmp_path: Path
) -> None:
    long = [said("user", LONG, id="p0"), reminder(LONG, "plan_mode")]
    values = [UNDONE[0], long[0], *UNDONE[2:6], long[1], *UNDONE[7:]]
    before, after = tmp_path / "wire.jsonl", tmp_path / "trimmed.jsonl"
    before.write_bytes(lines(*values))
    archive = ("--archive", tmp_path / "archive")
    assert ctxtrim("trim", "-b", "120", *archive, before, "-o", after).code == 0
    assert texts(*map(json.loads, after.read_text().splitlines())) == ["Be brief.", "Third?"]
    assert ctxtrim("restore", *archive, after).out == before.read_bytes()


def test_the_task_that_an_agent_delegated_is_the_task_of_its_session(ctxtrim: Run) -> None:
    task = said("user", "Survey.", origin={"kind": "system_trigger", "name": "subagent"})
    notice = reminder("<system-reminder>It is Monday.</system-reminder>", "date_change")
    values = [task, *step("I look.", "c1", result=LONG), notice, *step("I look on.", "c2")]
    assert [message.is_injected for message in messages(*values)] == [
        *(False, False, False, True, False, False),
    ]
    kept = run(lines(*values), [("trim", {})], limit=60).data
    assert kept is not None and json.loads(kept.splitlines()[0]) == task
    undo = {"type": "context.undo", "count": 1}
    assert texts(*values, undo) == texts(*values)


def test_the_lines_that_branches_name_are_renumbered() -> None:
    out = run(lines(*BRANCHED), [("trim", {})], limit=700)
    values = [json.loads(line) for line in (out.data or b"").splitlines()]
    assert texts(*values) == LIVE
    edges = [value for value in values if value["type"] == "agent.switched"]
    assert [(edge["base"]["line"], edge["legacyUndoLine"]) for edge in edges] == [(5, 11), (12, 18)]
    for edge in edges:
        assert values[edge["legacyUndoLine"] - 1]["type"] == "context.undo"


def test_a_message_inserted_at_the_end_of_a_base_belongs_to_it() -> None:
    chunk = read(lines(*BRANCHED))[0]
    (parsed,) = chunk.transcripts
    new = Message("user", (Part("text", "In between."),))
    first, second, *_, last = parsed.messages
    for place in ((new, last), (first, second, new, last), (new, first, second)):
        assert chunk.format is not None
        out = written(chunk, chunk.format, replace(parsed, messages=place))
        values = [json.loads(line) for line in out.splitlines()]
        shown = ["".join(part.text for part in message.parts) for message in place]
        assert texts(*values) == shown
