"""References: what later answers repeat of earlier messages, letter for letter.

An atom is a string that a model hardly writes twice by chance: a whole line of some length, a path, an identifier or a
long number. An answer refers to a message where it repeats an atom that was first seen there. Copying is not needing,
and a paraphrase is missed, so the share of references whose source is still there compares ways to shorten a
transcript; it is no grade of one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ctxtrim.evidence.tool_kinds import strings
from ctxtrim.model import Message

_NUMBERED = re.compile(r"\d+(?:[:|\t]|→|\s+(?=\S))\s*")
_SHORTEST, _LONGEST = 25, 300  # characters of a line that is an atom
_RUN = re.compile(r"[A-Za-z0-9_./:@-]{6,}")
_NAMED = re.compile(r"[_./:@\-\d]|[a-z][A-Z]")
_EDGES = ".:-/"


@dataclass(frozen=True, slots=True)
class Reference:
    """An answer (its position) repeats an atom that an earlier message has."""

    answer: int
    atom: str


def atoms(text: str) -> set[str]:
    """The atoms of a text: lines of 25 to 300 characters, names of at least 8, numbers of at least 6 digits.

    Lines count without the space around them and a line number before them.
    """
    found: set[str] = set()
    for line in text.split("\n"):
        bare = line.strip()
        if numbered := _NUMBERED.match(bare):
            bare = bare[numbered.end() :]
        if _SHORTEST <= len(bare) <= _LONGEST:
            found.add(bare)
    for run in set(_RUN.findall(text)):
        name = run.strip(_EDGES)
        if name.isdigit() or (len(name) >= 8 and _NAMED.search(name)):
            found.add(name)
    return {atom for atom in found if len(atom) >= 6}


def atoms_of(message: Message) -> set[str]:
    """The atoms of a message: of its texts and results, and of all strings in the arguments of its calls.

    Reasoning has none.
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
    """The references of one session: the atoms of each message, and the position at which each atom comes first."""

    messages: Sequence[Message]
    atoms: Sequence[set[str]]
    first: dict[str, int]

    def to(self, end: int, answers: Iterable[int]) -> list[Reference]:
        """The references that some answers make to the messages before `end`.

        Only to what came from outside: atoms that an answer had first are its own. Each atom counts once, where it is
        repeated first: after that the transcript has it anyway.
        """
        found: list[Reference] = []
        seen: set[str] = set()
        for answer in answers:
            for atom in sorted(self.atoms[answer] - seen):
                source = self.first[atom]
                if source < end and self.messages[source].role != "assistant":
                    seen.add(atom)
                    found.append(Reference(answer, atom))
        return found


def references(messages: Sequence[Message]) -> References:
    """The references of a session; what is hidden from the model neither makes nor holds any."""
    found = [atoms_of(message) if message.agent_visible else set() for message in messages]
    first: dict[str, int] = {}
    for position, own in enumerate(found):
        for atom in own:
            first.setdefault(atom, position)
    return References(messages, found, first)
