"""A line of text replaces old images and documents, in every format that can hold one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders import call, conversation, result, says, step, user
from conftest import Run
from harness import read, run
from hypothesis import given
from msgspec.structs import replace
from pictures import PICTURE, URL, png
from strategies import CONVERSATIONS, EVENTS, files, removals

from ctxtrim.config.presets import PRESETS
from ctxtrim.conversation.edits import check, with_texts_for
from ctxtrim.conversation.turns import shape
from ctxtrim.errors import SelfCheckError
from ctxtrim.model import Message, Part
from ctxtrim.stages.structure import PROFILES, findings

MODEL = "gpt-4o"
LINE = "[image, 1024×768, ~765 tokens, removed]"
IMAGE = {"type": "image_url", "image_url": {"url": URL}}
LABEL = {"type": "text", "text": LINE}
# formats in which no image is read, or no text can replace one
NONE = (
    "ai-studio",  # its images have no age in steps
    "antigravity",
    "context",
    "copilot-cli",
    "copilot-cli, compacted",
    "crush, as shown",
    "cursor-agent",
    "droid-exec",
    "gemini-cli-stream",
    "kiro",
    "kiro-cli",
    "kiro-cli, compacted",
    "openhands, old",
    "openhands, pairs",
    "sharegpt",
    "swe-agent-web",
    "tau2-voice",
    "windsurf, steps",
)
QUICK = ("--tokenizer", "chars4", "--model", MODEL)


def dropped(data: bytes, tokenizer: str = "chars4", **settings: Any) -> bytes:
    """A file after the stage."""
    return (
        run(
            data, [("drop-images", {"max_age": 0} | settings)], tokenizer=tokenizer, model=MODEL
        ).data
        or b""
    )


def plain(steps: int) -> list[dict[str, Any]]:
    """A conversation in which prompts and results have images."""
    talk: list[dict[str, Any]] = [
        {"role": "system", "texts": ["Be brief."]},
        {"role": "user", "texts": ["Book a table."], "image": True},
    ]
    for number in range(1, steps + 1):
        calls = [{"id": f"c{number}", "name": "bash", "input": {"x": f"click {number}"}}]
        talk.append({"role": "assistant", "texts": [f"Click {number}."], "calls": calls})
        talk.append(
            {
                "role": "tool",
                "id": f"c{number}",
                "texts": [f"screen {number}"],
                "image": True,
                "error": None,
            }
        )
    talk.append({"role": "user", "texts": ["And now?"], "image": True})
    return [*talk, {"role": "assistant", "texts": ["Done."], "calls": []}]


def lines(values: list[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


FILES = {name: lines([write(plain(4), 0)]) for name, write in CONVERSATIONS.items()}
FILES |= {f"{name}, by line": lines(write(plain(4))) for name, write in EVENTS.items()}


NEW = ("screen 3", "screen 4", "And now?")
"""The texts next to the images that are at most one step old."""


def with_images(data: bytes) -> list[str]:
    """The texts next to images, one for each image."""
    messages = [
        message
        for chunk in read(data)
        for transcript in chunk.transcripts
        for message in transcript.messages
    ]
    return [
        next(text.text for text in message.parts if text.text)
        for message in messages
        for part in message.parts
        if part.kind == "attachment"
    ]


def texts(data: bytes) -> list[str]:
    """All texts that a model reads."""
    messages = [
        message
        for chunk in read(data)
        for transcript in chunk.transcripts
        for message in transcript.messages
    ]
    return [part.text for message in messages for part in message.parts]


@pytest.mark.parametrize("name", FILES)
def test_a_line_of_text_replaces_images_in_every_format(name: str) -> None:
    data = FILES[name]
    new = dropped(data, max_age=1)
    before, after = with_images(data), with_images(new)
    assert (before == []) is (name.removesuffix(", by line") in NONE)
    assert after == [text for text in before if text in NEW]
    assert sum(text.count(LINE) for text in texts(new)) == len(before) - len(after)
    assert [text for text in before if text not in NEW] == [] or new != data


@pytest.mark.parametrize("name", FILES)
def test_check_reports_no_new_findings(name: str) -> None:
    def wrong(data: bytes, profile: str) -> list[tuple[str, int | None]]:
        transcripts = [transcript for chunk in read(data) for transcript in chunk.transcripts]
        return [
            (finding.code, finding.index)
            for transcript in transcripts
            for finding in findings(PROFILES[profile], transcript, shape(transcript.messages))
        ]

    data = FILES[name]
    for profile in PROFILES:
        assert wrong(dropped(data), profile) == wrong(data, profile)


@pytest.mark.parametrize("name", FILES)
def test_restore_brings_every_byte_back(ctxtrim: Run, tmp_path: Path, name: str) -> None:
    archive = ("--archive", tmp_path / "a")
    ran = ctxtrim("run", "-s", "drop-images:max-age=0", *QUICK, *archive, stdin=FILES[name])
    assert ctxtrim("restore", "-", *archive, stdin=ran.out).out == FILES[name]


@given(files(), removals)
def test_tokens_never_grow_and_only_parts_change(data: bytes, settings: dict[str, Any]) -> None:
    ran = run(data, [("drop-images", settings)], model=MODEL)
    assert [finding for finding in ran.findings if finding.code == "self-check"] == []
    before = [transcript for chunk in read(data) for transcript in chunk.transcripts]
    after = [transcript for chunk in read(ran.data or b"") for transcript in chunk.transcripts]
    for old, new in zip(before, after, strict=True):
        assert [
            (message.role, [part.call_id for part in message.calls]) for message in old.messages
        ] == [(message.role, [part.call_id for part in message.calls]) for message in new.messages]
    assert all(row.count.tokens <= row.tokens_read for row in ran.rows)


def chat(*messages: dict[str, Any], **settings: Any) -> list[Any]:
    """The contents of a conversation of Chat Completions after the stage."""
    data = dropped(conversation([*messages, *step("end", "ok")]), **settings)
    return [message["content"] for message in json.loads(data)["messages"][:-2]]


@pytest.mark.parametrize(
    ("block", "line"),
    [
        (IMAGE, LINE),
        (
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            "[image, ~1,445 tokens, removed]",
        ),
        ({"type": "file", "file": {"file_id": "f1"}}, "[document, ~"),
        ({"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}}, "[file, ~"),
    ],
)
def test_the_line_contains_kind_size_and_tokens(block: dict[str, Any], line: str) -> None:
    ((_, new),) = chat({"role": "user", "content": [{"type": "text", "text": "Look."}, block]})
    assert new["type"] == "text"
    assert new["text"].startswith(line)
    assert new["text"].endswith(" tokens, removed]")


def test_sounds_and_images_smaller_than_the_line_are_kept() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": PICTURE, "format": "wav"}}
    pixel = f"data:image/png;base64,{png(1, 1)}"
    small = {"type": "image_url", "image_url": {"url": pixel}}
    content = [sound, small]
    data = conversation([{"role": "user", "content": content}, *step("end", "ok")])
    assert run(data, [("drop-images", {"max_age": 0})], model="claude-opus-4-6").data == data


def test_a_text_document_of_anthropic_is_a_document() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "word " * 99}
    content = [{"type": "document", "source": source}, {"type": "text", "text": "Sum up."}]
    calls = [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]
    data = conversation(
        [{"role": "user", "content": content}, {"role": "assistant", "content": calls}]
    )
    first = json.loads(dropped(data))["messages"][0]["content"][0]
    assert first["text"].startswith("[document, ~")


def test_ages_count_steps_or_turns_and_the_newest_images_are_kept() -> None:
    talk = [
        user("go on"),
        *step("a", [IMAGE]),
        *step("b", [IMAGE]),
        says("ok"),
        user("more"),
        *step("c", [IMAGE]),
    ]
    images = [2, 4, 8]
    for clock, age, left in (
        ("steps", 0, [8]),
        ("steps", 1, [4, 8]),
        ("turns", 0, [8]),
        ("turns", 1, images),
    ):
        contents = chat(*talk, clock=clock, max_age=age + (clock == "steps"))
        assert [position for position in images if contents[position] == [IMAGE]] == left
    assert chat(*talk, max_age=5) == [message["content"] for message in talk]


def test_max_age_is_5_steps_by_default() -> None:
    talk = [user("go on"), *(message for name in "abcdefg" for message in step(name, [IMAGE]))]
    ran = run(conversation(talk), [("drop-images", {})], model=MODEL)
    contents = [message["content"] for message in json.loads(ran.data or b"")["messages"]]
    assert [contents[position] for position in range(2, 15, 2)] == [[LABEL]] + [[IMAGE]] * 6
    changes = [
        (measurement.change.message, measurement.change.action, measurement.change.reason)
        for measurement in ran.rows[0].steps[0].changes
    ]
    assert changes[:2] == [(2, "truncated", "age 6 > 5"), (4, "kept", "age 5 <= 5")]


def test_a_result_with_a_single_image_keeps_its_id_and_position() -> None:
    data = dropped(
        conversation(
            [user("go on"), call("a", "b"), result("a", [IMAGE]), result("b", "ok"), *step("c", "")]
        )
    )
    assert json.loads(data)["messages"][2] == result("a", [LABEL])


def test_pinned_images_are_kept() -> None:
    talk = [user("go on"), *step("a", [IMAGE], name="look"), *step("b", [IMAGE])]
    for pin in ("tool:look", "id:a"):
        contents = chat(*talk, pin=(pin,))
        assert (contents[2], contents[4]) == ([IMAGE], [LABEL])


def test_later_stages_can_change_the_line() -> None:
    texts = [{"type": "text", "text": "row\n" * 400}, IMAGE]
    talk = [user("go on"), *step("a", texts), *step("b", "ok")]
    stages = [("drop-images", {"max_age": 0}), ("truncate", {"max_age": 0})]
    (content,) = [
        message["content"]
        for message in json.loads(run(conversation(talk), stages).data or b"")["messages"][2:3]
    ]
    assert content == [{"type": "text", "text": "[content truncated - 1 steps ago]"}]


def test_gemini_holds_the_line_in_the_text_of_the_response() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": PICTURE}}
    call_part = {"functionCall": {"name": "look", "args": {}}}
    response = {"name": "look", "response": {"output": "seen"}, "parts": [image]}
    old = [
        {"role": "model", "parts": [call_part]},
        {"role": "user", "parts": [{"functionResponse": response}, image]},
    ]
    data = lines([{"contents": [*old, {"role": "model", "parts": [call_part]}]}])
    (new,) = json.loads(dropped(data))["contents"][1]["parts"]
    assert new["functionResponse"]["response"]["output"].splitlines()[0] == "seen"
    assert new["functionResponse"]["response"]["output"].count("[image, 1024×768, ~") == 2
    assert "parts" not in new["functionResponse"]


@pytest.mark.parametrize("response", [{"output": "seen"}, {"error": "lost"}])
def test_gemini_cli_holds_the_line_in_the_text_of_any_response(
    response: dict[str, str],
) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": PICTURE}}
    parts = [{"functionResponse": {"id": "a", "name": "look", "response": response}}, image]
    calls = [{"id": name, "name": "look", "args": {}, "status": "success"} for name in "ab"]
    messages = [
        {"id": call["id"], "type": "gemini", "content": "", "toolCalls": [call]} for call in calls
    ]
    calls[0]["result"] = parts
    data = lines([{"sessionId": "s", "projectHash": "p", "messages": messages}])
    (new,) = json.loads(dropped(data))["messages"][0]["toolCalls"][0]["result"]
    ((key, text),) = new["functionResponse"]["response"].items()
    assert text.startswith(f"{response[key]}\n[image, 1024×768, ~")


def test_an_image_that_no_text_can_replace_is_kept_and_reported(ctxtrim: Run) -> None:
    screen = {"type": "computer_screenshot", "image_url": URL}
    items = [
        {"type": "computer_call", "call_id": "a", "action": {"type": "screenshot"}},
        {"type": "computer_call_output", "call_id": "a", "output": screen},
        {"type": "function_call", "call_id": "b", "name": "look", "arguments": "{}"},
    ]
    data = lines([{"input": items, "model": MODEL}])
    ran = ctxtrim("run", "-s", "drop-images:max-age=0", *QUICK, stdin=data)
    assert ran.out == data
    assert "1 old image or document is kept: this format has no place for a text instead" in ran.err
    (message,) = [
        message for message in read(data)[0].transcripts[0].messages if message.role == "tool"
    ]
    assert with_texts_for(message, {len(message.parts) - 1: "gone"}) == (message, 1)


def test_only_attachments_are_replaced_by_text() -> None:
    (transcript,) = read(conversation([user("hi")]))[0].transcripts
    (message,) = transcript.messages
    assert with_texts_for(message, {0: "gone"}) == (message, 1)
    assert Part("attachment", text_block=dict) == Part("attachment")


EDITS: dict[str, tuple[dict[str, Any], Callable[[Message], Message], str]] = {
    "remove": (
        user("hi"),
        lambda message: replace(message, parts=()),
        "has lost a text that cannot be removed alone",
    ),
    "hide": (
        user("hi"),
        lambda message: replace(message, agent_visible=False),
        "is hidden, which its format cannot express",
    ),
    "add": (
        user("hi"),
        lambda message: replace(message, parts=(*message.parts, Part("text", "more"))),
        "has a new text, for which its format has no place",
    ),
    "rewrite": (
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "function": {"name": "x", "arguments": {}}}],
        },
        lambda message: replace(message, parts=(replace(message.parts[0], text="{1}"),)),
        "has a new text in a tool_call that cannot be rewritten",
    ),
    "replace": (
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "function": {"name": "x", "arguments": {}}}],
        },
        lambda message: replace(message, parts=(replace(message.parts[0], kind="text"),)),
        "has a text instead of a tool_call that no text can replace",
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_the_stage_refuses_an_edit_that_the_format_does_not_support(name: str) -> None:
    message, edit, reason = EDITS[name]
    (transcript,) = read(conversation([message]))[0].transcripts
    check(transcript, "drop-images")
    edited = replace(transcript, messages=(edit(transcript.messages[0]),))
    with pytest.raises(SelfCheckError, match=f"drop-images: message 0 {reason}"):
        check(edited, "drop-images")


def test_the_command_line_runs_the_stage_and_no_preset_does(ctxtrim: Run) -> None:
    data = conversation([user("go on"), *step("a", [IMAGE]), *step("b", "ok")])
    ran = ctxtrim("run", "-s", "drop-images:max-age=0,clock=steps", *QUICK, "--explain", stdin=data)
    assert ran.code == 0
    assert json.loads(ran.out)["messages"][2]["content"] == [LABEL]
    assert (
        ctxtrim("run", "-s", "drop-images:max-age=0", *QUICK, "--quiet", stdin=ran.out).out
        == ran.out
    )
    assert all("drop-images" not in preset.stages for preset in PRESETS.values())


def test_the_clock_none_removes_nothing(ctxtrim: Run) -> None:
    data = conversation([user("go on"), *step("a", [IMAGE]), *step("b", "ok")])
    for words in (("drop-images", "truncate"), ("truncate",)):
        stages = [word for name in words for word in ("-s", name)]
        assert (
            ctxtrim("run", *stages, "--clock", "none", "--max-age", "0", *QUICK, stdin=data).out
            == data
        )


def test_an_image_next_to_an_empty_error_is_kept() -> None:
    """A text in the empty `error` of a Gemini response would make the result an error."""
    image = {"inlineData": {"mimeType": "image/png", "data": PICTURE}}
    response = {"functionResponse": {"name": "bash", "response": {"error": ""}, "id": "c1"}}
    answer = {"functionResponse": {"name": "bash", "response": {"output": "a"}, "id": "c2"}}
    contents = [
        {"role": "user", "parts": [{"text": "Show the harbour."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "bash", "args": {}, "id": "c1"}}]},
        {"role": "user", "parts": [response, image]},
        {"role": "model", "parts": [{"functionCall": {"name": "bash", "args": {}, "id": "c2"}}]},
        {"role": "user", "parts": [answer]},
    ]
    data = json.dumps({"contents": contents}).encode()
    ran = run(data, [("drop-images", {"max_age": 0})])
    assert ran.data == data
    assert not any(finding.severity == "error" for finding in ran.findings)
