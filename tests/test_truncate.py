"""Tool output truncation by age and size: S0 of the requirements, row by row."""

import json
from typing import Any

import pytest
from building import call, contents, conversation, result, says, step, steps, user
from running import run

LONG = "a line of the output\n" * 100
GONE = "[content truncated - {} steps ago]"


def truncated(messages: list[dict[str, Any]], **settings: Any) -> list[Any]:
    return contents(run(conversation(messages), [("truncate", settings)], tokenizer="o200k_base").data)


def results(messages: list[dict[str, Any]], **settings: Any) -> list[Any]:
    return [now for now, was in zip(truncated(messages, **settings), messages, strict=True) if was["role"] == "tool"]


def test_s0_2_content_goes_and_structure_stays() -> None:
    messages = steps(8, LONG)
    messages[2]["extra"] = {"b": 1.10, "a": [1e5]}
    data = run(conversation(messages), [("truncate", {})]).data or b""
    after = json.loads(data)["messages"]
    assert [{key: value for key, value in one.items() if key != "content"} for one in after] == [
        {key: value for key, value in one.items() if key != "content"} for one in messages
    ]
    assert b'"extra": {"b": 1.1, "a": [100000.0]}' in data


def test_s0_3_parallel_calls_are_one_step_and_answers_without_calls_are_none() -> None:
    messages = [user("go"), call("a", "b"), result("a", LONG), result("b", LONG), says("so"), says("well")]
    messages += [message for place in range(5) for message in step(f"s{place}", "short")]
    assert results(messages)[:2] == [LONG, LONG]  # age 5 of 6 steps
    messages += step("last", "short")
    assert results(messages)[:2] == [GONE.format(6)] * 2


def test_s0_4_of_seven_steps_only_the_first_goes() -> None:
    assert results(steps(7, LONG)) == [GONE.format(6), *[LONG] * 6]


def test_s0_4_of_six_steps_none_goes() -> None:
    assert results(steps(6, LONG)) == [LONG] * 6


@pytest.mark.parametrize("age", [0, 7])
def test_s0_5_an_output_of_any_age_is_clipped_head_and_tail_to_the_limit(age: int) -> None:
    from ctxtrim.tokenizers import tokenizer

    text = "Error: it broke\n" + "\n".join(f"line {number} of a long log" for number in range(3000)) + "\nthe end"
    messages = [user("go"), *step("first", text), *steps(age, "short")[1:]]
    clip = results(messages)[0]
    assert tokenizer("o200k_base").count(clip) <= 2000
    assert tokenizer("o200k_base").count(clip) > 1900
    assert clip.startswith("Error: it broke\nline 0 of a long log\n")
    assert clip.endswith("line 2999 of a long log\nthe end")
    head, marker, tail = clip.partition("\n... [truncated ")[0], clip.partition("... [truncated ")[2], clip
    gone = int(marker.split(" ")[0])
    assert marker.split("]")[0] == f"{gone} lines"
    kept = [*head.split("\n"), *tail.partition("] ...\n")[2].split("\n")]
    assert len(kept) + gone == len(text.split("\n"))


def test_s0_5_the_clip_of_an_error_keeps_the_line_that_shows_it() -> None:
    lines = ["x" * 2000, "y" * 2000, "ValueError: bad input", *["detail " * 20] * 200]
    clip = results([user("go"), *step("a", "\n".join(lines))], max_tokens=100)[0]
    assert "ValueError: bad input" in clip


def test_s0_6_the_placeholder_is_a_template() -> None:
    messages = steps(7, LONG)
    assert results(messages, placeholder="<gone {age}>")[0] == "<gone 6>"
    assert results(messages, placeholder="<gone {N}>")[0] == "<gone 6>"


def test_s0_7_partial_settings_merge_with_the_defaults() -> None:
    from ctxtrim.specs import parse

    said, default = parse("truncate:max-age=2", {"max_tokens": 77}).settings, parse("truncate", {}).settings
    assert said == default | {"max_age": 2, "max_tokens": 77}
    assert default["max_age"] == 5 and default["max_tokens"] == 2000 and default["keep_small"] == 100
    assert default["placeholder"] == "[content truncated - {age} steps ago]"


def test_s0_8_metadata_tells_the_original_length_and_the_age_where_it_is_wanted() -> None:
    data = conversation(steps(7, LONG))
    first = json.loads(run(data, [("truncate", {"metadata": True})]).data or b"")["messages"][2]
    assert first["_originalLength"] == len(LONG)
    assert first["_truncatedAt"] == 6
    assert b"_originalLength" not in (run(data, [("truncate", {})]).data or b"")


def test_s0_9_only_tool_results_are_touched() -> None:
    messages = [user(LONG), says(LONG), *steps(7, "short"), user(LONG)]
    assert truncated(messages) == [message["content"] for message in messages]


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
    assert results([user("go"), *step("e", text), *steps(7, "short")[1:]])[0] == text
    assert results([user("go"), *step("e", text), *steps(7, "short")[1:]], keep_errors=False)[0] == GONE.format(7)


@pytest.mark.parametrize(
    "text", ["0 errors\n" + LONG, LONG + "no error: all is well", "Exit code 0\nError: handled\n" + LONG]
)
def test_s0_11_a_success_that_speaks_of_errors_is_none(text: str) -> None:
    assert results([user("go"), *step("e", text), *steps(7, "short")[1:]])[0] == GONE.format(7)


def test_s0_11_the_formats_own_flag_decides_first() -> None:
    block = {"type": "tool_result", "tool_use_id": "t1", "content": LONG, "is_error": True}
    lines = [
        {
            "type": "assistant",
            "message": {
                "id": "m1",
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}],
            },
        },
        {"type": "user", "message": {"role": "user", "content": [block]}},
    ]
    for number in range(2, 9):
        lines.append(
            {
                "type": "assistant",
                "message": {
                    "id": f"m{number}",
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {}}],
                },
            }
        )
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert run(data, [("truncate", {})]).data == data
    block["is_error"] = False
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert GONE.format(7).encode() in (run(data, [("truncate", {})]).data or b"")


def test_s0_12_under_a_hundred_tokens_is_kept_and_a_hundred_goes() -> None:
    small, large = "word " * 98 + "word", "word " * 99 + "word"
    assert results(steps(7, small))[0] == small
    assert results(steps(7, large))[0] == GONE.format(6)


def test_s0_14_a_second_run_changes_nothing_and_placeholders_do_not_age() -> None:
    settings = {"keep_small": 0, "max_age": 2}
    once = run(conversation(steps(7, LONG)), [("truncate", settings)]).data or b""
    assert run(once, [("truncate", settings)]).data == once
    later = json.loads(once)["messages"] + steps(3, LONG)[1:]
    twice = contents(run(conversation(later), [("truncate", settings)]).data)
    assert twice[2] == GONE.format(6)


def test_several_texts_of_one_result_are_clipped_as_one_and_images_stay() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    blocks = [{"type": "text", "text": LONG}, image, {"type": "text", "text": LONG}]
    now = results([user("go"), call("a"), result("a", blocks), *steps(7, "short")[1:]])[0]
    assert now == [{"type": "text", "text": GONE.format(7)}, image]


def test_what_would_not_get_smaller_stays() -> None:
    text = "tiny"
    assert results(steps(7, text), keep_small=0, placeholder="a placeholder of many more tokens")[0] == text


@pytest.mark.parametrize("end", ["exit code: 1\n" + "f3a9" * 700 + "\nbye", "exit code: 1", "exit code: 1\nbye\n\n"])
def test_s0_11_an_old_error_is_kept_even_where_it_is_too_long(end: str) -> None:
    text = "x exit code: 1 is bad\n" + "line of the log\n" * 3000 + end
    messages = [user("go"), *step("e", text), *steps(8, "short")[1:]]
    clip = results(messages)[0]
    assert "\nexit code: 1" in clip
    assert clip.count("... [truncated ") in (1, 2)
    messages[2]["content"] = clip
    assert results(messages)[0] == clip


def test_many_small_blocks_do_not_grow_by_being_joined() -> None:
    blocks = [{"type": "text", "text": "a"}] * 1100
    assert results([user("go"), *step("a", blocks)])[0] == blocks


def test_a_placeholder_that_costs_more_once_it_is_escaped_is_not_set() -> None:
    text = "a b c d e f g h i j k l m n o p q r s t u v w " * 10
    messages = [user("go"), call("a", "b"), result("a", text), result("b", "short"), *steps(1, "short")[1:]]
    assert results(messages, max_age=0, placeholder="내용이 오래되어 잘렸습니다 " * 12)[0] == text


@pytest.mark.parametrize("limit", [1, 5, 10])
def test_a_limit_below_the_marker_leaves_a_bare_head(limit: int) -> None:
    from building import transcript

    from ctxtrim.counter import Counter
    from ctxtrim.models import FRAMINGS
    from ctxtrim.stages.truncate import Truncate
    from ctxtrim.tokenizers import tokenizer
    from ctxtrim.tokens import Budget

    counter = Counter(tokenizer("o200k_base"), FRAMINGS["openai"])
    stage = Truncate(counter, Budget(128_000, 0), max_tokens=limit)
    text = stage(transcript([user("go"), *step("a", LONG)])).transcript.messages[2].parts[0].text
    assert LONG.startswith(text)
    assert counter.text(text) <= limit
