"""Data for training: answers are never dropped, and two answers keep one prompt."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders import call, result, says, user
from conftest import Run

Row = dict[str, Any]

SYSTEM = {"role": "system", "content": "Answer as the harbour master."}
OLD = [user("Which berths are free? " * 60), says("Berths 2 and 4. " * 60)]
NEW = [user("And tomorrow?"), says("Berth 9.")]
ASKED = user("Book berth 2.")
PROMPT = [SYSTEM, *OLD, *NEW, ASKED]
SHORT = says("Done.")
LONG = says("It is not possible to say. " * 30)

SHAPES: dict[str, Callable[[list[Row], list[Row], list[Row]], Row]] = {
    "prompt": lambda prompt, good, bad: {"prompt": prompt, "chosen": good, "rejected": bad},
    "none": lambda prompt, good, bad: {"chosen": prompt + good, "rejected": prompt + bad},
    "OpenAI": lambda prompt, good, bad: {
        "input": {"messages": prompt, "tools": []},
        "preferred_output": good,
        "non_preferred_output": bad,
    },
    "ms-swift": lambda prompt, good, bad: {
        "messages": prompt + good,
        "rejected_messages": prompt + bad,
    },
    "messages": lambda prompt, good, bad: {
        "messages": prompt,
        "chosen": good[0],
        "rejected": bad[0],
    },
    "UltraFeedback": lambda prompt, good, bad: {
        "prompt": "Book berth 2.",
        "chosen": prompt + good,
        "rejected": prompt + bad,
        "messages": prompt + good,
    },
}


def line(value: Row) -> bytes:
    return json.dumps(value).encode() + b"\n"


@pytest.mark.parametrize(("chosen", "rejected"), [(SHORT, LONG), (LONG, SHORT), (SHORT, SHORT)])
@pytest.mark.parametrize("shape", SHAPES)
def test_two_answers_keep_one_prompt_that_fits_with_both(
    ctxtrim: Run, shape: str, chosen: Row, rejected: Row
) -> None:
    def row(prompt: list[Row]) -> bytes:
        return line(SHAPES[shape](prompt, [chosen], [rejected]) | {"score": 1e400, "id": 2**60})

    ran = ctxtrim("trim", "-m", "gpt-4o", "--budget", "260", stdin=row(PROMPT))
    assert (ran.code, ran.out) == (0, row([SYSTEM, *NEW, ASKED]))
    counted = ctxtrim("count", "-m", "gpt-4o", "--json", stdin=ran.out)
    counts = [each["tokens"] for each in json.loads(counted.out)["transcripts"]]
    assert len(counts) == (3 if shape == "UltraFeedback" else 2)
    assert max(counts) <= 260


@pytest.mark.parametrize("shape", SHAPES)
def test_a_pair_is_left_out_if_one_of_its_answers_does_not_fit(ctxtrim: Run, shape: str) -> None:
    pair = line(SHAPES[shape](PROMPT, [SHORT], [LONG]))
    fits = line(SHAPES[shape]([ASKED], [SHORT], [SHORT]))
    ran = ctxtrim("trim", "-m", "gpt-4o", "--budget", "100", stdin=pair + fits)
    assert (ran.code, ran.out) == (3, fits)
    assert "(answer in data for training)" in ran.err


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "UltraFeedback"])
def test_both_conversations_of_a_pair_that_is_kept_overflow(ctxtrim: Run, shape: str) -> None:
    pair = line(SHAPES[shape](PROMPT, [SHORT], [LONG]))
    trim = ("trim", "-m", "gpt-4o", "--budget", "100", "--on-overflow", "keep")
    ran = ctxtrim(*trim, stdin=pair)
    assert (ran.code, ran.out) == (3, pair)
    assert "2 overflowing" in ran.err
    assert "its prompt is that of the longer answer" in ran.err


def test_results_in_both_copies_of_a_prompt_are_shortened_alike(ctxtrim: Run) -> None:
    def row(text: str) -> bytes:
        prompt = [user("go"), call("c1"), result("c1", text), user("And now?")]
        answer = [call("c2"), result("c2", "9 boats. " * 90), says("Nine boats.")]
        return line({"chosen": [*prompt, *answer], "rejected": [*prompt, SHORT]})

    long_text = "Seven boats. " * 90
    stages = ("-s", "truncate:clock=turns,max-age=0,keep-chains=false,keep-quoted=false")
    ran = ctxtrim("run", *stages, stdin=row(long_text))
    assert (ran.code, ran.out) == (0, row("[content truncated - 1 steps ago]"))


def test_one_summary_is_inserted_into_a_prompt_with_two_answers(ctxtrim: Run) -> None:
    for shape in ("prompt", "none"):
        pair = line(SHAPES[shape](PROMPT, [SHORT], [LONG]))
        ran = ctxtrim("summarize", "--keep-recent-turns", "1", stdin=pair)
        value = json.loads(ran.out)
        prompts = [value["prompt"]] if shape == "prompt" else [value["chosen"], value["rejected"]]
        for prompt in prompts:
            assert sum("Summary" in message["content"] for message in prompt) == 1
        assert prompts[0][:2] == prompts[-1][:2]


def test_the_completion_of_a_prompt_is_never_dropped(ctxtrim: Run) -> None:
    row = line({"prompt": [*OLD, ASKED], "completion": [LONG], "label": True})
    ran = ctxtrim("trim", "-m", "gpt-4o", "--budget", "240", stdin=row)
    assert ran.out == line({"prompt": [ASKED], "completion": [LONG], "label": True})
    ran = ctxtrim("trim", "-m", "gpt-4o", "--budget", "100", stdin=row)
    assert (ran.code, ran.out) == (3, b"")


def test_originals_of_a_pair_are_restored(ctxtrim: Run, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    data = b"".join(line(SHAPES[shape](PROMPT, [SHORT], [LONG])) for shape in SHAPES)
    path.write_bytes(data)
    ran = ctxtrim("trim", "--budget", "300", "--in-place", "--archive", tmp_path / "kept", path)
    assert ran.code == 0
    assert path.read_bytes() != data
    ctxtrim("restore", "--in-place", "--archive", tmp_path / "kept", path)
    assert path.read_bytes() == data


@pytest.mark.parametrize("mode", ["strip", "strip-after-edit", "keep-current-loop"])
def test_reasoning_is_removed_from_the_prompt_of_a_pair_alone(ctxtrim: Run, mode: str) -> None:
    def thinks(text: str) -> Row:
        return says(text) | {"reasoning_content": "Let me think. " * 20}

    def row(prompt: list[Row]) -> bytes:
        return line({"prompt": prompt, "chosen": [thinks("Yes.")], "rejected": [thinks("No.")]})

    data = row([*OLD, NEW[0], thinks("Berth 9."), ASKED])
    ran = ctxtrim("trim", "-m", "gpt-4o", "--budget", "260", "--thinking", mode, stdin=data)
    assert (ran.code, ran.out) == (0, row([*NEW, ASKED]))


def test_the_report_says_why_both_answers_are_kept(ctxtrim: Run) -> None:
    pair = line(SHAPES["prompt"](PROMPT, [SHORT], [LONG]))
    ran = ctxtrim("trim", "-m", "gpt-4o", "--budget", "260", "--explain", "--dry-run", stdin=pair)
    assert (ran.out.decode() + ran.err).count("answer in data for training") == 2


def test_a_path_selects_one_list_of_a_row(ctxtrim: Run) -> None:
    row = line(SHAPES["UltraFeedback"](PROMPT, [SHORT], [LONG]))
    for path in ("messages", "chosen", "rejected"):
        ran = ctxtrim("count", "-m", "gpt-4o", "--json", "--messages-path", path, stdin=row)
        (found,) = json.loads(ran.out)["transcripts"]
        assert (found["exactness"], ran.err) == ("exact", "")


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ({"messages": [ASKED, SHORT], "rejected_response": "No."}, ["rejected_response"]),
        ({"messages": [ASKED], "chosen": "Done.", "rejected": "No."}, ["chosen", "rejected"]),
        ({"messages": [ASKED], "chosen": [SHORT], "rejected": [LONG]}, ["chosen", "rejected"]),
        ({"prompt": [ASKED], "chosen": [SHORT], "rejected": "No."}, ["rejected"]),
        ({"messages": [ASKED, SHORT], "chosen": None, "rejected": ""}, []),
        ({"messages": [ASKED, SHORT], "chosen": True}, []),
        ({"messages": [ASKED, SHORT], "chosen": 2, "rejected": 0.5}, []),
    ],
)
def test_an_answer_that_is_not_read_makes_the_count_an_estimate(
    ctxtrim: Run, value: Row, names: list[str]
) -> None:
    ran = ctxtrim("count", "-m", "gpt-4o", "--json", stdin=line(value))
    (row,) = json.loads(ran.out)["transcripts"]
    assert row["exactness"] == ("estimated" if names else "exact")
    found = [name for name in ("chosen", "rejected", "rejected_response") if f"`{name}`" in ran.err]
    assert found == names
