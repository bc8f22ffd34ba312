"""Compaction and recovery for programs, as far as the wire: the client of `openai` against a server
on this machine.
"""

import copy
import json
from http.server import BaseHTTPRequestHandler
from typing import Any

import openai
import pytest
from depth import examples
from fake_server import Answer, Server, completion, local, sends
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import (
    ANTHROPIC_TOOLS,
    OPENAI_TOOLS,
    SYSTEM,
    Messages,
    anthropic_session,
    openai_session,
    results,
)
from strategies import conversations
from writers import anthropic, openai_chat

from ctxtrim import (
    ContextOverflowError,
    Event,
    build_final_prompt,
    compact,
    effective_token_limit,
    estimate_context_tokens,
    estimate_tokens,
    should_compact,
    tokenizers,
    with_recovery,
)
from ctxtrim.summaries.summarizer import Reply

SHAPES: dict[str, dict[str, Any]] = {
    "openai": {"messages": openai_session(20), "tools": OPENAI_TOOLS},
    "anthropic": {"messages": anthropic_session(20), "tools": ANTHROPIC_TOOLS, "system": SYSTEM},
}
shapes = pytest.mark.parametrize("shape", SHAPES)


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        (None, 8000),
        ({"maxTokens": 0}, None),
        ({"maxTokens": 500}, 500),
        ({"contextWindow": 100_000}, 83_616),
        ({"contextWindow": 100_000, "reserveTokens": 30_000}, 70_000),
        ({"contextWindow": 8000, "reserveTokens": 16_384}, 8000),
        ({"contextWindow": 8000, "reserve": 8000, "maxTokens": 500}, 500),
        ({"contextWindow": 8000, "reserve": 9000, "maxTokens": 0}, None),
        ({"model": "gpt-4", "reserve": 9000}, 8000),
        ({"model": "gpt-4o"}, 111_616),
    ],
)
def test_s3_2_the_limit_at_which_a_session_is_compacted(config: Any, limit: int | None) -> None:
    assert effective_token_limit(config) == limit


@shapes
def test_s3_2_compaction_is_due_by_tokens_else_by_messages(shape: str) -> None:
    messages = SHAPES[shape]["messages"]
    tokens = estimate_context_tokens(messages)
    assert should_compact(messages, {"maxTokens": tokens})
    assert not should_compact(messages, {"maxTokens": tokens + 1})
    assert not should_compact(messages, {"maxTokens": tokens, "autoCompact": False})
    assert should_compact(messages, {"maxTokens": 0, "maxMessages": 100})
    assert not should_compact(messages[:40], {"maxTokens": 0, "maxMessages": 100})
    assert not should_compact(messages, {"contextWindow": 1_000_000, "maxMessages": 2})


def test_s3_13_the_estimate_is_recorded_usage_plus_later_messages() -> None:
    messages: Messages = [
        {"role": "user", "content": "x" * 400},
        {
            "role": "assistant",
            "content": "y" * 40,
            "usage": {"prompt_tokens": 900, "completion_tokens": 70},
        },
        {"role": "user", "content": "z" * 41},
    ]
    assert estimate_context_tokens(messages) == 970 + 11
    messages[1].pop("usage")
    assert estimate_context_tokens(messages) == 100 + 10 + 11
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages[2]["content"] = [{"type": "text", "text": "z"}, image]
    assert estimate_context_tokens(messages) == 100 + 10 + 1 + 1200


@shapes
def test_s3_11_a_compacted_session_is_a_summary_and_recent_messages(shape: str) -> None:
    request = copy.deepcopy(SHAPES[shape])
    events: list[Event] = []
    done = compact(
        config={"keepRecentTokens": 2000, "toolCallCutoff": 100}, on_event=events.append, **request
    )
    assert request == SHAPES[shape]
    assert done.summary is not None
    assert done.summary.startswith("[Previous conversation summary]")
    assert "keep the north light burning" in done.summary
    assert done.tokens_after < done.tokens_before
    members = {key: request[key] for key in ("system", "tools") if key in request}
    assert estimate_tokens(done.messages, **members) == done.tokens_after
    text = json.dumps(done.messages)
    assert text.count("[Previous conversation summary]") == 1
    assert done.messages[-4:] == request["messages"][-4:]
    calls, answers = results(done.messages)
    assert calls == answers
    assert [event.event for event in events] == ["start", "end"]
    assert (events[1].tokens_before, events[1].tokens_after) == (
        done.tokens_before,
        done.tokens_after,
    )
    assert events[1].error is None


def test_a_session_of_recent_messages_is_not_compacted_with_a_reason() -> None:
    messages = openai_session(1, steps=1)
    done = compact(messages)
    assert (done.messages, done.summary) == (messages, None)
    assert done.findings == ("nothing was compacted: nothing is older than the kept messages",)


class Broken:
    """A summarizer that returns no text."""

    name = "broken"

    def summarize(self, prompt: str, max_tokens: int) -> Reply:
        return Reply(" ")


def test_s3_12_the_fallback_of_a_summarizer_is_reported() -> None:
    events: list[Event] = []
    done = compact(
        openai_session(20), {"keepRecentTokens": 2000}, events.append, summarizer=Broken()
    )
    assert done.summary is not None
    assert any(finding.startswith("broken: the summary is empty") for finding in done.findings)
    assert "broken: the summary is empty" in (events[-1].error or "")


TOO_LONG = (
    "This model's maximum context length is 4096 tokens. However, your messages resulted in "
    "23000 tokens."
)


def refusal(
    message: str = TOO_LONG, code: str | None = "context_length_exceeded", status: int = 400
) -> Answer:
    error = {"message": message, "type": "invalid_request_error", "param": "messages", "code": code}
    return sends(json.dumps({"error": error}).encode(), status)


def client(server: Server) -> openai.OpenAI:
    return openai.OpenAI(api_key="none", base_url=server.url, max_retries=0, timeout=30)


@local
def test_s3_12_a_request_above_the_window_is_compacted_and_retried(server: Server) -> None:
    server.answers = [refusal(), completion("All lamps burn.")]
    events: list[Event] = []
    messages = openai_session(20)
    before = copy.deepcopy(messages)
    with client(server) as api:

        def send(prompt: Any) -> str | None:
            chat_completion = api.chat.completions.create(model="gpt-4o", messages=prompt)
            return chat_completion.choices[0].message.content

        answer = with_recovery(send, messages, {"model": "gpt-4o"}, on_event=events.append)
    assert answer == "All lamps burn."
    first, second = (body["messages"] for _, body in server.asked)
    assert first == messages == before
    assert estimate_tokens(second, "gpt-4o") <= 4096 - 2048
    assert second[0] == messages[0]
    assert "[Previous conversation summary]" in json.dumps(second)
    assert "Look after lamp 19" in json.dumps(second)
    calls, answers = results(second)
    assert calls == answers
    assert [(event.event, event.error) for event in events] == [("start", None), ("end", None)]
    assert events[0].tokens_before == events[1].tokens_before == estimate_tokens(messages, "gpt-4o")
    assert events[1].tokens_after == estimate_tokens(second, "gpt-4o")


@local
def test_s3_12_a_request_is_retried_at_most_once(server: Server) -> None:
    server.answers = [refusal()]
    with client(server) as api, pytest.raises(openai.BadRequestError):
        with_recovery(
            lambda prompt: api.chat.completions.create(model="m", messages=prompt),
            openai_session(20),
        )
    assert len(server.asked) == 2


def test_s3_12_a_retried_request_is_the_given_list_within_the_smaller_budget() -> None:
    messages = openai_session(60)
    before = copy.deepcopy(messages)
    sent: list[Messages] = []

    def send(prompt: Messages) -> str:
        sent.append(copy.deepcopy(prompt))
        prompt.append({"role": "user", "content": "Only for this attempt."})
        if len(sent) == 1:
            raise ValueError("maximum context length is 8192 tokens")
        return "Fine."

    assert with_recovery(send, messages, model="gpt-4o", budget=700) == "Fine."
    assert (messages, sent[0]) == (before, before)
    assert estimate_tokens(sent[1], "gpt-4o") <= 700
    assert "Only for this attempt" not in json.dumps(sent[1])


@pytest.mark.parametrize(
    "text",
    [
        "invalid params, context window exceeds limit (2013)",
        "This model's maximum context length is 128K tokens, but the request has 150K.",
        "exceed context limit: 199211 + 20000 > 200000",
    ],
)
def test_s3_12_a_number_that_is_no_window_shortens_no_further(text: str) -> None:
    messages = openai_session(60)

    def second_prompt(refusal: str) -> Any:
        prompts: list[Any] = []

        def send(prompt: Any) -> str:
            prompts.append(prompt)
            if len(prompts) == 1:
                raise ValueError(refusal)
            return "Fine."

        assert with_recovery(send, messages, model="gpt-4o") == "Fine."
        return prompts[1]

    assert second_prompt(text) == second_prompt("context length exceeded")


@pytest.mark.parametrize("lines", [1, 90, 9000])
def test_s3_12_a_retried_request_is_a_quarter_shorter_or_an_overflow(lines: int) -> None:
    rules = {"role": "system", "content": "Light the lamps at dusk.\n" * lines}
    messages = [rules, *openai_session(6)[1:]]
    sent: list[Messages] = []

    def send(prompt: Messages) -> str:
        sent.append(prompt)
        if len(sent) == 1:
            raise ValueError("context length exceeded")
        return "Fine."

    refused = estimate_tokens(messages, "gpt-4o")
    if lines == 9000:
        with pytest.raises(ContextOverflowError):
            with_recovery(send, messages, model="gpt-4o")
    else:
        assert with_recovery(send, messages, model="gpt-4o") == "Fine."
        assert estimate_tokens(sent[1], "gpt-4o") <= refused * 3 // 4


@local
def test_s3_12_other_errors_cause_no_compaction(server: Server) -> None:
    server.answers = [refusal("Rate limit reached: tokens per min", "rate_limit_exceeded", 429)]
    events: list[Event] = []
    with client(server) as api, pytest.raises(openai.RateLimitError):
        with_recovery(
            lambda prompt: api.chat.completions.create(model="m", messages=prompt),
            openai_session(20),
            on_event=events.append,
        )
    assert (len(server.asked), events) == (1, [])


def test_s3_12_an_overflow_after_compaction_names_its_cause() -> None:
    events: list[Event] = []

    def send(prompt: Any) -> None:
        raise ValueError("prompt is too long: 9000 tokens > 200 maximum")

    huge = [{"role": "user", "content": "word " * 9000}]
    with pytest.raises(ContextOverflowError) as caught:
        with_recovery(send, huge, on_event=events.append)
    assert isinstance(caught.value.__context__, ValueError)
    assert [event.event for event in events] == ["start", "end"]
    assert events[1].error is not None
    assert events[1].error.startswith("Cannot fit request within context limit.")


def leaves(value: Any) -> list[str]:
    """All texts in a value but ids and types."""
    if isinstance(value, dict):
        return [
            text
            for key, item in value.items()
            if key not in ("id", "type")
            for text in leaves(item)
        ]
    return (
        [text for item in value for text in leaves(item)]
        if isinstance(value, list)
        else [str(value)]
    )


def limited(server: Server, most: int, model: str) -> Answer:
    """An endpoint that counts its request, with a token for each role, and refuses requests above
    its window.
    """

    def answer(handler: BaseHTTPRequestHandler) -> None:
        body = server.asked[-1][1]
        tokens = sum(
            tokenizers.count(text, model)
            for text in leaves([body["messages"], body.get("system", "")])
        )
        (
            refusal(f"maximum context length is {most} tokens")
            if tokens > most
            else completion("Fine.")
        )(handler)

    return answer


@local
@pytest.mark.parametrize(
    ("model", "shape"), [("gpt-4o", "openai"), ("claude-opus-4-5", "anthropic"), ("own", "openai")]
)
def test_s1_2_from_messages_through_the_layer_to_a_server(
    server: Server, tokenizer_path: str, model: str, shape: str
) -> None:
    """The model has a window; the server accepts every prompt that the API returns, at every
    turn.
    """
    counting = tokenizer_path if model == "own" else model
    window = 24_000 if model == "own" else 9_000
    server.answers = [limited(server, window, counting)]
    config = {"maxContextTokens": window, "reservedOutputTokens": 1000} | (
        {"tokenizer": tokenizer_path} if model == "own" else {"model": model}
    )
    request = SHAPES[shape]
    with client(server) as api:
        for turn in (10, 60, 100):
            talk = request["messages"][:turn]
            prompt = build_final_prompt(
                talk, config, system=request.get("system"), tools=request["tools"]
            )
            assert prompt.token_count <= window - 1000
            extra = {"system": request["system"]} if "system" in request else {}
            chat_completion = api.chat.completions.create(
                model=model, messages=prompt.messages, extra_body=extra
            )  # type: ignore[arg-type]
            assert chat_completion.choices[0].message.content == "Fine."
            if turn < 20:
                assert prompt.messages == talk
    assert prompt.usage.trimmed
    assert len(server.asked) == 3


def test_a_tokenizer_file_encodes_tokens(tokenizer_path: str) -> None:
    numbers = tokenizers.encode("tide sea", tokenizer_path)
    assert len(numbers) == tokenizers.count("tide sea", tokenizer_path) == 4


@settings(max_examples=examples(60), deadline=None)
@given(
    conversations(),
    st.sampled_from(["openai", "anthropic"]),
    st.integers(0, 6),
    st.sampled_from([0, 100, 2000]),
)
def test_s3_10_a_compacted_list_is_never_longer_and_the_input_is_unchanged(
    talk: list[dict[str, Any]], shape: str, count: int, tokens: int
) -> None:
    spelled = (openai_chat if shape == "openai" else anthropic).conversation(talk)
    request = {
        key: spelled[key] for key in ("messages", "system", "tools") if spelled.get(key)
    } or {"messages": []}
    request.setdefault("messages", [])
    before = copy.deepcopy(request)
    config = {
        "keepRecent": count,
        "keepRecentTokens": tokens,
        "toolCallCutoff": 2,
        "tokenizer": "chars4",
    }
    done = compact(config=config, **request)
    assert request == before
    assert done.tokens_after <= done.tokens_before == estimate_tokens(**request, tokenizer="chars4")
    assert (
        estimate_tokens(**request | {"messages": done.messages}, tokenizer="chars4")
        == done.tokens_after
    )
    calls, answers = results(request["messages"])
    left, texts = results(done.messages)
    assert texts - left <= answers - calls


@settings(max_examples=examples(40), deadline=None)
@given(conversations(), st.sampled_from(["openai", "anthropic"]), st.integers(300, 3000))
def test_s3_12_a_retried_request_fits_the_reported_window(
    talk: list[dict[str, Any]], shape: str, window: int
) -> None:
    spelled = (openai_chat if shape == "openai" else anthropic).conversation(talk)
    members = {key: spelled[key] for key in ("system", "tools") if spelled.get(key)}
    sent: list[Messages] = []

    def send(prompt: Messages) -> str:
        sent.append(prompt)
        if len(sent) == 1:
            raise ValueError(f"maximum context length is {window} tokens")
        return "Fine."

    try:
        assert (
            with_recovery(send, spelled["messages"], {"tokenizer": "chars4"}, **members) == "Fine."
        )
    except ContextOverflowError:
        assert len(sent) == 1
    else:
        assert estimate_tokens(sent[1], **members, tokenizer="chars4") <= window
