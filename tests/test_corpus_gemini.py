"""The promises over real sessions of Gemini CLI, Qwen Code and ADK, and real ShareGPT and
LLaMA-Factory data sets.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import run
from test_corpus import FILES, files, needs_corpus, orphans, transcripts

FOLDERS = ("gemini-cli", "google-adk", "qwen", "sharegpt", "llamafactory-v1-jsonl")
MINE = [path for path in FILES if path.parent.name in FOLDERS]
Count = tuple[int, int, int]  # messages, calls, results


def values(path: Path) -> list[Any]:
    """The JSON values in a file, however they are spread over lines."""
    text, values, position = path.read_text(), [], 0
    while text[position:].strip():
        position += len(text[position:]) - len(text[position:].lstrip())
        value, position = json.JSONDecoder().raw_decode(text, position)
        values.append(value)
    return values


def plain(path: Path) -> Iterator[Count]:
    """The counts of a plain reader for each conversation of a file."""
    result = values(path)
    kind = path.parent.name
    if kind == "gemini-cli":
        entries = result[0].get("messages", result)
        messages = [entry for entry in entries if entry.get("type") in ("user", "gemini", "model")]
        calls = [call for item in messages for call in item.get("toolCalls", ())]
        results = [call for call in calls if call.get("result")]
        yield len(messages) + len(results), len(calls), len(results)
    elif kind == "google-adk" and "eval_cases" in result[0]:  # no case records a response
        for case in result[0]["eval_cases"]:
            yield 2 * len(case["conversation"]), 0, 0
    elif kind == "google-adk":
        parts = [
            part for message in result[0].get("events", ()) for part in message["content"]["parts"]
        ]
        calls, results = (
            [part for part in parts if key in part]
            for key in ("function_call", "function_response")
        )
        yield len(result[0].get("events", ())), len(calls), len(results)
    elif kind == "qwen":
        by_id = {event["uuid"]: event for event in reversed(result)}
        sent = [item for item in result if item.get("subtype") != "session_artifact_snapshot"]
        name, chain = sent[-1]["uuid"], []
        while name:
            chain.append(name)
            name = by_id[name]["parentUuid"]
        parts = [
            part
            for event in result
            if event["uuid"] in chain
            for part in event.get("message", {}).get("parts", ())
        ]
        messages = {
            event["uuid"]
            for event in result
            if event["uuid"] in chain and event["type"] != "system"
        }
        yield (
            len(messages),
            sum("functionCall" in part for part in parts),
            sum("functionResponse" in part for part in parts),
        )
    else:
        for item in result[0] if isinstance(result[0], list) else result:
            for key in ("conversations", "messages", "chosen_messages", "rejected_messages"):
                names = [turn.get("from", turn.get("role")) for turn in item.get(key, ())]
                if names:
                    yield len(names), names.count("function_call"), names.count("observation")


@needs_corpus
@files(MINE)
def test_messages_calls_and_results_match_a_plain_reader(path: Path) -> None:
    parsed_transcripts = transcripts(path.read_bytes())
    counted = [
        (
            len(transcript.messages),
            sum(1 for each in transcript.messages for _ in each.calls),
            sum(each.role == "tool" for each in transcript.messages),
        )
        for transcript in parsed_transcripts
    ]
    assert counted == [count for count in plain(path) if count[0]]


@needs_corpus
@files(MINE)
@pytest.mark.parametrize("budget", [20, 60, 150, 400, 1000, 4000])
def test_trimmed_files_fit_and_keep_calls_with_results(path: Path, budget: int) -> None:
    data = path.read_bytes()
    for stages in (
        [("trim", {})],
        [("truncate", {"max_tokens": 32, "max_age": 1, "keep_small": 0}), ("trim", {})],
    ):
        ran = run(data, stages, limit=budget, tokenizer="o200k_base")
        assert [finding for finding in ran.findings if finding.code == "self-check"] == []
        assert all(row.fits or row.overflows for row in ran.rows)
        written = [row for row in ran.rows if row.is_written and row.messages]
        again = transcripts(ran.data or b"")
        assert [len(transcript.messages) for transcript in again] == [
            row.messages for row in written
        ]
        assert sum(map(orphans, again)) <= sum(map(orphans, transcripts(data)))
        assert all(
            row.fits for row in run(ran.data or b"", limit=budget, tokenizer="o200k_base").rows
        )
