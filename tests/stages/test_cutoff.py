"""Too many tool results: the oldest steps give way to digests (S3-8, S3-9)."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from builders import call, contents, conversation, result, says, step, user
from builders_pi import HEADER, compaction, lines
from builders_pi import calls as pi_calls
from builders_pi import entry as pi_entry
from builders_pi import result as pi_result
from builders_pi import says as pi_says
from builders_pi import text as pi_text
from builders_pi import user as pi_user
from harness import read, run
from strategies import CONVERSATIONS, EVENTS

from ctxtrim.conversation.alternation import is_alternating
from ctxtrim.conversation.tasks import current_task
from ctxtrim.conversation.turns import shape
from ctxtrim.errors import SummaryError
from ctxtrim.metering import Metering
from ctxtrim.stages.cutoff import Cutoff
from ctxtrim.stages.structure import PROFILES, findings
from ctxtrim.summaries import markers
from ctxtrim.summaries.digests import DID
from ctxtrim.summaries.summarizer import Reply
from ctxtrim.tokenizers import tokenizer

LONG = "row of the table\n" * 60
TITLE = f"{markers.STEP}\n{DID}\n"
KEY = "sk-" + "abc123DEF456" * 4


def talk(number: int, text: str = LONG) -> list[dict[str, Any]]:
    """A prompt, and steps after it that each contain text."""
    values = [{"role": "system", "content": "Be brief."}, user("Look at everything.")]
    for position in range(1, number + 1):
        values += step(f"c{position}", f"{position}: {text}", command=f"ls {position}")
        values[-2]["content"] = f"Now number {position}."
    return [*values, says("Done.")]


def encoded(form: str, plain: list[dict[str, Any]]) -> bytes:
    """A plain conversation as a file of a format."""
    values = [CONVERSATIONS[form](plain, 0)] if form in CONVERSATIONS else EVENTS[form](plain)
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def visible(data: bytes | None) -> int:
    (transcript,) = read(data or b"")[0].transcripts
    return sum(message.role == "tool" and message.agent_visible for message in transcript.messages)


def test_s3_8_results_up_to_the_cutoff_are_unchanged() -> None:
    data = conversation(talk(10))
    assert run(data, [("cutoff", {})]).data == data


def test_s3_8_a_step_is_replaced_only_if_its_digest_is_smaller() -> None:
    replaced = set()
    for length in range(0, 200, 4):
        data = conversation(talk(1, "x" * length))
        ran = run(data, [("cutoff", {"tool_cutoff": 0, "tool_summary": "heuristic"})])
        (row,) = ran.rows
        assert ran.data == data or row.count.tokens < row.tokens_read
        replaced.add(ran.data != data)
    assert replaced == {False, True}


def test_s3_8_a_digest_replaces_the_oldest_step() -> None:
    ran = run(conversation(talk(12)), [("cutoff", {})])
    before, after = talk(12), json.loads(ran.data or b"")["messages"]
    assert [*after[:2], *after[3:]] == [*before[:2], *before[6:]]
    assert after[2]["role"] == "user"
    first, second = after[2]["content"].split("\n\n")
    assert first.startswith(
        f"{TITLE}> Now number 1.\n[✓ bash: ls 1 | 60 lines]\n1: row of the table\n"
    )
    assert second.startswith("> Now number 2.\n[✓ bash: ls 2 | 60 lines]\n2: row of the table\n")
    assert visible(ran.data) == 10


def test_s3_8_the_step_is_hidden_in_formats_with_visibility() -> None:
    messages = [
        pi_user("list"),
        pi_calls("c1", content=[pi_text("First."), *pi_calls("c1")["content"]]),
        pi_result("c1", [pi_text(LONG)]),
    ]
    messages += [pi_calls("c2"), pi_result("c2"), pi_says("done")]
    out = json.loads(
        run(lines({"messages": messages}), [("cutoff", {"tool_cutoff": 1})]).data or b""
    )["messages"]
    hidden = {"agentVisible": False, "userVisible": True}
    assert out[1] == messages[1] | {"metadata": hidden}
    assert out[2] == messages[2] | {"metadata": hidden | {"kind": "tool_result_archived"}}
    assert out[3]["role"] == "user"
    assert out[3]["metadata"] == {
        "agentVisible": True,
        "userVisible": False,
        "kind": "tool_summary",
    }
    assert out[3]["content"][0]["text"].startswith(f"{TITLE}> First.\n[✓ bash: ls | 60 lines]\n")
    assert [out[0], *out[4:]] == [messages[0], *messages[3:]]


def test_s3_8_a_result_hidden_from_the_person_stays_hidden() -> None:
    private = {"metadata": {"userVisible": False}}
    messages = [
        pi_user("list"),
        pi_calls("c1"),
        pi_result("c1", [pi_text(LONG)], **private),
        pi_says("ok"),
    ]
    out = json.loads(
        run(lines({"messages": messages}), [("cutoff", {"tool_cutoff": 0})]).data or b""
    )["messages"]
    assert out[2]["metadata"] == {
        "userVisible": False,
        "agentVisible": False,
        "kind": "tool_result_archived",
    }


def test_s3_8_parallel_calls_are_archived_together() -> None:
    parallel = [call("a", "b", "c"), result("a", LONG), result("b", LONG), result("c", LONG)]
    data = conversation([user("go"), *parallel, *step("d", LONG), *step("e", LONG), says("ok")])
    ran = run(data, [("cutoff", {"tool_cutoff": 4})])
    assert visible(ran.data) == 2
    assert contents(ran.data)[1].count("[✓ bash | 60 lines]") == 3
    (transcript,) = read(ran.data or b"")[0].transcripts
    assert list(findings(PROFILES["openai"], transcript, shape(transcript.messages))) == []


@pytest.mark.parametrize("summary_place", ["in-place", "append"])
def test_s3_8_digests_replace_the_step_or_precede_the_newest_prompt(summary_place: str) -> None:
    messages = [
        user("one"),
        *step("a", LONG),
        says("first"),
        user("two"),
        *step("b", LONG),
        says("second"),
        user("three"),
    ]
    out = contents(
        run(
            conversation(messages), [("cutoff", {"tool_cutoff": 0, "summary_place": summary_place})]
        ).data
    )
    assert [item.split("\n")[0] for item in out] == (
        ["one", markers.STEP, "first", "two", markers.STEP, "second", "three"]
        if summary_place == "in-place"
        else ["one", "first", "two", "second", markers.STEP, "three"]
    )


def test_s3_8_no_digest_follows_the_newest_prompt_as_a_prompt() -> None:
    for summary_place in ("in-place", "append"):
        ran = run(
            conversation(talk(3)), [("cutoff", {"tool_cutoff": 1, "summary_place": summary_place})]
        )
        (transcript,) = read(ran.data or b"")[0].transcripts
        task = current_task(transcript.messages)
        assert task is not None
        assert transcript.messages[task].parts[0].text == "Look at everything."


def test_s3_8_a_digest_without_a_prompt_next_to_it_is_a_client_message() -> None:
    messages = [user("go"), *step("a", LONG), *step("b", LONG), says("ok"), user("now")]
    ran = run(conversation(messages), [("cutoff", {"tool_cutoff": 0, "pin": ("id:a",)})])
    (transcript,) = read(ran.data or b"")[0].transcripts
    assert [message.role for message in transcript.messages] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
        "user",
    ]
    assert transcript.messages[3].is_injected
    assert not transcript.messages[3].is_summary
    assert current_task(transcript.messages) == 5


def kept(ran: Any) -> dict[int, str]:
    (last_step,) = ran.rows[0].steps
    return {
        change.change.message: change.change.reason
        for change in last_step.changes
        if change.change.action == "kept"
    }


@pytest.mark.parametrize(
    ("talk", "settings", "why"),
    [
        ([user("go"), *step("a", LONG), says("ok")], {"pin": ("id:a",)}, "pinned: id:a"),
        (
            [user("go"), says("so"), result("a", "ok"), says("ok")],
            {},
            "a digest would not be smaller",
        ),
    ],
)
def test_s3_8_pinned_and_small_steps_are_kept(
    talk: list[Any], settings: dict[str, Any], why: str
) -> None:
    data = conversation(talk)
    ran = run(data, [("cutoff", {"tool_cutoff": 0} | settings)])
    assert ran.data == data
    assert kept(ran)[2] == why


@pytest.mark.parametrize(
    "talk",
    [
        [user("go"), *step("a", LONG)],
        [user("go"), call("a", "b"), result("a", LONG), says("ok")],
        [user("go"), *step("a", LONG), says("ok")],
    ],
)
def test_s3_8_open_steps_are_kept_and_so_are_all_with_digests_off(
    talk: list[Any],
) -> None:
    data = conversation(talk)
    summary = (
        "off"
        if talk[-1]["role"] == "assistant" and len(talk) == 4 and len(talk[1]["tool_calls"]) == 1
        else "llm"
    )
    assert run(data, [("cutoff", {"tool_cutoff": 0, "tool_summary": summary})]).data == data


@pytest.mark.parametrize("words", ["see {}", ""])
@pytest.mark.parametrize("form", ["anthropic", "claude-code", "gemini", "gemini-cli", "qwen"])
def test_s3_8_digests_begin_the_next_answer_where_roles_alternate(form: str, words: str) -> None:
    plain: list[dict[str, Any]] = [{"role": "user", "texts": ["go"]}]
    for name in ("c1", "c2", "c3"):
        made = [{"id": name, "name": "bash", "input": {"command": f"ls {name}"}}]
        plain.append(
            {"role": "assistant", "texts": [words.format(name)] if words else [], "calls": made}
        )
        plain.append({"role": "tool", "id": name, "texts": [LONG], "image": False, "error": None})
    plain.append({"role": "assistant", "texts": ["ok"], "calls": []})
    data = encoded(form, plain)
    ran = run(data, [("cutoff", {"tool_cutoff": 1})])
    assert ran.findings == ()
    (transcript,) = read(ran.data or b"")[0].transcripts
    messages = [message for message in transcript.messages if message.role != "system"]
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert is_alternating(shape(transcript.messages))
    assert messages[0].parts[0].text == "go"
    text = "".join(part.text for part in messages[1].parts if part.kind == "text")
    assert text.startswith(TITLE)
    assert [call for call in ("ls c1", "ls c2", "ls c3") if call in text] == ["ls c1", "ls c2"]
    assert text.endswith(f"{markers.END}see c3" if words else "row of the table")
    (again,) = read(run(ran.data or b"", [("cutoff", {"tool_cutoff": 0})]).data or b"")[
        0
    ].transcripts
    messages = [message for message in again.messages if message.role != "system"]
    assert [message.role for message in messages] == ["user", "assistant"]
    assert messages[1].parts[0].text.count(markers.STEP) == 1
    assert messages[1].parts[0].text.endswith(f"{markers.END}ok")
    assert "ls c1" in messages[1].parts[0].text


def test_s3_8_steps_in_a_row_give_way_together_if_no_call_can_hold_a_digest() -> None:
    call_and_result = [
        {"from": "function_call", "value": '{"name": "bash", "arguments": {}}'},
        {"from": "observation", "value": LONG},
    ]
    prompt, answer = {"from": "human", "value": "go"}, {"from": "gpt", "value": "ok"}
    turns = [prompt, *call_and_result * 3, answer, prompt, answer]
    data = json.dumps({"conversations": turns}).encode()
    once = run(data, [("cutoff", {"tool_cutoff": 0})]).data or b""
    (transcript,) = read(once)[0].transcripts
    assert [message.role for message in transcript.messages] == ["user", "assistant"] * 2
    assert run(once, [("cutoff", {"tool_cutoff": 0})]).data == once


def test_s3_9_an_appended_digest_does_not_come_before_the_summary_of_a_client() -> None:
    entries = [
        pi_entry("a", None, pi_user("list")),
        pi_entry("b", "a", pi_calls("c1")),
        pi_entry("c", "b", pi_result("c1", [pi_text(LONG)])),
        compaction("d", "c", "They listed it.", firstKeptEntryId="b"),
        pi_entry("e", "d", pi_says("done")),
    ]
    settings = {"tool_cutoff": 0, "summary_place": "append"}
    ran = run(lines(HEADER, *entries), [("cutoff", settings)])
    assert ran.findings == ()
    (transcript,) = read(ran.data or b"")[0].transcripts
    texts = [message.parts[0].text for message in transcript.messages if message.agent_visible]
    assert [text.startswith(TITLE) for text in texts] == [False, True, False]


def test_s3_8_a_result_without_a_call_is_kept_where_it_separates_answers() -> None:
    plain: list[dict[str, Any]] = [{"role": "user", "texts": ["go"]}]
    for name in ("x", "y"):
        plain.append({"role": "assistant", "texts": [f"see {name}"], "calls": []})
        lost = {"role": "tool", "id": name, "texts": [LONG], "image": False, "error": None}
        plain.append(lost)
    data = encoded("anthropic", [*plain, {"role": "user", "texts": ["wait"]}])
    once = run(data, [("cutoff", {"tool_cutoff": 0})]).data
    assert run(once or b"", [("cutoff", {"tool_cutoff": 0})]).data == once


def test_s3_8_a_step_is_kept_if_no_answer_can_hold_its_digest() -> None:
    plain: list[dict[str, Any]] = [{"role": "user", "texts": ["go"]}]
    plain.append(
        {"role": "assistant", "texts": [], "calls": [{"id": "c", "name": "bash", "input": {}}]}
    )
    plain.append({"role": "tool", "id": "c", "texts": [LONG], "image": False, "error": None})
    data = encoded("anthropic", [*plain, {"role": "user", "texts": ["wait"]}])
    ran = run(data, [("cutoff", {"tool_cutoff": 0})])
    assert ran.data == data
    assert "no answer follows that can begin with its digest" in kept(ran).values()


def test_s3_8_a_digest_follows_the_system_message_after_its_step() -> None:
    note = {"role": "system", "content": "The lamp is on."}
    messages = [user("go"), *step("a", LONG), note, says("Done.")]
    how = {"tool_cutoff": 0, "tool_summary": "heuristic"}
    after = contents(run(conversation(messages), [("cutoff", how)]).data)
    assert [after[0], after[1], after[3]] == ["go", "The lamp is on.", "Done."]
    assert after[2].startswith(TITLE)


def test_s3_8_no_digest_lies_between_a_call_and_its_result() -> None:
    """A pinned call waits for its result while another step begins and ends."""
    messages = [user("go"), call("a"), *step("b", LONG), result("a", "kept"), says("Done.")]
    how = {"tool_cutoff": 0, "tool_summary": "heuristic", "pin": ["id:a"]}
    after = json.loads(run(conversation(messages), [("cutoff", how)]).data or b"")["messages"]
    assert [after[0], after[1], after[2], after[4]] == [*messages[:2], *messages[4:]]
    assert after[3]["content"].startswith(TITLE)


@pytest.mark.parametrize("form", ["openai-chat", "anthropic", "pi"])
def test_s3_8_the_total_size_of_digests_is_bounded(form: str) -> None:
    plain: list[dict[str, Any]] = [{"role": "user", "texts": ["go"]}]
    for number in range(400):
        made = [{"id": f"c{number}", "name": "bash", "input": {"command": f"look --at {number}"}}]
        plain.append({"role": "assistant", "texts": [f"Now {number}."], "calls": made})
        plain.append(
            {"role": "tool", "id": f"c{number}", "texts": [LONG], "image": False, "error": None}
        )
    plain.append({"role": "assistant", "texts": ["ok"], "calls": []})
    data = encoded(form, plain)
    for cutoff in (100, 90, 3):
        data = run(data, [("cutoff", {"tool_cutoff": cutoff})], limit=8000).data or b""
        assert visible(data) == cutoff
        (transcript,) = read(data)[0].transcripts
        texts = [
            part.text
            for message in transcript.messages
            for part in message.parts
            if markers.STEP in part.text
        ]
        assert len(texts) == 1
        assert 2000 < len(texts[0]) <= 4 * 1000 + 100
        count, newest = int(texts[0].split("\n")[2].split(" ")[0]), 399 - cutoff
        assert texts[0].split("\n")[2] == f"{count} earlier tool results: bash × {count}"
        assert texts[0].count("[✓ bash: look --at ") + count == 400 - cutoff
        assert (
            f"> Now {newest}.\n[✓ bash: look --at {newest} | 60 lines]\nrow of the table"
            in texts[0]
        )


@dataclass(frozen=True)
class Answers:
    """A summarizer with a fixed answer that counts its calls."""

    answer: str | SummaryError
    prompts: list[str]
    name: str = "answers"

    def summarize(self, prompt: str, max_tokens: int) -> Reply:
        self.prompts.append(prompt)
        if isinstance(self.answer, SummaryError):
            raise self.answer
        return Reply(self.answer)


def digested(
    answer: str | SummaryError, text: str = LONG, **settings: Any
) -> tuple[str, Any, list[str]]:
    """The digest of a step, the outcome, and the prompts of the summarizer."""
    (transcript,) = read(conversation(talk(1, text)))[0].transcripts
    meter = Metering(tokenizer, None, "chars4").meter(transcript)
    answers = Answers(answer, [])
    outcome = Cutoff(meter.counter, meter.budget, answers, tool_cutoff=0, **settings)(transcript)
    return outcome.transcript.messages[2].parts[0].text, outcome, answers.prompts


def test_s3_9_an_llm_writes_digests_of_at_most_1200_characters_from_at_most_12000() -> None:
    text, outcome, prompts = digested("All rows were read.", LONG * 20)
    assert text == f"{TITLE}> Now number 1.\n[✓ bash: ls 1 | 1200 lines]\nAll rows were read."
    assert [len(prompt) <= 12_000 for prompt in prompts] == [True]
    assert "ls 1" in prompts[0]
    assert outcome.findings == ()


@pytest.mark.parametrize("answer", [SummaryError("no answer in time"), "x" * 1300, ""])
def test_s3_9_a_failed_summary_falls_back_to_head_and_tail_with_a_warning(
    answer: str | SummaryError,
) -> None:
    text, outcome, _ = digested(answer, LONG * 20)
    assert text.startswith(
        f"{TITLE}> Now number 1.\n[✓ bash: ls 1 | 1200 lines]\n1: row of the table\n"
    )
    assert text.endswith("row of the table")
    assert 700 < len(text) <= 800
    (finding,) = outcome.findings
    assert (finding.code, finding.severity) == ("summary", "warning")


def test_s3_9_an_llm_writes_the_newest_digest_under_a_small_budget() -> None:
    (transcript,) = read(conversation(talk(3)))[0].transcripts
    meter = Metering(tokenizer, None, "chars4", limit=2000).meter(transcript)
    answers = Answers("All rows were read.", [])
    Cutoff(meter.counter, meter.budget, answers, tool_cutoff=1)(transcript)
    (prompt,) = answers.prompts
    assert "ls 2" in prompt


def test_s3_9_heuristic_calls_no_summarizer() -> None:
    _, _, prompts = digested("never", tool_summary="heuristic")
    assert prompts == []


def test_s3_9_keys_are_masked_in_prompts_and_digests() -> None:
    secret = f"export OPENAI_API_KEY={KEY}\n" + LONG
    for answer in ("fine", SummaryError("down")):
        text, _, prompts = digested(answer, secret)
        assert KEY not in text + prompts[0]
    text, _, prompts = digested("fine", secret, redact=False)
    assert KEY in prompts[0]


def test_a_key_is_masked_before_a_digest_is_clipped() -> None:
    command = "echo " + "x" * 60 + f" {KEY}"
    messages = [user("go"), *step("a", LONG, command=command), says("ok")]
    (transcript,) = read(conversation(messages))[0].transcripts
    meter = Metering(tokenizer, None, "chars4").meter(transcript)
    outcome = Cutoff(
        meter.counter, meter.budget, Answers("fine", []), tool_cutoff=0, tool_summary="heuristic"
    )(transcript)
    text = "".join(part.text for message in outcome.transcript.messages for part in message.parts)
    assert "sk-abc" not in text


def test_s3_8_a_result_that_looks_like_a_digest_end_does_not_end_it() -> None:
    messages = [user("go"), *step("a", "x" + markers.END + LONG), says("ok")]
    ran = run(conversation(messages), [("cutoff", {"tool_cutoff": 0})])
    assert contents(ran.data)[0] == "go"
    assert markers.END not in contents(ran.data)[1]


def test_s3_8_thousands_of_steps_are_archived() -> None:
    ran = run(conversation(talk(3000, "ok " * 60)), [("cutoff", {})])
    assert visible(ran.data) == 10


def test_s3_8_the_newest_results_are_kept_even_if_older_results_are_tiny() -> None:
    messages = [user("go")]
    for number in range(30):
        messages += step(
            f"c{number}", "ok" if number < 12 else f"{number}: {LONG}", command=f"ls {number}"
        )
    ran = run(conversation([*messages, says("Done.")]), [("cutoff", {})])
    kept = [
        message["tool_call_id"]
        for message in json.loads(ran.data or b"")["messages"]
        if message["role"] == "tool"
    ]
    assert kept == [f"c{number}" for number in range(20, 30)]


def test_digests_do_not_quote_calls_that_are_written_into_the_text() -> None:
    """As Hermes writes them: they would look like calls of the answer that the digest begins."""
    turns = [{"from": "human", "value": "Look at everything."}]
    for number in range(3):
        text = json.dumps({"name": "bash", "arguments": {"command": f"cat log{number}"}})
        turns.append({"from": "gpt", "value": f"<tool_call>\n{text}\n</tool_call>"})
        turns.append({"from": "tool", "value": f"<tool_response>\n{LONG}\n</tool_response>"})
    turns.append({"from": "gpt", "value": "Done."})
    ran = run(json.dumps({"conversations": turns}).encode(), [("cutoff", {"tool_cutoff": 1})])
    assert ran.findings == ()
    (chunk,) = read(ran.data or b"")
    (found,) = chunk.transcripts
    assert [len(message.calls) for message in found.messages] == [0, 1, 0, 0]
    assert found.messages[1].parts[0].text.startswith(TITLE)
    assert (ran.data or b"").count(b"<tool_call>") == 1


USE = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "tide"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
BLOCKS = [
    {"role": "assistant", "content": [
        {"type": "text", "text": "I look."}, USE, FOUND,
        {"type": "tool_use", "id": "c", "name": "look", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": LONG}]},
]  # fmt: skip
SERVER = {"call_id": None, "execution": "server"}
ITEMS = [
    {"type": "tool_search_call", "arguments": {"paths": ["harbour"]}} | SERVER,
    {"type": "tool_search_output", "tools": [{"type": "function", "name": "look"}]} | SERVER,
    {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": LONG},
]


@pytest.mark.parametrize(
    ("key", "step", "quote"), [("messages", BLOCKS, "> I look."), ("input", ITEMS, "")]
)
def test_digests_quote_no_block_of_a_server_tool(key: str, step: list[Any], quote: str) -> None:
    ends = [{"role": "assistant", "content": "Low."}, {"role": "user", "content": "And now?"}]
    value = {"model": "gpt-5", key: [{"role": "user", "content": "Tide?"}, *step, *ends]}
    written = run(json.dumps(value).encode(), [("cutoff", {"tool_cutoff": 0})]).data or b""
    text = written.decode()
    assert "[Tool summary]" in text
    assert quote in text
    assert "tool_search" not in text
    assert "server_tool" not in text


@pytest.mark.parametrize("is_last", [False, True])
def test_a_digest_comes_before_the_call_of_the_answer_that_it_leads(is_last: bool) -> None:
    calls = [{"type": "tool_use", "id": name, "name": "look", "input": {}} for name in "ab"]
    results = [{"type": "tool_result", "tool_use_id": name, "content": LONG} for name in "ab"]
    words = {"type": "text", "text": "Once more."}
    turns = [
        ("user", "Look at everything."),
        ("assistant", [calls[0]]),
        ("user", [results[0]]),
        ("assistant", [calls[1], words] if is_last else [words, calls[1]]),
        ("user", [results[1]]),
    ]
    messages = [{"role": role, "content": content} for role, content in turns]
    data = json.dumps({"model": "claude-sonnet-4-5", "messages": messages}).encode()
    ran = run(data, [("cutoff", {"tool_cutoff": 1})])
    answer = json.loads(ran.data or b"")["messages"][1]["content"]
    assert answer[0]["text"].startswith(TITLE)
    assert answer[1:] == [calls[1], *([words] if is_last else [])]
