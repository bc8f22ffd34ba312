"""`sessions` and `--latest`: the sessions of agent programs, in invented home folders."""

import gzip
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from conftest import Ran, run


def lines(*values: object) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def claude(cwd: str, text: str = "go") -> bytes:
    prompt = {"role": "user", "content": text}
    return lines(
        {"type": "summary", "summary": 'not {"cwd": "/elsewhere"}', "leafUuid": "u"},
        {"type": "user", "uuid": "u", "parentUuid": None, "cwd": cwd, "message": prompt},
    )


def codex(cwd: str) -> bytes:
    content = [{"type": "input_text", "text": "go"}]
    message = {"type": "message", "role": "user", "content": content}
    return lines(
        {"timestamp": "t", "type": "session_meta", "payload": {"id": "i", "cwd": cwd}},
        {"timestamp": "t", "type": "response_item", "payload": message},
    )


class Home:
    """A home folder with sessions, and a project in it; each session is newer than the last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "home"
        self.project = self.folder / "lighthouse"
        (self.project / ".git").mkdir(parents=True)
        self.clock = 1_700_000_000

    def add(self, path: str, data: bytes) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        self.clock += 60
        os.utime(file, (self.clock, self.clock))
        return file

    def run(self, *words: object, cwd: Path | None = None, **environment: str) -> Ran:
        return run(*words, cwd=cwd or self.project, HOME=str(self.folder), **environment)

    def listed(self, *words: object, **environment: str) -> list[dict[str, Any]]:
        ran = self.run("sessions", "--json", *words, **environment)
        assert (ran.code, ran.err) == (0, "")
        return list(json.loads(ran.out)["sessions"])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


PLACES = {
    "Claude Code": ("CLAUDE_CONFIG_DIR", ".claude", "projects/-home-l/1.jsonl"),
    "Codex": ("CODEX_HOME", ".codex", "sessions/2026/11/22/rollout-2026-11-22-1.jsonl"),
    "Gemini CLI": ("GEMINI_CLI_HOME", ".", ".gemini/tmp/light/chats/session-1.json"),
    "Qwen Code": ("QWEN_HOME", ".qwen", "projects/-home-l/chats/1.jsonl"),
    "pi": ("PI_CODING_AGENT_DIR", ".pi/agent", "sessions/--home-l--/1.jsonl"),
    "OpenHands": ("OPENHANDS_PERSISTENCE_DIR", ".openhands", "conversations/1/events/event-0.json"),
}


@pytest.mark.parametrize("is_moved", [False, True])
@pytest.mark.parametrize("program", PLACES)
def test_sessions_are_found_in_the_usual_folder_or_that_of_the_variable(
    home: Home, program: str, is_moved: bool
) -> None:
    variable, folder, path = PLACES[program]
    base = "moved" if is_moved else folder
    file = home.add(f"{base}/{path}", claude(str(home.project)))
    if program == "OpenHands":
        state = {"workspace": {"working_dir": str(home.project)}}
        home.add(f"{base}/conversations/1/base_state.json", json.dumps(state).encode())
        file = file.parent.parent
    environment = {variable: str(home.folder / base)} if is_moved else {}
    (session,) = home.listed(**environment)
    assert (session["program"], session["path"]) == (program, str(file))
    assert session["project"] == str(home.project)
    assert session["bytes"] == len(claude(str(home.project)))


FIRST_VARIABLES = {
    "Qwen Code": ("QWEN_RUNTIME_DIR", "QWEN_HOME", "projects/-home-l/chats/1.jsonl"),
    "pi": ("PI_CODING_AGENT_SESSION_DIR", "PI_CODING_AGENT_DIR", "--home-l--/1.jsonl"),
    "OpenHands": (
        "OPENHANDS_CONVERSATIONS_DIR",
        "OPENHANDS_PERSISTENCE_DIR",
        "1/events/event-0.json",
    ),
}


@pytest.mark.parametrize("program", FIRST_VARIABLES)
def test_the_variable_of_the_sessions_comes_before_that_of_all_files(
    home: Home, program: str
) -> None:
    variable, other, path = FIRST_VARIABLES[program]
    home.add(f"moved/{path}", claude("/a"))
    for folder in ("projects/-home-l/chats", "sessions/--home-l--", "conversations/1/events"):
        home.add(f"other/{folder}/event-0.json", claude("/b"))
        home.add(f"other/{folder}/1.jsonl", claude("/b"))
    folders = {variable: str(home.folder / "moved"), other: str(home.folder / "other")}
    (session,) = home.listed(**folders)
    assert session["program"] == program
    assert session["path"].startswith(str(home.folder / "moved"))


def test_the_desktop_program_of_openhands_has_a_folder_of_its_own(home: Home) -> None:
    home.add("moved/1/events/event-0.json", b"{}")
    (session,) = home.listed(OH_CONVERSATIONS_PATH=str(home.folder / "moved"))
    assert (session["program"], session["path"]) == ("OpenHands", str(home.folder / "moved/1"))


def test_the_newest_is_first_with_date_size_and_labelled_tokens(home: Home) -> None:
    old = home.add(".claude/projects/a/1.jsonl", claude("/a", "word " * 1000))
    new = home.add(".codex/sessions/2026/11/22/rollout-1.jsonl", codex("/b"))
    home.add(".claude/projects/a/agent-1.jsonl", claude("/a"))
    listed = home.listed()
    assert [session["path"] for session in listed] == [str(new), str(old)]
    assert listed[1]["exactness"] == "estimated"
    assert 1000 < listed[1]["tokens"] < 1500
    assert listed[0]["time"] == "2023-11-14T22:15:20.000Z"
    table = home.run("sessions", COLUMNS="300").out.decode().splitlines()
    assert table[0].split() == ["program", "date", "bytes", "tokens", "project", "file"]
    assert table[1].split()[:3] == ["Codex", "2023-11-14", "22:15"]
    assert table[1].split()[-2:] == ["/b", str(new)]
    for width in (60, 80):
        narrow = home.run("sessions", COLUMNS=str(width)).out.decode().splitlines()
        assert max(map(len, narrow)) <= width
        assert {"program", "date", "tokens", "project"} <= set(narrow[0].split())
        assert narrow[-1] == "--json shows the files"
    assert b"2023-11-14 22:15" in home.run("sessions", COLUMNS="40").out
    assert home.run("sessions", "-n", "1", COLUMNS="300").out.decode().splitlines()[2:] == [
        "… and 1 older sessions; --most 0 lists all"
    ]


def test_zero_lists_all_sessions(home: Home) -> None:
    for number in range(21):
        home.add(f".claude/projects/a/{number}.jsonl", claude("/a"))
    numbers = ((), ("-n", "0"), ("-n", "9" * 25))
    assert [len(home.listed(*words)) for words in numbers] == [20, 21, 21]


def test_sessions_after_many_bytes_are_not_counted(home: Home) -> None:
    home.add(".claude/projects/a/1.jsonl", claude("/a"))
    large = home.add(".claude/projects/a/2.jsonl", claude("/a"))
    os.truncate(large, 40_000_000)
    os.utime(large, (home.clock, home.clock))
    home.add(".claude/projects/a/3.jsonl", claude("/a"))
    listed = home.listed()
    assert [session["exactness"] for session in listed] == ["estimated", "bounded", "bounded"]
    assert [session["tokens"] == session["bytes"] for session in listed] == [False, True, True]


def test_tokens_of_transcripts_with_different_labels_are_an_estimate(home: Home) -> None:
    messages = [{"role": "user", "content": "go"}]
    known, unknown = {"model": "gpt-4o", "messages": messages}, {"messages": messages}
    home.add(".pi/agent/sessions/l/1.jsonl", lines(known, known))
    home.add(".pi/agent/sessions/l/2.jsonl", lines(known, unknown))
    assert [session["exactness"] for session in home.listed()] == ["estimated", "exact"]


def test_latest_is_the_newest_of_the_project_else_of_all(home: Home, tmp_path: Path) -> None:
    mine = home.add(".claude/projects/l/1.jsonl", claude(str(home.project / "src")))
    newer = home.add(".codex/sessions/2026/11/22/rollout-1.jsonl", codex("/elsewhere"))
    other = tmp_path / "other"
    for folder in (home.project / "docs", other):
        folder.mkdir()
    for folder, expected, program in (
        (home.project, mine, "Claude Code"),
        (home.project / "docs", mine, "Claude Code"),
        (other, newer, "Codex"),
    ):
        ran = home.run("count", "--latest", "--json", cwd=folder)
        assert ran.code == 0
        assert json.loads(ran.out)["transcripts"][0]["path"] == str(expected)
        assert f"the newest session of {program}, in " in ran.err


@pytest.mark.parametrize("place", ["conversations", "agent-canvas/conversations", "sessions"])
def test_latest_reads_the_folder_of_an_openhands_conversation(home: Home, place: str) -> None:
    home.add(".claude/projects/l/1.jsonl", claude("/elsewhere"))
    message = {"role": "user", "content": [{"type": "text", "text": "Light the lamp."}]}
    event = {"id": "a1", "source": "user", "kind": "MessageEvent", "llm_message": message}
    path = f".openhands/{place}/1/events/event-00000-a1.json"
    folder = home.add(path, json.dumps(event).encode()).parent.parent
    (session, _) = home.listed()
    assert (session["program"], session["exactness"]) == ("OpenHands", "estimated")
    ran = home.run("count", "--latest", "--json")
    (row,) = json.loads(ran.out)["transcripts"]
    assert (row["path"], row["messages"], row["format"]) == (str(folder), 1, "openhands")


def test_a_folder_of_events_is_as_new_as_its_last_event(home: Home) -> None:
    for path in ("1/events/event-0.json", "2/events/event-0.json", "1/events/event-1.json"):
        home.add(f".openhands/conversations/{path}", b"{}")
    first, second = home.listed()
    assert [session["path"][-1] for session in (first, second)] == ["1", "2"]
    assert first["time"] > second["time"]
    assert [session["bytes"] for session in (first, second)] == [4, 2]


def test_an_old_session_of_gemini_cli_belongs_to_the_folder_with_its_hash(home: Home) -> None:
    name = hashlib.sha256(str(home.project).encode()).hexdigest()
    home.add(f".gemini/tmp/{name}/chats/session-1.json", b'{"messages": []}')
    home.add(".gemini/tmp/light/.project_root", b"/elsewhere\n")
    home.add(".gemini/tmp/light/chats/session-2.jsonl", b"{}")
    assert [session["project"] for session in home.listed()] == ["/elsewhere", str(home.project)]
    (home.project / "docs").mkdir()
    ran = home.run("count", "--latest", cwd=home.project / "docs")
    assert f"the newest session of Gemini CLI, in {home.project}\n" in ran.err


def test_unreadable_and_strange_files_are_no_error(home: Home) -> None:
    home.add(".claude/projects", b"a file in the place of a folder")
    home.add(".codex/sessions/rollout-1.jsonl", b"\xff\x00 not JSON")
    (home.folder / ".codex/sessions/rollout-2.jsonl").symlink_to("nowhere")
    (session,) = home.listed()
    assert (session["project"], session["exactness"]) == (None, "bounded")
    assert session["tokens"] == session["bytes"]
    home.add(".gemini/tmp/light/.project_root", b"/caf\xe9\n")
    home.add(".gemini/tmp/light/chats/session-1.json", b'{"messages": []}')
    assert [session["project"] for session in home.listed()] == [None, None]


def test_the_project_is_found_after_long_lines(home: Home) -> None:
    notice = {"type": "summary", "summary": "word " * 20_000, "leafUuid": "u"}
    home.add(".claude/projects/l/1.jsonl", lines(notice) + claude("/own"))
    (session,) = home.listed()
    assert session["project"] == "/own"


def test_nothing_is_written_unless_the_user_edits_the_session(home: Home) -> None:
    file = home.add(".claude/projects/l/1.jsonl", claude(str(home.project)))
    before = sorted((path, path.stat().st_mtime_ns) for path in home.folder.rglob("*"))
    home.run("sessions")
    ran = home.run("trim", "--latest", "--budget", "100000")
    assert (ran.code, ran.out) == (0, file.read_bytes())
    assert sorted((path, path.stat().st_mtime_ns) for path in home.folder.rglob("*")) == before


def test_without_a_session_or_with_a_file_the_error_says_what_to_do(home: Home) -> None:
    assert home.run("sessions").out.startswith(b"no sessions of Claude Code, Codex, ")
    ran = home.run("count", "--latest")
    assert (ran.code, ran.out) == (1, b"")
    assert "no session found; name a file" in ran.err
    ran = home.run("count", "--latest", "a.jsonl")
    assert (ran.code, "leave out FILE" in ran.err) == (2, True)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_compressed_session_has_its_project_and_no_false_bound(
    home: Home, pack: Callable[[bytes], bytes]
) -> None:
    data = codex(str(home.project)) + lines({"type": "event_msg", "payload": {"a": "x" * 999}})
    home.add(".codex/sessions/2026/11/22/rollout-1.jsonl.zst", pack(data))
    broken = home.add(".codex/sessions/2026/11/22/rollout-2.jsonl.zst", pack(data)[:-9])
    cut, whole = home.listed()
    assert whole["project"] == str(home.project)
    assert (whole["exactness"], whole["tokens"]) == ("estimated", 8)
    assert (cut["bytes"], cut["tokens"], cut["exactness"]) == (broken.stat().st_size, None, None)
    assert home.run("sessions", COLUMNS="300").out.decode().splitlines()[1].split()[4] == "-"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_pipes_and_folders_are_no_sessions(home: Home) -> None:
    mine = home.add(".claude/projects/l/1.jsonl", claude(str(home.project)))
    event = {"id": "a1", "source": "user", "kind": "MessageEvent"}
    other = home.add(
        ".openhands/conversations/1/events/event-0-a1.json", json.dumps(event).encode()
    )
    os.mkfifo(mine.parent / "pipe.jsonl")
    (mine.parent / "folder.jsonl").mkdir()
    os.mkfifo(other.parent / "event-1-b1.json")
    os.mkfifo(other.parent.parent / "base_state.json")
    home.add(".gemini/tmp/light/chats/session-1.json", b"{}")
    os.mkfifo(home.folder / ".gemini/tmp/light/.project_root")
    paths = {session["path"] for session in home.listed()}
    assert {str(mine), str(other.parent.parent)} < paths and len(paths) == 3
    (row,) = json.loads(home.run("count", "--latest", "--json").out)["transcripts"]
    assert row["path"] == str(mine)


def test_an_argument_of_a_tool_is_not_the_project(home: Home) -> None:
    call = {"name": "shell", "args": {"cwd": "/elsewhere"}}
    home.add(".gemini/tmp/light/.project_root", b"/lighthouse\n")
    data = json.dumps({"messages": [{"type": "gemini", "toolCalls": [call]}]}).encode()
    home.add(".gemini/tmp/light/chats/session-1.json", data)
    content = [{"type": "tool_use", "id": "t", "name": "shell", "input": {"cwd": "/elsewhere"}}]
    first = {"type": "assistant", "message": {"role": "assistant", "content": content}}
    home.add(".claude/projects/l/1.jsonl", lines(first) + claude("/own"))
    assert [session["project"] for session in home.listed()] == ["/own", "/lighthouse"]
