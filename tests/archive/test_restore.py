"""Undo: an archive restores the input of every edit byte for byte, or the error explains why
not.
"""

import gzip
import json
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from builders import conversation, step, steps, user
from conftest import COMMAND, ENVIRONMENT, FIXTURES, Run
from hypothesis import given
from hypothesis import strategies as st
from samples import line, long_chat, oversized_chat, step_text

from ctxtrim.archive.delta import segments
from ctxtrim.archive.index import Archive
from ctxtrim.archive.places import places, text_at
from ctxtrim.archive.recorder import Recording
from ctxtrim.stage import Original
from ctxtrim.text.hashing import sha256

EDITS = (
    ("truncate", "--max-age", "1"),
    ("trim", "--budget", "300"),
    ("run", "-s", "truncate:max-age=1", "-s", "trim", "--budget", "400"),
    ("run", "-s", "repair:repair=synthesize", "-s", "trim", "--budget", "900"),
    ("run",),
)
FILES = sorted(FIXTURES.glob("*.json*"))
QUICK = ("--tokenizer", "chars4", "--quiet")


@pytest.mark.parametrize("words", EDITS, ids=[" ".join(words) for words in EDITS])
@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_the_input_is_restored_after_every_kind_of_edit(
    ctxtrim: Run, tmp_path: Path, file: Path, words: tuple[str, ...]
) -> None:
    ran = ctxtrim(*words, *QUICK, "--archive", tmp_path / "a", file)
    assert (
        ctxtrim("restore", "-", "--archive", tmp_path / "a", stdin=ran.out).out == file.read_bytes()
    )


def test_in_place_edits_and_left_out_transcripts_are_restored(ctxtrim: Run, tmp_path: Path) -> None:
    data = (line(oversized_chat()) + line(long_chat()) + b"\n" + line(end="")).replace(
        b"\n", b"\r\n"
    )
    file = tmp_path / "t.jsonl"
    file.write_bytes(data)
    archive = ("--archive", tmp_path / "a")
    ran = ctxtrim("trim", "--budget", "200", *QUICK, *archive, file)
    assert ran.code == 3
    assert ctxtrim("restore", "-", *archive, stdin=ran.out).out == data
    assert ctxtrim("truncate", "--in-place", *QUICK, *archive, file).code == 0
    assert file.read_bytes() != data
    assert ctxtrim("restore", file, *archive, "-o", file).code == 0
    assert file.read_bytes() == data


def test_errors_name_the_file_and_standard_input(ctxtrim: Run, tmp_path: Path) -> None:
    archive = ("--archive", tmp_path / "a")
    ctxtrim("truncate", *QUICK, *archive, stdin=line())
    missing, long = tmp_path / "missing.jsonl", tmp_path / "long.jsonl"
    long.write_bytes(line())
    for words, stdin, expected in (
        ((missing,), b"", f"{missing}: cannot be read: "),
        ((long, "--max-size", "50"), b"", f"{long}:1: the line has more than 50 bytes"),
        (("-", "--max-size", "50"), line(), "<stdin>:1: the line has more than 50 bytes"),
        (("-",), b"{}", "<stdin>: no run in "),
    ):
        ran = ctxtrim("restore", *words, *archive, stdin=stdin)
        assert (ran.code, ran.out) == (1, b"")
        assert ran.err.startswith(f"ctxtrim: {expected}")


def test_two_runs_are_undone_one_at_a_time(ctxtrim: Run, tmp_path: Path) -> None:
    archive = ("--archive", tmp_path / "a")
    first = ctxtrim("truncate", *QUICK, *archive, stdin=line()).out
    second = ctxtrim("trim", "--budget", "200", *QUICK, *archive, stdin=first).out
    assert len({line(), first, second}) == 3
    assert ctxtrim("restore", "-", *archive, stdin=second).out == first
    assert ctxtrim("restore", "-", *archive, stdin=first).out == line()


def test_a_hash_or_path_selects_one_of_several_inputs(ctxtrim: Run, tmp_path: Path) -> None:
    archive = ("--archive", tmp_path / "a")
    talks = [
        conversation([user("go"), *step("a", word * 50), user("now")]) for word in ("one ", "two ")
    ]
    outs = {ctxtrim("trim", "--budget", "20", *QUICK, *archive, stdin=talk).out for talk in talks}
    assert len(outs) == 1
    (out,) = outs
    ran = ctxtrim("restore", "-", *archive, stdin=out)
    assert (ran.code, ran.out) == (1, b"")
    for talk in talks:
        assert sha256(talk) in ran.err
        assert (
            ctxtrim("restore", "-", *archive, "--input", sha256(talk)[:12], stdin=out).out == talk
        )


def test_several_inputs_on_standard_output_are_restored_together(
    ctxtrim: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(end=""))
    (tmp_path / "b.jsonl").write_bytes(line())
    archive = ("--archive", tmp_path / "x")
    out = ctxtrim("truncate", *QUICK, *archive, tmp_path / "a.jsonl", tmp_path / "b.jsonl").out
    assert ctxtrim("restore", "-", *archive, stdin=out).out == line(end="") + line()


def test_an_unchanged_line_after_an_input_without_a_line_end_is_restored(
    ctxtrim: Run, tmp_path: Path
) -> None:
    short = conversation([user("go")])
    (tmp_path / "a.jsonl").write_bytes(line(end=""))
    (tmp_path / "b.jsonl").write_bytes(short + line())
    archive = ("--archive", tmp_path / "x")
    out = ctxtrim("truncate", *QUICK, *archive, tmp_path / "a.jsonl", tmp_path / "b.jsonl").out
    assert ctxtrim("restore", "-", *archive, stdin=out).out == line(end="") + short + line()


def test_a_compressed_input_is_restored_as_its_content(ctxtrim: Run, tmp_path: Path) -> None:
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(line()))
    archive = ("--archive", tmp_path / "x")
    assert ctxtrim("truncate", "--in-place", *QUICK, *archive, packed).code == 0
    assert ctxtrim("restore", packed, *archive).out == line()
    output = tmp_path / "o.gz"
    assert ctxtrim("restore", packed, *archive, "-o", output).code == 0
    assert gzip.decompress(output.read_bytes()) == line()


def repacked(pack: bytes, old: bytes, new: bytes) -> bytes:
    """A pack with other bytes inside."""
    inside = gzip.decompress(pack)
    assert old in inside
    return gzip.compress(inside.replace(old, new))


@pytest.mark.parametrize(
    "harm", ["changed", "cut", "longer", "replaced", "missing", "output", "archive", "index"]
)
def test_untrusted_records_are_refused_with_the_reason(
    ctxtrim: Run, tmp_path: Path, harm: str
) -> None:
    folder = tmp_path / "a"
    out = ctxtrim("truncate", *QUICK, "--archive", folder, stdin=line()).out
    (pack,) = (folder / "packs").iterdir()
    if harm == "changed":
        data = bytearray(pack.read_bytes())
        data[len(data) // 2] ^= 1
        pack.write_bytes(data)
    elif harm == "cut":
        pack.write_bytes(pack.read_bytes()[:-9])
    elif harm == "longer":
        pack.write_bytes(pack.read_bytes() * 2)
    elif harm == "replaced":
        pack.write_bytes(repacked(pack.read_bytes(), b"result 1", b"result 2"))
    elif harm == "missing":
        pack.unlink()
    elif harm == "output":
        out = out.replace(b"look", b"took")
    elif harm == "index":
        (folder / "index.sqlite3").write_bytes(b"no index at all" * 100)
    else:
        folder = tmp_path / "nowhere"
    ran = ctxtrim("restore", "-", "--archive", folder, stdin=out)
    assert (ran.code, ran.out) == (1, b"")
    fields = {
        "missing": "no run in",
        "output": "no run in",
        "archive": "no archive in this folder",
        "index": "the index of the archive cannot be used",
    }
    assert fields.get(harm, f"{pack}: the pack has been changed") in ran.err
    if harm not in fields:
        for words in (("verify",), ("list",), ("get", "call_1")):
            ran = ctxtrim("trace", *words, "--archive", folder)
            assert (ran.code, f"{pack}: the pack has been changed" in ran.err) == (1, True)


def test_the_original_of_a_result_is_retrieved_by_its_id(ctxtrim: Run, tmp_path: Path) -> None:
    archive = ("--archive", tmp_path / "a")
    report = tmp_path / "r.json"
    ctxtrim("truncate", *QUICK, *archive, "--report", report, stdin=line())
    assert ctxtrim("trace", "get", "call_1", *archive).out == step_text(1).encode()
    (change,) = json.loads(report.read_text())["transcripts"][0]["steps"][0]["changes"]
    assert change["archived"] == f"sha256:{sha256(step_text(1).encode())}"
    assert b"call_1" in ctxtrim("trace", "list", *archive).out
    assert ctxtrim("trace", "verify", *archive).code == 0
    for name, code, error in (("call_2", 1, "TRACE_NOT_FOUND"), (" ", 2, "INVALID_INPUT")):
        ran = ctxtrim("trace", "get", name, *archive)
        assert (ran.code, ran.out, error in ran.err) == (code, b"", True)
    for name, advice in (("call_1", True), ("call_2", False)):
        ran = ctxtrim("trace", "get", name, "--sha256", "zzz", *archive)
        assert ran.code == 1 and ("and the SHA-256 zzz; leave out --sha256" in ran.err) == advice


@pytest.mark.parametrize("runs", [1, 2])
def test_an_ambiguous_id_lists_the_results_and_a_hash_selects(
    ctxtrim: Run, tmp_path: Path, runs: int
) -> None:
    archive = ("--archive", tmp_path / "a")
    texts = ["first " * 300, "second " * 300]
    inputs = [conversation([*step("c", text), *steps(1, "x")]) for text in texts]
    for data in inputs if runs == 2 else [b"".join(inputs)]:
        ctxtrim("truncate", "--max-age", "0", *QUICK, *archive, stdin=data)
    ran = ctxtrim("trace", "get", "c", *archive)
    assert (ran.code, ran.out) == (1, b"")
    for text in texts:
        assert sha256(text.encode()) in ran.err
        assert (
            ctxtrim("trace", "get", "c", "--sha256", sha256(text.encode()), *archive).out
            == text.encode()
        )


def test_the_archive_is_private_to_the_user(ctxtrim: Run, tmp_path: Path) -> None:
    ctxtrim("truncate", *QUICK, "--archive", tmp_path / "a", stdin=line())
    for path in [tmp_path / "a", *(tmp_path / "a").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_dry_run_stores_nothing_and_a_walk_skips_the_archive(
    ctxtrim: Run, tmp_path: Path
) -> None:
    (tmp_path / "t.jsonl").write_bytes(line())
    archive = ("--archive", tmp_path / "a")
    assert ctxtrim("truncate", "--dry-run", *QUICK, *archive, tmp_path).code == 0
    assert not (tmp_path / "a").exists()
    for _ in range(2):
        ran = ctxtrim("truncate", "--in-place", "--tokenizer", "chars4", *archive, tmp_path)
        assert "1 transcript," in ran.err


def test_a_result_that_cannot_be_stored_stays_in_full(ctxtrim: Run, tmp_path: Path) -> None:
    archive = tmp_path / "a"
    (archive / "objects").mkdir(parents=True)
    name = sha256(step_text(2).encode())
    (archive / "objects" / name[:2]).write_bytes(b"in the way")
    words = ("--spill-above", "100", *QUICK, "--archive", archive)
    ran = ctxtrim("truncate", *words, stdin=line())
    assert (ran.code, ran.out) == (1, line())
    assert "the transcript is unchanged" in ran.err
    settings = "truncate:spill-above=100"
    ran = ctxtrim(
        "run",
        "-s",
        settings,
        "-s",
        "trim",
        "--budget",
        "300",
        *QUICK,
        "--archive",
        archive,
        stdin=line(),
    )
    assert (ran.code, ran.out) == (1, b"")


def test_several_processes_share_an_archive(ctxtrim: Run, process: Run, tmp_path: Path) -> None:
    archive = ("--archive", tmp_path / "a")
    talks = [conversation(steps(7, f"result {number} " * 100)) for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        outs = list(
            pool.map(lambda talk: process("truncate", *QUICK, *archive, stdin=talk).out, talks)
        )
    for talk, out in zip(talks, outs, strict=True):
        assert ctxtrim("restore", "-", *archive, stdin=out).out == talk


@pytest.mark.exhaustive
def test_a_process_killed_at_any_moment_leaves_a_whole_file_and_loses_nothing(
    tmp_path: Path,
) -> None:
    data = b"".join(conversation(steps(9, f"result {number} " * 200)) for number in range(40))
    file, folder = tmp_path / "t.jsonl", tmp_path / "a"
    words = [
        *COMMAND,
        "truncate",
        "--max-age",
        "1",
        "--in-place",
        "--tokenizer",
        "chars4",
        "--quiet",
    ]
    file.write_bytes(data)
    start = time.monotonic()
    subprocess.run(
        [*words, "--archive", str(tmp_path / "b"), str(file)], check=True, env=ENVIRONMENT
    )
    took, after = time.monotonic() - start, file.read_bytes()
    moments = random.Random(7)
    outcomes = set()
    for _ in range(50):
        file.write_bytes(data)
        process = subprocess.Popen([*words, "--archive", str(folder), str(file)], env=ENVIRONMENT)
        time.sleep(moments.uniform(0, took * 1.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        output = file.read_bytes()
        assert output in (data, after)
        outcomes.add(output)
        if output == after:
            archive = Archive(folder, makes=False)
            (run,) = archive.runs(sha256(after))
            assert b"".join(archive.restored(run, after)) == data
            archive.close()
    subprocess.run([*words, "--archive", str(folder), str(file)], check=True, env=ENVIRONMENT)
    assert {path.name for path in tmp_path.iterdir()} == {
        "t.jsonl",
        "a",
        "b",
    }  # the next run removes leftovers
    assert not list(folder.rglob("*.ctxtrim-tmp"))


lines = st.lists(
    st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"long line\n", b"end"]), max_size=12
)


@given(lines, lines, st.integers(0, 5))
def test_the_segments_restore_the_input_of_any_output(
    before: list[bytes], after: list[bytes], start: int
) -> None:
    output = b"x" * start + b"".join(after)
    restored = [
        part if isinstance(part, bytes) else output[part.start :][: part.length]
        for part in segments(before, after, start)
    ]
    assert b"".join(restored) == b"".join(before)


@pytest.mark.parametrize("words", EDITS[:2], ids=[" ".join(words) for words in EDITS[:2]])
@pytest.mark.parametrize("is_lines", [True, False])
def test_an_archive_is_hardly_larger_than_gzip_of_the_input(
    ctxtrim: Run, tmp_path: Path, words: tuple[str, ...], is_lines: bool
) -> None:
    dice = random.Random(3)
    messages = [user("go")]
    for number in range(400):
        messages += step(
            f"call_{number}", " ".join(f"entry {dice.randrange(10**4)}" for _ in range(260))
        )
    messages.append(user("now"))
    data = (
        b"".join(json.dumps(message).encode() + b"\n" for message in messages)
        if is_lines
        else conversation(messages)
    )
    assert len(data) > 1_000_000
    ran = ctxtrim(*words, *QUICK, "--archive", tmp_path / "a", stdin=data)
    size = sum(path.stat().st_size for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert size <= 1.1 * len(gzip.compress(data, 6))
    assert ctxtrim("restore", "-", "--archive", tmp_path / "a", stdin=ran.out).out == data


def test_originals_of_an_interrupted_run_are_kept(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "a")
    recording = Recording(archive, "t.jsonl", "truncate")
    for number in range(3):
        text = f"result {number} \ud800 " * 200
        recording.keep([Original(0, f"call_{number}", text, "look", 1, "truncated")], "truncate")
        recording.chunk(json.dumps({"content": text}).encode() + b"\n", b"{}\n")
        if number < 2:
            recording.sync()
    recording.discard()
    (pack,) = (tmp_path / "a" / "packs").iterdir()
    assert pack.name.startswith("partial-")
    pack.write_bytes(pack.read_bytes()[:-20])
    traces, _ = archive.traces()
    assert [trace.id for trace in traces] == ["call_0"]
    assert archive.original(traces[0]) == ("result 0 \ud800 " * 200).encode(
        "utf-8", "surrogatepass"
    )


def test_each_replaced_result_has_one_trace(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "a")
    recording = Recording(archive, "t.jsonl", "truncate")
    for number in range(3):
        text = f"result {number} " * 200
        recording.keep([Original(0, f"call_{number}", text, "look", 1, "truncated")], "truncate")
        recording.chunk(json.dumps({"content": text}).encode() + b"\n", b"{}\n")
    recording.finish()
    assert sorted(trace.id for trace in archive.traces()[0]) == ["call_0", "call_1", "call_2"]


@given(st.lists(st.text(min_size=50), min_size=1, max_size=4), st.booleans())
def test_every_text_is_found_in_the_json_around_it(texts: list[str], is_ascii: bool) -> None:
    nested = json.dumps({"output": texts[0]})
    data = json.dumps([*texts, nested], ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    result = places(data, set(texts))
    assert all(text_at(data, result[text]) == text for text in texts)
    inner = json.dumps([nested], ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    assert text_at(inner, places(inner, {texts[0]})[texts[0]]) == texts[0]


def test_a_result_cut_inside_json_takes_time_in_proportion_to_its_length() -> None:
    def seconds(repeats: int) -> float:
        cut = json.dumps({"output": 'say "hi" ' * repeats})[:-9]
        data = json.dumps({"content": cut}).encode()
        start = time.thread_time()  # the work is in C; other programs do not change its time
        assert text_at(data, places(data, {cut})[cut]) == cut
        return time.thread_time() - start

    assert seconds(5_000) < 40 * max(seconds(500), 0.001)
