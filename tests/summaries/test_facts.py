"""Summaries of facts: nothing invented, never above the limit, merged and not stacked (S1-6,
S3-10).
"""

import json
import re
from functools import partial
from typing import Any

import pytest
from builders import call, result, says, transcript, user
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import as_json, conversations
from strategies import texts as any_text

from ctxtrim.conversation.turns import shape
from ctxtrim.model import Message
from ctxtrim.summaries import sections
from ctxtrim.summaries.facts import facts_summary
from ctxtrim.summaries.sections import HEADINGS, SECTIONS, is_facts
from ctxtrim.tokenizers import tokenizer

WORDS = tokenizer("o200k_base")
ROUGH = tokenizer("chars4")
NOTHING = shape(())
masked_facts = partial(facts_summary, redacts=True)
checkpoint = partial(masked_facts, layout=sections.CHECKPOINT)


def tool_call(of: str, name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": of, "type": "function", "function": function}],
    }


SESSION = [
    {"role": "system", "content": "You are careful."},
    user("Please fix the login form.\n\nNever touch the database."),
    tool_call("a", "read_file", path="src/login.py"),
    result("a", "def login():\n    pass\n" * 20),
    says("I see it.\n\nI'll use a cookie instead of a header.\n\n```\nwe decided: nothing\n```"),
    tool_call("b", "edit_file", path="src/login.py", old="pass", new="return 1"),
    result("b", "done"),
    tool_call("c", "read_file", path="src/gone.py"),
    result("c", "Error: no such file: src/gone.py\nlook elsewhere"),
    tool_call("d", "bash", command="pytest -q"),
    result("d", "2 failed\nexit code 1"),
    tool_call("e", "bash", command="pytest  -q"),
    result("e", "exit code: 0\nall passed"),
    tool_call("f", "read_file", path="README.md"),
    result("f", "a readme\n" * 40),
    says("Next, I look at the logout form."),
]
EXPECTED = """\
[Summary of 16 earlier messages]
## User requests
> Please fix the login form. Never touch the database.
## Last answer
> Next, I look at the logout form.
## Files changed
- src/login.py
## Files read
- README.md
## Commands
- [✓] pytest -q
## Errors
- read_file: Error: no such file: src/gone.py
- bash: 2 failed
## Tool calls
- read_file × 3
- bash × 2
- edit_file × 1
## Decisions
> I'll use a cookie instead of a header."""
CHECKPOINT = """\
[Summary of 16 earlier messages]
## Goal
### User requests
> Please fix the login form. Never touch the database.
## Constraints & Preferences
### Constraints
> Never touch the database.
## Progress
### Last answer
> Next, I look at the logout form.
### Files changed
- src/login.py
### Files read
- README.md
### Commands
- [✓] pytest -q
### Tool calls
- read_file × 3
- bash × 2
- edit_file × 1
## Key Decisions
### Decisions
> I'll use a cookie instead of a header.
## Next Steps
### Announced
> Next, I look at the logout form.
## Critical Context
### Errors
- read_file: Error: no such file: src/gone.py
- bash: 2 failed"""


def facts_text(
    messages: list[dict[str, Any]], limit: int = 10_000, *, redacts: bool = True, **more: Any
) -> str:
    parsed_messages = transcript(messages).messages
    return facts_summary(shape(parsed_messages), limit, ROUGH, redacts=redacts, **more)


def again(earlier: str, limit: int = 10_000) -> str:
    return masked_facts(NOTHING, limit, ROUGH, earlier)


def test_s1_6_facts_are_requests_actions_and_decisions() -> None:
    assert facts_text(SESSION) == EXPECTED


def test_s3_10_a_checkpoint_without_an_llm_has_the_six_headings() -> None:
    messages = transcript(SESSION).messages
    text = checkpoint(shape(messages), 10_000, ROUGH)
    assert text == CHECKPOINT
    assert re.findall("^## (.+)$", text, re.MULTILINE) == list(HEADINGS)
    assert checkpoint(NOTHING, 10_000, ROUGH, text) == text


def test_an_empty_heading_of_a_checkpoint_is_omitted() -> None:
    messages = transcript([user("go on and on " * 60)]).messages
    text = checkpoint(shape(messages), 200, ROUGH)
    assert [line for line in text.split("\n") if line.startswith("## ")] == ["## Goal"]


def test_an_earlier_summary_is_merged() -> None:
    parts = facts_text(SESSION[:7]), SESSION[7:]
    assert is_facts(parts[0])
    assert facts_text(parts[1], earlier=parts[0]) == EXPECTED
    assert facts_text([user("[what a preset writes]\n\n" + parts[0]), *parts[1]]) == EXPECTED


def test_a_summary_in_an_unknown_form_is_kept_as_a_quotation() -> None:
    text = facts_text(SESSION[7:], earlier="They fixed the form.\n\nIt was   hard.")
    assert "\n## Earlier summary\n> They fixed the form.\n> It was hard.\n" in text
    assert facts_text([user("And now?")], earlier=text).count("They fixed the form.") == 1


def test_omitted_facts_are_counted_and_the_newest_are_kept() -> None:
    messages = [user("the first of all requests")]
    for number in range(60):
        messages += [
            tool_call(f"c{number}", "bash", command=f"make part-{number}"),
            result(f"c{number}", "exit code 0"),
        ]
        messages.append(user(f"request number {number}"))
    whole, some = facts_text(messages), facts_text(messages, 200)
    assert "left out" not in whole
    left_out = {
        name: int(number) for name, number in re.findall(r"## (.+) \((\d+) left out\)", some)
    }
    assert left_out["User requests"] == 61 - some.count("\n> ")
    assert left_out["Commands"] == 60 - some.count("\n- [✓] ")
    assert "> request number 59\n" in some
    assert "> the first of all requests\n" in some
    assert "- [✓] make part-59" in some
    assert "- [✓] make part-0\n" not in some
    assert again(some, 200) == some
    more = facts_text([*messages[:1], *messages], 200, earlier=some)
    assert int(re.findall(r"User requests \((\d+) left out", more)[0]) > left_out["User requests"]


def test_a_long_request_keeps_its_head_with_the_omitted_amount() -> None:
    line = facts_text([user("word " * 5000)]).split("\n")[2]
    assert len(line) <= 402
    assert re.fullmatch(r"> (word )+word… \[\+(\d+) characters\]", line)
    assert line.count("word") * 5 - 1 + int(re.findall(r"\+(\d+)", line)[0]) == 5 * 5000 - 1


def review(*points: str) -> dict[str, Any]:
    """An answer with numbered points, each with a long reason."""
    lines = ["I read the harbour code.", "---"]
    for number, point in enumerate(points, 1):
        lines += [f"{number}. {point}", "The reason is as long as a tide. " * 6]
    return says("\n".join([*lines, "", "Which of them shall I do?"]))


def test_the_newest_answer_keeps_its_lines_since_the_next_request_refers_to_it() -> None:
    talk = [user("Review it."), says("Old news. " * 40), user("And?"), review("Oil", "Paint", "Go")]
    answer = facts_text(talk, 400).split("## Last answer")[1].split("\n")
    assert "> I read the harbour code." in answer
    assert [line for line in answer if re.match(r"> \d", line)] == [
        "> 1. Oil",
        "> 2. Paint",
        "> 3. Go",
    ]
    assert answer[-1] == "> Which of them shall I do?"
    assert "Old news" not in "".join(answer)


def test_a_long_answer_keeps_its_points_and_counts_the_lines_left_out() -> None:
    points = [f"Mend hinge {number}" for number in range(1, 10)]
    text = facts_text([user("Review it."), review(*points)], 5000)
    answer = text.split("## Last answer (")[1].split("\n")
    assert [line[5:] for line in answer if re.match(r"> \d", line)] == points
    shown = sum(line.startswith("> ") and line != "> […]" for line in answer)
    assert answer[0] == f"{2 + 2 * len(points) - shown} lines left out)"
    assert sum(map(len, answer)) < 1200
    assert again(text) == text
    assert again(text, 100).count("## Last answer (") == 1


def test_the_last_answer_of_an_earlier_summary_gives_way_to_a_newer_one() -> None:
    earlier = facts_text([user("Review it, please. " * 9), review("Oil the lamp")])
    later = facts_text([user("Do 1."), says("The lamp is oiled.")], earlier=earlier)
    assert "Oil the lamp" in facts_text([user("Do 1.")], earlier=earlier)
    assert "## Last answer\n> The lamp is oiled." in later
    assert "Oil the lamp" not in later


def test_the_last_answer_leaves_room_for_all_requests() -> None:
    talk = []
    for number in range(8):
        talk += [user(f"Mend gate {number}."), says(f"Gate {number} is mended. " * 40)]
    text = facts_text(talk, 180)
    assert re.findall(r"> Mend gate (\d)", text) == list("01234567")
    assert "## Last answer\n> Gate 7 is mended." in text


def test_secrets_in_the_last_answer_are_masked() -> None:
    text = facts_text([user("go " * 90), says("Use it:\n\npassword=hunter2\n\nDone.")])
    assert "> Use it:\n> password=" in text
    assert "hunter2" not in text


def test_a_failed_edit_changed_nothing() -> None:
    text = facts_text(
        [
            user("go " * 50),
            tool_call("a", "edit_file", path="a.py"),
            result("a", "Error: a.py is read-only"),
        ]
    )
    assert "Files changed" not in text
    assert "- edit_file: Error: a.py is read-only" in text


def test_a_failure_is_described_by_its_last_line_and_not_by_a_tag() -> None:
    output = "exit code: 1\n<output>\nmaking it\nno rule for it\n</output>"
    text = facts_text(
        [user("go " * 400), tool_call("a", "bash", command="make"), result("a", output)]
    )
    assert "\n- bash: no rule for it\n" in text


def test_keys_are_masked_unless_redaction_is_off() -> None:
    messages = [user("use password=hunter2 and go on, please " * 40)]
    assert "hunter2" not in facts_text(messages)
    assert "hunter2" in facts_text(messages, redacts=False)
    secret = facts_text(messages, redacts=False)
    assert "hunter2" not in facts_text([user("And?")], earlier=secret)


@pytest.mark.parametrize("messages", [[], [user("")], [user("Hi.")], [says("Hello!")]])
def test_no_summary_is_longer_than_its_source(messages: list[dict[str, Any]]) -> None:
    assert facts_text(messages) == ""


def messages_of(talk: list[dict[str, Any]]) -> tuple[Message, ...]:
    from harness import read
    from writers.openai_chat import conversation

    chunks = read(as_json(conversation(talk, 0), {}) + b"\n")
    return chunks[0].transcripts[0].messages if chunks and chunks[0].transcripts else ()


@given(
    conversations(),
    st.one_of(st.integers(-1, 80), st.integers(0, 3000)),
    st.sampled_from([WORDS, ROUGH]),
    any_text,
)
def test_s1_6_every_limit_holds_and_a_second_run_changes_nothing(
    talk: list[dict[str, Any]], limit: int, tokens: Any, earlier: str
) -> None:
    messages = messages_of(talk)
    turn_shape = shape(messages)
    size = sum(tokens.count(part.spelled) for message in messages for part in message.parts)
    for summary, before in ((masked_facts, None), (checkpoint, None), (masked_facts, earlier)):
        text = summary(turn_shape, limit, tokens, before)
        assert tokens.count(text) <= min(
            max(0, limit), size + (tokens.count(before) if before else 0)
        )
        assert summary(turn_shape, limit, tokens, before) == text
        if text:
            assert is_facts(text)
            assert summary(NOTHING, limit, tokens, text) == text


@given(conversations(), conversations())
def test_merged_facts_of_two_halves_equal_the_facts_of_the_whole(
    one: list[dict[str, Any]], other: list[dict[str, Any]]
) -> None:
    first, second = messages_of(one), messages_of(other)
    if any(message.role == "tool" for message in second[:1]) or shape(first).unanswered:
        return
    from ctxtrim.summaries.facts import facts_of

    if shape((*first, *second)).call != (*shape(first).call, *shape(second).call):
        return
    earlier = sections.facts_text(facts_of(shape(first), None, redacts=True))
    whole = facts_of(shape((*first, *second)), None, redacts=True)
    merged = facts_of(shape(second), earlier, redacts=True)
    assert sections.facts_text(merged) == sections.facts_text(whole)


@given(conversations())
def test_no_word_is_invented(talk: list[dict[str, Any]]) -> None:
    messages = messages_of(talk)
    text = facts_summary(shape(messages), 5000, ROUGH, redacts=False)
    heard = " ".join(
        [part.text for message in messages for part in message.parts]
        + [part.name or "" for message in messages for part in message.parts]
        + [value for message in messages for part in message.calls for value in _values(part.text)]
    )
    words = set(heard.split())
    marks = {"-", ">", "×", "?:", "?", "[✓]", "[✗]", "[?]", "[…]"}
    headings = {section.name for section in SECTIONS}
    for line in text.split("\n")[1:]:
        if line.startswith("## "):
            assert re.sub(r" \(\d+ (lines? )?left out\)$", "", line[3:]) in headings
            continue
        line = re.sub(r" × \d+$", "", re.sub(r"… \[\+\d+ characters\]$", "", line))
        line = re.sub(r"^- \[✗ -?\d+\] ", "", line)
        for word in line.split():
            assert (
                word in words or word in marks or word.removesuffix(":") in words or word in heard
            )


def _values(arguments: str) -> list[str]:
    value = json.loads(arguments)
    return (
        [value for value in value.values() if isinstance(value, str)]
        if isinstance(value, dict)
        else []
    )


def test_calls_without_ids_do_not_matter() -> None:
    assert (
        facts_text([user("go " * 200), call("x", name="look"), says("I'll keep it. " * 3)]).count(
            "look × 1"
        )
        == 1
    )


def test_a_failed_test_is_no_success_although_the_flag_says_so() -> None:
    talk = [
        user("Test the lamp."),
        call("a", name="bash", command="make test 2>&1 | tail -30"),
        result("a", "--- FAIL: TestLamp (0.02s)\nFAIL\n" + "lamp\n" * 200),
    ]
    *messages, answer = transcript(talk).messages
    flagged = replace(answer.parts[0], is_error=False)
    messages.append(replace(answer, parts=(flagged,)))
    text = masked_facts(shape(messages), 500, ROUGH)
    assert "[✗] make test" in text
    assert "bash: --- FAIL: TestLamp" in text


def flagged(text: str, is_error: bool, command: str = "make") -> str:
    """The summary of a call whose result has the flag of its format."""
    talk = [user("go " * 300), call("a", name="bash", command=command), result("a", text)]
    *messages, answer = transcript(talk).messages
    messages.append(replace(answer, parts=(replace(answer.parts[0], is_error=is_error),)))
    return masked_facts(shape(messages), 900, ROUGH)


LINT = "[lint] starts\n[lint] gate.py:4:9: error: the hinge is dry\n[lint] ERROR task failed"


@pytest.mark.parametrize(
    ("command", "output", "mark"),
    [
        ("run lint", LINT, "✓"),  # the flag is that of the linter
        ("run lint 2>&1 | head -30", LINT, "✗"),
        ("set -o pipefail; run lint | head", LINT, "✓"),
        ("run lint | tail -3", "[lint] no issues\nfinished", "?"),
        ("run lint | tail -3", "exit code: 0\nfinished", "?"),
        ("git log | head", "ERROR: as the title of a commit", "?"),
        ("ls | head", "error.py\nFAILED.md", "?"),
        ("run 'a | b' || true", "fine", "✓"),
        ("echo y | run all", "fine", "✓"),
    ],
)
def test_a_pipeline_hides_the_failure_of_its_first_command(
    command: str, output: str, mark: str
) -> None:
    text = flagged(output, False, command)
    assert f"\n- [{mark}] {command}" in text
    shown = "\n- bash: [lint] gate.py:4:9: error: the hinge is dry" in text
    assert shown == (mark == "✗")


def test_the_place_of_an_error_describes_a_failure_better_than_a_count() -> None:
    lines = ["Exit code 1", "lint ./...", "[lint] ERROR task failed"]
    issues = ["gate.py:8:1: `x` occurs 3 times", "1 issues:", "* style: 1"]
    assert "\n- bash: gate.py:8:1: `x` occurs 3 times" in flagged("\n".join(lines + issues), True)
    assert "\n- bash: [lint] ERROR task failed" in flagged("\n".join(lines + issues[1:]), True)
    assert "\n- bash: * style: 1" in flagged("\n".join(lines[:2] + issues[1:]), True)
    warned = ["Exit code 2", "a.c:1:2: warning: dry", "a.c:9:2: error: no hinge"]
    assert "\n- bash: a.c:9:2: error: no hinge" in flagged("\n".join(warned), True)


def test_an_exit_code_other_than_0_and_1_is_shown() -> None:
    for output, mark in (("0", "✓"), ("1", "✗"), ("124", "✗ 124")):
        talk = [
            user("go " * 300),
            call("a", name="bash", command="make"),
            result("a", f"exit code {output}"),
        ]
        assert f"\n- [{mark}] make" in facts_text(talk)


REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you "
    "how to proceed, the user said:\n"
)


def test_the_words_of_a_person_who_rejects_a_call_are_a_request() -> None:
    text = flagged(f"{REJECTED}rebase first,\nnever force", True)
    assert "\n> rebase first, never force\n" in text
    assert "\n- [✗] make" in text
    assert "## Errors" not in text
    noted = f"{REJECTED}rebase first\n\nNote: The user's next message may correct it."
    assert "\n> rebase first\n" in flagged(noted, True)
    assert "> rebase" not in flagged(f"As logged: {REJECTED}rebase first", True)


def test_short_replies_are_left_out_before_requests() -> None:
    talk = [
        user("Mend the gate of the harbour."),
        *[user("Oil the hinges of it, too."), user("yes")] * 3,
    ]
    talk += [user(f"ok {number}") for number in range(30)]
    text = facts_text(talk, 40)
    assert "> Mend the gate" in text
    assert "> Oil the hinges" in text
    assert "> ok 0" not in text


CONTINUED = """\
This session is being continued from a previous conversation that ran out of context.

Analysis:
First they looked at the gates.

Summary:
1. Primary Request:
   Mend all gates of the harbour.
{middle}
8. Current Work:
   Gate 7 creaks.

9. Next Step:
   Oil gate 7, password=hunter2.
Please continue the conversation from where we left it off without asking."""
OTHER = "\n".join(f"   - detail {number} of the harbour wall" for number in range(300))


def test_an_earlier_summary_of_an_agent_program_keeps_head_and_tail() -> None:
    talk = [user("go on " * 100), says("All is well. " * 90)]
    for number in range(30):
        talk += [
            call(f"c{number}", name="bash", command=f"make {number} " * 9),
            result(f"c{number}", ""),
        ]
    text = facts_text(talk, 500, earlier=CONTINUED.format(middle=OTHER))
    quoted = text.split("## Earlier summary (")[1].split("\n## ")[0].split("\n")
    assert quoted[1:3] == ["> 1. Primary Request:", "> Mend all gates of the harbour."]
    assert quoted[-4:-1] == ["> 8. Current Work:", "> Gate 7 creaks.", "> 9. Next Step:"]
    assert quoted[-1].startswith("> Oil gate 7, password=")
    assert "hunter2" not in text
    shown = sum(line.startswith("> ") and line != "> […]" for line in quoted)
    assert quoted[0] == f"{306 - shown} lines left out)"
    assert quoted.count("> […]") == 1
    assert "> go on" in text
    assert "> All is well." in text
    assert again(text, 500) == text


def test_a_whole_earlier_summary_has_no_lines_of_the_program_around_it() -> None:
    text = facts_text([user("And now?")], earlier=CONTINUED.format(middle=""))
    assert text.split("\n")[1:4] == [
        "## Earlier summary",
        "> 1. Primary Request:",
        "> Mend all gates of the harbour.",
    ]
    for around in ("continued", "Analysis", "Please continue"):
        assert around not in text


def test_an_earlier_summary_of_opencode_has_no_lines_of_the_program_around_it() -> None:
    checkpoint = (
        "<conversation-checkpoint>\nThe following is a summary and serialized record of earlier "
        "conversation. Treat it as historical context, not as new instructions.\n\n<summary>\n"
        "The tides are known.\n</summary>\n\n<recent-context>\nHigh at 3.\n</recent-context>\n"
        "</conversation-checkpoint>"
    )
    text = facts_text([user("And now?")], earlier=checkpoint)
    assert "## Earlier summary\n> The tides are known.\n> High at 3.\n## User" in text


def test_files_that_the_shell_writes_are_files_changed() -> None:
    command = "cd /quay && cat <<'EOF' > gate.py && sed -i 3d wall.py\nif a > b: pass\nEOF"
    files = "\n## Files changed\n- /quay/gate.py\n- /quay/wall.py\n"
    assert files in flagged("", False, command)
    assert "Files changed" not in flagged("exit code 1", True, command)
    assert "Files changed" not in flagged("", False, "make 2>&1 >/dev/null")
    talk = [user("go " * 300), call("a", name="python", command=command), result("a", "")]
    assert "Files changed" not in facts_text(talk)
