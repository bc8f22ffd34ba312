"""Quotes: text of a result in a later user message, and texts that are not quotations."""

import pytest
from builders_evidence import call, result, step, user
from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.conversation.turns import shape
from ctxtrim.evidence import quoted_runs as runs
from ctxtrim.evidence.paths_in_text import run_has_content
from ctxtrim.evidence.quoted_runs import quoted_runs
from ctxtrim.evidence.quotes import quoted
from ctxtrim.model import Message

LINE = "FAILED test_login - wrong password"
OUTPUT = f"collected 3 items\n  {LINE}\nall done now"
PATH = "/srv/application/modules/authentication/login_handler.py"


def quotes(messages: list[Message]) -> dict[int, str]:
    result = quoted(shape(messages))
    texts = {
        position: "\n".join(part.text for part in messages[position].parts) for position in result
    }
    return {position: texts[position][start:end] for position, (start, end) in result.items()}


@pytest.mark.parametrize(
    "words",
    [
        "thanks", "all done now",
        f"look at {PATH}", PATH, f"`{PATH}:12`", "FAILED test_login", "wrong password", "call_12",
        "=" * 60, "", " " * 60,
    ],
)  # fmt: skip
def test_s0_13_texts_that_are_not_quotations(words: str) -> None:
    output = f"{OUTPUT}\n{PATH}\n{PATH}:12\n" + "=" * 60 + " " * 60
    assert quotes([user("go"), *step("bash", output), user(words)]) == {}


def test_s0_13_text_before_the_call_is_not_a_quotation() -> None:
    assert quotes([user(OUTPUT), *step("bash", OUTPUT), user("go on")]) == {}


def test_s0_13_the_path_in_its_own_call_is_not_a_quotation() -> None:
    path = "My Documents/letters to the editor/the third draft of it.txt"
    messages = [*step("Read", f"{path}\nDear editor", path=path), user(f"now change {path}")]
    assert quotes(messages) == {}


def test_s0_13_a_line_in_several_results_is_not_a_quotation() -> None:
    assert quotes([*step("bash", LINE, 1), *step("bash", f"{LINE}\nmore", 2), user(LINE)]) == {}


@pytest.mark.parametrize("marks", [{"is_injected": True}, {"is_summary": True}])
def test_s0_13_text_of_the_client_is_not_a_quotation(marks: dict[str, bool]) -> None:
    assert quotes([*step("bash", OUTPUT), user(LINE, **marks)]) == {}


def test_s0_13_an_answer_of_the_model_is_not_a_quotation() -> None:
    message = Message("assistant", user(OUTPUT).parts)
    assert quotes([*step("bash", OUTPUT), message]) == {}


@pytest.mark.parametrize(
    "words",
    [
        LINE,
        f"> {LINE}",
        f"why\n>> {LINE}\n?",
        f"why does it say '{LINE}' here?",
        "FAILED  test_login\n -\twrong password",
    ],
)
def test_s0_13_a_whole_line_is_a_quotation_with_white_space_folded(words: str) -> None:
    assert quotes([user("go"), *step("bash", OUTPUT), user(words)]) == {2: LINE}


@pytest.mark.parametrize("typed", [0, 1_000, 3_000])
@pytest.mark.parametrize("words", [LINE, f"  > {LINE}", f"see {LINE}!", LINE.replace(" ", "\t ")])
def test_s0_13_a_line_is_found_however_much_was_typed(words: str, typed: int) -> None:
    messages = [*step("bash", OUTPUT), user(f"{words}\n" + "so it is " * (typed // 9))]
    assert quotes(messages) == {1: LINE}


def test_s0_13_at_least_forty_consecutive_characters_are_a_quotation() -> None:
    text = (
        "so it says that the connection to the database was refused by the server again and again"
    )
    for length, expected in ((39, {}), (40, {1: text[5:45]}), (60, {1: text[5:65]})):
        assert quotes([*step("bash", text), user(f"«{text[5 : 5 + length]}»")]) == expected


def test_s0_13_forty_characters_count_in_each_of_several_results() -> None:
    text = "the connection to the database was refused by the server"
    assert quotes([*step("bash", text, 1), *step("bash", text, 2), user(text)]) == {
        1: text,
        3: text,
    }


def test_s0_13_the_id_of_its_call_is_a_quotation_as_a_word() -> None:
    messages = [*step("bash", OUTPUT, 1), *step("bash", "12", 12), user("see (call_12).")]
    assert quoted(shape(messages)) == {3: (0, 0)}


ALPHABET = "ab \né→😀\ud800"
words = st.text(ALPHABET, max_size=70)


@given(
    st.lists(st.tuples(st.booleans(), words, st.integers(0, 60)), max_size=6),
    words,
    st.sampled_from((0, 1, 1000)),
    st.sampled_from(runs._STEPS),
)
def test_s0_13_runs_equal_an_exhaustive_search(
    parts: list[tuple[bool, str, int]], shared: str, searches: int, steps: runs.Steps
) -> None:
    results, prompts = {}, {}
    for position, (is_result, text, cut) in enumerate(parts):
        (results if is_result else prompts)[position] = text[:cut] + shared[: 20 + cut] + text[cut:]
    naive = set()
    for position, text in results.items():
        later = [other for place, other in prompts.items() if place > position]
        windows = (
            start for start in range(len(text) - 39) if run_has_content(text, start, start + 40, ())
        )
        if any(text[start : start + 40] in other for start in windows for other in later):
            naive.add(position)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "_SEARCHES", searches)
        patch.setattr(runs, "_steps", lambda *_: steps)
        result = quoted_runs(results, prompts, lambda _: ())
    assert set(result) == naive
    for position, (start, end) in result.items():
        run = results[position][start:end]
        assert len(run) >= 40
        assert any(run in other for place, other in prompts.items() if place > position)


@pytest.mark.parametrize("offset", range(33))
def test_s0_13_forty_characters_are_found_at_every_offset_in_a_large_paste(offset: int) -> None:
    run = "a quotation of exactly forty characters!"
    assert len(run) == 40
    paste = "".join(f"{number:07d}," for number in range(40_000)) + "x" * offset + run + "z"
    messages = [call("bash"), result("y" * 100 + run + "y" * 100), user(paste)]
    assert quotes(messages) == {1: run}


@pytest.mark.parametrize("typed", [0, 300, 1_000, 3_000, 20_000])
@pytest.mark.parametrize("shown", [0, 300, 1_000, 3_000, 20_000])
def test_s0_13_forty_characters_are_found_whatever_the_lengths(shown: int, typed: int) -> None:
    run = "a quotation of exactly forty characters!"
    for offset in range(33):
        output = "".join(f"{number:07d}," for number in range(shown // 8))
        output += "y" * (offset + 1) + run
        paste = "".join(f"{-number:07d};" for number in range(typed // 8)) + "x" * (offset // 3)
        messages = [call("bash"), result(f"{output}y"), user(f"{paste}{run}x")]
        assert quotes(messages) == {1: run}


def test_many_results_against_a_paste_with_the_same_beginnings() -> None:
    log = [f"{number * 7919 % 100_003:06d} INFO request was served" for number in range(20_000)]
    messages = [
        message
        for position in range(200)
        for message in step("bash", "\n".join(log[position * 50 : position * 50 + 50]), position)
    ]
    messages.append(user("\n".join(log[5_000:])))
    assert sorted(quotes(messages)) == list(range(201, 400, 2))
