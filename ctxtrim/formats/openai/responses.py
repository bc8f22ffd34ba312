"""OpenAI Responses: item lists in requests, in responses, and in logs of both.

The input and output of one line are one conversation. `instructions` are a system message; an input
string is a user message, an output string the answer. Training data in items (`prompt_token_ids`,
log probabilities) is not read by any model.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ctxtrim.formats.base import Insertion, Site, content_owner
from ctxtrim.formats.fields import elements, identifier, is_paired_by_member, members, string
from ctxtrim.formats.message_lists import Dialect, Envelope, sent_site
from ctxtrim.formats.message_parts import system_prompt
from ctxtrim.formats.openai.item_kinds import CALL_IDS, NO_MESSAGE, TEXTS, kind_of
from ctxtrim.formats.request_options import choice, responses_options
from ctxtrim.formats.usage import responses_usage
from ctxtrim.loading import lazy_function
from ctxtrim.model import Message, Part, Span
from ctxtrim.text.json_paths import Place, each_element
from ctxtrim.text.records import dump

_LISTS = (
    "responses_create_params.input",  # rollouts of NeMo Gym
    "request.input",
    "request.body.input",  # logs of proxies, and their responses below
    "request_body.input",  # Helicone
    "body.input",  # a line of a batch, and of its results below
    "input",
    "response.output",
    "response.body.output",
    "response_body.output",
    "trajectory.output",
    "output",
)
_PLACE = " + ".join(_LISTS)
_OUTPUT = ("output",)
PLACES = (_PLACE, each_element(_PLACE), "")
"""The JSON paths of such lists. All lists of one object are one conversation, in this order."""

_OTHER_PLACES = (("data",), ("items",), ("history",))  # lists of the API, sessions

_TYPES = (
    "function_call", "custom_tool_call", "local_shell_call", "computer_call", "shell_call",
    "apply_patch_call", "tool_search_call", "web_search_call", "file_search_call",
    "code_interpreter_call", "image_generation_call", "mcp_call",
)  # fmt: skip
_OUTPUT_END = re.compile("_(?:output|result)$")
_FOREIGN = ("tool_use", "tool_result", "thinking", "tool_call", "toolCall")
_STEPS = ("user_input", "model_output", "function_result")
"""Items of Gemini's Interactions API."""

_REQUEST = {
    "instructions", "tools", "tool_choice", "previous_response_id", "max_output_tokens",
    "reasoning", "store", "parallel_tool_calls", "truncation", "include",
}  # fmt: skip
"""Fields of a request that no other API has together with `input`."""

_FIELDS = _REQUEST | {
    "access_programs", "background", "background_options", "context_management", "conversation",
    "image", "input", "max_tool_calls", "metadata", "model", "moderation", "multi_agent", "prompt",
    "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "safety_identifier",
    "service_tier", "stream", "stream_options", "temperature", "text", "top_logprobs", "top_p",
    "user",
    "extra_body", "extra_headers", "extra_query", "timeout",  # of calls of the SDK
}  # fmt: skip
"""All fields of a request."""

_INSTRUCTIONS = ("instructions", "system_prompt")
"""Members with the system prompt; the second in the data of Llama-Nemotron."""

_OTHER_APIS = ("embed", "moderation", "tts", "whisper")
"""Words in the names of models of other APIs, whose requests have an input and a model too."""


def knows(value: object) -> bool:
    """Whether a value is a call, an output, or a message with content that no other format has."""
    if not isinstance(value, dict) or value.get("tool_calls"):
        return False
    kind, content = value.get("type"), value.get("content")
    if isinstance(kind, str) and _OUTPUT_END.sub("", kind) in _TYPES:
        return "id" in value or any(key in value for key in CALL_IDS)
    if kind not in ("message", None) or kind_of(value) not in ("message", "text"):
        return False
    if isinstance(content, list) and any(isinstance(block, str) for block in content):
        return kind == "message"  # LiveKit
    if isinstance(content, list):
        return any(isinstance(block, dict) and block.get("type") in TEXTS for block in content)
    return kind == "message" and isinstance(content, str)


def admits(value: object) -> bool:
    """Whether a value has a type or role that no other format has, known or not."""
    if (
        not isinstance(value, dict)
        or value.get("tool_calls")
        or not ("type" in value or "role" in value)
        or _is_event(value)
    ):
        return False
    blocks = elements(value.get("content"))
    return not any(isinstance(block, dict) and block.get("type") in _FOREIGN for block in blocks)


def _is_event(value: dict[str, Any]) -> bool:
    """Whether a value is an event of a stream; the last of them has the whole response."""
    return str(value.get("type")).startswith("response.")


def is_draft(place: Place) -> bool:
    """Whether a list or text is the empty output of a response that is still being made."""
    if place.items == "" and place.path[-1:] == _OUTPUT:
        return True
    return not place.items and place.envelope.get("status") in ("in_progress", "queued")


def has_foreign(items: Sequence[Any]) -> bool:
    """Whether items are of another API with an `input`: calls or results of Chat Completions, which
    clients log there, those of Amazon Bedrock, or turns or steps of Gemini's Interactions.
    """
    return any(map(_is_foreign, items))


def _is_foreign(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if value.get("role") in ("tool", "function", "model") or value.get("tool_calls"):
        return True
    if "message" in value and members(value["message"]).get("tool_calls"):  # a choice
        return True
    return value.get("type") in _STEPS or any(
        map(is_paired_by_member, elements(value.get("content")))
    )


def owns_place(place: Place) -> bool:
    """Whether the envelope of a list, or of a string in its place, is a Responses request or
    response.
    """
    around, items = place.envelope, place.items
    is_rollout = place.path[-2:] == ("responses_create_params", "input")
    if is_rollout or around.get("object") == "response":
        return True
    if place.path[-1:] != ("input",) or "messages" in around or "preferred_output" in around:
        return False
    if isinstance(items, list) and has_foreign([*items, *elements(around.get("output"))]):
        return False
    if isinstance(items, str):
        model = around.get("model")
        if not isinstance(model, str):
            return _FIELDS.issuperset(around) and _needs_no_model(around)
        is_other = any(word in model.lower() for word in _OTHER_APIS)
        return not _REQUEST.isdisjoint(around) or (_FIELDS.issuperset(around) and not is_other)
    return any(admits(item) and kind_of(item) not in NO_MESSAGE for item in items)


def _needs_no_model(around: Mapping[str, Any]) -> bool:
    """Whether a request has instructions or continues something that OpenAI stores, by its id."""
    ids = (
        members(around.get("prompt")).get("id"),
        members(around.get("conversation")).get("id", around.get("conversation")),
        around.get("previous_response_id"),
    )
    is_stored = any(isinstance(name, str) and name and " " not in name for name in ids)
    return is_stored or isinstance(around.get("instructions"), str)


def is_request(place: Place) -> bool:
    """Whether a list is the input of a request, as the fields around it show."""
    around = place.envelope
    if place.path[-1:] != ("input",) or not owns_place(place):
        return False
    return not _REQUEST.isdisjoint(around) or ("model" in around and _FIELDS.issuperset(around))


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The fields next to the items. Usage summed over several requests is skipped.

    Rollouts of Codex's first version have the user's instructions under `session`; it sends them
    [openai/codex, `codex-cli/src/utils/storage/save-rollout.ts`, `agent/agent-loop.ts`].
    """
    tools, output = value.get("tools"), value.get("output")
    session = members(value.get("session")) if "items" in value else {}
    is_rollout = bool(session.get("instructions"))
    around, around_span = (session, span.inside("session")) if is_rollout else (value, span)
    key = next(filter(around.get, _INSTRUCTIONS), "instructions")
    instructions, value_span = around.get(key), around_span.inside(key)
    preamble = system_prompt(instructions or None, value_span)
    if instructions and not preamble:
        preamble = (
            Message("system", (Part("text", dump(instructions)),), index=0, spans=(value_span,)),
        )
    is_single_request = isinstance(output, list) and not any(
        kind_of(item) in ("message", "result") for item in output
    )
    return Envelope(
        dump(tools) if tools and isinstance(tools, list) else None,
        tool_choice=choice(value),
        model=string(value.get("model")) or None,
        id=identifier(value.get("id")) or string(session.get("id")),
        usage=responses_usage(value.get("usage")) if is_single_request else None,
        preamble=preamble,
        options=responses_options(value),
    )


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an item.

    If there is no list to insert into, one is made from the existing value.
    """
    from ctxtrim.formats.openai.item_insert import insert_items  # for edits only

    site = sent_site(site, _lone_answer)
    insertions = insert_items(run, site)
    span, is_after = insertions[0].span, insertions[0].is_after
    if not span.path or isinstance(span.path[-1], int):
        return insertions
    return _insert_into_list([insertion.value for insertion in insertions], span, is_after, site)


def _lone_answer(span: Span) -> Span | None:
    """The span of an answer outside of a list, None for other spans."""
    return span if span.path[-1:] in (_OUTPUT, ("message",)) else None


def _insert_into_list(
    items: list[dict[str, Any]], span: Span, is_after: bool, site: Site
) -> list[Insertion]:
    """Items next to a string. Items before the instructions move them into the item list."""
    text = site.value_of(span)
    around = span.outer
    insertions: list[Insertion] = []
    if span.path[-1] in _INSTRUCTIONS and not is_after:
        insertions.append(Insertion(None, span, replaces=True))
        items = [*items, _message("system", text)]
    target = around.inside("input")
    if around.path[-1:] == ("session",):
        target = around.outer.inside("items")
    value = site.value_of(target)
    is_text = any(message.spans[0] == target for message in site.messages)
    if isinstance(value, str) and is_text:  # another string contains a list
        user = [_message("user", value)] if site.earlier or site.later else []
        is_first = span == target and is_after
        items = [*user, *items] if is_first else [*items, *user]
        return [*insertions, Insertion(items, target, replaces=True)]
    if value is None:
        target = around.inside("output")
    return [*insertions, *(Insertion(item, target.inside(0)) for item in items)]


def _message(role: str, text: Any) -> dict[str, Any]:
    text = text if isinstance(text, str) else dump(text)
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


DIALECT = Dialect(
    "openai-responses",
    knows,
    lazy_function("ctxtrim.formats.openai.items:read_items"),
    insert,
    envelope=envelope,
    owner=content_owner,
    places=PLACES,
    other_places=_OTHER_PLACES,
    is_draft=is_draft,
    owns_place=owns_place,
    admits=admits,
    has_foreign=has_foreign,
    texts=(("input",), _OUTPUT),
)
