"""Newer Codex rollouts: numbered lines, metadata of compacted items, messages of other agents."""

import json
from typing import Any

import pytest
from conftest import Run
from harness import read, run
from test_codex import META, TURN, Event, event, item, message, session, transcript, written
from test_openai_responses import LONG, SUMMARY, calls, returns, role_texts, says

from ctxtrim.model import Message, Part


def numbered(*events: Event, first: int = 0) -> tuple[Event, ...]:
    """The lines with ordinals."""
    return tuple({"ordinal": first + number} | line for number, line in enumerate(events))


def ordinals(lines: list[Event]) -> list[int]:
    return [line["ordinal"] for line in lines]


def trimmed(budget: int, *events: Event) -> list[Event]:
    ran = run(session(*events), [("trim", {})], limit=budget)
    assert [finding.message for finding in ran.findings] == []
    return [json.loads(line) for line in (ran.data or b"").splitlines()]


OLD = (item(says("user", LONG)), message("user_message", message=LONG), item(calls("c1")))
NEW = (item(returns("c1")), TURN, item(says("user", "and the pier?")))


def test_ordinals_stay_consecutive_after_lines_are_dropped() -> None:
    lines = trimmed(40, *numbered(META, *OLD, *NEW, first=120))
    assert [line["type"] for line in lines] == [
        *("session_meta", "event_msg", "turn_context", "response_item"),
    ]
    assert ordinals(lines) == [120, 121, 122, 123]


def test_new_lines_have_ordinals() -> None:
    events = numbered(
        META, item(says("assistant", "so")), item(says("user", "gone")), item(calls("c1"))
    )
    system, answer, _, call = transcript(*events).messages
    reply = Message("tool", (Part("tool_result", "none", "c1"),))
    lines = written(events, system, SUMMARY, answer, call, reply)
    assert ordinals(lines) == [0, 1, 2, 3, 4]
    assert lines[1]["payload"]["content"] == says("user", "what was")["content"]


def test_a_subagent_starts_at_the_new_ordinal_of_its_first_line() -> None:
    payload = META["payload"] | {"history_mode": "paginated", "subagent_history_start_ordinal": 4}
    lines = trimmed(40, *numbered(META | {"payload": payload}, *OLD, *NEW))
    assert lines[0]["payload"]["subagent_history_start_ordinal"] == 2
    assert lines[2]["type"] == "turn_context"


def test_a_rollout_without_ordinals_gets_none() -> None:
    assert not any("ordinal" in line for line in trimmed(40, META, *OLD, *NEW))


COMPACTED = {
    "message": "",
    "replacement_history": [says("user", "old"), says("assistant", LONG), calls("c1")],
    "replacement_history_metadata": [{"user_input_order": number} for number in range(3)],
}


def test_metadata_stays_parallel_to_the_items_of_a_compaction() -> None:
    events = (META, event("compacted", COMPACTED), item(says("user", "now")))
    system, old, _, now = transcript(*events).messages
    answer = Message("tool", (Part("tool_result", "none", "c1"),))
    before = written(events, system, SUMMARY, old, now)[1]["payload"]
    assert before["replacement_history"] == [says("user", "what was"), says("user", "old")]
    assert before["replacement_history_metadata"] == [
        {"client_authored": False},
        {"user_input_order": 0},
    ]
    messages = transcript(*events).messages
    after = written(events, *messages[:3], answer, now)[1]["payload"]
    assert after["replacement_history"][3] == returns("c1", "none")
    assert after["replacement_history_metadata"] == [
        *COMPACTED["replacement_history_metadata"],
        {"client_authored": False},
    ]


def test_all_items_of_a_compaction_and_their_metadata_are_dropped() -> None:
    events = (META, event("compacted", COMPACTED), item(says("user", "now")))
    system, *_, now = transcript(*events).messages
    payload = written(events, system, now)[1]["payload"]
    assert payload == {
        "message": "",
        "replacement_history": [],
        "replacement_history_metadata": [],
    }


GOAL = '<codex_internal_context source="goal">\nkeep going\n</codex_internal_context>'


@pytest.mark.parametrize(
    "text",
    [
        GOAL,
        '<hook_prompt hook_run_id="stop:1">Run the tests.</hook_prompt>',
        "<recommended_plugins>\n- tides\n</recommended_plugins>",
        "<external_weather>gale</external_weather>\n",
        "Warning: apply_patch was requested via shell. Use the apply_patch tool instead of shell.",
        "Warning: The maximum number of unified exec processes you can keep open is 60.",
    ],
)
def test_context_of_the_client_starts_no_turn(text: str) -> None:
    events = (META, item(says("user", "Paint it.")), item(says("assistant", "Done.")))
    parsed = transcript(*events, item(says("user", text)))
    assert [each.is_injected for each in parsed.messages[1:]] == [False, False, True]
    back = message("thread_rolled_back", num_turns=1)
    assert role_texts(transcript(*events, item(says("user", text)), back)) == [
        ("system", "You are Codex.")
    ]


def test_a_question_about_such_a_tag_is_typed() -> None:
    text = "<external_log>gale</external_log> Why?"
    assert not transcript(META, item(says("user", text))).messages[1].is_injected


def communication(text: str, **more: Any) -> Event:
    fields = {"author": "/main", "recipient": "/main/mate", "content": text, "trigger_turn": True}
    return event("inter_agent_communication", fields | more)


def test_messages_of_other_agents_are_read_and_dropped() -> None:
    events = (META, communication(LONG), item(calls("c1")), item(returns("c1")), *NEW[2:])
    parsed = transcript(*events)
    assert role_texts(parsed)[1] == ("user", LONG)
    assert parsed.messages[1].is_injected
    assert [line["type"] for line in trimmed(60, *events)] == ["session_meta", "response_item"]


def test_an_encrypted_message_of_an_agent_has_a_header() -> None:
    (message,) = transcript(communication("", encrypted_content="gAAA" * 40)).messages
    header, sealed = message.parts
    assert header.text == (
        "Message Type: NEW_TASK\nTask name: /main/mate\nSender: /main\nPayload:\n"
    )
    assert header.span is None
    assert sealed.media is not None


def task(agent: str, text: str) -> Event:
    """A task for an agent, as the model reads it."""
    header = f"Message Type: NEW_TASK\nTask name: {agent}\nSender: /main\nPayload:\n"
    block = {"type": "input_text", "text": header + text}
    return item({"type": "agent_message", "recipient": agent, "content": [block]})


SPAWNED = {"subagent": {"thread_spawn": {"agent_path": "/main/mate"}}}


@pytest.mark.parametrize("kind", [{"source": SPAWNED}, {"thread_source": "subagent"}])
def test_the_last_task_of_a_forked_sub_agent_is_its_current_task(ctxtrim: Run, kind: Event) -> None:
    """The rollout begins with the history of the parent, with the prompt of the person."""
    steps = [(item(calls(f"c{n}")), item(returns(f"c{n}", "buoy " * 90))) for n in range(6)]
    given = task("/main/mate", "Count the buoys. " * 9)
    events = (
        event("session_meta", {"id": "s2"} | kind),
        META,
        item(says("user", "Paint the pier.")),
        task("/main/mate", "Wait."),
        given,
        *(each for step in steps for each in step),
    )
    ran = ctxtrim("trim", "--budget", "110", stdin=session(*events))
    assert ran.code == 0, ran.err
    kept = [json.loads(line) for line in ran.out.splitlines()]
    assert given in kept
    assert events[3] not in kept
    parsed = transcript(*events)
    assert [each.is_injected for each in parsed.messages[1:4]] == [False, True, False]


def test_a_task_for_another_agent_is_no_prompt() -> None:
    given = task("/main/other", "Count the buoys.")
    asked = item(says("user", "Paint the pier."))
    spawned = event("session_meta", {"id": "s2", "source": SPAWNED})
    for first in (spawned, META):
        assert transcript(first, asked, given).messages[-1].is_injected


def told(recipient: str, text: str, **more: Any) -> Event:
    """A message of another agent as the JSON in an answer."""
    fields = {"author": "/main", "recipient": recipient, "content": text, "trigger_turn": True}
    return item(says("assistant", json.dumps(fields | more)))


def test_the_last_task_in_an_answer_is_the_task_of_a_sub_agent(ctxtrim: Run) -> None:
    steps = [(item(calls(f"c{n}")), item(returns(f"c{n}", "buoy " * 90))) for n in range(6)]
    given = told("/main/mate", "Count the buoys.")
    events = (
        event("session_meta", {"id": "s2", "source": SPAWNED}),
        META,
        item(says("user", "Paint the pier.")),
        given,
        told("/main/mate", "Soon.", trigger_turn=False),
        told("/main/other", "Wait."),
        *(each for step in steps for each in step),
    )
    messages = transcript(*events).messages
    assert [each.role for each in messages[1:6]] == ["user"] * 4 + ["assistant"]
    assert [each.is_injected for each in messages[1:5]] == [False, False, True, True]
    ran = ctxtrim("trim", "--budget", "130", stdin=session(*events))
    assert ran.code == 0, ran.err
    assert given in [json.loads(line) for line in ran.out.splitlines()]
    assert transcript(META, given).messages[1].is_injected  # the agent of a person has no tasks


def test_a_sealed_message_in_an_answer_counts_as_it_is_sent() -> None:
    parsed = transcript(META, told("/main/mate", "", encrypted_content="gAAA" * 40))
    assert parsed.messages[1].parts[0].text.startswith("Message Type: NEW_TASK\nTask name: /main")
    assert parsed.messages[1].parts[1].media is not None


def test_an_encrypted_message_without_content_makes_an_estimate() -> None:
    asked = item(says("user", "Count the buoys."))
    sealed = item({"type": "message", "role": "assistant", "content": []})
    sealed["payload"]["encrypted_content"] = "gAAA" * 400
    done = item(says("assistant", "Seven."))
    parsed = transcript(META, asked, sealed, done)
    assert [each.role for each in parsed.messages[1:]] == ["user", "assistant", "assistant"]
    (part,) = parsed.messages[2].parts
    assert part.media is not None
    (row,) = run(session(META, asked, sealed, done), [("count", {})], model="gpt-4o").rows
    assert (row.count.exactness, row.count.tokens > 200) == ("estimated", True)


def test_an_answer_in_json_is_no_message_of_an_agent() -> None:
    for fields in ({"trigger_turn": True}, {"author": 1, "trigger_turn": True}):
        answer = item(says("assistant", json.dumps(fields)))
        assert transcript(META, answer).messages[1].role == "assistant"


def test_a_rollback_counts_the_turns_of_other_agents() -> None:
    back = message("thread_rolled_back", num_turns=1)
    asked = (META, item(says("user", "Paint it.")), item(says("assistant", "Done.")))
    agent = {"type": "agent_message", "content": [{"type": "input_text", "text": "Stop."}]}
    for line in (communication("Stop."), item(agent), told("/main/mate", "Stop.")):
        assert role_texts(transcript(*asked, line, back)) == role_texts(transcript(*asked))


def test_a_rollback_counts_no_summary_as_a_turn() -> None:
    summary = says("user", "Another language model started to solve this problem and …")
    history = [says("user", "Paint it."), says("user", "And the mast?"), summary]
    compacted = event("compacted", {"message": "", "replacement_history": history})
    back = message("thread_rolled_back", num_turns=2)
    parsed = transcript(META, compacted, item(says("user", "And the keel?")), back)
    assert [text for _, text in role_texts(parsed)] == ["You are Codex.", "Paint it."]


def test_what_a_program_told_the_user_is_not_sent(ctxtrim: Run) -> None:
    marks = {"delivered_assistant_message": "codex:code-mode-delivery:v1:complete"}
    delivered = item(says("assistant", "Which colour? " * 40)) | {"metadata": marks}
    asked = (META, item(says("user", "Paint it. " * 40)), item(calls("c1")))
    result = item(returns("c1", "red")) | {"metadata": {"delivered_assistant_message": "Blue?"}}
    rest = (result, item(says("assistant", "Done.")), item(says("user", "Thanks.")))
    assert transcript(*asked, delivered, *rest).messages[3].role == "tool"
    data = session(*asked, delivered, *rest)
    assert ctxtrim("check", "--budget", "300", stdin=data).code == 0
    assert ctxtrim("trim", "--budget", "300", stdin=data).out == data


def test_a_rollback_drops_the_context_right_before_its_turn() -> None:
    back = message("thread_rolled_back", num_turns=1)
    permissions = item(
        says("developer", "<permissions instructions>none</permissions instructions>")
    )
    folder = item(says("user", "<environment_context>a quay</environment_context>"))
    rules = item(says("developer", "Be brief."))
    start = (META, permissions, folder, item(says("user", "Paint it.")))
    first = (*start, item(says("assistant", "Done.")))
    second = item(says("user", "And the mast?"))
    assert transcript(*first, permissions, folder, second, back) == transcript(*first)
    assert transcript(*first, folder, rules, permissions, second, back) == transcript(
        *first, folder, rules
    )
    assert transcript(*start, back) == transcript(*start[:3])


TOOLS = {"type": "additional_tools", "role": "developer", "tools": [{"name": "dredge"}]}


def test_additional_tools_are_tool_schemas() -> None:
    meta = event("session_meta", {"id": "s1", "dynamic_tools": [{"name": "look"}]})
    parsed = transcript(meta, item(TOOLS), item(says("user", "go")))
    assert (parsed.tools, parsed.uncounted) == ('[{"name":"look"},{"name":"dredge"}]', 0)
    assert transcript(META, item(TOOLS), item(says("user", "go"))).tools == '[{"name":"dredge"}]'
    compacted = event("compacted", {"message": "", "replacement_history": [says("user", "go")]})
    assert transcript(META, item(TOOLS), compacted).tools is None


def test_additional_tools_stay_when_messages_are_dropped() -> None:
    events = (META, item(says("user", LONG)), item(says("assistant", "so")), item(TOOLS), *NEW[2:])
    assert item(TOOLS) in trimmed(60, *events)


def test_additional_tools_of_a_request_are_added_to_its_tools() -> None:
    request = {"model": "gpt-5", "tools": [{"name": "look"}], "input": [TOOLS, says("user", "go")]}
    (found,) = read(json.dumps(request).encode())[0].transcripts
    assert found.tools == '[{"name":"look"},{"name":"dredge"}]'


FORK = {"id": "s2", "history_base": {"thread_id": "s1", "end_ordinal_exclusive": 9}}


def findings(*events: Event) -> list[str]:
    ran = run(session(*events), [("count", {})])
    return [finding.message for row in ran.rows for finding in row.findings]


def test_a_finding_names_the_rollout_that_is_continued() -> None:
    events = (event("session_meta", FORK), META, item(says("user", "go on")))
    assert transcript(*events).options.base == "s1"
    text = "the session continues s1, whose messages are in another file; not counted"
    assert text in findings(*events)
    assert text not in findings(META, *events)
    compacted = event("compacted", {"message": "", "replacement_history": [says("user", "go")]})
    assert text not in findings(*events, compacted)
    for lines, exactness in ((events, "estimated"), (events[1:], "exact")):
        (row,) = run(session(*lines), [("count", {})], tokenizer=None, model="gpt-4o").rows
        assert row.count.exactness == exactness
