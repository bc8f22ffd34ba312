"""Threads of Amp: what it sends of their messages."""

import json
from typing import Any

import pytest
from conftest import Run
from harness import read
from test_anthropic import role_texts, text, written

from ctxtrim.conversation.tasks import current_task
from ctxtrim.errors import NotEditableError
from ctxtrim.model import Message, Part, Transcript

Value = dict[str, Any]


def element(role: str, *blocks: Value, **more: Any) -> Value:
    return {"role": role, "messageId": 0, "content": list(blocks)} | more


def answer(*blocks: Value) -> Value:
    return element("assistant", *blocks, state={"type": "complete"})


def call(of: str, *, complete: bool = True) -> Value:
    return {"type": "tool_use", "id": of, "name": "Sound", "complete": complete, "input": {}}


def returns(of: str, result: str) -> Value:
    return {
        "type": "tool_result",
        "toolUseID": of,
        "run": {"status": "done", "result": result},
    }


def thread(*elements: Value) -> bytes:
    numbered = [value | {"messageId": number} for number, value in enumerate(elements)]
    return json.dumps({"v": 9, "id": "T-01", "messages": numbered}, indent=1).encode()


def transcript(*elements: Value) -> Transcript:
    return read(thread(*elements))[0].transcripts[0]


ASKED = element("user", text("Sound the bay."))
STEP = (answer(call("c1")), element("user", returns("c1", "nine fathoms")))


def test_calls_that_amp_does_not_send_are_not_read(ctxtrim: Run) -> None:
    """The person stopped the first answer, the second only thought before its call."""
    thinking = {"type": "thinking", "thinking": "Deeper?", "signature": "Eo"}
    server_call = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    elements = (
        ASKED,
        *STEP,
        answer(text("And"), server_call, call("c2", complete=False)),
        element("user", text("Go on.")),
        answer(thinking, call("c3", complete=False)),
        element("user", text("And the pier?")),
    )
    assert role_texts(transcript(*elements))[3:] == [
        ("assistant", ["And"]),
        ("user", ["Go on."]),
        ("user", ["And the pier?"]),
    ]
    data = thread(*elements)
    checked = ctxtrim("check", stdin=data)
    assert checked.code == 0, checked.err
    trimmed = ctxtrim("trim", "--budget", "40", stdin=data)
    assert trimmed.code == 0, trimmed.err
    kept = json.loads(trimmed.out)["messages"]
    assert kept[-1]["content"] == [text("And the pier?")]


def info(*blocks: Value) -> Value:
    return element("info", *blocks)


def summary(words: str) -> Value:
    return {"type": "summary", "summary": {"type": "message", "summary": words}}


COMMAND = {
    "type": "manual_bash_invocation",
    "args": {"cmd": "tide"},
    "toolRun": {"status": "done", "result": {"output": "low"}},
}
COMPACTED = (
    ASKED,
    *STEP,
    info(summary("Nothing was measured.")),
    info(summary("The bay has nine fathoms.\n"), text("not sent")),
    element("user", text("And the pier?")),
    info(COMMAND, text(" "), text("The tide turned.")),
    answer(text("Two fathoms.")),
)


def test_the_last_summary_replaces_everything_before_it(ctxtrim: Run) -> None:
    parsed = transcript(*COMPACTED)
    command = '{"type":"manual_bash_invocation","args":{"cmd":"tide"},'
    command += '"toolRun":{"status":"done","result":{"output":"low"}}}'
    assert role_texts(parsed) == [
        ("assistant", ["The bay has nine fathoms."]),
        ("user", ["And the pier?"]),
        ("user", [command, "The tide turned."]),
        ("assistant", ["Two fathoms."]),
    ]
    assert [message.is_summary for message in parsed.messages] == [True, False, False, False]
    assert current_task(parsed.messages) == 1
    data = thread(*COMPACTED)
    checked = ctxtrim("check", stdin=data)
    assert (checked.code, b"unknown role" in checked.out) == (0, False)


def test_a_dropped_summary_takes_what_it_replaces(ctxtrim: Run) -> None:
    data = thread(*COMPACTED)
    for budget in range(8, 90):
        ran = ctxtrim("trim", "--budget", str(budget), stdin=data)
        if ran.code == 0:
            kept = [each["messageId"] for each in json.loads(ran.out)["messages"]]
            assert kept[:5] == [0, 1, 2, 3, 4] or min(kept) >= 5
    assert ctxtrim("trim", "--budget", "12", stdin=data).code == 0


def test_no_message_can_come_before_a_summary() -> None:
    data, new = thread(*COMPACTED), Message("user", (Part("text", "Earlier: the bay."),))
    with pytest.raises(NotEditableError, match="before the summary of a compaction"):
        written(data, lambda messages: (new, *messages))
    out = written(data, lambda messages: (messages[0], new, *messages[1:]))
    assert role_texts(read(out)[0].transcripts[0])[:2] == [
        ("assistant", ["The bay has nine fathoms."]),
        ("user", ["Earlier: the bay."]),
    ]


NAMED = {
    "fileMentions": {
        "files": [
            {"uri": "file:///chart.txt", "content": "shoal " * 50, "isImage": False},
            {"uri": "file:///chart.png", "content": "iVBO", "isImage": True},
        ]
    },
    "userState": {"currentlyVisibleFiles": ["file:///log.txt"], "runningTerminalCommands": []},
    "discoveredGuidanceFiles": [
        {"uri": "file:///AGENTS.md", "lineCount": 1, "content": "Use fathoms."},
        {"uri": "file:///bay/AGENTS.md", "lineCount": 9},
    ],
}
NOT_COUNTED = b"the words that Amp sends with files, instructions and the state of the editor"


def test_files_and_the_state_next_to_a_prompt_are_its_texts(ctxtrim: Run) -> None:
    elements = (ASKED | NAMED, *STEP, element("user", text("And the pier?")))
    parsed = transcript(*elements)
    assert [part.text for part in parsed.messages[0].parts] == [
        "shoal " * 50,
        '{"currentlyVisibleFiles":["file:///log.txt"]}',
        "Use fathoms.",
        "Sound the bay.",
    ]
    assert not parsed.messages[0].is_injected
    data = thread(*elements)
    counted = ctxtrim("count", "--json", "-m", "gpt-4o", stdin=data)
    (row,) = json.loads(counted.out)["transcripts"]
    assert (row["exactness"], row["tokens"] > 130) == ("estimated", True)
    assert NOT_COUNTED in counted.err.encode()
    trimmed = ctxtrim("trim", "--budget", "40", stdin=data)
    assert [each["messageId"] for each in json.loads(trimmed.out)["messages"]] == [3]


def test_a_summary_replaces_files_next_to_a_prompt(ctxtrim: Run) -> None:
    elements = (ASKED | NAMED, *STEP, info(summary("Nine.")), element("user", text("Why?")))
    counted = ctxtrim("count", "-m", "gpt-4o", stdin=thread(*elements))
    assert NOT_COUNTED not in counted.out + counted.err.encode()
