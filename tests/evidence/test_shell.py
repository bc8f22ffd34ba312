"""Command lines of a shell: their commands, words and redirections."""

import pytest

from ctxtrim.evidence.shell import hides_failure, simple_commands


def words(line: str) -> list[list[str]]:
    return [[word.text for word in command.words] for command in simple_commands(line)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("make -j 2 && ls", [["make", "-j", "2"], ["ls"]]),
        ("echo 'a | b' \"c; d\" e\\ f", [["echo", "a | b", "c; d", "e f"]]),
        ("make # not | this\nls", [["make"], ["ls"]]),
        ("cat <<'EOF'\nit's (a | b)\nEOF\nls", [["cat"], ["ls"]]),
        ('say "$(cat <<EOF\nit\'s | it)\nEOF\n)" | wc', [["say", ""], ["wc"]]),
        ("say $(ls | wc) `a|b` x", [["say", "", "", "x"]]),
        ("(( a > b )) && ls", [["ls"]]),
        ("(cd a && make)", [["cd", "a"], ["make"]]),
        ("say 'it", [["say"]]),
        ("", []),
    ],
)
def test_a_line_is_split_as_a_shell_splits_it(line: str, expected: list[list[str]]) -> None:
    assert words(line)[: len(expected)] == expected


def test_redirections_are_no_words() -> None:
    (command,) = simple_commands("make all >'a b' 2>&1 <in")
    assert [word.text for word in command.words] == ["make", "all"]
    found = [(operator, word.text) for operator, word in command.redirections]
    assert found == [(">", "a b"), ("2>&", "1"), ("<", "in")]


@pytest.mark.parametrize(
    ("line", "is_hidden"),
    [
        ("make | tail", True),
        ("cd a; make |& tail && ls", True),
        ("make || true", False),
        ("echo 'make | tail'", False),
        ('make "$(ls | wc)"', False),
        ("set -o pipefail; make | tail", False),
        ("printf y | make", False),
    ],
)
def test_the_exit_code_of_a_pipeline_hides_a_failure(line: str, is_hidden: bool) -> None:
    assert hides_failure(line) == is_hidden


@pytest.mark.parametrize(
    "part", ["$((", "'", '"$(', "`", "<<a\n", "a|", "\\", "1", "${", "<<'a", "("]
)
def test_any_text_is_read_in_linear_time(part: str) -> None:
    simple_commands(part * 20_001)
