"""Trim by priority: the drop order, and its explanations (S1-4, S1-5)."""

from itertools import product
from typing import Any

import builders
import pytest
from builders import call, contents, conversation, result, says, step, user
from conftest import Run
from harness import Ran, parse, run
from msgspec.structs import replace

from ctxtrim.model import Message
from ctxtrim.stages.trim.stage import Trim
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.models import FRAMINGS
from ctxtrim.tokens.tokenizer import Budget

SYSTEM = {"role": "system", "content": "You are terse."}
FILE = "line of the program\n" * 40
LOG = "log " * 3000
QUOTE = "the gauge at the north pier reads nine"
ERROR = "Error: no such file\n" + "x " * 100
TALK = [
    SYSTEM,
    user("opening task"),
    *step("a", FILE, "read_file", path="/app/a.py"),
    {
        "role": "assistant",
        "content": "It is a program.",
        "reasoning_content": "I wonder what that is. " * 5,
    },
    user("second task"),
    *step("b", ERROR, command="ls /x"),
    *step("c", "fine " * 100, command="ls"),
    says("Listed."),
    user("third task"),
    *step("d", FILE, "read_file", path="/app/a.py"),
    says("Read again."),
    user("fourth task"),
    *step("e", LOG, command="cat log"),
    *step("f", "small " * 20, command="cat x"),
    says("Almost."),
    user("current task"),
    *step("g", "now " * 200, command="cat y"),
    *step("h", "then " * 30, command="cat z"),
]
TWO = {"keep_recent_turns": 2}
NOTHING_KEPT = dict.fromkeys(
    ("keep_errors", "keep_quoted", "keep_chains", "keep_active_files"), False
)


def tokens(messages: list[dict[str, Any]]) -> int:
    return run(conversation(messages)).rows[0].count.tokens


def trimmed(messages: list[dict[str, Any]], budget: int, **settings: Any) -> Ran:
    return run(conversation(messages), [("trim", settings)], limit=budget)


def remaining(messages: list[dict[str, Any]], budget: int, **settings: Any) -> list[Any]:
    return contents(trimmed(messages, budget, **settings).data)


def actions(ran: Ran) -> list[tuple[int | None, str, str]]:
    """The actions on each message with the reason, without kept messages."""
    changes = (measurement.change for measurement in ran.rows[0].steps[-1].changes)
    return [
        (change.message, change.action, change.reason)
        for change in changes
        if change.action != "kept"
    ]


def descent(messages: list[dict[str, Any]], **settings: Any) -> list[tuple[int | None, str, str]]:
    """All actions between the full conversation and the protected messages, in order of first
    occurrence.
    """
    result: dict[tuple[int | None, str, str], None] = {}
    budget = tokens(messages) - 1
    while True:
        ran = trimmed(messages, budget, **settings)
        result |= dict.fromkeys(actions(ran))
        if ran.data is None:
            return list(result)
        budget = ran.rows[0].count.tokens - 1


def test_s1_4_messages_are_dropped_from_least_to_most_important() -> None:
    """Old turns first, then the last turns and important messages, then the opening task and the
    newest step.
    """
    dropped = [position for position, action, _ in descent(TALK, **TWO) if action == "dropped"]
    ranks = [
        {2, 3, 8, 9, 10, 14},
        {5, 6, 7, 11, 12, 13, 15, 16, 17, 18, 19, 20, 22, 23},
        {1},
        {24, 25},
    ]
    assert [
        rank for position in dropped for rank, places in enumerate(ranks) if position in places
    ] == [rank for rank, places in enumerate(ranks) for _ in places if rank != 2][:6] + [
        rank for position in dropped[6:] for rank, places in enumerate(ranks) if position in places
    ]
    assert set(dropped[-2:]) == {24, 25}
    assert dropped.index(1) > max(dropped.index(position) for position in ranks[0])


def test_s1_4_copies_are_dropped_first_and_old_reasoning_early() -> None:
    losses = descent(TALK, **TWO)
    assert losses[0] == (3, "truncated", "same as a newer result")
    assert (4, "stripped", "reasoning of turn 1") in losses


@pytest.mark.parametrize("strategy", ["priority", "oldest", "middle", "age"])
def test_s1_4_no_exchange_is_dropped_that_would_fit(strategy: str) -> None:
    for budget in range(30, tokens(TALK), 53):
        row = trimmed(TALK, budget, strategy=strategy, **TWO).rows[0]
        smallest = row.steps[-1].smallest_dropped
        if smallest is not None:
            assert smallest.tokens > budget - row.count.tokens
        else:
            assert row.messages == len(TALK)


def test_s1_4_a_copy_points_to_the_newer_result() -> None:
    talk = [
        user("go"),
        *step("a", FILE, "read_file", path="a"),
        *step("b", FILE, "read_file", path="a"),
    ]
    copy = "[same content as the newer result b of read_file]"
    assert remaining(talk, tokens(talk) - 1) == ["go", None, copy, None, FILE]


def test_s1_4_a_short_text_is_kept_instead_of_a_pointer_that_saves_little() -> None:
    for text in ("the tide is falling today, and so is the wind\n", "the tide is falling\n" * 9):
        talk = [
            user("go"),
            *step("a", text, command="tide"),
            *step("b", text, command="tide"),
            *step("c", LOG, command="log"),
        ]
        is_long = len(text) > 100
        assert remaining(talk, tokens(talk) - 1)[2].startswith("[same") == is_long


def test_s1_4_an_old_result_is_shortened_and_its_step_is_kept() -> None:
    talk = [user("go"), *step("a", LOG), says("done"), user("next"), says("ok"), user("now")]
    placeholder = "[content truncated - 0 steps ago]"
    for budget, expected in (
        (tokens(talk) - 1, "... [truncated"),
        (tokens([*talk[:2], *talk[3:]]) + 20, placeholder),
    ):
        kept = remaining(talk, budget, keep_recent_turns=2)
        assert expected in kept.pop(2)
        assert kept == ["go", None, "done", "next", "ok", "now"]


def test_s1_4_old_reasoning_is_dropped_before_old_text() -> None:
    thinks = {"role": "assistant", "content": "I know.", "reasoning_content": "Let me see. " * 40}
    talk = [user("go"), thinks, user("next"), dict(thinks), user("now")]
    ran = trimmed(talk, tokens(talk) - 1, keep_recent_turns=2)
    assert actions(ran) == [(1, "stripped", "reasoning of turn 1")]
    assert ran.data == conversation([user("go"), says("I know."), *talk[2:]])


def test_s1_4_an_answer_is_dropped_before_an_older_result_of_its_length() -> None:
    words = "the tide is low " * 20
    first = [user("opening"), says("ok"), *step("a", words)]
    talk = [*first, user("and?"), says(words), user("now")]
    kept = [*first, talk[-1]]
    assert remaining(talk, tokens(kept) + 20, keep_recent_turns=0) == [
        message["content"] for message in kept
    ]


def test_s1_4_the_clip_of_a_recent_result_keeps_both_ends_and_its_error_line() -> None:
    text = (
        "begin\n"
        + "a line of the log\n" * 400
        + "Error: it broke\n"
        + "a line of the log\n" * 400
        + "the end"
    )
    talk = [user("go"), *step("a", text), user("now")]
    for errors in (True, False):
        clip = remaining(talk, 1000, keep_errors=errors)[2]
        assert clip.startswith("begin\n") and clip.endswith("the end") and "... [truncated " in clip
        assert "Error: it broke" in clip


@pytest.mark.parametrize(
    ("first", "then", "why"),
    [
        (step("a", ERROR, command="ls /x"), says("so"), "error"),
        (step("a", FILE, "read_file", path="/app/a.py"), says("so"), "active file /app/a.py"),
        (step("a", "x " * 50 + f"\n{QUOTE}"), user(f"> {QUOTE}"), "quoted by the user"),
        (
            step("a", "x " * 90 + "src/harbour_gates.py"),
            call("b", path="src/harbour_gates.py"),
            "message 8 used it",
        ),
        (step("a", "y " * 100, "weather"), says("so"), "tool weather"),
    ],
)
def test_s1_4_important_messages_are_dropped_after_other_history(
    first: list[dict[str, Any]], then: dict[str, Any], why: str
) -> None:
    later = [then, result("b", "short")] if then.get("tool_calls") else [then]
    talk = [
        user("go"),
        *first,
        says("done"),
        user("second"),
        *step("c", "z " * 100),
        says("fine"),
        *later,
        user("now"),
    ]
    taken = descent(talk, keep_tools=("weather",), keep_recent_turns=0, keep_recent_messages=3)
    order = [position for position, _, _ in taken]
    assert order.index(6) < order.index(2)
    reason = f"worth keeping ({why}): exchange of turn 1, step 1, does not fit"
    assert (2, "dropped", reason) in taken
    off = descent(talk, keep_recent_turns=0, keep_recent_messages=3, **NOTHING_KEPT)
    assert (2, "dropped", "exchange of turn 1, step 1, does not fit") in off


def test_s1_4_small_results_are_dropped_late_with_that_setting() -> None:
    talk = [user("go"), *step("a", "tiny"), *step("b", "z " * 50), says("so"), user("now")]
    reasons = [reason for _, _, reason in descent(talk, keep_small=20, keep_recent_turns=0)]
    assert (
        "worth keeping (small: ≈1 < 20 tokens): exchange of turn 1, step 1, does not fit" in reasons
    )


COUNTER = Counter(tokenizer("chars4"), FRAMINGS["openai"])


def values(*special: int, **marks: bool) -> list[Message]:
    """The messages of a small conversation, some of them marked as the client's."""
    talk = [
        SYSTEM,
        user("# AGENTS.md\n" + "be kind " * 20),
        user("opening"),
        says("a " * 80),
        user("then"),
        user("now"),
    ]
    messages = builders.transcript(talk).messages
    return [
        replace(message, **marks) if position in special else message
        for position, message in enumerate(messages)
    ]  # type: ignore[arg-type]


def kept(messages: list[Message], budget: int, **settings: Any) -> list[int | None]:
    transcript = replace(builders.transcript([]), messages=tuple(messages))
    made = Trim(
        COUNTER,
        Budget(128_000, 0, limit=budget),
        **parse("trim", {"keep_recent_turns": 0} | settings).settings,
    )
    return [message.index for message in made(transcript).transcript.messages]


def test_s1_4_agent_instructions_are_dropped_after_the_opening_task() -> None:
    messages = values(1, is_injected=True)
    seen = {tuple(kept(messages, budget)) for budget in range(1, 200)}
    assert {indices for indices in seen if 1 not in indices} <= {
        (0, 2, 4, 5),
        (0, 2, 5),
        (0, 4, 5),
        (0, 5),
    }
    assert {(0, 1, 2, 3, 4, 5), (0, 1, 2, 4, 5), (0, 1, 2, 5), (0, 1, 5), (0, 5)} <= seen


def test_s1_4_an_instructions_file_in_a_plain_list_is_not_the_opening_task() -> None:
    marked = values(1, is_injected=True)
    assert [kept(values(), budget) for budget in range(1, 200)] == [
        kept(marked, budget) for budget in range(1, 200)
    ]


def test_s1_4_an_earlier_summary_is_dropped_after_the_history() -> None:
    messages = values(1, is_injected=True, is_summary=True)
    seen = {tuple(kept(messages, budget)) for budget in range(1, 200)}
    assert {(0, 1, 2, 3, 4, 5), (0, 1, 2, 4, 5), (0, 1, 2, 5), (0, 2, 5), (0, 5)} <= seen
    assert not any(3 in indices and 1 not in indices for indices in seen)


def test_s1_4_a_session_of_a_single_turn_and_200_steps_is_trimmed() -> None:
    talk = [
        user("go"),
        *(
            message
            for position in range(200)
            for message in step(f"c{position}", f"page {position} " * 40)
        ),
    ]
    for budget in (3000, 6000, 12_000):
        ran = trimmed(talk, budget)
        messages = contents(ran.data)
        assert budget * 0.8 < ran.rows[0].count.tokens <= budget
        assert messages[0] == "go"
        assert messages[-1] == talk[-1]["content"]
        assert len(messages) % 2 == 1


def test_s1_4_the_same_input_gives_the_same_output() -> None:
    for budget in range(100, tokens(TALK), 400):
        assert trimmed(TALK, budget, **TWO).data == trimmed(TALK, budget, **TWO).data


@pytest.mark.parametrize("summarize", [False, True])
def test_s1_4_every_message_is_explained(summarize: bool) -> None:
    for budget in range(20, tokens(TALK), 300):
        changes = [
            measurement.change
            for measurement in trimmed(TALK, budget, summarize=summarize).rows[0].steps[0].changes
        ]
        assert sorted(change.message for change in changes if change.message is not None) == list(
            range(len(TALK))
        )
        assert all(change.reason for change in changes)


def test_s1_4_an_explanation_names_the_protection_of_a_message() -> None:
    changes = (
        measurement.change
        for measurement in trimmed(TALK, 3900, pin=("Listed",), **TWO).rows[0].steps[0].changes
    )
    why = {change.message: change.reason for change in changes if change.action == "kept"}
    assert (why[0], why[1], why[21]) == ("system", "opening task, fits", "current task")
    assert (why[10], why[5]) == ("pinned: Listed", "prompt of a pinned message")
    assert why[15] == "prompt of turn 4"
    assert {"exchange of turn 4, step 5 (keep-recent), fits"} <= set(why.values())


def test_s1_5_the_last_turns_are_kept_while_older_messages_remain() -> None:
    talk = [SYSTEM]
    for turn in range(9):
        talk += [
            user(f"task {turn}"),
            *step(f"c{turn}", f"word {turn} " * 30),
            says(f"answer {turn}"),
        ]
    assert parse("trim", {}).settings["keep_recent_turns"] == 5
    recent = [message["content"] for message in talk[1 + 4 * 4 :]]
    budget = tokens([SYSTEM, user("task 0"), says("answer 0"), *talk[1 + 4 * 4 :]])
    assert remaining(talk, budget) == ["You are terse.", "task 0", "answer 0", *recent]
    two = [message["content"] for message in talk[1 + 4 * 7 :]]
    assert (
        remaining(
            talk, tokens([SYSTEM, user("task 0"), says("answer 0"), *talk[1 + 4 * 7 :]]), **TWO
        )[-8:]
        == two
    )


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        ({"keep_recent_messages": 3}, 4),
        ({"keep_recent_messages": 5}, 2),
        ({"keep_recent_tokens": 120}, 4),
        ({"keep_recent_tokens": 20}, 7),
        ({"keep_recent_turns": 1}, 8),
        ({"keep_recent_turns": 2}, 4),
    ],
)
def test_s1_5_recent_is_a_number_of_turns_messages_or_tokens(
    settings: dict[str, int], first: int
) -> None:
    talk = [
        user("a"),
        says("b " * 50),
        user("c"),
        says("d " * 50),
        user("e"),
        *step("x", "f " * 150),
        user("now"),
    ]
    reasons = {
        position: reason
        for position, _, reason in descent(talk, **({"keep_recent_turns": 0} | settings))
    }
    old = [
        position
        for position, reason in reasons.items()
        if reason.startswith(("exchange", "opening")) and "(keep-recent)" not in reason
    ]
    assert all((position in old) == (position < first) for position in reasons)


def test_s1_5_system_messages_are_never_dropped() -> None:
    talk = [{"role": "system", "content": "rule " * 50}, *TALK[1:]]
    budget = tokens([talk[0], TALK[21]])
    assert remaining(talk, budget) == ["rule " * 50, "current task"]
    assert trimmed(talk, budget - 1).data is None


def test_s1_5_droppable_system_messages_are_dropped_last() -> None:
    talk = [{"role": "system", "content": "rule " * 50}, *TALK[1:]]
    budget = tokens([talk[0], TALK[21]])
    assert remaining(talk, budget, preserve_system_prompt=False) == ["rule " * 50, "current task"]
    left = remaining(talk, budget - 1, preserve_system_prompt=False)
    assert "current task" in left
    assert "rule " * 50 not in left
    assert (0, "dropped", "system, does not fit") in descent(talk, preserve_system_prompt=False)


def test_s1_5_priority_based_is_an_alias_of_priority(ctxtrim: Run) -> None:
    words = ("trim", "--budget", "900", "--tokenizer", "chars4", "--quiet")
    plain, named, alias = (
        ctxtrim(*words, *more, stdin=conversation(TALK))
        for more in ((), ("--strategy", "priority"), ("--strategy", "priority-based"))
    )
    assert plain.code == named.code == alias.code == 0
    assert len(contents(alias.out)) < len(TALK)
    assert plain.out == named.out == alias.out


TURNS = [
    SYSTEM,
    *(message for turn in range(7) for message in (user(f"ask {turn}"), says(f"say {turn}"))),
]


@pytest.mark.parametrize(
    ("strategy", "order"),
    [
        ("oldest", [4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14]),
        ("middle", [8, 7, 6, 5, 10, 9, 4, 3, 12, 11, 14]),
        ("age", [4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14]),
    ],
)
def test_s1_5_each_strategy_has_its_own_drop_order(strategy: str, order: list[int]) -> None:
    taken: list[int | None] = []
    for position, action, _ in descent(TURNS, strategy=strategy):
        if action == "dropped" and position not in taken:
            taken.append(position)
    pairs = [{*taken[at : at + 2]} for at in range(0, 10, 2)]
    assert pairs == [{*order[at : at + 2]} for at in range(0, 10, 2)]


def test_s1_5_by_age_results_are_dropped_before_text_oldest_first() -> None:
    talk = [
        user("go"),
        *step("a", "x " * 60),
        says("one"),
        *step("b", "y " * 60),
        says("two"),
        user("now"),
    ]
    taken = [(position, action) for position, action, _ in descent(talk, strategy="age")]
    assert taken[:4] == [(2, "truncated"), (5, "truncated"), (1, "dropped"), (2, "dropped")]


@pytest.mark.parametrize("strategy", ["priority", "oldest", "middle", "age"])
def test_s1_5_pinned_messages_are_never_edited(strategy: str) -> None:
    pins = ("cat log", "tool:read_file", "id:h")
    held = [0, 1, 2, 3, 11, 12, 13, 15, 16, 17, 21, 24, 25]
    ran = trimmed(TALK, tokens([TALK[position] for position in held]), strategy=strategy, pin=pins)
    assert ran.data == conversation([TALK[position] for position in held])
    over = trimmed(
        TALK, tokens([TALK[position] for position in held]) - 1, strategy=strategy, pin=pins
    )
    assert over.data is None
    assert any("(pinned: cat log)" in line for line in over.rows[0].findings[0].details)


def test_s1_5_above_the_budget_trim_reduces_to_the_target() -> None:
    budget = tokens(TALK) - 1
    assert trimmed(TALK, budget + 1, target=0.5).data == conversation(TALK)
    low = trimmed(TALK, budget, target=0.5).rows[0].count.tokens
    assert low <= budget // 2 < trimmed(TALK, budget).rows[0].count.tokens
    grown = [*TALK, says("So."), user("and " * 1000)]
    assert tokens(grown) - tokens(TALK) + low <= budget


def test_s1_5_an_unreachable_target_drops_nothing_more() -> None:
    talk = [{"role": "system", "content": "rule " * 400}, *TALK[1:]]
    budget = tokens(talk) - 1000
    assert trimmed(talk, budget, target=0.1).data == trimmed(talk, budget).data


def test_s1_5_a_target_in_percent_is_the_same_fraction(ctxtrim: Any) -> None:
    words = ("trim", "--budget", str(tokens(TALK) - 1000), "--target")
    shares = [ctxtrim(*words, target, stdin=conversation(TALK)) for target in ("50%", "0.5", "1")]
    assert [ran.code for ran in shares] == [0, 0, 0]
    assert shares[0].out == shares[1].out != shares[2].out


@pytest.mark.parametrize("bad", ["0", "1.1", "-0.5", "half", "1e-1", "0.0", "0%", "101%"])
def test_s1_5_a_target_is_a_fraction(ctxtrim: Any, bad: str) -> None:
    ran = ctxtrim("trim", "--target", bad, stdin=conversation(TALK))
    assert (ran.code, ran.out) == (2, b"")
    assert f"--target {bad}: expected a share of the budget, above 0 and at most 1" in ran.err


@pytest.mark.parametrize(
    ("less", "summarize", "first"), [(1, False, 3), (500, False, 17), (4000, True, 1)]
)
def test_s1_5_the_report_names_the_first_message_that_invalidates_the_cache(
    less: int, summarize: bool, first: int
) -> None:
    ran = trimmed(TALK, tokens(TALK) - less, summarize=summarize, **TWO)
    (finding,) = (
        finding for finding in ran.rows[0].steps[0].findings if finding.code == "prompt-cache"
    )
    after = contents(ran.data)
    assert [message["content"] for message in TALK[:first]] == after[:first]
    before = sum(cost.total for cost in COUNTER.costs(builders.transcript(TALK).messages[:first]))
    assert (finding.index, finding.tokens) == (first, before)
    assert finding.message == (
        f"a prompt cache stays valid for the messages before message {first}: "
        f"{before} tokens, plus the request overhead"
    )


def test_s1_5_edits_of_stages_before_trim_invalidate_the_cache_too() -> None:
    talk = [SYSTEM, user("Task 0"), *step("a", FILE, "read_file", path="/app/a.py")]
    for number in range(1, 9):
        talk += [user(f"Task {number}"), *step(f"b{number}", "wind " * 400), says("Done.")]
    shorten = ("truncate", {"max_age": 6, "keep_active_files": False, "keep_small": 0})
    ran = run(conversation(talk), [shorten, ("trim", {"strategy": "middle"})], limit=2500)
    after = contents(ran.data)
    first = next(at for at, message in enumerate(talk) if message["content"] != after[at])
    (finding,) = (
        finding for finding in ran.rows[0].steps[1].findings if finding.code == "prompt-cache"
    )
    assert first == 3
    assert finding.index == first


def test_s1_5_a_transcript_that_fits_keeps_the_cache_valid() -> None:
    assert trimmed(TALK, tokens(TALK)).rows[0].steps[0].findings == ()


def edit(of: str, path: str, text: str) -> list[dict[str, Any]]:
    """An edit of a file and its short result."""
    return step(of, "The file was changed.", "edit_file", path=path, new_string=text)


EDITS = [
    user("Repair the lamp."),
    *step("a", "lens of the lamp\n" * 200, "read_file", path="/app/lamp.py"),
    *edit("b", "/app/lamp.py", "lens = polished\n" * 12),
    *step("c", "harbour chart\n" * 150, "read_file", path="/app/chart.py"),
    *edit("d", "/app/lamp.py", "wick = trimmed\n" * 12),
    *step("e", "the tide is falling\n" * 60, command="tide --now"),
    says("The lamp burns."),
    user("And the chart?"),
]


def test_edits_are_kept_longer_than_older_reads_of_their_files() -> None:
    """A read without the edits after it shows a file that no longer exists."""
    losses = descent(EDITS, keep_recent_turns=0)
    dropped = [position for position, action, _ in losses if action == "dropped"]
    read, first_edit, last_edit = 1, 3, 7
    assert dropped.index(read) < dropped.index(first_edit)
    assert dropped.index(read) < dropped.index(last_edit)


def test_results_are_clipped_before_edits_are_dropped() -> None:
    for budget in range(tokens(EDITS) // 2, tokens(EDITS), 20):
        data = trimmed(EDITS, budget, keep_recent_turns=0).data or b""
        assert b"polished" in data
        assert b"wick = trimmed" in data
        assert b"lens of the lamp" in data


def test_an_old_result_is_lengthened_after_other_exchanges_are_kept() -> None:
    talk = [
        user("Why does the lock fail?"),
        *step("a", "Error: no such gate\n" + "the gate opens and closes\n" * 600, command="gates"),
        *(
            message
            for number in range(12)
            for message in step(f"b{number}", f"lock {number} " * 60, command=f"lock {number}")
        ),
        says("A gate is missing."),
        user("And now?"),
    ]
    numbers = [
        len(contents(trimmed(talk, budget, keep_recent_turns=0).data))
        for budget in range(2700, tokens(talk), 150)
    ]
    assert set(numbers) == {len(talk)}


def test_the_last_answer_is_kept_before_what_the_client_adds_after_it() -> None:
    talk = [SYSTEM, user("opening"), says("b " * 40), user("/exit"), user("Goodbye")]
    messages = list(builders.transcript(talk).messages)
    messages[3:] = [replace(message, is_injected=True) for message in messages[3:]]
    seen = [kept(messages, budget) for budget in range(1, 120)]
    fits = next(number for number, indices in enumerate(seen) if 2 in indices)
    assert 3 not in seen[fits] or 4 not in seen[fits]
    assert all(2 in indices for indices in seen[fits:])


@pytest.mark.parametrize(
    ("strategy", "places"),
    [
        *(("oldest", places) for places in ((2,), (2, 3))),
        *product(("priority", "middle", "age"), ((2,), (2, 3), (4,), (2, 5))),
    ],
)
def test_what_the_client_adds_to_a_prompt_is_dropped_without_the_steps_after_it(
    strategy: str, places: tuple[int, ...]
) -> None:
    talk = [
        SYSTEM,
        user("Fix the pump."),
        *step("c1", "leak"),
        *step("c2", "sealed"),
        says("Done."),
    ]
    for place in places:
        talk.insert(place, user("x = 1\n" * 900))
    messages = [
        replace(message, is_injected=True) if message.index in places else message
        for message in builders.transcript(talk).messages
    ]
    rest = [message.index for message in messages if message.index not in places]
    assert kept(messages, 300, strategy=strategy) == rest


PLAN = "1. Oil the winch. 2. Paint the hull. 3. Sell the boat."
REFERRING = [
    SYSTEM,
    user("The harbour is ours now."),
    says("Fine."),
    user("What is there to do at the harbour?"),
    says(PLAN),
    user("do 1 and 2"),
    *(
        message
        for at in range(8)
        for message in step(f"c{at}", f"file {at}\n" * 60, "read_file", path=f"/app/{at}.py")
    ),
]


def test_the_answer_that_the_current_task_refers_to_is_kept() -> None:
    for budget in range(500, tokens(REFERRING), 40):
        kept = remaining(REFERRING, budget)
        position = kept.index("What is there to do at the harbour?")
        assert kept[position + 1 : position + 3] == [PLAN, "do 1 and 2"]


def test_what_the_client_adds_between_an_answer_and_the_task_does_not_count() -> None:
    messages = list(builders.transcript([*REFERRING[:5], user("/model"), *REFERRING[5:]]).messages)
    messages[5] = replace(messages[5], is_injected=True)
    for budget in range(500, tokens(REFERRING), 40):
        assert {3, 4, 6} <= set(kept(messages, budget))


def test_an_answer_of_more_than_an_eighth_of_the_budget_has_no_special_rank() -> None:
    talk = [*REFERRING[:4], says(PLAN + " Or wait." * 60), *REFERRING[5:]]
    reasons = {position: reason for position, _, reason in actions(trimmed(talk, 500))}
    assert reasons[4] == "answer before the current task, does not fit"


def test_the_answer_before_the_task_is_no_gap_in_what_oldest_keeps() -> None:
    messages = list(builders.transcript(REFERRING).messages)
    for budget in range(200, tokens(REFERRING), 40):
        indices = kept(messages, budget, strategy="oldest")
        assert 4 not in indices or indices[-16:] == list(range(6, 22))


def test_what_the_client_adds_without_an_answer_is_dropped_first() -> None:
    caveat = user("Caveat: a command of the person made the message below.")
    talk = [
        SYSTEM,
        user("Which lamps are broken?"),
        *step("a", "lamp\n" * 40),
        says("Two lamps."),
        caveat,
        user("/model"),
        user("And which gates?"),
        *step("b", "gate\n" * 40),
        user("now"),
    ]
    messages = list(builders.transcript(talk).messages)
    messages[5:7] = [replace(message, is_injected=True) for message in messages[5:7]]
    rest = tokens([*talk[:5], *talk[7:]])
    for budget in range(rest, tokens(talk)):
        transcript = replace(builders.transcript([]), messages=tuple(messages))
        how = parse("trim", {}).settings
        after = Trim(COUNTER, Budget(128_000, 0, limit=budget), **how)(transcript).transcript
        assert [message for message in after.messages if message not in messages[5:7]] == [
            *messages[:5],
            *messages[7:],
        ]


def test_a_long_last_edit_is_clipped_before_an_outdated_read_is_kept() -> None:
    """An outdated read that costs little does not take the room of the edit."""
    new = "lens = polished\n" * 60
    talk = [
        user("Repair the lamp."),
        *step("a", "lens of the lamp\n" * 20, "read_file", path="/app/lamp.py"),
        *step("b", "+lens = polished\n" * 900, "edit_file", path="/app/lamp.py", new=new),
        *step("c", "the tide is falling\n" * 20, command="tide --now"),
        says("The lamp burns."),
        user("And the chart?"),
    ]
    least = tokens([talk[0], talk[3], result("b", "placeholder " * 4), *talk[7:]])
    for budget in range(least, tokens(talk), 30):
        data = trimmed(talk, budget, keep_recent_turns=0).data or b""
        assert b"lens of the lamp" not in data or b"edit_file" in data
