"""pi's sessions and messages: parsed content, ignored content, the bytes of edits, and repaired
links.
"""

import json

import pytest
from builders_pi import (
    HEADER,
    PI,
    STEP,
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
from harness import read, run

from ctxtrim.conversation.turns import shape
from ctxtrim.model import Media, Part
from ctxtrim.model.request import Usage

IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
PICTURE = Part("attachment", media=Media("image", size=3))


@pytest.mark.parametrize(
    ("message", "role", "parts"),
    [
        (user("hi"), "user", (Part("text", "hi"),)),
        (
            user("") | {"content": "hi", "metadata": {"agentVisible": True}},
            "user",
            (Part("text", "hi"),),
        ),
        (user("hi") | {"content": [text("hi"), IMAGE]}, "user", (Part("text", "hi"), PICTURE)),
        (says("so"), "assistant", (Part("text", "so"),)),
        (
            says("")
            | {"content": [{"type": "thinking", "thinking": "hmm", "thinkingSignature": "x" * 99}]},
            "assistant",
            (Part("reasoning", "hmm"),),
        ),
        (calls("c1"), "assistant", (Part("tool_call", '{"command":"ls"}', "c1", "bash"),)),
        (
            says("")
            | {
                "content": [
                    {
                        "type": "toolCall",
                        "id": "c",
                        "name": "n",
                        "arguments": {},
                        "partialJson": "{",
                    }
                ]
            },
            "assistant",
            (Part("tool_call", "{}", "c", "n"),),
        ),
        (result("c1", "M file"), "tool", (Part("tool_result", "M file", "c1"),)),
        (
            result("c1", [text("a"), text("b")], isError=True, details={"diff": "never read"}),
            "tool",
            (
                Part("tool_result", "a", "c1", is_error=True),
                Part("tool_result", "b", "c1", is_error=True),
            ),
        ),
        (
            result("c1", [IMAGE], isError=False),
            "tool",
            (
                Part("tool_result", "", "c1", is_error=False),
                Part("attachment", "", "c1", media=Media("image", size=3)),
            ),
        ),
        (
            {"role": "branchSummary", "summary": "left", "fromId": "x"},
            "user",
            (Part("text", "left"),),
        ),
        ({"role": "custom", "customType": "x", "content": "note"}, "user", (Part("text", "note"),)),
    ],
)
def test_a_message_consists_of_texts_calls_and_images(
    message: Value, role: str, parts: tuple[Part, ...]
) -> None:
    (parsed,) = of(message).messages
    assert (parsed.role, parsed.parts) == (role, parts)


@pytest.mark.parametrize(
    ("more", "rendered"),
    [
        ({"output": "a\nb", "exitCode": 0}, "Ran `ls`\n```\na\nb\n```"),
        ({"output": "", "exitCode": 0}, "Ran `ls`\n(no output)"),
        ({"output": "no", "exitCode": 2}, "Ran `ls`\n```\nno\n```\n\nCommand exited with code 2"),
        (
            {"output": "no", "exitCode": 130, "cancelled": True},
            "Ran `ls`\n```\nno\n```\n\n(command cancelled)",
        ),
        (
            {"output": "a", "exitCode": 0, "truncated": True, "fullOutputPath": "/tmp/o"},
            "Ran `ls`\n```\na\n```\n\n[Output truncated. Full output: /tmp/o]",
        ),
    ],
)
def test_a_command_of_the_person_is_rendered_as_by_pi(more: Value, rendered: str) -> None:
    (message,) = of({"role": "bashExecution", "command": "ls"} | more).messages
    assert (message.role, "".join(part.text for part in message.parts)) == ("user", rendered)
    assert message.is_injected


def test_an_entry_excluded_from_context_is_kept_and_not_a_message() -> None:
    ran = {"role": "bashExecution", "command": "ls", "output": "secret", "excludeFromContext": True}
    data = lines({"messages": [user("go"), ran, says("done")]})
    assert role_texts(transcript(data)) == [("user", "go"), ("assistant", "done")]
    assert trimmed_file(data, 1)[0]["messages"] == [ran, says("done")]


def test_an_unknown_role_is_reported_as_unsupported() -> None:
    parsed = of(user("go"), {"role": "oracle", "content": "?"}, says("done"))
    assert (len(parsed.messages), parsed.uncounted) == (2, 1)
    assert transcript(session(entry("a", None, {"role": "oracle", "content": "?"}))).uncounted == 1


def test_hidden_messages_and_summaries_are_not_prompts_of_the_person() -> None:
    unseen = user(
        "digest", metadata={"agentVisible": True, "userVisible": False, "kind": "tool_summary"}
    )
    summary = user("[Previous conversation summary]\nAll went well.")
    stands = {"role": "compactionSummary", "summary": "All went well.", "tokensBefore": 9}
    messages = of(unseen, summary, stands, user("go")).messages
    assert [(message.is_injected, message.is_summary) for message in messages] == [
        (True, False),
        (True, True),
        (True, True),
        (False, False),
    ]


def test_a_list_with_an_envelope_is_a_context_of_the_pi_library() -> None:
    tools = [{"name": "bash", "parameters": {"type": "object"}}]
    context = {
        "systemPrompt": "Be brief.",
        "messages": [user("go"), says("ok")],
        "tools": tools,
        "model": {"id": "m"},
    }
    parsed = transcript(lines(context))
    assert role_texts(parsed)[0] == ("system", "Be brief.")
    assert (parsed.model, parsed.tools) == ("m", '[{"name":"bash","parameters":{"type":"object"}}]')
    assert of(user("go"), says("ok")).model == "claude-opus-4-6"


def test_messages_on_separate_lines_form_one_conversation() -> None:
    data = lines(user("go"), calls("c1"), result("c1"), says("done"))
    assert [role for role, _ in role_texts(transcript(data))] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert trimmed_file(data, 0, 3) == [user("go"), says("done")]


@pytest.mark.parametrize(
    "value",
    [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "hi"}],
            "stop_reason": "end_turn",
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}],
        },
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "tool_call_id": "c", "content": "out"},
        {
            "role": "assistant",
            "content": [{"type": "toolRequest"}],
            "created": 5,
            "metadata": {"agentVisible": True},
        },
        {"role": "model", "parts": [{"text": "hi"}]},
        {"type": "session_start", "id": "x", "cwd": "/x"},
        {
            "type": "message",
            "id": "m",
            "parentId": "x",
            "message": {"role": "user", "content": [text("hi")]},
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {
            "type": "user",
            "message": {"role": "user", "content": "hi"},
            "sessionId": "s",
            "uuid": "u",
        },
        {"messages": [{"role": "user", "content": "hi"}]},
        {"messages": []},
        {"type": ["session"]},
        {"role": ["user"]},
        [],
        "session",
    ],
)
def test_shapes_shared_with_other_formats_are_not_detected(value: object) -> None:
    assert PI.sniff(value) is None


@pytest.mark.parametrize(
    ("value", "layout"),
    [
        (HEADER, "events"),
        (entry("a", None, calls("c")), "events"),
        (entry("a", None, type="model_change", modelId="m"), "events"),
        (compaction("a", None, "so"), "events"),
        (calls("c"), "events"),
        (result("c"), "events"),
        (says("so", usage={"input": 1, "output": 2}), "events"),
        ({"messages": [user("go"), calls("c")]}, "conversation"),
        ([{"messages": [calls("c")]}], "conversation"),
        ([user("go"), result("c")], "conversation"),
    ],
)
def test_shapes_unique_to_the_format_are_detected(value: object, layout: str) -> None:
    assert PI.sniff(value) == layout


def test_the_live_branch_is_the_path_from_the_last_entry_to_the_root() -> None:
    data = session(
        *STEP, entry("x", "a", says("abandoned")), entry("e", "d", user("go on")), entry("l", "e")
    )
    parsed = transcript(data)
    assert [role for role, _ in role_texts(parsed)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert (parsed.id, parsed.model) == ("s", "claude-opus-4-6")


def test_entries_with_and_without_messages() -> None:
    data = session(
        entry("a", None, type="custom_message", content="from an extension", display=False),
        entry("b", "a", data={"state": 1}),
        entry("c", "b", user("go")),
        entry("d", "c", type="branch_summary", fromId="x", summary="tried in vain"),
        entry("e", "d", type="branch_summary", fromId="x", summary=""),
        entry("f", "e", type="custom_message", content="aside", excludeFromContext=True),
        entry("g", "f", type="model_change", modelId="gpt-5"),
        entry("h", "g", type="label", targetId="c", label="here"),
    )
    parsed = transcript(data)
    assert role_texts(parsed) == [
        ("user", "from an extension"),
        ("user", "go"),
        ("user", "tried in vain"),
    ]
    assert [message.is_injected for message in parsed.messages] == [True, False, True]
    assert parsed.model == "gpt-5"


def test_interrupted_and_failed_answers_are_not_context() -> None:
    data = session(
        entry("a", None, user("go")),
        entry("b", "a", calls("c1", stopReason="aborted")),
        entry("c", "b", says("oops", stopReason="error", errorMessage="overloaded")),
        entry("d", "c", user("again")),
    )
    assert role_texts(transcript(data)) == [("user", "go"), ("user", "again")]
    assert shape(transcript(data).messages).unanswered == ()


def test_an_entry_can_select_the_last_live_entry() -> None:
    back = entry("l", "d", type="leaf", targetId="a")
    assert role_texts(transcript(session(*STEP, back))) == [("user", "list")]
    assert read(session(*STEP, entry("l", "d", type="leaf", targetId=None)))[0].transcripts == ()
    out = trimmed_file(
        session(*STEP, entry("e", "d", user("more")), entry("l", "e", type="leaf", targetId="d")), 0
    )
    assert [(event["id"], event.get("targetId")) for event in out[1:]] == [
        ("a", None),
        ("e", None),
        ("l", "a"),
    ]


def test_an_unknown_parent_means_the_previous_line() -> None:
    data = session(
        entry("a", "s", user("list")),
        entry("b", "a", calls("c1")),
        entry("c", "c1", result("c1", "M file")),
        entry("d", "c", says("done")),
    )
    assert [role for role, _ in role_texts(transcript(data))] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [event["parentId"] for event in trimmed_file(data, 3)[1:]] == ["s"]


def test_usage_of_unfinished_answers_and_zero_usage_are_ignored() -> None:
    zeros = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    some = {"input": 7, "output": 1}
    transcript = of(
        user("go"),
        says("a", usage=zeros),
        says("b", usage=some, stopReason="aborted"),
        says("c", usage=some),
    )
    assert transcript.usages == (Usage(7, 1, 3, "claude-opus-4-6"),)


def test_an_edit_changes_its_string_and_nothing_else() -> None:
    line = (
        '{"type":"message","id":"c","parentId":"b","message":{"role":"toolResult" , '
        '"toolCallId":"c1","content":'
    )
    line += '[{"type":"text","text":"%s"}],"details":{"n":1.10},"isError":false},"timestamp":"c"}\n'
    data = session(*STEP[:2]) + (line % ("word " * 300)).encode() + lines(*STEP[3:])
    ran = run(data, [("truncate", {"max_tokens": 32})])
    before, after = data.splitlines(), (ran.data or b"").splitlines()
    assert [
        position
        for position, (line, other) in enumerate(zip(before, after, strict=True))
        if line != other
    ] == [3]
    assert after[3].startswith(line.partition("%s")[0].encode())
    assert after[3].endswith(line.partition("%s")[2].strip().encode())


def test_dropping_the_last_block_of_an_entry_drops_the_entry() -> None:
    both = entry("b", "a", says("let me", content=[text("let me"), *calls("c1", "c2")["content"]]))
    data = session(STEP[0], both, entry("c", "b", result("c2")), entry("d", "c", user("well?")))
    out = run(data, [("repair", {})]).data or b""
    assert json.loads(out.splitlines()[2])["message"]["content"] == [
        text("let me"),
        calls("c2")["content"][0],
    ]
    alone = run(session(*STEP[:2], entry("d", "b", user("well?"))), [("repair", {})]).data or b""
    assert [json.loads(line)["id"] for line in alone.splitlines()] == ["s", "a", "d"]


def test_truncation_metadata_is_stored_next_to_the_message() -> None:
    long = entry("c", "b", result("c1", "word " * 300))
    data = (
        run(
            session(*STEP[:2], long, STEP[3]), [("truncate", {"max_tokens": 32, "metadata": True})]
        ).data
        or b""
    )
    changed = json.loads(data.splitlines()[3])
    assert (changed["_originalLength"], changed["_truncatedAt"]) == (1500, 0)
    assert dict(transcript(data).messages[2].metadata) == {
        "_originalLength": 1500,
        "_truncatedAt": 0,
    }
