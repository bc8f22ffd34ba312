"""The answers next to the requests of logs: those that belong to a conversation, and those that are
not read.

::

    {"messages": […], "response": answer}    or `choices` (`candidates`) there
    {"request" | "kwargs" | "input" | "body": {"messages": […]}, "response" | "output": answer}

    answer   {"choices": [{"message"}]} | {"candidates": [{"content"}]} | {"output": {"message"}}
             | {"message"} | message | [{"message"}] | {"body": answer}

An answer belongs to its request if the request ends with no answer, or if it may continue one. A
message that repeats the last one of the list is no answer of its own: clients add the answer to the
list that they log. One of several candidates is an answer only in the log of a request.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ctxtrim.formats.fields import elements, json_in, members, string
from ctxtrim.formats.message_lists import Predicate
from ctxtrim.text.json_paths import Path, Place

_LISTS = ("messages", "contents", "input")
_NAMES = {
    "request": ("response",),
    "request_body": ("response_body",),
    "body": ("response",),
    "kwargs": ("response", "output"),
    "input": ("output", "response"),
}
"""The members of a log that may have an answer, by the member with its request."""
_REQUESTS = ("request", "request_body")
"""Members that only the logs of requests have, whose answers are never anything else."""
_CHOICES = {"choices": "message", "candidates": "content"}
"""The lists of a response that may be next to its request, and the member of their answers."""
_TEXTS = ("message", "content", "delta", "text", "output", "tool_calls")
"""The members with the text of an answer, in a response or in one of its choices."""
_ANSWERS = ("assistant", "model")


class _Box(NamedTuple):
    """A member that may have an answer: its name, its value and its path."""

    name: str
    value: Any
    path: Path
    is_logged: bool


class _Answer(NamedTuple):
    """A message that may be an answer, its path, and the response around it.

    `is_of_api`: only the response of an API has it. `may_continue`: an API accepts requests that
    end with the beginning of its answer.
    """

    message: dict[str, Any]
    path: Path
    response: dict[str, Any]
    response_path: Path
    is_of_api: bool
    may_continue: bool


def answer_to(value: Any, request: Place, knows: Predicate) -> Place | None:
    """The answer next to the list of a request; None if there is no clear one.

    The response around it has no id if the request has one.
    """
    last_message = _last_message(request)
    is_answered = last_message.get("role") in _ANSWERS
    for box in _boxes(value, request):
        if _has_candidates(box) and not box.is_logged:
            continue
        for answer in _answers(box):
            may_continue = answer.may_continue or (answer.is_of_api and box.is_logged)
            is_next = may_continue or not is_answered
            if is_next and knows(answer.message) and not _repeats(answer.message, last_message):
                response = {**answer.response}
                if "id" in request.envelope:
                    response.pop("id", None)
                places = answer.path, answer.message, response, answer.response_path
                return Place(*places, request.among)
    return None


def unread_answers(value: Any, lists: Sequence[Place]) -> tuple[str, ...]:
    """The notes about answers in a log that none of some lists has."""
    request, last_message = lists[0], _last_message(lists[0])
    notes = []
    for box in _boxes(value, request):
        depth = len(box.path)
        if any(place.path[:depth] == box.path for place in lists[1:]):
            return ()
        if not _is_answer(box):
            continue
        answers = list(_answers(box))
        if any(_repeats(answer.message, last_message) for answer in answers):
            continue
        is_certain = box.is_logged or any(answer.is_of_api for answer in answers)
        if is_certain or last_message.get("role") not in _ANSWERS:
            notes.append(f"the answer in `{box.name}` is not read")
    return tuple(notes)


def unread_request(value: Any, answer: Place) -> tuple[str, ...]:
    """The note about the request next to an answer that was read without it."""
    start, path = 0, answer.path
    for index, key in enumerate(path):
        if isinstance(key, int) and path[index - 1] not in _CHOICES:
            start = index + 1
    log, box_name = members(_value_at(value, path[:start])), path[start]
    for name in (*_NAMES, *_LISTS):
        if box_name in _NAMES.get(name, ("response",)) and _has_messages(log.get(name)):
            return (f"the request in `{name}` is not read",)
    return ()


def _has_messages(request: Any) -> bool:
    """Whether the request of a log, or the list in it, has messages."""
    value = _json_value(request)
    body = _json_value(members(value).get("body"))
    lists = [value, *(members(fields).get(name) for fields in (value, body) for name in _LISTS)]
    return any(map(elements, lists))


def _last_message(request: Place) -> dict[str, Any]:
    """The last message of a request; an empty object without one."""
    items = elements(request.items)
    return members(items[-1]) if items else {}


def _repeats(answer: dict[str, Any], message: dict[str, Any]) -> bool:
    """Whether an answer repeats a message, the last one of its request."""
    if message.get("role") not in _ANSWERS:
        return False
    payload = _payload(message)
    return any(payload) and _payload(answer) == payload


def _payload(message: dict[str, Any]) -> list[Any]:
    """The content, calls and parts of a message, None for each that is empty; text blocks as one
    text.
    """
    content = message.get("content")
    blocks = elements(content)
    texts = list(filter(None, (string(members(block).get("text")) for block in blocks)))
    if texts and len(texts) == len(blocks):
        content = "".join(texts)
    return [value or None for value in (content, message.get("tool_calls"), message.get("parts"))]


def _boxes(value: Any, request: Place) -> Iterator[_Box]:
    """The members that may have the answer to a request."""
    path = request.path
    start = max((index + 1 for index, key in enumerate(path) if isinstance(key, int)), default=0)
    keys = path[start:]
    if not keys or keys[-1] not in _LISTS or keys[1:-1] not in ((), ("body",)):
        return
    log, name = members(_value_at(value, path[:start])), str(keys[0])
    names: tuple[str, ...] = ("response", *_CHOICES)
    if name in _NAMES:
        names = _NAMES[name]
    elif len(keys) > 1:
        return
    for box_name in names:
        if box_name in log and (box_name not in _CHOICES or _has_answers(log, box_name)):
            yield _Box(box_name, log[box_name], (*path[:start], box_name), name in _REQUESTS)


def _has_answers(log: dict[str, Any], name: str) -> bool:
    """Whether the choices next to messages are answers, and not those of a question."""
    return any(members(members(choice).get(_CHOICES[name])) for choice in elements(log[name]))


def _value_at(value: Any, path: Path) -> Any:
    for key in path:
        value = _json_value(value)[key]
    return value


def _json_value(value: Any) -> Any:
    """The value of a string with JSON; any other value as it is."""
    return (json_in(value) or value) if isinstance(value, str) else value


def _has_candidates(box: _Box) -> bool:
    """Whether a box has several answers to one request."""
    response, _ = _response(box)
    lists = [response, *(members(response).get(name) for name in _CHOICES)]
    return any(len(elements(candidates)) > 1 for candidates in lists)


def _response(box: _Box) -> tuple[Any, Path]:
    """The response in a box, and its path."""
    value, path = _json_value(box.value), box.path
    if box.name in _CHOICES:
        return {box.name: value}, path[:-1]
    if "body" in members(value):  # of HTTP
        return _json_value(value["body"]), (*path, "body")
    return value, path


def _answers(box: _Box) -> Iterator[_Answer]:
    """The messages of a box that may be its answer."""
    value, path = _response(box)
    for keys, is_of_api, may_continue in _PLACES:
        answer = value
        for key in keys:
            answer = _member(answer, key)
        if members(answer).get("role") in _ANSWERS:
            response = members(value) if keys else {}
            is_typed = answer.get("type") == "message"
            yield _Answer(
                answer,
                (*path, *keys),
                response,
                path,
                is_of_api=is_of_api or is_typed,
                may_continue=may_continue or is_typed,
            )


_PLACES: tuple[tuple[Path, bool, bool], ...] = (
    (("choices", 0, "message"), True, False),
    (("candidates", 0, "content"), True, False),
    (("output", "message"), True, True),
    ((0, "message"), True, False),
    (("message",), False, False),
    ((), False, False),
)
"""The paths of the answer in a response, with `is_of_api` and `may_continue` of the answer."""


def _member(value: Any, key: str | int) -> Any:
    """The member of an object, or the element of a list; None if there is none."""
    if isinstance(key, str):
        return members(value).get(key)
    items = elements(value)
    return items[key] if key < len(items) else None


def _is_answer(box: _Box) -> bool:
    """Whether a member has an answer; not an error, and not what an edit leaves without it."""
    response = _json_value(box.value)
    if box.name in _CHOICES:
        response = {box.name: response}
    if "body" in members(response) or "headers" in members(response):  # of HTTP
        response = _json_value(response.get("body"))
    if not isinstance(response, dict):
        return isinstance(response, (str, list)) and bool(response)
    if response.get("error"):
        return False
    choices = [choice for name in _CHOICES for choice in elements(response.get(name))]
    return any(members(value).get(name) for value in (response, *choices) for name in _TEXTS)
