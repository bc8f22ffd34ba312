"""inspect logs: read inside their zip, sample by sample, and never edited."""

import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import zstandard
from conftest import Run
from harness import read
from memory import measured

from ctxtrim.io.containers import eval_log

HEADER = {"version": 2, "eval": {"task": "ferries", "model": "openai/gpt-4o"}, "status": "success"}


def sample(number: int, model: str = "gpt-4o-2024-08-06") -> dict[str, Any]:
    call = {"id": "c1", "function": "timetable", "arguments": {"pier": "north"}, "type": "function"}
    return {
        "id": number,
        "epoch": 1,
        "input": "When does the ferry leave?",
        "target": "at noon",
        "messages": [
            {"role": "system", "content": "You know the ferries of the bay."},
            {"role": "user", "content": f"When does ferry {number} leave?", "source": "input"},
            {"role": "assistant", "content": "I look it up.", "tool_calls": [call]},
            {"role": "tool", "content": "noon\n" * 400, "tool_call_id": "c1", "function": "f"},
            {"role": "assistant", "content": 'At noon,  on \\ the "north" pier: [ 1 , 2 ].'},
            {"role": "user", "content": "And the one after?"},
        ],
        "output": {"model": model, "choices": []},
        "scores": {"match": {"value": 1.0, "answer": "noon"}},
    }


def packed(members: Mapping[str, object], indent: int | None = 2) -> bytes:
    """A zip with some members, which inspect writes with line breaks."""
    data = BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(name, json.dumps(value, indent=indent))
    return data.getvalue()


def log(*samples: Mapping[str, Any], is_finished: bool = True) -> bytes:
    """A log; while the evaluation runs it has no header and no summaries."""
    ends = {"summaries.json": [], "header.json": HEADER} if is_finished else {}
    return packed(
        {"_journal/start.json": HEADER}
        | {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in samples}
        | {"_journal/summaries/1.json": [{"id": 1, "input": "When?"}]}
        | ends
    )


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def tokens(ran: Any) -> list[int]:
    return [row["tokens"] for row in json.loads(ran.out)["transcripts"]]


SAMPLES = [sample(1), sample(2), sample(10)]
LOG = log(*SAMPLES)
LINES = b"".join(map(compact, SAMPLES))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ferries.eval"
    path.write_bytes(LOG)
    return path


def test_samples_count_as_those_of_a_json_log(ctxtrim: Run, file: Path, tmp_path: Path) -> None:
    (tmp_path / "ferries.json").write_text(json.dumps(HEADER | {"samples": SAMPLES}, indent=2))
    ran = ctxtrim("count", "--json", file)
    rows = json.loads(ran.out)["transcripts"]
    assert [(row["path"], row["line"]) for row in rows] == [(str(file), n) for n in (1, 2, 3)]
    assert {(row["format"], row["model"]) for row in rows} == {("openai-chat", "gpt-4o-2024-08-06")}
    assert tokens(ran) == tokens(ctxtrim("count", "--json", tmp_path / "ferries.json"))


def test_the_model_of_a_log_is_that_of_its_last_header(ctxtrim: Run, tmp_path: Path) -> None:
    nameless = sample(1) | {"output": {"model": "", "choices": []}}
    first, last = ({"eval": {"model": name}} for name in ("openai/gpt-4o", "openai/gpt-5"))
    members = {"_journal/start.json": first, "samples/1_epoch_1.json": nameless}
    (tmp_path / "x.eval").write_bytes(packed(members | {"header.json": last}))
    ran = ctxtrim("count", "--json", tmp_path / "x.eval")
    assert [row["model"] for row in json.loads(ran.out)["transcripts"]] == ["openai/gpt-5"]


def test_samples_that_are_not_edited_come_out_as_compact_lines(
    ctxtrim: Run, file: Path, tmp_path: Path
) -> None:
    assert ctxtrim("trim", file).out == LINES
    assert ctxtrim("trim", stdin=LOG).out == LINES
    assert ctxtrim("trim", file, "-o", tmp_path / "x.jsonl").code == 0
    assert (tmp_path / "x.jsonl").read_bytes() == LINES
    assert file.read_bytes() == LOG


def test_an_edited_sample_fits_and_a_second_run_changes_nothing(
    ctxtrim: Run, file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "x.jsonl"
    ran = ctxtrim(
        "run", "-s", "truncate:max-tokens=50", "-s", "trim", "--budget", "200", file, "-o", out
    )
    assert ran.code == 0
    assert len(out.read_bytes()) < len(LINES)
    assert ctxtrim("check", "--budget", "200", out).code == 0
    assert ctxtrim("trim", "--budget", "200", out).out == out.read_bytes()
    kept = [json.loads(line) for line in out.read_bytes().splitlines()]
    assert [{**each, "messages": 0} for each in kept] == [
        {**each, "messages": 0} for each in SAMPLES
    ]


def test_a_log_is_checked(ctxtrim: Run, file: Path) -> None:
    assert ctxtrim("check", "--budget", "4000", file).code == 0
    assert ctxtrim("check", "--budget", "100", file).code == 3


def test_edits_are_undone(ctxtrim: Run, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    words = ("run", "-s", "truncate:max-tokens=50", "--archive", tmp_path / "archive", file)
    assert ctxtrim(*words, "-o", out).code == 0
    assert out.read_bytes() != LINES
    assert ctxtrim("restore", "--archive", tmp_path / "archive", out).out == LINES


def test_a_log_is_not_edited_in_place(ctxtrim: Run, file: Path) -> None:
    ran = ctxtrim("trim", "--in-place", file)
    assert (ran.code, file.read_bytes()) == (2, LOG)
    assert "a zip archive is only read; write its transcripts with -o x.jsonl" in ran.err


def test_logs_of_a_folder_are_found_and_written_as_lines(
    ctxtrim: Run, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES)
    assert ctxtrim("trim", tmp_path, "-o", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "ferries.eval.jsonl").read_bytes() == LINES
    assert (tmp_path / "out" / "a.jsonl").read_bytes() == LINES


def test_in_place_skips_the_logs_of_a_folder(ctxtrim: Run, file: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES)
    ran = ctxtrim("trim", "--budget", "200", "--in-place", tmp_path)
    assert (ran.code, file.read_bytes()) == (0, LOG)
    assert f"{file}: info: skipped: it cannot be edited in place; use -o" in ran.err
    assert (tmp_path / "a.jsonl").read_bytes() != LINES


def test_the_first_bytes_tell_a_log_not_its_name(ctxtrim: Run, file: Path) -> None:
    assert ctxtrim("trim", file.rename(file.with_name("log"))).out == LINES


def test_the_log_names_the_model_of_a_sample_without_an_answer(
    ctxtrim: Run, tmp_path: Path
) -> None:
    unanswered = sample(1, model="")
    (tmp_path / "a.eval").write_bytes(log(unanswered))
    (tmp_path / "a.json").write_bytes(compact(HEADER | {"samples": [unanswered]}))
    for path in tmp_path.iterdir():
        row = json.loads(ctxtrim("count", "--json", path).out)["transcripts"][0]
        assert row["model"] == "openai/gpt-4o"
    line = ctxtrim("trim", tmp_path / "a.eval").out
    assert line == compact({"eval": {"model": "openai/gpt-4o"}} | unanswered)


def test_a_log_that_is_still_written_is_read(ctxtrim: Run) -> None:
    assert ctxtrim("trim", stdin=log(*SAMPLES[:2], is_finished=False)).out == b"".join(
        map(compact, SAMPLES[:2])
    )


def test_a_sample_that_was_written_again_counts_once(ctxtrim: Run) -> None:
    data = BytesIO(log(sample(1, model="older")))
    with zipfile.ZipFile(data, "a") as archive, pytest.warns(UserWarning):
        archive.writestr("samples/1_epoch_1.json", json.dumps(SAMPLES[0]))
    assert ctxtrim("trim", stdin=data.getvalue()).out == compact(SAMPLES[0])


def test_values_keep_their_spelling(ctxtrim: Run) -> None:
    text = '{ "id" :\t1e3, "big": 123456789012345678901234567890,\r\n "messages": '
    text += '[ {"role"\n: "user", '
    text += '"content": "a \\u00e9  \\" : , b\\\\" } ] }'
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("samples/x/y_epoch_1.json", text)
    assert ctxtrim("trim", stdin=data.getvalue()).out.decode() == (
        '{"id":1e3,"big":123456789012345678901234567890,"messages":[{"role":"user",'
        '"content":"a \\u00e9  \\" : , b\\\\"}]}\n'
    )


def test_a_sample_that_only_python_reads_is_still_a_line(ctxtrim: Run) -> None:
    odd = SAMPLES[0] | {"scores": {"match": float("nan")}, "note": "\ud800"}
    ran = ctxtrim("trim", stdin=log(odd, sample(2)))
    first, second = ran.out.splitlines(keepends=True)
    assert (ran.code, second) == (0, compact(sample(2)))
    assert json.loads(first)["messages"] == odd["messages"]
    assert b'"match": NaN' in first


def with_zstd(name: str, text: bytes) -> bytes:
    """A zip with one member that zstd compressed, as newer versions of inspect write it."""
    inside = zstandard.ZstdCompressor().compress(text)
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(name, inside)
    whole = bytearray(data.getvalue())
    facts = struct.pack("<3L", zlib.crc32(text), len(inside), len(text))
    central = whole.rindex(b"PK\x01\x02")
    for method, start in ((8, 14), (central + 10, central + 16)):
        whole[method : method + 2] = struct.pack("<H", 93)
        whole[start : start + 12] = facts
    return bytes(whole)


def test_members_compressed_with_zstd_are_read(ctxtrim: Run) -> None:
    data = with_zstd("samples/1_epoch_1.json", json.dumps(SAMPLES[0], indent=1).encode())
    assert ctxtrim("trim", stdin=data).out == compact(SAMPLES[0])
    damaged = bytearray(data)
    damaged[14] ^= 1
    damaged[data.rindex(b"PK\x01\x02") + 16] ^= 1  # the check sum of the sample
    ran = ctxtrim("trim", stdin=bytes(damaged))
    assert (ran.code, ran.out) == (1, b"")
    assert "damaged or cut off (bad CRC-32" in ran.err


@pytest.mark.parametrize("name", ["deflate", "zstd"])
def test_a_sample_above_the_size_limit_is_refused_before_memory_ends(
    ctxtrim: Run, tmp_path: Path, name: str
) -> None:
    bomb = b'{"messages":"' + bytes(50_000_000) + b'"}'
    path = tmp_path / "bomb.eval"
    if name == "zstd":
        path.write_bytes(with_zstd("samples/1_epoch_1.json", bomb))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("samples/1_epoch_1.json", bomb)
    assert path.stat().st_size < 100_000
    del bomb
    ran = ctxtrim("count", "--max-size", "5MB", path)
    assert ran.code == 1
    assert f"{path}:1: error: the sample has more than 5,000,000 bytes" in ran.err
    with measured() as memory, pytest.raises(Exception, match="the sample has more"):
        list(eval_log.lines(path, 5_000_000))
    assert memory.peak < 25_000_000


def test_memory_is_that_of_one_sample(tmp_path: Path) -> None:
    path = tmp_path / "long.eval"
    large = {"messages": [{"role": "user", "content": "gull " * 200_000}]}
    path.write_bytes(packed({f"samples/{n}_epoch_1.json": large for n in range(20)}))
    with measured() as memory:
        for line in eval_log.lines(path, 1 << 30):
            assert len(line) > 1_000_000
    assert memory.peak < 8_000_000


@pytest.mark.parametrize(
    "data, error",
    [
        (LOG[:-30], "damaged or cut off"),
        (LOG[:200], "damaged or cut off"),
        (b"PK\x03\x04\x14\x00\xff\xff", "damaged or cut off"),
        (LOG[:700] + bytes(10) + LOG[710:], "damaged or cut off"),
        (packed({"notes.txt": "x"}), "a zip archive: unpack it first"),
        (log(), "the inspect log has no samples"),
        (packed({"header.json": HEADER, "samples/1_epoch_1/sample.json": {}}), "in pieces"),
    ],
    ids=[
        "cut at the end",
        "cut in the middle",
        "start alone",
        "zeros",
        "other archive",
        "no samples",
        "sample in pieces",
    ],  # an archive contains the time
)
def test_a_bad_log_is_refused_as_a_whole(
    ctxtrim: Run, tmp_path: Path, data: bytes, error: str
) -> None:
    (tmp_path / "bad.eval").write_bytes(data)
    ran = ctxtrim("trim", tmp_path / "bad.eval", "-o", tmp_path / "out.jsonl")
    assert (ran.code, (tmp_path / "out.jsonl").exists()) == (1, False)
    assert f"{tmp_path / 'bad.eval'}: error: " in ran.err
    assert error in ran.err
    assert len(ran.err.splitlines()) == 2


def test_an_encrypted_log_is_refused(ctxtrim: Run) -> None:
    locked = bytearray(packed({"samples/1_epoch_1.json": SAMPLES[0]}))
    locked[6] |= 1
    locked[locked.rindex(b"PK\x01\x02") + 8] |= 1
    ran = ctxtrim("count", stdin=bytes(locked))
    assert (ran.code, "samples/1_epoch_1.json in it is encrypted" in ran.err) == (1, True)


def test_a_sample_that_is_not_json_is_reported_and_the_others_are_read(ctxtrim: Run) -> None:
    data = BytesIO(LOG)
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr("samples/11_epoch_1.json", '{"id": 11,\n "mess')
    ran = ctxtrim("count", stdin=data.getvalue())
    assert "<stdin>:4: error: the line ends in the middle of a JSON value" in ran.err
    assert ran.out.count(b"<stdin>:") >= 3


def test_detection_reads_the_lines_as_it_reads_any_file(file: Path) -> None:
    lines = b"".join(eval_log.lines(file, 1 << 30))
    assert [chunk.data for chunk in read(lines)] == LINES.splitlines(keepends=True)


def test_restore_gives_the_lines_of_a_log_and_says_so(ctxtrim: Run, tmp_path: Path) -> None:
    file, archive = tmp_path / "a.eval", tmp_path / "archive"
    file.write_bytes(log(sample(1)))
    cut = ("truncate", "--clock", "none", "--max-tokens", "50", "--archive", archive, file, "-o")
    ran = ctxtrim(*cut, tmp_path / "b.eval")
    assert (ran.code, (tmp_path / "b.eval").exists()) == (2, False)
    assert f"the output has JSON lines; write to {tmp_path / 'b.eval'}.jsonl" in ran.err
    assert ctxtrim(*cut, tmp_path / "b.jsonl").code == 0
    ran = ctxtrim("restore", "--archive", archive, tmp_path / "b.jsonl")
    assert (ran.code, ran.out) == (0, ctxtrim("trim", file).out)
    assert f"; {file} is a zip archive, of which the JSON lines are restored" in ran.err
