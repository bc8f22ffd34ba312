"""Errors that mean a prompt exceeds the window, in the words of each provider, and other errors."""

import json
from types import SimpleNamespace

import openai
import pytest
from fake_server import Server, local, sends

from ctxtrim import ContextOverflowError, is_context_length_exceeded
from ctxtrim.api.provider_errors import stated_window

TOO_LONG = (
    "This model's maximum context length is 8192 tokens. However, your messages resulted "
    "in 10020 tokens. "
    "Please reduce the length of the messages.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, "
    "decrease input length",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
    "Input is too long for requested model.",
    "Too many input tokens",
    "the request exceeds the available context size (4096 tokens), try increasing it",
    "request (9000 tokens) exceeds the available context size (4096 tokens)",
    "Please reduce the length of the messages or completion.",
    "token limit exceeded",
    "Context window exceeded",
    "context length exceeded",
    "too many tokens",
    "Requested token count exceeds the model's maximum context length of 131072 tokens.",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "Request body too large for gpt-4o model. Max size: 8000 tokens.",
    "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 "
    "`inputs` tokens and 1000 `max_new_tokens`",
    "Input validation error: `inputs` must have less than 1024 tokens. Given: 3000",
)
OTHERS = (
    "Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit "
    "30000, Used 29000.",
    "429 Too Many Requests: too many tokens per minute, please try again later",
    "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000.",
    "You exceeded your current quota, please check your plan and billing details.",
    "max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens",
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, "
    "whereas you provided 100000.",
    "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is "
    "less than the `context_window` for this model",
    "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum "
    "tokens value that is lower than 4096.",
    "Input validation error: `max_new_tokens` must be <= 512. Given: 1000",
    "Request body too large. Max size: 25 MB.",
    "Your account exceeded the token limit for today, please try again later",
    "Invalid API key",
    "messages: at least one message is required",
    "tool_use ids were found without tool_result blocks immediately after",
    "the connection was closed",
    "",
)


@pytest.mark.parametrize("text", TOO_LONG)
def test_s3_12_errors_that_mean_a_prompt_exceeds_the_window(text: str) -> None:
    assert is_context_length_exceeded(ValueError(text))
    assert is_context_length_exceeded(
        RuntimeError(f"Error code: 400 - {{'error': {{'message': {text!r}}}}}")
    )


@pytest.mark.parametrize("text", OTHERS)
def test_s3_12_errors_with_another_meaning(text: str) -> None:
    assert not is_context_length_exceeded(ValueError(text))


@local
@pytest.mark.parametrize(
    ("status", "code", "message", "is_long"),
    [
        (400, "context_length_exceeded", "No.", True),
        (400, "invalid_value", "No.", False),
        (400, None, "prompt is too long", True),
        (413, "tokens_limit_reached", "No.", True),
        (413, "request_too_large", "The prompt is too long.", True),
        (429, "rate_limit_exceeded", "Limit on tokens: maximum context.", False),
        (500, "server_error", "Oh.", False),
    ],
)
def test_s3_12_errors_of_the_openai_client_are_recognized_by_code(
    server: Server, status: int, code: str | None, message: str, is_long: bool
) -> None:
    body = {
        "error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    }
    server.answers = [sends(json.dumps(body).encode(), status)]
    client = openai.OpenAI(api_key="none", base_url=server.url, max_retries=0)
    with client, pytest.raises(openai.APIStatusError) as caught:
        client.chat.completions.create(model="local", messages=[{"role": "user", "content": "x"}])
    assert is_context_length_exceeded(caught.value) == is_long


class BadRequestError(Exception):
    """An error of Anthropic's client: its body is the answer of the server."""

    def __init__(self, message: str) -> None:
        super().__init__("Bad request")
        self.status_code = 400
        self.body = {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": message},
        }


class ContextWindowExceededError(Exception):
    """An exception whose type alone decides."""


def test_s3_12_errors_are_recognized_by_type_and_body() -> None:
    assert is_context_length_exceeded(BadRequestError("prompt is too long: 9 > 8"))
    assert is_context_length_exceeded(ContextWindowExceededError())
    assert is_context_length_exceeded(ContextOverflowError(9, 8))
    error = ValueError("odd")
    error.response = SimpleNamespace(status_code=500)  # type: ignore[attr-defined]
    assert not is_context_length_exceeded(error)


def test_s3_12_the_cause_of_an_error_is_recognized() -> None:
    def wrapped(inner: Exception) -> BaseException:
        try:
            try:
                raise inner
            except Exception as error:
                raise RuntimeError("the agent failed") from error
        except RuntimeError as error:
            return error

    assert is_context_length_exceeded(wrapped(ValueError("prompt is too long")))
    assert is_context_length_exceeded(
        ExceptionGroup("both", [ValueError("x"), ValueError("context length")])
    )
    assert not is_context_length_exceeded(wrapped(ValueError("no")))
    loop = ValueError("round")
    loop.__cause__ = loop
    assert not is_context_length_exceeded(loop)


@pytest.mark.parametrize(
    ("text", "window"),
    [
        (TOO_LONG[0], 8192),
        (TOO_LONG[1], 200_000),
        (TOO_LONG[3], 1_048_575),
        (TOO_LONG[6], 4096),
        ("maximum context length of 131,072 tokens", 131_072),
        (TOO_LONG[14], 131_072),
        ("context length exceeded", None),
        (TOO_LONG[2], 200_000),
        ("exceed context limit: 199211 + 20000 > 200000", 200_000),
        ("token limit: 5000 tokens + 4000 tokens > 8192 tokens", 8192),
        ("invalid params, context window exceeds limit (2013)", None),
        ("maximum context length is 128K tokens, but the request has 150K.", 128_000),
        ("The prompt exceeds the 1.5M token limit.", 1_500_000),
        ("exceeds the 200k context window of gpt-4-32k", 200_000),
        ("token limit for gpt-4-32k exceeded", None),
        ("maximum context length is 200000 tokens; the limit of this key is 32000 tokens", 32_000),
        ("exceeded model token limit: 262144 (requested: 269030)", 262_144),
        ("Request body too large for gpt-4o model. Max size: 8000 tokens.", 8000),
        ("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 `inputs`", 8193),
        ("`inputs` must have less than 1024 tokens. Given: 3000", 1024),
        (
            "'max_tokens' is too large: 500. This model's maximum context length is 4096 tokens "
            "and your request has 4000 input tokens (500 > 4096 - 4000).",
            4096,
        ),
    ],
)
def test_the_window_is_parsed_from_an_error(text: str, window: int | None) -> None:
    assert stated_window(ValueError(text)) == window


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("context limit exceeded, code 2013", None),
        ("maximum context length exceeded: 4096", None),
        ("maximum context length of 4096 tokens exceeded", 4096),
        ("prompt is too long: 90000 tokens > 8192 maximum", 8192),
        ("context limit exceeded: 64000", 64_000),
    ],
)
def test_a_number_far_below_the_prompt_is_a_window_only_with_tokens(
    text: str, window: int | None
) -> None:
    assert stated_window(ValueError(text), prompt_tokens=90_000) == window


class LimitedError(Exception):
    code = "rate_limit_exceeded"


def test_the_code_of_a_rate_limit_decides_whatever_the_text() -> None:
    text = "the request has more than the maximum input tokens"
    assert is_context_length_exceeded(ValueError(text))
    assert not is_context_length_exceeded(LimitedError(text))


class OfClassError(Exception):
    code = "context_length_exceeded"


class OfPropertyError(Exception):
    @property
    def body(self) -> dict[str, object]:
        return {"error": {"message": TOO_LONG[0]}}


class OfSlotsError(Exception):
    __slots__ = ("code",)

    def __init__(self) -> None:
        self.code = "context_length_exceeded"


class FailingError(Exception):
    """An error whose properties fail, in a client that was closed."""

    @property
    def code(self) -> str:
        raise RuntimeError("closed")

    status_code = body = code


@pytest.mark.parametrize("kind", [OfClassError, OfPropertyError, OfSlotsError])
def test_s3_12_attributes_of_a_class_properties_and_slots_count(kind: type[Exception]) -> None:
    assert is_context_length_exceeded(kind())
    assert is_context_length_exceeded(RuntimeError("no answer")) is False


def test_s3_12_attributes_that_fail_are_left_out() -> None:
    assert not is_context_length_exceeded(FailingError("no answer"))
    assert is_context_length_exceeded(FailingError(TOO_LONG[0]))
