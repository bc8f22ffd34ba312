"""Amazon Bedrock's Converse API: requests, logs of invocations, and messages of Strands Agents.

::

    {"modelId"?, "messages": [message, …], "system"?: [{"text"}], "toolConfig"?: {…}}
    {"modelId", "input": {"inputBodyJson": request}, "output": {"outputBodyJson": answer}}   a log
    {"message": message, "message_id", …}                                     Strands Agents
    {"agent": {"conversation_manager_state", …}, "messages": [message, …]}    its sessions
    {"scope", "data": {"messages", "systemPrompt"?, …}, …}                    its snapshots

    message   {"role": "user" | "assistant", "content": [block, …]}
    block     an object with one member: text | toolUse | toolResult | reasoningContent | image | …
              (Strands Agents in TypeScript: `reasoning`)

Detection is here; `converse` and `strands` read the messages and are loaded for files of this
format only. Logs of requests in Anthropic's format are `anthropic`. Sources: reference of
`ContentBlock` on docs.aws.amazon.com; `src/strands/types/session.py` of strands-agents/sdk-python;
`src/agent/snapshot.ts` of strands-agents/sdk-typescript.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxtrim.formats.fields import elements, first_string, has_chat_messages, members, string
from ctxtrim.formats.media_blocks import untyped_text
from ctxtrim.formats.message_lists import Dialect, Envelope
from ctxtrim.formats.usage import bedrock_usage, log_usage
from ctxtrim.loading import lazy_function
from ctxtrim.model.request import RequestOptions
from ctxtrim.text.json_paths import Path, Place, each_element
from ctxtrim.text.records import value_in

_BLOCK_MEMBERS = frozenset((
    "toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent", "citationsContent",
    "searchResult", "toolAddition", "toolRemoval",
))  # fmt: skip
_ROLES = ("user", "assistant", "system")
_MEDIA = ("image", "document", "video", "audio")
_REQUEST = (
    "toolConfig", "inferenceConfig", "additionalModelRequestFields", "guardrailConfig",
    "outputConfig", "promptVariables",
)  # fmt: skip
_ANSWERS = ("modelOutput", "response", "response_body")  # of a batch, of logs of clients


def message_in(value: object) -> tuple[dict[str, Any], Path]:
    """The message of an element, and the path to it.

    Strands Agents sends `redact_message` instead of the message if there is one.
    """
    element = members(value)
    if "message_id" in element and "role" not in element:
        for key in ("redact_message", "message"):
            if isinstance(element.get(key), dict):
                return element[key], (key,)
    return element, ()


def manager_state(around: Mapping[str, Any]) -> dict[str, Any] | None:
    """The state of the conversation manager in a session of Strands Agents; None elsewhere."""
    state = members(around.get("agent")).get("conversation_manager_state")
    return state if isinstance(state, dict) else None


def knows(value: object) -> bool:
    """Whether a value is a message with blocks that have no type."""
    message, _ = message_in(value)
    if message.get("role") not in _ROLES or "type" in message:
        return False
    content = message.get("content")
    return isinstance(content, list) and bool(content) and all(map(_is_block, content))


def is_empty(value: object) -> bool:
    """Whether a value is a message without content, which the API rejects but files contain."""
    message, _ = message_in(value)
    return message.get("role") in ("user", "assistant") and message.get("content") == []


def _is_block(value: object) -> bool:
    """Whether a value has one of the members of a block and no type.

    The blocks of DashScope have the URL of an image instead of an object.
    """
    block = members(value)
    if "type" in block:
        return False
    has_object = any(isinstance(block.get(key), dict) for key in (*_MEDIA, "reasoning"))
    return has_object or isinstance(block.get("text"), str) or not _BLOCK_MEMBERS.isdisjoint(block)


def claims(items: Sequence[Any], around: Mapping[str, Any]) -> bool:
    """Whether some elements, or their envelope, can only belong to Converse. Messages without
    content belong to any API.
    """
    items = [item for item in items if not is_empty(item)] or items
    if manager_state(around) is not None or any(key in around for key in _REQUEST):
        return not items or any(map(knows, items))
    return bool(items) and (any(map(_tells, items)) or all(map(knows, items)))


def _tells(value: object) -> bool:
    """Whether a message has a block that only Converse has."""
    if not knows(value):
        return False
    blocks = map(members, message_in(value)[0]["content"])
    return any(_is_media(block) or not _BLOCK_MEMBERS.isdisjoint(block) for block in blocks)


def owns_place(place: Place) -> bool:
    """Whether a list with a system message in the middle has a block that only Converse has, or is
    next to fields of a request. Other such lists are Chat Completions.
    """
    items = elements(place.items)
    roles = [members(item).get("role") for item in items]
    if "system" not in roles[1:] or roles[0] == "system" or not all(map(knows, items)):
        return False
    is_request = "modelId" in place.envelope or any(key in place.envelope for key in _REQUEST)
    return is_request or any(map(_tells, items))


def refuses_place(place: Place) -> bool:
    """Whether a list is an `input` without blocks of Converse, which clients of Responses send."""
    return place.path[-1:] == ("input",) and not any(map(_tells, elements(place.items)))


def _is_media(block: Mapping[str, Any]) -> bool:
    return any("source" in members(block.get(key)) for key in _MEDIA)


def header(value: object) -> Envelope:
    """The model and the usage of a logged invocation, a record of a batch or a request with its
    response, its id, and bodies that are not read.
    """
    record = members(value)
    request, response = members(record.get("input")), members(record.get("output"))
    answer = _opened(response.get("outputBodyJson"))
    events = _events(answer)
    answers = [members(answer), *(members(record.get(key)) for key in _ANSWERS)]
    sources = [*answers, *(members(event.get("metadata")) for event in events), record]
    usages = [bedrock_usage(source.get("usage")) for source in sources]
    usage = next(filter(None, [*usages, log_usage(request, response)]), None)
    name = first_string((record.get("requestId"), record.get("recordId")))
    notes = ("the answer is a stream of events, which is not read",) if events else ()
    options = RequestOptions(unread=(*_unread(record), *notes))
    return Envelope(model=string(record.get("modelId")), id=name, usage=usage, options=options)


def _opened(body: Any) -> Any:
    """A body, which tables and some exports of logs store as a string."""
    return value_in(body) if isinstance(body, str) else body


def _events(body: Any) -> list[dict[str, Any]]:
    """The events of a streamed answer; none of another body. Those of Anthropic have a type."""
    events = [members(event) for event in elements(body)]
    return events if any("messageStart" in event or "metadata" in event for event in events) else []


def _unread(record: Mapping[str, Any]) -> Iterator[str]:
    """The bodies that a log does not contain: large ones are stored as objects in S3."""
    for noun, side in (("request", "input"), ("answer", "output")):
        path = members(record.get(side)).get(f"{side}BodyS3Path")
        if isinstance(path, str):
            yield f"the {noun} is in another file, {path}"


_LOG = "input.inputBodyJson.messages + output.outputBodyJson.output.message"
_PROXY_LOG = "request.messages + kwargs.messages + response.output.message"
_BATCH = "modelInput.messages + modelOutput.output.message"
_READER = "ctxtrim.formats.bedrock.converse"
_STRANDS = "ctxtrim.formats.bedrock.strands"
DIALECT = Dialect(
    "bedrock",
    knows,
    lazy_function(f"{_READER}:read"),
    lazy_function(f"{_READER}:insert"),
    lazy_function(f"{_READER}:envelope"),
    owner=lazy_function(f"{_READER}:owner"),
    header=header,
    places=(
        "messages",
        "[*].messages",
        "",
        _PROXY_LOG,
        each_element(_PROXY_LOG),
        "request_body.messages + response_body.output.message",  # Helicone
        "body.messages",
        "[*].body.messages",
        "data.messages",
        _LOG,
        each_element(_LOG),
        _BATCH,
        each_element(_BATCH),
        "input + input.messages + output.message",  # also a response alone
    ),
    answers=(("message",),),
    takes_empty=True,
    resolved=lazy_function(f"{_STRANDS}:sent_elements"),
    relink=lazy_function(f"{_STRANDS}:relink"),
    claims=claims,
    has_foreign=has_chat_messages,
    owns_place=owns_place,
    refuses_place=refuses_place,
    must_alternate=True,
    strict_roles="elements",
    text_block=untyped_text,
)
