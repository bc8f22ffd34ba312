"""gpt-oss: the framing that its servers put around a conversation equals the output of
openai-harmony, to the token.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from builders import call, result, says, transcript, user
from depth import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from openai_harmony import (
    Author,
    ChannelConfig,
    Conversation,
    DeveloperContent,
    HarmonyEncoding,
    Message,
    ReasoningEffort,
    Role,
    SystemContent,
    ToolDescription,
    load_harmony_encoding,
)

from ctxtrim.metering import Metering
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokenizers.encodings import VOCABULARIES
from ctxtrim.tokens.tool_schemas_harmony import render

Dicts = list[dict[str, Any]]
WORDS = (
    "fog",
    "the harbour",
    "keel,",
    "日本",
    "🚀",
    "don't",
    "12345",
    "{}",
    "a\nb",
    "x\n\n  y",
    "<|end|>",
    "end.",
)
plain = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
names = st.sampled_from(
    ("bash", "get_weather", "readFile", "mcp__sea__tide", "X", "a1", "_p", "9lives", "ABCDEFGclubs")
)
texts = st.one_of(plain, st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=20))


@pytest.fixture(scope="module")
def harmony() -> Iterator[HarmonyEncoding]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_ENCODINGS_BASE", str(VOCABULARIES))  # so that nothing is downloaded
        yield load_harmony_encoding("HarmonyGptOss")


def described(tools: Dicts) -> list[ToolDescription]:
    functions = [tool["function"] for tool in tools]
    return [
        ToolDescription.new(function["name"], function["description"], function["parameters"])
        for function in functions
    ]


def system(channels: list[str]) -> Message:
    content = (
        SystemContent.new()
        .with_conversation_start_date("2026-11-22")
        .with_required_channels(channels)
    )
    return Message.from_role_and_content(
        Role.SYSTEM, content.with_reasoning_effort(ReasoningEffort.HIGH)
    )


def instructions(text: str, tools: Dicts) -> Message:
    content = DeveloperContent.new().with_instructions(text)
    return Message.from_role_and_content(
        Role.DEVELOPER, content.with_function_tools(described(tools)) if tools else content
    )


def harmony_messages(
    message: dict[str, Any], names: dict[str, str], kind: str
) -> Iterator[Message]:
    """The harmony messages for a message; `names` are tools by call, `kind` is the content type of
    a call.
    """
    if message["role"] == "user":
        yield Message.from_role_and_content(Role.USER, message["content"])
    elif message["role"] == "tool":
        author = Author.new(Role.TOOL, f"functions.{names[message['tool_call_id']]}")
        yield (
            Message.from_author_and_content(author, message["content"])
            .with_channel("commentary")
            .with_recipient("assistant")
        )
    else:
        calls = message.get("tool_calls") or []
        if "reasoning_content" in message:
            yield Message.from_role_and_content(
                Role.ASSISTANT, message["reasoning_content"]
            ).with_channel("analysis")
        if message["content"]:
            channel = "commentary" if calls else "final"
            yield Message.from_role_and_content(Role.ASSISTANT, message["content"]).with_channel(
                channel
            )
        for call in calls:
            names[call["id"]] = call["function"]["name"]
            content = Message.from_role_and_content(Role.ASSISTANT, call["function"]["arguments"])
            to = f"functions.{call['function']['name']}"
            yield content.with_channel("commentary").with_recipient(to).with_content_type(kind)


def as_documented(messages: Dicts, tools: Dicts, kind: str) -> list[Message]:
    """System prompts are the developer's instructions; tools are in the first of them, or
    separate.
    """
    values = [system(["analysis", "commentary", "final"])]
    if tools and messages[0]["role"] != "system":
        content = DeveloperContent.new().with_function_tools(described(tools))
        values.append(Message.from_role_and_content(Role.DEVELOPER, content))
    names: dict[str, str] = {}
    for position, message in enumerate(messages):
        if message["role"] == "system":
            values.append(instructions(message["content"], tools if position == 0 else []))
        else:
            values += harmony_messages(message, names, kind)
    return values


def as_vllm(messages: Dicts, tools: Dicts, kind: str) -> list[Message]:
    """The developer's message is there in any case; system prompts are system messages.

    No tools, no commentary.
    """
    content = (
        DeveloperContent.new().with_function_tools(described(tools))
        if tools
        else DeveloperContent.new()
    )
    values = [system(["analysis", *(["commentary"] if tools else []), "final"])]
    values.append(Message.from_role_and_content(Role.DEVELOPER, content))
    names: dict[str, str] = {}
    for message in messages:
        if message["role"] == "system":
            values.append(Message.from_role_and_content(Role.SYSTEM, message["content"]))
        else:
            values += harmony_messages(message, names, kind)
    return values


def tokens(harmony: HarmonyEncoding, messages: list[Message]) -> int:
    return len(
        harmony.render_conversation_for_completion(
            Conversation.from_messages(messages), Role.ASSISTANT
        )
    )


def rendered(harmony: HarmonyEncoding, tools: Dicts) -> str:
    """The declarations of tools."""
    messages = as_documented([user("x")], tools, "")[1:2]
    text = harmony.decode_utf8(harmony.render_conversation(Conversation.from_messages(messages)))
    return text.removeprefix("<|start|>developer<|message|>").removesuffix("<|end|>")


def counted(messages: Dicts, tools: Dicts) -> int:
    talk = transcript(messages, **({"tools": tools} if tools else {}))
    return Metering(tokenizer, "gpt-oss-120b").meter(talk).counter.count(talk).tokens


@st.composite
def steps(draw: st.DrawFn, text: st.SearchStrategy[str], extra: bool) -> Dicts:
    """An assistant message with calls, and their results; `extra` adds reasoning and text."""
    ids = [
        f"c{draw(st.integers(0, 10**9))}-{position}" for position in range(draw(st.integers(1, 3)))
    ]
    asks = call(*ids)
    for tool_call in asks["tool_calls"]:
        tool_call["function"] |= {
            "name": draw(names),
            "arguments": json.dumps({"a": draw(text)}, ensure_ascii=False),
        }
    if extra:
        asks["content"] = draw(st.one_of(st.none(), text))
        if draw(st.booleans()):
            asks["reasoning_content"] = draw(text)
    return [asks, *(result(of, draw(text)) for of in ids)]


@st.composite
def talks(
    draw: st.DrawFn, text: st.SearchStrategy[str], calls: bool = False, extra: bool = False
) -> Dicts:
    values: Dicts = [
        {"role": "system", "content": text}
        for text in draw(st.lists(text, max_size=2 if extra else 1))
    ]
    for _ in range(draw(st.integers(0, 3))):
        values.append(user(draw(text)))
        for step in draw(st.lists(steps(text, extra), max_size=2)) if calls else ():
            values += step
        values.append(says(draw(text)))
        if extra and draw(st.booleans()):
            values[-1]["reasoning_content"] = draw(text)
    return [*values, user(draw(text))]


@st.composite
def schemas(draw: st.DrawFn, depth: int = 0) -> Any:
    """Usual schemas, and some unreasonable ones."""
    kinds = [
        "string",
        "integer",
        "number",
        "boolean",
        "null",
        "array",
        "object",
        ["integer", "null"],
        "odd",
        None,
    ]
    kind = draw(st.sampled_from(kinds if depth < 3 else kinds[:5]))
    result: dict[str, Any] = {} if kind is None else {"type": kind}
    inner = schemas(depth + 1)
    if kind == "object":
        result["properties"] = draw(
            st.dictionaries(st.sampled_from(("city", "max_results", "é", "x-y")), inner)
        )
        result["required"] = draw(st.lists(st.sampled_from(("city", "x-y")), max_size=2))
    if kind == "array" and draw(st.booleans()):
        result["items"] = draw(inner)
    if depth < 3 and draw(st.integers(0, 5)) == 0:
        result["oneOf"] = draw(st.lists(inner, max_size=3))
    value = st.sampled_from(("a", 'say "b"', "é", 3, 1.5, None, True, [1, "a"], {"k": "v"}))
    more: dict[str, st.SearchStrategy[Any]] = {
        "description": st.one_of(plain, st.just("")),
        "title": st.sampled_from(("T", 3)),
        "default": value,
        "enum": st.lists(value, max_size=3),
        "examples": st.lists(value, max_size=2),
        "nullable": st.booleans(),
        "additionalProperties": st.just(False),
        "anyOf": st.just([{"type": "string"}]),
    }
    return result | draw(st.fixed_dictionaries({}, optional=more))


objects = schemas().map(lambda value: value | {"type": "object"})


@st.composite
def tool_lists(draw: st.DrawFn) -> Dicts:
    functions = [
        {
            "name": name,
            "description": draw(texts),
            "parameters": draw(st.one_of(st.none(), objects)),
        }
        for name in draw(st.lists(names, min_size=1, max_size=3))
    ]
    return [{"type": "function", "function": function} for function in functions]


@given(talks(plain))
def test_plain_messages_cost_as_much_as_rendered_plus_an_empty_message(
    harmony: HarmonyEncoding, talk: Dicts
) -> None:
    has_prompt = talk[0]["role"] == "system"
    assert counted(talk, []) == tokens(harmony, as_documented(talk, [], "")) + 2
    assert counted(talk, []) == tokens(harmony, as_vllm(talk, [], "")) + 3 * has_prompt


def quoted(talk: Dicts) -> Dicts:
    """A conversation as in the chat template of the model's repository: each result is a string of
    JSON.
    """
    return [
        message | {"content": json.dumps(message["content"], ensure_ascii=False)}
        if message["role"] == "tool"
        else message
        for message in talk
    ]


@given(talks(plain, calls=True))
def test_calls_and_results_cost_as_much_as_rendered_plus_quotes(
    harmony: HarmonyEncoding, talk: Dicts
) -> None:
    calls = sum(len(message.get("tool_calls", ())) for message in talk)
    kinds = {"<|constrain|>json": 2, "json": 2 + 2 * calls}
    for kind, more in kinds.items():
        renderings = [
            tokens(harmony, as_documented(messages, [], kind)) for messages in (talk, quoted(talk))
        ]
        assert counted(talk, []) >= max(renderings) + more
        if sum(message["role"] == "tool" for message in talk) <= 1:
            assert counted(talk, []) == max(renderings) + more


@given(tool_lists())
@settings(max_examples=examples(200))
def test_tool_schemas_are_written_as_rendered(harmony: HarmonyEncoding, tools: Dicts) -> None:
    assert render(json.dumps(tools)) == rendered(harmony, tools)
    assert counted([user("x")], tools) == tokens(harmony, as_documented([user("x")], tools, "")) + 2


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "default": "a", "enum": []},
        {"type": "string", "default": "a", "enum": 3},
        {"type": "string", "default": "a", "oneOf": "b"},
    ],
)
def test_a_default_next_to_an_invalid_keyword_is_written_as_rendered(
    harmony: HarmonyEncoding, schema: dict[str, Any]
) -> None:
    parameters = {"type": "object", "properties": {"x": schema}}
    tools = [{"function": {"name": "look", "description": "", "parameters": parameters}}]
    assert render(json.dumps(tools)) == rendered(harmony, tools)


@given(talks(texts, calls=True, extra=True), st.one_of(st.just([]), tool_lists()))
@settings(max_examples=examples(150))
def test_no_conversation_is_counted_too_low(
    harmony: HarmonyEncoding, talk: Dicts, tools: Dicts
) -> None:
    count = counted(talk, tools)
    for kind in ("json", "<|constrain|>json", "<|constrain|> json"):
        for messages in (talk, quoted(talk)):
            assert tokens(harmony, as_documented(messages, tools, kind)) <= count
            assert tokens(harmony, as_vllm(messages, tools, kind)) <= count


@pytest.mark.parametrize(
    "tools", ["[1]", '[{"type": "web_search"}]', '[{"function": {"parameters": {}}}]']
)
def test_other_tool_lists_are_counted_as_json(tools: str) -> None:
    assert render(tools) is None
    assert counted([user("x")], json.loads(tools)) >= counted([user("x")], [])


def test_channel_configurations_equal_those_of_the_library() -> None:
    assert SystemContent.new().channel_config == ChannelConfig.require_channels(
        ["analysis", "commentary", "final"]
    )
