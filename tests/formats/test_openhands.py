"""OpenHands histories: parsed content of every layout, and the bytes of edits."""

import json
from io import BytesIO
from typing import Any

import pytest
from conftest import Run
from harness import read, run
from insertions import SUMMARY, format_of, written
from msgspec.structs import replace
from pictures import PICTURE

from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Message, Part, Transcript
from ctxtrim.model.request import Usage

Event = dict[str, Any]
ANSWER = "[no result recorded]"
IDLE = {"message": "No observation", "observation": "null", "content": "", "extras": {}}


def call_metadata(name: str, *calls: str, text: str | None = "Looking.") -> Event:
    """The metadata next to the call `name`, one of several in an answer."""
    made = [
        {"id": call, "type": "function", "function": {"name": "bash", "arguments": '{"x":1}'}}
        for call in calls
    ]
    answer = {"role": "assistant", "content": text, "tool_calls": made}
    response = {"id": "r", "model": "m", "choices": [{"message": answer}]}
    response["usage"] = {"prompt_tokens": 7, "completion_tokens": 2}
    return {
        "function_name": "bash",
        "tool_call_id": name,
        "model_response": response,
        "total_calls_in_response": 1,
    }


def message_event(number: int, source: str, text: str, **more: Any) -> Event:
    return {
        "id": number,
        "source": source,
        "action": "message",
        "message": text,
        "args": {"content": text} | more,
    }


def action(number: int, name: str, *calls: str, kind: str = "run", **more: Any) -> Event:
    arguments = {"command": "ls", "thought": "Looking."} | more
    fields = {"tool_call_metadata": call_metadata(name, *(calls or (name,)))}
    return {
        "id": number,
        "source": "agent",
        "action": kind,
        "message": "Running",
        "args": arguments,
    } | fields


def seen(number: int, name: str, text: str, **more: Any) -> Event:
    fields = {
        "cause": number - 1,
        "observation": "run",
        "content": text,
        "extras": {"command": "ls"},
    }
    return {
        "id": number,
        "source": "agent",
        **fields,
        "tool_call_metadata": call_metadata(name, name),
    } | more


def plain(kind: str, **arguments: Any) -> Event:
    return {"id": 1, "source": "agent", "action": kind, "args": {"blocking": False} | arguments}


def sdk(kind: str, **more: Any) -> Event:
    return {"id": kind, "timestamp": "2026-01-01", "source": "agent", **more, "kind": kind}


def blocks(*texts: str) -> list[Event]:
    return [{"type": "text", "text": text} for text in texts]


def sdk_action(name: str, text: str = "Looking.", **more: Any) -> Event:
    call = {"id": name, "name": "bash", "arguments": '{"x":1}', "origin": "completion"}
    fields = {
        "thought": blocks(text) if text else [],
        "action": {"kind": "BashAction"},
        "tool_name": "bash",
    }
    return sdk(
        "ActionEvent", **fields, tool_call_id=name, tool_call=call, llm_response_id="r", **more
    ) | {"id": f"a{name}"}


def sdk_seen(name: str, *texts: str, **more: Any) -> Event:
    fields = {"tool_name": "bash", "tool_call_id": name, "action_id": f"a{name}"}
    return sdk(
        "ObservationEvent",
        observation={"content": blocks(*texts), "kind": "BashObservation"} | more,
        **fields,
    )


def user(text: str) -> Event:
    return sdk("MessageEvent", llm_message={"role": "user", "content": blocks(text)}) | {
        "source": "user"
    }


def history(*events: Any, **members: Any) -> bytes:
    return json.dumps({"instance_id": "i", "history": events} | members).encode()


def lines(*events: Event) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def transcript(data: bytes) -> Transcript:
    return read(data)[0].transcripts[0]


def inserted(data: bytes, *messages: Message) -> bytes:
    """The file with these messages in it."""
    chunk = read(data)[0]
    return written(chunk, format_of(data), replace(chunk.transcripts[0], messages=messages))


def first_texts(data: bytes) -> list[str]:
    return [texts[0] for _, texts in role_texts(data)]


def role_texts(data: bytes) -> list[tuple[str, list[str]]]:
    return [
        (message.role, [part.text for part in message.parts])
        for message in transcript(data).messages
    ]


TALK = (
    message_event(1, "user", "go"),
    action(2, "c1"),
    seen(3, "c1", "one"),
    message_event(4, "agent", "Done."),
)
EXPECTED = [
    ("user", ["go"]),
    ("assistant", ["Looking.", '{"x":1}']),
    ("tool", ["one"]),
    ("assistant", ["Done."]),
]
PAIRS = (
    [message_event(1, "user", "go"), IDLE],
    [
        plain("run", command="ls", thought="Looking."),
        {"observation": "run", "content": "one", "extras": {}},
    ],
    [message_event(4, "agent", "Done."), IDLE],
)
OLD = (
    {"content": "go", "action": "message", "wait_for_response": False},
    {"command": "ls", "thought": "Looking.", "action": "run", "action_risk": None},
    {"content": "one", "exit_code": 0, "observation": "run"},
    {"outputs": {}, "thought": "Done.", "action": "finish"},
)
SDK = (user("go"), sdk_action("c1"), sdk_seen("c1", "one"), sdk("PauseEvent", reason="x"))


@pytest.mark.parametrize(
    "data",
    [
        history(*TALK),
        json.dumps([json.loads(history(*TALK))]).encode(),
        json.dumps({"trajectory": TALK}).encode(),
        json.dumps(TALK, indent=2).encode(),
        lines(*TALK),
    ],
)
def test_a_history_is_read_from_any_container(data: bytes) -> None:
    reading = open_reading(BytesIO(data))
    assert reading.format is not None and reading.format.name == "openhands"
    assert role_texts(data) == EXPECTED


@pytest.mark.parametrize("events", [PAIRS, OLD])
def test_without_recorded_answers_actions_are_calls_and_observations_results(
    events: Any,
) -> None:
    parsed = transcript(history(*events))
    calls = {'{"x":1}': '{"command":"ls"}'}
    assert role_texts(history(*events)) == [
        (role, [calls.get(text, text) for text in texts]) for role, texts in EXPECTED
    ]
    parts = [parsed.messages[1].parts[1], parsed.messages[2].parts[0]]
    assert [(part.name, part.call_id) for part in parts] == [("run", None), ("run", None)]


def test_events_of_version_1_are_read_from_lines_or_a_list() -> None:
    for data in (lines(*SDK), json.dumps(SDK).encode()):
        assert role_texts(data) == EXPECTED[:3]
        assert transcript(data).uncounted == 0


def test_calls_of_an_answer_form_a_message_with_usage_counted_once() -> None:
    events = (
        action(1, "c1", "c1", "c2"),
        seen(2, "c1", "one"),
        action(3, "c2", "c1", "c2"),
        seen(4, "c2", "two"),
    )
    parsed = transcript(history(*events))
    assert [message.role for message in parsed.messages] == ["assistant", "tool", "tool"]
    assert [part.text for part in parsed.messages[0].parts] == ["Looking.", '{"x":1}', '{"x":1}']
    assert parsed.usages == (Usage(7, 2, 0, "m"),)
    assert parsed.model == "m"
    both = transcript(
        lines(sdk_action("c1"), sdk_action("c2", ""), sdk_seen("c1", "one"), sdk_seen("c2", "two"))
    )
    assert [len(list(message.calls)) for message in both.messages] == [2, 0, 0]


@pytest.mark.parametrize(
    ("event", "role", "texts"),
    [
        (plain("finish", thought="All done.", outputs={}), "assistant", ["All done."]),
        (action(1, "c", kind="finish", thought="All done."), "assistant", ["All done."]),
        (plain("think", thought="Hm."), "assistant", ['{"thought":"Hm."}']),
        (plain("dance", thought="Hm.", steps=2), "assistant", ['{"thought":"Hm.","steps":2}']),
        (plain("run", command="ls") | {"source": "user"}, "user", ["ls"]),
        (
            message_event(1, "user", "see", image_urls=["data:image/png;base64,AAAA"]),
            "user",
            ["see", ""],
        ),
        (
            {"id": 3, "source": "agent", "observation": "error", "content": "No.", "extras": {}},
            "user",
            ["No."],
        ),
        (sdk("AgentErrorEvent", error="No.", tool_name="t", tool_call_id="c"), "tool", ["No."]),
        (
            sdk("UserRejectObservation", rejection_reason="No.", tool_call_id="c"),
            "tool",
            ["Action rejected: ", "No."],
        ),
        (sdk_seen("c") | {"observation": {"output": "old", "kind": "x"}}, "tool", ["old"]),
        (sdk_seen("c") | {"observation": {"lines": 2, "kind": "x"}}, "tool", ['{"lines":2}']),
        (sdk_action("c", "", reasoning_content="Hm."), "assistant", ["Hm.", '{"x":1}']),
        (
            sdk_action("c", "", thinking_blocks=[{"thinking": "Hm."}]),
            "assistant",
            ["Hm.", '{"x":1}'],
        ),
        (
            sdk_action("c", "", thinking_blocks=[{"thinking": "Hm."}, {"thinking": "Well."}]),
            "assistant",
            ["Hm.", "Well.", '{"x":1}'],
        ),
        (
            sdk_action("c", "", reasoning_details=[{"type": "reasoning.text", "text": "Hm."}]),
            "assistant",
            ["Hm.", '{"x":1}'],
        ),
    ],
)
def test_each_kind_of_event_is_read(event: Event, role: str, texts: list[str]) -> None:
    assert role_texts(lines(event)) == [(role, texts)]


@pytest.mark.parametrize(
    "event",
    [
        plain("change_agent_state", agent_state="init") | {"source": "environment"},
        plain("recall", query="what") | {"source": "user"},
        {
            "id": 1,
            "source": "environment",
            "observation": "agent_state_changed",
            "content": "",
            "extras": {},
        },
        {"id": 1, "source": "user", "cause": 0, **IDLE},
        {
            "id": 1,
            "source": "environment",
            "observation": "recall",
            "content": "Added",
            "extras": {"date": "x"},
        },
        sdk("ConversationStateUpdateEvent", key="stats", value={}),
        sdk("HookExecutionEvent", hook_command="lint", stdout=""),
        sdk("InterruptEvent", reason="Stop."),
        sdk("ACPToolCallEvent", tool_call_id="x", title="List", raw_output={}),
    ],
)
def test_events_that_are_not_sent_are_kept_and_are_not_messages(event: Event) -> None:
    data = lines(*TALK, event)
    assert role_texts(data) == EXPECTED
    assert transcript(data).uncounted == 0
    ran = run(data, [("trim", {})], limit=30)
    assert ran.data is not None and ran.data.endswith(lines(event))


def test_encrypted_reasoning_of_version_1_is_counted() -> None:
    item = {"id": "rs", "summary": ["Look first."], "content": None, "encrypted_content": "AAAA"}
    message = {"role": "assistant", "content": blocks("Two."), "responses_reasoning_item": item}
    for event in (
        sdk_action("c", "", responses_reasoning_item=item),
        sdk("MessageEvent", llm_message=message),
    ):
        first, encrypted, *_ = transcript(lines(event)).messages[0].parts
        assert (first.kind, first.text) == ("reasoning", "Look first.")
        assert encrypted.media is not None
        assert (encrypted.media.kind, encrypted.media.size) == ("sealed", 3)
    redacted = {"type": "redacted_thinking", "data": "AAAAAA"}
    details = [{"type": "reasoning.encrypted", "data": "AAAAAA"}]
    for event in (
        sdk_action("c", "", reasoning_content="Hm.", thinking_blocks=[redacted]),
        sdk_action("c", "", reasoning_content="Hm.", reasoning_details=details),
    ):
        first, encrypted, _ = transcript(lines(event)).messages[0].parts
        assert (first.text, first.span, encrypted.text, encrypted.sealed) == ("Hm.", None, "", 6)
    unsent = {"id": None, "summary": ["Look first."]}
    (_,) = transcript(lines(sdk_action("c", "", responses_reasoning_item=unsent))).messages[0].parts


def test_recalled_knowledge_is_context_but_not_a_task() -> None:
    extras = {
        "repo_instructions": "Be kind.",
        "microagent_knowledge": [{"name": "git", "content": "Use it."}],
    }
    event = {
        "id": 1,
        "source": "environment",
        "cause": 0,
        "observation": "recall",
        "content": "Added",
        "extras": extras,
    }
    (message,) = transcript(lines(event)).messages
    assert (message.role, message.is_injected, [part.text for part in message.parts]) == (
        "user",
        True,
        ["Be kind.", "Use it."],
    )


def test_the_prompt_is_dropped_without_its_tools() -> None:
    system = {
        "id": 0,
        "source": "agent",
        "action": "system",
        "args": {"content": "Be kind.", "tools": [{"name": "t"}]},
    }
    data = history(system, *TALK, metadata={"llm_config": {"model": "gpt-5"}})
    parsed = transcript(data)
    assert (parsed.tools, parsed.model, parsed.id) == ('[{"name":"t"}]', "gpt-5", "i")
    assert parsed.messages[0].role == "system"
    again = inserted(data, *parsed.messages[1:])
    assert role_texts(again) == EXPECTED
    assert transcript(again).tools == parsed.tools
    prompt = sdk(
        "SystemPromptEvent",
        system_prompt=blocks("Be kind.")[0],
        dynamic_context=blocks("Here.")[0],
        tools=[{"x": 1}],
    )
    assert role_texts(lines(prompt, *SDK))[0] == ("system", ["Be kind.", "Here."])
    assert transcript(lines(prompt, *SDK)).tools == '[{"x":1}]'


@pytest.mark.parametrize("version", [0, 1])
def test_a_dropped_prompt_is_an_empty_text_that_its_event_requires(
    version: int, ctxtrim: Run
) -> None:
    arguments = {"content": "Be kind. " * 90, "tools": [{"name": "t"}]}
    system = {"id": 0, "source": "agent", "action": "system", "args": arguments}
    talk: list[Any] = TALK
    if version == 1:
        context = {"type": "text", "text": "Here. " * 90}
        prompt = {"type": "text", "text": "Be kind. " * 90}
        fields = {"system_prompt": prompt, "tools": [{"name": "t"}], "dynamic_context": context}
        system, talk = sdk("SystemPromptEvent", **fields), SDK
    data = lines(system, *talk)
    ran = ctxtrim("trim", "--no-preserve-system-prompt", "--budget", "150", stdin=data)
    left = json.loads(ran.out.splitlines()[0])
    if version == 1:
        assert left == {
            key: value | {"text": ""} if key == "system_prompt" else value
            for key, value in system.items()
            if key != "dynamic_context"
        }
    else:
        assert left == system | {"args": arguments | {"content": ""}}
    assert "system" not in [message.role for message in transcript(ran.out).messages]
    again = ctxtrim("trim", "--no-preserve-system-prompt", "--budget", "150", stdin=ran.out)
    assert again.out == ran.out


METADATA = {
    "exit_code": 2,
    "working_dir": "/harbour",
    "py_interpreter_path": "/usr/bin/python",
    "prefix": "[Below is the output of the previous command.]\n",
    "suffix": "\n[The command completed with exit code 2.]",
}
AROUND = (
    METADATA["prefix"],
    f"{METADATA['suffix']}\n[Current working directory: /harbour]"
    "\n[Python interpreter: /usr/bin/python]\n[Command finished with exit code 2]",
)
FAILED = "[An error occurred during execution.]\n"


@pytest.mark.parametrize(
    ("event", "sent"),
    [
        (seen(1, "c", "x", extras={"metadata": METADATA}), [AROUND[0], "x", AROUND[1]]),
        (seen(1, "c", "x", extras={"metadata": {"exit_code": -1, "working_dir": None}}), ["x"]),
        (
            sdk_seen("c", "x", is_error=True, metadata=METADATA, kind="TerminalObservation"),
            [FAILED, AROUND[0], "x", AROUND[1]],
        ),
        (sdk_seen("c", "x", is_error=True), [FAILED, "x"]),
        (sdk_seen("c", "x", metadata=METADATA), ["x"]),
        (
            sdk_seen("c", "x") | {"extended_content": blocks("Moor it.", "Log it.")},
            ["x", "Moor it.", "Log it."],
        ),
    ],
)
def test_what_openhands_sends_around_an_output_is_counted(event: Event, sent: list[str]) -> None:
    (message,) = transcript(lines(event)).messages
    assert [part.text for part in message.parts] == sent


def test_the_picture_of_a_page_counts_and_can_be_dropped(ctxtrim: Run) -> None:
    page = sdk_seen("c", "A page.", screenshot_data=PICTURE, kind="BrowserObservation")
    later = sdk_action("d") | {"llm_response_id": "s"}
    data = lines(user("Look."), sdk_action("c"), page, later, sdk_seen("d", "Done."))
    result = transcript(data).messages[2]
    (media,) = [part.media for part in result.parts if part.media]
    assert (media.kind, media.pixels) == ("image", (1024, 768))
    ran = ctxtrim("run", "-s", "drop-images:max-age=0", stdin=data)
    observation = json.loads(ran.out.splitlines()[2])["observation"]
    assert "screenshot_data" not in observation
    assert "[image, 1024×768" in observation["content"][0]["text"]


@pytest.mark.parametrize("version", [0, 1])
def test_an_output_is_shortened_without_what_is_sent_around_it(version: int) -> None:
    long = "a boat and a berth " * 300
    event = seen(1, "c", long, extras={"metadata": METADATA})
    if version == 1:
        event = sdk_seen("c", long, is_error=True, metadata=METADATA, kind="TerminalObservation")
    data = lines(event)
    out = run(data, [("truncate", {"max_tokens": 80})]).data or b""
    texts = [part.text for part in transcript(out).messages[0].parts]
    assert "truncated" in texts[-2] and len(texts[-2]) < len(long)
    assert (texts[-3], texts[-1]) == AROUND
    assert run(out, [("truncate", {"max_tokens": 80})]).data == out


@pytest.mark.parametrize(
    ("event", "is_error"),
    [
        (seen(1, "c", "x"), None),
        (seen(1, "c", "x", success=True), False),
        (seen(1, "c", "x", success=False), True),
        (seen(1, "c", "x", observation="error"), True),
        (sdk_seen("c", "x"), None),
        (sdk_seen("c", "x", is_error=True), True),
        (sdk("AgentErrorEvent", error="x", tool_call_id="c"), True),
    ],
)
def test_errors_are_recognized_in_results(event: Event, is_error: bool | None) -> None:
    (message,) = transcript(lines(event)).messages
    assert message.result is not None and message.result.is_error is is_error


def test_an_edit_changes_only_the_content_of_the_observation() -> None:
    data = history(
        *TALK[:2], seen(3, "c1", "word " * 400, message="word"), TALK[3], git_patch="+1.10"
    )
    out = run(data, [("truncate", {"max_tokens": 40})]).data or b""
    assert json.loads(out)["history"][2].pop("content") != "word " * 400
    before, after = json.loads(data), json.loads(out)
    del before["history"][2]["content"], after["history"][2]["content"]
    assert before == after


def test_dropping_a_step_drops_its_events_and_idle_pairs() -> None:
    messages = transcript(history(*TALK)).messages
    assert json.loads(inserted(history(*TALK), messages[0], messages[3]))["history"] == [
        TALK[0],
        TALK[3],
    ]
    messages = transcript(history(*PAIRS)).messages
    assert json.loads(inserted(history(*PAIRS), messages[0], messages[3]))["history"] == [
        PAIRS[0],
        PAIRS[2],
    ]
    assert json.loads(inserted(history(*PAIRS), *messages[1:]))["history"] == list(PAIRS[1:])


def test_dropping_a_call_keeps_the_text_of_its_answer() -> None:
    for data in (
        history(*TALK[:2], TALK[3]),
        history(PAIRS[0], [PAIRS[1][0], IDLE], PAIRS[2]),
        lines(*SDK[:2], user("so")),
    ):
        first, message, last = transcript(data).messages
        again = inserted(data, first, replace(message, parts=message.parts[:1]), last)
        assert role_texts(again)[:2] == [("user", ["go"]), ("assistant", ["Looking."])]
        assert run(data, [("repair", {})]).data == again


CONDENSATION = {"forgotten_event_ids": [2, 3], "summary": "It looked.", "summary_offset": 1}
CONDENSED = (
    (*TALK, {"id": 9, "source": "agent", "action": "condensation", "args": CONDENSATION}),
    (
        *TALK,
        plain(
            "condensation",
            forgotten_events_start_id=2,
            forgotten_events_end_id=3,
            summary="It looked.",
        ),
    ),
    (
        user("go"),
        sdk_action("c1"),
        sdk_seen("c1", "one"),
        user("Done.") | {"id": "u"},
        sdk("Condensation", forgotten_event_ids=["ac1", "ObservationEvent"], summary="It looked."),
    ),
)


@pytest.mark.parametrize("events", CONDENSED)
def test_a_condensation_forgets_its_events_in_a_history_joined_to_itself(events: Any) -> None:
    twice = history(*events, *events)
    assert first_texts(twice) == ["go", "It looked.", "Done.", "go", "Done."]
    messages = transcript(twice).messages
    assert first_texts(inserted(twice, *messages[:3])) == ["go", "It looked.", "Done."]


@pytest.mark.parametrize("events", CONDENSED)
def test_a_summary_is_dropped_with_its_forgotten_events(events: Any) -> None:
    data = history(*events)
    messages = transcript(data).messages
    assert [message.parts[0].text for message in messages] == ["go", "It looked.", "Done."]
    assert (messages[1].is_summary, messages[1].is_injected, messages[1].role) == (
        True,
        True,
        "user",
    )
    assert json.loads(inserted(data, messages[0], messages[2]))["history"] == [events[0], events[3]]
    new = SUMMARY.parts[0].text
    assert first_texts(inserted(data, SUMMARY, *messages)) == [new, "go", "It looked.", "Done."]
    assert first_texts(inserted(data, messages[0], SUMMARY, *messages[1:])) == [
        "go",
        new,
        "It looked.",
        "Done.",
    ]
    assert first_texts(inserted(data, *messages[:2], SUMMARY, messages[2])) == [
        "go",
        "It looked.",
        new,
        "Done.",
    ]
    assert first_texts(inserted(data, *messages[:2], SUMMARY)) == ["go", "It looked.", new]


def test_inserted_messages_use_the_shape_of_their_neighbours() -> None:
    messages = transcript(history(*TALK)).messages
    new = json.loads(inserted(history(*TALK), SUMMARY, *messages))["history"][0]
    assert new == {"source": "user", "message": SUMMARY.parts[0].text, "action": "message"} | {
        "args": {"content": SUMMARY.parts[0].text, "wait_for_response": False}
    }
    answer = json.loads(inserted(history(*TALK[:2]), *messages[:2], answer_of("c1")))["history"][2]
    assert (answer["cause"], answer["observation"], answer["content"]) == (2, "run", ANSWER)
    assert answer["tool_call_metadata"] == TALK[1]["tool_call_metadata"]


def test_inserted_messages_form_pairs_in_a_file_of_pairs() -> None:
    data = history(*PAIRS)
    messages = transcript(data).messages
    first, second = json.loads(inserted(data, SUMMARY, *messages))["history"][0]
    assert (first["args"]["content"], second) == (SUMMARY.parts[0].text, IDLE)
    open_call = history(PAIRS[0], [PAIRS[1][0], IDLE])
    pair = json.loads(inserted(open_call, *transcript(open_call).messages, answer_of(None, "run")))[
        "history"
    ][1]
    assert (pair[0], pair[1]["observation"], pair[1]["content"]) == (PAIRS[1][0], "run", ANSWER)


def test_inserted_messages_of_version_1_have_new_ids_and_the_action_id() -> None:
    data = lines(*SDK[:2])
    out = [
        json.loads(line)
        for line in inserted(
            data, SUMMARY, *transcript(data).messages, answer_of("c1")
        ).splitlines()
    ]
    assert [item["kind"] for item in out] == [
        "MessageEvent",
        "MessageEvent",
        "ActionEvent",
        "ObservationEvent",
    ]
    assert len({event["id"] for event in out}) == 4
    assert (out[3]["action_id"], out[3]["observation"]["kind"]) == ("ac1", "BashObservation")


def answer_of(call_id: str | None, name: str = "bash") -> Message:
    return Message(
        "tool", (Part("tool_result", ANSWER, call_id, name),), name if call_id is None else None
    )


@pytest.mark.parametrize(
    "value",
    [
        {
            "history": [{"role": "user", "content": "go", "agent": "main"}],
            "trajectory": [{"action": "ls", "observation": "a"}],
        },
        {
            "trajectory": [
                {"action": "ls", "observation": "a", "response": "x", "state": "y", "thought": "z"}
            ]
        },
        {"messages": [{"role": "user", "content": "go", "action": "run"}]},
        {"type": "user", "message": {"content": "go"}, "source": "user"},
        {"kind": "ActionEvent"},
        {"source": "user", "action": "click"},
    ],
)
def test_other_formats_are_not_detected(value: Any) -> None:
    detected = open_reading(BytesIO(json.dumps(value).encode() + b"\n")).format
    assert detected is None or detected.name != "openhands"


@pytest.mark.parametrize("limit", [10, 40, 60, 100])
@pytest.mark.parametrize("has_result", [True, False])
def test_a_missing_observation_is_made_whatever_the_budget(limit: int, has_result: bool) -> None:
    """It reads back with the name of its tool, as observations do, which costs tokens."""
    history = [message_event(0, "user", "fix")]
    if has_result:
        history += [action(1, "c1"), seen(2, "c1", "ok")]
    history += [action(3, "c2"), message_event(4, "agent", "done")]
    repair = ("repair", {"repair": "synthesize"})
    ran = run(json.dumps(history).encode(), [repair], limit=limit, model="gpt-4o")
    again = run(ran.data or b"", model="gpt-4o")
    assert ANSWER in (ran.data or b"").decode()
    assert again.rows[0].count.tokens == ran.rows[0].count.tokens


@pytest.mark.parametrize("limit", range(40, 100, 3))
def test_a_made_observation_has_its_whole_cost_before_a_trim(limit: int) -> None:
    history = [message_event(0, "user", "fix"), action(1, "c1"), seen(2, "c1", "ok")]
    history += [action(3, "c2"), message_event(4, "agent", "done")]
    stages = [("repair", {"repair": "synthesize"}), ("trim", {})]
    ran = run(json.dumps(history).encode(), stages, limit=limit, model="gpt-4o")
    assert {finding.code for finding in ran.rows[0].findings} <= {"overflow", "prompt-cache"}
    if ran.rows[0].fits:
        again = run(ran.data or b"", model="gpt-4o")
        assert again.rows[0].count.tokens == ran.rows[0].count.tokens <= limit


def test_a_call_id_that_recurs_begins_another_message_of_an_answer() -> None:
    events = [user("go"), *(sdk_action(name) for name in ("1", "2", "3", "1", "4"))]
    data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    (transcript,) = read(data)[0].transcripts
    calls = [[call.call_id for call in message.calls] for message in transcript.messages]
    assert calls == [[], ["1", "2", "3"], ["1", "4"]]


@pytest.mark.parametrize("kind", ["ConversationIterationLimitEvent", "ServerErrorEvent"])
def test_an_event_that_the_model_does_not_read_is_no_message_of_an_unknown_form(kind: str) -> None:
    found = transcript(lines(*SDK, sdk(kind, detail="x")))
    assert (len(found.messages), found.uncounted) == (3, 0)
