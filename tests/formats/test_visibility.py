"""Visibility of messages: messages hidden from the model do not affect anything and stay in the
file unchanged.
"""

import json
from typing import Any

import pytest
from builders_pi import calls, entry, lines, of, result, says, session, text, transcript, user
from harness import read, run
from hypothesis import given
from hypothesis import strategies as st
from insertions import format_of, written
from msgspec.structs import replace
from strategies import (
    CONVERSATIONS,
    EVENTS,
    as_json,
    budgets,
    conversations,
    files,
    styles,
    trims,
)

from ctxtrim.conversation.alternation import is_alternating
from ctxtrim.conversation.recency import recent, recent_from
from ctxtrim.conversation.tasks import current_task, opening_task
from ctxtrim.conversation.turns import shape
from ctxtrim.errors import SelfCheckError
from ctxtrim.evidence.duplicates import copies
from ctxtrim.evidence.quotes import quoted
from ctxtrim.formats.chunks import Chunk
from ctxtrim.formats.self_check import check
from ctxtrim.formats.writing import rewrite
from ctxtrim.metering import Metering
from ctxtrim.metering.calibration import recorded_answers
from ctxtrim.model import Message, Part, Transcript
from ctxtrim.pipeline import StagePipeline
from ctxtrim.stage import Outcome, Stage
from ctxtrim.stages.drop_images import DropImages
from ctxtrim.stages.reasoning import without_invalid_reasoning
from ctxtrim.stages.repair import Repair
from ctxtrim.stages.structure import PROFILES, findings
from ctxtrim.stages.summarize import Summarize
from ctxtrim.stages.trim.stage import Trim
from ctxtrim.stages.truncate.stage import Truncate
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.tokenizer import Budget

HIDDEN: dict[str, Any] = {"metadata": {"agentVisible": False}}
TALK = [
    user("list"),
    calls("c1"),
    result("c1"),
    says("one"),
    calls("c2"),
    result("c2"),
    says("two"),
]
ARCHIVED: dict[str, Any] = {"agent_visible": False, "kind": "tool_result_archived"}
DIGEST = Message(
    "user", (Part("text", "bash: ok"),), user_visible=False, kind="tool_summary", is_injected=True
)


def counter(transcript: Transcript) -> Counter:
    return Metering(tokenizer, None, "chars4").meter(transcript).counter


def hiding(transcript: Transcript, *places: int, **how: Any) -> Transcript:
    """The transcript with the messages at these positions hidden, or with the metadata `how`."""
    how = how or {"agent_visible": False}
    messages = [
        replace(message, **how) if position in places else message
        for position, message in enumerate(transcript.messages)
    ]
    return replace(transcript, messages=tuple(messages))


def without(transcript: Transcript) -> Transcript:
    """The transcript without its hidden messages."""
    return replace(
        transcript,
        messages=tuple(message for message in transcript.messages if message.agent_visible),
    )


def edited(data: bytes, *places: int, **how: Any) -> bytes:
    """A file in which the messages at these positions have the metadata `how`."""
    chunk = read(data)[0]
    return written(chunk, format_of(data), hiding(chunk.transcripts[0], *places, **how))


@pytest.mark.parametrize(
    ("metadata", "seen"),
    [
        (None, (True, True, None)),
        ({}, (True, True, None)),
        ({"kind": "tool_result"}, (True, True, "tool_result")),
        ({"kind": 7, "agentVisible": None}, (True, True, None)),
        ({"agentVisible": True, "userVisible": True}, (True, True, None)),
        (
            {"agentVisible": False, "kind": "tool_result_archived"},
            (False, True, "tool_result_archived"),
        ),
        ({"userVisible": False, "kind": "tool_summary"}, (True, False, "tool_summary")),
        ({"agent_visible": False, "user_visible": False}, (False, False, None)),
        ("hidden", (True, True, None)),
    ],
)
@pytest.mark.parametrize("in_session", [True, False])
def test_s3_4_a_message_has_visibility_and_kind_and_is_visible_by_default(
    metadata: object, seen: tuple[bool, bool, str | None], in_session: bool
) -> None:
    first_message = user("hi") if metadata is None else user("hi", metadata=metadata)
    if in_session:
        message = transcript(session(entry("a", None, first_message))).messages[0]
    else:
        message = of(first_message, says("ok")).messages[0]
    assert (message.agent_visible, message.user_visible, message.kind) == seen
    assert message.is_injected is (seen[1] is False)


@pytest.mark.parametrize("kind", ["custom_message", "branch_summary"])
def test_s3_4_entries_of_extensions_and_branches_control_visibility(kind: str) -> None:
    body = {"content": "aside", "summary": "aside", "fromId": "x"}
    parsed = transcript(
        session(entry("a", None, user("go")), entry("b", "a", type=kind, **body, **HIDDEN))
    )
    assert [message.agent_visible for message in parsed.messages] == [True, False]


def test_s3_4_hidden_messages_are_neither_sent_nor_counted() -> None:
    shown = of(TALK[0], *TALK[3:])
    hidden = of(TALK[0], TALK[1] | HIDDEN, TALK[2] | HIDDEN, *TALK[3:])
    counts = [counter(transcript).count(transcript) for transcript in (shown, hidden)]
    assert counts[0] == counts[1]
    assert counter(hidden).costs(hidden.messages)[1].total == 0
    assert counter(hidden).addends(hidden.messages[2], 1) == {}
    turn_shape = shape(hidden.messages)
    assert (turn_shape.steps, turn_shape.unanswered, turn_shape.step) == (
        1,
        (),
        (0, 0, 0, 0, 1, 1, 1),
    )
    assert hidden.messages != of(*TALK).messages


def test_s3_4_the_report_shows_hidden_messages_with_no_tokens() -> None:
    from io import BytesIO

    from ctxtrim.formats.reading import open_reading
    from ctxtrim.reports.rows import Details
    from ctxtrim.stream import done_chunks
    from ctxtrim.stream.job import Job

    data = lines({"messages": [TALK[0], TALK[1] | HIDDEN, TALK[2] | HIDDEN, *TALK[3:]]})
    job = Job(
        StagePipeline((), Metering(tokenizer, None, "chars4")), details=Details(explained=True)
    )
    (row,) = next(done_chunks("file", open_reading(BytesIO(data)).chunks, job, None)).rows
    summary = [(row.tokens, row.decision, row.reason) for row in row.explained]
    assert summary[1:3] == [(0, "kept", "hidden")] * 2
    assert all(
        tokens > 0 and reason == "nothing to do" for tokens, _, reason in (summary[0], *summary[3:])
    )


NEW = '"metadata":{"agentVisible":false,"userVisible":true,"kind":"tool_result_archived"}'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '{"role":"user" , "content":"a","n":1.10}',
            '{"role":"user" , "content":"a","n":1.10 , ' + NEW + "}",
        ),
        (
            '{"role":"user","content":"a","metadata":null}',
            '{"role":"user","content":"a",' + NEW + "}",
        ),
        (
            '{"metadata":{},"role":"user","content":"a"}',
            '{"metadata":{"agentVisible": false, "kind": '
            '"tool_result_archived"},"role":"user","content":"a"}',
        ),
        (
            '{"role":"user","metadata":{"userVisible":true,"x":1e2},"content":"a"}',
            '{"role":"user","metadata":{"userVisible":true,"x":1e2,"agentVisible":false,"kind":"tool_result_archived"},'
            '"content":"a"}',
        ),
        (
            '{"role":"user","metadata":{"kind":"tool_result","agent_visible":true},"content":"a"}',
            '{"role":"user","metadata":{"kind":"tool_result_archived","agent_visible":false},"content":"a"}',
        ),
    ],
)
@pytest.mark.parametrize(
    "around",
    [
        '{"messages":[%s,{"role":"toolResult","content":"b"}]}\n',
        '{"type":"session","cwd":"/x"}\n{"type":"message","message":%s}\n{"type":"message","message":{"role":"user"}}\n',
    ],
)
def test_hiding_a_message_changes_only_its_metadata(before: str, after: str, around: str) -> None:
    data = (around % before).encode()
    assert edited(data, 0, **ARCHIVED) == (around % after).encode()


def test_hiding_uses_the_key_names_of_the_file() -> None:
    first = user("a", metadata={"agent_visible": False, "user_visible": True})
    data = lines({"messages": [first, *TALK]})
    out = json.loads(edited(data, 2, 3, **ARCHIVED))["messages"]
    fields = {"agent_visible": False, "user_visible": True, "kind": "tool_result_archived"}
    assert [item.get("metadata") for item in out[1:4]] == [None, fields, fields]
    assert (out[0], out[4:]) == (first, TALK[3:])


def test_a_hidden_message_can_be_shown_again() -> None:
    message = user("a", metadata={"agentVisible": False, "kind": "tool_result_archived"})
    out = edited(lines({"messages": [message, *TALK]}), 0, agent_visible=True, kind=None)
    assert json.loads(out)["messages"][0]["metadata"] == {"agentVisible": True, "kind": None}


def digested(data: bytes) -> bytes:
    """A file of `TALK` with the first step archived and a digest after it."""
    chunk = read(data)[0]
    transcript = hiding(chunk.transcripts[0], 1, 2, **ARCHIVED)
    meant = replace(
        transcript, messages=(*transcript.messages[:3], DIGEST, *transcript.messages[3:])
    )
    return written(chunk, format_of(data), meant)


def test_an_archived_step_and_its_digest_in_a_list() -> None:
    out = json.loads(digested(lines({"messages": TALK})))["messages"]
    hidden = {
        "metadata": {"agentVisible": False, "userVisible": True, "kind": "tool_result_archived"}
    }
    fields = {"metadata": {"agentVisible": True, "userVisible": False, "kind": "tool_summary"}}
    digest = {"role": "user", "content": [text("bash: ok")]} | fields
    assert out == [TALK[0], TALK[1] | hidden, TALK[2] | hidden, digest, *TALK[3:]]


def test_an_archived_step_and_its_digest_in_a_session() -> None:
    entries = [
        entry(f"e{position}", f"e{position - 1}" if position else None, message)
        for position, message in enumerate(TALK)
    ]
    out = [json.loads(line) for line in digested(session(*entries)).splitlines()[1:]]
    seen = [
        (event["message"]["role"], event["message"].get("metadata", {}).get("kind"))
        for event in out[1:5]
    ]
    archived = "tool_result_archived"
    assert seen == [
        ("assistant", archived),
        ("toolResult", archived),
        ("user", "tool_summary"),
        ("assistant", None),
    ]
    assert [event["parentId"] for event in out[1:]] == [event["id"] for event in out[:-1]]


def test_metadata_links_and_visibility_of_an_entry_change_together() -> None:
    entries = [
        entry("a", None, user("one")),
        entry("b", "a", user("two")),
        entry("c", "b", result("c1")),
    ]
    data = session(*entries)
    chunk = read(data)[0]
    transcript = chunk.transcripts[0]
    last = replace(transcript.messages[2], metadata=(("_truncatedAt", 3),), agent_visible=False)
    out = written(
        chunk, format_of(data), replace(transcript, messages=(transcript.messages[0], last))
    )
    changed = json.loads(out.splitlines()[-1])
    assert (changed["parentId"], changed["_truncatedAt"]) == ("a", 3)
    assert changed["message"]["metadata"] == {"agentVisible": False, "userVisible": True}


OPENAI = (
    b'{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n'
)


@pytest.mark.parametrize(
    "how", [{"agent_visible": False}, {"user_visible": False}, {"kind": "tool_result"}]
)
def test_s3_8_formats_without_visibility_hide_nothing(
    how: dict[str, Any],
) -> None:
    chunk = read(OPENAI)[0]
    (transcript,) = chunk.transcripts
    assert not transcript.rules.hides
    assert of(*TALK).rules.hides
    with pytest.raises(SelfCheckError, match="openai-chat: message 0 is hidden"):
        rewrite(format_of(OPENAI), chunk.lines, [hiding(transcript, 0, **how)])
    with pytest.raises(SelfCheckError, match="openai-chat: an inserted message is hidden"):
        rewrite(
            format_of(OPENAI),
            chunk.lines,
            [replace(transcript, messages=(*transcript.messages, DIGEST))],
        )


@pytest.mark.parametrize(
    "data",
    [
        lines({"systemPrompt": "Be brief.", "messages": TALK}),
        session(
            entry("a", None, type="compaction", summary="so", tokensBefore=1),
            entry("b", "a", user("go")),
        ),
        lines({"messages": [user("go", metadata="a word"), *TALK[1:]]}),
    ],
)
def test_hiding_an_unsupported_message_is_an_error(data: bytes) -> None:
    with pytest.raises(SelfCheckError):
        edited(data, 0, agent_visible=False)


def test_hiding_a_result_alone_leaves_its_call_open() -> None:
    transcript = hiding(of(*TALK), 2)
    assert [position for position, _ in shape(transcript.messages).unanswered] == [1]
    mended = Repair(counter(transcript), Budget(1000, 0))(transcript).transcript
    assert [message.role for message in mended.messages] == [
        "user",
        "tool",
        "assistant",
        "assistant",
        "tool",
        "assistant",
    ]
    assert not mended.messages[1].agent_visible


def test_trim_keeps_hidden_messages() -> None:
    talk = [user("first"), TALK[1] | HIDDEN, TALK[2] | HIDDEN, says("word " * 50), user("now")]
    data = lines({"messages": talk})
    ran = run(data, [("trim", {})], limit=40)
    assert json.loads(ran.data or b"")["messages"] == [*talk[1:3], talk[4]]
    (changed,) = ran.rows[0].steps
    assert [measurement.change.reason for measurement in changed.changes][1:3] == [
        "hidden",
        "hidden",
    ]
    full = run(data, [("trim", {})], limit=1)
    (overflow,) = full.rows[0].findings
    assert not any(": ≈0 tokens" in detail for detail in overflow.details)


SHOWN = "the only line of this result, with words of its own\n"
RUNS = [calls("c1"), result("c1", SHOWN), calls("c2"), result("c2", SHOWN)]


def test_a_hidden_result_is_no_newer_copy_of_others() -> None:
    third = [calls("c3") | HIDDEN, result("c3", SHOWN) | HIDDEN]
    messages = of(user("go"), *RUNS, *third, says("done")).messages
    assert copies(shape(messages)) == {2: 4}
    assert copies(shape(messages[:-2])) == {2: 4}


def quotes_in(*talk: Any) -> dict[int, tuple[int, int]]:
    messages = of(user("go"), *talk).messages
    return quoted(shape(messages))


def test_a_hidden_prompt_quotes_nothing() -> None:
    assert quotes_in(*RUNS[:2], user(SHOWN)) == {2: (0, len(SHOWN))}
    assert quotes_in(*RUNS[:2], user(SHOWN) | HIDDEN) == {}


def test_a_line_of_a_hidden_result_may_be_quoted_from_another() -> None:
    line = "a single line that two results have"
    again = [calls("c2"), result("c2", line)]
    assert quotes_in(RUNS[0], result("c1", line), *again, user(line)) == {}
    hidden = [message | HIDDEN for message in again]
    assert quotes_in(RUNS[0], result("c1", line), *hidden, user(line)) == {2: (0, len(line))}


def test_a_pin_does_not_keep_the_prompt_of_a_hidden_message() -> None:
    talk = [user("find " * 9), says("needle") | HIDDEN, says("no"), user("stop"), says("yes")]
    ran = run(lines({"messages": talk}), [("trim", {"pin": ("needle",)})], limit=14)
    assert json.loads(ran.data or b"")["messages"] == [talk[1], *talk[3:]]


def test_hidden_messages_are_not_among_the_last_messages() -> None:
    last = [says(word) | HIDDEN for word in ("b", "c")]
    messages = of(user("a"), says("one"), user("two"), *last).messages
    costs = [1, 1, 1, 0, 0]
    near = recent(shape(messages), costs, turns=0, count=2, tokens=0)
    assert near == [False, True, True, True, True]
    assert recent_from(shape(messages), costs, turns=0, count=2, tokens=0) == 1


def test_a_hidden_message_does_not_separate_a_call_from_its_results() -> None:
    transcript = of(user("go"), calls("c1", "c2"), says("b") | HIDDEN, result("c1"))
    repair = Repair(counter(transcript), Budget(1000, 0), repair="synthesize")
    messages = repair(replace(transcript, messages=(*transcript.messages, DIGEST)))
    ids = [message.result and message.result.call_id for message in messages.transcript.messages]
    assert ids == [None, None, None, "c1", "c2", None]


def test_a_hidden_summary_stays_and_is_not_merged() -> None:
    earlier = user("[Summary of 3 earlier messages]\nThe moon is made of cheese.") | HIDDEN
    talk = [earlier, user("first " * 60), says("word " * 60), user("now")]
    ran = run(lines({"messages": talk}), [("trim", {"summarize": True})], limit=130)
    kept, prompt = json.loads(ran.data or b"")["messages"]
    assert kept == earlier
    (block,) = prompt["content"]
    assert block["text"].startswith("[Summary of 2 earlier messages]")
    assert block["text"].endswith("now")


LONG = "word " * 50
ASIDE = user("aside") | HIDDEN


@pytest.mark.parametrize(
    ("talk", "limit", "left"),
    [
        ([user("a"), says("b") | HIDDEN, says(LONG), user("c"), says(LONG), user("d")], 14, [1, 5]),
        ([user("a"), says("b"), user(LONG), ASIDE, says("c"), user("d")], 40, [0, 1, 3, 5]),
        ([user("a"), says(LONG), user("b"), says(LONG), ASIDE], 40, [2, 4]),
    ],
)
def test_trim_ignores_hidden_answers_and_prompts(
    talk: list[Any], limit: int, left: list[int]
) -> None:
    ran = run(lines({"messages": talk}), [("trim", {})], limit=limit)
    assert json.loads(ran.data or b"")["messages"] == [talk[position] for position in left]


def test_an_exact_count_stays_exact_with_hidden_results() -> None:
    transcript = of(TALK[0], TALK[1] | HIDDEN, TALK[2] | HIDDEN, says("one"))
    exact = Metering(tokenizer, "gpt-4o", "o200k_base").meter(transcript).counter
    assert (exact.exactness(transcript), exact.exactness(of(*TALK))) == ("exact", "bounded")


def test_hiding_is_an_edit_for_later_thinking() -> None:
    thought = says("", content=[{"type": "thinking", "thinking": "hmm"}, text("so")])
    transcript = of(*TALK[:3], thought, user("more"))

    def left(after: Transcript, before: Transcript = transcript) -> int:
        messages = without_invalid_reasoning(
            before, Outcome(after), "strip-after-edit", {}
        ).transcript.messages
        return sum(part.kind == "reasoning" for message in messages for part in message.parts)

    assert left(hiding(transcript, 1, 2)) == 0
    assert left(hiding(transcript, 2, kind="tool_result")) == 1
    hidden = hiding(transcript, 1, 2)
    assert left(replace(hidden, messages=(hidden.messages[0], *hidden.messages[3:])), hidden) == 1
    assert left(hiding(hiding(transcript, 3), 1, 2)) == 1  # a hidden message keeps its own cost


def test_usage_of_a_hidden_answer_is_not_used_for_calibration() -> None:
    usage = {"usage": {"input": 7, "output": 1}}
    transcript = of(user("go"), says("a", **usage), says("b", **usage, **HIDDEN))
    assert [
        answer.position for answer in recorded_answers(transcript, lambda model: True).answers
    ] == [1]


@st.composite
def hidden(draw: st.DrawFn) -> Transcript | None:
    """Some transcript with some of its exchanges hidden."""
    transcripts = [
        transcript
        for chunk in read(draw(files()))
        for transcript in chunk.transcripts
        if transcript.messages
    ]
    if not transcripts:
        return None
    transcript = draw(st.sampled_from(transcripts))
    homes = shape(transcript.messages).exchange
    gone = draw(st.sets(st.sampled_from(sorted(set(homes))), max_size=4))
    return hiding(transcript, *(position for position, home in enumerate(homes) if home in gone))


@given(hidden())
def test_hidden_messages_do_not_affect_counts_and_checks(transcript: Transcript | None) -> None:
    if transcript is None:
        return
    less = without(transcript)
    places = [
        position for position, message in enumerate(transcript.messages) if message.agent_visible
    ]
    turn_shape, bare = shape(transcript.messages), shape(less.messages)
    for indices, expected in (
        (turn_shape.step, bare.step),
        (turn_shape.turn, bare.turn),
        (turn_shape.fan, bare.fan),
    ):
        assert [indices[position] for position in places] == list(expected)
    assert [turn_shape.call[position] for position in places] == list(bare.call)
    assert [turn_shape.exchange[position] for position in places] == [
        places[home] for home in bare.exchange
    ]
    assert turn_shape.steps == bare.steps
    assert turn_shape.unanswered == tuple(
        (places[position], call) for position, call in bare.unanswered
    )
    for task in (current_task, opening_task):
        indices = task(less.messages)
        assert task(transcript.messages) == (None if indices is None else places[indices])
    assert is_alternating(turn_shape) == is_alternating(bare)
    counts = counter(transcript)
    assert counts.count(transcript) == counts.count(less)
    for rules in PROFILES.values():
        parsed_findings = list(findings(rules, transcript, turn_shape, is_request=True))
        assert parsed_findings == list(findings(rules, less, bare, is_request=True))


def assert_alike(stage: Stage, transcript: Transcript) -> None:
    """A stage treats visible messages as if there were no others, and keeps all others."""
    outcome, expected = stage(transcript), stage(without(transcript))
    assert without(outcome.transcript) == expected.transcript
    assert [message for message in outcome.transcript.messages if not message.agent_visible] == [
        message for message in transcript.messages if not message.agent_visible
    ]
    assert outcome.findings == expected.findings


@given(hidden(), budgets)
def test_stages_treat_visible_messages_as_without_hidden_messages(
    transcript: Transcript | None, budget: int
) -> None:
    if transcript is None:
        return
    counts, whole = counter(transcript), Budget(100_000, 0)
    for stage in (
        Trim(counts, Budget(0, 0, None, budget)),
        Repair(counts, whole),
        Repair(counts, whole, repair="synthesize"),
        Truncate(counts, whole, max_age=1, dedupe=True),
        DropImages(counts, whole, max_age=0),
        Summarize(counts, whole, keep_recent_turns=0, keep_recent_messages=2),
    ):
        assert_alike(stage, transcript)


@given(hidden(), budgets, trims)
def test_trim_treats_visible_messages_as_without_hidden_messages(
    transcript: Transcript | None, budget: int, settings: dict[str, Any]
) -> None:
    if transcript is not None:
        settings = settings | {"target": float(settings.get("target", 1))}
        stage = Trim(counter(transcript), Budget(0, 0, None, budget), **settings)
        assert_alike(stage, transcript)


@st.composite
def files_of_pi(draw: st.DrawFn) -> bytes:
    """A list of messages, a session, or a session from before entries had ids."""
    talk, style = draw(conversations()), draw(styles())
    name = draw(st.sampled_from(["list", "pi", "pi, sessions", "pi, old sessions"]))
    values = [CONVERSATIONS["pi"](talk, 1)] if name == "list" else EVENTS[name](talk)
    return b"".join(as_json(value, style) + b"\n" for value in values)


@given(files_of_pi(), st.data())
def test_a_file_with_hidden_messages_reads_back_unchanged(data: bytes, draw: st.DataObject) -> None:
    chunk = next(iter(read(data)), None)
    if chunk is None or not chunk.transcripts:
        return
    (transcript,) = chunk.transcripts
    fixed = {
        position
        for position, message in enumerate(transcript.messages)
        if _is_fixed(message, chunk)
    }
    places = draw.draw(st.sets(st.sampled_from(range(len(transcript.messages))))) - fixed
    how = draw.draw(
        st.sampled_from([ARCHIVED, {"agent_visible": True, "kind": None}, {"user_visible": False}])
    )
    meant = hiding(transcript, *places, **how)
    out = rewrite(format_of(data), chunk.lines, [meant]).pieces
    check(format_of(data), chunk.lines, out, [meant])
    pairs = zip(transcript.messages, meant.messages, strict=True)
    touched = {span.line for old, new in pairs for span in new.spans if old != new}
    assert {
        position for position, line in enumerate(chunk.lines) if line.data != out[position]
    } == touched


@given(files_of_pi(), st.data())
def test_digests_follow_archived_messages_while_others_are_dropped(
    data: bytes, draw: st.DataObject
) -> None:
    chunk = next(iter(read(data)), None)
    if chunk is None or not chunk.transcripts:
        return
    (transcript,) = chunk.transcripts
    homes = shape(transcript.messages).exchange
    steps = {
        home
        for home, message in zip(homes, transcript.messages, strict=True)
        if message.role == "tool"
    }
    steps = {home for home in steps if transcript.messages[home].role == "assistant"}
    archived = {home for home in steps if draw.draw(st.booleans())}
    gone = {home for home in steps - archived if draw.draw(st.booleans())}
    messages: list[Message] = []
    for position, (home, message) in enumerate(zip(homes, transcript.messages, strict=True)):
        if home not in gone:
            messages.append(replace(message, **ARCHIVED) if home in archived else message)
        if (
            home in archived
            and homes[position + 1 : position + 2] != (home,)
            and home not in homes[position + 1 :]
        ):
            messages.append(DIGEST)
    meant = replace(transcript, messages=tuple(messages))
    out = b"".join(rewrite(format_of(data), chunk.lines, [meant]).pieces)
    (again,) = read(out)[0].transcripts
    assert again.messages == meant.messages
    assert counter(transcript).count(again) == counter(transcript).count(without(meant))


def _is_fixed(message: Message, chunk: Chunk) -> bool:
    """Whether a message cannot store its visibility: a system prompt, or a compaction."""
    span = message.spans[0]
    return message.role == "system" or (
        not span.path and b'"compaction"' in chunk.lines[span.line].data
    )
