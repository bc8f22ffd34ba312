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

from ctxtrim.conversation.turns import shape
from ctxtrim.errors import SummaryError
from ctxtrim.metering import Binding
from ctxtrim.presets import PRESETS, merged
from ctxtrim.stages.compact import Compact
from ctxtrim.stages.cutoff import Cutoff
from ctxtrim.summaries import HEADINGS, markers
from ctxtrim.summaries.digests import DID
from ctxtrim.tokenizers import tokenizer

SYSTEM = {"role": "system", "content": "Be brief."}
ASKED = "Look at the tide tables. Never touch the log."
ROWS = LONG + LONG


def talk(number: int, text: str = ROWS) -> list[dict[str, Any]]:
    """A first task that takes many steps, and a second task that has just begun."""
    found = [SYSTEM, user(ASKED), says("We decided: keep to the north."), user("Go on.")]
    for place in range(1, number + 1):
        found += step(f"c{place}", f"{place}: {text}", command=f"ls {place}")
    return [
        *found,
        says("It is dry at noon."),
        user("And tomorrow?"),
        *step("d", "rising"),
        says("At one."),
    ]


def findings_of(ran: Ran, code: str) -> list[str]:
    return [one.message for step in ran.rows[0].steps for one in step.findings if one.code == code]


def compact(said: list[dict[str, Any]], **settings: Any) -> Ran:
    return run(conversation(said), [("compact", settings)])


def test_s3_1_the_settings_and_their_defaults() -> None:
    known = {
        one.name: one.default
        for one in (*fields(Compact), *fields(Cutoff))
        if "help" in one.metadata
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
    recent = sum(len(json.dumps(one)) for one in after[2:]) // 4
    assert 2000 < recent < 6000
    assert ran.rows[0].count.tokens < ran.rows[0].tokens_read / 2


def test_s3_10_the_summary_has_six_headings_with_facts() -> None:
    said = talk(80, "short " * 20)
    (text,) = [
        one
        for one in contents(compact(said, session_tokens=2500).data)
        if one and one.startswith(markers.TITLE)
    ]
    assert [line[3:] for line in text.split("\n") if line.startswith("## ")] == [
        *HEADINGS[:2],
        "Progress",
        "Key Decisions",
    ]
    assert f"> {ASKED}" in text
    assert "- [?] ls 40" in text
    assert "> We decided: keep to the north." in text


def test_s3_10_the_split_keeps_exchanges_whole() -> None:
    parallel = [call("a", "b", "c"), *(result(one, LONG) for one in "abc")]
    said = [user(LONG * 4), says("so"), user("two"), *parallel, says("ok")]
    for keep in range(0, 2400, 150):
        ran = compact(said, session_tokens=1, keep_recent_tokens=keep, keep_recent_messages=2)
        (one,) = read(ran.data or b"")[0].transcripts
        assert not shape(one.messages).unanswered
        assert sum(message.role == "tool" for message in one.messages) in (0, 3)


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
    assert findings_of(ran, "trigger") == ["compaction is due: 69 messages >= the most of 50"]
    assert ran.rows[0].messages <= 7
    assert compact(talk(20, "short"), session_tokens=0).data == conversation(talk(20, "short"))


def test_s3_10_an_old_current_task_is_kept_after_the_summary() -> None:
    said = [
        SYSTEM,
        user("Do it all."),
        *(one for place in range(40) for one in step(f"c{place}", LONG)),
    ]
    ran = compact(said, tool_cutoff=99)
    after = json.loads(ran.data or b"")["messages"]
    assert after[1]["content"].startswith(markers.TITLE)
    assert after[1]["content"].endswith(f"{markers.END}Do it all.")
    assert after[2:] == said[-len(after[2:]) :]


def test_s3_10_pinned_messages_are_kept() -> None:
    ran = compact(talk(30), pin=("id:c3",))
    assert "3: " + ROWS in contents(ran.data)
    (one,) = read(ran.data or b"")[0].transcripts
    assert not shape(one.messages).unanswered


def test_s3_11_one_digest_replaces_surplus_recent_results() -> None:
    ran = compact(talk(40), session_tokens=8000, tool_cutoff=3)
    after = json.loads(ran.data or b"")["messages"]
    assert sum(one["role"] == "tool" for one in after) == 3
    assert after[1]["content"].startswith(markers.TITLE)
    assert markers.DIGEST not in after[1]["content"]
    digest = after[2]["content"]
    assert digest.startswith(f"{markers.DIGEST}\n{DID}\n")
    assert "[✓ bash: ls 36 | " in digest
    assert len(digest) <= 800
    (one,) = read(ran.data or b"")[0].transcripts
    assert [message.is_injected for message in one.messages[1:3]] == [True, True]


def test_s3_11_with_digests_off_all_recent_results_are_kept() -> None:
    ran = compact(talk(40), tool_cutoff=3, tool_summary="off")
    assert sum(one["role"] == "tool" for one in json.loads(ran.data or b"")["messages"]) > 3
    assert markers.DIGEST.encode() not in (ran.data or b"")


def test_s3_11_a_session_format_gets_a_compaction_and_hides_archived_steps() -> None:
    said = [
        pi_user("look"),
        *(
            one
            for at in range(20)
            for one in (pi_calls(f"c{at}"), pi_result(f"c{at}", [pi_text(LONG)]))
        ),
    ]
    said += [pi_says("done"), pi_user("and now?"), pi_says("wait")]
    data = session(
        *(entry(f"e{at}", f"e{at - 1}" if at else None, one) for at, one in enumerate(said))
    )
    ran = run(data, [("compact", {"tool_cutoff": 2})], limit=4000)
    (one,) = read(ran.data or b"")[0].transcripts
    assert one.messages[0].is_summary
    assert one.messages[0].parts[0].text.startswith(markers.TITLE)
    hidden = [message for message in one.messages if not message.agent_visible]
    assert {message.kind for message in hidden if message.role == "tool"} == {
        "tool_result_archived"
    }
    (digest,) = [message for message in one.messages if message.kind == "tool_summary"]
    assert (digest.role, digest.user_visible, digest.agent_visible) == ("user", False, True)
    assert digest.parts[0].text.startswith(markers.DIGEST)
    assert sum(message.role == "tool" and message.agent_visible for message in one.messages) == 2
    assert run(ran.data or b"", [("compact", {"tool_cutoff": 2})], limit=4000).data == ran.data


@pytest.mark.parametrize("form", ["anthropic", "claude-code"])
def test_s3_11_other_formats_read_back_with_their_summary(form: str) -> None:
    plain: list[dict[str, Any]] = [{"role": "user", "texts": [ASKED]}]
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
    (one,) = read(ran.data or b"")[0].transcripts
    first = next(message for message in one.messages if message.role != "system")
    assert (first.role, first.is_summary) == ("user", True)
    assert f"> {ASKED}" in first.parts[0].text
    assert not shape(one.messages).unanswered
    assert run(ran.data or b"", [("compact", {})], limit=3000).data == ran.data


def test_s3_11_a_later_compaction_merges_the_summary() -> None:
    first = compact(talk(30))
    more = [*json.loads(first.data or b"")["messages"], *talk(30)[2:]]
    again = compact(more)
    text = next(one for one in contents(again.data) if one and one.startswith(markers.TITLE))
    assert (again.data or b"").count(markers.TITLE.encode()) == 1
    assert f"> {ASKED}" in text
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


def outcome(said: list[dict[str, Any]], answer: str | SummaryError, **settings: Any) -> Any:
    (one,) = read(conversation(said))[0].transcripts
    bound = Binding(tokenizer, None, "chars4").bind(one)
    asked = Answers(answer, [])
    return Compact(bound.counter, bound.budget, asked, **settings)(one), asked.prompts


def test_s3_10_the_llm_reads_1800_characters_per_result_and_nothing_hidden() -> None:
    said = [
        SYSTEM,
        user(ASKED),
        *step("a", "y" * 9000 + " " + KEY),
        says("z" * 30_000),
        user("now"),
    ]
    found, (prompt,) = outcome(said, "## Goal\nKnow the tides.")
    assert (
        found.transcript.messages[1]
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
    (one,) = read(data)[0].transcripts
    asked = Answers("short", [])
    bound = Binding(tokenizer, None, "chars4", limit=1000).bind(one)
    Compact(bound.counter, bound.budget, asked)(one)
    assert len(asked.prompts) == 1
    assert "SECRET PLAN" not in asked.prompts[0]


@pytest.mark.parametrize("answer", [SummaryError("no answer"), "", "far too long " * 9000])
def test_s3_10_a_failed_llm_summary_falls_back_to_facts_with_a_warning(
    answer: str | SummaryError,
) -> None:
    found, _ = outcome(talk(30), answer)
    assert f"> {ASKED}" in found.transcript.messages[1].parts[0].text
    assert [one.severity for one in found.findings if one.code == "summary"] == ["warning"]


def test_s3_12_a_cause_compacts_below_the_trigger() -> None:
    (one,) = read(conversation(talk(8)))[0].transcripts
    bound = Binding(tokenizer, None, "chars4").bind(one)
    assert Compact(bound.counter, bound.budget)(one).transcript == one
    forced = Compact(bound.counter, bound.budget, cause="context length", keep_recent_tokens=2000)(
        one
    )
    assert len(forced.transcript.messages) < 20
    assert bound.counter.tokens(forced.transcript) < bound.counter.tokens(one) * 0.6
    assert forced.findings[0].message == "compaction is due: context length"


def test_s3_11_a_digest_of_recent_steps_leaves_the_others_recent() -> None:
    steps = [*step("a", LONG), *step("b", LONG), *step("c", "x " * 3000), *step("d", "y " * 3000)]
    settings = {"session_tokens": 300, "tool_cutoff": 2}
    once = run(conversation([user(ASKED), *steps]), [("compact", settings)])
    assert markers.DIGEST in str(contents(once.data))
    assert run(once.data or b"", [("compact", settings)]).data == once.data
