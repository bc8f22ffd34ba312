"""`check --baseline`: growth fails; new transcripts pass; vanished ones are noted."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Ran, Run
from samples import chat, line, messages

GPT = ("--model", "gpt-4o")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.jsonl").write_bytes(line(more='"id": "first"') + line(messages(3)))
    (tmp_path / "runs" / "b.jsonl").write_bytes(line(chat()))
    return tmp_path


def check(ctxtrim: Run, folder: Path, *words: object) -> Ran:
    return ctxtrim("check", *GPT, "--baseline", "base.json", *(words or ("runs",)), cwd=folder)


def entries(folder: Path) -> list[dict[str, Any]]:
    document = json.loads((folder / "base.json").read_bytes())
    assert document["version"] == 1
    return list(document["transcripts"])


def grow(path: Path, words: str = "Good morning to all of you.") -> None:
    path.write_bytes(line(chat(words)))


def test_there_is_an_entry_for_each_path_and_id_or_index(ctxtrim: Run, project: Path) -> None:
    ran = check(ctxtrim, project, "runs", "--update-baseline")
    assert ran.code == 0
    assert ran.err == "base.json: info: updated: 3 new transcripts, 0 removed\n"
    count = json.loads(ctxtrim("count", *GPT, "--json", "runs", cwd=project).out)["transcripts"]
    tokens = [row["tokens"] for row in count]
    assert entries(project) == [
        {"path": path, **key, "tokens": number, "tokenizer": "o200k_base"}
        for path, key, number in zip(
            ("runs/a.jsonl", "runs/a.jsonl", "runs/b.jsonl"),
            ({"index": 1}, {"id": "first"}, {"index": 0}),
            (tokens[1], tokens[0], tokens[2]),
            strict=True,
        )
    ]
    before = (project / "base.json").read_bytes()
    ran = check(ctxtrim, project)
    assert (ran.code, ran.err) == (0, "")
    assert check(ctxtrim, project, "runs", "--update-baseline").code == 0
    assert (project / "base.json").read_bytes() == before, "the same run writes the same file"


def test_growth_fails_with_file_and_line_until_it_is_accepted(ctxtrim: Run, project: Path) -> None:
    check(ctxtrim, project, "runs", "--update-baseline")
    grow(project / "runs" / "b.jsonl")
    ran = check(ctxtrim, project)
    assert ran.code == 3
    assert b"runs/b.jsonl:1: error: 25 tokens, 4 more than in the baseline (21)" in ran.out
    assert check(ctxtrim, project, "runs", "--update-baseline").code == 0
    assert check(ctxtrim, project).code == 0


def test_fewer_tokens_pass_and_are_the_next_bound_after_an_update(
    ctxtrim: Run, project: Path
) -> None:
    grow(project / "runs" / "b.jsonl")
    check(ctxtrim, project, "runs", "--update-baseline")
    grow(project / "runs" / "b.jsonl", "Good morning.")
    assert check(ctxtrim, project).code == 0
    check(ctxtrim, project, "runs", "--update-baseline")
    grow(project / "runs" / "b.jsonl")
    assert check(ctxtrim, project).code == 3


@pytest.mark.parametrize(
    ("tolerance", "code"),
    [("4", 0), ("3", 3), ("20%", 0), ("19%", 3), ("0", 3), ("1k", 0), ("1,000", 0), ("19.5%", 0)],
)
def test_the_tolerance_is_tokens_or_a_share_of_the_baseline(
    ctxtrim: Run, project: Path, tolerance: str, code: int
) -> None:
    check(ctxtrim, project, "runs", "--update-baseline")
    grow(project / "runs" / "b.jsonl")
    assert check(ctxtrim, project, "runs", "--tolerance", tolerance).code == code


def test_new_transcripts_pass_under_the_limits(ctxtrim: Run, project: Path) -> None:
    check(ctxtrim, project, "runs", "--update-baseline")
    (project / "runs" / "c.jsonl").write_bytes(line())
    ran = check(ctxtrim, project)
    assert ran.code == 0
    assert ran.err == "base.json: info: 1 new transcript; --update-baseline adds them\n"
    assert check(ctxtrim, project, "runs", "--max-messages", "14").code == 3


def test_vanished_transcripts_are_noted_and_those_of_other_files_stay(
    ctxtrim: Run, project: Path
) -> None:
    check(ctxtrim, project, "runs", "--update-baseline")
    (project / "runs" / "b.jsonl").unlink()
    (project / "runs" / "a.jsonl").write_bytes(line(messages(3)))
    ran = check(ctxtrim, project)
    assert "base.json: info: runs/b.jsonl #0 is not in the inputs any more" in ran.err
    assert "base.json: info: runs/a.jsonl first is not in the inputs any more" in ran.err
    (project / "other.jsonl").write_bytes(line(chat()))
    check(ctxtrim, project, "other.jsonl", "--update-baseline")
    assert [entry["path"] for entry in entries(project)] == [
        "other.jsonl",
        "runs/a.jsonl",
        "runs/a.jsonl",
    ]


def test_standard_input_keeps_its_entries_until_it_is_read_without_them(
    ctxtrim: Run, project: Path
) -> None:
    words = ("check", *GPT, "--baseline", "base.json")
    ctxtrim(*words, "--update-baseline", stdin=line(chat()) + line(messages(3)), cwd=project)
    ran = check(ctxtrim, project)
    assert ran.err == "base.json: info: 3 new transcripts; --update-baseline adds them\n"
    ran = check(ctxtrim, project, "runs", "--update-baseline")
    assert ran.err == "base.json: info: updated: 3 new transcripts, 0 removed\n"
    assert [entry["path"] for entry in entries(project)][:2] == ["-", "-"]
    assert ctxtrim(*words, stdin=line(chat("Good morning to all of you.")), cwd=project).code == 3
    ran = ctxtrim(*words, stdin=line(chat()), cwd=project)
    text = "<stdin> #1 is not in the inputs any more; --update-baseline removes it"
    assert (ran.code, ran.err) == (0, f"base.json: info: {text}\n")
    ran = ctxtrim(*words, "--update-baseline", stdin=gzip.compress(line(chat())), cwd=project)
    assert ran.err == "base.json: info: updated: 0 new transcripts, 1 removed\n"
    assert [entry["path"] for entry in entries(project)].count("-") == 1


def test_an_unreadable_file_loses_no_entry(ctxtrim: Run, project: Path) -> None:
    check(ctxtrim, project, "runs", "--update-baseline")
    before = entries(project)
    (project / "runs" / "b.jsonl").write_bytes(b'{"messages": [{"ro')
    assert check(ctxtrim, project, "runs", "--update-baseline").code == 1
    assert entries(project) == before


def test_paths_are_relative_to_the_baseline(ctxtrim: Run, project: Path) -> None:
    check(ctxtrim, project, "runs", "--update-baseline")
    words = ("check", *GPT, "--baseline", "../base.json", ".")
    ran = ctxtrim(*words, cwd=project / "runs")
    assert (ran.code, ran.err) == (0, "")


def test_a_baseline_may_be_compressed(ctxtrim: Run, project: Path) -> None:
    words = ("check", *GPT, "--baseline", "base.json.gz", "runs")
    assert ctxtrim(*words, "--update-baseline", cwd=project).code == 0
    assert (project / "base.json.gz").read_bytes().startswith(b"\x1f\x8b")
    assert ctxtrim(*words, cwd=project).code == 0
    grow(project / "runs" / "b.jsonl")
    assert ctxtrim(*words, cwd=project).code == 3


def test_a_baseline_forces_counting(ctxtrim: Run, project: Path) -> None:
    words, bound = ("runs/b.jsonl", "--json"), b'"counted": false'
    assert bound in ctxtrim("check", *GPT, *words, cwd=project).out
    assert bound not in check(ctxtrim, project, *words, "--update-baseline").out


@pytest.mark.parametrize(
    ("words", "content", "code", "error"),
    [
        (("--baseline", "none.json"), None, 1, "none.json: no such baseline; --update-baseline"),
        (("--baseline", "base.json"), b"{", 1, "base.json: invalid baseline"),
        (("--baseline", "base.json"), b'{"version": 2, "transcripts": []}', 1, "expected 1"),
        (
            ("--baseline", "base.json"),
            b'{"version": 1, "ctxtrim": "0.1.0", "transcripts": []}',
            1,
            "base.json: invalid baseline: Object contains unknown field `ctxtrim`",
        ),
        (
            ("--baseline", "base.json", "--update-baseline"),
            b'{"version": 1, "transcripts": [{"path": "a.jsonl", "messages": 2}]}',
            1,
            "base.json: invalid baseline: Object contains unknown field `messages`",
        ),
        (("--update-baseline",), None, 2, "--update-baseline needs --baseline FILE"),
        (("--tolerance", "5%"), None, 2, "--tolerance needs --baseline FILE"),
        (("--baseline", "b", "--tolerance", "x"), None, 2, "such as 200 or 5%"),
        (("--baseline", "b", "--tolerance", "-1"), None, 2, "such as 200 or 5%"),
        (("--baseline", "runs/a.jsonl", "--update-baseline"), None, 1, "invalid baseline"),
    ],
)
def test_an_invalid_baseline_is_one_clear_error(
    ctxtrim: Run,
    project: Path,
    words: tuple[str, ...],
    content: bytes | None,
    code: int,
    error: str,
) -> None:
    if content is not None:
        (project / "base.json").write_bytes(content)
    ran = ctxtrim("check", *GPT, "runs", *words, cwd=project)
    assert ran.code == code and error in ran.err and len(ran.err.splitlines()) == 1


def test_a_file_that_repeats_an_id_has_entries_by_position(ctxtrim: Run, project: Path) -> None:
    twice = line(chat(), more='"id": "same"') + line(messages(2), more='"id": "same"')
    (project / "runs" / "b.jsonl").write_bytes(twice)
    check(ctxtrim, project, "runs/b.jsonl", "--update-baseline")
    assert [(entry.get("id"), entry.get("index")) for entry in entries(project)] == [
        (None, 1),
        ("same", None),
    ]
    ran = check(ctxtrim, project, "runs/b.jsonl")
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("name", ["c.jsonl", "\udcff.jsonl"])
def test_an_id_or_a_name_that_is_no_unicode_is_found_again(
    ctxtrim: Run, project: Path, name: str
) -> None:
    (project / "runs" / name).write_bytes(line(chat(), more='"id": "half \\ud83d"'))
    assert check(ctxtrim, project, "runs", "--update-baseline").code == 0
    ran = check(ctxtrim, project)
    assert (ran.code, ran.err) == (0, "")


def test_a_baseline_that_cannot_be_written_is_a_finding_of_the_report(
    ctxtrim: Run, project: Path
) -> None:
    words = ("--baseline", "none/base.json", "--update-baseline", "--report", "r.json", "runs")
    ran = ctxtrim("check", *GPT, *words, cwd=project)
    assert ran.code == 1 and b"3 transcripts, " in ran.out
    assert "none/base.json: error: cannot be written: " in ran.err and "updated" not in ran.err
    assert len(json.loads((project / "r.json").read_bytes())["transcripts"]) == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_device_is_refused_because_it_may_never_end(ctxtrim: Run, project: Path) -> None:
    words = ("check", *GPT, "--baseline", "/dev/full", "--update-baseline", "runs")
    ran = ctxtrim(*words, cwd=project)
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err == "ctxtrim: /dev/full: cannot be read: it is a device; name another file\n"


def test_a_huge_baseline_is_refused(ctxtrim: Run, project: Path) -> None:
    with (project / "base.json").open("wb") as file:
        file.truncate(1 << 40)
    ran = check(ctxtrim, project)
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err == (
        "ctxtrim: base.json: cannot be read: it has more than 268,435,456 bytes; "
        "name another file\n"
    )


def test_a_small_file_with_a_huge_baseline_inside_is_refused(ctxtrim: Run, project: Path) -> None:
    with gzip.open(project / "base.json.gz", "wb", compresslevel=1) as file:
        for _ in range(300):
            file.write(bytes(1 << 20))
    ran = ctxtrim("check", *GPT, "--baseline", "base.json.gz", "runs", cwd=project)
    assert (ran.code, ran.out) == (1, b"")
    assert "base.json.gz: cannot be read: it has more than 268,435,456 bytes; " in ran.err
