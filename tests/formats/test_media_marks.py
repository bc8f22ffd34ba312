"""Attachments next to the messages stay in step with their marks."""

import json
from typing import Any

import pytest
from conftest import Run

WORDS = "A grey ship at a quay. " * 20


def roles(*texts: str) -> list[dict[str, Any]]:
    return [
        {"role": role, "content": text}
        for role, text in zip(("user", "assistant") * len(texts), texts, strict=False)
    ]


def senders(*texts: str) -> list[dict[str, Any]]:
    return [
        {"from": sender, "value": text}
        for sender, text in zip(("human", "gpt") * len(texts), texts, strict=False)
    ]


@pytest.mark.parametrize(("key", "make"), [("messages", roles), ("conversations", senders)])
@pytest.mark.parametrize("is_array", [True, False])
def test_attachments_of_dropped_marks_are_removed(
    ctxtrim: Run, key: str, make: Any, is_array: bool
) -> None:
    talk = make(f"<image><video>{WORDS}<image>", WORDS, "<image>And this?", "A tug.")
    value = {key: talk, "images": ["a.jpg", "b.jpg", "c.jpg"], "videos": ["d.mp4"], "id": 7}
    data = json.dumps([value] if is_array else value).encode()
    ran = ctxtrim("trim", "--budget", "60", stdin=data)
    left = {key: talk[2:], "images": ["c.jpg"], "videos": [], "id": 7}
    assert json.loads(ran.out) == ([left] if is_array else left)


@pytest.mark.parametrize(("key", "make"), [("messages", roles), ("conversations", senders)])
@pytest.mark.parametrize("mark", ["", "<image>"])
def test_a_summary_quotes_a_mark_in_brackets(ctxtrim: Run, key: str, make: Any, mark: str) -> None:
    old = make(f"<image>Name the ship. <video>{WORDS}", WORDS, f"<audio>Why? {WORDS}", WORDS)
    recent = make(f"{mark}And this?", "A tug.")
    value = {
        key: [*old, *recent], "images": ["a.jpg", "b.jpg"] if mark else ["a.jpg"],
        "videos": ["v.mp4"], "audios": ["a.wav"],
    }  # fmt: skip
    data = json.dumps(value).encode()
    ran = ctxtrim("summarize", "--keep-recent-turns", "1", stdin=data)
    left = json.loads(ran.out)
    texts = "\n".join(str(message) for message in left[key])
    assert (ran.code, "[image]Name the ship." in texts) == (0, True)
    assert texts.count("<image>") == (1 if mark else 0)
    assert (left["images"], left["videos"], left["audios"]) == (["b.jpg"] if mark else [], [], [])


def test_a_digest_quotes_a_mark_in_brackets(ctxtrim: Run) -> None:
    talk: list[dict[str, Any]] = [{"role": "user", "content": "<image>Look."}]
    for number in range(3):
        function = {"name": "bash", "arguments": json.dumps({"command": f"see '<image>' {number}"})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        talk.append({"role": "assistant", "content": "An <image>.", "tool_calls": [call]})
        talk.append({"role": "tool", "tool_call_id": call["id"], "content": f"<image>{WORDS}"})
    talk.append({"role": "assistant", "content": "Seen."})
    pictures = list("abcdefg")
    data = json.dumps({"messages": talk, "images": pictures}).encode()
    ran = ctxtrim("run", "-s", "cutoff:tool-cutoff=1", stdin=data)
    left = json.loads(ran.out)
    contents = "".join(message["content"] for message in left["messages"])
    assert (ran.code, "> An [image]." in contents) == (0, True)
    assert (contents.count("<image>"), left["images"]) == (3, ["a", "f", "g"])


def test_a_mark_in_the_cut_of_a_result_is_removed_with_its_attachment(ctxtrim: Run) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    lines = "".join(f"line {number} of the log\n" for number in range(400))
    talk = [
        {"role": "user", "content": "<image>Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": f"<image>{lines}<image>{lines}<image>"},
        {"role": "assistant", "content": "Seen."},
    ]
    data = json.dumps({"messages": talk, "images": ["1", "2", "3", "4"]}).encode()
    ran = ctxtrim("truncate", "--max-tokens", "100", stdin=data)
    left = json.loads(ran.out)
    assert left["messages"][2]["content"].count("<image>") == 2
    assert left["images"] == ["1", "2", "4"]


def test_lists_out_of_step_are_not_edited(ctxtrim: Run) -> None:
    talk = roles(f"<image>{WORDS}", WORDS, "And this?", "A tug.")
    data = json.dumps({"messages": talk, "images": ["a.jpg", "b.jpg"]}).encode()
    ran = ctxtrim("trim", "--budget", "60", stdin=data)
    assert "1 marks <image> for 2 values in `images`" in ran.err
    assert ran.code != 0


@pytest.mark.parametrize("left_images", [[], ["b.jpg"]])
def test_attachments_of_a_record_in_a_string_are_removed(
    ctxtrim: Run, left_images: list[str]
) -> None:
    mark = "<image>" * len(left_images)
    talk = roles(f"<image>{WORDS}", WORDS, f"{mark}And this?", "A tug.")
    record = {"messages": talk, "images": ["a.jpg", *left_images]}
    event = {"timestamp": 1, "message": json.dumps(record)}
    ran = ctxtrim("trim", "--budget", "60", stdin=json.dumps(event).encode())
    left = json.loads(json.loads(ran.out)["message"])
    assert left == {"messages": talk[2:], "images": left_images}


def shown(caption: str, **image: Any) -> list[dict[str, Any]]:
    return [{"type": "image", **image}, {"type": "text", "text": caption}]


@pytest.mark.parametrize("image", [{}, {"text": None, "index": None, "image": None}])
def test_a_block_without_data_is_a_mark(ctxtrim: Run, image: dict[str, Any]) -> None:
    talk = [
        {"role": "user", "content": shown("<image>And this?", **image)},
        {"role": "assistant", "content": WORDS},
        {"role": "user", "content": shown("Name the ship.", image="data:image/png;base64,AAAA")},
        {"role": "assistant", "content": WORDS},
        {"role": "user", "content": shown("And this?", **image)},
        {"role": "assistant", "content": "A tug."},
    ]
    data = json.dumps({"images": ["a.png", "b.png", "c.png"], "messages": talk}).encode()
    ran = ctxtrim("trim", "--budget", "40000", stdin=data)
    assert json.loads(ran.out) == {"images": ["c.png"], "messages": talk[4:]}


def test_the_attachment_of_a_dropped_block_is_removed(ctxtrim: Run) -> None:
    talk = [
        {"role": "user", "content": shown("Name the ship.")},
        {"role": "assistant", "content": "A tug."},
        {"role": "user", "content": shown("And this?")},
        {"role": "assistant", "content": "A ferry."},
    ]
    data = json.dumps({"messages": talk, "images": ["a.png", "b.png"]}).encode()
    ran = ctxtrim("run", "-s", "drop-images:clock=turns,max-age=0", stdin=data)
    left = json.loads(ran.out)
    assert [block["type"] for block in left["messages"][0]["content"]] == ["text", "text"]
    assert (left["messages"][1:], left["images"]) == (talk[1:], ["b.png"])


def test_a_block_keeps_its_index_or_is_not_edited(ctxtrim: Run) -> None:
    talk = [
        {"role": "user", "content": shown(WORDS, index=0)},
        {"role": "assistant", "content": WORDS},
        {"role": "user", "content": shown("And this?", index=1)},
        {"role": "assistant", "content": "A tug."},
    ]
    data = json.dumps({"messages": talk, "images": ["a.png", "b.png"]}).encode()
    ran = ctxtrim("trim", "--budget", "40000", stdin=data)
    assert "the `index` 1 of a block that stays would point to another attachment" in ran.err
    assert ran.code != 0


@pytest.mark.parametrize(("key", "make"), [("messages", roles), ("conversations", senders)])
@pytest.mark.parametrize("image", ["a.jpg", ["a.jpg"], {"bytes": None, "path": "a.jpg"}])
def test_a_single_attachment_is_removed_with_its_mark(
    ctxtrim: Run, key: str, make: Any, image: Any
) -> None:
    talk = make(f"<image>{WORDS}", WORDS, "And this?", "A tug.")
    data = json.dumps({"id": 7, "image": image, key: talk}).encode()
    ran = ctxtrim("trim", "--budget", "60", stdin=data)
    assert json.loads(ran.out) == {"id": 7, key: talk[2:]}


def test_a_single_key_may_have_a_list(ctxtrim: Run) -> None:
    talk = senders(f"<video>{WORDS}", WORDS, "<video>And this?", "A tug.")
    data = json.dumps({"video": ["a.mp4", "b.mp4"], "conversations": talk}).encode()
    ran = ctxtrim("trim", "--budget", "60", stdin=data)
    assert json.loads(ran.out) == {"video": ["b.mp4"], "conversations": talk[2:]}


def test_a_summary_quotes_the_mark_of_a_single_attachment_in_brackets(ctxtrim: Run) -> None:
    old = senders(f"<image>Name the ship. {WORDS}", WORDS, f"Why? {WORDS}", WORDS)
    data = json.dumps(
        {"image": "a.jpg", "conversations": [*old, *senders("And this?", "A tug.")]}
    ).encode()
    ran = ctxtrim("summarize", "--keep-recent-turns", "1", stdin=data)
    left = json.loads(ran.out)
    assert "[image]Name the ship." in left["conversations"][0]["value"]
    assert left.keys() == {"conversations"}


def test_the_voice_of_a_request_is_no_attachment(ctxtrim: Run) -> None:
    request = {"audio": {"voice": "alloy", "format": "wav"}}
    talk = roles(f"The tag <audio>. {WORDS}", WORDS, "And this?", "A tug.")
    data = json.dumps({"messages": talk, **request}).encode()
    ran = ctxtrim("trim", "--budget", "60", stdin=data)
    assert json.loads(ran.out) == {"messages": talk[2:], **request}


@pytest.mark.parametrize("make", [roles, senders])
@pytest.mark.parametrize(
    "member",
    [
        {"image": "python:3.11"},
        {"image": "ghcr.io/lab/tug:1.png-2"},
        {"audio": ""},
        {"audio": "wav"},
    ],
)
def test_a_member_that_names_no_media_is_no_attachment(
    ctxtrim: Run, make: Any, member: dict[str, str]
) -> None:
    key = "messages" if make is roles else "conversations"
    talk = make(f"<image><video>{WORDS}<audio>", WORDS, "<image>And this?", "A tug.")
    data = json.dumps({**member, key: talk}).encode()
    ran = ctxtrim("trim", "--budget", "60", stdin=data)
    assert json.loads(ran.out) == {**member, key: talk[2:]}


@pytest.mark.parametrize(
    "image",
    [
        "coco/train2017/000000033471.jpg",
        "ships/TUG.JPEG",
        "https://port.example/ship",
        "tug.webp?size=2.5",
        "data:image/png;base64,AAAA",
        "A" * 8_000,
    ],
)
def test_a_path_url_or_data_of_an_image_is_an_attachment(ctxtrim: Run, image: str) -> None:
    talk = roles(f"<image>{WORDS}", WORDS, "And this?", "A tug.")
    data = json.dumps({"image": image, "messages": talk}).encode()
    ran = ctxtrim("trim", "--budget", "60", stdin=data)
    assert json.loads(ran.out) == {"messages": talk[2:]}


@pytest.mark.parametrize("stays", [True, False])
def test_a_mark_of_another_kind_than_a_single_attachment_is_text(ctxtrim: Run, stays: bool) -> None:
    first = "" if stays else "<image>"
    last = "<image>" if stays else ""
    talk = roles(f"{first}A <video> tag. {WORDS}", WORDS, f"{last}And this?", "A tug.")
    data = json.dumps({"messages": talk, "image": "a.jpg"}).encode()
    ran = ctxtrim("trim", "--budget", "60", stdin=data)
    image = {"image": "a.jpg"} if stays else {}
    assert json.loads(ran.out) == {"messages": talk[2:], **image}


def test_a_summary_quotes_a_tag_of_another_kind_as_it_is(ctxtrim: Run) -> None:
    old = roles(f"<image>Explain <video> tags. {WORDS}", WORDS, f"Why? {WORDS}", WORDS)
    value = {"image": "a.jpg", "messages": [*old, *roles("And this?", "A tug.")]}
    data = json.dumps(value).encode()
    ran = ctxtrim("summarize", "--keep-recent-turns", "1", stdin=data)
    assert "[image]Explain <video> tags." in json.loads(ran.out)["messages"][0]["content"]


def test_a_mark_of_another_kind_than_the_attachment_is_not_edited(ctxtrim: Run) -> None:
    talk = senders(f"<image>{WORDS}", WORDS, "And this?", "A tug.")
    data = json.dumps({"video": "a.mp4", "conversations": talk}).encode()
    ran = ctxtrim("trim", "--budget", "60", stdin=data)
    assert "1 marks <image> for 0 values in `image`" in ran.err
    assert ran.code != 0


BOXES = {"ref": ["ship"], "bbox": [[1, 2, 3, 4], [5, 6, 7, 8]], "image_id": [0, 1]}


@pytest.mark.parametrize(
    ("first", "attached", "mark"),
    [
        ("<image>Find the ship: <bbox>.", {"images": ["a.jpg", "b.jpg"]}, "<bbox>"),
        ("<image>Find the <ref-object>.", {"images": ["a.jpg", "b.jpg"]}, "<ref-object>"),
        ("<image>Look.", {"images": ["a.jpg", "b.jpg"]}, "<image>"),
        ("Find the ship: <bbox>.", {}, "<bbox>"),
    ],
)
def test_a_conversation_with_boxes_keeps_its_marks(
    ctxtrim: Run, first: str, attached: dict[str, Any], mark: str
) -> None:
    talk = roles(f"{first} {WORDS}", WORDS, "<image>And this?", "At <bbox>.")
    data = json.dumps({"messages": talk, **attached, "objects": BOXES}).encode()
    ran = ctxtrim("trim", "--budget", "60", stdin=data)
    assert f"a mark {mark} would be removed, but the boxes in `objects` belong to the" in ran.err
    assert ran.code != 0


def test_messages_without_marks_are_dropped_also_with_boxes(ctxtrim: Run) -> None:
    talk = roles(f"Hello. {WORDS}", WORDS, "<image>And this?", "At <bbox>.")
    row = {"images": ["a.jpg"], "objects": {"ref": [], "bbox": [[1, 2, 3, 4]]}}
    ran = ctxtrim("trim", "--budget", "60", stdin=json.dumps({"messages": talk, **row}).encode())
    assert json.loads(ran.out) == {"messages": talk[2:], **row}


def test_lists_without_boxes_are_no_reason_to_keep_marks(ctxtrim: Run) -> None:
    talk = roles(f"<image>{WORDS}", WORDS, "And this?", "At a <bbox>.")
    row = {"images": ["a.jpg"], "objects": {"ref": [], "bbox": []}}
    ran = ctxtrim("trim", "--budget", "60", stdin=json.dumps({"messages": talk, **row}).encode())
    assert json.loads(ran.out) == {"messages": talk[2:], **row, "images": []}


@pytest.mark.parametrize(
    "member, is_counted",
    [
        ({"images": ["berth.jpg"]}, False),
        ({"video": "berth.mp4"}, False),
        ({"images": []}, True),
        ({"audio": {"voice": "alto", "format": "wav"}}, True),
    ],
)
@pytest.mark.parametrize("key", ["messages", "conversations"])
def test_attachments_next_to_the_messages_make_an_estimate(
    ctxtrim: Run, key: str, member: dict[str, Any], is_counted: bool
) -> None:
    talk = {
        "messages": [{"role": "user", "content": "Which berth is this?"}],
        "conversations": [{"from": "human", "value": "Which berth is this?"}],
    }
    data = json.dumps({"model": "gpt-4o", key: talk[key]} | member).encode()
    (row,) = json.loads(ctxtrim("count", "--json", stdin=data).out)["transcripts"]
    name = next(iter(member))
    note = f"the attachments in `{name}` are not read; not counted"
    messages = [finding["message"] for finding in row["findings"]]
    assert (note in messages) == (not is_counted)
    assert is_counted or row["exactness"] == "estimated"
