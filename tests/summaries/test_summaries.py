"""Summarizers: the prompt, the use of the answer, and the fallback (S1-6, S3-9, S3-10)."""

from dataclasses import dataclass, replace

import pytest
from builders import call, result, says, transcript, user
from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.conversation.turns import shape
from ctxtrim.errors import SummaryError
from ctxtrim.summaries.excerpts import bounded
from ctxtrim.summaries.prompts import MAX_PROMPT, checkpoint_prompt, tool_prompt, transcribed
from ctxtrim.summaries.sections import HEADINGS
from ctxtrim.summaries.summarizer import Reply, Summary, SummaryRequest, summarized
from ctxtrim.tokenizers import tokenizer

ROUGH = tokenizer("chars4")
KEY = "sk-" + "abc123DEF456" * 4
pieces = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["word ", "e\u0301", "👨\u200d👩\u200d👧", "\n", "\ud800"]),
)
long_texts = st.builds(lambda text, times: text * times, pieces, st.integers(0, 300))


@dataclass(frozen=True)
class Answers:
    """A summarizer with a fixed answer; it raises the answer if that is an error."""

    answer: str | SummaryError
    name: str = "answers"

    def summarize(self, prompt: str, max_tokens: int) -> Reply:
        if isinstance(self.answer, SummaryError):
            raise self.answer
        return Reply(self.answer.replace("PROMPT", prompt), len(prompt), max_tokens)


REQUEST = SummaryRequest("what was said", limit=50, replaces=100, tokenizer=ROUGH, redacts=True)


@given(long_texts, st.integers(0, 900))
def test_an_excerpt_stays_within_its_limit_and_counts_omitted_characters(
    text: str, limit: int
) -> None:
    short = bounded(text, limit)
    assert len(short) <= limit or short == text
    before, marker, after = short.partition("\n... [truncated ")
    if marker and len(text) > limit:
        number, _, last = after.partition(" characters] ...\n")
        assert text.startswith(before)
        assert text.endswith(last)
        assert len(before) + int(number) + len(last) == len(text)


def test_an_excerpt_splits_no_character() -> None:
    text = "e\u0301" * 500
    for limit in range(60, 70):
        before, _, after = bounded(text, limit).partition("\n... [truncated ")
        assert before.endswith("\u0301")
        assert after.partition("...\n")[2].startswith("e")


@given(long_texts)
def test_s3_9_the_heuristic_summary_has_at_most_800_characters(text: str) -> None:
    assert len(bounded(text, 800)) <= 800


def test_s3_9_the_heuristic_summary_is_head_and_tail_within_800_characters() -> None:
    text = "the head " + "in between " * 500 + "the tail"
    assert len(bounded(text, 800)) == 800
    assert bounded(text, 800).startswith("the head ")
    assert bounded(text, 800).endswith("the tail")
    assert bounded("x" * 800, 800) == "x" * 800


@given(long_texts, long_texts)
def test_s3_9_the_prompt_for_a_tool_result_has_at_most_12000_characters(
    text: str, arguments: str
) -> None:
    assert len(tool_prompt("bash", arguments, text, redacts=True)) <= 12_000


def test_s3_9_the_prompt_names_the_tool_and_the_length_limit() -> None:
    prompt = tool_prompt(
        "bash", '{"command": "ls"}', "head " + "x" * 50_000 + f" {KEY} tail", redacts=True
    )
    assert len(prompt) == 12_000
    assert "at most 1200 characters" in prompt
    assert '{"command": "ls"}' in prompt
    assert "\nhead x" in prompt
    assert "x [REDACTED api key] tail\n" in prompt


def test_s3_9_braces_in_a_result_are_text() -> None:
    assert "<result>\n{text} {0} {}\n</result>" in tool_prompt(
        "bash", "{}", "{text} {0} {}", redacts=True
    )


def test_s3_10_tool_results_have_at_most_1800_characters_each() -> None:
    messages = transcript(
        [user("go"), call("a", "b"), result("a", "a" * 5000), result("b", "b" * 1800), says("done")]
    ).messages
    text = transcribed(shape(messages), redacts=True)
    first, second = text.split("[result of bash]\n")[1:]
    assert len(first.removesuffix("\n\n")) == 1800
    assert second == "b" * 1800 + "\n\n[assistant]\ndone"
    assert text.startswith("[user]\ngo\n\n[assistant calls bash]\n{}\n\n")


def test_s3_10_the_old_part_keeps_head_and_tail_within_12000_characters() -> None:
    messages = transcript(
        [user("the head"), *[says("words " * 100) for _ in range(60)], says("the tail")]
    ).messages
    text = transcribed(shape(messages), redacts=True)
    assert len(text) == 12_000
    assert text.startswith("[user]\nthe head\n")
    assert text.endswith("\nthe tail")


def test_s3_10_keys_are_masked_before_texts_are_clipped() -> None:
    text = "x" * 870 + f" {KEY} " + "y" * 5000
    messages = transcript([user("go"), call("a"), result("a", text)]).messages
    assert "abc123" not in transcribed(shape(messages), redacts=True)
    assert "abc123" in transcribed(shape(messages), redacts=False)


def test_s3_10_the_prompt_asks_for_the_six_headings() -> None:
    prompt = checkpoint_prompt("word " * 10_000, 400, MAX_PROMPT, has_earlier=False)
    assert len(prompt) == 12_000
    assert [line[3:] for line in prompt.split("\n") if line.startswith("## ")] == list(HEADINGS)
    assert "at most 200 words" in prompt
    assert "earlier summary" not in prompt
    assert "earlier summary" in checkpoint_prompt("", 400, MAX_PROMPT, has_earlier=True)


def test_s1_6_the_summary_is_the_answer_of_the_summarizer() -> None:
    summary = summarized(REQUEST, Answers(" PROMPT, in short \n"), lambda: "facts")
    assert summary == Summary("what was said, in short", "answers", origin="model")


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (SummaryError("it hangs"), "answers: it hangs"),
        (" \n", "answers: the summary is empty"),
        ("x" * 204, "answers: the summary has 51 tokens, and 50 are allowed"),
        ("x" * 400, "answers: the summary has 100 tokens, the messages it replaces 100"),
    ],
)
def test_s1_6_facts_replace_an_unusable_summary_with_a_reason(
    answer: str | SummaryError, trouble: str
) -> None:
    summary = summarized(REQUEST, Answers(answer), lambda: "facts")
    assert (summary.text, summary.by, summary.trouble) == ("facts", "facts", trouble)


def test_s3_9_a_summary_above_1200_characters_is_rejected() -> None:
    request = replace(REQUEST, limit=10_000, replaces=10_000, max_chars=1200)
    assert summarized(request, Answers("x" * 1200), lambda: "facts").by == "answers"
    assert summarized(request, Answers("x" * 1201), lambda: "facts").trouble == (
        "answers: the summary has 1,201 characters, and 1,200 are allowed"
    )


def test_secrets_in_the_answer_of_a_summarizer_are_masked() -> None:
    summary = summarized(REQUEST, Answers(f"The key is {KEY}."), lambda: "facts")
    assert (summary.text, summary.by) == ("The key is [REDACTED api key].", "answers")
    unmasked = summarized(
        replace(REQUEST, redacts=False), Answers(f"The key is {KEY}."), lambda: "facts"
    )
    assert unmasked.text == f"The key is {KEY}."


def test_a_summary_has_no_lone_surrogate() -> None:
    summary = summarized(REQUEST, Answers("The lamp \ud83d burns \ud83d\ude00."), lambda: "facts")
    assert (summary.text, summary.by) == ("The lamp \ufffd burns \U0001f600.", "answers")


def test_secrets_in_the_error_of_a_summarizer_are_masked() -> None:
    summary = summarized(REQUEST, Answers(SummaryError(f"{KEY} is refused")), lambda: "facts")
    assert summary.trouble == "answers: [REDACTED api key] is refused"


def test_the_prompt_is_bounded_and_contains_no_key() -> None:
    request = replace(REQUEST, prompt=f"{KEY} " + "x" * 20_000, limit=5000, replaces=5000)
    sent = summarized(request, Answers("PROMPT"), lambda: "facts").text
    assert 11_990 < len(sent) <= 12_000
    assert sent.startswith("[REDACTED api key] x")
    assert summarized(
        replace(request, redacts=False), Answers("PROMPT"), lambda: "facts"
    ).text.startswith(KEY)
