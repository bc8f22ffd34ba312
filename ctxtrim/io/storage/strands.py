"""The folder of an agent in a session of Strands Agents: a file for each message.

::

    session_ID/session.json                                 ids and times; read by no command
    session_ID/agents/agent_ID/agent.json                   {"conversation_manager_state", …}
    session_ID/agents/agent_ID/messages/message_N.json      {"message", "message_id": N, …}

The agent is the session. It is read as one document, `{"agent": …, "messages": […]}`, with the text
of each file, in the order of the numbers. The SDK counts the files before the messages that it
sends, whatever their numbers, so messages after these may be dropped. A new message needs a free
number in its place. Source: `session/file_session_manager.py` of strands-agents/sdk-python (2025)
and of strands-agents/harness-sdk (2026).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from ctxtrim.io.storage.pieces import (
    StoredPiece,
    document_lines,
    element_starts,
    member_starts,
    piece_in,
)
from ctxtrim.io.storage.session import must_be_objects, not_of, unfit
from ctxtrim.text.json_spans import skip
from ctxtrim.text.records import value_of
from ctxtrim.text.splice import ValueEdits, splice

_NAME = re.compile(r"message_(\d+)\.json")
_STATE = "conversation_manager_state"


@dataclass(frozen=True)
class AgentDocument:
    """An agent and its messages, in order."""

    agent: StoredPiece
    messages: tuple[StoredPiece, ...]

    @classmethod
    def of(cls, data: bytes) -> "AgentDocument":
        """The document that some bytes are; a `ValueError` if they are another one."""
        text = data.decode()
        members = member_starts(text, skip(text, 0), ("agent", "messages"))
        starts = element_starts(text, members["messages"])
        messages = tuple(StoredPiece.at(text, start) for start in starts)
        return cls(StoredPiece.at(text, members["agent"]), messages)

    @property
    def data(self) -> bytes:
        """The bytes of the document, with a line break at the end."""
        messages = ",".join(message.text for message in self.messages)
        return f'{{"agent":{self.agent.text},"messages":[{messages}]}}\n'.encode()

    def with_spaces_of(self, other: "AgentDocument") -> "AgentDocument":
        """The document with the white space that another one has after the same pieces."""
        spaces = {_number(message): message.space for message in other.messages}
        messages = (message.ending(spaces.get(_number(message), "")) for message in self.messages)
        return AgentDocument(self.agent.ending(other.agent.space), tuple(messages))

    def with_numbers(self) -> "AgentDocument":
        """The document with a number for each new message that has a free one in its place."""
        messages = list(self.messages)
        before = -1
        for position, message in enumerate(messages):
            number = _number(message)
            if number is None and self._is_free(before + 1, position):
                number = before + 1
                edits = ValueEdits(replace={("message_id",): str(number)})
                text = splice(message.text, edits)
                messages[position] = StoredPiece(text)
            if number is not None:
                before = number
        return replace(self, messages=tuple(messages))

    def _is_free(self, number: int, position: int) -> bool:
        """Whether the messages after a position have larger numbers."""
        later = (_number(message) for message in self.messages[position + 1 :])
        following = next((other for other in later if other is not None), None)
        return following is None or number < following


class StrandsSession(Struct, frozen=True):
    """The folder that the user names, and the folder of the agent."""

    path: Path
    folder: Path
    suffix: str = ".json"

    @property
    def journal(self) -> Path:
        """The path of the journal of an edit; the SDK reads only files that it names."""
        return self.folder / ".ctxtrim-journal"

    def files(self) -> list[Path]:
        """The file of the agent, and its messages by number."""
        return [self.folder / "agent.json", *(path for _, path in _message_files(self.folder))]

    def lines(self, max_size: int) -> Iterator[bytes]:
        """The lines of the document; an `InputError` if it is too large."""
        return document_lines(self, max_size)

    def document(self) -> bytes:
        """The agent and its messages."""
        agent, *messages = map(piece_in, self.files())
        return AgentDocument(agent, tuple(messages)).data

    def canonical(self, read: bytes, written: bytes | None) -> bytes | None:
        """An edited document as its files make it; other bytes, such as a request, as they are."""
        if written is None or written == read:
            return written
        try:
            edited = AgentDocument.of(written).with_numbers()
            return edited.with_spaces_of(AgentDocument.of(read)).data
        except ValueError:
            return written

    def files_of(self, document: bytes) -> dict[Path, bytes]:
        """The files that make a document: those of the session, and new ones."""
        try:
            intended = AgentDocument.of(document)
        except ValueError:
            raise not_of(self, "Strands Agents") from None
        known = dict(_message_files(self.folder))
        files = {self.folder / "agent.json": intended.agent.data}
        for message in intended.messages:
            number = _number(message)
            if number is None:
                raise unfit(self, "no number is free for a new message in its place")
            path = known.get(number, self.folder / "messages" / f"message_{number}.json")
            files[path] = message.data
        if len(files) != 1 + len(intended.messages):
            raise unfit(self, "two of its messages have the same number")
        return files

    def must_be_writable(
        self, current: Mapping[Path, bytes], intended: Mapping[Path, bytes]
    ) -> None:
        """Raise `OutputError` if the SDK could not read the files as they are meant."""
        must_be_objects(self, current)
        for number, path in _message_files(self.folder):
            if _number(StoredPiece.of(current[path])) != number:
                raise unfit(self, f"the number of {path.name} is not that of its message")
        numbers = [int(name[1]) for path in intended if (name := _NAME.fullmatch(path.name))]
        if any(after <= before for before, after in pairwise(numbers)):
            raise unfit(self, "a new message would not be read in its place")
        if len(numbers) <= _unsent(intended[self.folder / "agent.json"]) < len(current) - 1:
            raise unfit(self, "no message would be left after those that the SDK removed")

    def may_be_removed(self, folder: Path) -> bool:
        """Whether a folder has no use when it is empty: never."""
        return False


def strands_session(path: Path) -> StrandsSession | None:
    """The session in the folder of an agent, or around its messages; None for another folder."""
    folder = path.parent if path.name == "messages" else path
    agent = folder / "agent.json"
    try:
        if not agent.is_file() or not (folder / "messages").is_dir():
            return None
        value = value_of(agent.read_bytes())
    except OSError:
        return None
    is_agent = isinstance(value, dict) and isinstance(value.get(_STATE), dict)
    return StrandsSession(path, folder) if is_agent else None


def agents_in(session: Path) -> list[Path]:
    """The folders of the agents in the folder of a session; none in another folder."""
    return sorted(agent for agent in session.glob("agents/*") if strands_session(agent))


def _message_files(folder: Path) -> list[tuple[int, Path]]:
    """The files of the messages of an agent, each with its number, by number."""
    return sorted(
        (int(name[1]), path)
        for path in (folder / "messages").glob("message_*.json")
        if (name := _NAME.fullmatch(path.name)) and path.is_file()
    )


def _number(message: StoredPiece) -> int | None:
    """The number of a message; None for a new one."""
    number = message.value.get("message_id")
    return number if type(number) is int else None


def _unsent(agent: bytes) -> int:
    """The number of messages before those that the SDK has not removed."""
    state = StoredPiece.of(agent).value.get(_STATE, {})
    counts = [state.get(key) for key in ("removed_message_count", "pinned_head_count")]
    return sum(count for count in counts if isinstance(count, int))
