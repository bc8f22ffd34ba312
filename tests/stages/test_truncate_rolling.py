"""Tool results truncated by age and size, active files, and the replacement texts: S0 and S2, row
by row.
"""

import copy
import json
from typing import Any

import pytest
from builders import call, contents, conversation, result, says, step, steps, transcript, user
from conftest import Run
from harness import parse, run

from ctxtrim import (
    InputError,
    active_files,
    count_steps,
    summarize_tool_output,
    tag_steps,
    tokenizer,
    truncate_old_tool_outputs,
)
from ctxtrim.evidence.key_info import extract_key_info
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.models import FRAMINGS

LONG = "a line of the output\n" * 100
PLACEHOLDER = "[content truncated - {} steps ago]"
O200K = tokenizer("o200k_base")


def truncated(messages: list[dict[str, Any]], **settings: Any) -> list[Any]:
    return contents(
        run(conversation(messages), [("truncate", settings)], tokenizer="o200k_base").data
    )


def results(messages: list[dict[str, Any]], **settings: Any) -> list[Any]:
    return [
        now
        for now, was in zip(truncated(messages, **settings), messages, strict=True)
        if was["role"] == "tool"
    ]


def reasons(messages: list[dict[str, Any]], **settings: Any) -> list[str]:
    """The recorded reason for each result."""
    (row,) = run(conversation(messages), [("truncate", settings)], tokenizer="o200k_base").rows
    return [
        f"{measurement.change.action}: {measurement.change.reason}"
        for measurement in row.steps[0].changes
    ]


def aged(
    *first: dict[str, Any], by: int = 7, then: tuple[dict[str, Any], ...] = ()
) -> list[dict[str, Any]]:
    """A first step, and so many more after it."""
    more = [message for position in range(by) for message in step(f"later{position}", "short")]
    return [user("go"), *first, *then, *more]


def test_s0_1_a_call_truncates_unless_it_is_disabled() -> None:
    messages = steps(7, LONG)
    for disabled in (
        truncate_old_tool_outputs(messages, {"enabled": False}),
        truncate_old_tool_outputs(messages, enabled=False),
        truncate_old_tool_outputs(messages, {"enabled": True}, enabled=False),
    ):
        assert disabled == messages
    for enabled in (
        truncate_old_tool_outputs(messages),
        truncate_old_tool_outputs(messages, max_age=5),
        truncate_old_tool_outputs(messages, {"enabled": True}),
        truncate_old_tool_outputs(messages, enabled=True),
        truncate_old_tool_outputs(messages, {"enabled": False}, enabled=True),
    ):
        assert enabled[2]["content"] == PLACEHOLDER.format(6)


def test_s0_1_the_automatic_pipeline_runs_only_if_it_is_enabled(ctxtrim: Run) -> None:
    messages = steps(7, LONG)
    assert ctxtrim("run", stdin=conversation(messages)).out == conversation(messages)
    assert ctxtrim("run", "--no-enabled", stdin=conversation(messages)).out == conversation(
        messages
    )
    assert contents(ctxtrim("run", "--enabled", stdin=conversation(messages)).out)[
        2
    ] == PLACEHOLDER.format(6)


@pytest.mark.parametrize(
    "words", [("truncate",), ("run", "-s", "truncate"), ("run", "--preset", "rolling")]
)
def test_s0_1_naming_the_stage_or_the_preset_enables_it(
    ctxtrim: Run, words: tuple[str, ...]
) -> None:
    ran = ctxtrim(*words, stdin=conversation(steps(7, LONG)))
    assert contents(ran.out)[2] == PLACEHOLDER.format(6)


def test_s0_2_content_is_replaced_and_structure_is_kept() -> None:
    messages = steps(8, LONG)
    messages[2] |= {"name": "bash", "extra": {"b": 1.10, "a": [1e5]}}
    data = run(conversation(messages), [("truncate", {})]).data or b""
    after = json.loads(data)["messages"]
    assert [{key: value for key, value in item.items() if key != "content"} for item in after] == [
        {key: value for key, value in message.items() if key != "content"} for message in messages
    ]
    assert b'"extra": {"b": 1.1, "a": [100000.0]}' in data


def test_s0_3_parallel_calls_form_a_single_step() -> None:
    messages = [
        user("go"),
        call("a", "b"),
        result("a", LONG),
        result("b", LONG),
        says("so"),
        says("well"),
    ]
    messages += [message for position in range(5) for message in step(f"s{position}", "short")]
    assert results(messages)[:2] == [LONG, LONG]  # age 5 of 6 steps
    messages += step("last", "short")
    assert results(messages)[:2] == [PLACEHOLDER.format(6)] * 2


def test_s0_3_messages_before_the_first_step_have_step_0() -> None:
    empty: dict[str, Any] = {"role": "assistant", "content": "hm", "tool_calls": []}
    messages = [
        user("go"),
        empty,
        call("a", "b"),
        result("a", "x"),
        result("b", "y"),
        says("so"),
        *step("c", "z"),
    ]
    assert count_steps(messages) == 2
    assert tag_steps(messages) == (0, 0, 1, 1, 1, 1, 2, 2)
    assert count_steps([]) == 0


def test_s0_4_only_the_first_of_seven_steps_is_truncated() -> None:
    assert results(steps(7, LONG)) == [PLACEHOLDER.format(6), *[LONG] * 6]


def test_s0_4_six_steps_are_unchanged() -> None:
    assert results(steps(6, LONG)) == [LONG] * 6


def test_s0_4_the_current_step_is_a_setting() -> None:
    assert results(steps(3, LONG), current_step=8) == [
        PLACEHOLDER.format(7),
        PLACEHOLDER.format(6),
        LONG,
    ]
    assert truncate_old_tool_outputs(steps(3, LONG), current_step=7, enabled=True)[2][
        "content"
    ] == PLACEHOLDER.format(6)


@pytest.mark.parametrize("age", [0, 7])
def test_s0_5_an_output_of_any_age_is_clipped_to_head_and_tail(age: int) -> None:
    text = (
        "Error: it broke\n"
        + "\n".join(f"line {number} of a long log" for number in range(3000))
        + "\nthe end"
    )
    clip = results([user("go"), *step("first", text), *steps(age, "short")[1:]])[0]
    assert 1900 < O200K.count(clip) <= 2000
    assert clip.startswith("Error: it broke\nline 0 of a long log\n")
    assert clip.endswith("line 2999 of a long log\nthe end")
    gone = int(clip.partition("... [truncated ")[2].split(" ")[0])
    head, _, tail = clip.partition(f"\n... [truncated {gone} lines] ...\n")
    assert len([*head.split("\n"), *tail.split("\n")]) + gone == len(text.split("\n"))


def test_s0_5_an_output_within_the_limit_is_unchanged() -> None:
    text = "word " * 1998 + "end\n"
    assert O200K.count(text) == 2000
    assert results(aged(*step("a", text), by=5)) == [text, *["short"] * 5]
    assert O200K.count(results(aged(*step("a", "one " + text), by=5))[0]) <= 2000


def test_s0_5_an_active_file_is_not_clipped() -> None:
    text = "word " * 3000
    messages = aged(*step("a", text, "read_file", path="/app/a.py"), by=1)
    assert results(messages)[0] == text
    assert O200K.count(results(messages, keep_active_files=False)[0]) <= 2000


def test_s0_5_the_clip_of_an_error_keeps_the_line_that_shows_it() -> None:
    lines = ["x" * 2000, "y" * 2000, "ValueError: bad input", *["detail " * 20] * 200]
    clip = results([user("go"), *step("a", "\n".join(lines))], max_tokens=100)[0]
    assert "ValueError: bad input" in clip


def test_s0_6_the_placeholder_is_a_template() -> None:
    messages = steps(7, LONG)
    assert results(messages)[0] == "[content truncated - 6 steps ago]"
    assert results(messages, placeholder="<gone {age}>")[0] == "<gone 6>"
    assert results(messages, placeholder="<gone {N}>")[0] == "<gone 6>"


def test_s0_7_partial_settings_merge_with_the_defaults() -> None:
    message, default = (
        parse("truncate:max-age=2", {"max_tokens": 77}).settings,
        parse("truncate", {}).settings,
    )
    assert message == default | {"max_age": 2, "max_tokens": 77}
    assert (
        default["max_age"] == 5 and default["max_tokens"] == 2000 and default["keep_small"] == 100
    )
    assert default["placeholder"] == "[content truncated - {age} steps ago]"
    now = truncate_old_tool_outputs(steps(4, LONG), {"max_age": 2}, enabled=True)
    assert [message["content"] for message in now if message["role"] == "tool"] == [
        PLACEHOLDER.format(3),
        LONG,
        LONG,
        LONG,
    ]


def test_s0_8_metadata_holds_original_length_and_age_if_enabled() -> None:
    messages, data = steps(7, LONG), conversation(steps(7, LONG))
    first = json.loads(run(data, [("truncate", {"metadata": True})]).data or b"")["messages"][2]
    assert (first["_originalLength"], first["_truncatedAt"]) == (len(LONG), 6)
    assert b"_originalLength" not in (run(data, [("truncate", {})]).data or b"")
    there = truncate_old_tool_outputs(messages, enabled=True)
    assert (there[2]["_originalLength"], there[2]["_truncatedAt"]) == (len(LONG), 6)
    assert [item for item in there if "_truncatedAt" in item] == [there[2]]
    assert (
        "_truncatedAt"
        not in truncate_old_tool_outputs(messages, {"metadata": False}, enabled=True)[2]
    )


def test_s0_8_preset_rolling_writes_metadata(ctxtrim: Run) -> None:
    data = conversation(steps(7, LONG))
    first = json.loads(ctxtrim("run", "--preset", "rolling", stdin=data).out)["messages"][2]
    assert (first["_originalLength"], first["_truncatedAt"]) == (len(LONG), 6)
    assert (
        b"_truncatedAt"
        not in ctxtrim("run", "--preset", "rolling", "--no-metadata", stdin=data).out
    )


def test_s0_8_a_second_truncation_keeps_the_original_length() -> None:
    text = "a line of the output\n" * 2000
    once = (
        run(conversation(aged(*step("a", text), by=1)), [("truncate", {"metadata": True})]).data
        or b""
    )
    clipped = json.loads(once)["messages"]
    assert clipped[2]["_truncatedAt"] == 1
    later = clipped + [
        message for position in range(7) for message in step(f"more{position}", "short")
    ]
    gone = json.loads(run(conversation(later), [("truncate", {"metadata": True})]).data or b"")[
        "messages"
    ][2]
    assert (gone["content"], gone["_originalLength"], gone["_truncatedAt"]) == (
        PLACEHOLDER.format(8),
        len(text),
        8,
    )


def test_s0_9_only_tool_results_are_edited_and_input_lists_never() -> None:
    messages = [user(LONG), says(LONG), *steps(7, "short"), user(LONG)]
    assert truncated(messages) == [message["content"] for message in messages]
    old = steps(7, LONG)
    before = copy.deepcopy(old)
    assert truncate_old_tool_outputs(old, enabled=True) is not old
    assert old == before


READ = "total 3\nsrc/harbour_gates.py\n" + "src/other.py\n" * 100


def test_s0_10_results_that_recent_calls_use_are_kept() -> None:
    used = [
        *step("a", READ),
        *steps(5, "short")[1:],
        *step("z", "short", path="src/harbour_gates.py"),
    ]
    assert results([user("go"), *used])[0] == READ
    assert results([user("go"), *used], keep_chains=False)[0] == PLACEHOLDER.format(6)
    assert reasons([user("go"), *used])[0] == "kept: message 13 used it"


def test_s0_10_results_that_only_old_calls_use_are_replaced() -> None:
    used = [
        *step("a", READ),
        *step("z", "short", path="src/harbour_gates.py"),
        *steps(6, "short")[1:],
    ]
    assert results([user("go"), *used])[0] == PLACEHOLDER.format(7)


def test_s0_10_earlier_text_is_not_a_use_of_a_result() -> None:
    used = [
        *step("a", READ),
        *steps(5, "short")[1:],
        *step("z", "short", path="src/harbour_gates.py"),
    ]
    assert results([user("look at src/harbour_gates.py"), *used])[0] == PLACEHOLDER.format(6)


@pytest.mark.parametrize(
    "text",
    [
        "Error: no such file\n" + LONG,
        "\n\nTraceback (most recent call last):\n" + LONG,
        "fatal: not a git repository\n" + LONG,
        "panic: runtime error\n" + LONG,
        "sh: foo: command not found\n" + LONG,
        "json.decoder.JSONDecodeError: expecting value\n" + LONG,
        "Exit code 1\n" + LONG,
        LONG + "\nProcess exited with code 2",
    ],
)
def test_s0_11_errors_are_kept(text: str) -> None:
    assert results(aged(*step("e", text)))[0] == text
    assert results(aged(*step("e", text)), keep_errors=False)[0] == PLACEHOLDER.format(7)


@pytest.mark.parametrize(
    "text",
    ["0 errors\n" + LONG, LONG + "no error: all is well", "Exit code 0\nError: handled\n" + LONG],
)
def test_s0_11_a_success_that_mentions_errors_is_not_an_error(text: str) -> None:
    assert results(aged(*step("e", text)))[0] == PLACEHOLDER.format(7)


@pytest.mark.parametrize("word", ["error", "exception", "failed", "fatal", "cannot", "unable to"])
def test_s0_11_a_loose_detector_accepts_any_error_word(word: str) -> None:
    text = LONG + f"what {word} means\n"
    assert results(aged(*step("e", text)), errors="loose")[0] == text
    assert results(aged(*step("e", text)))[0] == PLACEHOLDER.format(7)


def blocks(number: int, is_error: bool | None) -> list[dict[str, Any]]:
    """Steps in Claude Code's lines; the first result has a flag."""
    lines: list[dict[str, Any]] = []
    for position in range(number):
        use = {"type": "tool_use", "id": f"t{position}", "name": "Bash", "input": {}}
        block = {
            "type": "tool_result",
            "tool_use_id": f"t{position}",
            "content": LONG if position == 0 else "short",
        }
        flag = {"is_error": is_error} if position == 0 else {}
        lines.append(
            {
                "type": "assistant",
                "message": {"id": f"m{position}", "role": "assistant", "content": [use]},
            }
        )
        lines.append({"type": "user", "message": {"role": "user", "content": [block | flag]}})
    return lines


@pytest.mark.parametrize(("is_error", "stays"), [(True, True), (False, False), (None, False)])
def test_s0_11_the_formats_own_flag_decides_first(is_error: bool | None, stays: bool) -> None:
    data = b"".join(json.dumps(line).encode() + b"\n" for line in blocks(8, is_error))
    out = run(data, [("truncate", {})]).data or b""
    assert (out == data) == stays
    assert (PLACEHOLDER.format(7).encode() in out) != stays


@pytest.mark.parametrize(
    "end", ["exit code: 1\n" + "f3a9" * 700 + "\nbye", "exit code: 1", "exit code: 1\nbye\n\n"]
)
def test_s0_11_an_old_error_is_kept_even_if_it_is_too_long(end: str) -> None:
    text = "x exit code: 1 is bad\n" + "line of the log\n" * 3000 + end
    messages = [user("go"), *step("e", text), *steps(8, "short")[1:]]
    clip = results(messages)[0]
    assert "\nexit code: 1" in clip
    assert clip.count("... [truncated ") in (1, 2)
    messages[2]["content"] = clip
    assert results(messages)[0] == clip


def test_s0_12_results_below_a_hundred_tokens_are_kept() -> None:
    small, large = "word " * 98 + "word", "word " * 99 + "word"
    assert (O200K.count(small), O200K.count(large)) == (99, 100)
    assert results(steps(7, small))[0] == small
    assert results(steps(7, large))[0] == PLACEHOLDER.format(6)
    assert reasons(steps(7, small))[0] == "kept: small: ≈99 < 100 tokens"


QUOTE = "the tide gauge at the north pier reads nine"
QUOTED = LONG + QUOTE + "\n" + LONG


@pytest.mark.parametrize(
    "words",
    [
        f"why is it that {QUOTE}?",
        f"> {QUOTE}",
        "the tide gauge  at the\nnorth pier reads nine",
        "see call_7",
    ],
)
def test_s0_13_results_that_the_user_quotes_later_are_kept(words: str) -> None:
    messages = aged(*step("call_7", QUOTED), then=(user(words),))
    assert results(messages)[0] == QUOTED
    assert reasons(messages)[0] == "kept: quoted by the user"
    assert results(messages, keep_quoted=False)[0] == PLACEHOLDER.format(7)


@pytest.mark.parametrize("words", ["why is that?", "the tide gauge", "is /app/harbour.py fine?"])
def test_s0_13_texts_that_are_not_quotations(words: str) -> None:
    first = step("call_7", QUOTED + "/app/harbour.py\n", "bash", path="/app/harbour.py")
    assert results(aged(*first, then=(user(words),)))[0] == PLACEHOLDER.format(7)


def test_s0_13_text_before_the_call_is_not_a_quotation() -> None:
    assert results([user(QUOTE), *aged(*step("call_7", QUOTED))[1:]])[0] == PLACEHOLDER.format(7)


def test_s0_13_a_clip_includes_the_quoted_text() -> None:
    text = "word " * 3000 + "\n" + QUOTE + "\n" + "word " * 3000
    clip = results(aged(*step("call_7", text), then=(user(f"> {QUOTE}"),)))[0]
    assert QUOTE in clip and O200K.count(clip) <= 2000


@pytest.mark.parametrize("replace", ["placeholder", "stub", "head", "summary"])
def test_s0_14_a_second_run_changes_nothing_and_placeholders_do_not_age(
    replace: str,
) -> None:
    settings = {"keep_small": 0, "max_age": 2, "replace": replace}
    once = run(conversation(steps(7, LONG)), [("truncate", settings)]).data or b""
    assert once != conversation(steps(7, LONG))
    assert run(once, [("truncate", settings)]).data == once
    later = json.loads(once)["messages"] + steps(3, LONG)[1:]
    assert contents(run(conversation(later), [("truncate", settings)]).data)[2] == contents(once)[2]


def test_s0_14_a_clip_is_recognised() -> None:
    text = "\n".join(f"line {number} of a long log" for number in range(3000))
    once = (
        run(
            conversation(aged(*step("a", text), by=1)), [("truncate", {})], tokenizer="o200k_base"
        ).data
        or b""
    )
    assert run(once, [("truncate", {})], tokenizer="o200k_base").data == once


FILE = "".join(f"line {number} of the program\n" for number in range(120))


@pytest.mark.parametrize(("by", "stays"), [(5, True), (6, False)])
def test_s2_1_recently_read_files_stay_in_full(by: int, stays: bool) -> None:
    messages = aged(*step("a", FILE * 20, "read_file", path="/app/a.py"), by=by)
    assert (results(messages)[0] == FILE * 20) == stays
    assert results(messages, active_steps=by)[0] == FILE * 20
    assert results(messages, active_steps=by - 1)[0] != FILE * 20


def test_s2_1_read_six_steps_ago_but_edited_one_step_ago_is_active() -> None:
    messages = [
        *aged(*step("a", FILE, "read_file", path="/app/a.py"), by=4),
        *step("e", "done", "edit_file", path="/app/a.py", old="x", new="y"),
        *step("z", "short"),
    ]
    assert results(messages)[0] == FILE
    assert reasons(messages)[0] == "kept: active file /app/a.py"
    assert results(messages, keep_active_files=False)[0] == PLACEHOLDER.format(6)


def test_s2_2_old_file_content_is_replaced_by_path_and_line_count() -> None:
    messages = aged(*step("a", FILE, "read_file", path="/app/a.py"))
    assert results(messages, replace="stub")[0] == (
        "[File: /app/a.py (120 lines) - content truncated, use read_file to re-read]"
    )


def test_s2_2_only_results_that_show_a_file_say_how_to_read_it_again() -> None:
    for name in ("edit_file", "glob", "grep"):
        messages = aged(*step("a", FILE, name, path="/app/a.py"))
        stub = results(messages, replace="stub")[0]
        assert stub.startswith(f"[{name}: 120 lines, ")
        assert "re-read" not in stub


def test_s2_3_file_references_hold_path_last_step_and_content() -> None:
    messages = [
        *aged(*step("a", "one", "read_file", path="/app/a.py"), by=0),
        *step("b", "two", "Read", file_path="/app/b.py"),
        *step("c", "ok", "edit_file", filename="/app/a.py", old="x"),
    ]
    file_references = active_files(messages)
    assert [
        (file_reference.path, file_reference.last_access_step) for file_reference in file_references
    ] == [
        ("/app/b.py", 2),
        ("/app/a.py", 3),
    ]
    assert (
        file_references[1].content_hash
        == "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
    )
    assert active_files(messages, active_steps=0) == [file_references[1]]
    assert active_files(messages, active_steps=1, current_step=4) == [file_references[1]]


def test_s2_3_only_the_newest_copy_of_repeated_content_is_kept() -> None:
    twice = [
        *step("a", FILE, "read_file", path="/app/a.py"),
        *step("b", FILE, "read_file", path="/app/a.py"),
    ]
    assert results([user("go"), *twice], dedupe=True) == [
        "[same content as the newer result b of read_file]",
        FILE,
    ]
    assert reasons([user("go"), *twice], dedupe=True)[0] == "truncated: same as message 4"
    assert results([user("go"), *twice]) == [FILE, FILE]
    old = aged(*twice, by=5, then=())
    assert results(old)[:2] == [PLACEHOLDER.format(6), FILE]


def test_s2_4_a_summary_replaces_the_placeholder() -> None:
    fine = step("a", "ok\n" * 213 + "Exit code 0\n", "bash", command="npm test")
    failed = step(
        "b", "npm error: missing script\n" * 100 + "Exit code 1\n", "bash", command="npm test"
    )
    now = results(aged(*fine, then=tuple(failed)), replace="summary", keep_errors=False)
    assert now[:2] == [
        "[✓ bash: npm test | exit 0 | 214 lines]",
        "[❌ bash: npm test | exit 1 | npm error: missing script | 101 lines]",
    ]
    assert all(len(item) <= 200 and "\n" not in item for item in now[:2])


def test_s2_4_a_single_message_is_summarized() -> None:
    assert summarize_tool_output(result("a", "ok\n" * 3), "bash") == "[✓ bash | 3 lines]"


def test_the_flag_of_a_result_decides_the_status_of_its_summary() -> None:
    def flagged(text: str, is_error: bool, name: str = "c1") -> dict[str, Any]:
        return {
            "type": "tool_result",
            "tool_use_id": name,
            "is_error": is_error,
            "content": text,
        }

    denied, fine = flagged("permission denied\n" * 9, True), flagged("Error: none\n" * 9, False)
    for block, line in (
        (denied, "[❌ bash | permission denied | 9 lines]"),
        (fine, "[✓ bash | 9 lines]"),
    ):
        assert summarize_tool_output({"role": "user", "content": [block]}, "bash") == line
    both = [flagged("ok", False, "c1"), flagged("denied", True, "c2")]
    assert summarize_tool_output({"role": "user", "content": both}) == "[❌ tool | ok | 2 lines]"

    unflagged = {"type": "tool_result", "tool_use_id": "c2", "content": "Error: no berth"}
    for mixed in ([flagged("ok", False), unflagged], [unflagged, flagged("ok", False)]):
        assert "❌" in summarize_tool_output({"role": "user", "content": mixed})

    use = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}}
    session = [
        user("go"),
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [denied]},
        says("It is closed."),
    ]
    shorter = truncate_old_tool_outputs(
        session, current_step=9, replace="summary", keep_errors=False, keep_small=0
    )
    line = "[❌ bash: ls | permission denied | 9 lines]"
    assert shorter[2]["content"][0]["content"] == line


def test_a_message_without_a_result_has_no_summary() -> None:
    with pytest.raises(InputError, match="expected a message with a tool result, found"):
        summarize_tool_output(user("go"))


def test_s2_5_key_info_of_an_output() -> None:
    info = extract_key_info("a.py:1: x\na.py:2: y\nb.py:3: z\n", "grep")
    assert (info.status, info.kind, info.matches, info.lines) == ("success", "search", 3, 3)
    failed = extract_key_info(
        "Traceback (most recent call last):\nKeyError: 'x'\nExit code 1\n", "bash"
    )
    assert (failed.status, failed.exit_code, failed.lines) == ("error", 1, 3)


def test_s2_6_defaults() -> None:
    default = parse("truncate", {}).settings
    assert (default["max_age"], default["max_tokens"]) == (5, 2000)
    assert (default["keep_active_files"], default["replace"], default["dedupe"]) == (
        True,
        "placeholder",
        False,
    )


def test_s2_7_a_long_conversation_stays_bounded() -> None:
    counter = Counter(O200K, FRAMINGS["openai"])
    tokens = []
    messages: list[dict[str, Any]] = [user("go")]
    for number in range(2000):
        messages += step(
            f"c{number}", f"page {number}\n" + "an entry of the log of that day\n" * 300, day=number
        )
        if number % 100 == 99:
            messages = truncate_old_tool_outputs(messages, {"metadata": False}, enabled=True)
            live = [
                message
                for message in messages
                if message["role"] == "tool" and not message["content"].startswith("[content")
            ]
            tokens.append(counter.tokens(transcript(live)))
    assert len(tokens) == 20
    assert max(tokens) < 6 * 2100
    assert max(tokens) - min(tokens) < 100
