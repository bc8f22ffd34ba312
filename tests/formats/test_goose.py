"""Goose: messages of blocks, results inside user messages, and messages that it does not send."""

import json
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

from conftest import Run
from harness import read, run
from insertions import format_of, written
from msgspec.structs import replace
from pictures import PICTURE

from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Message, Part
from ctxtrim.model.request import Usage

FIXTURE = Path("fixtures/goose.json")


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words} | more


def spoken(role: str, *content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": role, "created": 1767350000, "content": list(content)} | more


def call(name: str) -> dict[str, Any]:
    value = {"name": "developer__shell", "arguments": {"command": "ls"}}
    return {"type": "toolRequest", "id": name, "toolCall": {"status": "success", "value": value}}


def answer(name: str, **result: Any) -> dict[str, Any]:
    return {"type": "toolResponse", "id": name, "toolResult": result}


def session(*conversation: dict[str, Any]) -> bytes:
    return json.dumps({"id": "s", "working_dir": "/", "conversation": conversation}).encode()


def messages(*conversation: dict[str, Any]) -> tuple[Message, ...]:
    (transcript,) = read(session(*conversation))[0].transcripts
    return transcript.messages


def shown(*conversation: dict[str, Any]) -> list[tuple[str, str]]:
    found = messages(*conversation)
    return [(message.role, part.text) for message in found for part in message.parts]


def test_the_fixture_is_one_conversation() -> None:
    data = FIXTURE.read_bytes()
    chunk = read(data)[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    assert (chunk.format.name, transcript.model, transcript.id) == ("goose", "gpt-4o", "20260102_7")
    assert [message.role for message in transcript.messages] == [
        *("user", "user", "assistant", "tool", "tool", "assistant", "user"),
    ]
    assert [message.is_injected for message in transcript.messages[:2]] == [True, False]
    assert [call.call_id for call in transcript.messages[2].calls] == ["call_log", "call_map"]
    assert [message.parts[0].is_error for message in transcript.messages[3:5]] == [False, True]
    assert run(data).data == data
    assert not open_reading(data.splitlines(keepends=True)).detection.is_mixed


def test_an_older_file_has_a_header_and_a_message_per_line() -> None:
    header = {"working_dir": "/bay", "description": "Gulls", "message_count": 2}
    lines = [header, spoken("user", text("Gulls?")), spoken("assistant", text("Two."))]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    reading = open_reading(data.splitlines(keepends=True))
    assert reading.format is not None
    assert (reading.format.name, reading.detection.is_mixed) == ("goose", False)
    (chunk,) = reading.chunks
    assert [message.role for message in chunk.transcripts[0].messages] == ["user", "assistant"]


def test_messages_hidden_from_the_agent_and_texts_for_the_user_are_not_sent() -> None:
    hidden = {"metadata": {"userVisible": True, "agentVisible": False}}
    for_user = {"annotations": {"audience": ["user"]}}
    notice = {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "full"}
    assert shown(
        spoken("user", text("Hidden."), **hidden),
        spoken("user", text("Ready?"), text("(blink)", **for_user)),
        spoken("assistant", call("c"), notice),
        spoken(
            "user", answer("c", status="success", value=[text("a.txt"), text("A.TXT", **for_user)])
        ),
        spoken("assistant", notice),
    ) == [("user", "Ready?"), ("assistant", '{"command":"ls"}'), ("tool", "a.txt")]


def test_the_summary_of_a_compaction_is_kept_longer_than_old_exchanges() -> None:
    """Goose hides what it compacted, and writes a summary and a request to continue."""
    hidden = {"metadata": {"userVisible": True, "agentVisible": False}}
    for_agent = {"metadata": {"userVisible": False, "agentVisible": True}}
    talk = [
        spoken("user", text("Count the gulls."), **hidden),
        spoken("assistant", text("Nine. " * 50), **hidden),
        spoken("user", text("There are nine gulls. " * 6), **for_agent),
        spoken("assistant", text("I continue."), **for_agent),
        spoken("user", text("And the terns?")),
        spoken("assistant", text("Many terns. " * 50)),
        spoken("user", text("A note of the client."), **for_agent),
        spoken("assistant", text("Noted.")),
        spoken("user", text("And the auks?")),
    ]
    found = messages(*talk)
    assert [message.is_summary for message in found] == [True, *[False] * 6]
    assert [message.is_injected for message in found[::2]] == [True, False, True, False]
    ran = run(session(*talk), [("trim", {})], limit=90)
    assert ran.data is not None
    kept = json.loads(ran.data)["conversation"]
    assert (kept[:3], talk[5] in kept, kept[-1]) == (talk[:3], False, talk[-1])


def test_results_have_every_form_that_goose_wrote() -> None:
    blocks = [text("a.txt"), {"type": "resource", "resource": {"uri": "f", "text": "b.txt"}}]
    found = messages(
        spoken("assistant", call("1"), call("2"), call("3")),
        spoken(
            "user",
            answer("1", status="success", value=blocks),
            answer("2", status="success", value={"content": blocks, "isError": True}),
            answer("3", status="error", error="-32603: broken"),
            text("Go on."),
        ),
    )
    assert [message.role for message in found] == ["assistant", "tool", "tool", "tool", "user"]
    assert [[part.text for part in message.parts] for message in found[1:4]] == [
        *(["a.txt", "b.txt"], ["a.txt", "b.txt"], ["-32603: broken"]),
    ]
    assert [message.parts[0].is_error for message in found[1:4]] == [None, True, True]


def test_a_call_without_arguments_or_with_an_error_is_sent_with_empty_ones(ctxtrim: Run) -> None:
    plain = {"status": "success", "value": {"name": "list_berths"}}
    failed = {"status": "error", "error": "-32602: no such berth"}
    talk = session(
        spoken("user", text("Which berths?")),
        spoken(
            "assistant",
            {"type": "toolRequest", "id": "1", "toolCall": plain},
            {"type": "toolRequest", "id": "2", "toolCall": failed},
        ),
        spoken("user", answer("1", status="success", value=[text("4")]), answer("2", **failed)),
    )
    ran = ctxtrim("convert", "--to", "anthropic", stdin=talk)
    calls = json.loads(ran.out.splitlines()[0])["messages"][1]["content"]
    assert [(each["name"], each["input"]) for each in calls] == [
        ("list_berths", {}),
        ("unparseable_tool_call", {}),
    ]


def test_a_block_whose_type_is_no_text_counts_as_its_json() -> None:
    (_, result) = messages(
        spoken("assistant", call("a")),
        spoken("user", answer("a", status="success", value={"content": [{"type": ["image"]}]})),
    )
    assert [part.text for part in result.parts] == ['{"type":["image"]}']


def blob(content: bytes, **more: str) -> dict[str, Any]:
    resource = {"uri": "f", "blob": b64encode(content).decode()} | more
    return {"type": "resource", "resource": resource}


def test_resources_of_results_count_as_goose_sends_them() -> None:
    """Text in base64 is decoded; images and PDFs are attachments, where an API takes them."""
    png = b64decode(PICTURE)
    blocks = [
        blob("Zwölf Möwen.".encode(), mimeType="text/plain"),
        blob(png, mimeType="image/png"),
        blob(png, mimeType="image/bmp"),
        blob(png),
        {"type": "resource", "resource": {"uri": "f", "blob": "no base64"}},
        {"type": "resource_link", "uri": "file:///bay.txt", "name": "bay " * 90},
        {"type": "audio", "data": PICTURE * 9, "mimeType": "audio/wav"},
    ]
    (_, result) = messages(
        spoken("assistant", call("1")), spoken("user", answer("1", status="success", value=blocks))
    )
    (image,) = [part.media for part in result.parts if part.media]
    assert (image.kind, image.pixels) == ("image", (1024, 768))
    assert [part.text for part in result.parts if not part.media] == [
        "Zwölf Möwen.",
        f"[Binary content (image/bmp) - {len(png)} bytes]",
        f"[Binary content (application/octet-stream) - {len(png)} bytes]",
        "no base64",
        "[Resource link]",
        "[Audio content: not supported]",
    ]
    assert not any(part.span for part in result.parts)


def test_documents_are_attachments_and_errors_are_not_sent(ctxtrim: Run) -> None:
    document = {"type": "document", "data": b64encode(b"%PDF-1.4 /Type /Page").decode()}
    document["mimeType"] = "application/pdf"
    talk = [
        spoken("user", text("Read the chart."), document),
        spoken(
            "assistant",
            {"type": "reasoning", "text": "A chart."},
            text("Nine fathoms."),
            {"type": "error", "kind": "other", "message": "Broken. " * 90},
        ),
        spoken("user", text("And the log?")),
        spoken("assistant", text("Calm.")),
    ]
    found = messages(*talk)
    chart = found[0].parts[1].media
    assert chart is not None and (chart.kind, chart.pages) == ("pdf", 1)
    assert [(part.kind, part.text) for part in found[1].parts] == [
        ("reasoning", "A chart."),
        ("text", "Nine fathoms."),
    ]
    ran = ctxtrim("run", "-s", "drop-images:clock=turns,max-age=0", stdin=session(*talk))
    dropped = json.loads(ran.out)["conversation"]
    assert [block["type"] for block in dropped[0]["content"]] == ["text", "text"]
    assert dropped[1:] == talk[1:]


def test_a_text_without_an_audience_is_for_all() -> None:
    for audience in ([], ["assistant"], ["user", "assistant"]):
        block = text("Ready?", annotations={"audience": audience})
        assert shown(spoken("user", block)) == [("user", "Ready?")]


def test_a_message_is_removed_with_its_last_block() -> None:
    talk = [
        spoken("user", text("List the files. " * 40)),
        spoken("assistant", call("1")),
        spoken("user", answer("1", status="success", value=[text("a.txt " * 90)]), text("And b?")),
        spoken("assistant", text("No b.")),
        spoken("user", text("Thanks.")),
    ]
    ran = run(session(*talk), [("trim", {})], limit=45)
    assert ran.data is not None
    left = json.loads(ran.data)["conversation"]
    assert left == [{**talk[2], "content": talk[2]["content"][1:]}, *talk[3:]]


def used(prompt: int, model: str = "gpt-5", **more: Any) -> dict[str, Any]:
    """Metadata of an answer: the model, and a usage whose input includes cached tokens."""
    counts = {"inputTokens": prompt, "outputTokens": 12, "totalTokens": prompt + 12}
    usage = counts | {"cacheReadTokens": 80, "cacheWriteTokens": 5} | more
    return {"metadata": {"inference": {"requestedModel": model}, "usage": usage}}


def test_the_usage_and_the_model_of_answers_are_read() -> None:
    conversation = [
        spoken("user", text("Open the sluice.")),
        spoken("assistant", text("Which one?"), **used(90)),
        spoken("user", text("The second.")),
        spoken("assistant", text("Done."), **used(120)),
    ]
    conversation[-1]["metadata"]["inference"]["resolvedModel"] = "gpt-5.1"
    (transcript,) = read(session(*conversation))[0].transcripts
    assert transcript.model == "gpt-5.1"
    assert transcript.usages == (Usage(90, 12, 1, "gpt-5"), Usage(120, 12, 3, "gpt-5.1"))


def test_usage_before_a_compaction_and_that_of_the_summary_are_not_read() -> None:
    old = spoken("assistant", text("Ready."), **used(900))
    old["metadata"]["agentVisible"] = False
    conversation = (
        spoken("assistant", text("So."), **used(800)),
        old,
        spoken("assistant", text("A summary."), **used(950, isCompaction=True)),
        spoken("assistant", text("Done."), **used(120)),
    )
    (transcript,) = read(session(*conversation))[0].transcripts
    assert transcript.usages == (Usage(120, 12, 2, "gpt-5"),)


def test_the_usage_of_a_streamed_answer_may_be_on_any_of_its_lines() -> None:
    lines = [spoken("assistant", text(word), id="m") for word in ("Open", "ing.")]
    asked = spoken("user", text("Open it."))
    (transcript,) = read(stream(asked, lines[0], lines[1] | used(90)))[0].transcripts
    assert transcript.usages == (Usage(90, 12, 1, "gpt-5"),)


def stream(*conversation: dict[str, Any]) -> bytes:
    lines = [{"type": "message", "message": message} for message in conversation]
    lines.append({"type": "complete", "total_tokens": 9})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


TALK = (
    spoken("user", text("List the files."), id="m1"),
    spoken("assistant", text("Lis"), id="m2"),
    spoken("assistant", text("ting."), call("1"), id="m2"),
    spoken("user", answer("1", status="success", value=[text("a.txt " * 90)]), id="m3"),
    spoken("assistant", text("One file."), id="m4"),
    spoken("user", text("Thanks."), id="m5"),
)


def test_the_output_of_a_run_is_read_and_edited() -> None:
    reply = spoken("assistant", text("Listing."), call("1"), id="m2")
    talk = [TALK[0], reply, *TALK[3:]]
    data = json.dumps({"messages": talk, "metadata": {"status": "completed"}}).encode()
    chunk = read(data)[0]
    assert chunk.format is not None and chunk.format.name == "goose"
    roles = [message.role for message in chunk.transcripts[0].messages]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    ran = run(data, [("trim", {})], limit=40)
    assert ran.data is not None
    assert json.loads(ran.data)["messages"] == [talk[0], *talk[3:]]


def test_the_stream_of_a_run_is_read_and_edited() -> None:
    chunk = read(stream(*TALK))[0]
    assert chunk.format is not None and chunk.format.name == "goose"
    (transcript,) = chunk.transcripts
    assert [[part.text for part in message.parts] for message in transcript.messages] == [
        ["List the files."],
        ["Lis", "ting.", '{"command":"ls"}'],
        ["a.txt " * 90],
        ["One file."],
        ["Thanks."],
    ]
    assert transcript.uncounted == 0
    assert run(stream(*TALK), [("trim", {})], limit=40).data == stream(*TALK[:1], *TALK[4:])


def test_an_answer_of_a_stream_has_any_number_of_lines() -> None:
    deltas = [spoken("assistant", text(str(number)), id="m2") for number in range(50)]
    last = [spoken("assistant", text(str(number)), id="m6") for number in range(50)]
    (transcript,) = read(stream(TALK[0], *deltas, *TALK[3:], *last))[0].transcripts
    answers = [transcript.messages[1], transcript.messages[-1]]
    assert [len(message.spans) for message in answers] == [50, 50]
    for message in answers:
        assert [part.text for part in message.parts] == [str(number) for number in range(50)]
    indices = [message.index for message in transcript.messages]
    assert indices == list(range(len(indices))) == list(range(6))


def test_new_messages_of_a_stream_are_lines() -> None:
    question = spoken("user", *TALK[3]["content"], text("And b?"), id="m3")
    chunk = read(stream(*TALK[:3], question))[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    new = Message("user", (Part("text", "Go on."),))
    for position in range(5):
        edited = (*transcript.messages[:position], new, *transcript.messages[position:])
        out = written(chunk, chunk.format, replace(transcript, messages=edited))
        again = read(out)[0].transcripts[0].messages
        assert [part.text for part in again[position].parts] == ["Go on."]
        assert len(again) == len(edited)


def test_answers_of_a_stream_without_ids_stay_apart() -> None:
    answers = [spoken("assistant", text(word)) for word in ("One.", "Two.")]
    (transcript,) = read(stream(TALK[0], *answers))[0].transcripts
    assert [message.role for message in transcript.messages] == ["user", "assistant", "assistant"]


def test_a_new_message_next_to_one_that_goose_wrote_is_shown_to_all() -> None:
    for_agent = {"metadata": {"userVisible": False, "agentVisible": True}}
    data = session(spoken("user", text("In short."), **for_agent), spoken("assistant", text("Hm.")))
    (chunk,) = read(data)
    (found,) = chunk.transcripts
    new = Message("user", (Part("text", "Go on."),))
    meant = replace(found, messages=(new, *found.messages))
    (added, *_) = json.loads(written(chunk, format_of(data), meant))["conversation"]
    assert added["content"] == [text("Go on.")]
    assert added["metadata"] == {"userVisible": True, "agentVisible": True}


def test_messages_of_openai_with_a_time_are_not_goose() -> None:
    reply = {"role": "assistant", "content": None, "tool_calls": [], "created": 1}
    talk = [spoken("user", text("Hi.")), reply]
    assert format_of(json.dumps({"messages": talk}).encode()).name == "openai-chat"


def test_the_halves_of_a_split_message_have_different_ids() -> None:
    value = {"value": "two boats", "status": "success"}
    results = [answer(name, **value) for name in ("c1", "c2")]
    for together in (spoken("user", *results, id="m1"), {"id": "m1"} | spoken("user", *results)):
        data = session(spoken("assistant", call("c1"), call("c2")), together)
        (chunk,) = read(data)
        (found,) = chunk.transcripts
        new = Message("user", (Part("text", "So far."),))
        meant = replace(found, messages=(*found.messages[:2], new, *found.messages[2:]))
        out = json.loads(written(chunk, format_of(data), meant))
        ids = [each.get("id") for each in out["conversation"][1:]]
        assert "m1" in ids
        assert len(set(ids)) == 3
