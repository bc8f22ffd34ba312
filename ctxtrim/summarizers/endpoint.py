"""An OpenAI-compatible endpoint. The `openai` package is imported for the first summary.

The key is sent to the configured host only: over HTTPS, or over HTTP to this machine. A redirect to
another origin is refused, because it would send the transcript there.
"""

import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ctxtrim.errors import SummaryError
from ctxtrim.summaries.summarizer import Reply
from ctxtrim.summarizers.errors import MAX_ANSWER, line

KEYS = ("CTXTRIM_LLM_API_KEY", "OPENAI_API_KEY")
"""The environment variables for the key. The first one that is set is used."""

_TEMPORARY = (408, 409, 429)  # HTTP statuses after which the request is sent again, as after 500
_PAUSE = 0.5  # seconds before the second attempt
_LEAST = 0.01  # seconds: the HTTP library refuses a time that is over


@dataclass(frozen=True)
class Endpoint:
    """A model at an endpoint.

    A `SummaryError` if it is unreachable, refuses, times out or returns an invalid answer.

    `base_url` includes the version (`http://localhost:8080/v1`); None is OpenAI's endpoint. The key
    comes from the environment only; local endpoints may need none. `timeout` is in seconds, for all
    of 1 + `retries` attempts together. At most 1 MiB of an answer is read.
    """

    model: str
    base_url: str | None = None
    timeout: float = 60.0
    retries: int = 2

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.model

    def summarize(self, prompt: str, max_tokens: int) -> Reply:
        """The answer of the model, in at most `max_tokens` tokens, and the reported usage."""
        key = next((os.environ[name] for name in KEYS if os.environ.get(name)), None)
        if key is None and self.base_url is None:
            raise SummaryError(f"no key; set {' or '.join(KEYS)}, or name a local endpoint")
        answer = self._request(prompt, max_tokens, key)
        if isinstance(answer, str):
            # raised here, so that the error has no reference to a request with the key
            raise SummaryError(answer)
        return _reply(answer, self._endpoint, max_tokens)

    @property
    def _endpoint(self) -> str:
        """The endpoint in messages, without the parts of its address that may be secret."""
        if self.base_url is None:
            return "the endpoint"
        return f"the endpoint {line(re.sub(r'(?<=//)[^/@]*@|[?].*', '', self.base_url))}"

    def _request(self, prompt: str, max_tokens: int, key: str | None) -> bytes | str:
        """The bytes of an answer, or the problem in words."""
        try:
            import openai

            from ctxtrim.summarizers.origins import SameOrigin, is_loopback, is_private
        except ImportError:
            return "--llm-model needs the openai package; pip install 'ctxtrim[llm]'"
        # OpenAI's newer models reject max_tokens; other endpoints support only that
        limit = "max_completion_tokens" if self.base_url is None else "max_tokens"
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt.encode(errors="replace").decode()}],
            limit: max_tokens,
        }
        try:
            # Any proxy of the environment may need a package that is not installed.
            offline = SameOrigin(trust_env=False)
            with openai.OpenAI(
                api_key="none", base_url=self.base_url, http_client=offline
            ) as client:
                address = client.base_url
            if key is not None and not is_private(address):
                return (
                    f"{self._endpoint} would get the key unencrypted; use https:// or unset the key"
                )
            # Without a proxy, which would read plain HTTP requests to this machine.
            http = SameOrigin(timeout=self.timeout, trust_env=not is_loopback(address.host))
            with openai.OpenAI(
                api_key=key or "none",
                base_url=address,
                max_retries=0,
                http_client=http,
            ) as client:
                bare = {} if key else {"Authorization": openai.Omit()}
                return self._answer(client, body | {"extra_headers": bare})
        except (openai.OpenAIError, ValueError, ImportError) as error:
            return self._problem(error, key)

    def _answer(self, client: Any, options: dict[str, Any]) -> bytes | str:
        """The bytes of an answer, or the problem in words, after several attempts.

        The client itself would give each attempt the whole time.
        """
        import openai

        create = client.chat.completions.with_streaming_response.create
        deadline = time.monotonic() + self.timeout
        attempt = 0
        while True:
            left = max(_LEAST, deadline - time.monotonic())
            try:
                with create(**options, timeout=left) as response:
                    return self._read(response.iter_bytes(), deadline)
            except (openai.APIConnectionError, openai.APIStatusError) as error:
                pause = _pause(error, attempt)
                is_last = attempt == self.retries or time.monotonic() + pause >= deadline
                if is_last or not _is_temporary(error):
                    raise
            time.sleep(pause)
            attempt += 1

    def _problem(self, error: Exception, key: str | None) -> str:
        """An error of the client in words, without the key."""
        import openai

        if isinstance(error, openai.APITimeoutError):
            return self._late
        if isinstance(error, openai.APIStatusError):
            status = error.status_code
            if error.response.has_redirect_location:
                return (
                    f"{self._endpoint} redirects to another origin (HTTP {status}), "
                    "which is refused; give the address of the endpoint itself"
                )
            if status in (401, 403):
                return f"{self._endpoint} refuses the key (HTTP {status}); see {KEYS[0]}"
            return f"{self._endpoint} answered HTTP {status}: {line(error.message, key)}"
        if isinstance(error, openai.APIConnectionError):
            text = line(str(error.__cause__ or error), key)
            return f"{self._endpoint} cannot be reached: {text.rstrip('.')}"
        return f"the request to {self._endpoint} failed: {line(str(error), key)}"

    def _read(self, blocks: Iterator[bytes], deadline: float) -> bytes | str:
        """The bytes of an answer as they arrive, or the problem in words."""
        data = bytearray()
        try:
            for block in blocks:
                data += block
                if len(data) > MAX_ANSWER:
                    return f"{self._endpoint} sent more than {MAX_ANSWER:,} bytes"
                if time.monotonic() > deadline:
                    return self._late
        except Exception as error:  # noqa: BLE001 - errors of the HTTP library, which openai does not map here
            is_late = "timeout" in type(error).__name__.lower()
            return self._late if is_late else f"{self._endpoint} broke off its answer"
        return bytes(data)

    @property
    def _late(self) -> str:
        return f"{self._endpoint} did not answer within {self.timeout:g} s"


def _is_temporary(error: Any) -> bool:
    """Whether another attempt may succeed; a connection error has no status."""
    status = getattr(error, "status_code", None)
    return status is None or status in _TEMPORARY or status >= 500


def _pause(error: Any, attempt: int) -> float:
    """The seconds before the next attempt: those that the endpoint asks for, if it does."""
    response = getattr(error, "response", None)
    wait = "" if response is None else response.headers.get("retry-after", "")
    return float(wait) if wait.isdecimal() else _PAUSE * 2.0**attempt


def _reply(data: bytes, who: str, limit: int) -> Reply:
    """The text and the usage of an answer of at most `limit` tokens."""
    try:
        answer = json.loads(data)
        choice = answer["choices"][0]
        text, is_cut = choice["message"]["content"], choice.get("finish_reason") == "length"
        usage = answer.get("usage") or {}
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise SummaryError(f"{who} returned an answer that is not a chat completion") from None
    if is_cut:
        raise SummaryError(f"{who} cut the summary at {limit:,} tokens")
    if not isinstance(text, str) or not text.strip():
        raise SummaryError(f"{who} returned an answer without text")
    return Reply(
        text.strip(),
        prompt if isinstance(prompt, int) else None,
        completion if isinstance(completion, int) else None,
    )
