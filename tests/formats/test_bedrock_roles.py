"""Every edit of a Converse conversation leaves elements whose roles alternate, with a user element
first: Bedrock rejects others.
"""

import json
from random import Random
from typing import Any

import pytest
from depth import examples
from harness import run

Value = dict[str, Any]
WORDS = ["the", "northern", "pier", "has", "two", "metres", "of", "water", "at", "low", "tide"]
SEEDS = examples(8)
BUDGETS = (8000, 6000, 4500, 3000, 2500, 2000, 1500, 1200, 900, 700, 500, 400, 300, 200, 100)


def says(role: str, *blocks: Value) -> Value:
    return {"role": role, "content": list(blocks)}


def text(words: str) -> Value:
    return {"text": words}


def use(name: str) -> Value:
    return {"toolUse": {"toolUseId": name, "name": "gauge", "input": {"pier": name}}}


def result(name: str, words: str) -> Value:
    return {"toolResult": {"toolUseId": name, "content": [text(words)]}}


def some(random: Random, limit: int) -> str:
    return " ".join(random.choices(WORDS, k=random.randint(1, limit)))


def steps(random: Random, turn: int) -> list[Value]:
    """Calls and results; the person may write next to results."""
    found = []
    for number in range(random.randint(0, 4)):
        names = [f"call{turn}-{number}-{at}" for at in range(random.randint(1, 3))]
        thought = [text(some(random, 20))] if random.random() < 0.5 else []
        found.append(says("assistant", *thought, *map(use, names)))
        answers = [result(name, some(random, 300)) for name in names]
        also = [text(some(random, 20))] if random.random() < 0.3 else []
        blocks = [*also, *answers] if random.random() < 0.3 else [*answers, *also]
        found.append(says("user", *blocks))
    return found


def talk(seed: int) -> list[Value]:
    """A conversation that Bedrock accepts. Some prompts follow results without an answer."""
    random = Random(seed)
    found: list[Value] = []
    for turn in range(random.randint(3, 8)):
        prompt = text(f"Question {turn}: {some(random, 60)}")
        if found and found[-1]["role"] == "user":
            found[-1]["content"].append(prompt)
        else:
            found.append(says("user", prompt))
        found += steps(random, turn)
        if random.random() < 0.85:
            found.append(says("assistant", text(f"Answer {turn}: {some(random, 200)}")))
    if found[-1]["role"] == "assistant" and random.random() < 0.8:
        found.append(says("user", text("The end?")))
    return found


def problems(talk: list[Value]) -> list[str]:
    """Why Bedrock rejects a conversation."""
    found = []
    calls: list[str] = []
    for at, message in enumerate(talk):
        if message["role"] != ("user", "assistant")[at % 2]:
            found.append(f"{at}: role")
        blocks = message["content"]
        if not blocks:
            found.append(f"{at}: empty")
        names = [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block]
        if names != calls:
            found.append(f"{at}: results")
        calls = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
    return found


def edited(talk: list[Value], limit: int, *stages: tuple[str, Value]) -> list[Value] | None:
    """The conversation after some stages; None if it does not fit."""
    data = json.dumps({"messages": talk}).encode() + b"\n"
    out = run(data, list(stages), limit=limit, model="gpt-4o").data
    return None if out is None else list(json.loads(out)["messages"])


SMALL = [
    says("user", text("How deep is it?")),
    says("assistant", use("a")),
    says("user", result("a", "no such gauge")),
    says("assistant", text("two metres of water at low tide " * 12)),
    says("user", text("And tomorrow?")),
]
PINS = ("Question 1:", "Answer 2:", "id:call1-0-0", "Question 2:")
STAGES = {
    "trim": ("trim", {}),
    "oldest": ("trim", {"strategy": "oldest"}),
    "age": ("trim", {"strategy": "age"}),
    "pinned prompts": ("trim", {"pin": (PINS[0], PINS[3])}),
    "pinned answer": ("trim", {"pin": (PINS[1],)}),
    "pinned call": ("trim", {"pin": (PINS[2],)}),
    "summarizing": ("trim", {"summarize": True}),
    "summarize": ("summarize", {"keep_recent_turns": 1}),
    "messages": ("summarize", {"keep_recent_turns": 0, "keep_recent_messages": 4}),
    "summary and pins": ("summarize", {"keep_recent_turns": 1, "pin": PINS}),
    "truncate": ("truncate", {}),
    "compact": ("compact", {"keep_recent_tokens": 0, "tool_cutoff": 3, "max_messages": 5}),
    "cutoff": ("cutoff", {"tool_cutoff": 3}),
}


@pytest.mark.parametrize("name", STAGES)
def test_roles_alternate_after_every_edit(name: str) -> None:
    for seed in range(SEEDS):
        before = talk(seed)
        assert not problems(before)
        for limit in BUDGETS:
            after = edited(before, limit, STAGES[name])
            assert after is None or not problems(after), (seed, limit)


@pytest.mark.parametrize(("limit", "length"), [(75, 1), (130, 3), (200, 5)])
def test_an_answer_between_a_result_and_a_prompt_is_not_dropped_alone(
    limit: int, length: int
) -> None:
    assert len(edited(SMALL, limit, ("trim", {})) or ()) == length


def test_prompts_that_are_kept_need_an_answer_between_them() -> None:
    pinned = ("trim", {"pin": ("How deep",)})
    assert edited(SMALL, 75, pinned) is None
    assert edited(SMALL, 130, pinned) == [SMALL[0], *SMALL[3:]]


@pytest.mark.parametrize(
    "stage",
    [
        ("summarize", {"keep_recent_turns": 3}),
        ("summarize", {"keep_recent_turns": 2}),
        ("trim", {"summarize": True}),
        ("compact", {"keep_recent_tokens": 0, "max_messages": 5}),
    ],
)
def test_an_earlier_summary_between_kept_answers_stays(stage: tuple[str, Value]) -> None:
    """The new one would take its place, and the answers would be adjacent."""
    opening = [says("user", text("Hello?")), says("assistant", text("Answer 0: hi"))]
    later = [says("user", text("How deep?")), *SMALL[1:], says("assistant", text("One. " * 60))]
    later += [says("user", text("Thanks."))]
    summarized = edited(later, 8000, ("summarize", {"keep_recent_turns": 0})) or []
    words, _, prompt = summarized[0]["content"][0]["text"].partition("\n\n[End of summary]\n\n")
    assert prompt == "Thanks."
    summary = says("user", text(words))
    before = [*opening, summary, *later[1:]]
    assert not problems(before)
    name, settings = stage
    for limit in range(200, 600, 20):
        pinned = (name, settings | {"pin": ("Answer 0",)})
        after = edited(before, limit, pinned)
        assert after is None or not problems(after), limit


@pytest.mark.parametrize(
    ("talk", "codes"),
    [
        (SMALL, []),
        (SMALL[3:4], []),
        (SMALL[:1] + SMALL[4:], ["roles-not-alternating"]),
        (SMALL[:3] + SMALL[4:], ["roles-not-alternating"]),
        (SMALL[3:], ["first-not-user"]),
    ],
)
def test_check_reports_roles_that_bedrock_rejects(talk: list[Value], codes: list[str]) -> None:
    data = json.dumps({"modelId": "amazon.nova-pro-v1:0", "messages": talk}).encode()
    (row,) = run(data, [("check", {})]).rows
    assert [finding.code for finding in row.findings] == codes


@pytest.mark.parametrize(("limit", "roles"), [(60, "au"), (200, "auau"), (250, "auauau")])
def test_roles_alternate_behind_a_first_message_that_bedrock_rejects(
    limit: int, roles: str
) -> None:
    depths = [says("assistant", text(f"{depth} metres of water " * 20)) for depth in (2, 3)]
    questions = [says("user", text(f"How deep is it at {hour}?")) for hour in (6, 12, 18)]
    before = [says("assistant", text("Welcome.")), questions[0], depths[0], questions[1]]
    after = edited([*before, depths[1], questions[2]], limit, ("trim", {})) or []
    assert "".join(message["role"][0] for message in after) == roles


def test_the_report_says_that_a_message_would_break_the_order_of_roles() -> None:
    """The result fits, but the answer that separates it from the next prompt does not."""
    data = json.dumps({"messages": SMALL}).encode()
    (row,) = run(data, [("trim", {})], limit=100, model="gpt-4o").rows
    (stage,) = row.steps
    reasons = [measured.change.reason for measured in stage.changes]
    assert [reason.rpartition(", ")[2] for reason in reasons] == [
        *["would break the order of roles"] * 3,
        "does not fit",
        "current task",
    ]
