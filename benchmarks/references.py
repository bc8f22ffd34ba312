"""References: strings that later answers repeat from earlier messages.

An atom is a string that a model rarely repeats by chance: a line of some length, a path, an
identifier or a long number. An answer refers to a message if it repeats an atom that first occurs
there. Copying does not prove need, and paraphrases are missed, so the share of references whose
source is kept compares ways to shorten a transcript; it does not grade one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ctxtrim import Message
from ctxtrim.evidence.tool_kinds import strings

_NUMBERED = re.compile(r"\d+(?:[:|\t]|→|\s+(?=\S))\s*")
_SHORTEST, _LONGEST = 25, 300  # minimum and maximum characters of a line
_RUN = re.compile(r"[A-Za-z0-9_./:@-]{6,}")
_NAMED = re.compile(r"[_./:@\-\d]|[a-z][A-Z]")
_EDGES = ".:-/"


@dataclass(frozen=True, slots=True)
class Reference:
    """An answer (its position) that repeats an atom of an earlier message."""

    answer: int
    atom: str


def atoms(text: str) -> set[str]:
    """The atoms of a text: lines of 25 to 300 characters, names of at least 8, numbers of at least
    6 digits.

    Lines are compared without surrounding space and without a leading line number.
    """
    atoms: set[str] = set()
    for line in text.split("\n"):
        bare = line.strip()
        if numbered := _NUMBERED.match(bare):
            bare = bare[numbered.end() :]
        if _SHORTEST <= len(bare) <= _LONGEST:
            atoms.add(bare)
    for run in set(_RUN.findall(text)):
        name = run.strip(_EDGES)
        if name.isdigit() or (len(name) >= 8 and _NAMED.search(name)):
            atoms.add(name)
    return {atom for atom in atoms if len(atom) >= 6}


def atoms_of(message: Message) -> set[str]:
    """The atoms of a message: of its texts, results and all strings in call arguments.

    Reasoning is excluded.
    """
    return set().union(*map(atoms, _texts(message)))


def _texts(message: Message) -> Iterator[str]:
    for part in message.parts:
        if part.kind == "tool_call":
            yield from strings(part.text)
        elif part.kind in ("text", "tool_result"):
            yield part.text


@dataclass(frozen=True)
class References:
    """The references of one session: the atoms of each message, and the position where each atom
    first occurs.
    """

    messages: Sequence[Message]
    atoms: Sequence[set[str]]
    first: dict[str, int]

    def to(self, end: int, answers: Iterable[int]) -> list[Reference]:
        """The references from some answers to messages before `end`.

        Only atoms that did not originate in an answer count. Each atom counts once, at its first
        repetition; after that the transcript contains it anyway.
        """
        references: list[Reference] = []
        seen: set[str] = set()
        for answer in answers:
            for atom in sorted(self.atoms[answer] - seen):
                source = self.first[atom]
                if source < end and self.messages[source].role != "assistant":
                    seen.add(atom)
                    references.append(Reference(answer, atom))
        return references


def references(messages: Sequence[Message]) -> References:
    """The references of a session. Hidden messages have none."""
    atoms_by_message = [
        atoms_of(message) if message.agent_visible else set() for message in messages
    ]
    first: dict[str, int] = {}
    for position, message_atoms in enumerate(atoms_by_message):
        for atom in message_atoms:
            first.setdefault(atom, position)
    return References(messages, atoms_by_message, first)
