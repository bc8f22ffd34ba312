"""The storage folder of opencode: many files are one session, edited as a whole or not at all."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND, ENVIRONMENT, Run
from writers import opencode_storage

from ctxtrim.io.replacement import ChangedError
from ctxtrim.io.storage import stored_session
from ctxtrim.io.storage.files import SessionFiles
from ctxtrim.io.storage.journal import Journal
from ctxtrim.io.temporary import Temporary

TRIM = ("trim", "--budget", "1200", "--context-window", "9000")


def talk() -> list[dict[str, Any]]:
    """Four questions with a long result each."""
    found: list[dict[str, Any]] = []
    for number in range(4):
        call = {"id": f"c{number}", "name": "bash", "input": {"x": f"tide {number}"}}
        rows = [f"{hour}:00 {number}.{hour} m" for hour in range(60)]
        found += [
            {"role": "user", "texts": [f"What are the tides of day {number}? " * 9]},
            {"role": "assistant", "texts": ["I look."], "calls": [call]},
            {"role": "tool", "id": f"c{number}", "texts": rows},
            {"role": "assistant", "texts": [f"High at {number}."], "calls": []},
        ]
    return found


def tree(root: Path) -> dict[str, bytes]:
    """All files by name."""
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


@pytest.fixture(params=[(0, False), (1, True)], ids=["new", "old"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    number, is_old = request.param
    yield opencode_storage.store(talk(), tmp_path / "storage", number, is_old=is_old)


def root_of(session: Path) -> Path:
    return session.parent.parent.parent


def test_a_session_counts_like_its_export(ctxtrim: Run, session: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    assert ctxtrim("trim", session, "-o", out).code == 0
    value = json.loads(out.read_bytes())
    assert value["info"] == json.loads(session.read_bytes())
    files = [name for name in tree(root_of(session)) if "message/" in name]
    assert [list(message) for message in value["messages"]] == [["info", "parts"]] * len(files)
    stored, exported = (ctxtrim("count", path, "--format", "opencode") for path in (session, out))
    assert stored.out.split()[-1] == exported.out.split()[-1] != b"0"
    assert ctxtrim("check", session).code == ctxtrim("check", out).code == 0


def test_a_trimmed_session_is_a_session(ctxtrim: Run, session: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    assert ctxtrim(*TRIM, session, "-o", out).code == 0
    assert ctxtrim("check", out, "--budget", "1200").code == 0
    assert ctxtrim(*TRIM, out).out == out.read_bytes()


@pytest.mark.parametrize(
    "stages", [("truncate", "--max-tokens", "60"), TRIM, (*TRIM, "--summarize")], ids=str
)
def test_an_edit_in_place_writes_what_changed_and_is_undone(
    ctxtrim: Run, session: Path, tmp_path: Path, stages: tuple[str, ...]
) -> None:
    root, out, archive = root_of(session), tmp_path / "x.json", tmp_path / "archive"
    before = tree(root)
    assert ctxtrim(*stages, session, "-o", out).code == 0
    assert ctxtrim(*stages, "--in-place", "--archive", archive, session).code == 0
    after = tree(root)
    assert ctxtrim("trim", session).out == out.read_bytes()
    assert before != after
    assert {name for name, data in after.items() if before.get(name) == data} >= {
        name for name in before if name in after and "part" not in name and "message" not in name
    }
    assert all(isinstance(json.loads(data), dict) for data in after.values())
    assert ctxtrim(*stages, "--in-place", session).code == 0
    assert tree(root) == after
    assert ctxtrim("restore", session, "--archive", archive, "-o", session).code == 0
    assert tree(root) == before


def test_restored_files_are_as_private_as_the_others(ctxtrim: Run, session: Path) -> None:
    root = root_of(session)
    session.chmod(0o644)
    others = [path for path in root.rglob("*") if path.is_file() and path != session]
    for path in others:
        path.chmod(0o600)
    archive = ("--archive", root.parent / "archive")
    assert ctxtrim(*TRIM, "--in-place", *archive, session).code == 0
    assert not all(path.exists() for path in others)
    assert ctxtrim("restore", session, "-o", session, *archive).code == 0
    assert {path.stat().st_mode & 0o777 for path in others} == {0o600}
    assert session.stat().st_mode & 0o777 == 0o644


def test_a_shortened_result_keeps_the_other_bytes_of_its_file(ctxtrim: Run, session: Path) -> None:
    before = tree(root_of(session))
    assert ctxtrim("truncate", "--max-tokens", "60", "--in-place", session).code == 0
    after = tree(root_of(session))
    changed = [name for name in before if after[name] != before[name]]
    assert before.keys() == after.keys()
    assert changed
    for name in changed:
        output = json.loads(after[name])["state"]["output"]
        former = json.loads(before[name])["state"]["output"]
        spelled, meant = json.dumps(former).encode(), json.dumps(output).encode()
        assert before[name].replace(spelled, meant) == after[name]


def test_a_file_that_cannot_be_replaced_keeps_all_files(ctxtrim: Run, session: Path) -> None:
    root = root_of(session)
    last = max(path for path in root.rglob("*.json") if b'"tool"' in path.read_bytes())
    last.chmod(0o444)
    before = tree(root)
    ran = ctxtrim("truncate", "--max-age", "0", "--max-tokens", "60", "--in-place", session)
    assert ran.code == 1
    assert "is read-only" in ran.err
    assert tree(root) == before


def test_a_file_that_may_not_be_removed_keeps_all_files(ctxtrim: Run, session: Path) -> None:
    root = root_of(session)
    part = next(path for path in root.rglob("*.json") if b'"tide 1"' in path.read_bytes())
    part.chmod(0o444)
    before = tree(root)
    ran = ctxtrim(*TRIM, "--in-place", session)
    assert (ran.code, "is read-only" in ran.err) == (1, True)
    assert tree(root) == before


def test_an_error_in_the_middle_puts_files_back(ctxtrim: Run, session: Path) -> None:
    root = root_of(session)
    last = max(path for path in root.rglob("*.json") if b'"tool"' in path.read_bytes())
    before = tree(root)
    with last.open("ab") as file, subprocess.Popen(["sleep", "60"], stdout=file) as writer:
        ran = ctxtrim("truncate", "--max-age", "0", "--max-tokens", "60", "--in-place", session)
        writer.kill()
    assert ran.code == 1
    assert "open for writing" in ran.err
    assert tree(root) == before


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no limit for files")
def test_a_full_disk_for_the_journal_leaves_none(session: Path) -> None:
    from resource import RLIMIT_FSIZE, setrlimit

    before = tree(root_of(session))
    limit = 4000  # bytes: less than the journal
    words = [*COMMAND, *TRIM, "--in-place", "--no-archive", str(session)]
    done = subprocess.run(
        words,
        capture_output=True,
        env={**ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"},  # it would be cut off
        preexec_fn=lambda: setrlimit(RLIMIT_FSIZE, (limit, limit)),
    )
    assert (done.returncode, b"cannot be written: file too large" in done.stderr) == (1, True)
    assert tree(root_of(session)) == before


def test_a_file_that_changes_during_the_edit_is_kept(session: Path) -> None:
    found = stored_session(session)
    assert found is not None
    sink = SessionFiles(found)
    sink.write(found.document().replace(b"High at 1.", b"High."))
    part = next(path for path in root_of(session).rglob("*.json") if b"at 2." in path.read_bytes())
    part.write_bytes(part.read_bytes().replace(b"at 2.", b"at 22."))
    before = tree(root_of(session))
    with pytest.raises(ChangedError):
        sink.commit()
    assert tree(root_of(session)) == before


def test_a_file_that_changes_while_others_are_written_is_kept(
    ctxtrim: Run, session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, root, out = stored_session(session), root_of(session), tmp_path / "x.json"
    assert found is not None
    assert ctxtrim(*TRIM, "--summarize", session, "-o", out).code == 0
    sink = SessionFiles(found)
    sink.write(out.read_bytes())
    before, replace = tree(root), Temporary.replace
    part = max(set(found.files()) - set(found.files_of(out.read_bytes())))
    changed = part.read_bytes() + b"\n"

    def late(temporary: Temporary, target: Path) -> None:
        part.write_bytes(changed)
        replace(temporary, target)

    monkeypatch.setattr(Temporary, "replace", late)
    with pytest.raises(ChangedError):
        sink.commit()
    assert tree(root) == before | {str(part.relative_to(root)): changed}


def test_an_interrupted_edit_is_reported_and_put_back(
    ctxtrim: Run, session: Path, tmp_path: Path
) -> None:
    found = stored_session(session)
    assert found is not None
    before, whole = tree(root_of(session)), found.document()
    assert ctxtrim(*TRIM, "--in-place", session).code == 0
    after, edited = tree(root_of(session)), found.document()
    for name in before.keys() - after.keys():  # as if the edit had ended before the removals
        path = root_of(session) / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(before[name])
    found.journal.write_text(json.dumps([whole.decode(), edited.decode()]))
    ran = ctxtrim("count", session)
    assert ran.code == 1
    assert "was interrupted" in ran.err
    assert ctxtrim("truncate", "--max-tokens", "999999", "--in-place", session).code == 0
    assert tree(root_of(session)) == before


def test_what_another_program_wrote_after_an_interrupted_edit_stays(
    ctxtrim: Run, session: Path
) -> None:
    found = stored_session(session)
    assert found is not None
    before, whole = tree(root_of(session)), found.document()
    words = ("truncate", "--max-age", "0", "--max-tokens", "10", "--in-place", session)
    assert ctxtrim(*words).code == 0
    after = tree(root_of(session))
    first, *others = (name for name in before if after[name] != before[name])
    found.journal.write_text(json.dumps([whole.decode(), found.document().decode()]))
    changed = after[first].replace(b"}", b"} ", 1)
    (root_of(session) / first).write_bytes(changed)
    assert ctxtrim("truncate", "--max-tokens", "999999", "--in-place", session).code == 0
    assert others
    assert tree(root_of(session)) == before | {first: changed}


def test_half_a_journal_is_removed_because_no_file_was_changed(ctxtrim: Run, session: Path) -> None:
    found = stored_session(session)
    assert found is not None
    found.journal.write_text('["half')
    assert ctxtrim(*TRIM, "--in-place", session).code == 0
    assert ctxtrim("check", session, "--budget", "1200").code == 0
    assert not found.journal.exists()


def test_a_session_that_another_run_edits_is_refused(ctxtrim: Run, session: Path) -> None:
    found = stored_session(session)
    assert found is not None
    before, whole = tree(root_of(session)), found.document()
    other = Journal.started(found.journal, whole, whole)
    ran = ctxtrim(*TRIM, "--in-place", session)
    assert (ran.code, "another run edits this session; try again later" in ran.err) == (1, True)
    other.end()
    assert tree(root_of(session)) == before


def test_a_file_whose_name_is_not_its_id_is_not_removed(
    ctxtrim: Run, session: Path, tmp_path: Path
) -> None:
    found, root, out = stored_session(session), root_of(session), tmp_path / "x.json"
    assert found is not None
    assert ctxtrim(*TRIM, session, "-o", out).code == 0
    part = max(set(found.files()) - set(found.files_of(out.read_bytes())))
    part.rename(part.with_name("another.json"))
    before = tree(root)
    ran = ctxtrim(*TRIM, "--in-place", session)
    assert (ran.code, "the names of its files are not the ids" in ran.err) == (1, True)
    assert tree(root) == before


def test_another_file_is_not_written_over_a_session(ctxtrim: Run, session: Path) -> None:
    before = tree(root_of(session))
    ran = ctxtrim("trim", "fixtures/agent.jsonl", "-o", session)
    assert ran.code == 1
    assert "write to another path" in ran.err
    assert tree(root_of(session)) == before


def test_a_storage_folder_has_an_input_for_each_session(ctxtrim: Run, tmp_path: Path) -> None:
    root = tmp_path / "storage"
    for number in range(3):
        opencode_storage.store(talk(), root, number)
    (root / "todo").mkdir()
    (root / "todo" / "ses_0.json").write_text("[]")
    ran = ctxtrim("count", root)
    assert (ran.code, b"3 transcripts" in ran.out) == (0, True)
    assert ctxtrim(*TRIM, root, "-o", tmp_path / "out").code == 0
    assert sorted(tree(tmp_path / "out")) == [f"session/p1/ses_{n}.json" for n in range(3)]


@pytest.mark.parametrize("kind", ["message", "part"])
def test_a_message_or_part_alone_is_refused(ctxtrim: Run, session: Path, kind: str) -> None:
    path = next(path for path in root_of(session).rglob("*.json") if f"/{kind}/" in str(path))
    ran = ctxtrim("count", path)
    assert ran.code == 1
    assert f"session/*/{session.stem}.json" in ran.err


def test_a_session_file_without_its_folder_is_refused(ctxtrim: Run, tmp_path: Path) -> None:
    info = {"id": "ses_1", "projectID": "p1", "directory": "/tmp", "time": {"created": 1}}
    path = tmp_path / "ses_1.json"
    path.write_text(json.dumps(info))
    ran = ctxtrim("count", path)
    assert (ran.code, "`message/` and `part/`" in ran.err) == (1, True)


def test_messages_of_the_first_versions_are_refused(ctxtrim: Run, session: Path) -> None:
    path = next(path for path in root_of(session).rglob("*.json") if "/message/" in str(path))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"parts": [], "metadata": {}}))
    ran = ctxtrim("count", session)
    assert (ran.code, path.name in ran.err, "newer opencode" in ran.err) == (1, True, True)


def test_a_broken_part_is_named(ctxtrim: Run, session: Path) -> None:
    path = next(path for path in root_of(session).rglob("*.json") if "/part/" in str(path))
    path.write_text('{"id": "prt_')
    ran = ctxtrim("count", session)
    assert (ran.code, path.name in ran.err) == (1, True)


def test_an_id_that_is_no_file_name_leads_nowhere(ctxtrim: Run, session: Path) -> None:
    root = root_of(session)
    secret = root.parent / "secret.json"
    secret.write_text('{"id": "s"}')
    session.write_text(session.read_text().replace('"ses_', '"../ses_', 1))
    assert ctxtrim("count", session).code == 1
    assert secret.read_text() == '{"id": "s"}'
