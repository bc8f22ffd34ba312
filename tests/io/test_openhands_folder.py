"""The folder of an OpenHands conversation: its event files are one session."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from writers import openhands

CUT = ("truncate", "--max-age", "0", "--max-tokens", "60")


def talk() -> list[dict[str, Any]]:
    """Four questions with a long result each."""
    found: list[dict[str, Any]] = []
    for number in range(4):
        call = {"id": f"c{number}", "name": "bash", "input": {"x": f"sail {number}"}}
        rows = "\n".join(f"{hour}:00 {number}.{hour} knots" for hour in range(99))
        found += [
            {"role": "user", "texts": [f"How strong is the wind of day {number}?"]},
            {"role": "assistant", "texts": ["I look."], "calls": [call]},
            {"role": "tool", "id": f"c{number}", "texts": [rows], "error": None},
            {"role": "assistant", "texts": [f"{number} knots."], "calls": []},
        ]
    return found


def store(folder: Path, *, is_old: bool = False) -> Path:
    """A conversation as the files of a folder; the newest event has number 10 or more."""
    (folder / "events").mkdir(parents=True)
    values = openhands.events(talk()) if is_old else openhands.sdk_events(talk())
    for number, value in enumerate(values):
        name = f"{number}.json" if is_old else f"event-{number:05d}-{value['id']}.json"
        (folder / "events" / name).write_text(json.dumps(value))
    (folder / ("metadata.json" if is_old else "base_state.json")).write_text('{"id": "x"}')
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    """All files by name."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def lines(folder: Path) -> bytes:
    """The events of a folder as JSON lines."""
    paths = sorted(
        folder.glob("events/*.json"),
        key=lambda path: int(path.stem.removeprefix("event-").split("-")[0]),
    )
    return b"".join(path.read_bytes() + b"\n" for path in paths)


@pytest.fixture(params=[False, True], ids=["new", "old"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return store(tmp_path / "gale", is_old=request.param)


def test_a_folder_counts_like_its_events_as_lines(
    ctxtrim: Run, session: Path, tmp_path: Path
) -> None:
    out = tmp_path / "x.jsonl"
    out.write_bytes(lines(session))
    assert ctxtrim("trim", session).out == out.read_bytes()
    rows = [
        json.loads(ctxtrim("count", path, "--json").out)["transcripts"]
        for path in (session, session / "events", out)
    ]
    assert [row["tokens"] for (row,) in rows] == [rows[2][0]["tokens"]] * 3
    assert (rows[0][0]["format"], rows[0][0]["path"]) == ("openhands", str(session))


def test_the_folder_may_be_the_working_directory(
    ctxtrim: Run, session: Path, tmp_path: Path
) -> None:
    assert ctxtrim("trim", ".", "-o", tmp_path / "x.jsonl", cwd=session).code == 0
    assert (tmp_path / "x.jsonl").read_bytes() == lines(session)


def test_a_folder_of_conversations_has_an_input_for_each(ctxtrim: Run, tmp_path: Path) -> None:
    for name in ("calm", "gale"):
        store(tmp_path / "conversations" / name)
    ran = ctxtrim("count", tmp_path / "conversations", "--json")
    found = json.loads(ran.out)["transcripts"]
    assert [Path(row["path"]).name for row in found] == ["calm", "gale"]
    ran = ctxtrim("trim", tmp_path / "conversations", "-o", tmp_path / "out", "--budget", "1500")
    assert ran.code == 0
    assert sorted(tree(tmp_path / "out")) == ["calm.jsonl", "gale.jsonl"]
    assert ctxtrim("check", tmp_path / "out", "--budget", "1500").code == 0


def test_shortened_results_are_written_to_their_files_and_undone(
    ctxtrim: Run, session: Path, tmp_path: Path
) -> None:
    before, archive = tree(session), tmp_path / "archive"
    expected = ctxtrim(*CUT, session).out
    assert ctxtrim(*CUT, "--in-place", "--archive", archive, session).code == 0
    after = tree(session)
    assert lines(session) == expected
    changed = [name for name in before if after[name] != before[name]]
    assert before.keys() == after.keys()
    assert len(changed) == 4
    assert all(b"knots" in before[name] for name in changed)
    assert ctxtrim("restore", session, "--archive", archive, "--in-place").code == 0
    assert tree(session) == before


def test_an_edit_that_drops_events_is_refused_in_place(ctxtrim: Run, session: Path) -> None:
    before = tree(session)
    ran = ctxtrim("trim", "--budget", "600", "--in-place", session)
    assert ran.code == 1
    assert "none can be dropped; write the session with -o x.jsonl" in ran.err
    assert tree(session) == before


def test_copies_of_events_are_not_left_behind(ctxtrim: Run, session: Path) -> None:
    (session / "event_cache").mkdir()
    before = tree(session)
    ran = ctxtrim(*CUT, "--in-place", session)
    assert (ran.code, "event_cache/ has copies" in ran.err) == (1, True)
    assert tree(session) == before


def test_an_interrupted_edit_is_reported_and_put_back(ctxtrim: Run, session: Path) -> None:
    before, whole = tree(session), lines(session)
    edited = ctxtrim(*CUT, session).out
    changed = max((session / "events").iterdir(), key=lambda path: b"knots" in path.read_bytes())
    (line,) = (line for line in edited.splitlines() if line.startswith(changed.read_bytes()[:20]))
    changed.write_bytes(line)  # as if the run had been killed after the first file
    (session / "events" / ".ctxtrim-journal").write_text(
        json.dumps([whole.decode(), edited.decode()])
    )
    ran = ctxtrim("count", session)
    assert (ran.code, "was interrupted" in ran.err) == (1, True)
    assert ctxtrim("truncate", "--max-tokens", "999999", "--in-place", session).code == 0
    assert tree(session) == before


def test_patterns_for_paths_mean_the_folder_of_a_conversation(ctxtrim: Run, tmp_path: Path) -> None:
    for name in ("calm", "gale"):
        store(tmp_path / name)
    for words in (("--include", "ga*"), ("--exclude", "calm/")):
        ran = ctxtrim("count", ".", "--json", *words, cwd=tmp_path)
        assert [row["path"] for row in json.loads(ran.out)["transcripts"]] == ["gale"]


def test_a_byte_order_mark_of_an_event_stays_and_comes_back(
    ctxtrim: Run, session: Path, tmp_path: Path
) -> None:
    for path in (session / "events").iterdir():
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes() + b"\n")
    before, archive = tree(session), tmp_path / "archive"
    assert ctxtrim(*CUT, "--in-place", "--archive", archive, session).code == 0
    after = tree(session)
    assert len([name for name in before if after[name] != before[name]]) == 4
    assert all(after[name].startswith(b"\xef\xbb\xbf{") for name in after if "/" in name)
    assert ctxtrim("restore", session, "--archive", archive, "--in-place").code == 0
    assert tree(session) == before


def test_an_event_that_is_not_utf_8_is_named(ctxtrim: Run, session: Path) -> None:
    path = max((session / "events").iterdir(), key=lambda path: b"knots" in path.read_bytes())
    data = path.read_bytes()
    path.write_bytes(data.replace(b"knots", b"n\xe5uds", 1))
    before = tree(session)
    ran = ctxtrim(*CUT, "--in-place", session)
    assert ran.code == 1
    place = data.index(b"knots") + 2
    assert f"{path.name}: not UTF-8 at byte {place} of the line; write the session" in ran.err
    assert tree(session) == before


def test_an_event_that_is_no_object_is_named(ctxtrim: Run, session: Path) -> None:
    path = max((session / "events").iterdir())
    path.write_text("")
    ran = ctxtrim("count", session)
    assert (ran.code, f"{path.name}: not a JSON object" in ran.err) == (1, True)


def test_other_folders_with_the_name_are_walked(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    message = {"messages": [{"role": "user", "content": "Reef the sail."}]}
    (tmp_path / "events" / "1.json").write_text(json.dumps(message))
    (row,) = json.loads(ctxtrim("count", tmp_path, "--json").out)["transcripts"]
    assert (row["format"], Path(row["path"]).name) == ("openai-chat", "1.json")
