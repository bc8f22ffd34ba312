"""Chains and copies: results that feed later calls, and results that came back again."""

import json
import re

import pytest
from builders_evidence import call, result, step, user
from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.conversation.turns import shape
from ctxtrim.evidence.duplicates import copies
from ctxtrim.evidence.used_by_calls import used_ranges, uses_of_results
from ctxtrim.model import Message


def feeds(messages: list[Message]) -> dict[int, list[tuple[int, str]]]:
    texts = [message.parts[0].text for message in messages]
    result = uses_of_results(messages)
    for position, uses in result.items():
        spelled = [texts[position][start:end] for start, end in used_ranges(texts[position], uses)]
        assert sorted(spelled) == sorted(use.value for use in uses)
    return {
        position: [(use.position, use.value) for use in uses] for position, uses in result.items()
    }


def test_s0_10_a_value_that_occurred_earlier_links_no_call() -> None:
    for before in (user("open order W6247578"), call("note", 9, text="order W6247578")):
        assert (
            feeds([before, *step("find", "it is W6247578"), call("order", 2, id="W6247578")]) == {}
        )


@pytest.mark.parametrize("spelled", ["order-4711", r"order\u002d4711", r"o\u0072der-4711"])
def test_s0_10_a_value_in_an_earlier_call_links_no_call_of_the_last_message(spelled: str) -> None:
    before = call("note", 9, f'{{"text": "{spelled}"}}')
    later = [*step("find", "it is order-4711"), call("open", 2, id="order-4711")]
    last = [False, False, False, True]
    assert uses_of_results([before, *later], last) == {}
    assert list(uses_of_results([user("go"), *later], last)) == [2]


def test_s0_10_short_values_word_parts_and_later_text_link_no_call() -> None:
    assert feeds([*step("ls", "a.py"), call("Read", 2, path="a.py")]) == {}
    assert feeds([*step("find", "reservations"), call("order", 2, id="reservation")]) == {}
    assert feeds([call("order", 1, id="W6247578"), result("W6247578")]) == {}


def test_s0_10_names_of_arguments_link_no_call() -> None:
    assert feeds([*step("find", "reservation"), call("order", 2, reservation=True)]) == {}


def test_s0_10_paths_ids_and_words_link_the_calls_that_name_them() -> None:
    messages = [
        user("go"),
        *step("grep", "./src/auth/login.py:12: def check\nsee user_4711.", 1),
        *step("Read", "nothing new", 2, file_path="src/auth/login.py"),
        *step("lookup", "nothing new", 3, filter={"any": ["the user_4711"]}),
        *step("bash", "", 4, arguments="cat src/auth/login.py"),
    ]
    assert feeds(messages) == {
        2: [(3, "src/auth/login.py"), (5, "user_4711"), (7, "src/auth/login.py")]
    }


def test_s0_10_chains_have_depth_one() -> None:
    messages = [
        *step("a", "token alpha11", 1),
        *step("b", "alpha11 gives beta222", 2, x="alpha11"),
        call("c", 3, x="beta222"),
    ]
    assert feeds(messages) == {1: [(2, "alpha11")], 3: [(4, "beta222")]}


@pytest.mark.parametrize("run", ["-", ".", "./", "a.", "-.", "/", "~@"])
def test_s0_10_a_million_dashes_or_dots_do_not_hide_a_path(run: str) -> None:
    """A quadratic pattern takes hours for a run of this length."""
    text = f"{run * 1_000_000} {'.' * 1_000_000}/src/login.py"
    assert feeds([*step("find", text), call("open", 2, path=text)])[1][-1] == (2, "src/login.py")


VALUES = st.sampled_from(["alpha1", "beta22", "gamma3/d", "short", "delta4.", "alpha1/x"])
any_text = st.lists(VALUES, max_size=4).map(" ".join)


def tokens(text: str) -> set[str]:
    wide = (token.rstrip(".") for token in text.split())
    return {
        token for text in wide for token in (text, *re.findall(r"\w+", text)) if len(token) >= 6
    }


@given(st.lists(st.tuples(st.sampled_from(["user", "step"]), any_text, any_text), max_size=8))
def test_s0_10_chains_equal_an_exhaustive_search(
    parts: list[tuple[str, str, str]],
) -> None:
    messages: list[Message] = []
    for number, (kind, text, other) in enumerate(parts):
        messages += [user(text)] if kind == "user" else step("tool", other, number, x=text)
    texts = [
        json.loads(m.parts[0].text)["x"] if any(m.calls) else m.parts[0].text for m in messages
    ]
    naive = {
        (source, consumer, token)
        for consumer, message in enumerate(messages)
        if any(message.calls)
        for token in tokens(texts[consumer])
        for source in [
            next(position for position, text in enumerate(texts) if token in tokens(text))
        ]
        if source < consumer and messages[source].role == "tool"
    }
    assert {
        (position, *link) for position, links in feeds(messages).items() for link in links
    } == naive


def again(messages: list[Message]) -> dict[int, int]:
    return copies(shape(messages))


def test_short_texts_and_other_tools_are_not_copies() -> None:
    text = "the same text of some length"
    assert again([*step("Read", "ok", 1), *step("Read", "ok", 2)]) == {}
    assert again([*step("Read", text, 1), *step("bash", text, 2)]) == {}
    assert again([*step("Read", text, 1), *step("Read", text + "!", 2)]) == {}


@given(
    st.lists(
        st.tuples(st.sampled_from(["Read", "bash"]), st.sampled_from(["ok", "x" * 20, "y" * 30])),
        max_size=8,
    )
)
def test_s2_3_older_copies_point_to_the_newest(parts: list[tuple[str, str]]) -> None:
    messages = [
        message for number, (name, text) in enumerate(parts) for message in step(name, text, number)
    ]
    naive = {}
    for position, part in enumerate(parts):
        same = [
            other
            for other in range(position + 1, len(parts))
            if parts[other] == part and len(part[1]) >= 20
        ]
        naive |= {2 * position + 1: 2 * same[-1] + 1} if same else {}
    assert again(messages) == naive


def test_the_note_of_a_truncated_result_hides_no_use() -> None:
    """A second run must find what the first run found before it wrote the note."""
    later = [*step("find", "it was truncated"), call("cut", 3, how="truncated")]
    assert feeds([*step("read", "[content truncated - 6 steps ago]", 1), *later]) == feeds(
        [*step("read", "a long text", 1), *later]
    )
    assert feeds(later) != {}
