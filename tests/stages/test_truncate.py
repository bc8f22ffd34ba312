"""The settings of `truncate` besides age and size: clocks, tools, pins, copies, templates; and its
clips.
"""

import json
from hashlib import sha256
from typing import Any

import pytest
from builders import call, contents, conversation, result, says, step, steps, transcript, user
from conftest import Run
from harness import run

from ctxtrim import tokenizer
from ctxtrim.errors import UsageError
from ctxtrim.stages.truncate.stage import Truncate
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.models import FRAMINGS
from ctxtrim.tokens.tokenizer import Budget

LONG = "a line of the output\n" * 100
PLACEHOLDER = "[content truncated - {} steps ago]"
O200K = tokenizer("o200k_base")


def results(messages: list[dict[str, Any]], **settings: Any) -> list[Any]:
    now = contents(
        run(conversation(messages), [("truncate", settings)], tokenizer="o200k_base").data
    )
    return [now for now, was in zip(now, messages, strict=True) if was["role"] == "tool"]


def aged(*first: dict[str, Any], by: int = 7) -> list[dict[str, Any]]:
    return [user("go"), *first, *steps(by, "short")[1:]]


def turns(number: int) -> list[dict[str, Any]]:
    """Turns of two steps each."""
    made = []
    for position in range(number):
        made += [
            user(f"turn {position}"),
            *step(f"a{position}", LONG),
            *step(f"b{position}", LONG),
            says("done"),
        ]
    return made


def test_the_clock_counts_steps_or_turns() -> None:
    assert results(turns(4), max_age=1) == [
        *[PLACEHOLDER.format(age) for age in range(7, 1, -1)],
        LONG,
        LONG,
    ]
    assert results(turns(4), clock="turns", max_age=1) == [
        *[PLACEHOLDER.format(3)] * 2,
        *[PLACEHOLDER.format(2)] * 2,
        *[LONG] * 4,
    ]


def test_now_is_a_setting_on_either_clock() -> None:
    assert results(turns(2), clock="turns", max_age=1, current_turn=3) == [
        *[PLACEHOLDER.format(2)] * 2,
        *[LONG] * 2,
    ]
    assert results(turns(2), max_age=4, current_step=6) == [PLACEHOLDER.format(5), *[LONG] * 3]
    assert results(turns(2), max_age=4, current_turn=90) == [LONG] * 4  # the other clock


def test_files_in_use_are_those_of_the_current_step() -> None:
    read = [user("go"), *step("r", LONG, "read_file", path="/a.py"), says("done")]
    settings = {"max_age": 1, "active_steps": 5}
    assert results(read, current_step=6, **settings) == [LONG]
    assert results(read, current_step=7, **settings) == [PLACEHOLDER.format(6)]


def test_with_ages_in_turns_a_file_is_active_for_five_steps() -> None:
    def read(after: int) -> Any:
        first = step("r", LONG, "read_file", path="/a.py")
        later = [
            message
            for number in range(after)
            for message in (user("so?"), *step(f"c{number}", "short"))
        ]
        return results([user("go"), *first, *later], clock="turns", max_age=1)[0]

    assert read(5) == LONG
    assert read(6) == PLACEHOLDER.format(6)


def test_a_tool_can_have_its_own_settings() -> None:
    text = "\n".join(f"line {number}" for number in range(900))
    messages = [
        user("go"),
        *step("a", text, "bash"),
        *step("b", text, "Grep"),
        *step("c", text, "fetch"),
    ]
    plain, short, gone = results(
        messages, max_tokens=0, tool=("GREP:max-tokens=50,mode=tail", "fetch:max-age=0")
    )
    assert plain == text
    assert (
        O200K.count(short) <= 50 and short.endswith("line 899") and not short.startswith("line 0")
    )
    assert gone == text  # its age is 0
    later = results(
        [*messages, *step("d", "short")], max_tokens=0, tool=("fetch:max-age=0,replace=stub",)
    )
    assert later[2] == f"[fetch: 900 lines, ≈{O200K.count(text)} tokens - content truncated]"


def test_the_later_of_two_rules_for_a_tool_applies() -> None:
    rules = ("bash:max-tokens=40,max-age=0", "bash:max-tokens=60")
    clip, last = results([user("go"), *step("a", LONG), *step("b", LONG)], tool=rules)
    assert clip == PLACEHOLDER.format(1)
    assert 40 < O200K.count(last) <= 60


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("bash", "expected NAME:key=value"),
        (":mode=head", "expected NAME:key=value"),
        ("bash:mode=middle", "mode: expected one of head, tail, head-tail"),
        ("bash:max-tokens=many", "max-tokens: expected a whole number, found many"),
        ("bash:max-tokens=", "max-tokens: expected a whole number, found none"),
        ("bash:pin=x", "unknown setting pin for one tool"),
    ],
)
def test_an_invalid_tool_rule_is_an_error(ctxtrim: Run, rule: str, error: str) -> None:
    ran = ctxtrim("truncate", "--tool", rule, stdin=conversation(steps(7, LONG)))
    assert (ran.code, ran.out) == (2, b"")
    assert error in ran.err


PINS = ["ring the harbour", "tool:Keep", "id:p"]


@pytest.mark.parametrize("pin", PINS)
def test_a_pinned_exchange_is_never_shortened(pin: str) -> None:
    calls = [*call("p", name="keep")["tool_calls"], *call("q")["tool_calls"]]
    both = {"role": "assistant", "content": "now ring the harbour", "tool_calls": calls}
    messages = aged(both, result("p", LONG * 30), result("q", LONG))
    assert results(messages)[:2] == [PLACEHOLDER.format(7)] * 2
    assert results(messages, pin=[pin])[:2] == [LONG * 30, LONG]
    assert results(messages, pin=["nothing like it", pin])[:2] == [LONG * 30, LONG]


@pytest.mark.parametrize("pin", PINS)
def test_pinned_messages_are_never_dropped(pin: str) -> None:
    first = [{**call("p", name="keep"), "content": "ring the harbour"}, result("p", LONG)]
    messages = aged(*first, by=20)
    messages += [user("and now?")]
    ran = run(conversation(messages), [("trim", {"pin": [pin]})], limit=700)
    left = json.loads(ran.data or b"")["messages"]
    assert left[: 3 if left[0] == messages[0] else 2][-2:] == first
    assert left[-1] == messages[-1]
    assert len(left) < len(messages)
    without = json.loads(run(conversation(messages), [("trim", {})], limit=700).data or b"")[
        "messages"
    ]
    assert first[1] not in without and without[-1] == messages[-1]


def test_a_pinned_message_above_the_budget_is_an_overflow() -> None:
    messages = [*aged(*step("p", LONG), by=3), user("and now?")]
    (row,) = run(conversation(messages), [("trim", {"pin": ["id:p"]})], limit=100).rows
    assert row.overflows
    (finding,) = row.findings
    assert any("pinned: id:p" in line for line in finding.details)


def test_repair_keeps_pinned_messages() -> None:
    messages = [user("go"), result("lost", "ring the harbour"), call("open"), user("so?")]
    assert [message["role"] for message in _repaired(messages)] == ["user", "user"]
    assert _repaired(messages, pin=["ring", "id:open"]) == messages


def _repaired(messages: list[dict[str, Any]], **settings: Any) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = json.loads(
        run(conversation(messages), [("repair", settings)]).data or b""
    )["messages"]
    return values


@pytest.mark.parametrize("stage", ["truncate", "trim", "repair"])
@pytest.mark.parametrize("pin", ["(", "", "tool:", "id:"])
def test_an_invalid_pin_is_an_error(ctxtrim: Run, stage: str, pin: str) -> None:
    ran = ctxtrim("run", "-s", stage, "--pin", pin, stdin=conversation(steps(1, "x")))
    assert (ran.code, ran.out) == (2, b"")
    assert "--pin" in ran.err


def test_results_of_kept_tools_do_not_age_but_have_limits() -> None:
    messages = aged(
        *step("a", LONG, "mcp__tides"), *step("b", LONG * 30, "mcp__log"), *step("c", LONG, "tides")
    )
    kept, clip, gone = results(messages, keep_tools=["mcp__.*"])[:3]
    assert (kept, gone) == (LONG, PLACEHOLDER.format(7))
    assert O200K.count(clip) <= 2000 and clip.startswith("a line of the output\n")


def test_the_name_of_a_kept_tool_matches_as_a_whole() -> None:
    messages = aged(
        *step("a", LONG, "tide"), *step("b", LONG, "tides"), *step("c", LONG, "my_tide")
    )
    gone = [PLACEHOLDER.format(age) for age in (8, 7)]
    assert results(messages, keep_tools=["tide"])[:3] == [LONG, *gone]


def test_a_replacement_with_as_many_tokens_is_not_made() -> None:
    settings = {"placeholder": "gone for now", "keep_small": 0}
    same, longer = "one two three", "one two three four"
    assert results(aged(*step("a", same), *step("b", longer)), **settings)[:2] == [
        same,
        "gone for now",
    ]


def test_only_the_newest_of_equal_results_stays_in_full() -> None:
    messages = [
        user("go"),
        *step("a", LONG),
        *step("b", LONG),
        *step("c", LONG, "other"),
        *step("d", LONG),
    ]
    pointer = "[same content as the newer result d of bash]"
    assert results(messages, dedupe=True) == [pointer, pointer, LONG, LONG]
    assert results(messages, dedupe=True, pin=["id:a"]) == [LONG, pointer, LONG, LONG]


SHORTENED_ALIKE = {
    "lines": ["a line\n" * 300 + end + "a line\n" * 300 for end in ("why\n", "who\n")],
    "json": [json.dumps(["x" * 40] * 200 + [end] + ["x" * 40] * 200) for end in ("y", "z")],
    "one line": ["word " * 600 + end + "word " * 600 for end in ("y", "z")],
}


@pytest.mark.parametrize("kind", SHORTENED_ALIKE)
@pytest.mark.parametrize("limit", [{"max_tokens": 60}, {"max_tokens": 0, "max_chars": 90}])
def test_different_results_with_equal_clips_are_not_duplicates(
    kind: str, limit: dict[str, int]
) -> None:
    first, second = SHORTENED_ALIKE[kind]
    messages = [user("go"), *step("a", first), *step("b", second), *step("c", second)]
    settings = {"dedupe": True, "mode": "head"} | limit
    once = run(conversation(messages), [("truncate", settings)]).data
    assert run(once or b"", [("truncate", settings)]).data == once
    of_first, of_second, of_third = contents(once)[2::2]
    assert "truncated" in of_first
    assert of_second == "[same content as the newer result c of bash]"
    assert "truncated" in of_third


KEY_VALUES = {
    "{age}": "7",
    "{N}": "7",
    "{tokens}": f"≈{O200K.count(LONG)}",
    "{lines}": "100",
    "{tool}": "read_file",
    "{path}": "/app/a.py",
    "{id}": "call_7",
    "{sha256}": sha256(LONG.encode()).hexdigest(),
}


@pytest.mark.parametrize("key", KEY_VALUES)
def test_every_key_of_a_template_is_filled_in(key: str) -> None:
    value = KEY_VALUES[key]
    messages = aged(*step("call_7", LONG, "read_file", path="/app/a.py"))
    assert results(messages, placeholder=f"<gone: {key}>")[0] == f"<gone: {value}>"
    head = results(messages, replace="head", pointer=f"<rest: {key}>", head_lines=1)[0]
    assert head == f"a line of the output\n<rest: {value}>"


def test_an_unknown_template_key_is_an_error(ctxtrim: Run) -> None:
    ran = ctxtrim("truncate", "--placeholder", "{size}", stdin=conversation(steps(7, LONG)))
    assert (ran.code, ran.out) == (2, b"")
    assert "unknown key {size}; expected {age}, {N}, {tokens}" in ran.err


def test_a_placeholder_with_arguments_of_a_call_stays_one_line() -> None:
    messages = aged(*step("a", LONG, "read_file", path="/app/" + "x" * 900))
    stub = results(messages, replace="stub")[0]
    assert stub.startswith("[File: /app/xxx") and "…" in stub and len(stub) < 400
    assert (
        results([*messages[:2], result("a", stub), *messages[3:]], replace="stub", keep_small=0)[0]
        == stub
    )


def test_endless_first_lines_are_clipped() -> None:
    text = "x" * 1000 + "\nshort\n" + LONG
    head = results(aged(*step("call_7", text)), replace="head")[0].split("\n")
    assert head[0] == "x" * 400 + " ... [truncated 600 characters] ..."
    assert head[1:] == [
        "short",
        "a line of the output",
        '[TRUNCATED — full output in get_task_trace(traceId="call_7")]',
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x" * 401, "x" * 401),
        ("x" * 434, "x" * 434),  # its marker has 34 characters
        ("x" * 435, "x" * 400 + " ... [truncated 35 characters] ..."),
        ("x" * 399 + "👨‍👩‍👧" * 20, "x" * 399 + " ... [truncated 100 characters] ..."),
    ],
)
def test_a_first_line_loses_whole_characters_and_more_than_its_marker(
    line: str, expected: str
) -> None:
    messages = aged(*step("call_7", f"{line}\n{LONG}"))
    assert results(messages, replace="head")[0].split("\n")[0] == expected


def test_a_path_in_a_placeholder_is_cut_between_characters() -> None:
    messages = aged(*step("a", LONG, "read_file", path="/" + "x" * 198 + "👨‍👩‍👧" * 9))
    assert results(messages, replace="stub")[0].startswith("[File: /" + "x" * 198 + "… (")


def test_json_stays_json() -> None:
    rows = [
        {"name": f"harbour {number}", "log": "high water " * 200, "open": True}
        for number in range(200)
    ]
    text = json.dumps({"rows": rows, "next": None})
    clip = results([user("go"), *step("a", text)], max_tokens=300)[0]
    assert O200K.count(clip) <= 300
    value = json.loads(clip)
    assert set(value) == {"rows", "next"}
    assert value["rows"][0]["name"] == "harbour 0"


@pytest.mark.parametrize("mode", ["head", "tail", "head-tail"])
@pytest.mark.parametrize("seen", ["👩‍🚀", "🇳🇴", "e\u0301", "한", "日"])
def test_no_clip_cuts_a_character_in_two(seen: str, mode: str) -> None:
    text = seen * 3000
    for limit in (40, 41, 43):
        clip = results([user("go"), *step("a", text)], max_tokens=limit, mode=mode)[0]
        shown = [part for part in clip.replace("\n", "").split("...") if "truncated" not in part]
        assert any(shown)
        assert all(part == seen * (len(part) // len(seen)) for part in shown)


def test_several_texts_of_a_result_are_clipped_together_and_images_are_kept() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    parts = [{"type": "text", "text": LONG}, image, {"type": "text", "text": LONG}]
    assert results(aged(*step("a", parts)))[0] == [
        {"type": "text", "text": PLACEHOLDER.format(7)},
        image,
    ]


def test_a_result_of_images_alone_is_kept() -> None:
    image = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
    assert results(aged(*step("a", image)), keep_small=0)[0] == image


def test_arguments_of_calls_are_never_cut() -> None:
    messages = aged(*step("a", LONG, "write_file", path="/a.py", contents="word " * 5000))
    now = json.loads(run(conversation(messages), [("truncate", {})]).data or b"")["messages"]
    assert now[1] == messages[1]


def test_results_that_would_not_shrink_are_kept() -> None:
    text = "tiny"
    assert (
        results(steps(7, text), keep_small=0, placeholder="a placeholder of many more tokens")[0]
        == text
    )


def test_many_small_blocks_do_not_grow_by_being_joined() -> None:
    blocks = [{"type": "text", "text": "a"}] * 1100
    assert results([user("go"), *step("a", blocks)])[0] == blocks


def test_a_placeholder_that_costs_more_when_escaped_is_not_written() -> None:
    text = "a b c d e f g h i j k l m n o p q r s t u v w " * 10
    messages = [
        user("go"),
        call("a", "b"),
        result("a", text),
        result("b", "short"),
        *steps(1, "short")[1:],
    ]
    assert results(messages, max_age=0, placeholder="내용이 오래되어 잘렸습니다 " * 12)[0] == text


@pytest.mark.parametrize("limit", [1, 5, 10])
def test_a_limit_below_the_marker_size_keeps_the_head_without_a_marker(limit: int) -> None:
    counter = Counter(O200K, FRAMINGS["openai"])
    stage = Truncate(counter, Budget(128_000, 0), max_tokens=limit)
    text = stage(transcript([user("go"), *step("a", LONG)])).transcript.messages[2].parts[0].text
    assert LONG.startswith(text)
    assert counter.text(text) <= limit


def test_the_settings_of_the_stage_are_those_of_the_api() -> None:
    from ctxtrim import truncate_old_tool_outputs

    now = truncate_old_tool_outputs(
        steps(7, LONG), {"replace": "stub", "metadata": False}, enabled=True
    )
    assert (
        now[2]["content"] == f"[bash: 100 lines, ≈{O200K.count(LONG)} tokens - content truncated]"
    )
    with pytest.raises(UsageError, match="did you mean max_age"):
        truncate_old_tool_outputs([], {"max_agee": 1}, enabled=True)


@pytest.mark.parametrize("number", [200, 1000])
def test_a_second_run_leaves_a_clipped_line_with_lone_surrogates_unchanged(number: int) -> None:
    limits = ("truncate", {"max_lines": 1, "max_tokens": 100})
    once = run(
        conversation([user("go"), *step("c", "x\udc00" * number)]), [limits], tokenizer="o200k_base"
    ).data
    assert once is not None
    assert run(once, [limits], tokenizer="o200k_base").data == once


def test_a_clip_without_the_range_that_kept_it_stays_if_the_placeholder_is_larger() -> None:
    filler = "a line of the output\n"
    text = f"{filler * 10}ERROR: it failed in the middle\n{filler * 30}"
    talk = [user("go"), *step("a", text), *step("b", "x"), user('Why "it failed in the middle"?')]
    settings = {"max_age": 0, "max_tokens": 20, "keep_small": 0}
    assert results(talk, **settings)[0] == PLACEHOLDER.format(1)
    assert "[truncated " in results(talk, **settings, placeholder="word " * 400)[0]


def test_a_clip_of_an_earlier_stage_is_small_by_its_own_tokens() -> None:
    talk = [user("go"), *step("a", "alpha line\n" * 300), *step("b", "x")]
    clips = ("truncate", {"max_age": 9, "max_tokens": 50, "keep_small": 0})
    ages = ("truncate", {"max_age": 0, "keep_small": 100})
    clipped = run(conversation(talk), [clips], tokenizer="o200k_base")
    assert run(conversation(talk), [clips, ages], tokenizer="o200k_base").data == clipped.data


def test_a_clip_of_an_old_result_is_not_replaced_in_a_second_run() -> None:
    """The first lines of a clip may be smaller than the clip, those of its result are not."""
    talk = [user("go"), *step("a", "ok\nok\n" + "0 errors" * 60)]
    settings = {"replace": "head", "current_step": 20, "max_tokens": 32, "keep_small": 0}
    once = run(conversation(talk), [("truncate", settings)])
    assert b"full output in get_task_trace" in once.data
    assert run(once.data, [("truncate", settings)]).data == once.data


def test_a_second_run_leaves_a_short_clip_of_parallel_calls() -> None:
    # results of parallel calls are sent escaped, so a line break costs more than in the text alone
    uses = [{"type": "tool_use", "id": name, "name": "bash", "input": {}} for name in ("c1", "c2")]
    texts = {"c1": "ok", "c2": "\x80\x80\U0001007a"}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": uses},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": name, "content": text}
                for name, text in texts.items()
            ],
        },
    ]
    limits = {"max_tokens": 32, "max_bytes": 3, "max_chars": 10}
    once = run(conversation(messages), [("truncate", limits)], tokenizer="claude-v3-bound").data
    assert once is not None and b"truncated" in once
    again = run(once, [("truncate", limits)], tokenizer="claude-v3-bound").data
    assert again == once


@pytest.mark.parametrize("option", ["placeholder", "pointer"])
def test_a_text_that_is_not_utf_8_is_never_written(ctxtrim: Run, option: str) -> None:
    """The transcript would have half of a surrogate pair, which most programs refuse."""
    spec = "truncate:" + json.dumps({option: "[gone \ud800]"})
    for words, place in (
        (("truncate", f"--{option}", "[gone \udcff]"), f"--{option} [gone \\udcff]"),
        (("run", "-s", spec), f"{option} [gone \\ud800]"),
    ):
        ran = ctxtrim(*words, stdin=conversation(steps(7, LONG)))
        assert (ran.code, ran.out) == (2, b"")
        assert f"{place}: expected text in UTF-8" in ran.err


@pytest.mark.parametrize("pointer", ["", "  ", "{id}", "{tool} {lines}"])
def test_a_pointer_needs_words(ctxtrim: Run, pointer: str) -> None:
    """Without them, the last line of any result looks like the pointer of an earlier run."""
    ran = ctxtrim("truncate", "--replace", "head", f"--pointer={pointer}", stdin=b"{}\n")
    assert ran.code == 2
    assert "words, as in [" in ran.err
