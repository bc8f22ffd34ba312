"""Results are whole for two turns, then three lines and a pointer to the original:
S4, row by row.
"""

import copy
import json
from dataclasses import FrozenInstanceError
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES, Ran, Run
from harness import run

from ctxtrim import (
    AssistantMessage,
    ContextMessage,
    ContextWindow,
    SpecRefreshMessage,
    ToolResultMessage,
    ToolResultRetentionPolicy,
    UserMessage,
)
from ctxtrim.config.presets import PRESETS
from ctxtrim.errors import InputError

POLICY = ToolResultRetentionPolicy()
POINTER = '[TRUNCATED — full output in get_task_trace(traceId="abc-123")]'
LONG = "\n".join(f"line {number} of the report" for number in range(1, 201))
HEAD = "line 1 of the report\nline 2 of the report\nline 3 of the report\n"
RETENTION = [(stage, dict(settings)) for stage, settings in PRESETS["retention"].stages.items()]


def tool(turn: int, text: str = LONG, trace: str = "abc-123") -> ToolResultMessage:
    return ToolResultMessage(f"r{turn}", text, turn, trace)


def record(kind: str, turn: int, text: str = LONG, **more: Any) -> dict[str, Any]:
    return {"id": f"{kind}-{turn}", "type": kind, "content": text, "turn": turn} | more


def turns(*numbers: int, now: int = 4, text: str = LONG) -> list[dict[str, Any]]:
    """A result in each of some turns, and a user message in the current turn."""
    made = [record("tool_result", turn, text, traceId=f"trace-{turn}") for turn in numbers]
    return [
        record("spec_refresh", 1),
        record("user", 1),
        *made,
        record("assistant", 1),
        record("user", now, "go on"),
    ]


def lines(records: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def pipeline(data: bytes) -> list[dict[str, Any]]:
    """The records that the preset's stage leaves."""
    return [json.loads(line) for line in (run(data, RETENTION).data or b"").splitlines()]


@pytest.fixture
def archiving(ctxtrim: Run, tmp_path: Path) -> Run:
    """The command of somebody whose data folder is empty."""

    def ran(*words: object, stdin: bytes = b"") -> Ran:
        return ctxtrim(*words, stdin=stdin, XDG_DATA_HOME=str(tmp_path / "own"), HOME=str(tmp_path))

    return ran


@pytest.mark.parametrize(("now", "is_full"), [(3, True), (4, True), (5, False), (90, False)])
def test_s4_1_results_of_the_current_and_previous_turn_are_full(now: int, is_full: bool) -> None:
    assert POLICY.is_fully_retained(tool(3), now) is is_full
    (kept,) = POLICY.apply(ContextWindow((tool(3),), now)).messages
    assert (kept == tool(3)) is is_full
    data = lines([record("tool_result", 3, traceId="t"), record("user", now, "so?")])
    assert (pipeline(data)[0]["content"] == LONG) is is_full


def test_s4_1_every_other_message_is_always_whole() -> None:
    others = (
        UserMessage("u", LONG, 1),
        AssistantMessage("a", LONG, 1),
        SpecRefreshMessage("s", LONG, 1),
    )
    assert all(POLICY.is_fully_retained(item, 99) for item in others)
    assert POLICY.apply(ContextWindow(others, 99)).messages == others
    data = lines(
        [
            *(record(kind, 1) for kind in ("user", "assistant", "spec_refresh")),
            record("user", 99, "so?"),
        ]
    )
    assert run(data, RETENTION).data == data


def test_s4_2_three_lines_and_a_pointer() -> None:
    short = POLICY.truncate(tool(1))
    assert short.content == HEAD + POINTER
    assert len(short.content.split("\n")) < 5
    assert (short.id, short.turn, short.trace_id) == ("r1", 1, "abc-123")
    assert POLICY.truncate(tool(1, "one line")).content == f"one line\n{POINTER}"
    data = lines([record("tool_result", 1, traceId="abc-123"), record("user", 4, "so?")])
    assert pipeline(data)[0]["content"] == HEAD + POINTER


def test_s4_3_the_policy_is_pure_and_idempotent() -> None:
    window = ContextWindow((UserMessage("u", "go", 1), tool(1), tool(3)), 4)
    before = copy.deepcopy(window)
    after = POLICY.apply(window)
    assert window == before and after is not window
    assert after.messages[1:] == (POLICY.truncate(tool(1)), tool(3))
    assert POLICY.apply(after) == after
    assert POLICY.truncate(POLICY.truncate(tool(1))) == POLICY.truncate(tool(1))
    pointed = tool(1, HEAD + POINTER.replace("abc-123", "another-id"))
    assert POLICY.truncate(pointed) == pointed
    with pytest.raises(FrozenInstanceError):
        window.messages[1].content = ""  # type: ignore[misc]


@pytest.mark.parametrize("text", ["", "a", "a\nb", LONG])
@pytest.mark.parametrize("pointer", ["[cut]\nsee {id}", "[cut {id}]\n", "{id}\n{id}", "[cut]"])
def test_s4_3_the_policy_knows_pointers_of_several_lines(pointer: str, text: str) -> None:
    policy = ToolResultRetentionPolicy(pointer=pointer)
    once = policy.truncate(tool(1, text))
    assert once.content.endswith(pointer.replace("{id}", "abc-123"))
    assert policy.truncate(once) == once


def test_s4_3_the_policy_always_truncates_and_the_stage_only_to_save_tokens() -> None:
    assert POLICY.truncate(tool(1, "ok")).content == f"ok\n{POINTER}"
    data = lines([record("tool_result", 1, "ok", traceId="abc-123"), record("user", 4, "so?")])
    assert run(data, RETENTION).data == data
    endless = "x" * 9000
    assert POLICY.truncate(tool(1, endless)).content == f"{endless}\n{POINTER}"
    data = lines([record("tool_result", 1, endless, traceId="abc-123"), record("user", 4, "so?")])
    assert (
        pipeline(data)[0]["content"]
        == f"{'x' * 400} ... [truncated 8600 characters] ...\n{POINTER}"
    )


def test_s4_3_the_stage_run_again_changes_nothing() -> None:
    once = run(lines(turns(1, 2, 3)), RETENTION).data or b""
    assert once != lines(turns(1, 2, 3))
    assert run(once, RETENTION).data == once


def test_s4_3_the_preset_truncates_errors() -> None:
    data = lines(
        [
            record("tool_result", 1, "Error: no such file\n" + LONG, traceId="t"),
            record("user", 4, "so?"),
        ]
    )
    assert pipeline(data)[0]["content"].startswith("Error: no such file\nline 1 of the report\n")
    assert pipeline(data)[0]["content"].endswith('(traceId="t")]')


def test_s4_4_every_message_of_a_window_is_a_context_message() -> None:
    records = turns(1)
    messages = ContextWindow.of(records).messages
    assert all(isinstance(message, ContextMessage) for message in messages)
    assert not isinstance(records[0], ContextMessage)


def test_s4_4_records_round_trip_through_messages() -> None:
    records = turns(1, 2, 3)
    window = ContextWindow.of(records)
    assert window.current_turn == 4
    assert [type(message) for message in window.messages] == [
        SpecRefreshMessage, UserMessage, *[ToolResultMessage] * 3, AssistantMessage, UserMessage,
    ]  # fmt: skip
    assert [message.type for message in window.messages[:3]] == [
        "spec_refresh",
        "user",
        "tool_result",
    ]
    assert window.records() == records
    assert ContextWindow.of(records, current_turn=9).current_turn == 9
    assert ContextWindow.of([]) == ContextWindow((), 0)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"traceId": None}, "record 2: traceId: expected a text, found None"),
        ({"traceId": ""}, "record 2: traceId: expected a text, found ''"),
        ({"traceId": "  "}, "'tool_result-1': a trace id is required"),
        (
            {"type": "note"},
            "record 2: type 'note': expected one of user, assistant, tool_result, spec_refresh",
        ),
        ({"id": ""}, "record 2: id: expected a text"),
        ({"content": ["x"]}, "record 2: content: expected a text"),
        ({"turn": "1"}, "record 2: turn: expected a whole number, found '1'"),
        ({"turn": True}, "record 2: turn: expected a whole number, found True"),
    ],
)
def test_s4_4_an_invalid_record_is_named_in_the_error(change: dict[str, Any], error: str) -> None:
    with pytest.raises(InputError) as raised:
        ContextWindow.of([record("user", 1), record("tool_result", 1, traceId="t") | change])
    assert error in str(raised.value)


def test_s4_4_a_record_is_a_mapping() -> None:
    with pytest.raises(InputError, match="record 1: expected a mapping, found 'x'"):
        ContextWindow.of(["x"])  # type: ignore[list-item]


def test_s4_4_a_tool_result_requires_a_trace_id() -> None:
    with pytest.raises(TypeError):
        ToolResultMessage("r", "text", 1)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="a trace id is required"):
        ToolResultMessage("r", "text", 1, " ")


def test_s4_4_an_empty_text_is_valid() -> None:
    assert ContextWindow.of([record("user", 1, "")]).messages == (UserMessage("user-1", "", 1),)


def test_s4_4_a_missing_trace_id_is_reported_with_its_line(archiving: Run) -> None:
    records = turns(1, 2)
    del records[3]["traceId"]
    ran = archiving("run", "--preset", "retention", stdin=lines(records))
    assert (ran.code, ran.out) == (1, lines(records))
    assert (
        "line 4" in ran.err.replace(":4:", " line 4")
        and "no trace id" in ran.err
        and "--assign-ids" in ran.err
    )


def test_s4_4_ids_are_assigned_by_option(archiving: Run) -> None:
    records = turns(1, 2)
    del records[3]["traceId"]
    ran = archiving("run", "--preset", "retention", "--assign-ids", stdin=lines(records))
    assert ran.code == 0
    pointer = json.loads(ran.out.splitlines()[3])["content"].splitlines()[-1]
    name = pointer.removeprefix(
        '[TRUNCATED — full output in get_task_trace(traceId="'
    ).removesuffix('")]')
    assert name == f"trace-{sha256(LONG.encode()).hexdigest()[:16]}"
    assert archiving("trace", "get", name).out == LONG.encode()


def test_s4_5_turns_1_2_3_at_turn_4() -> None:
    window = ContextWindow((tool(1), tool(2), tool(3)), 4)

    pairs = zip(POLICY.apply(window).messages, window.messages, strict=True)
    assert [after == before for after, before in pairs] == [False, False, True]
    assert POLICY.apply(window, current_turn=2).messages == window.messages
    assert POLICY.apply(window, current_turn=2).current_turn == 2
    values = [
        message["content"] == LONG
        for message in pipeline(lines(turns(1, 2, 3)))
        if message["type"] == "tool_result"
    ]
    assert values == [False, False, True]


def test_s4_6_the_original_is_restored_byte_for_byte(archiving: Run, tmp_path: Path) -> None:
    text = "zwölf Boote\r\n" + "ein Seil\t\u2028\n" * 200
    ran = archiving("run", "--preset", "retention", stdin=lines(turns(1, text=text)))
    assert ran.code == 0 and b"TRUNCATED" in ran.out
    assert archiving("trace", "get", "trace-1").out == text.encode()
    elsewhere = archiving(
        "run",
        "--preset",
        "retention",
        "--archive",
        tmp_path / "a",
        stdin=lines(turns(1, text=text)),
    )
    assert elsewhere.out == ran.out
    assert archiving("trace", "get", "trace-1", "--archive", tmp_path / "a").out == text.encode()
    assert archiving("restore", "-", "--archive", tmp_path / "a", stdin=ran.out).out == lines(
        turns(1, text=text)
    )


def test_s4_6_unknown_and_empty_ids_are_different_errors(archiving: Run) -> None:
    archiving("run", "--preset", "retention", stdin=lines(turns(1)))
    for name, code, error in (
        ("trace-9", 1, "TRACE_NOT_FOUND"),
        ("", 2, "INVALID_INPUT"),
        (" \t", 2, "INVALID_INPUT"),
    ):
        ran = archiving("trace", "get", name)
        assert (ran.code, ran.out) == (code, b"")
        assert error in ran.err


@pytest.mark.parametrize("named", [(), ("--archive", "missing")])
def test_s4_6_an_unknown_id_is_not_found_before_an_archive_exists(
    archiving: Run, named: tuple[str, ...]
) -> None:
    ran = archiving("trace", "get", "trace-9", *named)
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err.startswith("ctxtrim: TRACE_NOT_FOUND: trace-9: ")
    assert "no archive in this folder; name the --archive of the run" in ran.err


def test_s4_6_a_hash_selects_one_of_several_originals(archiving: Run) -> None:
    texts = [f"the {word} report\n" * 300 for word in ("first", "second")]
    for text in texts:
        archiving("run", "--preset", "retention", stdin=lines(turns(1, text=text)))
    ran = archiving("trace", "get", "trace-1")
    assert (ran.code, ran.out) == (1, b"")
    for text in texts:
        name = sha256(text.encode()).hexdigest()
        assert name in ran.err
        assert archiving("trace", "get", "trace-1", "--sha256", name).out == text.encode()
        assert archiving("trace", "get", "trace-1", "--sha256", name[:12]).out == text.encode()
    ran = archiving("trace", "get", "trace-1", "--sha256", "0" * 64)
    assert (ran.code, "TRACE_NOT_FOUND" in ran.err) == (1, True)


def test_s4_6_a_result_that_cannot_be_stored_stays_whole(archiving: Run, tmp_path: Path) -> None:
    (tmp_path / "own").write_bytes(b"a file where a folder should be")
    data = lines(turns(1))
    ran = archiving("run", "--preset", "retention", stdin=data)
    assert ran.code == 1
    assert ran.out in (b"", data) and b"TRUNCATED" not in ran.out
    (tmp_path / "own").unlink()
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "packs").write_bytes(b"in the way")
    ran = archiving("run", "--preset", "retention", "--archive", tmp_path / "a", stdin=data)
    assert (ran.code, ran.out) == (1, b"")


@pytest.mark.parametrize("words", [("--dry-run",), ("--dry-run", "--json")])
def test_s4_6_a_dry_run_stores_nothing(
    archiving: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    assert archiving("run", "--preset", "retention", *words, stdin=lines(turns(1))).code == 0
    assert not (tmp_path / "own").exists()


def test_s4_7_the_lifecycle_full_then_truncated_then_retrieved(archiving: Run) -> None:
    data = (FIXTURES / "turns.jsonl").read_bytes()
    originals = {
        message["traceId"]: message["content"]
        for message in map(json.loads, data.splitlines())
        if "traceId" in message
    }
    seen = {}
    for now in (1, 2, 3, 4):
        ran = archiving("run", "--preset", "retention", "--current-turn", now, stdin=data)
        value = {
            message["traceId"]: message["content"]
            for message in map(json.loads, ran.out.splitlines())
            if "traceId" in message
        }
        seen[now] = sorted(name for name, text in value.items() if text == originals[name])
    assert seen == {
        1: ["harbour-1", "harbour-2", "harbour-3"],
        2: ["harbour-1", "harbour-2", "harbour-3"],
        3: ["harbour-2", "harbour-3"],
        4: ["harbour-3"],
    }
    for name in ("harbour-1", "harbour-2"):
        assert archiving("trace", "get", name).out == originals[name].encode()
