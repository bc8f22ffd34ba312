"""Counts: the vocabularies, the engines, the framing, the budget."""

import base64
import hashlib
import json
from binascii import a2b_base64
from collections.abc import Callable
from pathlib import Path

import pytest
import tiktoken
from builders import call, result, says, step, transcript, user
from depth import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from test_corpus import TIER_1, files, needs_corpus, transcripts

from ctxtrim.errors import UsageError
from ctxtrim.metering import Metering
from ctxtrim.tokenizers import TOKENIZERS, tokenizer
from ctxtrim.tokenizers.claude_ctok import available
from ctxtrim.tokenizers.encodings import (
    PATTERNS,
    VOCABULARIES,
    gigatoken_engine,
    small_engine,
    tiktoken_engine,
)
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.framing import Framing
from ctxtrim.tokens.models import FRAMINGS, find_model, known_models
from ctxtrim.tokens.tokenizer import Budget, Ceiling, head, tail

OFFICIAL = {  # from tiktoken_ext/openai_public.py
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
HOSTILE = (
    "", " ", "<|endoftext|>", "\ud800", "a\udc00b", "\u2028", "e\u0301", "🚀" * 50, " " * 5000,
    "\n" * 5000, "a" * 20_000,
    "नमस्ते दुनिया", "日本語", "ΑΒΓ", "'s 'LL I'Ve", "1234567890" * 20, "\r\n\r\n\t  x", "\x00\x1b[0m",
)  # fmt: skip
any_text = st.one_of(
    st.text(max_size=200), st.text(st.characters(), max_size=50), st.sampled_from(HOSTILE)
)


@pytest.mark.parametrize("name", OFFICIAL)
def test_the_vocabularies_are_official(name: str) -> None:
    assert (
        hashlib.sha256((VOCABULARIES / f"{name}.tiktoken").read_bytes()).hexdigest()
        == OFFICIAL[name]
    )


@pytest.mark.parametrize("name", PATTERNS)
def test_the_patterns_equal_those_of_tiktoken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tiktoken_ext import openai_public

    monkeypatch.setattr(
        openai_public,
        "load_tiktoken_bpe",
        lambda url, expected_hash: {"url": url, "hash": expected_hash},
    )
    official = getattr(openai_public, name)()
    assert official["pat_str"] == PATTERNS[name]
    assert official["mergeable_ranks"]["hash"] == OFFICIAL[name]


Engine = Callable[[str], int]


@pytest.fixture(scope="module", params=list(PATTERNS))
def engines(request: pytest.FixtureRequest) -> tuple[tiktoken.Encoding, Engine, Engine, Engine]:
    name, path = request.param, VOCABULARIES / f"{request.param}.tiktoken"
    ranks = {
        a2b_base64(token): int(rank)
        for token, rank in (line.split() for line in path.read_bytes().splitlines())
    }
    oracle = tiktoken.Encoding(
        name, pat_str=PATTERNS[name], mergeable_ranks=ranks, special_tokens={}
    )
    return (
        oracle,
        gigatoken_engine(name, path),
        tiktoken_engine(name, path),
        small_engine(name, path),
    )


# Engines disagree about characters that Unicode has assigned since a tokenizer was built: letters
# or unassigned.
assigned = st.text(st.characters(exclude_categories=["Cn", "Cs"]), max_size=100)
in_ascii = st.text(st.characters(max_codepoint=127), max_size=100)


@given(st.one_of(assigned, in_ascii, st.sampled_from(HOSTILE)))
@settings(max_examples=examples(1000))
def test_all_engines_count_like_tiktoken(
    engines: tuple[tiktoken.Encoding, Engine, Engine, Engine], text: str
) -> None:
    oracle, *others = engines
    assert [count(text) for count in others] == [len(oracle.encode_ordinary(text))] * 3


@needs_corpus
@files(TIER_1[:12])
def test_all_engines_agree_on_real_texts(
    engines: tuple[tiktoken.Encoding, Engine, Engine, Engine], path: Path
) -> None:
    _, fast, light, small = engines
    for parsed in transcripts(path.read_bytes()):
        for part in (part for message in parsed.messages for part in message.parts):
            assert fast(part.text) == light(part.text) == small(part.text)


@given(any_text, st.sampled_from(sorted(TOKENIZERS)))
def test_a_ceiling_is_never_below_the_count(text: str, name: str) -> None:
    engine = tokenizer(name)
    assert engine.count(text) <= engine.ceiling(text)
    assert Ceiling(engine).count(text) == engine.ceiling(text)


@given(any_text, st.sampled_from(["o200k_base", "chars4", "claude-v3-bound"]), st.integers(0, 60))
def test_head_and_tail_fit_their_limit_and_are_ends_of_the_text(
    text: str, name: str, limit: int
) -> None:
    engine = tokenizer(name)
    first, last = head(engine, text, limit), tail(engine, text, limit)
    assert text.startswith(first)
    assert text.endswith(last)
    assert engine.count(first) <= limit or not first
    assert engine.count(last) <= limit or not last
    if engine.count(text) <= limit:
        assert first == last == text


class Uneven:
    """Counts a text of two characters higher than longer texts."""

    name, exactness = "uneven", "exact"

    def count(self, text: str) -> int:
        return {2: 4, 6: 9}.get(len(text), min(len(text), 3))

    ceiling = count


def test_an_end_of_a_text_fits_its_limit_if_a_shorter_text_has_more_tokens() -> None:
    accents = "e" + "\u0301" * 3  # one grapheme cluster
    assert head(Uneven(), f"ab{accents}", 3) == "a"
    assert tail(Uneven(), f"{accents}ab", 3) == "b"


@given(any_text)
def test_the_bound_for_claude_is_its_factor_times_both_encodings_on_text_without_repetitions(
    text: str,
) -> None:
    import re

    bare = re.sub(
        r"(.{1,6}?)\1+", lambda run: run[1] if len(run[0]) > 10 else run[0], text, flags=re.DOTALL
    )
    largest = max(tokenizer("o200k_base").count(bare), tokenizer("cl100k_base").count(bare))
    assert tokenizer("claude-v3-bound").count(text) >= 1.65 * largest
    if not re.search(
        "[A-Z][A-Z0-9_]", text
    ):  # words in capitals cost their bytes, which is all they can cost
        assert tokenizer("claude-v4.7-bound").count(text) >= 2.35 * largest


def test_words_in_capitals_count_as_bytes_from_claude_4_7() -> None:
    name = "MAX_CONTEXT_TOKENS_PER_MODEL"
    assert tokenizer("claude-v4.7-bound").count(f"{name}=") >= len(name)
    assert tokenizer("claude-v3-bound").count(f"{name}=") < len(name)


@pytest.mark.parametrize(
    ("before", "after"), [("see ", " there"), ("見よ ", " Ｘ\ud800"), ("≤ ", "!")]
)
def test_a_word_in_capitals_is_replaced_by_a_space(before: str, after: str) -> None:
    bound = tokenizer("claude-v4.7-bound").count
    assert bound(f"{before}MAX_SIZE2 {after}") == len("MAX_SIZE2 ") + 2 + bound(f"{before} {after}")


@pytest.mark.parametrize(
    ("text", "older", "newer"),
    [
        (" ".join(a + b for a in "ABCDEFGHJKLMNPQRSTUVWXYZ" for b in "XZQJK"), 233, 317),
        (" ".join(f"{letter}{number}" for letter in "QXZJVWK" for number in range(10)), 209, 229),
        (
            " ".join(
                f"{first}_{second}_{third}"
                for first in ("USER", "NAME", "MAX")
                for second in ("ID", "SIZE", "URL")
                for third in ("PATH", "HTTP", "CONFIG")
            ),
            135,
            306,
        ),
        (
            "\t".join(
                f"{word}\t{other}"
                for word in ("user", "name", "id", "max", "size", "http", "url", "path", "get")
                for other in ("read", "write", "data", "item", "list", "map", "key", "file")
            ),
            287,
            287,
        ),
        (" ".join(map(chr, range(0x2200, 0x2300))), 1_146, 1_146),
        ("≤ ≥ ✓ ✔ ♥ ☆ ↑ ↓ ✓ ≤ ☆ ↑ ≥", 51, 51),
        (
            "Afghanistan, Azerbaijan, Bangladesh, Cambodia, Cameroon, Ecuador, Estonia, Ethiopia, "
            "Guatemala, Honduras, Kazakhstan, Lithuania, Luxembourg, Mongolia, Mozambique",
            33,
            95,
        ),
        (
            "Williams Thompson Anderson Robinson Mitchell Campbell Phillips Patterson Henderson "
            "Richardson Crawford Ferguson Montgomery Fitzgerald",
            15,
            61,
        ),
        (
            "StringBuilder DateTimeFormatter LinkedHashMap BufferedReader InputStreamReader "
            "ConcurrentHashMap ScheduledExecutorService CompletableFuture ReentrantLock",
            35,
            70,
        ),
        (
            "schizophrenia vulnerabilities cryptocurrency entrepreneurship overwhelmingly "
            "disproportionately troubleshooting indispensable spaghetti",
            30,
            54,
        ),
    ],
    ids=[
        *("codes", "labels", "constants", "table", "mathematics", "signs"),
        *("countries", "names", "classes", "terms"),
    ],
)
def test_the_bound_for_claude_covers_lists_of_capitals_signs_names_and_terms_and_tables(
    text: str, older: int, newer: int
) -> None:
    """The numbers are those of ctok 1.3."""
    assert tokenizer("claude-v3-bound").count(text) >= older
    for name in ("claude-v4.7-bound", "claude-v4.8-bound"):
        assert tokenizer(name).count(text) >= newer


@pytest.mark.parametrize("length", [15, 16, 17, 40, 4096])
@pytest.mark.parametrize("before", ["", "x", "xy", "xyz", "word " * 30])
def test_a_long_run_of_a_character_counts_as_bytes_for_claude(length: int, before: str) -> None:
    count = tokenizer("claude-v3-bound").count(before + "=" * length + "z")
    assert (count >= length) == (length >= 16 or count >= length)


@pytest.mark.parametrize("cycle", ["=-", "it's", " 😀", "12,", "x, y;", "|(>>Z ", "a", "日本"])
@pytest.mark.parametrize("before", ["", "and so on: ", "a" * (1 << 20)])
def test_repetitions_count_as_bytes_for_claude(cycle: str, before: str) -> None:
    for name in ("claude-v3-bound", "claude-v4.7-bound"):
        counts = [tokenizer(name).count(f"{before}{cycle * times} end") for times in (0, 20, 2000)]
        assert counts[1] - counts[0] >= 20 * len(cycle.encode()) - 3
        assert counts[2] - counts[1] >= 1980 * len(cycle.encode())


def test_the_bound_for_claude_uses_the_larger_encoding_of_ascii_text() -> None:
    """A Greenlandic text of the recorded counts: 7,091 tokens, above the 6,358 of o200k_base times
    1.65.
    """
    text = (
        "Inuit tamarmik inunngorput nammineersinnaassuseqarlutik assigiimmillu "
        "ataqqinassuseqarlutik."
    )
    larger = tokenizer("cl100k_base").count(text)
    assert larger > tokenizer("o200k_base").count(text)
    assert tokenizer("claude-v3-bound").count(text) >= 1.65 * larger


@pytest.mark.parametrize(
    "phrase", ["farewell ", "cryptocurrency\n", "Tolkien, ", "the itinerary of coworkers; "]
)
def test_a_repeated_phrase_counts_as_bytes_for_claude(phrase: str) -> None:
    for times in (100, 1000):
        for text in (phrase * times, "some other words before " + phrase * times):
            assert tokenizer("claude-v3-bound").count(text) >= len(phrase) * (times - 1)


def test_a_repetition_is_marked_at_capitals_and_single_spaces() -> None:
    bound = tokenizer("claude-v3-bound").count
    assert bound("Ab, " * 100) == 4 * 100 + 2 * 100 + bound(" ")
    assert bound("ab,   " * 100) == 6 * 100 + bound(" ")


def test_unrepeated_model_names_are_not_cached() -> None:
    metering = Metering(tokenizer, context_window=1000)
    for number in range(300):
        meter = metering.meter(transcript([user("x")], model=f"own-{number}"))
        assert meter.model == f"own-{number}"
        assert [note.code for note in meter.notes] == ["unknown-model"]
    assert len(metering._known) <= 256


def test_plain_messages_cost_their_text_and_the_published_frame() -> None:
    """OpenAI's cookbook: 3 tokens a message and 1 for its role, 1 for a name, 3 once; equal to the
    API's own counts.
    """
    messages = [
        {"role": "system", "content": "Answer like a lighthouse keeper."},
        {"role": "user", "name": "mate_1", "content": "Is the fog coming in?"},
        {"role": "assistant", "content": "Aye."},
    ]
    for model, name in (("gpt-4o", "o200k_base"), ("gpt-4-0613", "cl100k_base")):
        text = tokenizer(name).count
        meter = Metering(tokenizer, model).meter(transcript(messages))
        count = meter.counter.count(transcript(messages))
        assert count.tokens == 3 + sum(
            4 + text(message["content"]) for message in messages
        ) + 1 + text("mate_1")
        assert count.exactness == "exact"


@pytest.mark.parametrize(
    ("model", "extra", "exactness"), [("gpt-4o", 0, "exact"), ("gpt-4", 1, "bounded")]
)
def test_a_name_equal_to_the_role_is_exact_where_requests_are_recorded(
    model: str, extra: int, exactness: str
) -> None:
    talk = transcript([user("Is the fog coming in?") | {"name": "user"}])
    count = Metering(tokenizer, model).meter(talk).counter.count(talk)
    assert (count.framing, count.exactness) == (3 + 4 + extra + 1, exactness)


def test_calls_results_and_schemas_follow_the_published_bound() -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    talk = transcript(
        [user("x"), call("a", "b"), result("a", "日本"), result("b", "y"), says("z")], tools=tools
    )
    count = Metering(tokenizer, "gpt-4o").meter(talk).counter.count(talk)
    text = tokenizer("o200k_base").count
    declared = (
        "# Tools\n\n## functions\n\nnamespace functions {\n\ntype f = () => any;\n\n} // "
        "namespace functions"
    )
    assert count.tools_schema == text(declared) + 5
    assert count.framing == 3 + 5 * 4 + 2 * 10 + 24
    assert count.by_role["tool"] == text(json.dumps("日本")) + max(text("y"), text(json.dumps("y")))
    assert count.by_role["assistant"] == 2 * (2 * text("bash") + text("{}")) + text("z")
    assert count.tokens == sum(count.by_role.values()) + count.framing + count.tools_schema
    assert sum(count.by_kind.values()) == sum(count.by_role.values())
    assert count.by_tool == {
        "bash": count.tokens - count.framing - count.tools_schema - text("x") - text("z")
    }
    assert count.exactness == "bounded"


def test_arguments_with_line_breaks_cost_more() -> None:
    plain, broken = call("a"), call("a")
    broken["tool_calls"][0]["function"]["arguments"] = json.dumps(
        {"a": "x\ny", "b": ["p\nq"], "c": "flat"}
    )
    plain["tool_calls"][0]["function"]["arguments"] = json.dumps(
        {"a": "x", "b": ["p"], "c": "flat"}
    )
    counter = Counter(tokenizer("o200k_base"), FRAMINGS["openai"])
    frames = [
        counter.count(transcript([user("x"), message])).framing for message in (plain, broken)
    ]
    assert frames[1] - frames[0] == 12


def test_images_are_never_counted_as_text() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    talk = transcript([{"role": "user", "content": [{"type": "text", "text": "look"}, image]}])
    count = Metering(tokenizer, "gpt-4o").meter(talk).counter.count(talk)
    assert count.by_kind["attachment"] == 1445
    assert count.tokens < 1500
    assert count.exactness == "bounded"


def test_a_second_measurement_counts_only_new_messages() -> None:
    class Watched:
        name, exactness, seen = "watched", "exact", 0

        def count(self, text: str) -> int:
            Watched.seen += 1
            return len(text)

        ceiling = count

    talk = transcript([user("go"), *step("a", "text"), *step("b", "text")])
    counter = Counter(Watched(), Framing(0, 0))
    counter.tokens(talk)
    seen = Watched.seen
    counter.tokens(talk)
    counter.count(talk)
    assert Watched.seen == seen


def test_the_budget_is_the_window_minus_the_reserve_up_to_max_input() -> None:
    assert Budget(128_000, 4096).available == 123_904
    assert Budget(400_000, 4096, 272_000).available == 272_000
    assert Budget(400_000, 4096, 272_000, 500).available == 500
    assert Budget(128_000, 4096, safety=2.0).available == 61_952


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("openai/gpt-4.1-mini", "gpt-4.1-mini"),
        ("ft:gpt-4.1-mini-2025-04-14:acme::1", "gpt-4.1-mini"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-5.1", "gpt-5.1"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-sonnet-4-6", "claude-sonnet-4-6"),
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet"),
        ("gpt-4.5-preview", "gpt-4.5-preview"),
        ("nobody-knows", None),
    ],
)
def test_a_model_is_the_longest_name_it_begins_with(name: str, known: str | None) -> None:
    model = find_model(name)
    assert (model.name if model else None) == known


def test_every_model_has_a_tokenizer_a_framing_and_room_for_a_prompt() -> None:
    for model in known_models():
        assert model.tokenizer in TOKENIZERS
        assert model.framing in FRAMINGS
        assert model.context_window > 4000
        assert model.max_input is None or model.max_input < model.context_window


def test_substitute_tokenizers_are_labelled_estimated() -> None:
    talk = transcript([user("hello")])

    def exactness(**options: str) -> str:
        return Metering(tokenizer, **options).meter(talk).counter.count(talk).exactness

    assert exactness() == "estimated"
    assert exactness(model="nobody-knows") == "estimated"
    assert exactness(model="gpt-4o", tokenizer="cl100k_base") == "estimated"
    assert exactness(model="gpt-4o", tokenizer="gpt") == "exact"
    assert exactness(model="gpt-5") == "bounded"
    assert exactness(model="claude-opus-4-5") == tokenizer("claude-v3").exactness
    assert tokenizer("claude-v3").exactness == ("reconstructed" if available() else "bounded")


def test_a_bound_that_rests_on_a_guess_is_an_estimate() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}
    page = base64.b64encode(b"%PDF-1.4\n1 0 obj<</Type/Page>>").decode()
    document = {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{page}"}}
    for block in (sound, document):  # a page has 3,000 tokens of text typically, not at most
        talk = transcript([{"role": "user", "content": [block]}])
        for model in ("gpt-4o", "claude-sonnet-4"):
            counted = Metering(tokenizer, model).meter(talk).counter.count(talk)
            assert counted.exactness == "estimated"


def test_an_unknown_model_uses_the_larger_of_two_counts_with_a_note() -> None:
    talk = transcript([user("日本語" * 100)])
    meter = Metering(tokenizer, "gpt-4p").meter(talk)
    assert meter.counter.text("日本語" * 100) == max(
        tokenizer("o200k_base").count("日本語" * 100), 75
    )
    assert "gpt-4" in meter.notes[0].message
    assert "--context-window" in meter.notes[0].message


def test_safety_divides_the_budget_of_estimates_only() -> None:
    talk = transcript([user("hello")])
    assert Metering(tokenizer, limit=1000, safety=1.25).meter(talk).budget.available == 800
    assert (
        Metering(tokenizer, "gpt-4o", limit=1000, safety=1.25).meter(talk).budget.available == 1000
    )


def test_a_reserve_that_leaves_nothing_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="leaves no room"):
        Metering(tokenizer, context_window=4000, reserve=4000)
    assert (
        Metering(tokenizer, context_window=4000).meter(transcript([user("x")])).budget.available
        == 2000
    )


def test_the_last_recorded_model_is_the_default() -> None:
    talk = transcript([user("x")], model="gpt-4o")
    assert Metering(tokenizer).meter(talk).model == "gpt-4o"
    assert Metering(tokenizer, "gpt-4").meter(talk).model == "gpt-4"


def test_a_preset_limits_an_assumed_window_but_not_a_given_one() -> None:
    talk = transcript([user("go")])

    def window(given: int | None, model: str = "gpt-4o") -> int:
        metering = Metering(tokenizer, model, context_window=given, max_window=50_000)
        return metering.meter(talk).budget.context_window

    assert window(None) == 50_000
    assert window(90_000) == 90_000
    assert window(None, "gpt-4") == 8192
