"""The fields of a request besides its messages, and what the provider counted."""

from typing import Literal

from msgspec import Struct

Api = Literal["chat", "responses", "anthropic", "gemini"]

_CONTINUED = frozenset(("previous_response_id", "conversation", "thread"))
NO_RESULTS = "the file lacks the results of all calls"
"""The part that is not read of a session whose program does not write results."""


class OutputFormat(Struct, frozen=True):
    """The structured output of a request: JSON schema (as JSON text), name and description."""

    schema: str
    name: str = ""
    description: str = ""


class RequestOptions(Struct, frozen=True):
    """Fields of a request, besides messages and tools, that cost input tokens.

    `api` is the API of the request; None if the file does not show it. `reasoning` is the mode that
    the request selects: `enabled`, `adaptive` or `between_tools` (Anthropic), `pro` (OpenAI).
    `task_budget` is an option of Anthropic. `prediction`: the request predicts its answer (OpenAI).
    `any_json`: the answer of Responses must be JSON, without a schema. `hidden`: the fields whose
    text only the provider has. `base`: the id of a session in another file that this one continues.
    `unread`: the parts of the recorded request and its answer that are not read, in words.
    """

    api: Api | None = None
    output: OutputFormat | None = None
    reasoning: str | None = None
    task_budget: bool = False
    prediction: bool = False
    any_json: bool = False
    hidden: tuple[str, ...] = ()
    base: str | None = None
    unread: tuple[str, ...] = ()

    @property
    def continues_stored(self) -> bool:
        """Whether the provider has earlier messages, whose calls may be answered here."""
        return not _CONTINUED.isdisjoint(self.hidden)

    @property
    def omits_results(self) -> bool:
        """Whether the program that wrote the file leaves out all results of calls."""
        return NO_RESULTS in self.unread

    def __or__(self, later: "RequestOptions") -> "RequestOptions":
        """The combined fields of two parts of one request; the first value wins."""
        return RequestOptions(
            self.api or later.api,
            output=self.output or later.output,
            reasoning=self.reasoning or later.reasoning,
            task_budget=self.task_budget or later.task_budget,
            prediction=self.prediction or later.prediction,
            any_json=self.any_json or later.any_json,
            hidden=tuple(dict.fromkeys(self.hidden + later.hidden)),
            base=self.base or later.base,
            unread=tuple(dict.fromkeys(self.unread + later.unread)),
        )


class Usage(Struct, frozen=True):
    """The tokens that the provider counted for one request: its prompt and its answer.

    `message` is the index of the answer among the messages as read; None if the usage covers the
    whole conversation. The prompt is everything before the answer, plus anything else that the
    client sent. `model` is the model that counted, if the file names it. `total_tokens` is the sum
    if the file records nothing else; prompt and answer are then 0.
    """

    prompt_tokens: int
    completion_tokens: int
    message: int | None = None
    model: str | None = None
    total_tokens: int | None = None

    def context_tokens(self, answer: int) -> int:
        """The tokens of the prompt and its answer, of which some clients count too few."""
        if self.total_tokens is not None:
            return self.total_tokens
        return self.prompt_tokens + max(self.completion_tokens, answer)
