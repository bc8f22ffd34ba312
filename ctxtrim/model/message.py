"""A message, and what is removed with it."""

from typing import Literal, NamedTuple

from ctxtrim.model.location import Span
from ctxtrim.model.part import Part, Readable

Role = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")

VISIBLE = (True, True, None)
"""The default visibility: the model and the person see the message, and it has no kind."""


class Companion(NamedTuple):
    """A line, or a value in one, that is removed with its message and never sent, as progress.

    `kind` names it. `is_copy`: it repeats the message, and is also removed if that is edited.
    """

    span: Span
    kind: str
    is_copy: bool = False


class Message(Readable, frozen=True, eq=False):
    """One message. A tool result is a separate message even if the file stores several in one
    element.

    - `name`: the author, as the file names it
    - `is_injected`: a user message that the client wrote, not the person
    - `is_summary`: it replaces all messages before it
    - `is_demo`: part of a demonstration, dropped before messages of the session
    - `agent_visible`: if not, it stays in the file, but is neither sent nor counted
    - `user_visible`: the client shows it to the person
    - `kind`: a label that a stage sets, such as `tool_result_archived`
    - `metadata`: debug keys that a stage may set, as (key, value) pairs
    - `turn`: the number of its turn if the file contains it
    - `action`: a tool call in the text of an answer; the next result answers it
    - `continues`: only accepted after the message before it; both are kept or dropped together
    - `is_training_answer`: an answer in data for training, which no stage drops or shortens
    - `index`: the position among the messages as read; None for an inserted message
    - `spans`: everything to remove with the message; `companions`: what goes with it, never sent
    """

    role: Role
    parts: tuple[Part, ...]
    name: str | None = None
    is_injected: bool = False
    is_summary: bool = False
    metadata: tuple[tuple[str, int], ...] = ()
    index: int | None = None
    spans: tuple[Span, ...] = ()
    turn: int | None = None
    agent_visible: bool = True
    user_visible: bool = True
    kind: str | None = None
    action: Part | None = None
    is_demo: bool = False
    companions: tuple[Companion, ...] = ()
    continues: bool = False
    is_training_answer: bool = False

    def _read(self) -> tuple[object, ...]:
        return (
            self.role,
            self.parts,
            self.metadata,
            self.agent_visible,
            self.user_visible,
            self.kind,
        )

    @property
    def visibility(self) -> tuple[bool, bool, str | None]:
        """Whether the model sees the message, whether the person does, and its kind."""
        return self.agent_visible, self.user_visible, self.kind

    @property
    def starts_turn(self) -> bool:
        """Whether it is a user message, or a summary that the assistant wrote in place of one."""
        return self.role == "user" or (self.is_summary and self.role == "assistant")

    @property
    def calls(self) -> list[Part]:
        """The tool calls of the message, in order."""
        return [part for part in self.parts if part.kind == "tool_call"]

    @property
    def first_text(self) -> str:
        """The text of the first text part; empty if there is none."""
        return next((part.text for part in self.parts if part.kind == "text"), "")

    @property
    def result(self) -> Part | None:
        """The first tool result part (all of them share one call id), or None."""
        for part in self.parts:
            if part.kind == "tool_result":
                return part
        return None
