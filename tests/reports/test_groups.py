"""`count --by`: where the tokens go."""

import json

import pytest
from conftest import FIXTURES, Run
from samples import line

from ctxtrim.reports.groups import program

AGENT = FIXTURES / "agent.jsonl"


@pytest.mark.parametrize("group", ["tool", "file", "command", "turn", "role"])
def test_the_groups_add_up_to_the_count(ctxtrim: Run, group: str) -> None:
    rows = json.loads(ctxtrim("count", "--by", group, "--json", AGENT).out)["transcripts"]
    assert all(sum(row["by"].values()) == row["tokens"] for row in rows)
    shown = ctxtrim("count", "--by", group, AGENT).out.decode()
    assert f"tokens by {group}\n" in shown
    assert "█" in shown


def test_a_call_and_its_result_belong_to_its_file_and_its_command(ctxtrim: Run) -> None:
    def exchange(number: int, name: str, result: str, **arguments: str) -> list[dict]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"c{number}", "type": "function", "function": function}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": result},
        ]

    messages = [
        {"role": "user", "content": "How deep is the harbour?"},
        *exchange(1, "read_file", "five fathoms " * 90, path="depths.txt"),
        *exchange(2, "bash", "six fathoms " * 50, command="cd survey && git log --stat"),
        *exchange(3, "read_file", "ten fathoms " * 10, path="./depths.txt"),
    ]

    def tokens_by(group: str) -> dict[str, int]:
        ran = ctxtrim("count", "--by", group, "--json", stdin=line(messages))
        return dict(json.loads(ran.out)["transcripts"][0]["by"])

    assert list(tokens_by("file"))[:2] == ["depths.txt", "(no file)"]
    assert list(tokens_by("command"))[:2] == ["(no command)", "git log"]
    assert next(iter(tokens_by("turn"))) == "turn 1"
    tools, roles = tokens_by("tool"), tokens_by("role")
    assert tools["read_file"] + tools["bash"] == roles["assistant"] + roles["tool"]


def reading(*files: str) -> bytes:
    """A transcript with a call for each file."""
    calls = [
        {"id": f"c{name}", "type": "function", "function": {"name": "read", "arguments": text}}
        for name, text in ((name, json.dumps({"path": name})) for name in files)
    ]
    prompt = {"role": "user", "content": "Read all."}
    return line([prompt, {"role": "assistant", "content": None, "tool_calls": calls}])


@pytest.mark.parametrize("number", [20, 15_000])
def test_the_largest_groups_and_one_row_for_all_others_are_shown(ctxtrim: Run, number: int) -> None:
    """Of very many groups the small ones are added up, after each transcript."""
    names = [f"{name}.txt" for name in range(3 * number)]
    data = b"".join(reading(*names[start::3]) for start in range(3))
    words = ("count", "--by", "file", "--tokenizer", "chars4")
    table = ctxtrim(*words, stdin=data).out.decode().partition("tokens by file\n")[2]
    rows = table.split("\n\n")[0].splitlines()[1:]
    assert len(rows) == 16
    assert rows[-1].split()[1] == "more"
    numbers = [int(row.split("≈")[1].split()[0].replace(",", "")) for row in rows]
    totals = json.loads(ctxtrim(*words, "--json", stdin=data).out)["totals"]
    assert sum(numbers) == totals["tokens"]


COMMANDS = {
    "ls -la": "ls",
    "cd /srv/app && FOO=1 npm run build": "npm run",
    "/usr/bin/python3 -m pytest": "python3",
    "git -C x status": "git",
    "sudo apt-get install jq": "apt-get install",
    "  ": "",
    "'": "'",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_program_of_a_command_line(command: str) -> None:
    assert program(command) == COMMANDS[command]


def test_count_says_which_lines_it_leaves_out(ctxtrim: Run) -> None:
    session = FIXTURES / "claude-code.jsonl"
    shown = ctxtrim("count", session).out.decode()
    (row,) = json.loads(ctxtrim("count", "--json", session).out)["transcripts"]
    number = row["lines_left_out"]
    assert 0 < number < len(session.read_bytes().splitlines())
    assert f"left out: {number} lines are not in the conversation: compacted history" in shown
    assert "reported: prompt tokens of the last request" in shown
    assert "left out" not in ctxtrim("count", AGENT).out.decode()
