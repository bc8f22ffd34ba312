"""References: content of earlier messages that later answers repeat (the measure of a trim)."""

import pytest
from builders_evidence import call, result, step, user
from references import atoms, atoms_of, references

from ctxtrim.model import Message, Part


def says(text: str) -> Message:
    return Message("assistant", (Part("text", text),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("short words only", set()),
        ("  the harbour light burns all night  ", {"the harbour light burns all night"}),
        ("12: the harbour light burns all night", {"the harbour light burns all night"}),
        ("see src/lamp.py now", {"src/lamp.py"}),
        ("see src/lamp.py.", {"src/lamp.py"}),
        (
            "call lampReading or lamp_reading",
            {"lampReading", "lamp_reading", "call lampReading or lamp_reading"},
        ),
        ("harbourlight", set()),
        ("order 123456", {"123456"}),
        ("order 12345", set()),
        ("x" * 301, set()),
    ],
)
def test_atoms_are_distinctive_lines_names_and_numbers(text: str, expected: set[str]) -> None:
    assert atoms(text) == expected


def test_atoms_of_a_call_come_from_its_arguments() -> None:
    assert atoms_of(call("read_file", path="src/lamp.py")) == {"src/lamp.py"}
    assert atoms_of(Message("assistant", (Part("reasoning", "I think of src/lamp.py"),))) == set()


def test_an_answer_refers_to_the_first_source_of_an_atom() -> None:
    talk = [
        user("mind src/lamp.py"),
        *step("bash", "found gates/north.cfg", command="ls"),
        says("src/lamp.py"),
    ]
    talk += [says("gates/north.cfg and src/lamp.py")]
    actual = references(talk)
    assert [(reference.answer, reference.atom) for reference in actual.to(3, [3, 4])] == [
        (3, "src/lamp.py"),
        (4, "gates/north.cfg"),
    ]
    assert [reference.atom for reference in actual.to(2, [3, 4])] == [
        "src/lamp.py"
    ]  # messages after the prompt are not lost by it


def test_an_atom_first_written_by_an_answer_is_not_a_reference() -> None:
    talk = [
        user("go"),
        says("I make src/lamp.py"),
        result("made src/lamp.py"),
        says("src/lamp.py is there"),
    ]
    assert references(talk).to(3, [3]) == []


def test_hidden_messages_have_no_references() -> None:
    talk = [
        Message("user", (Part("text", "mind src/lamp.py"),), agent_visible=False),
        says("src/lamp.py"),
    ]
    assert references(talk).to(1, [1]) == []
