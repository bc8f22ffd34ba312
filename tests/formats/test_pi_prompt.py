"""pi's system messages, messages of openclaw and Oh My Pi, and the output of `pi --mode json`."""

import json

import pytest
from builders_pi import (
    HEADER,
    PI,
    Value,
    calls,
    compaction,
    entry,
    lines,
    of,
    result,
    role_texts,
    says,
    session,
    text,
    transcript,
    trimmed_file,
    user,
)
from harness import read
from insertions import SUMMARY, written
from msgspec.structs import replace

from ctxtrim.model import Message, Part


def system(content: str = "", **more: object) -> Value:
    return {"role": "system", "content": content, "timestamp": 5} | more


def tool(name: str) -> Value:
    return {"name": name, "description": f"{name} a chart", "parameters": {"type": "object"}}


def names(data: bytes) -> list[str]:
    return [tool["name"] for tool in json.loads(transcript(data).tools or "[]")]


FIRST = system(sections={"who": "You pilot.", "day": "Monday"}, toolsAdded=[tool("read")])
LATER = system(
    "Mind the tide.",
    sections={"day": "Tuesday", "port": "Kiel"},
    toolsRemoved=[{"name": "read"}],
    toolsAdded=[tool("plot"), tool("sound")],
)
LAST = system(sections={"port": None}, toolsRemoved=[{"name": "sound"}])


def test_system_messages_have_sections_and_tools_which_later_ones_change() -> None:
    data = session(entry("a", None, FIRST), entry("b", "a", user("Go.")))
    assert role_texts(transcript(data)) == [("system", "You pilot.|Monday"), ("user", "Go.")]
    assert names(data) == ["read"]
    more = (entry("c", "b", LATER), entry("d", "c", says("Aye.")), entry("e", "d", LAST))
    data = session(entry("a", None, FIRST), entry("b", "a", user("Go.")), *more)
    assert role_texts(transcript(data)) == [
        ("system", "You pilot."),
        ("user", "Go."),
        ("system", "Mind the tide.|Tuesday"),
        ("assistant", "Aye."),
        ("system", ""),
    ]
    assert names(data) == ["plot"]
    parsed = of(FIRST, user("Go."), LATER, says("Aye."))
    assert [text for _, text in role_texts(parsed)] == [
        "You pilot.", "Go.", "Mind the tide.|Tuesday|Kiel", "Aye.",
    ]  # fmt: skip
    assert parsed.tools is not None
    assert "sound" in parsed.tools


def test_tools_can_be_a_snapshot_and_come_with_a_result() -> None:
    found = result("c1", toolsAdded=[tool("dive")])
    data = session(
        entry("a", None, FIRST),
        entry("b", "a", system("Again.", tools=[tool("steer")])),
        entry("c", "b", calls("c1")),
        entry("d", "c", found),
    )
    assert names(data) == ["steer", "dive"]


COMPACTED = (
    entry("a", None, FIRST),
    entry("b", "a", user("one")),
    entry("c", "b", says("two")),
    entry("d", "c", LATER),
    entry("e", "d", user("three")),
    compaction(
        *("k", "e", "So far."),
        firstKeptEntryId="c",
        systemMessage=system(sections={"who": "You pilot.", "day": "Tuesday"}),
        toolsAdded=[tool("plot")],
    ),
    entry("n", "k", user("four")),
    entry("o", "n", says("five")),
)
LIVE = [
    ("system", "You pilot.|Tuesday"),
    ("user", "So far."),
    ("assistant", "two"),
    ("user", "three"),
    ("user", "four"),
    ("assistant", "five"),
]


def test_a_compaction_repeats_the_system_message_and_the_tools() -> None:
    data = session(*COMPACTED)
    assert role_texts(transcript(data)) == LIVE
    assert names(data) == ["plot"]


def test_the_messages_in_a_compaction_have_no_system_message() -> None:
    tail = [FIRST, says("two"), LATER, user("three")]
    repeated = system(sections={"who": "You pilot.", "day": "Tuesday"})
    whole = compaction("k", "e", "So far.", retainedTail=tail, systemMessage=repeated)
    assert role_texts(transcript(session(*COMPACTED[:5], whole, *COMPACTED[6:]))) == LIVE


@pytest.mark.parametrize("staying", [(1, 4, 5), (2, 5), (4, 5), (5,), ()])
def test_a_new_summary_comes_after_the_system_message_of_a_compaction(
    staying: tuple[int, ...],
) -> None:
    data = session(*COMPACTED)
    kept = transcript(lines(*trimmed_file(data, 0, *staying)))
    assert role_texts(kept) == [LIVE[0], *(LIVE[index] for index in staying)]
    chunk = read(data)[0]
    (parsed,) = chunk.transcripts
    rest = [parsed.messages[index] for index in staying]
    for new in (SUMMARY, Message("user", (Part("text", "Well?"),))):
        out = written(chunk, PI, replace(parsed, messages=(parsed.messages[0], new, *rest)))
        again = role_texts(transcript(out))
        assert again[:2] == [LIVE[0], ("user", new.parts[0].text)]
        assert [json.loads(line)["type"] for line in out.splitlines()].count("compaction") == 1


def test_answers_that_openclaw_writes_for_a_channel_are_not_sent() -> None:
    mirror = says("Two.") | {"provider": "openclaw", "model": "delivery-mirror"}
    stripped = says("Two.", openclawDeliveryMirror={"kind": "channel-final"})
    data = session(
        entry("a", None, user("How many?")),
        entry("b", "a", says("Two.")),
        entry("c", "b", mirror),
        entry("d", "c", stripped),
        entry("e", "d", mirror | {"model": "gateway-injected"}),
    )
    parsed = transcript(data)
    assert role_texts(parsed) == [("user", "How many?"), ("assistant", "Two.")]
    assert parsed.model == "claude-opus-4-6"
    listed = of(user("How many?"), says("Two."), mirror)
    assert (len(listed.messages), listed.model) == (2, "claude-opus-4-6")


MENTION = {
    "role": "fileMention",
    "files": [
        {"path": "a.md", "content": "alpha"},
        {"path": "b.png", "content": "", "image": {"type": "image", "data": "AAAA"}},
    ],
}
PYTHON = {"role": "pythonExecution", "code": "print(1)", "output": "1", "exitCode": 2}
NOTE = {"role": "developer", "content": [text("Use the chart.")], "timestamp": 5}


def test_oh_my_pi_sends_files_python_code_and_notes_that_no_person_typed() -> None:
    data = session(
        entry("a", None, user("Look at @a.md.")),
        entry("b", "a", MENTION),
        entry("c", "b", PYTHON),
        entry("d", "c", NOTE),
        entry("e", "d", says("Seen.")),
    )
    parsed = transcript(data)
    assert parsed.uncounted == 0
    assert [message.is_injected for message in parsed.messages] == [False, True, True, True, False]
    shown = ["".join(part.text for part in message.parts) for message in parsed.messages[1:4]]
    assert shown == [
        '<system-reminder>\n<file path="a.md">\nalpha\n</file>\n\n<file path="b.png">\n</file>'
        "\n</system-reminder>",
        "Ran Python:\n```python\nprint(1)\n```\nOutput:\n```\n1\n```\n\n"
        "Execution failed with code 2",
        "Use the chart.",
    ]
    assert parsed.messages[1].parts[-1].media is not None
    assert role_texts(transcript(lines(*trimmed_file(data, 0, 1, 4))))[1] == role_texts(parsed)[1]


def ended(message: Value) -> Value:
    return {"type": "message_end", "message": message}


STREAM = (
    HEADER,
    {"type": "agent_start"},
    {"type": "message_start", "message": user("List.")},
    ended(user("List.")),
    {"type": "message_update", "message": calls("c1")},
    ended(calls("c1")),
    ended(result("c1", [text("a.py")])),
    {"type": "turn_end", "message": calls("c1"), "toolResults": [result("c1", [text("a.py")])]},
    ended(says("One.")),
)
END = {"type": "agent_end", "messages": [user("List."), says("One.")]}


@pytest.mark.parametrize("values", [STREAM, (*STREAM, END)], ids=["interrupted", "whole"])
def test_the_output_of_json_mode_has_the_messages_that_end(values: tuple[Value, ...]) -> None:
    parsed = transcript(lines(*values))
    assert [message.role for message in parsed.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    out = trimmed_file(lines(*values), 0, 3, first=SUMMARY)
    again = transcript(lines(*out))
    assert [text for _, text in role_texts(again)] == [SUMMARY.parts[0].text, "List.", "One."]
