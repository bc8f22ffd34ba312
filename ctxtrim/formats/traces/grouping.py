"""Groups the requests of a trace: requests that repeat a growing prefix are one conversation.

::

    system user                      answer 1      repeated by the next request
    system user answer-1 tool        answer 2      the longest request: one transcript
    system user answer-1 tool user   answer 3 ─┐
    other-system user                answer 4 ─┴── transcripts; the third request repeats the second

A request belongs to a longer one that begins with the same messages and continues with its answer.
The comparison ignores reasoning, which clients do not always send back, and white space in answers.
"""

from collections.abc import Hashable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtrim.formats.traces.requests import LoggedRequest
from ctxtrim.model import Message

_Context = tuple[tuple[Message, ...], str | None]
"""The system prompt and the tools of a run."""


class Conversation(Struct):
    """The longest request of a conversation, and the shorter requests that it repeats.

    `runs`: the records around the requests of its trace, such as the run of an agent.
    """

    request: LoggedRequest
    repetitions: list[LoggedRequest] = field(default_factory=list)
    runs: list[LoggedRequest] = field(default_factory=list)


class _Node(Struct):
    """A sequence of messages: the conversations that begin with it, by what comes next.

    `by_answer` has the first conversation for each answer that follows, `first` the first
    conversation of all.
    """

    children: dict[Hashable, "_Node"] = field(default_factory=dict)
    by_answer: dict[Hashable, Conversation] = field(default_factory=dict)
    first: Conversation | None = None


class _Start(Struct):
    """The first messages of runs: the contexts of the runs that have only these, and longer starts
    by what comes next.
    """

    children: dict[Hashable, "_Start"] = field(default_factory=dict)
    contexts: set[_Context] = field(default_factory=set)


def with_contexts(
    requests: Sequence[LoggedRequest], runs: Sequence[LoggedRequest]
) -> list[LoggedRequest]:
    """The requests, with the system prompt and the tools of their run if they lack them.

    A request belongs to the run that begins with its first messages, unless several runs with
    other prompts do. Strands Agents writes system prompts only with runs.
    """
    root = _Start()
    for run in runs:
        preamble, tools = run.envelope.preamble, run.envelope.tools
        start = root
        for message in run.messages[len(preamble) : run.answer]:
            start = start.children.setdefault(_key(message), _Start())
        if start is not root and (preamble or tools):
            start.contexts.add((preamble, tools))
    return [_with_context(request, root) for request in requests]


def _with_context(request: LoggedRequest, root: _Start) -> LoggedRequest:
    """A request with the system prompt and the tools of its run."""
    messages, start, contexts = request.messages, root, root.contexts
    for message in messages:
        next_start = start.children.get(_key(message))
        if next_start is None:
            break
        start, contexts = next_start, next_start.contexts or contexts
    if len(contexts) != 1:
        return request
    ((preamble, tools),) = contexts
    if any(message.role == "system" for message in messages):
        preamble = ()
    size = len(preamble)
    later_messages = (replace(message, index=index) for index, message in enumerate(messages, size))
    usages = (replace(usage, message=(usage.message or 0) + size) for usage in request.usages)
    tools = request.envelope.tools or tools
    return replace(
        request,
        messages=(*preamble, *later_messages),
        answer=request.answer + size,
        usages=tuple(usages),
        envelope=replace(request.envelope, tools=tools),
    )


def conversations(requests: Sequence[LoggedRequest]) -> list[Conversation]:
    """The conversations of a trace, in the order of their longest requests in the file."""
    items: list[tuple[int, Conversation]] = []
    root = _Node()
    for position, request in sorted(enumerate(requests), key=_longest_first):
        node = _node(root, request)
        answer = _answer_key(request.messages[request.answer :])
        match = node.first if answer is None else node.by_answer.get(answer)
        if match is not None and not _may_differ(request, match.request):
            match.repetitions.append(request)
            continue
        conversation = Conversation(request)
        items.append((position, conversation))
        _add(root, conversation)
    return [conversation for _, conversation in sorted(items, key=lambda item: item[0])]


def _may_differ(request: LoggedRequest, other: LoggedRequest) -> bool:
    """Whether requests that look the same may have different images of the same size."""
    is_longer = other.answer > request.answer
    return not is_longer and any(
        part.kind == "attachment" for message in request.messages for part in message.parts
    )


def _longest_first(item: tuple[int, LoggedRequest]) -> tuple[int, bool, int]:
    """A key that sorts requests: those with more messages first, then those with an answer."""
    position, request = item
    return -request.answer, len(request.messages) == request.answer, position


def _node(root: _Node, request: LoggedRequest) -> _Node:
    """The node of the messages that were sent with a request."""
    node = root
    for message in request.messages[: request.answer]:
        node = node.children.setdefault(_key(message), _Node())
    return node


def _add(root: _Node, conversation: Conversation) -> None:
    """Register a conversation at each of its messages."""
    messages = conversation.request.messages
    node = root
    for position, message in enumerate(messages):
        key = _answer_key(messages[position : position + 1])
        if message.role == "assistant" and key is not None:
            node.by_answer.setdefault(key, conversation)
        node.first = node.first or conversation
        node = node.children.setdefault(_key(message), _Node())
    node.first = node.first or conversation


def _key(message: Message) -> Hashable:
    """What two copies of a message have in common."""
    return message.role, tuple(part for part in message.parts if part.kind != "reasoning")


def _answer_key(messages: Sequence[Message]) -> Hashable | None:
    """What an answer, the first of some messages, and its copy have in common: the calls, else the
    words. None if it is empty.
    """
    parts = messages[0].parts if messages else ()
    calls = tuple(
        part.call_id or (part.name, part.text) for part in parts if part.kind == "tool_call"
    )
    if calls:
        return calls
    words = tuple(word for part in parts if part.kind == "text" for word in part.text.split())
    return words or None
