"""Recorded usage: the factor of `--calibrate`, and the counts of `--tokenizer usage`."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from builders import conversation, says, step, user
from conftest import FIXTURES, Run
from harness import Ran, read, run
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtrim.errors import UsageError
from ctxtrim.metering import Metering
from ctxtrim.metering.calibration import LEAST, WINDOW, recorded_answers
from ctxtrim.model import Message, Part, Source, Span, Transcript
from ctxtrim.model.request import Usage
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.models import assumed_model, framing_of
from ctxtrim.tokens.tokenizer import Scaled, Tokenizer

MEASURE = {"tokenizer": "chars4"}  # a text of 4 n characters has n tokens, with any content
FRAME = 4  # tokens around a message without a named model
HIDDEN = 300  # tokens that were sent and are in no file below
COUNT = [("count", {})]


def text(tokens: int) -> str:
    """A text of that many tokens."""
    return "abc " * tokens


def talk(sizes: list[int], factor: float = 1.5, **usage: Any) -> list[dict[str, Any]]:
    """Pairs of a question and an answer of these sizes in tokens; the recorded usage is `factor`
    times the count.
    """
    messages: list[dict[str, Any]] = []
    prompt: float = HIDDEN
    for size in sizes:
        question, answer = user(text(size)), says(text(size))
        prompt += FRAME + factor * size
        answer["usage"] = {
            "prompt_tokens": round(prompt),
            "completion_tokens": round(factor * size),
        } | usage
        messages += [question, answer]
        prompt += FRAME + factor * size
    return messages


def as_session(messages: list[dict[str, Any]], model: object = "claude-opus-4-5") -> bytes:
    """The same as Claude Code writes it: a line a message, three counters of input, the first of an
    answer's tokens.
    """
    lines = []
    for index, message in enumerate(messages):
        first_message = {"role": message["role"], "content": message["content"]}
        if "usage" in message:
            prompt = message["usage"]["prompt_tokens"]
            usage = {
                "input_tokens": 1,
                "cache_creation_input_tokens": 99,
                "cache_read_input_tokens": prompt - 100,
            }
            first_message |= {
                "id": f"m{index}",
                "model": model,
                "usage": usage | {"output_tokens": 1},
            }
        event = {
            "type": message["role"],
            "uuid": f"u{index}",
            "message": first_message,
            "sessionId": "s",
        }
        lines.append(
            event | {"parentUuid": f"u{index - 1}" if index else None} | message.get("event", {})
        )
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def notes(ran: Ran) -> dict[str, str]:
    """The notes about recorded usage, by their codes."""
    return {
        finding.code: finding.message
        for row in ran.rows
        for finding in row.findings
        if finding.code != "unknown-model"
    }


EVEN = [500] * 12


def test_texts_are_multiplied_by_the_factor_and_framings_are_not() -> None:
    before = run(conversation(talk(EVEN)), COUNT, **MEASURE).rows[0]
    after = run(conversation(talk(EVEN)), COUNT, **MEASURE, calibrates=True).rows[0]
    assert before.count.tokens == 3 + 24 * (FRAME + 500)
    assert after.count.tokens == 3 + 24 * (FRAME + 750)
    assert (before.tokenizer, after.tokenizer) == ("chars4", "chars4 × 1.500")
    assert after.count.exactness == "estimated"


def test_a_note_states_factor_windows_and_missing_content() -> None:
    ran = run(conversation(talk(EVEN)), COUNT, **MEASURE, calibrates=True)
    (note,) = ran.rows[0].findings
    assert note.code == "calibrated"
    assert note.severity == "info"
    assert "1.500 times" in note.message
    # of 2 questions and 2 answers; the first two answers end none
    assert "10 windows" in note.message
    # 250: the first question, before anything was learnt; 3: priming
    assert note.tokens == HIDDEN + 250 - 3
    assert f"{note.tokens} tokens were sent that the file does not contain" in note.message


def test_a_claude_code_session_gives_the_same_factor() -> None:
    plain = run(as_session(talk(EVEN)), COUNT, tokenizer="chars4").rows[0]
    ran = run(as_session(talk(EVEN)), COUNT, tokenizer="chars4", calibrates=True)
    texts = sum(plain.count.by_role.values())
    # a message of Claude has a framing of 3 tokens; the texts account for the rest of the
    # recorded tokens
    factor = -(-1000 * (4 * (FRAME + 750) - 4 * 3) // 2000) / 1000
    assert ran.rows[0].tokenizer == f"chars4 × {factor}"
    assert ran.rows[0].count.tokens == 4 + 24 * 3 + texts * factor


def test_a_recorded_model_that_is_no_name_is_left_out() -> None:
    data = as_session(talk(EVEN), {"id": "claude-opus-4-5"})
    row = run(data, COUNT, **MEASURE, calibrates=True).rows[0]
    assert row.model is None
    assert "unexpected" not in str(row.findings)
    assert (
        row.count.tokens
        == run(as_session(talk(EVEN), ""), COUNT, calibrates=True, **MEASURE).rows[0].count.tokens
    )


def test_tokens_around_arguments_are_not_multiplied() -> None:
    """A call to Claude costs tokens for each argument, with any content."""
    arguments = json.dumps({f"argument_{position}": "abcd" for position in range(100)})
    messages = [user("go")]
    for position in range(20):
        called, answered = step(f"c{position}", text(200))
        called["tool_calls"][0]["function"]["arguments"] = arguments
        messages += [called | {"usage": {"prompt_tokens": 100 + 2500 * position}}, answered]
    (transcript,) = read(conversation(messages))[0].transcripts
    counter = (
        Metering(tokenizer, "claude-opus-4-5", "chars4", calibrates=True).meter(transcript).counter
    )
    assert isinstance(counter.tokenizer, Scaled)
    costs = [cost.total for cost in counter.costs(transcript.messages)]
    for first in range(1, 35, 2):
        assert sum(costs[first : first + 4]) >= 5000


def test_the_factor_is_the_maximum_over_all_windows() -> None:
    low, high = talk([500] * 8, 1.1), talk([500] * 4, 1.9)
    for message in high:
        if "usage" in message:
            message["usage"]["prompt_tokens"] += low[-1]["usage"]["prompt_tokens"] + 554 - HIDDEN
    ran = run(conversation(low + high), COUNT, **MEASURE, calibrates=True)
    assert "1.900 times" in notes(ran)["calibrated"]


@pytest.mark.parametrize("pairs", [1, 2, 3, LEAST + 1])
def test_few_windows_give_no_factor(pairs: int) -> None:
    data = conversation(talk([500] * pairs))
    ran = run(data, COUNT, **MEASURE, calibrates=True)
    assert ran.rows[0].count == run(data, COUNT, **MEASURE).rows[0].count
    windows = max(0, pairs - 2)
    assert (
        f"{windows} window{'' if windows == 1 else 's'} of 2,000 tokens"
        in notes(ran)["not-calibrated"]
    )
    assert f"at least {LEAST} are needed" in notes(ran)["not-calibrated"]
    assert ran.rows[0].findings[0].severity == "warning"


def test_a_window_has_its_minimum_length() -> None:
    assert WINDOW == 2000
    ran = run(conversation(talk([1999 // 12] * 6)), COUNT, **MEASURE, calibrates=True)
    assert "0 windows" in notes(ran)["not-calibrated"]


def grown(messages: list[dict[str, Any]], by: int, at: int) -> list[dict[str, Any]]:
    """The recorded prompts from a position on, raised."""
    for message in messages[at:]:
        if "usage" in message:
            message["usage"]["prompt_tokens"] += by
    return messages


PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}


def with_picture() -> list[dict[str, Any]]:
    """The share of the image is unknown."""
    messages = grown(talk([500] * 40, 1.1), 900, 31)
    messages[30]["content"] = [{"type": "text", "text": messages[30]["content"]}, PICTURE]
    return messages


def sent_beside() -> list[dict[str, Any]]:
    """More tokens at once than the window has bytes."""
    return grown(talk([500] * 40, 1.1), 9000, 31)


SHORT = (
    "[content truncated - 6 steps ago]",
    "a\n... [truncated 700 characters] ...\nz",
    "[Old tool result content cleared]",
)


def abridged(text: str) -> list[dict[str, Any]]:
    """The request had more content than the file has now."""
    messages = grown(talk([500] * 40, 1.1), 900, 31)
    messages[30:30] = step("c", text)
    return messages


@pytest.mark.parametrize("messages", [with_picture(), sent_beside(), *map(abridged, SHORT)])
def test_windows_that_text_does_not_explain_are_ignored(messages: list[dict[str, Any]]) -> None:
    ran = run(conversation(messages, model="gpt-4o"), COUNT, **MEASURE, calibrates=True)
    assert "1.100 times" in notes(ran)["calibrated"]


def test_no_window_spans_a_shorter_prompt() -> None:
    messages = talk([500] * 24)
    # every window across this position needs less; its neighbours need as much as before
    grown(messages, -3000, 25)
    ran = run(conversation(messages), COUNT, **MEASURE, calibrates=True)
    assert "1.500 times, the largest factor of 20 windows" in notes(ran)["calibrated"]


def test_no_window_spans_a_change_of_models() -> None:
    messages = grown(talk([500] * 24), 700, 25)  # the other counts the same texts otherwise
    data = as_session(messages[:24], "claude-haiku-4-5") + as_session(messages[24:])
    lines = [json.loads(line) for line in data.splitlines()]
    for position, line in enumerate(lines):
        line |= {"uuid": f"u{position}", "parentUuid": f"u{position - 1}" if position else None}
        if "id" in line["message"]:
            line["message"]["id"] = f"m{position}"
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    ran = run(data, COUNT, tokenizer="chars4", calibrates=True)
    assert "1.502 times, the largest factor of 20 windows" in notes(ran)["calibrated"]


@pytest.mark.parametrize(
    ("model", "exactness"),
    [("gpt-4o", "exact"), ("gpt-5", "bounded"), ("gemini-2.5-pro", "estimated")],
)
def test_a_factor_below_1_lowers_neither_a_number_nor_its_label(model: str, exactness: str) -> None:
    data = conversation(talk([1000] * 9, 0.5), model=model)
    before, after = (
        run(data, COUNT, tokenizer=None).rows[0],
        run(data, COUNT, tokenizer=None, calibrates=True).rows[0],
    )
    assert before.count == after.count
    assert after.count.exactness == exactness
    assert "counts are unchanged" in after.findings[-1].message


def test_a_calibrated_estimate_gets_the_safety_margin() -> None:
    data = conversation(talk(EVEN), model="gpt-4o")
    budgets = [
        run(data, COUNT, tokenizer=None, limit=9000, safety=1.5, calibrates=calibrates)
        .rows[0]
        .budget.available
        for calibrates in (False, True)
    ]
    assert budgets == [9000, 6000]


def test_usage_of_another_model_is_ignored() -> None:
    data = as_session(talk(EVEN), "claude-opus-4-5")
    alike = run(data, COUNT, tokenizer="chars4", model="claude-sonnet-4-5", calibrates=True)
    assert "calibrated" in notes(alike)
    other = run(data, COUNT, tokenizer="chars4", model="claude-opus-4-7", calibrates=True)
    assert notes(other) == {
        "not-calibrated": "not calibrated: all recorded usage is from models that count differently"
    }


OTHER = "all recorded usage is from models that count differently"


@pytest.mark.parametrize(
    ("recorded", "named", "is_alike"),
    [
        ("gpt-4o", "gpt-4.1", True),
        ("gpt-4o", "claude-sonnet-4-5", False),
        ("qwen-plus", "claude-sonnet-4-5", False),
        ("qwen-plus", "gemini-2.5-pro", False),
        ("qwen-plus", "qwen-max", True),
        ("gemini-2.5-pro", "gemini-2.5-flash", True),
        ("deepseek-chat", "grok-4", False),
        ("our-deployment", "gpt-4o", True),
    ],
)
def test_usage_without_a_model_is_of_the_recorded_one(
    recorded: str, named: str, is_alike: bool
) -> None:
    data = conversation(talk(EVEN), model=recorded)
    for options in ({"tokenizer": "chars4", "calibrates": True}, {"tokenizer": "usage"}):
        ran = notes(run(data, COUNT, **options, model=named))
        code = "calibrated" if "calibrates" in options else "anchored"
        assert (code in ran) is is_alike
        assert (OTHER in ran.get(f"not-{code}", "")) is not is_alike


def test_usage_of_a_whole_conversation_is_ignored() -> None:
    for envelope in ({}, {"usage": {"prompt_tokens": 90_000}}):
        data = conversation([user(text(900)), says(text(900))], **envelope)
        ran = run(data, COUNT, **MEASURE, calibrates=True)
        assert notes(ran) == {"not-calibrated": "not calibrated: no answer has recorded usage"}


def test_usage_of_a_simulated_user_is_ignored() -> None:
    messages = talk(EVEN)
    for question in messages[::2]:
        question["usage"] = {"prompt_tokens": 7, "completion_tokens": 500}
    messages.append(user("bye") | {"usage": {"prompt_tokens": 9, "completion_tokens": 1}})
    ran = run(conversation(messages), COUNT, **MEASURE, calibrates=True)
    assert "1.500 times, the largest factor of 10 windows" in notes(ran)["calibrated"]
    assert (
        "up to message 23"
        in notes(run(conversation(messages), COUNT, tokenizer="usage"))["anchored"]
    )


def test_usage_before_a_summary_is_ignored() -> None:
    messages = talk([500] * 3)
    summary = user("So far: nothing.") | {"event": {"isCompactSummary": True}}
    ran = run(as_session([*messages, summary]), COUNT, tokenizer="usage", calibrates=True)
    assert "older than the last summary" in notes(ran)["not-calibrated"]
    assert "older than the last summary" in notes(ran)["not-anchored"]
    ran = run(as_session([summary, *messages]), COUNT, tokenizer="usage")
    assert "anchored" in notes(ran)


@pytest.mark.parametrize(("lines", "newer"), [((9, 4, 10, 11), [3]), ((0, 0, 0, 0), [1, 3])])
def test_usage_of_messages_kept_by_a_compaction_is_ignored(
    lines: tuple[int, ...], newer: list[int]
) -> None:
    """If every message has a separate line, the line decides which message is older; otherwise the
    order decides.
    """
    spoken = (("user", True), ("assistant", False), ("user", False), ("assistant", False))
    messages = tuple(
        Message(
            role, (Part("text", "x"),), is_summary=is_summary, index=position, spans=(Span(line),)
        )
        for position, ((role, is_summary), line) in enumerate(zip(spoken, lines, strict=True))
    )
    transcript = Transcript(
        messages, Source((), messages), usages=(Usage(90_000, 1, 1), Usage(200, 1, 3))
    )
    assert [
        answer.position for answer in recorded_answers(transcript, lambda model: True).answers
    ] == newer
    turned = replace(
        transcript,
        messages=messages[1:] + messages[:1],
        usages=(Usage(90_000, 1, 0), Usage(200, 1, 2)),
    )
    assert recorded_answers(turned, lambda model: True).answers == ()


def test_the_last_usage_covers_its_prefix_and_later_messages_are_counted() -> None:
    messages = [*talk([500, 500]), user(text(40)), says(text(60))]
    last = messages[3]["usage"]
    plain = run(conversation(messages), COUNT, tokenizer="chars4").rows[0]
    row = run(conversation(messages), COUNT, tokenizer="usage").rows[0]
    follows = run(conversation(messages[4:]), COUNT, tokenizer=None).rows[0].count.tokens - 3
    assert row.count.tokens == last["prompt_tokens"] + last["completion_tokens"] + follows
    assert row.tokenizer == "usage + o200k_base"
    assert row.count.exactness == "estimated"
    assert plain.count.tokens != row.count.tokens


def test_the_addends_still_sum_up_to_the_count() -> None:
    tools = [{"type": "function", "function": {"name": "bash", "parameters": {}}}]
    messages = [*talk([500, 500]), *step("c", text(50))]
    for usage in ("prompt_tokens", "completion_tokens"):
        messages[3]["usage"][usage] = 10  # less than is counted
        count = run(conversation(messages, tools=tools), COUNT, tokenizer="usage").rows[0].count
        assert sum(count.by_role.values()) + count.framing + count.tools_schema == count.tokens
        plain = run(conversation(messages, tools=tools), COUNT, tokenizer=None).rows[0].count
        assert (count.by_role, count.by_kind, count.by_tool) == (
            plain.by_role,
            plain.by_kind,
            plain.by_tool,
        )


def test_an_answer_recorded_at_its_first_word_is_counted() -> None:
    messages = talk([500, 500])
    messages[3]["usage"]["completion_tokens"] = 1
    prompt = messages[3]["usage"]["prompt_tokens"]
    plain = run(conversation(messages), COUNT, tokenizer=None).rows[0]
    row = run(conversation(messages), COUNT, tokenizer="usage").rows[0]
    answer = run(conversation(messages[3:]), COUNT, tokenizer=None).rows[0].count.tokens - 3
    assert row.count.tokens == prompt + answer
    assert row.messages == plain.messages


def test_without_usage_the_count_applies_with_a_note() -> None:
    for envelope in ({}, {"usage": {"prompt_tokens": 90_000}}):
        data = conversation([user("hello"), says("good day")], model="gpt-4o", **envelope)
        row = run(data, COUNT, tokenizer="usage").rows[0]
        assert row.count == run(data, COUNT, tokenizer=None).rows[0].count
        assert [(finding.code, finding.severity) for finding in row.findings] == [
            ("not-anchored", "warning")
        ]
        assert "no answer has recorded usage" in row.findings[0].message


def test_both_together_calibrate_the_later_messages() -> None:
    messages = [*talk(EVEN), user(text(100))]
    alone, both = (
        run(conversation(messages), COUNT, tokenizer="usage", calibrates=calibrates)
        .rows[0]
        .count.tokens
        for calibrates in (False, True)
    )
    assert alone < both


@pytest.mark.parametrize("stages", [["trim"], ["truncate"], ["check", "trim"]])
def test_usage_is_not_used_in_stages_that_edit(stages: list[str]) -> None:
    with pytest.raises(UsageError, match="does not lower"):
        run(conversation(talk([50])), [(stage, {}) for stage in stages], tokenizer="usage")


SAILED = FIXTURES / "recorded.jsonl"


@pytest.mark.parametrize(
    "words",
    [("trim",), ("truncate",), ("run", "-s", "check", "-s", "trim"), ("trim", "--in-place")],
    ids=" ".join,
)
def test_trimming_by_usage_is_wrong_usage_with_a_reason(
    ctxtrim: Run, words: tuple[str, ...]
) -> None:
    ran = ctxtrim(*words, "--tokenizer", "usage", SAILED)
    assert (ran.code, ran.out) == (2, b"")
    assert "dropping messages does not lower it" in ran.err
    assert "use it with count and check" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_run_without_edits_can_count_by_usage(ctxtrim: Run) -> None:
    ran = ctxtrim("run", "-s", "check", "--tokenizer", "usage", SAILED)
    assert (ran.code, ran.out) == (0, SAILED.read_bytes())
    assert "anchored" in ran.err


def test_check_fails_if_recorded_usage_exceeds_the_budget(ctxtrim: Run) -> None:
    budget = ("--budget", "3400")  # more than is counted, less than was recorded
    assert ctxtrim("check", *budget, SAILED).code == 0
    ran = ctxtrim("check", *budget, "--tokenizer", "usage", SAILED)
    assert ran.code == 3
    assert b"Current: 3576 tokens, Max: 3400 tokens" in ran.out


def test_the_note_appears_next_to_a_transcript_and_in_reports(ctxtrim: Run) -> None:
    ran = ctxtrim("trim", "--calibrate", "--budget", "3300", SAILED)
    assert "info: calibrated: texts count 1.231 times" in ran.err
    assert ctxtrim("trim", "--calibrate", "--budget", "3300", "--quiet", SAILED).err == ""
    row = json.loads(ctxtrim("count", "--calibrate", "--json", SAILED).out)["transcripts"][0]
    assert row["findings"][0]["code"] == "calibrated"
    assert row["findings"][0]["tokens"] == 407
    assert row["tokenizer"].endswith("× 1.231")
    assert sum(row["by_role"].values()) + row["framing"] + row["tools_schema"] == row["tokens"]


def test_calibration_affects_the_verdict(ctxtrim: Run) -> None:
    words = ("--budget", "3300", SAILED)
    assert ctxtrim("check", *words).code == 0
    assert ctxtrim("check", "--calibrate", *words).code == 3
    assert ctxtrim("trim", *words).out == SAILED.read_bytes()
    assert len(ctxtrim("trim", "--calibrate", *words).out) < len(SAILED.read_bytes())


def test_calibration_is_an_option_of_the_run(ctxtrim: Run) -> None:
    ran = ctxtrim("run", "-s", "trim:calibrate=true", SAILED)
    assert ran.code == 2
    assert "pass --calibrate to the command" in ran.err


def test_the_error_for_an_unknown_tokenizer_lists_usage(ctxtrim: Run) -> None:
    assert "usage" in ctxtrim("count", "--tokenizer", "usages", SAILED).err


# Tokens of a question, of its answer and of a tool result, and the factor between these and the
# recorded tokens.
exchanges = st.tuples(
    st.integers(0, 400),
    st.integers(0, 700),
    st.one_of(st.none(), st.integers(0, 900)),
    st.floats(0.3, 3.5),
)


@st.composite
def recordings(draw: st.DrawFn, is_one_task: bool = False) -> bytes:
    """A conversation with usage at nearly every answer; sometimes the prompt shrinks or contains
    unrecorded tokens.

    `is_one_task`: a single prompt, followed only by steps.
    """
    messages: list[dict[str, Any]] = (
        [{"role": "system", "content": "Be kind."}] if draw(st.booleans()) else []
    )
    prompt = draw(st.integers(1, 3000))
    for position, (asked, expected, came, factor) in enumerate(
        draw(st.lists(exchanges, min_size=4, max_size=30))
    ):
        turn = [user(text(asked))] if position == 0 or not is_one_task else []
        if came is not None:
            turn += step(f"c{position}", text(came))
        if not is_one_task:
            turn.append(says(text(expected)))
        prompt = max(1, prompt + draw(st.sampled_from([0, 0, 0, 0, -900, 5000])))
        for message in turn:
            if message["role"] == "assistant" and draw(st.integers(0, 9)):
                message["usage"] = {"prompt_tokens": prompt, "completion_tokens": 3}
            tokens = {"user": asked, "assistant": expected, "tool": came or 0}[message["role"]]
            prompt += FRAME + int(factor * tokens)
        messages += turn
    style = "openai" if is_one_task else draw(st.sampled_from(["openai", "claude"]))
    calls_free = [
        message
        for message in messages
        if message["role"] in ("user", "assistant") and not message.get("tool_calls")
    ]
    return conversation(messages) if style == "openai" else as_session(calls_free)


@given(recordings())
def test_calibration_never_lowers_a_count(data: bytes) -> None:
    before, after = (
        run(data, COUNT, **MEASURE, model="gpt-4o", calibrates=calibrates).rows[0]
        for calibrates in (False, True)
    )
    assert after.count.tokens >= before.count.tokens
    for kind, tokens in before.count.by_kind.items():
        assert after.count.by_kind[kind] >= tokens
    factor = after.tokenizer.removeprefix("chars4").removeprefix(" × ")
    assert not factor or float(factor) > 1


@given(recordings(), st.integers(1, 20_000))
def test_a_trimmed_transcript_fits_by_the_calibrated_count(data: bytes, budget: int) -> None:
    ran = run(
        data, [("trim", {})], **MEASURE, model="claude-opus-4-5", limit=budget, calibrates=True
    )
    row = ran.rows[0]
    assert row.fits or row.overflows
    if ran.data:
        framing = framing_of(assumed_model("claude-opus-4-5"), "estimated")
        counter = Counter(factored(row.tokenizer), framing)
        (transcript,) = read(ran.data)[0].transcripts
        assert counter.tokens(transcript) == row.count.tokens <= budget
        assert (
            run(ran.data, COUNT, **MEASURE, model="claude-opus-4-5").rows[0].count.tokens <= budget
        )


def factored(name: str) -> Tokenizer:
    """The tokenizer that a report names."""
    base, _, factor = name.partition(" × ")
    return Scaled(tokenizer(base), float(factor)) if factor else tokenizer(base)


@given(recordings(is_one_task=True), st.integers(1, 20_000))
def test_trimming_a_single_task_again_changes_nothing(data: bytes, budget: int) -> None:
    once = run(data, [("trim", {})], **MEASURE, limit=budget, calibrates=True).data
    if once is not None:
        assert run(once, [("trim", {})], **MEASURE, limit=budget, calibrates=True).data == once


@given(recordings(), st.sampled_from([100, 300, 2000]), st.integers(0, 4))
def test_truncating_again_changes_nothing(data: bytes, limit: int, age: int) -> None:
    stages = [("truncate", {"max_tokens": limit, "max_age": age})]
    once = run(data, stages, **MEASURE, model="gpt-4o", calibrates=True)
    again = run(once.data or b"", stages, **MEASURE, model="gpt-4o", calibrates=True)
    assert again.data == once.data


@given(recordings())
def test_no_window_is_counted_below_its_recorded_usage(data: bytes) -> None:
    transcript = read(data)[0].transcripts[0]
    plain = Metering(tokenizer, "gpt-4o", "chars4").meter(transcript).counter
    learnt = Metering(tokenizer, "gpt-4o", "chars4", calibrates=True).meter(transcript).counter
    if learnt.tokenizer != plain.tokenizer:
        for first, last in windows(transcript, plain):
            counted = sum(
                cost.total
                for cost in learnt.costs(transcript.messages)[first.message : last.message]
            )
            assert counted >= last.prompt_tokens - first.prompt_tokens


def windows(transcript: Transcript, counter: Counter) -> Iterator[tuple[Usage, Usage]]:
    """All pairs of answers with enough tokens between them and no nearer pair, by exhaustive
    search.
    """
    costs = counter.costs(transcript.messages)
    for end, last in enumerate(transcript.usages):
        for start in range(end - 1, -1, -1):
            first, second = transcript.usages[start : start + 2]
            step = range(first.message, second.message)
            size = sum(
                len(part.text) for position in step for part in transcript.messages[position].parts
            )
            if (
                not 0
                <= second.prompt_tokens - first.prompt_tokens
                <= size + sum(costs[position].frame for position in step)
            ):
                break
            if sum(sum(cost.parts) for cost in costs[first.message : last.message]) >= WINDOW:
                yield first, last
                break
