"""`count --explain`: counts and their addends, for models of many vendors, with their marks."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from builders import conversation, says, step, user
from conftest import Run

from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokenizers.claude_ctok import available

PIXELS = (
    "iVBORw0KGgoAAAANSUhEUgAAAyAAAAJYCAIAAAAAAAAAAAAAAElFTkQ="  # the header of a PNG of 800 x 600
)


def call_item(of: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"id": of, "type": "function", "function": function}


TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "You keep the harbour log of a small island."},
    {
        "role": "user",
        "name": "harbour_master",
        "content": [
            {"type": "text", "text": "Which boat is this, and what did it carry in May?"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXELS}"}},
        ],
    },
    {
        "role": "assistant",
        "content": "I look into the register.",
        "tool_calls": [
            call_item("c1", "find_boat", {"marks": "SK 41", "note": "blue hull\nwhite mast"})
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"name": "Möwe", "berth": 7}'},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            call_item("c2", "cargo", {"boat": "Möwe", "month": 5, "sums": {"by": ["day", "kind"]}}),
            call_item("c3", "weather", {"month": 5}),
        ],
    },
    {"role": "tool", "tool_call_id": "c2", "content": "昆布 12 箱, salt 3 sacks"},
    {"role": "tool", "tool_call_id": "c3", "content": "fog on nine days"},
    {"role": "assistant", "content": "The Möwe carried kelp and salt, when there was no fog."},
]
TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": {}}},
    }
    for name in ("find_boat", "cargo", "weather")
]
CHOICE = {"type": "function", "function": {"name": "cargo"}}
PLAIN = [TALK[0], {"role": "user", "name": "mate", "content": "Any news?"}, TALK[-1]]


def whole(model: str) -> bytes:
    return conversation(TALK, tools=TOOLS, tool_choice=CHOICE, model=model)


CLAUDE = "≈" if available() else "≤"
MARKS = {  # of the whole conversation, and of its plain messages
    "gpt-4o": ("≤", ""),
    "gpt-4-turbo": ("≤", ""),
    "gpt-5": ("≤", "≤"),
    "o3": ("≤", "≤"),
    "claude-3-5-sonnet": (CLAUDE, CLAUDE),
    "claude-opus-4-6": (CLAUDE, CLAUDE),
    "claude-opus-4-7": (CLAUDE, CLAUDE),
    "claude-opus-5": (CLAUDE, CLAUDE),
    "gemini-2.5-pro": ("≈", "≈"),
    "mistral-large-latest": ("≈", "≈"),
    "deepseek-chat": ("≈", "≈"),
    "meta-llama/Llama-3.3-70B-Instruct": ("≈", "≈"),
    "qwen3:8b": ("≈", "≈"),
    "grok-4": ("≈", "≈"),
}
LABELS = {"": ("exact",), "≤": ("bounded",), "≈": ("estimated", "reconstructed")}
MEANT = {  # the addends of each message, for every tokenizer
    0: {"text"},
    1: {"text", "attachment", "participant"},
    2: {"text", "tool_call", "call_names", "call_frame"},
    3: {"tool_result"},
    4: {"tool_call", "call_names", "call_frame"},
    5: {"tool_result"},
    6: {"tool_result"},
    7: {"text"},
}


def number(text: str, mark: str) -> int:
    """A number that carries its mark, and no other."""
    match = re.fullmatch(r"([≤≈]?)([\d,]+)", text)
    assert match, text
    assert match[1] == mark
    return int(match[2].replace(",", ""))


def added(text: str, mark: str) -> dict[str, int]:
    """The addends of a sum in the notation of the report."""
    terms = (term.split(" ", 1) for term in text.split(" + "))
    return {name.replace(" ", "_"): number(tokens, mark) for tokens, name in terms}


class Explained(NamedTuple):
    """The explanation of a file with a full and a plain conversation for each model."""

    rows: list[dict[str, Any]]
    text: str

    def table(self, line: int) -> list[str]:
        """The explained messages of the conversation on a line of the file."""
        start = self.text.index(f"messages of <stdin>:{line}: ")
        return self.text[start:].split("\n\n")[0].splitlines()


@pytest.fixture(scope="module")
def explained(ctxtrim: Run) -> Explained:
    data = b"".join(whole(model) + conversation(PLAIN, model=model) for model in MARKS)
    rows = json.loads(ctxtrim("count", "--explain", "--json", stdin=data).out)["transcripts"]
    return Explained(rows, ctxtrim("count", "--explain", stdin=data, COLUMNS="").out.decode())


@pytest.mark.parametrize("model", MARKS)
def test_a_count_is_explained_by_its_addends(explained: Explained, model: str) -> None:
    mark, position = MARKS[model][0], 2 * list(MARKS).index(model)
    row = explained.rows[position]
    messages, request = row["messages_explained"], row["request_explained"]
    assert row["model"] == model
    assert row["exactness"] == row["exactness_read"]
    assert row["exactness"] in LABELS[mark]
    assert [message["message"] for message in messages] == list(range(8))
    for message in messages:
        assert message["tokens"] == sum(message["addends"].values())
        assert set(message["addends"]) >= MEANT[message["message"]]
        assert min(message["addends"].values()) > 0
    assert sum(request.values()) + sum(message["tokens"] for message in messages) == row["tokens"]
    assert "schemas" in request
    for kind, tokens in row["by_kind"].items():
        also = {
            "tool_call": ("call_names", "arguments"),
            "tool_result": ("escapes",),
            "attachment": ("image",),
        }.get(kind, ())
        assert tokens == sum(
            message["addends"].get(name, 0) for message in messages for name in (kind, *also)
        )

    table = explained.table(position + 1)
    total, _, sums = (
        table[0].removeprefix(f"messages of <stdin>:{position + 1}: ").partition(" tokens = ")
    )
    assert number(total, mark) == row["tokens"]
    assert (
        added(sums, mark)
        == {"of_messages": sum(message["tokens"] for message in messages)} | request
    )
    for message, line in zip(messages, table[2:], strict=True):
        cells = re.split(r" {2,}", line.strip())
        assert number(cells[5], mark) == message["tokens"]
        assert added(cells[-1], mark) == message["addends"]


@pytest.mark.parametrize("model", MARKS)
def test_plain_messages_have_the_mark_of_their_model(explained: Explained, model: str) -> None:
    mark, line = MARKS[model][1], 2 * list(MARKS).index(model) + 2
    tokens = f"{mark}{explained.rows[line - 1]['tokens']:,}"
    shown = next(
        item for item in explained.text.splitlines() if item.split()[1:2] == [f"<stdin>:{line}"]
    )
    assert tokens in shown.split()
    assert explained.table(line)[0].startswith(f"messages of <stdin>:{line}: {tokens} tokens = ")


@pytest.mark.parametrize("model", ["gpt-4o", "claude-opus-4-6", "grok-4"])
def test_the_chosen_model_counts_like_the_recorded_model(
    ctxtrim: Run, explained: Explained, model: str
) -> None:
    data = conversation(TALK, tools=TOOLS, tool_choice=CHOICE)
    (row,) = json.loads(ctxtrim("count", "--explain", "--json", "--model", model, stdin=data).out)[
        "transcripts"
    ]
    recorded = explained.rows[2 * list(MARKS).index(model)]
    for key in ("tokens", "exactness", "request_explained"):
        assert row[key] == recorded[key]
    addends = [
        [item["addends"] for item in value["messages_explained"]] for value in (row, recorded)
    ]
    assert addends[0] == addends[1]


def test_the_addends_of_gpt_4o_follow_the_published_rules(explained: Explained) -> None:
    row = explained.rows[0]
    text = tokenizer("o200k_base").count
    calls = [[call["function"] for call in message.get("tool_calls", ())] for message in TALK]
    assert [item["addends"] for item in row["messages_explained"]] == [
        {"text": text(TALK[0]["content"]), "frame": 4},
        {
            "text": text(TALK[1]["content"][0]["text"]),
            "attachment": 85 + 4 * 170,
            "frame": 4,
            "participant": 1 + text("harbour_master"),
        },
        {
            "text": text(TALK[2]["content"]),
            "tool_call": text(calls[2][0]["arguments"]),
            "call_names": 2 * text("find_boat"),
            "frame": 4,
            "call_frame": 10,
            "line_breaks": 6,
        },
        {"tool_result": text(TALK[3]["content"]), "frame": 4},
        {
            "tool_call": sum(text(call["arguments"]) for call in calls[4]),
            "call_names": 2 * (text("cargo") + text("weather")),
            "frame": 4,
            "parallel": 24,
            "call_frame": 20,
        },
        {
            "tool_result": text(TALK[5]["content"]),
            "escapes": text(json.dumps(TALK[5]["content"])) - text(TALK[5]["content"]),
            "frame": 4,
        },
        {"tool_result": text(TALK[6]["content"]), "escapes": 2, "frame": 4},
        {"text": text(TALK[7]["content"]), "frame": 4},
    ]
    request = row["request_explained"]
    assert (request["priming"], request["declarations"], request["tool_choice"]) == (
        3,
        5,
        7 + text("cargo"),
    )


def test_each_argument_of_a_claude_call_is_counted_separately(ctxtrim: Run) -> None:
    words = (
        "count",
        "--explain",
        "--json",
        "--model",
        "claude-sonnet-4",
        "--tokenizer",
        "claude-v3-bound",
    )
    (row,) = json.loads(ctxtrim(*words, stdin=whole("claude-sonnet-4")).out)["transcripts"]
    text = tokenizer("claude-v3-bound").count
    spelled = ["marks", "SK 41", "note", "blue hull\nwhite mast"]
    addends = row["messages_explained"][2]["addends"]
    assert addends == {
        "text": text(TALK[2]["content"]),
        "tool_call": sum(map(text, spelled)),
        "arguments": 2 * 23,
        "call_names": text("find_boat"),
        "frame": 12,
        "call_frame": 42,
    }
    assert row["request_explained"] == {
        "schemas": text(json.dumps(TOOLS)),
        "tool_prompt": 315,
        "each_tool": 3 * 6,
        "tool_choice": 8 + text("cargo"),
    }


@pytest.mark.parametrize("budget", ["207", "208"])
def test_the_parts_add_up_to_the_tokens_as_read_if_trim_drops_what_costs_more(
    ctxtrim: Run, budget: str
) -> None:
    """Grok counts the reasoning of earlier answers again, outside of messages."""
    talk = [user("go"), *step("a", "seen it all " * 10), says("so"), user("thanks")]
    words = ("trim", "--model", "grok-4", "--budget", budget, "--dry-run", "--explain", "--json")
    ran = ctxtrim(*words, stdin=conversation(talk))
    (row,) = json.loads(ran.out)["transcripts"]
    messages = sum(message["tokens"] for message in row["messages_explained"])
    assert messages + sum(row["request_explained"].values()) == row["tokens_read"]
    assert row["request_explained"]["kept_reasoning"] > 0
    assert ran.code == (0 if row["tokens"] <= int(budget) else 3)
    assert ran.code == 0 or f"Current: {row['tokens']:,} tokens, Max: {budget}" in ran.err


def test_the_table_is_printed_unless_a_report_has_it_and_the_run_is_quiet(
    ctxtrim: Run, tmp_path: Path
) -> None:
    words = ("trim", "--explain", "--tokenizer", "chars4", "--report", tmp_path / "r.json")
    data = conversation([user("go"), says("so")])
    assert "messages of <stdin>:1: " in ctxtrim(*words, stdin=data).err
    assert ctxtrim(*words, "--quiet", stdin=data).err == ""
    assert "messages of <stdin>:1: " in ctxtrim(*words[:-2], "--quiet", stdin=data).err
