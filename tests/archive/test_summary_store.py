"""The store of summaries: an entry per transcript, continued, never broken (S1-7)."""

import json
import os
import stat
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from ctxtrim.archive.summary_store import SummaryEntry, SummaryStore
from ctxtrim.errors import InputError, OutputError
from ctxtrim.model import Message, Part
from ctxtrim.stage import StoredSummary
from ctxtrim.summaries.identity import Identity, identity


def identity_of(name: str, opening: str = "What is the tide?") -> Identity:
    """The identity of a transcript with an id: an opening prompt and its answer."""
    messages = [
        Message("user", (Part("text", opening),)),
        Message("assistant", (Part("text", "High at noon."),)),
    ]
    return identity(messages, name, "file.jsonl", 1, 0)


def store_entry(
    store: SummaryStore, name: str, text: str, tokens: int, messages: int
) -> SummaryEntry:
    """Store a summary of the answer in a transcript, as a run does, and read its entry back."""
    identity = identity_of(name)
    store.remember(
        identity, StoredSummary(text, tokens, messages, frozenset({1})), identity.covered_until(1)
    )
    store.commit()
    return entries(store.path)[identity.key]


def entries(path: Path) -> dict[str, SummaryEntry]:
    stored = json.loads(path.read_bytes())["conversation_summary"]
    return {
        key: SummaryEntry(**value | {"covered": tuple(value["covered"])})
        for key, value in stored.items()
    }


def test_s1_7_store_keeps_an_entry_per_transcript_and_continues_its_version(tmp_path: Path) -> None:
    store = SummaryStore(tmp_path / "folder" / "summaries.json")
    assert store.recall(identity_of("a")) == (None, None)
    first = store_entry(store, "a", "what was said", 4, 10)
    other = store_entry(store, "b", "something else \ud800", 5, 3)
    second = store_entry(store, "a", "and what came then", 6, 14)
    assert (first.version, first.created) == (1, first.updated)
    assert (second.version, second.created, second.content) == (
        2,
        first.created,
        "and what came then",
    )
    assert second.updated >= first.updated
    assert list(entries(store.path).values()) == [second, other]
    later = SummaryStore(store.path)
    assert later.recall(identity_of("a")) == (
        StoredSummary("and what came then", 6, 14, frozenset({1})),
        None,
    )
    assert later.recall(identity_of("c")) == (None, None)


def test_s1_7_store_uses_the_key_names_of_the_requirements(tmp_path: Path) -> None:
    entry = store_entry(SummaryStore(tmp_path / "s.json"), "a", "said", 1, 2)
    identity = identity_of("a")
    assert json.loads((tmp_path / "s.json").read_bytes()) == {
        "version": 1,
        "conversation_summary": {
            f"a#{identity.opening}": {
                "content": "said",
                "tokens": 1,
                "messages_included": 2,
                "created": entry.created,
                "updated": entry.updated,
                "version": 1,
                "id": "a",
                "fingerprint": identity.opening,
                "covered": list(identity.messages),
                "kept": [identity.messages[0]],
            }
        },
    }


def test_an_entry_of_version_1_is_used_if_its_summary_is_in_the_transcript(
    tmp_path: Path,
) -> None:
    text = "[Summary of 3 earlier messages]\n## Tool calls\n- bash × 2"
    entry = {
        "content": text,
        "tokens": 9,
        "messages_included": 3,
        "created": "x",
        "updated": "y",
        "version": 4,
    }
    (tmp_path / "s.json").write_text(
        json.dumps({"version": 1, "conversation_summary": {"a": entry}})
    )
    store = SummaryStore(tmp_path / "s.json")
    messages = [Message("user", (Part("text", text),)), Message("user", (Part("text", "On."),))]
    with_summary = identity(messages, "a", "file.jsonl", 1, 0)
    assert store.recall(with_summary).summary == StoredSummary(text, 9, 3)
    assert store.recall(identity_of("a")).summary is None
    store.remember(with_summary, StoredSummary("more", 5, 6), ("aa",))
    store.commit()
    assert [(key, entry.version, entry.created) for key, entry in entries(store.path).items()] == [
        ("a", 5, "x")
    ]


def test_s1_7_store_is_not_rewritten_without_changes(tmp_path: Path) -> None:
    store = SummaryStore(tmp_path / "s.json")
    entry = store_entry(store, "a", "said", 1, 2)
    before = (tmp_path / "s.json").stat()
    assert store_entry(store, "a", "said", 1, 2) == entry
    after = (tmp_path / "s.json").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_s1_7_store_is_private_and_leaves_no_other_files(tmp_path: Path) -> None:
    store = SummaryStore(tmp_path / "s.json")
    store_entry(store, "a", "said", 1, 2)
    assert stat.S_IMODE((tmp_path / "s.json").stat().st_mode) == 0o600
    (tmp_path / "s.json").chmod(0o644)
    store_entry(store, "a", "more", 1, 2)
    assert stat.S_IMODE((tmp_path / "s.json").stat().st_mode) == 0o600
    store.check()
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "it is not JSON"),
        (b"{", "it is not JSON"),
        (b"\xff\xfe\x00", "it is not JSON"),
        (b"[" * 99999, "it is not JSON"),
        (b"[]", "it has no object 'conversation_summary'"),
        (b'{"version": 1}', "it has no object 'conversation_summary'"),
        (
            b'{"version": 2, "conversation_summary": {}}',
            "it has version 2, and this ctxtrim reads 1",
        ),
        (
            b'{"version": 1, "conversation_summary": {"a": []}}',
            "entry 'a' is invalid (Expected `object`, got `array`)",
        ),
        (
            b'{"version": 1, "conversation_summary": {"a": {"content": "x", "tokens": true}}}',
            "entry 'a' is invalid (Expected `int`, got `bool` - at `$.tokens`)",
        ),
    ],
)
def test_s1_7_store_that_is_unreadable_is_reported_and_unchanged(
    tmp_path: Path, data: bytes, what: str
) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        SummaryStore(path)
    assert str(caught.value) == (
        f"{path}: the summary store cannot be read: {what}; the file is unchanged: "
        "name another file, or move this one away"
    )
    assert path.read_bytes() == data


def test_s1_7_store_at_an_impossible_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the summary store cannot be read: is a directory"):
        SummaryStore(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="cannot be read: not a directory"):
        SummaryStore(tmp_path / "file" / "s.json")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "s.json")
    store = SummaryStore(tmp_path / "link")
    store.remember(identity_of("a"), StoredSummary("said", 1, 2), ())
    store.commit()
    assert (tmp_path / "nowhere" / "s.json").exists()


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/full", "pipe"])
def test_a_store_that_is_a_device_or_a_pipe_is_not_read(tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="it is not a regular file"):
        SummaryStore(tmp_path / path)


def test_s1_7_store_that_is_unwritable_is_reported_before_any_edit(tmp_path: Path) -> None:
    pipe = tmp_path / "round"
    pipe.symlink_to(pipe)
    with pytest.raises((InputError, OutputError), match="levels of symbolic links"):
        SummaryStore(pipe).check()


def _put(path: Path, worker: int) -> int:
    for number in range(10):
        store_entry(SummaryStore(path), f"{worker}-{number}", "said", number, worker)
    store_entry(SummaryStore(path), "shared", f"by {worker}", worker, worker)
    return os.getpid()


def test_s1_7_store_keeps_the_entries_of_concurrent_processes(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    with ProcessPoolExecutor(3) as pool:
        list(pool.map(_put, [path] * 3, range(3)))
    stored = {entry.id: entry for entry in entries(path).values()}
    assert all(f"{worker}-{number}" in stored for worker in range(3) for number in range(10))
    assert stored["shared"].version == 3
