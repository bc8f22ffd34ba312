"""The store of summaries: one entry a transcript, continued, never broken (S1-7)."""

import json
import os
import stat
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from ctxtrim.archive.summary_store import Store
from ctxtrim.errors import InputError, OutputError


def test_s1_7_store_keeps_one_entry_a_transcript_and_continues_its_version(tmp_path: Path) -> None:
    store = Store(tmp_path / "folder" / "summaries.json")
    assert store.get("a") is None
    first = store.put("a", "what was said", 4, 10)
    other = store.put("b", "something else \ud800", 5, 3)
    second = store.put("a", "and what came then", 6, 14)
    assert (first.version, first.created) == (1, first.updated)
    assert (second.version, second.created, second.content) == (2, first.created, "and what came then")
    assert second.updated >= first.updated
    assert (store.get("a"), store.get("b"), store.get("c")) == (second, other, None)


def test_s1_7_store_has_the_names_that_the_requirements_give(tmp_path: Path) -> None:
    entry = Store(tmp_path / "s.json").put("a", "said", 1, 2)
    assert json.loads((tmp_path / "s.json").read_bytes()) == {
        "version": 1,
        "conversation_summary": {
            "a": {
                "content": "said",
                "tokens": 1,
                "messages_included": 2,
                "created": entry.created,
                "updated": entry.updated,
                "version": 1,
            }
        },
    }


def test_s1_7_store_is_not_touched_by_what_it_holds_already(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.json")
    entry = store.put("a", "said", 1, 2)
    before = (tmp_path / "s.json").read_bytes()
    assert store.put("a", "said", 1, 2) == entry
    assert (tmp_path / "s.json").read_bytes() == before


def test_s1_7_store_is_the_users_alone_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.json")
    store.put("a", "said", 1, 2)
    assert stat.S_IMODE((tmp_path / "s.json").stat().st_mode) == 0o600
    (tmp_path / "s.json").chmod(0o644)
    store.put("a", "more", 1, 2)
    assert stat.S_IMODE((tmp_path / "s.json").stat().st_mode) == 0o600
    store.check()
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "it is no JSON"),
        (b"{", "it is no JSON"),
        (b"\xff\xfe\x00", "it is no JSON"),
        (b"[" * 99999, "it is no JSON"),
        (b"[]", "it has no object 'conversation_summary'"),
        (b'{"version": 1}', "it has no object 'conversation_summary'"),
        (b'{"version": 2, "conversation_summary": {}}', "it has version 2, and this ctxtrim reads 1"),
        (b'{"version": 1, "conversation_summary": {"a": []}}', "entry 'a' has no proper 'content'"),
        (
            b'{"version": 1, "conversation_summary": {"a": {"content": "x", "tokens": true}}}',
            "entry 'a' has no proper 'tokens'",
        ),
    ],
)
def test_s1_7_store_that_cannot_be_read_is_named_and_left_as_it_is(tmp_path: Path, data: bytes, what: str) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(data)
    for use in (Store(path).check, lambda: Store(path).get("a"), lambda: Store(path).put("a", "said", 1, 2)):
        with pytest.raises(InputError) as caught:
            use()
        assert str(caught.value) == (
            f"{path}: the summary store cannot be read: {what}; it was left as it is: "
            "name another file, or move this one away"
        )
    assert path.read_bytes() == data


def test_s1_7_store_that_is_a_folder_or_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the summary store cannot be read: is a directory"):
        Store(tmp_path).get("a")
    (tmp_path / "file").write_bytes(b"")
    for use in (Store(tmp_path / "file" / "s.json").check, lambda: Store(tmp_path / "file" / "s.json").get("a")):
        with pytest.raises(InputError, match="cannot be read: not a directory"):
            use()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "s.json")
    Store(tmp_path / "link").put("a", "said", 1, 2)
    assert (tmp_path / "nowhere" / "s.json").exists()


def test_s1_7_store_that_cannot_be_written_is_known_before(tmp_path: Path) -> None:
    pipe = tmp_path / "round"
    pipe.symlink_to(pipe)
    for use in (Store(pipe).check, lambda: Store(pipe).put("a", "said", 1, 2)):
        with pytest.raises((InputError, OutputError), match="levels of symbolic links"):
            use()


def _put(path: Path, worker: int) -> int:
    for number in range(10):
        Store(path).put(f"{worker}-{number}", "said", number, worker)
    Store(path).put("shared", f"by {worker}", worker, worker)
    return os.getpid()


def test_s1_7_store_loses_nothing_when_several_processes_write(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    with ProcessPoolExecutor(3) as pool:
        list(pool.map(_put, [path] * 3, range(3)))
    store = Store(path)
    assert all(store.get(f"{worker}-{number}") for worker in range(3) for number in range(10))
    shared = store.get("shared")
    assert shared is not None
    assert shared.version == 3
