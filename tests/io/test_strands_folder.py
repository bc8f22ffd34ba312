"""The folder of an agent of Strands Agents: its message files are one session."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from writers import strands

from ctxtrim.io.storage import stored_session

CUT = ("truncate", "--max-age", "0", "--max-tokens", "60")
TRIM = ("trim", "--budget", "1200", "--context-window", "9000")


def talk(questions: int = 6) -> list[dict[str, Any]]:
    """Questions with a long result each: four messages for each question."""
    found: list[dict[str, Any]] = []
    for number in range(questions):
        call = {"id": f"c{number}", "name": "gauge", "input": {"pier": number}}
        rows = "\n".join(f"{hour}:00 {number}.{hour} m" for hour in range(60))
        found += [
            {"role": "user", "texts": [f"How deep is it at pier {number}?"]},
            {"role": "assistant", "texts": ["I look."], "calls": [call]},
            {"role": "tool", "id": f"c{number}", "texts": [rows], "error": False},
            {"role": "assistant", "texts": [f"{number} mètres."], "calls": []},
        ]
    return found


def tree(folder: Path) -> dict[str, bytes]:
    """All files by name."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def sent(folder: Path) -> list[Any]:
    """The messages that the SDK sends, read as its `list_messages` and `initialize` do."""
    agent = json.loads((folder / "agent.json").read_bytes())
    state = agent["conversation_manager_state"]
    names = sorted(
        (folder / "messages").iterdir(),
        key=lambda path: int(path.name.removeprefix("message_").removesuffix(".json")),
    )
    stored = [json.loads(path.read_bytes()) for path in names]
    assert [f"message_{each['message_id']}.json" for each in stored] == [
        path.name for path in names
    ]
    messages = [each["redact_message"] or each["message"] for each in stored]
    pinned = state.get("pinned_head_count", 0)
    summary = [state["summary_message"]] if state.get("summary_message") else []
    return messages[:pinned] + summary + messages[pinned + state["removed_message_count"] :]


STATES: dict[str, dict[str, Any]] = {
    "all": {},
    "window": {"removed_message_count": 4},
    "summary": {"removed_message_count": 4, "summary_message": strands.SUMMARY},
    "pinned": {
        "removed_message_count": 4,
        "pinned_head_count": 4,
        "summary_message": strands.SUMMARY,
    },
}


@pytest.fixture(params=STATES)
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of an agent with a redacted message."""
    state = {"removed_message_count": 0, **STATES[request.param]}
    folder = strands.store(talk(), tmp_path / "session_may", **state)
    path = folder / "messages" / "message_20.json"
    value = json.loads(path.read_bytes())
    redacted = {"role": "user", "content": [{"text": "[redacted by a guardrail]"}]}
    strands.write(path, value | {"redact_message": redacted})
    return folder


def row(ctxtrim: Run, path: Path) -> dict[str, Any]:
    (found,) = json.loads(ctxtrim("count", path, "--json").out)["transcripts"]
    return found


def test_a_folder_counts_like_the_messages_that_are_sent(
    ctxtrim: Run, agent: Path, tmp_path: Path
) -> None:
    out = tmp_path / "x.json"
    out.write_text(json.dumps({"messages": sent(agent)}))
    expected = row(ctxtrim, out)
    for path in (agent, agent / "messages"):
        found = row(ctxtrim, path)
        assert (found["format"], found["path"]) == ("bedrock", str(path))
        assert found["tokens"] == expected["tokens"]
    assert ctxtrim("trim", agent, "-o", out).code == 0
    assert row(ctxtrim, out)["tokens"] == expected["tokens"]
    value = json.loads(out.read_bytes())
    assert value["agent"] == json.loads((agent / "agent.json").read_bytes())
    assert [message["message_id"] for message in value["messages"]] == list(range(24))


def test_the_folder_may_be_the_working_directory(ctxtrim: Run, agent: Path) -> None:
    assert ctxtrim("trim", ".", cwd=agent).out == ctxtrim("trim", agent).out


@pytest.mark.parametrize("stages", [CUT, TRIM, (*TRIM, "--summarize")], ids=str)
def test_an_edit_in_place_writes_what_changed_and_is_undone(
    ctxtrim: Run, agent: Path, tmp_path: Path, stages: tuple[str, ...]
) -> None:
    out, archive = tmp_path / "x.json", tmp_path / "archive"
    before, hidden = tree(agent), hidden_files(agent)
    assert ctxtrim(*stages, agent, "-o", out).code == 0
    assert ctxtrim(*stages, "--in-place", "--archive", archive, agent).code == 0
    after = tree(agent)
    assert ctxtrim("trim", agent).out == out.read_bytes()
    again = tmp_path / "again.json"
    again.write_text(json.dumps({"messages": sent(agent)}))
    assert row(ctxtrim, again)["tokens"] == row(ctxtrim, agent)["tokens"]
    assert row(ctxtrim, agent)["tokens"] <= (1200 if stages[0] == "trim" else 2000)
    assert after != before
    assert all(after[name] == before[name] for name in hidden)
    assert "messages/message_23.json" in after  # the SDK numbers its next message after the last
    assert ctxtrim(*stages, "--in-place", agent).code == 0
    assert tree(agent) == after
    assert ctxtrim("restore", agent, "--archive", archive, "--in-place").code == 0
    assert tree(agent) == before


def hidden_files(agent: Path) -> list[str]:
    """The files of the messages that the SDK removed."""
    state = json.loads((agent / "agent.json").read_bytes())["conversation_manager_state"]
    pinned = state.get("pinned_head_count", 0)
    numbers = range(pinned, pinned + state["removed_message_count"])
    return [f"messages/message_{number}.json" for number in numbers]


def test_a_shortened_result_keeps_the_other_bytes_of_its_file(ctxtrim: Run, agent: Path) -> None:
    before = tree(agent)
    assert ctxtrim(*CUT, "--in-place", agent).code == 0
    after = tree(agent)
    assert before.keys() == after.keys()
    changed = [name for name in before if after[name] != before[name]]
    assert changed
    for name in changed:
        texts = [
            json.loads(data)["message"]["content"][0]["toolResult"]["content"][0]["text"]
            for data in (before[name], after[name])
        ]
        former, shorter = (json.dumps(text, ensure_ascii=False).encode() for text in texts)
        assert before[name].replace(former, shorter) == after[name]


@pytest.mark.parametrize("pinned", [0, 2])
def test_dropped_messages_leave_the_others_byte_for_byte(
    ctxtrim: Run, tmp_path: Path, pinned: int
) -> None:
    plain = [
        {"role": role, "texts": [f"{number} boats. " * 60], "calls": []}
        for number in range(8)
        for role in ("user", "assistant")
    ]
    state = {"removed_message_count": 4, "pinned_head_count": pinned}
    agent = strands.store(plain, tmp_path / "session_may", **state)
    before = tree(agent)
    assert ctxtrim(*TRIM, "--in-place", agent).code == 0
    after = tree(agent)
    assert after.keys() < before.keys()
    assert [name for name in after if after[name] != before[name]] == []
    assert len(sent(agent)) == row(ctxtrim, agent)["messages"] < 12 + pinned


def test_a_new_message_has_a_free_number(ctxtrim: Run, tmp_path: Path) -> None:
    agent = strands.store(talk(), tmp_path / "session_may")
    before = tree(agent)
    assert ctxtrim(*TRIM, "--summarize", "--in-place", agent).code == 0
    after = tree(agent)
    assert after.keys() < before.keys()
    (name,) = (name for name in after if b"ummary" in after[name])
    value = json.loads(after[name])
    assert name == f"messages/message_{value['message_id']}.json"
    assert value["created_at"] == json.loads(before[name])["created_at"]
    text = sent(agent)[0]["content"][0]["text"]
    assert (sent(agent)[0]["role"], "ummary" in text) == ("user", True)


def test_a_new_message_without_a_free_number_is_refused_in_place(
    ctxtrim: Run, tmp_path: Path
) -> None:
    agent = strands.store(talk()[:2], tmp_path / "session_may")
    later = strands.store(talk()[3:5], tmp_path / "session_may", "later")
    for at, path in enumerate(sorted((later / "messages").iterdir()), 2):
        value = json.loads(path.read_bytes()) | {"message_id": at}
        strands.write(agent / "messages" / f"message_{at}.json", value)
    before = tree(agent)
    repaired = ("check", "--fix", "--repair", "synthesize")
    value = json.loads(ctxtrim(*repaired, stdin=ctxtrim("trim", agent).out).out)
    assert [message["message_id"] for message in value["messages"]] == [0, 1, None, 2, 3]
    ran = ctxtrim(*repaired, agent)
    assert ran.code == 1
    assert "no number is free for a new message in its place; write the session" in ran.err
    assert tree(agent) == before


def test_a_folder_of_sessions_has_an_input_for_each_agent(ctxtrim: Run, tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    strands.store(talk(2), root / "session_april")
    strands.store(talk(2), root / "session_may", "mate")
    strands.store(talk(2), root / "session_may", "pilot")
    graph = {"type": "graph", "id": "g", "node_results": {}, "next_nodes_to_execute": []}
    strands.write(
        root / "session_june" / "multi_agents" / "multi_agent_g" / "multi_agent.json", graph
    )
    ran = ctxtrim("count", root, "--json")
    assert ran.code == 0
    found = [Path(each["path"]) for each in json.loads(ran.out)["transcripts"]]
    assert [str(path.relative_to(root)) for path in found] == [
        "session_april/agents/agent_harbour",
        "session_may/agents/agent_mate",
        "session_may/agents/agent_pilot",
    ]
    assert "multi_agent.json: info: skipped: no transcript found" in ran.err
    assert ctxtrim("trim", root, "-o", tmp_path / "out").code == 0
    assert sorted(name for name in tree(tmp_path / "out") if "june" not in name) == [
        "session_april/agents/agent_harbour.json",
        "session_april/session.json",
        "session_may/agents/agent_mate.json",
        "session_may/agents/agent_pilot.json",
        "session_may/session.json",
    ]
    assert ctxtrim("check", tmp_path / "out").code == ctxtrim("check", root).code == 0
    before = tree(root)
    assert ctxtrim(*CUT, "--in-place", root).code == 0
    after = tree(root)
    changed = {name.rpartition("/messages/")[0] for name in before if after[name] != before[name]}
    assert changed == {str(path.relative_to(root)) for path in found}


def test_an_interrupted_edit_is_reported_and_put_back(ctxtrim: Run, agent: Path) -> None:
    found = stored_session(agent)
    assert found is not None
    before, whole = tree(agent), found.document()
    assert ctxtrim(*TRIM, "--in-place", agent).code == 0
    edited = found.document()
    for name in before.keys() - tree(agent).keys():  # as if the edit had ended before the removals
        (agent / name).write_bytes(before[name])
    found.journal.write_text(json.dumps([whole.decode(), edited.decode()]))
    ran = ctxtrim("count", agent)
    assert (ran.code, "was interrupted" in ran.err) == (1, True)
    assert ctxtrim("truncate", "--max-tokens", "999999", "--in-place", agent).code == 0
    assert tree(agent) == before


def test_an_edit_that_leaves_no_message_to_send_is_refused(ctxtrim: Run, tmp_path: Path) -> None:
    folder = strands.store(talk(1)[:3], tmp_path / "session_may", removed_message_count=2)
    before = tree(folder)
    ran = ctxtrim("run", "-s", "repair", "--in-place", folder)  # removes a result without its call
    assert ran.code == 1
    assert "no message would be left after those that the SDK removed" in ran.err
    assert tree(folder) == before


def test_a_file_with_the_number_of_another_message_is_refused(ctxtrim: Run, agent: Path) -> None:
    shutil.move(agent / "messages" / "message_23.json", agent / "messages" / "message_24.json")
    before = tree(agent)
    ran = ctxtrim(*CUT, "--in-place", agent)
    assert (ran.code, "message_24.json is not that of its message" in ran.err) == (1, True)
    assert tree(agent) == before


def test_restoring_a_session_names_the_folders_of_its_agents(ctxtrim: Run, tmp_path: Path) -> None:
    session = tmp_path / "session_may"
    agents = [strands.store(talk(), session, name) for name in ("mate", "pilot")]
    assert ctxtrim(*CUT, "--in-place", session).code == 0
    after = tree(session)
    ran = ctxtrim("restore", session, "--in-place")
    assert (ran.code, f"name the folder of an agent: {agents[0]}, {agents[1]}" in ran.err) == (
        1,
        True,
    )
    ran = ctxtrim("restore", tmp_path, "--in-place")
    assert (ran.code, "is a folder; name the files in it" in ran.err) == (1, True)
    assert tree(session) == after


def test_a_broken_message_is_named(ctxtrim: Run, agent: Path) -> None:
    (agent / "messages" / "message_3.json").write_text('{"message": ')
    ran = ctxtrim("count", agent)
    assert (ran.code, "message_3.json: not a JSON object" in ran.err) == (1, True)


def test_the_other_files_of_a_session_name_the_folder(ctxtrim: Run, agent: Path) -> None:
    session = agent.parent.parent
    for path, words in ((session / "session.json", "`agents/`"), (agent / "agent.json", "around")):
        ran = ctxtrim("count", path)
        assert (ran.code, words in ran.err) == (1, True)


def test_other_folders_with_an_agent_file_are_walked(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "messages").mkdir()
    (tmp_path / "agent.json").write_text('{"name": "x"}')
    message = {"messages": [{"role": "user", "content": "Reef the sail."}]}
    (tmp_path / "messages" / "message_1.json").write_text(json.dumps(message))
    found = row(ctxtrim, tmp_path)
    assert (found["format"], Path(found["path"]).name) == ("openai-chat", "message_1.json")
