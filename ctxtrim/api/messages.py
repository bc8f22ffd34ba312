"""From message lists of programs to transcripts and back.

The list is written as the bytes of a file and read from them, so the promises for files hold here
too: values that are not edited do not change. The given list is never changed. Objects of SDKs are
read as the dicts that their `model_dump` returns, and come back as dicts.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

from ctxtrim.errors import InputError, SelfCheckError, UsageError, excerpt
from ctxtrim.formats import FORMATS
from ctxtrim.formats.chunks import Chunk
from ctxtrim.formats.reading import open_reading
from ctxtrim.formats.self_check import check
from ctxtrim.formats.writing import rewrite
from ctxtrim.model import Message, Source, Transcript


class Dumpable(Protocol):
    """An object of an SDK, such as a message of `openai` or `anthropic`: a pydantic model."""

    def model_dump(self) -> Any:
        """The object as a dict."""
        ...


PlainMessage = Mapping[str, Any] | Dumpable
PlainMessages = Sequence[PlainMessage]
M = TypeVar("M", bound=Mapping[str, Any] | Dumpable)
"""The type of the messages in a list, such as `ChatCompletionMessageParam`."""
System = str | Sequence[Mapping[str, Any]] | None
Tools = Sequence[Mapping[str, Any]] | None
RequestFields = Mapping[str, Any] | None

_FORMATS = tuple(FORMATS[name] for name in ("anthropic", "openai-chat"))
_LISTS = ("messages", "input", "contents")
"""The fields of requests that have the list of messages."""
_LANGCHAIN_TYPES = ("human", "ai", "system", "tool")
_SHAPE = "the shape of Chat Completions or Anthropic"


@dataclass(frozen=True)
class PlainConversation:
    """The transcript of a message list, and the lines of the file that it would be.

    `has_objects`: the list has objects of an SDK. `binaries`: the bytes in the request, such as
    images, by their Base64.
    """

    chunk: Chunk
    transcript: Transcript
    has_objects: bool = False
    binaries: Mapping[str, bytes] = field(default_factory=dict)

    def with_messages(self, transcript: Transcript) -> list[Any]:
        """A new list of dicts for an edited transcript."""
        messages: list[Any] = self.request(transcript)["messages"]
        return messages

    def request(self, transcript: Transcript) -> dict[str, Any]:
        """A new request for an edited transcript."""
        chunk = self.chunk
        if chunk.format is None or transcript.messages == transcript.source.messages:
            data = chunk.data
        else:
            try:
                lines = rewrite(chunk.format, chunk.lines, [transcript]).pieces
                check(chunk.format, chunk.lines, lines, [transcript])
            except SelfCheckError as error:
                _must_be_well_formed(chunk)
                raise error from None
            data = bytes(lines.data)
        hook = self._with_bytes if self.binaries else None
        request: dict[str, Any] = json.loads(data, object_hook=hook)
        if self.has_objects:
            request["messages"] = [_as_request(message) for message in request["messages"]]
        return request

    def _with_bytes(self, members: dict[str, Any]) -> dict[str, Any]:
        """The members of an object, with bytes where the given request has them."""
        return {
            name: self.binaries.get(value, value) if isinstance(value, str) else value
            for name, value in members.items()
        }


def _must_be_well_formed(chunk: Chunk) -> None:
    """Raise `InputError` for the first malformed value of messages that cannot be edited."""
    from ctxtrim.formats.defects import first_defect  # for failures only

    defect = first_defect(chunk)
    if defect is not None:
        raise InputError(f"malformed messages cannot be edited: {defect.reason}; fix this value")


def conversation(
    messages: PlainMessages,
    system: System = None,
    tools: Tools = None,
    request: RequestFields = None,
) -> PlainConversation:
    """The conversation of messages, dicts or objects of SDKs, in the shape of Chat Completions or
    Anthropic.

    `system` is for Anthropic only: a text or blocks. `tools` are schemas in either shape. `request`
    has further fields of the request, and may have these two. Raises `InputError` for a value that
    is not JSON or not a message of them, with its position, counted from 0, and for a field that
    would not count.
    """
    messages = message_list(messages)
    fields = _fields(system, tools, request)
    system = fields.get("system")
    values = [_message(message, position) for position, message in enumerate(messages)]
    line = b'"messages": [' + b", ".join(values) + b"]"
    members = [
        spelled(str(name), "request") + b": " + spelled(value, name)
        for name, value in fields.items()
    ]
    chunks = list(open_reading([b"{" + b", ".join((line, *members)) + b"}"], _FORMATS).chunks)
    transcripts = [transcript for chunk in chunks for transcript in chunk.transcripts]
    chunk = chunks[0]
    transcript = transcripts[0] if transcripts else Transcript((), Source(chunk.lines, ()))
    if system and (chunk.format is None or chunk.format.name != "anthropic"):
        raise InputError(
            "system is for Anthropic's messages only; "
            "in a list of Chat Completions, pass a system message"
        )
    _must_be_counted(transcript, values)
    return PlainConversation(chunk, transcript, has_objects(messages))


def _fields(system: System, tools: Tools, request: RequestFields) -> dict[str, Any]:
    """The fields of a request besides its messages.

    Raises `UsageError` for contradicting arguments, `InputError` for a field that would not count.
    """
    if not isinstance(request, Mapping | None):
        raise UsageError(f"request: expected an object, found {str(request)[:80]}")
    fields = dict(request or {})
    if "messages" in fields:
        raise UsageError("request: the messages are a separate argument; remove `messages`")
    for name, value in (("system", system), ("tools", tools)):
        if value and fields.get(name):
            raise UsageError(f"{name} is given twice; remove it from request")
        fields[name] = value or fields.get(name)
    system, tools = fields["system"], fields["tools"]
    if system and not isinstance(system, str | list | tuple):
        raise InputError(f"system: expected a text or a list of blocks, found {str(system)[:80]}")
    if tools and not isinstance(tools, list | tuple):
        raise InputError(f"tools: expected a list of schemas, found {str(tools)[:80]}")
    return {name: value for name, value in fields.items() if value is not None}


def _must_be_counted(transcript: Transcript, values: Sequence[bytes]) -> None:
    """Raise `InputError` for the first message that no format reads."""
    known = {position_of(message) for message in transcript.messages}
    if not transcript.uncounted and (known or not values):
        return
    unknown = (position for position in range(len(values)) if position not in known)
    first = next(unknown, 0)
    raise InputError(
        f"message {first}: {_problem(json.loads(values[first]))}; expected a message in {_SHAPE}"
    )


def _problem(message: dict[str, Any]) -> str:
    """Why a message cannot be read: because of its content, else of its role."""
    if "content" not in message:
        return "it has no content"
    content = message["content"]
    if isinstance(content, dict):
        return f"its content is an object, {excerpt(str(content))}"
    return f"role {message['role']!r} cannot be counted"


def message_list(messages: PlainMessages) -> PlainMessages:
    """The messages as a sequence: those of an iterator become a list.

    Raises `InputError` for a value that is not a list, such as a single message.
    """
    is_single = isinstance(messages, str | bytes | Mapping) or hasattr(messages, "model_dump")
    if is_single or not isinstance(messages, Iterable):
        raise InputError(f"expected a list of messages, found {str(messages)[:80]}")
    return messages if isinstance(messages, Sequence) else list(messages)


def position_of(message: Message) -> int | None:
    """The index of a message in the given list; None if it is not in the list."""
    path = message.spans[0].path if message.spans else ()
    is_in_list = len(path) > 1 and path[0] in _LISTS
    return int(path[1]) if is_in_list else None


def has_objects(messages: PlainMessages) -> bool:
    """Whether any of the messages is an object of an SDK."""
    return not all(isinstance(message, Mapping) for message in messages)


def check_shapes(messages: PlainMessages) -> None:
    """Raise `InputError` for the first value that is no message of Chat Completions or Anthropic.

    Nothing is converted, so objects of SDKs count as messages.
    """
    for position, message in enumerate(messages):
        if not hasattr(message, "model_dump"):
            _must_be_message(message, message, position)


def _message(message: PlainMessage, position: int) -> bytes:
    try:
        plain = message if isinstance(message, Mapping) else _dumped(message)
    except ValueError as error:
        raise InputError(f"message {position}: cannot be written as JSON: {error}") from error
    _must_be_message(plain, message, position)
    return spelled(plain, f"message {position}")


def _must_be_message(plain: Any, message: PlainMessage, position: int) -> None:
    """Raise `InputError` unless a value is a dict with a role, and not one of another API.

    `message`: the value as given.
    """
    if isinstance(plain, Mapping) and _is_of_langchain(plain):
        raise InputError(
            f"message {position}: a message of LangChain; pass the dicts of "
            "langchain_core.messages.convert_to_openai_messages(messages)"
        )
    other = _of_other_api(plain) if isinstance(plain, Mapping) else None
    if other is not None:
        raise InputError(
            f"message {position}: {other}; expected a message in {_SHAPE}; "
            "Pipeline.run_request takes requests of other APIs"
        )
    if not isinstance(plain, Mapping) or not isinstance(plain.get("role"), str):
        raise InputError(
            f"message {position}: expected an object with a role, found {str(message)[:80]}"
        )


def _is_of_langchain(message: Mapping[str, Any]) -> bool:
    """Whether a message is the dump of a LangChain object, or an element of `messages_to_dict`."""
    kind = message.get("type")
    is_of_it = kind in _LANGCHAIN_TYPES or str(kind).endswith("MessageChunk")
    return is_of_it and "role" not in message


def _of_other_api(message: Mapping[str, Any]) -> str | None:
    """What shows that a message belongs to OpenAI Responses, Gemini or Amazon Bedrock; None for
    other messages.
    """
    kind, content = message.get("type"), message.get("content")
    if isinstance(kind, str) and "role" not in message:
        return f"an item of type {kind!r} without a role"
    if content is None and "parts" in message:
        return "it has parts instead of content"
    for block in content if isinstance(content, list | tuple) else ():
        if isinstance(block, Mapping) and "type" not in block:
            return f"a block without a type, {str(block)[:80]}"
    return None


def spelled(value: object, name: str, plain: Callable[[object], object] | None = None) -> bytes:
    """The JSON of a value, in which objects of SDKs are dicts.

    `plain`: what to write for a value that is not JSON, without it `plain_value`. Raises
    `InputError`, which begins with the name, if there is nothing to write.
    """
    try:
        return json.dumps(value, default=plain or plain_value).encode("utf-8", "surrogatepass")
    except RecursionError as error:
        raise InputError(f"{name}: too many nested values") from error
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: cannot be written as JSON: {error}") from error


def plain_value(value: object) -> object:
    """The dict of a value that `json` cannot write, such as a content block of an SDK.

    Raises `TypeError` for a value without one.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, type):  # such as the `response_format` of an SDK
        raise TypeError(f"{value.__name__} is a class; pass its JSON schema")
    dumped = _dumped(value)
    if dumped is None:
        raise TypeError(f"{type(value).__name__} is not JSON")
    return dumped


def _dumped(value: object) -> Any:
    """The result of `model_dump` without empty members and those for the program, which APIs
    refuse; None without it.

    Inside a block, such as in its citations, members that the provider set to null stay: Anthropic
    requires them.
    """
    dump = getattr(value, "model_dump", None)
    if dump is None or isinstance(value, type):
        return None
    try:
        chosen = partial(dump, mode="json", by_alias=True, exclude=_added(value), warnings=False)
        filled = chosen(exclude_none=True)
        given = chosen(exclude_unset=True)
    except TypeError:  # not of pydantic: it has no options
        return dump()
    is_message = isinstance(filled, dict) and "role" in filled
    _add_nulls(filled, given, depth=0 if is_message else 1)
    return filled


def _added(value: object) -> dict[str, Any]:
    """The members of an object and of its blocks that an SDK keeps for the program, such as
    `parsed_output`.
    """
    names = getattr(value, "__api_exclude__", None)
    added: dict[str, Any] = dict.fromkeys(names, True) if isinstance(names, set) else {}
    content = getattr(value, "content", None)
    if isinstance(content, list):
        inside = {position: _added(block) for position, block in enumerate(content)}
        added["content"] = {position: names for position, names in inside.items() if names}
    return added


def _add_nulls(filled: Any, given: Any, depth: int) -> None:
    """Add the null members of `given` that are inside a block: objects of depth 2 and more."""
    if isinstance(filled, list) and isinstance(given, list):
        for element, source in zip(filled, given, strict=False):
            _add_nulls(element, source, depth)
    elif isinstance(filled, dict) and isinstance(given, dict):
        for key, value in given.items():
            if key in filled:
                _add_nulls(filled[key], value, depth + 1)
            elif value is None and depth > 1:
                filled[key] = None


def _as_request(message: dict[str, Any]) -> dict[str, Any]:
    """A message as a request may contain it: Anthropic refuses other fields of its answers."""
    if message.get("type") == "message" and "usage" in message:
        return {"role": message["role"], "content": message["content"]}
    return message
