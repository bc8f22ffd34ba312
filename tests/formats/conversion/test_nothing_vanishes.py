"""Each text of a request is in its conversion, or its message has a finding.

The requests have the members that their APIs document.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from conversions import converted, transcript_of
from pictures import PICTURE, URL

from ctxtrim.formats.conversion import TARGETS
from ctxtrim.formats.lines import SourceValues

PDF = "JVBERi0xLjQK" * 20
IMAGE = {"type": "base64", "media_type": "image/png", "data": PICTURE}
NAMES = {"type", "role", "id", "status", "execution", "format", "transcript"}
"""Members whose texts only name a kind or a state, or what the provider stores under an id."""
HEAD = "data:image/png;base64,"


def cached(name: str) -> dict[str, Any]:
    """A member for a cache, with a text of its own."""
    return {"cache_control": {"type": "ephemeral", "ttl": f"cached {name}"}}


CHAT = {"messages": [
    {"role": "system", "name": "captain", "content": [{"type": "text", "text": "Be brief."}]},
    {"role": "user", "name": "ada", **cached("prompt"), "content": [
        {"type": "text", "text": "Tide?", **cached("text")},
        {"type": "image_url", "image_url": {"url": "https://port.example/a.png", "detail": "high"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRgAA", "format": "wav"}},
        {"type": "file", "file": {"filename": "chart.pdf", "file_data": PDF}},
    ]},
    {"role": "assistant", "name": "pilot", "content": "I look.", "reasoning_content": "Which buoy?",
     "annotations": [{"type": "url_citation", "url_citation": {"url": "https://tide.example"}}],
     "tool_calls": [{"id": "a", "type": "function", "function": {
         "name": "look", "arguments": '{"buoy": "north"}'},
         "extra_content": {"google": {"thought_signature": "c2lnbmVk"}}}]},
    {"role": "tool", "tool_call_id": "a", "content": "low water", **cached("result")},
    {"role": "assistant", "content": None, "refusal": "I refuse."},
    {"role": "user", "content": "Say it."},
    {"role": "assistant", "content": None,
     "audio": {"id": "audio_1", "data": "UklGRgAA", "transcript": "It is low."}},
    {"role": "user", "content": "Draw it."},
    {"role": "assistant", "content": "Here.", "images": [
        {"type": "image_url", "image_url": {"url": URL}}]},
    {"role": "user", "content": "Thanks."},
]}  # fmt: skip
ANTHROPIC = {"system": [{"type": "text", "text": "Be brief.", **cached("system")}], "messages": [
    {"role": "user", "content": [
        {"type": "text", "text": "Tide?"},
        {"type": "document", "title": "Chart", "context": "of the port", **cached("document"),
         "source": {"type": "text", "media_type": "text/plain", "data": "three metres"},
         "citations": {"enabled": True}},
        {"type": "image", "source": IMAGE, **cached("image")},
        {"type": "search_result", "source": "https://tide.example", "title": "Tides",
         "content": [{"type": "text", "text": "north"}], "citations": {"enabled": True}},
        {"type": "container_upload", "file_id": "file_1"},
    ]},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "Which buoy?", "signature": "c2lnbmVk"},
        {"type": "redacted_thinking", "data": "c2VhbGVk"},
        {"type": "text", "text": "I look.", "citations": [{"cited_text": "three"}]},
        {"type": "server_tool_use", "id": "s", "name": "code_execution", "input": {"code": "x()"}},
        {"type": "tool_use", "id": "a", "name": "look", "input": {"buoy": "north"},
         "caller": {"type": "code_execution_20250825", "tool_id": "s"}, **cached("call")},
    ]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "a", **cached("result"), "content": [
            {"type": "text", "text": "low water", **cached("text"),
             "citations": [{"cited_text": "low"}]},
            {"type": "image", "source": IMAGE, **cached("picture")},
            {"type": "tool_reference", "tool_name": "chart"}]},
        {"type": "text", "text": "And now?"},
    ]},
]}  # fmt: skip
RESPONSES = {"model": "gpt-5.4", "instructions": "Be brief.", "input": [
    {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "Tide?"},
        {"type": "input_image", "image_url": "https://port.example/a.png", "detail": "original"},
        {"type": "input_file", "file_url": "https://port.example/a.pdf", "detail": "high"},
    ]},
    {"type": "reasoning", "id": "r", "encrypted_content": "c2VhbGVk",
     "summary": [{"type": "summary_text", "text": "A buoy."}],
     "content": [{"type": "reasoning_text", "text": "Which buoy?"}]},
    {"type": "message", "role": "assistant", "phase": "commentary", "content": [
        {"type": "output_text", "text": "I look.", "annotations": [
            {"type": "url_citation", "url": "https://tide.example"}]},
        {"type": "refusal", "refusal": "I refuse."}]},
    {"type": "function_call", "call_id": "a", "namespace": "port", "name": "look",
     "arguments": '{"buoy": "north"}', "caller": {"type": "program", "caller_id": "p"}},
    {"type": "function_call_output", "call_id": "a", "output": [
        {"type": "input_text", "text": "low water"},
        {"type": "input_image", "image_url": "https://port.example/b.png", "detail": "low"}]},
    {"type": "web_search_call", "id": "w", "action": {"type": "search", "query": "tide"}},
    {"type": "computer_call", "call_id": "b", "action": {"type": "click", "button": "left"},
     "pending_safety_checks": [{"id": "c", "code": "odd", "message": "Odd."}]},
    {"type": "computer_call_output", "call_id": "b", "output": {
        "type": "computer_screenshot", "image_url": "https://port.example/c.png"},
     "acknowledged_safety_checks": [{"id": "c", "code": "odd", "message": "Odd."}]},
    {"type": "custom_tool_call", "call_id": "c", "namespace": "port", "name": "note",
     "input": "low"},
    {"type": "custom_tool_call_output", "call_id": "c", "output": "noted"},
    {"type": "tool_search_call", "call_id": "d", "execution": "client",
     "arguments": {"query": "depth"}},
    {"type": "tool_search_output", "call_id": "d", "execution": "client", "tools": [
        {"type": "function", "name": "sound", "parameters": {"type": "object"}}]},
    {"type": "message", "role": "assistant", "phase": "final_answer", "content": [
        {"type": "output_text", "text": "It is low."}]},
]}  # fmt: skip
GEMINI = {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [
    {"role": "user", "parts": [
        {"text": "Tide?", "partMetadata": {"key": "of a text"}},
        {"inlineData": {"mimeType": "image/png", "data": PICTURE},
         "mediaResolution": {"level": "MEDIA_RESOLUTION_HIGH"}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "https://port.example/v"},
         "videoMetadata": {"startOffset": "1s"}},
    ]},
    {"role": "model", "parts": [
        {"text": "Which buoy?", "thought": True, "thoughtSignature": "c2lnbmVk"},
        {"text": "I look.", "thoughtSignature": "b2s="},
        {"executableCode": {"language": "PYTHON", "code": "x()"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "three"}},
        {"functionCall": {"id": "a", "name": "look", "args": {"buoy": "north"}},
         "thoughtSignature": "Y2FsbA==", "partMetadata": {"key": "of a call"}},
    ]},
    {"role": "user", "parts": [
        {"functionResponse": {
            "id": "a", "name": "look", "response": {"tide": "low water"},
            "parts": [{"inlineData": {"mimeType": "image/png", "data": PICTURE}}]},
         "partMetadata": {"key": "of a result"}},
    ]},
]}  # fmt: skip
REQUESTS = {"chat": CHAT, "anthropic": ANTHROPIC, "responses": RESPONSES, "gemini": GEMINI}


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", REQUESTS)
def test_each_text_is_in_the_conversion_or_its_message_has_a_finding(name: str, to: str) -> None:
    source = transcript_of(REQUESTS[name])
    found = converted(source, to)
    written, reported = "\0".join(texts_in(found.value)), {each.index for each in found.findings}
    values = SourceValues(source.source.lines)
    for message in source.messages:
        read = [text for span in message.spans for text in texts_in(values.at(span))]
        missing = [text for text in read if text not in written]
        assert not missing or message.index in reported
    assert found.breaches == set()


def texts_in(value: Any, name: str = "") -> Iterator[str]:
    """The texts in a JSON value, also in JSON texts, without those of some members."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from texts_in(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner, name)
    elif isinstance(value, str) and name not in NAMES:
        if value.startswith(("{", "[")):
            yield from texts_in(json.loads(value))
        else:
            yield value.removeprefix(HEAD)
