"""Images, files and reasoning in a conversion."""

from typing import Any

import pytest
from conversions import converted, each_target, parts_of, transcript_of
from pictures import PICTURE as PNG
from pictures import URL

from ctxtrim.formats.conversion import TARGETS
from ctxtrim.formats.conversion.gemini import UNSIGNED

PROMPT = {"role": "user", "content": "What is this?"}
PDF = "JVBERi0xLjQK" * 20
ANTHROPIC_IMAGE = {"type": "base64", "media_type": "image/png", "data": PNG}


def claude(*blocks: dict[str, Any], role: str = "user", **fields: Any) -> Any:
    messages: list[dict[str, Any]] = [PROMPT, {"role": role, "content": list(blocks)}]
    if role == "user":
        messages = [{"role": "user", "content": list(blocks)}]
    return transcript_of({"system": "Look.", "messages": messages, **fields})


@each_target
def test_an_image_keeps_its_data(to: str) -> None:
    found = converted(claude({"type": "image", "source": ANTHROPIC_IMAGE}), to)
    assert found.findings == ()
    assert found.text is not None
    assert PNG in found.text
    (part,) = parts_of(found.request, "attachment")
    assert part.media == parts_of(found.source, "attachment")[0].media


@each_target
@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": {"url": URL}},
        {"type": "input_image", "image_url": URL},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
    ],
    ids=lambda block: block["type"],
)
def test_images_of_other_formats_keep_their_data(to: str, block: dict[str, Any]) -> None:
    source = transcript_of({"messages": [{"role": "user", "content": [block]}]})
    found = converted(source, to)
    assert len(parts_of(found.request, "attachment")) == 1
    assert PNG in (found.text or "")


@each_target
def test_a_document_keeps_its_data(to: str) -> None:
    source = {"type": "base64", "media_type": "application/pdf", "data": PDF}
    found = converted(claude({"type": "document", "source": source, "title": "chart"}), to)
    assert PDF in (found.text or "")
    assert found.kinds == ({"lost file name": 1} if to == "gemini" else {})
    assert to == "gemini" or '"chart' in (found.text or "")


def test_an_image_at_a_url() -> None:
    url = "https://harbor.example/buoy.png"
    source = claude({"type": "image", "source": {"type": "url", "url": url}})
    chat = converted(source, "openai-chat").value["messages"][1]["content"]
    assert chat == [{"type": "image_url", "image_url": {"url": url}}]
    part = converted(source, "gemini").value["contents"][0]["parts"][0]
    assert part == {"fileData": {"mimeType": "image/png", "fileUri": url}}
    same = converted(source, "anthropic").value["messages"][0]["content"][0]
    assert same == {"type": "image", "source": {"type": "url", "url": url}}


def test_a_file_id_of_another_provider_is_lost_and_listed() -> None:
    text = {"type": "text", "text": "See."}
    source = claude(text, {"type": "image", "source": {"type": "file", "file_id": "file_1"}})
    for to in ("openai-chat", "openai-responses", "gemini"):
        (finding,) = converted(source, to).findings
        assert (finding.code, finding.kind, finding.index) == ("lost", "image", 1)


def test_file_ids_stay_with_their_provider() -> None:
    image, document = ({"type": kind, "source": {"type": "file", "file_id": "file_1"}}
                       for kind in ("image", "document"))  # fmt: skip
    same = converted(claude(image, document), "anthropic")
    assert same.value["messages"][0]["content"] == [image, document]
    items = [{"type": "input_image", "file_id": "file-1"}, {"type": "input_file", "file_id": "f"}]
    source = transcript_of({"input": [{"type": "message", "role": "user", "content": items}]})
    assert converted(source, "openai-responses").value["input"][0]["content"] == items
    chat = converted(source, "openai-chat").value["messages"][0]["content"]
    assert chat == [{"type": "file", "file": {"file_id": "f"}}]
    assert converted(claude(TEXT, document), "openai-responses").kinds == {"lost document": 1}


GOOGLE = ["gs://harbor/buoy.png", "https://generativelanguage.googleapis.com/v1beta/files/buoy"]


@each_target
@pytest.mark.parametrize(
    ("url", "targets"),
    [
        ("https://harbor.example/buoy.png", set(TARGETS)),
        ("https://harbor.example/buoy", set(TARGETS)),
        ("http://harbor.example/buoy.png", set(TARGETS) - {"anthropic"}),
        *((url, {"gemini"}) for url in GOOGLE),
        ("attachment://buoy.png", set()),
        ("file:///harbor/buoy.png", set()),
        ("file-service://buoy", set()),
        ("https://harbor.example/buoy.svg?size=1", set()),
        ("https://harbor.example/buoy.GIF", set(TARGETS) - {"gemini"}),
    ],
)
def test_urls_that_a_target_cannot_fetch_are_lost(to: str, url: str, targets: set[str]) -> None:
    block = {"type": "image_url", "image_url": {"url": url}}
    found = converted(
        transcript_of({"messages": [PROMPT, {"role": "user", "content": [block]}]}), to
    )
    assert (url in (found.text or "")) == (to in targets)
    assert found.kinds["lost image"] == (to not in targets)


@pytest.mark.parametrize("path", ["buoy", "buoy.php?name=buoy.png", "v1.2/buoy"])
def test_the_type_of_a_url_is_not_invented(path: str) -> None:
    url = f"https://harbor.example/{path}"
    source = claude({"type": "image", "source": {"type": "url", "url": url}})
    part = converted(source, "gemini").value["contents"][0]["parts"][0]
    assert part == {"fileData": {"fileUri": url}}


@each_target
@pytest.mark.parametrize(
    ("mime", "targets"),
    [
        ("image/png", set(TARGETS)),
        ("image/jpg", set(TARGETS)),
        ("image/gif", set(TARGETS) - {"gemini"}),
        ("image/heic", {"gemini"}),
        ("image/bmp", set()),
        ("image/svg+xml", set()),
    ],
)
def test_images_of_a_type_that_a_target_refuses_are_lost(
    to: str, mime: str, targets: set[str]
) -> None:
    block = {"type": "image_url", "image_url": {"url": f"data:{mime};base64,AAAA"}}
    found = converted(
        transcript_of({"messages": [PROMPT, {"role": "user", "content": [block]}]}), to
    )
    assert ("AAAA" in (found.text or "")) == (to in targets)
    assert found.kinds["lost image"] == (to not in targets)


def test_members_of_anthropic_stay_with_anthropic() -> None:
    cached = {"cache_control": {"type": "ephemeral"}}
    pdf = {"type": "base64", "media_type": "application/pdf", "data": PDF}
    document = {"type": "document", "source": pdf, "title": "chart", "context": "north",
                "citations": {"enabled": True}}  # fmt: skip
    cited = {"type": "char_location", "cited_text": "a buoy", "document_index": 0}
    messages = [
        {"role": "user", "content": [document, TEXT | cached]},
        {"role": "assistant", "content": [TEXT | {"citations": [cited]}]},
        {"role": "user", "content": [{"type": "text", "text": "Look."}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c", "name": "look", "input": {}} | cached]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c", "content": "a buoy"} | cached]},
    ]  # fmt: skip
    request = {
        "system": [{"type": "text", "text": "Look."} | cached],
        "messages": messages,
        "tools": [
            {"name": "look", "input_schema": {"type": "object", "properties": {}}} | cached,
            {"type": "mcp_toolset", "mcp_server_name": "harbor"},
        ],
        "mcp_servers": [{"type": "url", "url": "https://harbor.example", "name": "harbor"}],
    }
    source = transcript_of(request)
    same = converted(source, "anthropic")
    messages[2]["content"] = "Look."
    assert same.value == request
    assert same.findings == ()
    for to in ("openai-chat", "openai-responses"):
        assert converted(source, to).kinds == {
            "lost cache breakpoint": 5,
            "lost citation": 2,
            "lost document context": 1,
            "lost tool schema": 1,
            "lost MCP setting": 1,
        }


def test_annotations_stay_in_responses() -> None:
    link = {"type": "url_citation", "url": "https://harbor.example", "start_index": 0}
    text = {"type": "output_text", "text": "A buoy.", "annotations": [link]}
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What?"}]},
        {"type": "message", "role": "assistant", "content": [text]},
    ]
    source = transcript_of({"input": items})
    assert converted(source, "openai-responses").value["input"] == items
    assert converted(source, "anthropic").kinds == {"lost citation": 1}


def test_settings_of_a_video_stay_in_gemini() -> None:
    video = {"fileData": {"mimeType": "video/mp4", "fileUri": "https://harbor.example/v"},
             "videoMetadata": {"startOffset": "1s"}}  # fmt: skip
    contents = [{"role": "user", "parts": [{"text": "Look."}, video]}]
    assert converted(transcript_of({"contents": contents}), "gemini").value["contents"] == contents


@pytest.mark.parametrize("to", ["anthropic", "gemini"])
def test_a_user_message_comes_first_even_if_the_first_one_is_lost(to: str) -> None:
    lost = {"type": "image", "source": {"type": "url", "url": "attachment://buoy.png"}}
    messages = [
        {"role": "user", "content": [lost]},
        {"role": "assistant", "content": "A buoy."},
        {"role": "user", "content": "Sure?"},
    ]
    found = converted(transcript_of({"system": "Look.", "messages": messages}), to)
    assert found.breaches == set()
    assert found.kinds["changed first message"] == 1


def test_the_path_of_an_image_is_no_data() -> None:
    block = {"type": "image_url", "image_url": {"url": "pictures/buoy.jpg"}}
    source = transcript_of({"messages": [PROMPT, {"role": "user", "content": [block]}]})
    assert converted(source, "gemini").kinds["lost image"] == 1


def test_images_of_results_follow_them_in_chat_completions() -> None:
    blocks = [{"type": "text", "text": "a buoy"}, {"type": "image", "source": ANTHROPIC_IMAGE}]
    messages = [
        PROMPT,
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": name, "name": "look", "input": {}} for name in "ab"]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": blocks},
            {"type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": True}]},
    ]  # fmt: skip
    source = transcript_of({"messages": messages})
    found = converted(source, "openai-chat")
    roles = [message["role"] for message in found.value["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "user"]
    assert found.value["messages"][4]["content"][0]["image_url"]["url"] == URL
    assert found.kinds == {"changed attachment": 1, "lost error flag": 1}
    same = converted(source, "anthropic").value["messages"]
    assert same == messages
    responses = converted(source, "openai-responses").value["input"]
    assert [block["type"] for block in responses[3]["output"]] == ["input_text", "input_image"]


THINKING = {"type": "thinking", "thinking": "A buoy.", "signature": "c2ln"}
TEXT = {"type": "text", "text": "A buoy."}


def test_thinking_keeps_its_signature_for_its_provider_alone() -> None:
    source = claude(THINKING, TEXT, role="assistant")
    assert converted(source, "anthropic").value["messages"][1]["content"] == [THINKING, TEXT]
    chat = converted(source, "openai-chat")
    assert chat.value["messages"][2] == {
        "role": "assistant", "content": "A buoy.", "reasoning_content": "A buoy.",
    }  # fmt: skip
    assert chat.kinds == {"lost signature": 1}
    gemini = converted(source, "gemini")
    assert gemini.value["contents"][1]["parts"][0] == {"text": "A buoy.", "thought": True}
    assert converted(source, "openai-responses").kinds == {"lost reasoning text": 1}


def test_reasoning_can_be_dropped() -> None:
    source = claude(THINKING, TEXT, role="assistant")
    found = converted(source, "anthropic", keeps_reasoning=False)
    assert found.value["messages"][1]["content"] == "A buoy."
    assert found.kinds == {"lost reasoning text": 1}


def test_encrypted_reasoning_stays_in_responses() -> None:
    reasoning = {"type": "reasoning", "summary": [], "encrypted_content": "Z2Fy"}
    texts = [{"type": "output_text", "text": "A buoy."}]
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What?"}]},
        reasoning | {"id": "rs_1"},
        {"type": "message", "role": "assistant", "content": texts},
    ]
    source = transcript_of({"model": "gpt-5", "input": items})
    found = converted(source, "openai-responses")
    assert found.findings == ()
    assert found.value["input"] == [items[0], reasoning, items[2]]
    assert converted(source, "anthropic").kinds == {"lost encrypted reasoning text": 1}


def test_a_signed_call_of_gemini_keeps_its_signature() -> None:
    call = {"functionCall": {"id": "c", "name": "look", "args": {}}, "thoughtSignature": "c2ln"}
    result = {"functionResponse": {"id": "c", "name": "look", "response": {"output": "a buoy"}}}
    contents = [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [result]},
    ]
    source = transcript_of({"contents": contents})
    assert converted(source, "gemini").value == {"contents": contents}
    assert converted(source, "anthropic").kinds["lost signature"] == 1


def in_gemini(*parts: dict[str, Any]) -> list[str | None]:
    """The signatures of the calls of an answer, after a conversion from Gemini to Gemini."""
    ids = [part["functionCall"]["id"] for part in parts if "functionCall" in part]
    results = [
        {"functionResponse": {"id": name, "name": "look", "response": {"output": "a buoy"}}}
        for name in ids
    ]
    contents = [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": list(parts)},
        {"role": "user", "parts": results},
    ]
    return signatures(transcript_of({"contents": contents}))


def signatures(source: Any) -> list[str | None]:
    """The signatures of the calls of a conversation as a request of Gemini."""
    contents = converted(source, "gemini").value["contents"]
    parts = [part for content in contents for part in content["parts"]]
    return [part.get("thoughtSignature") for part in parts if "functionCall" in part]


def test_the_first_call_of_an_answer_is_signed() -> None:
    first = {"functionCall": {"id": "a", "name": "look", "args": {}}}
    second = {"functionCall": {"id": "b", "name": "look", "args": {}}}
    signed, sign = {"thoughtSignature": "c2ln"}, "c2ln"
    assert in_gemini(first | signed, second) == [sign, None]
    assert in_gemini(first, second | signed) == [UNSIGNED, sign]
    assert in_gemini({"text": "Hm.", "thought": True} | signed, first) == [UNSIGNED]
    assert in_gemini({"text": "Hm."} | signed, first) == [UNSIGNED]


def test_signed_reasoning_of_another_provider_is_no_signature_of_a_call() -> None:
    use = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "a buoy"}
    messages = [
        PROMPT,
        {"role": "assistant", "content": [THINKING, use]},
        {"role": "user", "content": [result]},
    ]
    assert signatures(transcript_of({"messages": messages})) == [UNSIGNED]
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}],
         "encrypted_content": "Z2Fy"},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "a buoy"},
    ]  # fmt: skip
    assert signatures(transcript_of({"input": items})) == [UNSIGNED]


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-completions"])
def test_thinking_of_pi_is_signed_by_the_provider_that_it_names(api: str) -> None:
    thinking = {"type": "thinking", "thinking": "A buoy.", "thinkingSignature": "c2ln"}
    messages = [
        {"role": "user", "content": "What?", "timestamp": 1},
        {"role": "assistant", "content": [thinking, TEXT], "api": api, "stopReason": "stop"},
    ]
    found = converted(transcript_of({"messages": messages}), "anthropic")
    blocks = [THINKING, TEXT] if api.startswith("anthropic") else "A buoy."
    assert found.value["messages"][1]["content"] == blocks


def test_reasoning_that_nothing_follows_is_lost() -> None:
    found = converted(claude(THINKING, role="assistant"), "anthropic")
    assert found.kinds == {"lost reasoning text": 1}
    assert len(found.value["messages"]) == 1


def test_thinking_after_the_last_text_of_an_answer_with_calls_is_lost() -> None:
    use = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "a buoy"}
    messages = [
        PROMPT,
        {"role": "assistant", "content": [THINKING, use, THINKING, TEXT]},
        {"role": "user", "content": [result]},
    ]
    found = converted(transcript_of({"system": "Look.", "messages": messages}), "anthropic")
    assert found.value["messages"][1]["content"] == [THINKING, TEXT, use]
    assert found.kinds["lost reasoning text"] == found.kinds["changed order"] == 1
    assert found.breaches == set()


def test_a_block_of_another_provider_is_lost_and_listed() -> None:
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
    source = claude(search, TEXT, role="assistant")
    assert converted(source, "anthropic").value["messages"][1]["content"] == [search, TEXT]
    assert converted(source, "openai-chat").kinds == {"lost content block": 1}


def test_a_search_result_with_encrypted_text_stays_whole_for_its_provider() -> None:
    page = {"type": "web_search_result", "url": "http://x", "encrypted_content": "QUJD" * 9}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [page]}
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "buoy"}}
    source = claude(use, found, TEXT, role="assistant")
    assert converted(source, "anthropic").value["messages"][1]["content"] == [use, found, TEXT]
    assert converted(source, "openai-chat").kinds == {"lost content block": 2}
