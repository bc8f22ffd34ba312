"""Sessions are compacted (S3-1, S3-3, S3-10, S3-11)."""

import json
from dataclasses import fields
from typing import Any

import pytest
from builders import call, contents, conversation, result, says, step, user
from builders_pi import calls as pi_calls
from builders_pi import entry, session
from builders_pi import result as pi_result
from builders_pi import says as pi_says
from builders_pi import text as pi_text
from builders_pi import user as pi_user
from harness import Ran, read, run
from test_cutoff import KEY, LONG, Answers
from writers.anthropic import conversation as anthropic
from writers.claude_code import claude_events

from ctxtrim.config.presets import PRESETS, merged
from ctxtrim.conversation.turns import shape
from ctxtrim.errors import SummaryError
from ctxtrim.metering import Metering
from ctxtrim.stages.compact import Compact
from ctxtrim.stages.cutoff import Cutoff
from ctxtrim.summaries import markers
from ctxtrim.summaries.digests import DID
from ctxtrim.summaries.sections import HEADINGS
from ctxtrim.tokenizers import tokenizer

SYSTEM = {"role": "system", "content": "Be brief."}
TASK = "Look at the tide tables. Never touch the log."
ROWS = LONG + LONG


def talk(number: int, text: str = ROWS) -> list[dict[str, Any]]:
    """A first task that takes many steps, and a second task that has just begun."""
    values = [SYSTEM, user(TASK), says("We decided: keep to the north."), user("Go on.")]
    for position in range(1, number + 1):
        values += step(f"c{position}", f"{position}: {text}", command=f"ls {position}")
    return [
        *values,
        says("It is dry at noon."),
        user("And tomorrow?"),
        *step("d", "rising"),
        says("At one."),
    ]


def findings_of(ran: Ran, code: str) -> list[str]:
    return [
        finding.message
        for step in ran.rows[0].steps
        for finding in step.findings
        if finding.code == code
    ]


def compact(messages: list[dict[str, Any]], **settings: Any) -> Ran:
    return run(conversation(messages), [("compact", settings)])


def test_s3_1_the_settings_and_their_defaults() -> None:
    known = {
        item.name: item.default
        for item in (*fields(Compact), *fields(Cutoff))
        if "help" in item.metadata
    }
    expected = {
        "max_messages": 50, "session_tokens": 8000, "keep_recent_messages": 5,
        "keep_recent_tokens": 20_000, "tool_cutoff": 10, "tool_summary": "llm", "auto": True,
    }  # fmt: skip
    assert {name: known[name] for name in expected} == expected
    assert PRESETS["compact"].reserve == 16_384


def test_s3_1_the_preset_limits_archives_and_compacts_in_this_order() -> None:
    preset = PRESETS["compact"]
    assert list(preset.stages) == ["truncate", "cutoff", "compact", "trim"]
    limits = {"max_lines": 2000, "max_bytes": 51_200, "max_chars": 204_800, "spill_above": 204_800}
    assert limits.items() <= preset.stages["truncate"].items()
    assert preset.window is None
    assert list(merged(["budget", "compact"]).stages) == ["truncate", "cutoff", "compact", "trim"]


def test_s3_1_the_preset_drops_no_result_by_age() -> None:
    data = conversation(talk(9, "row " * 20))
    stages = [(name, dict(settings)) for name, settings in PRESETS["compact"].stages.items()]
    assert run(data, stages).data == data


def test_s3_11_one_message_after_the_system_prompt_replaces_old_history() -> None:
    ran = compact(talk(30), tool_cutoff=100)
    before, after = talk(30), json.loads(ran.data or b"")["messages"]
    assert after[0] == SYSTEM
    assert after[1]["role"] == "user"
    assert after[1]["content"].startswith(f"{markers.TITLE}\n")
    assert after[2:] == before[-len(after[2:]) :]
    assert after[2]["role"] == "assistant"
    recent = sum(len(json.dumps(item)) for item in after[2:]) // 4
    assert 2000 < recent < 6000
    assert ran.rows[0].count.tokens < ran.rows[0].tokens_read / 2


def test_s3_10_the_summary_has_six_headings_with_facts() -> None:
    messages = talk(80, "short " * 20)
    (text,) = [
        content
        for content in contents(compact(messages, session_tokens=2500).data)
        if content and content.startswith(markers.TITLE)
    ]
    assert [line[3:] for line in text.split("\n") if line.startswith("## ")] == [
        *HEADINGS[:2],
        "Progress",
        "Key Decisions",
    ]
    assert f"> {TASK}" in text
    assert "- [?] ls 40" in text
    assert "> We decided: keep to the north." in text


def test_s3_10_the_split_keeps_exchanges_whole() -> None:
    parallel = [call("a", "b", "c"), *(result(text, LONG) for text in "abc")]
    messages = [user(LONG * 4), says("so"), user("two"), *parallel, says("ok")]
    for keep in range(0, 2400, 150):
        ran = compact(messages, session_tokens=1, keep_recent_tokens=keep, keep_recent_messages=2)
        (transcript,) = read(ran.data or b"")[0].transcripts
        assert not shape(transcript.messages).unanswered
        assert sum(message.role == "tool" for message in transcript.messages) in (0, 3)


def test_s3_3_recent_messages_use_at_most_half_of_the_limit() -> None:
    left = [
        len(contents(compact(talk(40), session_tokens=most, tool_cutoff=99).data))
        for most in (2000, 4000, 8000)
    ]
    assert left[0] < left[1] < left[2]
    assert contents(
        compact(talk(40), session_tokens=8000, keep_recent_tokens=1000, tool_cutoff=99).data
    ) == contents(
        compact(talk(40), session_tokens=8000, keep_recent_tokens=1000, tool_cutoff=98).data
    )


def test_s3_10_keep_messages_applies_without_keep_tokens() -> None:
    after = json.loads(compact(talk(30), keep_recent_tokens=0, keep_recent_messages=4).data or b"")[
        "messages"
    ]
    assert after[0] == SYSTEM
    assert after[1]["content"].endswith(f"{markers.END}And tomorrow?")
    assert after[2:] == talk(30)[-3:]


def test_s3_2_a_trigger_by_messages_keeps_a_number_of_messages() -> None:
    ran = compact(talk(30, "short"), session_tokens=0)
    assert findings_of(ran, "trigger") == ["compaction is due: 69 messages >= the limit of 50"]
    assert ran.rows[0].messages <= 7
    assert compact(talk(20, "short"), session_tokens=0).data == conversation(talk(20, "short"))


def test_s3_10_an_old_current_task_is_kept_after_the_summary() -> None:
    messages = [
        SYSTEM,
        user("Do it all."),
        *(message for position in range(40) for message in step(f"c{position}", LONG)),
    ]
    ran = compact(messages, tool_cutoff=99)
    after = json.loads(ran.data or b"")["messages"]
    assert after[1]["content"].startswith(markers.TITLE)
    assert after[1]["content"].endswith(f"{markers.END}Do it all.")
    assert after[2:] == messages[-len(after[2:]) :]


def test_s3_10_pinned_messages_are_kept() -> None:
    ran = compact(talk(30), pin=("id:c3",))
    assert "3: " + ROWS in contents(ran.data)
    (transcript,) = read(ran.data or b"")[0].transcripts
    assert not shape(transcript.messages).unanswered


def test_s3_11_one_digest_replaces_surplus_recent_results() -> None:
    ran = compact(talk(40), session_tokens=8000, tool_cutoff=3)
    after = json.loads(ran.data or b"")["messages"]
    assert sum(message["role"] == "tool" for message in after) == 3
    assert after[1]["content"].startswith(markers.TITLE)
    assert markers.DIGEST not in after[1]["content"]
    digest = after[2]["content"]
    assert digest.startswith(f"{markers.DIGEST}\n{DID}\n")
    assert "[✓ bash: ls 36 | " in digest
    assert len(digest) <= 800
    (transcript,) = read(ran.data or b"")[0].transcripts
    assert [message.is_injected for message in transcript.messages[1:3]] == [True, True]


def test_s3_11_with_digests_off_all_recent_results_are_kept() -> None:
    ran = compact(talk(40), tool_cutoff=3, tool_summary="off")
    assert sum(message["role"] == "tool" for message in json.loads(ran.data or b"")["messages"]) > 3
    assert markers.DIGEST.encode() not in (ran.data or b"")


def test_s3_11_a_session_format_gets_a_compaction_and_hides_archived_steps() -> None:
    messages = [
        pi_user("look"),
        *(
            message
            for at in range(20)
            for message in (pi_calls(f"c{at}"), pi_result(f"c{at}", [pi_text(LONG)]))
        ),
    ]
    messages += [pi_says("done"), pi_user("and now?"), pi_says("wait")]
    data = session(
        *(
            entry(f"e{at}", f"e{at - 1}" if at else None, message)
            for at, message in enumerate(messages)
        )
    )
    ran = run(data, [("compact", {"tool_cutoff": 2})], limit=4000)
    (transcript,) = read(ran.data or b"")[0].transcripts
    assert transcript.messages[0].is_summary
    assert transcript.messages[0].parts[0].text.startswith(markers.TITLE)
    hidden = [message for message in transcript.messages if not message.agent_visible]
    assert {message.kind for message in hidden if message.role == "tool"} == {
        "tool_result_archived"
    }
    (digest,) = [message for message in transcript.messages if message.kind == "tool_summary"]
    assert (digest.role, digest.user_visible, digest.agent_visible) == ("user", False, True)
    assert digest.parts[0].text.startswith(markers.DIGEST)
    assert (
        sum(message.role == "tool" and message.agent_visible for message in transcript.messages)
        == 2
    )
    assert run(ran.data or b"", [("compact", {"tool_cutoff": 2})], limit=4000).data == ran.data


@pytest.mark.parametrize("form", ["anthropic", "claude-code"])
def test_s3_11_other_formats_read_back_with_their_summary(form: str) -> None:
    plain: list[dict[str, Any]] = [{"role": "user", "texts": [TASK]}]
    for at in range(20):
        made = [{"id": f"c{at}", "name": "bash", "input": {"command": f"ls {at}"}}]
        plain.append({"role": "assistant", "texts": ["so"], "calls": made})
        plain.append(
            {"role": "tool", "id": f"c{at}", "texts": [LONG], "image": False, "error": None}
        )
    plain += [
        {"role": "assistant", "texts": ["done"], "calls": []},
        {"role": "user", "texts": ["and?"]},
    ]
    values = [anthropic(plain, 0)] if form == "anthropic" else claude_events(plain)
    data = b"".join(json.dumps(value).encode() + b"\n" for value in values)
    ran = run(data, [("compact", {})], limit=3000)
    assert ran.findings == ()
    (transcript,) = read(ran.data or b"")[0].transcripts
    first = next(message for message in transcript.messages if message.role != "system")
    assert (first.role, first.is_summary) == ("user", True)
    assert f"> {TASK}" in first.parts[0].text
    assert not shape(transcript.messages).unanswered
    assert run(ran.data or b"", [("compact", {})], limit=3000).data == ran.data


def test_s3_11_a_later_compaction_merges_the_summary() -> None:
    first = compact(talk(30))
    more = [*json.loads(first.data or b"")["messages"], *talk(30)[2:]]
    again = compact(more)
    text = next(
        content for content in contents(again.data) if content and content.startswith(markers.TITLE)
    )
    assert (again.data or b"").count(markers.TITLE.encode()) == 1
    assert f"> {TASK}" in text
    assert "> And tomorrow?" in text
    assert contents(compact(json.loads(again.data or b"")["messages"]).data) == contents(again.data)


def test_s3_11_a_compaction_that_saves_nothing_is_skipped_and_reported() -> None:
    alone = conversation([user("word " * 9000)])
    ran = run(alone, [("compact", {})])
    assert ran.data == alone
    assert findings_of(ran, "nothing-to-compact") == [
        "nothing was compacted: nothing is older than the kept messages"
    ]
    tiny = conversation([user("a"), says("b"), user("c " * 90)])
    ran = run(tiny, [("compact", {"session_tokens": 10})])
    assert ran.data == tiny
    assert findings_of(ran, "nothing-to-compact") == [
        "nothing was compacted: a summary would not be smaller"
    ]


def outcome(messages: list[dict[str, Any]], answer: str | SummaryError, **settings: Any) -> Any:
    (transcript,) = read(conversation(messages))[0].transcripts
    meter = Metering(tokenizer, None, "chars4").meter(transcript)
    answers = Answers(answer, [])
    return Compact(meter.counter, meter.budget, answers, **settings)(transcript), answers.prompts


def test_s3_10_the_llm_reads_1800_characters_per_result_and_nothing_hidden() -> None:
    messages = [
        SYSTEM,
        user(TASK),
        *step("a", "y" * 9000 + " " + KEY),
        says("z" * 30_000),
        user("now"),
    ]
    value, (prompt,) = outcome(messages, "## Goal\nKnow the tides.")
    assert (
        value.transcript.messages[1]
        .parts[0]
        .text.startswith(f"{markers.TITLE}\n## Goal\nKnow the tides.")
    )
    assert len(prompt) <= 12_000
    assert KEY not in prompt
    assert 0 < prompt.count("y") <= 1800 + 50
    assert all(f"## {heading}" in prompt for heading in HEADINGS)
    hidden = pi_user("SECRET PLAN", metadata={"agentVisible": False})
    data = json.dumps(
        {"messages": [pi_user("go"), hidden, pi_says("ok " * 9000), pi_user("now")]}
    ).encode()
    (transcript,) = read(data)[0].transcripts
    answers = Answers("short", [])
    meter = Metering(tokenizer, None, "chars4", limit=1000).meter(transcript)
    Compact(meter.counter, meter.budget, answers)(transcript)
    assert len(answers.prompts) == 1
    assert "SECRET PLAN" not in answers.prompts[0]


@pytest.mark.parametrize("answer", [SummaryError("no answer"), "", "far too long " * 9000])
def test_s3_10_a_failed_llm_summary_falls_back_to_facts_with_a_warning(
    answer: str | SummaryError,
) -> None:
    value, _ = outcome(talk(30), answer)
    assert f"> {TASK}" in value.transcript.messages[1].parts[0].text
    assert [finding.severity for finding in value.findings if finding.code == "summary"] == [
        "warning"
    ]


def test_s3_12_a_cause_compacts_below_the_trigger() -> None:
    (transcript,) = read(conversation(talk(8)))[0].transcripts
    meter = Metering(tokenizer, None, "chars4").meter(transcript)
    assert Compact(meter.counter, meter.budget)(transcript).transcript == transcript
    forced = Compact(meter.counter, meter.budget, cause="context length", keep_recent_tokens=2000)(
        transcript
    )
    assert len(forced.transcript.messages) < 20
    assert meter.counter.tokens(forced.transcript) < meter.counter.tokens(transcript) * 0.6
    assert forced.findings[0].message == "compaction is due: context length"


def test_s3_11_a_digest_of_recent_steps_leaves_the_others_recent() -> None:
    steps = [*step("a", LONG), *step("b", LONG), *step("c", "x " * 3000), *step("d", "y " * 3000)]
    settings = {"session_tokens": 300, "tool_cutoff": 2}
    once = run(conversation([user(TASK), *steps]), [("compact", settings)])
    assert markers.DIGEST in str(contents(once.data))
    assert run(once.data or b"", [("compact", settings)]).data == once.data
