"""Sessions of Cline: `{"version", "agent", "sessionId", "messages", "system_prompt"?}`."""

import json
from typing import Any

from conftest import Run
from harness import read

CHART = "Sandbank at two fathoms.\n" * 30
FILE = {"type": "file", "path": "/bay/chart.txt", "content": CHART}
USE = {"type": "tool_use", "id": "t1", "name": "read_files", "input": {"paths": ["/bay/log.txt"]}}
MODEL = {"id": "claude-sonnet-4-5", "provider": "anthropic"}


def session(*content: Any) -> dict[str, Any]:
    """A session with a prompt, a call and its result with some blocks, and an answer."""
    result = {"type": "tool_result", "tool_use_id": "t1", "name": "read_files", "content": content}
    attached = [{"type": "text", "text": "Where is the water shallow?"}, FILE]
    messages = [
        {"id": "u1", "role": "user", "content": attached, "ts": 1},
        {"id": "a1", "role": "assistant", "content": [USE], "ts": 2, "modelInfo": MODEL},
        {"id": "u2", "role": "user", "content": [result], "ts": 3},
        {
            "id": "a2",
            "role": "assistant",
            "content": [{"type": "text", "text": "At the sandbank."}],
        },
    ]
    return {"version": 1, "agent": "lead", "sessionId": "s", "messages": messages}


def test_an_attached_file_is_text_between_the_lines_in_which_it_is_sent() -> None:
    (chunk,) = read(json.dumps(session({"type": "text", "text": "Calm."})).encode())
    (found,) = chunk.transcripts
    assert found.model == "claude-sonnet-4-5"
    text = "".join(part.text for part in found.messages[0].parts)
    sent = f'<file_content path="/bay/chart.txt">\n{CHART}\n</file_content>'
    assert text == f"Where is the water shallow?{sent}"


def test_a_file_in_a_result_counts_as_its_json(ctxtrim: Run) -> None:
    value = session({"type": "text", "text": "Calm."}, FILE)
    data = json.dumps(value).encode()
    (found,) = read(data)[0].transcripts
    texts = [part.text for part in found.messages[2].parts]
    assert [texts[0], json.loads(texts[1])] == ["Calm.", FILE]
    assert ctxtrim("check", "-b", "10k", stdin=data).code == 0


def test_a_prompt_with_an_attached_file_shows_the_format() -> None:
    """A file of Chat Completions has its data under `file`."""
    value = session()
    value["messages"] = value["messages"][:1]
    (found,) = read(json.dumps(value).encode())[0].transcripts
    assert found.messages[0].parts[2].text == CHART


def test_a_dropped_prompt_takes_its_file_with_it(ctxtrim: Run) -> None:
    value = session({"type": "text", "text": "Calm."})
    prompt = {"id": "u3", "role": "user", "content": [{"type": "text", "text": "Go on."}]}
    value["messages"].append(prompt)
    ran = ctxtrim("trim", "-b", "100", stdin=json.dumps(value).encode())
    assert (ran.code, json.loads(ran.out)["messages"]) == (0, [prompt])
