"""Results that are moved to files: with several processes, for one tool, and in a dry run."""

import json
from pathlib import Path

import pytest
from builders import conversation, says, step, user
from conftest import Ran, run
from samples import line, step_text

QUICK = ("--tokenizer", "chars4")
STAGES = ("-s", "truncate:clock=none,spill-above=100", "-s", "check", "--budget", "9000")
FOR_ONE_TOOL = ("truncate", "--clock", "none", "--tool", "look:spill-above=100")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "t.jsonl").write_bytes(line())
    return tmp_path / "t.jsonl"


def spill(file: Path, *words: object) -> Ran:
    """Run a command on a file; its data and temporary folders are next to the file."""
    folders = {"XDG_DATA_HOME": str(file.parent / "data"), "TMPDIR": str(file.parent / "tmp")}
    (file.parent / "tmp").mkdir(exist_ok=True)
    return run(*words, *QUICK, file, cwd=file.parent, **folders)


def stored(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("words", [(), ("--in-place",), ("--archive", "a")])
def test_a_dry_run_reports_what_the_run_does_and_stores_nothing(
    file: Path, words: tuple[str, ...]
) -> None:
    dry = spill(file, "run", *STAGES, *words, "--dry-run", "--report", "dry.json")
    assert (dry.code, file.read_bytes()) == (0, line())
    assert {path.name for path in stored(file.parent)} == {"t.jsonl", "dry.json"}
    real = spill(file, "run", *STAGES, *words, "--report", "real.json")
    assert real.code == 0
    (first, _), (second, _) = (
        json.loads((file.parent / name).read_bytes())["transcripts"][0]["steps"]
        for name in ("dry.json", "real.json")
    )
    assert [change["action"] for change in first["changes"]].count("archived") == 7
    for change in (*first["changes"], *second["changes"]):
        if change["action"] != "archived":
            change.pop("archived", None)
    assert first == second


@pytest.mark.parametrize("words", [("--in-place",), ("--archive", "a", "-o", "o"), ("-o", "o")])
@pytest.mark.parametrize("jobs", ["1", "3"])
def test_results_of_one_tool_are_moved_to_files(
    file: Path, words: tuple[str, ...], jobs: str
) -> None:
    ran = spill(file, *FOR_ONE_TOOL, "--jobs", jobs, *words)
    assert ran.code == 0, ran.err
    texts = [path.read_bytes() for path in stored(file.parent) if path.parent.name != "packs"]
    assert {step_text(number).encode() for number in range(1, 8)} <= set(texts)


@pytest.mark.parametrize("words", [("--in-place",), ("-o", "o")])
def test_without_an_archive_by_option_no_result_is_moved_to_a_file(
    file: Path, words: tuple[str, ...]
) -> None:
    limits = "truncate:clock=none,spill-above=100,max-chars=80"
    ran = spill(file, "run", "-s", limits, "--no-archive", *words)
    output = file.parent / "o" if "-o" in words else file
    assert (ran.code, set(stored(file.parent))) == (0, {file, output})
    assert output.read_bytes().count(b"[tool output truncated: ") == 7


def test_without_an_archive_by_option_the_preset_compact_limits_a_huge_result(file: Path) -> None:
    talk = [
        user("List the ships."),
        *step("c1", "a line of the register\n" * 10_000),
        says("Done."),
    ]
    file.write_bytes(conversation(talk))
    ran = spill(file, "run", "--preset", "compact", "--no-archive", "-o", "o")
    assert (ran.code, {path.name for path in stored(file.parent)}) == (0, {"t.jsonl", "o"})
    assert len((file.parent / "o").read_bytes()) < 60_000
