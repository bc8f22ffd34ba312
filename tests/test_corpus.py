"""The promises over real transcripts, if a corpus exists next to the checkout
(`../shared/corpus`).
"""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from harness import Ran, read, run

from ctxtrim.conversation.turns import shape
from ctxtrim.io.containers import eval_log
from ctxtrim.io.inputs import Input, reading
from ctxtrim.model import Transcript
from ctxtrim.text.records import split

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
FILES = sorted(path for path in CORPUS.glob("*/*") if path.is_file())
ANTHROPIC = [
    path
    for path in FILES
    if path.parent.name == "cursor" or (path.parent.name == "droid" and "_store_" in path.name)
]
CHAT = [path for path in FILES if path.parent.name in ("openai-chat-json", "openai-chat-jsonl")]
OPENHANDS = [path for path in FILES if path.parent.name.startswith("openhands-")]
ITEMS = [path for path in FILES if path.parent.name in ("openai-responses", "codex-rollout")]
FOLDERS = ("claude-code", "openai-chat-json", "openai-chat-jsonl", "openclaw", "pi")
TIER_1 = [
    path
    for path in FILES
    if path.parent.name in FOLDERS or path in (*ANTHROPIC, *ITEMS, *OPENHANDS)
]
EVALS = [path for path in FILES if path.suffix == ".eval"]
WHY = "no corpus of real transcripts beside the checkout (../shared/corpus)"


def needs_corpus(test: Any) -> Any:
    """Mark a test that reads the corpus: it runs with `--exhaustive` if the corpus exists."""
    return pytest.mark.exhaustive(pytest.mark.skipif(not FILES, reason=WHY)(test))


def files(paths: list[Path]) -> pytest.MarkDecorator:
    names = [f"{path.parent.name}/{path.name}" for path in paths]
    return pytest.mark.parametrize("path", paths or [CORPUS], ids=names or ["none"])


def transcripts(data: bytes) -> list[Transcript]:
    return [
        transcript
        for chunk in read(data)
        for transcript in chunk.transcripts
        if transcript.messages
    ]


def orphans(transcript: Transcript) -> int:
    turn_shape = shape(transcript.messages)
    lone = sum(
        message.role == "tool" and turn_shape.call[position] is None
        for position, message in enumerate(transcript.messages)
    )
    return lone + len(turn_shape.unanswered)


@needs_corpus
@files(FILES)
def test_identity_every_file_is_unchanged_without_edits(path: Path) -> None:
    data = path.read_bytes()
    ran = run(data)
    assert ran.data == data
    assert all(finding.code != "self-check" for finding in ran.findings)


@needs_corpus
@files(TIER_1)
@pytest.mark.parametrize("budget", [500, 2000, 8000, 32000])
def test_trim_fits_the_budget_and_keeps_calls_with_results(path: Path, budget: int) -> None:
    data = path.read_bytes()
    for stages in ([("trim", {})], [("truncate", {"max_tokens": 500}), ("trim", {})]):
        ran = run(data, stages, limit=budget, tokenizer="auto")
        assert all(finding.code != "self-check" for finding in ran.findings)
        for row in ran.rows:
            assert row.fits or row.overflows
            assert all(step.tokens_after <= step.tokens_before for step in row.steps)
        _compare(data, ran, budget)


def _compare(data: bytes, ran: Ran, budget: int) -> None:
    """The output fits, has no new orphan, is an ordered subset, and does not change in a second
    run.
    """
    if ran.data is None:
        return
    model = next((row.model for row in ran.rows if row.model), None)
    again = run(ran.data, [("trim", {})], limit=budget, tokenizer="auto", model=model)
    assert again.data == ran.data
    assert all(row.fits for row in again.rows)
    before = {transcript.id: transcript for transcript in transcripts(data)}
    after = transcripts(ran.data)
    if len(before) == 1:
        assert orphans(after[0]) <= orphans(next(iter(before.values())))
    written = [row for row in ran.rows if row.is_written and row.messages]
    assert [row.messages for row in written] == [len(transcript.messages) for transcript in after]


@needs_corpus
@files(EVALS)
@pytest.mark.parametrize("budget", [100, 2000, 8000])
def test_samples_of_inspect_logs_fit_the_budget_as_in_a_json_log(path: Path, budget: int) -> None:
    lines = list(eval_log.lines(path, 1 << 30))
    data = b"".join(lines)
    assert run(data).data == data
    ran = run(data, [("trim", {})], limit=budget, tokenizer="auto")
    assert len(ran.rows) == len(lines)
    assert all(row.fits for row in ran.rows) or budget == 100
    if ran.data is not None:
        assert run(ran.data, [("trim", {})], limit=budget, tokenizer="auto").data == ran.data
    log = json.dumps({"samples": [json.loads(line) for line in lines]}).encode()
    counts = [row.count.tokens for row in run(log, tokenizer="auto").rows]
    assert [row.count.tokens for row in run(data, tokenizer="auto").rows] == counts


@needs_corpus
@files([path for path in EVALS if "theory-of-mind" in path.name])
def test_prompts_of_inspect_logs_count_as_their_provider_counted(path: Path) -> None:
    for line in eval_log.lines(path, 1 << 30):
        sample = json.loads(line)
        prompt = json.dumps({"model": "gpt-4o-mini", "messages": sample["messages"][:-1]})
        (row,) = run(prompt.encode(), tokenizer="auto").rows
        assert row.count.tokens == sample["output"]["usage"]["input_tokens"]


@needs_corpus
@files(TIER_1)
def test_locality_lines_without_an_edit_keep_their_bytes(path: Path) -> None:
    data = path.read_bytes()
    ran = run(data, [("truncate", {"max_tokens": 200})], tokenizer="o200k_base")
    before, after = data.split(b"\n"), (ran.data or b"").split(b"\n")
    assert len(before) == len(after)
    edited = {
        row.lines[measurement.change.message]
        for row in ran.rows
        for step in row.steps
        for measurement in step.changes
        if measurement.change.action == "truncated"
    }
    different = {
        number
        for number, (line, other) in enumerate(zip(before, after, strict=True), 1)
        if line != other
    }
    assert different == edited or path.suffix == ".json"


@needs_corpus
@files(TIER_1)
def test_idempotence_truncating_twice_equals_truncating_once(path: Path) -> None:
    once = run(path.read_bytes(), [("truncate", {})], tokenizer="auto").data or b""
    assert run(once, [("truncate", {})], tokenizer="auto").data == once


SAMPLE = [
    path
    for number, path in enumerate(path for path in FILES if path.stat().st_size < 400_000)
    if number % 12 == 0 or path in EVALS
]
UNDONE = (("--preset", "rolling"), ("-s", "truncate", "-s", "trim", "--budget", "2000"))


@needs_corpus
@files(SAMPLE)
@pytest.mark.parametrize("words", UNDONE, ids=["rolling", "truncate and trim"])
def test_reversal_every_file_is_restored_from_its_output(
    ctxtrim: Run, tmp_path: Path, path: Path, words: tuple[str, ...]
) -> None:
    archive = ("--archive", tmp_path / "a")
    ran = ctxtrim("run", *words, "--quiet", *archive, path, "-o", tmp_path / "out")
    if (tmp_path / "out").exists():
        with reading(Input(str(path), path.name), 1 << 30) as lines:
            assert ctxtrim("restore", tmp_path / "out", *archive).out == b"".join(lines)
    else:
        assert ran.code in (1, 3)  # no part of it could fit, or it has no transcript


@needs_corpus
@files(CHAT)
def test_openai_messages_and_calls_match_a_plain_reader(path: Path) -> None:
    text = path.read_text()
    values = (
        [json.loads(line) for line in text.splitlines()]
        if path.suffix == ".jsonl"
        else json.loads(text)
    )
    parsed_transcripts = transcripts(path.read_bytes())
    assert [len(transcript.messages) for transcript in parsed_transcripts] == [
        len(value["messages"]) for value in values
    ]
    calls = [
        sum(len(message.get("tool_calls") or ()) for message in value["messages"])
        for value in values
    ]
    assert [
        sum(sum(1 for _ in message.calls) for message in each.messages)
        for each in parsed_transcripts
    ] == calls


@needs_corpus
@files([path for path in TIER_1 if path.parent.name == "claude-code" and path.suffix == ".jsonl"])
def test_every_answered_live_call_of_claude_code_has_its_result(
    path: Path,
) -> None:
    answered = set()
    for record in (record for line in path.read_bytes().split(b"\n") for record in split(line, 1)):
        message = record.value.get("message") if isinstance(record.value, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        answered |= {
            block.get("tool_use_id") for block in content or () if isinstance(block, dict)
        } - {None}
    for transcript in transcripts(path.read_bytes()):
        turn_shape = shape(transcript.messages)
        assert [call.call_id for _, call in turn_shape.unanswered if call.call_id in answered] == []


@needs_corpus
@files(ANTHROPIC)
def test_anthropic_messages_calls_and_results_match_a_plain_reader(
    path: Path,
) -> None:
    expected = calls = results = 0
    for line in filter(str.strip, path.read_text().splitlines()):
        kinds = [block["type"] for block in json.loads(line).get("message", {}).get("content", ())]
        results += kinds.count("tool_result")
        calls += kinds.count("tool_use")
        expected += bool(set(kinds) - {"tool_result"})
    (transcript,) = transcripts(path.read_bytes())
    assert sum(message.role == "tool" for message in transcript.messages) == results
    assert sum(message.role != "tool" for message in transcript.messages) == expected
    assert sum(1 for message in transcript.messages for _ in message.calls) == calls
    assert orphans(transcript) == 0


@needs_corpus
@files([path for path in TIER_1 if path.parent.name in ("openclaw", "pi")])
def test_messages_and_calls_of_pi_match_a_plain_reader(path: Path) -> None:
    values = [record.value for line in path.read_bytes().split(b"\n") for record in split(line, 1)]
    entries = [value for value in values if isinstance(value, dict)]
    newest = max(
        (position for position, event in enumerate(entries) if event["type"] == "compaction"),
        default=None,
    )
    if newest is not None:
        names = [entry.get("id") for entry in entries]
        kept = entries[newest].get("firstKeptEntryIndex")
        start = names.index(entries[newest]["firstKeptEntryId"]) if kept is None else kept
        entries = [entries[newest], *entries[start:newest], *entries[newest + 1 :]]
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]
    sent = [
        message for message in messages if message.get("stopReason") not in ("aborted", "error")
    ]
    calls = sum(
        block["type"] == "toolCall"
        for message in sent
        for block in message.get("content") or ()
        if type(block) is dict
    )
    (transcript,) = transcripts(path.read_bytes())
    # an older compaction among the kept entries is not sent
    assert len(transcript.messages) == len(sent) + (newest is not None)
    assert sum(sum(1 for _ in message.calls) for message in transcript.messages) == calls


def items_of(value: Any) -> list[dict[str, Any]]:
    """All items of a line of a rollout, in any layout."""
    lists = [
        (value.get("responses_create_params") or {}).get("input"),
        (value.get("response") or {}).get("output"),
    ]
    return [
        item
        for element in (*lists, (value.get("trajectory") or {}).get("output"))
        for item in element or ()
    ]


@needs_corpus
@files([path for path in ITEMS if path.parent.name == "openai-responses"])
def test_items_match_a_plain_reader(path: Path) -> None:
    values = [items_of(json.loads(line)) for line in path.read_text().splitlines()]
    parsed_transcripts = transcripts(path.read_bytes())
    assert [
        sum(len(message.spans) for message in transcript.messages)
        for transcript in parsed_transcripts
    ] == [len(items) for items in values]
    made = [sum(item.get("type") == "function_call" for item in items) for items in values]
    assert [
        sum(1 for message in transcript.messages for _ in message.calls)
        for transcript in parsed_transcripts
    ] == made
    sent = [sum(item.get("type") == "function_call_output" for item in items) for items in values]
    assert [
        sum(message.role == "tool" for message in transcript.messages)
        for transcript in parsed_transcripts
    ] == sent
    expected = [sum(item.get("role") in ("user", "system") for item in items) for items in values]
    assert [
        sum(message.role in ("user", "system") for message in transcript.messages)
        for transcript in parsed_transcripts
    ] == expected


@needs_corpus
@files([path for path in ITEMS if path.parent.name == "codex-rollout"])
def test_items_of_codex_start_at_the_last_compaction(path: Path) -> None:
    events = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    items: list[dict[str, Any]] = []
    for event in events:
        payload = event.get("payload")
        if event.get("type") == "compacted":
            items = list(payload["replacement_history"])
        elif event.get("type") == "response_item":
            items.append(payload)
        elif "payload" not in event and event.get("type") != "error":
            items.append(event)
    items = [item for item in items if item.get("type") != "ghost_snapshot"]
    parsed_transcripts = transcripts(path.read_bytes())
    has_instructions = any("base_instructions" in (event.get("payload") or {}) for event in events)
    spans = [
        span
        for transcript in parsed_transcripts
        for message in transcript.messages
        for span in message.spans
    ]
    assert len(spans) == len(items) + (has_instructions and bool(items))


@needs_corpus
@files(OPENHANDS)
def test_messages_and_calls_of_openhands_match_a_plain_reader(path: Path) -> None:
    text = path.read_text()
    values = (
        [json.loads(line) for line in text.splitlines()]
        if path.suffix == ".jsonl"
        else [json.loads(text)]
    )
    expected = []
    for value in values:
        history = value if isinstance(value, list) else value.get("history", [])
        events = [
            event
            for message in history
            for event in (message if isinstance(message, list) else [message])
        ]
        actions = [event["action"] for event in events if "action" in event]
        calls = [
            kind
            for kind in actions
            if kind not in ("message", "finish", "system", "recall", "change_agent_state")
        ]
        seen = [event["observation"] for event in events if "observation" in event]
        results = [
            kind for kind in seen if kind not in ("null", "error", "recall", "agent_state_changed")
        ]
        expected_counts = sum(actions.count(kind) for kind in ("message", "finish", "system"))
        recalled = [event["extras"] for event in events if event.get("observation") == "recall"]
        expected_counts += seen.count(
            "error"
        )  # client text in the user role, such as search results
        expected_counts += sum(
            bool(item["repo_instructions"] or item["microagent_knowledge"]) for item in recalled
        )
        expected.append((expected_counts + len(calls) + len(results), len(calls), len(results)))
    entries = []
    for transcript in transcripts(path.read_bytes()):
        made = sum(len(list(message.calls)) for message in transcript.messages)
        entries.append(
            (
                len(transcript.messages),
                made,
                sum(message.role == "tool" for message in transcript.messages),
            )
        )
    assert entries == [counts for counts in expected if counts[0]]


@needs_corpus
@files([path for path in FILES if path.parent.name == "bfcl"])
def test_turns_of_a_question_form_a_single_conversation(path: Path) -> None:
    values = [json.loads(line) for line in path.read_text().splitlines()]
    parsed_transcripts = transcripts(path.read_bytes())
    prompts = [
        [message["content"] for turn in value["question"] for message in turn] for value in values
    ]
    assert [
        [part.text for message in transcript.messages for part in message.parts]
        for transcript in parsed_transcripts
    ] == prompts
    assert [transcript.tools is not None for transcript in parsed_transcripts] == [
        "function" in value for value in values
    ]


SHARED = [path for number, path in enumerate(TIER_1) if number % 8 == 0]
HARD = ("system", "current task", "last exchange", "hidden")


@needs_corpus
@files(SHARED)
@pytest.mark.parametrize("summarize", [False, True], ids=["dropped", "summarized"])
@pytest.mark.parametrize("budget", [2000, 8000])
def test_trim_overflows_only_if_protected_messages_exceed_the_budget(
    path: Path, summarize: bool, budget: int
) -> None:
    data, stages = path.read_bytes(), [("trim", {"summarize": summarize})]
    ran = run(data, stages, limit=budget, tokenizer="o200k_base")
    assert [finding.code for finding in ran.findings if finding.code == "self-check"] == []
    for row in ran.rows:
        assert row.count.tokens <= budget or row.overflows
        changes = [measurement.change for measurement in row.steps[0].changes]
        left = (
            {change.reason for change in changes if change.action != "dropped"}
            if row.overflows
            else set()
        )
        assert left <= set(HARD)
    if ran.data is not None:
        assert run(ran.data, stages, limit=budget, tokenizer="o200k_base").data == ran.data
