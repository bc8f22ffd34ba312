"""OpenAI Responses: lists that form a conversation, items that form an answer, and the bytes of
edits.
"""

import json
from io import BytesIO
from typing import Any

import pytest
from conftest import Run
from harness import read, run
from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.reading import open_reading
from ctxtrim.formats.self_check import check
from ctxtrim.formats.writing import rewrite
from ctxtrim.model import Media, Message, Part, Transcript
from ctxtrim.model.request import Usage

Item = dict[str, Any]
LONG = "lorem ipsum " * 40


def says(role: str, text: str) -> Item:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def thinks(text: str = "hmm") -> Item:
    return {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": text}]}


def calls(name: str, arguments: str = "{}") -> Item:
    return {"type": "function_call", "call_id": name, "name": "bash", "arguments": arguments}


def returns(name: str, output: Any = "out") -> Item:
    return {"type": "function_call_output", "call_id": name, "output": output}


TALK = [
    {"role": "user", "content": "list both"},
    thinks(),
    says("assistant", "Listing."),
    calls("c1"),
    calls("c2"),
    returns("c1", "first"),
    returns("c2", "second"),
    says("assistant", "Done."),
    says("user", "thanks"),
]


UNSET = [None, []]
"""What clients write for `tool_calls` that they do not set."""


def data(value: Any, **style: Any) -> bytes:
    return json.dumps(value, **style).encode() + b"\n"


def transcript(value: Any) -> Transcript:
    return read(data(value))[0].transcripts[0]


def role_texts(transcript: Transcript) -> list[tuple[str, str]]:
    return [
        (message.role, " | ".join(part.text for part in message.parts))
        for message in transcript.messages
    ]


def layout(file: bytes) -> tuple[str | None, str | None]:
    reading = open_reading(BytesIO(file))
    return reading.format.name if reading.format else None, reading.layout


EXPECTED = [
    ("user", "list both"),
    ("assistant", "hmm | Listing. | {} | {}"),
    ("tool", "first"),
    ("tool", "second"),
    ("assistant", "Done."),
    ("user", "thanks"),
]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (data({"model": "gpt-5", "input": TALK}), "conversation"),
        (data({"input": TALK[:7], "output": TALK[7:]}), "conversation"),
        (
            data(
                {"responses_create_params": {"input": TALK[:5]}, "response": {"output": TALK[5:]}}
            ),
            "conversation",
        ),
        (
            data({"responses_create_params": {"input": []}, "response": {"output": TALK}}),
            "conversation",
        ),
        (
            data({"responses_create_params": {"input": None}, "response": {"output": TALK}}),
            "conversation",
        ),
        (data({"request": {"input": TALK[:1]}, "response": {"output": TALK[1:]}}), "conversation"),
        (data({"custom_id": "1", "body": {"input": TALK}}), "conversation"),
        (data({"custom_id": "1", "response": {"body": {"output": TALK}}}), "conversation"),
        (data({"trajectory": {"output": TALK}}), "conversation"),
        (data([{"input": TALK}], indent=2), "conversation"),
        (data(TALK, indent=2), "conversation"),
        (b"".join(map(data, TALK)), "events"),
    ],
)
def test_every_layout_gives_the_same_messages(file: bytes, expected: str) -> None:
    assert layout(file) == ("openai-responses", expected)
    assert role_texts(read(file)[0].transcripts[0]) == EXPECTED
    assert run(file).data == file


@pytest.mark.parametrize(
    "request_body",
    [
        {"input": "hi", "model": "gpt-4.1"},
        {"input": "hi", "model": "gpt-4.1", "stream": True},
        {
            "input": "hi",
            "model": "gpt-5",
            "service_tier": "priority",
            "text": {"format": {"type": "text"}},
        },
    ],
)
def test_a_request_with_only_text_and_model_is_recognized(
    request_body: dict[str, Any],
) -> None:
    file = data(request_body)
    assert layout(file) == ("openai-responses", "conversation")
    assert role_texts(read(file)[0].transcripts[0]) == [("user", "hi")]
    assert run(file).data == file


@pytest.mark.parametrize(
    ("around", "roles"),
    [
        ({"prompt": {"id": "pmpt_1"}}, ["user"]),
        ({"conversation": "conv_1"}, ["user"]),
        ({"conversation": {"id": "conv_1"}}, ["user"]),
        ({"previous_response_id": "resp_1"}, ["user"]),
        ({"instructions": "Be brief."}, ["system", "user"]),
    ],
)
def test_a_request_needs_no_model_next_to_what_no_other_api_has(
    around: dict[str, Any], roles: list[str]
) -> None:
    file = data({"input": "hi"} | around)
    assert layout(file) == ("openai-responses", "conversation")
    assert [role for role, _ in role_texts(read(file)[0].transcripts[0])] == roles
    assert run(file).data == file


@pytest.mark.parametrize(
    "field",
    [
        {"access_programs": {"cyber": "standard"}},
        {"background_options": {"completion_window": "2h"}, "background": True},
        {"image": {"context_compression": "auto"}},
        {"moderation": {"model": "omni-moderation-latest"}},
        {"multi_agent": {"enabled": True}},
        {"prompt_cache_options": {"ttl": "30m"}},
        {"extra_headers": {"x-team": "pilots"}, "extra_query": {}, "timeout": 30},
    ],
    ids=lambda field: next(iter(field)),
)
def test_a_request_with_a_field_of_2026_or_of_the_sdk_is_recognized(field: dict[str, Any]) -> None:
    file = data({"model": "gpt-5.6", "input": "hi"} | field)
    assert layout(file) == ("openai-responses", "conversation")
    assert run(file).data == file


@pytest.mark.parametrize(
    "other",
    [
        {"input": "hi", "model": "text-embedding-3-small"},
        {"input": "hi", "model": "omni-moderation-latest"},
        {"input": "hi", "model": "gpt-4o-mini-tts", "voice": "alloy"},
        {"input": "hi", "model": "gpt-4.1", "output": "hello"},
        {"input": "hi"},
        {"input": "hi", "metadata": {}},
        {"input": "hi", "prompt": "Answer:"},
        {"input": "hi", "conversation": "A long talk."},
        {"input": "hi", "conversation": ["hello"]},
        {"input": "hi", "instructions": "Translate.", "output": "salut"},
        {"input": "hi", "instructions": "Translate.", "category": "easy"},
    ],
)
def test_a_request_to_another_api_is_not_recognized(other: dict[str, Any]) -> None:
    assert layout(data(other)) == (None, None)


def test_an_answer_does_not_span_input_and_output() -> None:
    parsed = transcript(
        {"input": [*TALK[:1], says("assistant", "So")], "output": [calls("c1"), returns("c1")]}
    )
    assert role_texts(parsed) == [
        ("user", "list both"),
        ("assistant", "So"),
        ("assistant", "{}"),
        ("tool", "out"),
    ]


def test_a_document_with_several_requests_keeps_them_separate() -> None:
    chunk = read(data([{"input": TALK[:1], "output": TALK[1:3]}, {"input": TALK}]))[0]
    assert [(transcript.pointer, len(transcript.messages)) for transcript in chunk.transcripts] == [
        ((0,), 2),
        ((1,), 6),
    ]


@pytest.mark.parametrize(
    "value",
    [
        {"input": "text", "output": "text", "instruction": "alpaca"},
        {"model": "text-embedding-3-small", "input": "text"},
        {"model": "text-embedding-3-small", "input": ["text", "more"]},
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": "Anthropic's"}],
        },
        {
            "input": [
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "x", "content": "y"}],
                }
            ]
        },
        {"response": {"output": []}},
        thinks(),
        {"type": "message", "role": ["user"]},
        {"output": [1, 2]},
    ],
)
def test_other_formats_are_not_detected_as_this_format(value: Any) -> None:
    assert layout(data(value))[0] != "openai-responses"


def test_instructions_are_a_system_message_and_a_string_is_a_prompt() -> None:
    parsed = transcript({"model": "gpt-5", "instructions": "Be brief.", "input": "hello"})
    assert role_texts(parsed) == [("system", "Be brief."), ("user", "hello")]
    both = {"instructions": "Be brief.", "input": "hello"}
    logged = {
        "responses_create_params": both,
        "response": {"instructions": "Be brief.", "output": TALK[7:8]},
    }
    assert role_texts(transcript(logged)) == [
        ("system", "Be brief."),
        ("user", "hello"),
        ("assistant", "Done."),
    ]


def test_the_instructions_of_a_rollout_of_codex_are_a_system_message(ctxtrim: Run) -> None:
    session = {"timestamp": "2025-04-20T10:00:00Z", "id": "s1", "instructions": "Be brief. " * 30}
    old = [says("user", LONG), calls("c1"), returns("c1"), says("assistant", LONG)]
    new = [says("user", "Again?"), says("assistant", "Yes.")]
    rollout = {"session": session, "items": [*old, *new]}
    parsed = transcript(rollout)
    assert (role_texts(parsed)[0], parsed.id) == (("system", session["instructions"]), "s1")
    trimmed = ctxtrim("trim", "--budget", "170", stdin=data(rollout))
    assert json.loads(trimmed.out) == {"session": session, "items": new}
    dropped = ctxtrim("trim", "--budget", "30", "--no-preserve-system-prompt", stdin=data(rollout))
    about = {key: session[key] for key in ("timestamp", "id")}
    assert json.loads(dropped.out) == {"session": about, "items": new}
    summarized = ctxtrim("trim", "--budget", "210", "--summarize", stdin=data(rollout))
    written = json.loads(summarized.out)
    assert (written["session"], list(written)) == (session, ["session", "items"])
    assert "Summary of 4 earlier" in json.dumps(written["items"][0])


def test_the_envelope_gives_tools_model_id_and_the_usage_of_one_response() -> None:
    request = {
        "model": "asked",
        "input": "go",
        "tools": [{"type": "function", "name": "f"}],
        "tool_choice": "none",
    }
    usage = {"input_tokens": 12, "input_tokens_details": {"cached_tokens": 8}, "output_tokens": 3}
    response = {"id": "resp_1", "model": "gpt-5", "output": [thinks(), TALK[7]], "usage": usage}
    parsed = transcript({"responses_create_params": request, "response": response})
    assert (parsed.id, parsed.model, parsed.tools, parsed.tool_choice) == (
        "resp_1",
        "gpt-5",
        '[{"type":"function","name":"f"}]',
        "none",
    )
    assert parsed.usage == Usage(12, 3)
    several = response | {"output": TALK[1:]}
    assert transcript({"responses_create_params": request, "response": several}).usage is None


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([calls("a"), calls("b")], [["{}", "{}"]]),
        ([says("assistant", "x"), calls("a")], [["x", "{}"]]),
        ([calls("a"), says("assistant", "x")], [["{}"], ["x"]]),
        ([says("assistant", "x"), says("assistant", "y")], [["x"], ["y"]]),
        ([thinks("1"), thinks("2"), says("assistant", "x")], [["1", "2", "x"]]),
        ([thinks("1"), calls("a"), thinks("2"), calls("b")], [["1", "{}"], ["2", "{}"]]),
        ([thinks("1"), {"type": "novel", "x": 1}, calls("a")], [["1", "{}"]]),
        ([thinks("1"), says("user", "x"), calls("a")], [["1"], ["x"], ["{}"]]),
    ],
)
def test_items_are_grouped_into_answers(items: list[Item], expected: list[list[str]]) -> None:
    parsed = transcript({"input": [TALK[0]], "output": items})
    assert [[part.text for part in message.parts] for message in parsed.messages[1:]] == expected


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([thinks(), says("assistant", "x"), says("assistant", "y")], [False, True]),
        ([thinks(), calls("a"), says("assistant", "x"), calls("b")], [False, True]),
        ([thinks(), {"type": "web_search_call"}, says("assistant", "x")], [False, True]),
        ([thinks(), calls("a"), {"type": "novel"}, says("assistant", "x")], [False, True]),
        (
            [thinks(), says("assistant", "x"), says("assistant", "y"), says("assistant", "z")],
            [False, True, True],
        ),
        ([thinks(), says("assistant", "x"), thinks(), says("assistant", "y")], [False, False]),
        ([says("assistant", "x"), says("assistant", "y")], [False, False]),
        ([thinks(), says("user", "x"), says("assistant", "y")], [False, False, False]),
        ([thinks(), calls("a"), returns("a"), says("assistant", "y")], [False, False, False]),
        (
            [thinks(), says("assistant", "x"), {"role": "assistant", "content": []}, calls("a")],
            [False, False],
        ),
    ],
)
def test_an_answer_continues_the_reasoned_response_before_it(
    items: list[Item], expected: list[bool]
) -> None:
    parsed = transcript({"input": [TALK[0], *items]})
    assert [message.continues for message in parsed.messages[1:]] == expected


def test_an_output_list_continues_no_response_of_the_input() -> None:
    parsed = transcript({"input": [TALK[0], thinks()], "output": [says("assistant", "x")]})
    assert [message.continues for message in parsed.messages] == [False, False, False]


@pytest.mark.parametrize(
    ("item", "role", "parts"),
    [
        ({"role": "developer", "content": "x"}, "system", [Part("text", "x")]),
        (
            {"role": "user", "content": [{"type": "input_image", "image_url": "https://x"}]},
            "user",
            [Part("attachment", media=Media("image"))],
        ),
        (
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "refusal", "refusal": "no"}],
            },
            "assistant",
            [Part("text", "no")],
        ),
        (
            {
                "type": "reasoning",
                "summary": [],
                "content": [{"type": "reasoning_text", "text": "why"}],
            },
            "assistant",
            [Part("reasoning", "why")],
        ),
        (
            {"type": "reasoning", "summary": [], "encrypted_content": "gAAA" * 500},
            "assistant",
            [Part("reasoning", media=Media("sealed", size=1500))],
        ),
        (
            {"type": "custom_tool_call", "call_id": "a", "name": "patch", "input": "*** Begin"},
            "assistant",
            [Part("tool_call", "*** Begin", "a", "patch")],
        ),
        (
            {"type": "local_shell_call", "call_id": None, "id": "a", "action": {"command": ["ls"]}},
            "assistant",
            [Part("tool_call", '{"command":["ls"]}', "a", "local_shell")],
        ),
        (
            {"type": "web_search_call", "id": "ws", "action": {"query": "q"}},
            "assistant",
            [Part("text", '{"type":"web_search_call","id":"ws","action":{"query":"q"}}')],
        ),
        (
            {"type": "image_generation_call", "id": "ig", "result": "https://x"},
            "assistant",
            [Part("attachment", media=Media("image"))],
        ),
        (
            {
                "type": "code_interpreter_call",
                "id": "ci",
                "code": "1",
                "outputs": [{"type": "image", "url": "u"}],
            },
            "assistant",
            [
                Part("attachment", media=Media("image")),
                Part("text", '{"type":"code_interpreter_call","id":"ci","code":"1","outputs":[]}'),
            ],
        ),
        (
            {"type": "compaction", "encrypted_content": "gAAA"},
            "user",
            [Part("attachment", media=Media("sealed", size=3))],
        ),
        (returns("a", None), "tool", [Part("tool_result", "", "a")]),
        (
            returns("a", {"type": "input_text", "text": "x"}),
            "tool",
            [Part("tool_result", "x", "a")],
        ),
        (
            returns("a", {"content": "x", "success": False}),
            "tool",
            [Part("tool_result", "x", "a", None, True)],
        ),
        (
            returns(
                "a",
                [{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": "u"}],
            ),
            "tool",
            [Part("tool_result", "x", "a"), Part("attachment", "", "a", media=Media("image"))],
        ),
        (
            {
                "type": "computer_call",
                "call_id": "a",
                "action": None,
                "actions": [{"type": "type", "text": "Pier 4"}],
            },
            "assistant",
            [Part("tool_call", '[{"type":"type","text":"Pier 4"}]', "a", "computer")],
        ),
        (
            {
                "type": "computer_call_output",
                "call_id": "a",
                "output": {"type": "computer_screenshot", "image_url": "u"},
            },
            "tool",
            [Part("tool_result", "", "a"), Part("attachment", "", "a", media=Media("image"))],
        ),
    ],
)
def test_every_shape_of_an_item_is_read(item: Item, role: str, parts: list[Part]) -> None:
    parsed = transcript({"input": [TALK[0], item]})
    assert (parsed.messages[1].role, list(parsed.messages[1].parts)) == (role, parts)
    assert parsed.uncounted == 0


def test_training_fields_cost_nothing() -> None:
    plain = {"input": TALK[:1], "output": [TALK[7]]}
    extra = {
        "prompt_token_ids": [1] * 500,
        "generation_token_ids": [2] * 500,
        "generation_log_probs": [-0.5] * 500,
    }
    trained = {"input": TALK[:1], "output": [TALK[7] | extra]}
    assert run(data(plain)).rows[0].count == run(data(trained)).rows[0].count


def test_unknown_items_are_kept_and_make_the_count_an_estimate() -> None:
    file = data(
        {
            "input": [says("user", LONG), {"type": "novel", "x": 1}, says("user", "now")],
            "model": "gpt-4o",
        }
    )
    ran = run(file, [("trim", {})], limit=40)
    assert [item["type"] for item in json.loads(ran.data or b"")["input"]] == [
        "message",
        "novel",
        "message",
    ][1:]
    assert [finding.code for finding in ran.rows[0].findings] == ["not-counted"]


def test_reasoning_is_dropped_with_the_calls_after_it() -> None:
    talk = [
        TALK[0],
        thinks(LONG),
        calls("c1"),
        calls("c2"),
        returns("c1"),
        returns("c2"),
        says("user", "now"),
    ]
    out = json.loads(run(data({"input": talk}), [("trim", {})], limit=40).data or b"")
    assert out["input"] == talk[-1:]


def test_dropping_from_input_and_output_keeps_all_other_bytes() -> None:
    old, new = (
        f"[{json.dumps(says('user', LONG))}, {json.dumps(TALK[7])}]",
        json.dumps(thinks(LONG)),
    )
    line = (
        '{"n": 1.10, "input": %s, "output": [ {"role":"user","content":"caf\\u00e9 é"} , %s, %s]}\n'
    )
    out = (
        run((line % (old, new, json.dumps(calls("c")))).encode(), [("trim", {})], limit=30).data
        or b""
    )
    assert (
        out.decode()
        == '{"n": 1.10, "input": [], "output": [ {"role":"user","content":"caf\\u00e9 é"}]}\n'
    )


def test_dropping_a_string_input_leaves_an_empty_list() -> None:
    value = {"model": "gpt-5", "tools": [], "input": LONG, "output": [TALK[7], says("user", "now")]}
    out = run(data(value), [("trim", {})], limit=60).data or b""
    assert json.loads(out) == value | {"input": [], "output": value["output"][1:]}


NEMOTRON: dict[str, Any] = {
    "input": [{"role": "user", "content": LONG}, {"role": "user", "content": "list both"}],
    "output": "<think>\n</think>\n\nDone.",
    "category": "chat",
}


def test_a_string_output_is_the_answer() -> None:
    """Data of Llama-Nemotron for post-training."""
    file = data(NEMOTRON)
    assert layout(file) == ("openai-responses", "conversation")
    assert role_texts(transcript(NEMOTRON))[2:] == [("assistant", NEMOTRON["output"])]
    assert run(file).data == file
    out = json.loads(run(file, [("trim", {})], limit=40).data or b"")
    assert out == NEMOTRON | {"input": NEMOTRON["input"][1:]}
    (_, prompt, answer) = transcript(NEMOTRON).messages
    assert written(NEMOTRON, prompt)["output"] == []
    shorter = replace(answer, parts=(replace(answer.parts[0], text="Done."),))
    assert written(NEMOTRON, prompt, shorter)["output"] == "Done."


def test_a_summary_is_inserted_before_a_string_output() -> None:
    first, second, answer = transcript(NEMOTRON).messages
    item = says("user", "what was")
    values = NEMOTRON["input"]
    assert written(NEMOTRON, first, SUMMARY, answer)["input"] == [values[0], item]
    assert written(NEMOTRON, first, second, SUMMARY, answer)["input"] == [*values, item]
    text = NEMOTRON | {"input": "list both", "model": "gpt-5", "tools": []}
    prompt, done = transcript(text).messages
    assert written(text, prompt, SUMMARY, done)["input"] == [says("user", "list both"), item]
    assert written(NEMOTRON, SUMMARY, answer)["input"] == [item]
    with pytest.raises(NotEditableError, match="no new message after its answer"):
        written(NEMOTRON, first, second, answer, SUMMARY)


def test_a_system_prompt_next_to_a_string_output_counts() -> None:
    value = NEMOTRON | {"system_prompt": "Think aloud."}
    system, *others = transcript(value).messages
    assert [(message.role, message.parts) for message in others] == [
        (message.role, message.parts) for message in transcript(NEMOTRON).messages
    ]
    assert (system.role, system.parts[0].text) == ("system", "Think aloud.")
    assert written(value, *others) == NEMOTRON
    assert written(value, SUMMARY, system, *others)["input"][:2] == [
        says("user", "what was"),
        says("system", "Think aloud."),
    ]


def test_an_empty_string_output_is_no_answer() -> None:
    value = NEMOTRON | {"output": ""}
    assert [role for role, _ in role_texts(transcript(value))] == ["user", "user"]
    assert layout(data({"output": "Done.", "prompt": "list both"})) == (None, None)


def test_the_blocks_of_an_output_are_no_item_list() -> None:
    blocks = [{"type": "input_text", "text": LONG}, {"type": "input_text", "text": "end"}]
    items = [says("user", "look"), calls("c1"), returns("c1", blocks), says("user", "now")]
    file = data(items)
    assert layout(file) == ("openai-responses", "conversation")
    (found,) = read(file)[0].transcripts
    assert (found.pointer, len(found.messages)) == ((), 4)
    edited = json.loads(run(file, [("truncate", {"clock": "none", "max_tokens": 20})]).data or b"")
    assert [edited[at] for at in (0, 1, 3)] == [items[at] for at in (0, 1, 3)]
    assert len(edited[2]["output"][0]["text"]) < len(LONG)


def test_json_in_an_output_stays_json() -> None:
    inner = (
        '{"output": '
        + json.dumps(LONG * 5)
        + ', "metadata": {"exit_code": 1, "duration_seconds": 1.10}}'
    )
    file = data({"input": [TALK[0], calls("a"), returns("a", inner)]})
    out = json.loads(run(file, [("truncate", {"max_tokens": 50})]).data or b"")["input"][2][
        "output"
    ]
    assert out.startswith('{"output": "lorem ipsum')
    assert out.endswith('", "metadata": {"exit_code": 1, "duration_seconds": 1.10}}')
    assert "truncated" in json.loads(out)["output"]


SUMMARY = Message("user", (Part("text", "what was"),), is_injected=True, is_summary=True)


def written(value: Any, *messages: Message) -> Any:
    """The value with these messages, which it reads back as."""
    chunk = read(data(value))[0]
    file_format = open_reading(BytesIO(data(value))).format
    assert file_format is not None
    meant = replace(chunk.transcripts[0], messages=messages)
    lines = rewrite(file_format, chunk.lines, [meant]).pieces
    check(file_format, chunk.lines, lines, [meant])
    return json.loads(b"".join(lines))


def test_a_summary_is_inserted_at_its_position() -> None:
    value = {"instructions": "Be brief.", "input": TALK[:1], "output": TALK[1:]}
    system, first, *rest = transcript(value).messages
    item = says("user", "what was")
    assert written(value, system, SUMMARY, *rest)["output"] == [item, *TALK[1:]]
    assert written(value, system, SUMMARY, first, *rest)["input"] == [item, TALK[0]]
    assert written(value, system, first, SUMMARY)["input"] == [TALK[0], item]


def test_inserting_before_the_instructions_moves_them_into_the_list() -> None:
    value = {"instructions": "Be brief.", "input": TALK[:1]}
    out = written(value, SUMMARY, *transcript(value).messages)
    assert out == {
        "instructions": None,
        "input": [says("user", "what was"), says("system", "Be brief."), TALK[0]],
    }


def test_inserting_next_to_a_string_input_makes_a_list() -> None:
    value = {"model": "gpt-5", "instructions": "Be brief.", "input": "hello"}
    system, user = transcript(value).messages
    item = says("user", "what was")
    assert written(value, system, SUMMARY, user)["input"] == [item, says("user", "hello")]
    assert written(value, system, user, SUMMARY)["input"] == [says("user", "hello"), item]
    assert written(value, SUMMARY, system, user)["input"] == [
        item,
        says("system", "Be brief."),
        says("user", "hello"),
    ]


def test_an_inserted_result_has_the_type_of_its_call() -> None:
    custom = {"type": "custom_tool_call", "call_id": "b", "name": "patch", "input": "x"}
    value = {"input": [TALK[0], calls("a"), custom]}
    user, answer = transcript(value).messages
    results = [Message("tool", (Part("tool_result", "none", name),)) for name in ("a", "b")]
    assert written(value, user, answer, *results)["input"][3:] == [
        returns("a", "none"),
        {"type": "custom_tool_call_output", "call_id": "b", "output": "none"},
    ]


@pytest.mark.parametrize("answer", [[thinks(), says("assistant", "x")], [thinks()]])
def test_nothing_is_inserted_between_answers_that_become_adjacent(answer: list[Item]) -> None:
    step = [calls("a"), returns("a")]
    value = {"input": [TALK[0], *answer, says("user", "gone"), *step]}
    first, before, _, call, result = transcript(value).messages
    joined = written(value, first, before, call, result)
    assert joined["input"] == [TALK[0], *answer, *step]
    _, message, _ = transcript(joined).messages
    assert message.parts == (*before.parts, *call.parts)


def test_an_approval_is_counted_and_dropped_with_its_request() -> None:
    request = {"type": "mcp_approval_request", "id": "m1", "name": "n", "arguments": "{}"}
    response = {
        "type": "mcp_approval_response",
        "approval_request_id": "m1",
        "approve": True,
        "reason": "the lamp must burn " * 40,
    }
    items = [says("user", "light it"), request, response, says("user", "thanks " * 40)]
    items += [says("assistant", "Done."), says("user", "And now?")]
    costs = run(data({"input": items})).rows[0].count.tokens
    assert costs - run(data({"input": items[:2] + items[3:]})).rows[0].count.tokens > 150
    for limit in range(20, costs, 10):
        written = run(data({"input": items}), [("trim", {})], limit=limit).data
        if written is not None:
            left = [item.get("type") for item in json.loads(written)["input"]]
            assert ("mcp_approval_request" in left) == ("mcp_approval_response" in left)


ITEMS: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "seen"},
]
REPLY: dict[str, Any] = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Done."}],
}


@pytest.mark.parametrize(
    "value",
    [
        {"object": "list", "data": [*ITEMS, REPLY]},
        {"id": "s1", "items": [*ITEMS, REPLY]},
        {"history": [*ITEMS, REPLY]},
        {
            "request": {"url": "/v1", "body": {"model": "gpt-5", "input": ITEMS}},
            "response": {"status": 200, "body": {"object": "response", "output": [REPLY]}},
        },
        {
            "request_body": {"model": "gpt-5", "input": ITEMS},
            "response_body": {"object": "response", "output": [REPLY]},
        },
    ],
)
def test_items_of_sessions_lists_and_proxy_logs_are_one_conversation(value: Any) -> None:
    data = json.dumps(value).encode() + b"\n"
    reading = open_reading(BytesIO(data))
    assert reading.format is not None
    assert reading.format.name == "openai-responses"
    (found,) = [each for chunk in reading.chunks for each in chunk.transcripts]
    assert [message.role for message in found.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_of_a_stream_only_the_complete_response_is_read() -> None:
    response = {"id": "r1", "object": "response", "status": "in_progress", "output": []}
    events = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "item": REPLY | {"content": []}},
        {"type": "response.output_text.delta", "delta": "Done."},
        {"type": "response.output_item.done", "item": REPLY},
        {
            "type": "response.completed",
            "response": response | {"status": "completed", "output": [REPLY]},
        },
    ]
    data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    chunks = list(open_reading(BytesIO(data)).chunks)
    assert [len(chunk.transcripts) for chunk in chunks] == [0, 0, 0, 0, 1]
    assert not any(chunk.findings for chunk in chunks)


@pytest.mark.parametrize(
    "home", [("items",), ("request", "body", "input"), ("request_body", "input")]
)
def test_items_at_other_places_are_trimmed(home: tuple[str, ...]) -> None:
    old = [says("user", LONG), says("assistant", LONG)]
    items: Any = [*old, *ITEMS, REPLY]
    left: Any = [*ITEMS, REPLY]
    for key in reversed(home):
        items, left = {key: items}, {key: left}
    ran = run(json.dumps(items).encode(), [("trim", {})], limit=80)
    assert json.loads(ran.data or b"") == left


CALL = {"type": "function_call", "id": "c1", "name": "look", "arguments": {"pier": 1}}
RESULT = {"type": "function_result", "call_id": "c1", "name": "look", "result": LONG}
TEXT = [{"type": "text", "text": "Look."}]


@pytest.mark.parametrize(
    "items",
    [
        [
            {"role": "user", "content": "Look."},
            {"role": "model", "content": [CALL]},
            {"role": "user", "content": [RESULT]},
        ],
        [{"type": "user_input", "content": TEXT}, CALL, RESULT],
        [RESULT],
    ],
)
def test_requests_of_the_interactions_api_are_not_read(ctxtrim: Run, items: list[Item]) -> None:
    ran = ctxtrim("trim", "-b", "20", stdin=data({"model": "gemini-3-pro", "input": items}))
    assert (ran.code, "unknown format" in ran.err) == (1, True)


@pytest.mark.parametrize("unset", UNSET)
def test_calls_that_are_not_set_hide_no_conversation(ctxtrim: Run, unset: Any) -> None:
    plain = {"role": "assistant", "content": "Two. " * 40}

    def values(answer: Item) -> list[Any]:
        talk = [{"role": "user", "content": "Which berths are free?"}, answer, *TALK]
        output = [answer | {"type": "message"}, calls("c1"), returns("c1")]
        return [
            talk,
            {"model": "gpt-5", "instructions": "Be brief.", "input": talk},
            {"responses_create_params": {"input": talk[:1]}, "response": {"output": output}},
        ]

    for value, same in zip(values(plain | {"tool_calls": unset}), values(plain), strict=True):
        found, expected = transcript(value), transcript(same)
        assert found.messages == expected.messages
        assert open_reading(BytesIO(data(value))).detection.format == "openai-responses"
        assert ctxtrim("trim", "--budget", "9000", stdin=data(value)).out == data(value)


@pytest.mark.parametrize("unset", UNSET)
def test_chats_with_calls_that_are_not_set_stay_chats(unset: Any) -> None:
    answer = {"role": "assistant", "content": "Two.", "tool_calls": unset}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asks = {"role": "assistant", "content": None, "tool_calls": [call]}
    talk = [TALK[0], answer, TALK[0]]
    called = [*talk, asks, {"role": "tool", "tool_call_id": "c", "content": "x"}]
    lines = b"".join(map(data, talk))
    for whole in (data({"messages": talk}), data(talk), data({"input": called}), lines):
        form = open_reading(BytesIO(whole)).format
        assert form is not None and form.name == "openai-chat"


def test_items_on_lines_of_their_own_are_no_chat(ctxtrim: Run) -> None:
    sealed = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA" * 300}
    prompts: list[Item] = [{"role": "user", "content": text * 20} for text in ("Hi. ", "More. ")]
    exchange = [prompts[0], sealed, says("assistant", "Hello.")]
    called = [prompts[0], sealed, calls("c1"), returns("c1"), says("assistant", "Hello.")]
    for session in ([*exchange, prompts[1]], [*called, *prompts, *prompts, *prompts]):
        file = b"".join(map(data, session))
        checked = ctxtrim("check", "--profile", "openai-responses", "--explain-format", stdin=file)
        assert (checked.code, "read as openai-responses" in checked.err) == (0, True)
        assert "warning" not in checked.err
    file = b"".join(map(data, exchange * 3 + prompts))
    ran = ctxtrim("trim", "--budget", "400", "--explain-format", stdin=file)
    assert (ran.code, "read as openai-responses" in ran.err) == (0, True)
    assert len(ran.out) < len(file)
    again = ctxtrim("check", "--budget", "400", "--explain-format", stdin=ran.out)
    assert (again.code, "read as openai-responses" in again.err) == (0, True)


def as_javascript(item: Item) -> Item:
    """An item of Responses as the Agents SDK for JavaScript stores it in a session."""
    if "call_id" not in item:
        return item
    renamed = {"callId" if key == "call_id" else key: value for key, value in item.items()}
    if item["type"] == "function_call":
        return renamed
    output = {"type": "text", "text": item["output"]}
    return renamed | {"type": "function_call_result", "name": "bash", "output": output}


def test_items_of_the_agents_sdk_for_javascript_are_read_as_those_of_the_api() -> None:
    session = [as_javascript(item) for item in TALK]
    (chunk,) = read(data(session))
    assert chunk.format is not None
    assert chunk.format.name == "openai-responses"
    assert chunk.transcripts[0].uncounted == 0
    assert chunk.transcripts[0].messages == read(data(TALK))[0].transcripts[0].messages


def test_results_in_a_session_of_the_agents_sdk_for_javascript_are_edited() -> None:
    session = [as_javascript(item) for item in [*TALK[:5], returns("c1", LONG), *TALK[7:]]]
    clipped = run(data(session), [("truncate", {"max_age": 0, "max_tokens": 9})]).data or b""
    before, after = session[5]["output"], json.loads(clipped)[5]["output"]
    assert after == before | {"text": after["text"]}
    assert len(after["text"]) < len(LONG)
    repaired = run(data(session), [("repair", {"repair": "synthesize"})]).data or b""
    added = json.loads(repaired)[6]
    assert (added["type"], added["callId"], added["name"]) == ("function_call_result", "c2", "bash")
    assert added["output"] == {"type": "text", "text": "[no result recorded]"}


def test_items_with_texts_in_a_list_are_detected_without_calls(ctxtrim: Run) -> None:
    """LiveKit stores the contents of its messages so."""
    items = [
        {"id": "i1", "type": "message", "role": "user", "content": ["How deep is it?"]},
        calls("c1"),
        returns("c1", LONG),
        {"id": "i4", "type": "message", "role": "assistant", "content": ["Nine fathoms."]},
    ]
    ran = ctxtrim("trim", "--budget", "40", stdin=data({"items": items}))
    assert json.loads(ran.out) == {"items": [items[0], items[3]]}
    assert layout(ran.out) == ("openai-responses", "conversation")
