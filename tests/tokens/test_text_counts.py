"""Texts that recur in the transcripts of a file are counted once, in bounded memory."""

import pytest
from builders import call, result, transcript, user

from ctxtrim.model import Message, Part
from ctxtrim.tokens import text_counts
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.framing import Framing
from ctxtrim.tokens.text_counts import TextCounts


class Counted:
    """A cache with a counter that notes what it counts."""

    def __init__(self) -> None:
        self.texts = TextCounts()
        self.seen: list[str] = []

    def count(self, text: str) -> int:
        self.seen.append(text)
        return len(text)

    def transcript(self, *texts: str) -> None:
        """Count the texts of a transcript."""
        self.texts.next_transcript()
        count = self.texts.function(
            [Message("user", (Part("text", text),)) for text in texts], self.count
        )
        for text in texts:
            assert count(text) == len(text)

    @property
    def size(self) -> int:
        """The characters of the cached texts."""
        return sum(map(len, (*self.texts._known, *self.texts._before)))


def test_a_log_whose_lines_repeat_a_growing_prefix_counts_each_text_once() -> None:
    counted = Counted()
    texts = [f"{number}".ljust(100_000) for number in range(30)]
    for end in range(len(texts)):
        counted.transcript(*texts[: end + 1])
    assert counted.seen == texts


def test_requests_of_several_sessions_may_alternate() -> None:
    counted = Counted()
    for end in range(20):
        for session in range(5):
            counted.transcript(*(f"{session} {turn}".ljust(9_000) for turn in range(end)))
    assert len(counted.seen) == len(set(counted.seen)) == 5 * 19


def test_a_very_long_text_is_counted_once_and_forgotten_with_its_transcript() -> None:
    counted = Counted()
    long = "x" * 9_000_000
    counted.transcript(long, "short", long)
    assert counted.seen == [long, "short"]
    assert counted.texts.known(long) == len(long)
    counted.transcript("other")
    assert counted.texts.known(long) is None
    assert counted.size < 100


def test_texts_that_do_not_recur_are_forgotten() -> None:
    counted = Counted()
    for number in range(200):
        counted.transcript(f"{number}".ljust(100_000))
    assert counted.size <= 2_200_000
    counted.transcript("0".ljust(100_000))
    assert len(counted.seen) == 201


def test_texts_are_not_cached_where_few_of_them_recur() -> None:
    counted = Counted()
    for number in range(200):
        counted.transcript(f"{number}".ljust(1000), f"{number} b".ljust(99_000), "yes")
    assert counted.size <= 1_100_000
    assert len(counted.seen) > 400


def test_a_log_after_transcripts_that_do_not_recur_counts_only_its_first_line_twice() -> None:
    counted = Counted()
    for number in range(200):
        counted.transcript(f"{number}".ljust(1000), f"{number} b".ljust(99_000))
    counted.seen.clear()
    texts = [f"log {number}".ljust(10_000) for number in range(30)]
    for end in range(2, len(texts)):
        counted.transcript(*texts[: end + 1])
    assert len(counted.seen) == len(texts) + 3  # those of its first line
    assert set(counted.seen) == set(texts)


def test_first_texts_that_do_not_recur_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_counts, "_MARKS", 50)
    counted = Counted()
    for number in range(200):
        counted.transcript(f"{number}".ljust(100_000))
    assert 0 < len(counted.texts._marks) <= 50


def test_a_generation_has_a_largest_size() -> None:
    counted = Counted()
    counted.transcript(*(f"{number}".ljust(1_000_000) for number in range(30)))
    counted.transcript("x" * (text_counts._MAX_CHARACTERS + 1))
    assert counted.size <= 2 * text_counts._MAX_CHARACTERS


def test_texts_arguments_and_escaped_results_are_counted_once() -> None:
    seen: list[str] = []

    class Watched:
        name, exactness = "watched", "exact"

        def count(self, text: str) -> int:
            seen.append(text)
            return len(text)

        ceiling = count

    parallel = call("a", "b", path="x")
    messages = [user("go"), parallel, result("a", "first é"), result("b", "second")]
    counter = Counter(Watched(), Framing(0, 0, escapes_parallel=True))
    first = counter.tokens(transcript(messages))
    again = counter.fresh().tokens(transcript([*messages, user("more")]))
    assert again == first + len("more")
    assert sorted(seen) == sorted({*seen})
    assert '"first \\u00e9"' in seen
    assert "first é" not in seen  # the model reads the escaped text


def test_a_long_transcript_without_repeats_is_cached_up_to_a_million_characters() -> None:
    counted = Counted()
    texts = [f"{number}".ljust(100_000) for number in range(30)]
    counted.transcript(*texts)
    assert counted.size == 1_000_000
    assert counted.seen == texts
