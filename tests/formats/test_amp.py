"""Threads of Amp: what it sends of their messages."""

import json
from typing import Any

from conftest import Run
from harness import read
from test_anthropic import role_texts, text

from ctxtrim.model import Transcript

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
