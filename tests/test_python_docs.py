"""The examples of `docs/python.md` run: agent loops against a local server."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from fake_server import Answer, Server, completion, local, sends

import ctxtrim

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = (ROOT / "docs/python.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
REFUSAL = {"type": "invalid_request_error", "message": "prompt is too long: 9000 tokens > 8000"}
COMMAND = "for i in $(seq 900); do echo lamp $i burns; done"


def loop(client: str) -> dict[str, Any]:
    """The names of the agent loop for a client."""
    (program,) = [text for text in PROGRAMS if f"from {client} import" in text]
    names: dict[str, Any] = {}
    exec(program, names)
    return names


def message(*content: dict[str, Any], reason: str) -> Answer:
    """An answer of Anthropic's API."""
    value = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    return sends(json.dumps(value).encode())


def calls(server: Server) -> Answer:
    """An answer of OpenAI's API with a call."""
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "bash", "arguments": json.dumps({"command": COMMAND})},
    }
    answer = {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": answer}
    body = {"id": "1", "object": "chat.completion", "choices": [choice]}
    return sends(json.dumps(body).encode())


def test_every_public_name_is_explained() -> None:
    texts = re.findall(r"`([^`\n]+)`", DOCUMENT)
    assert set(ctxtrim.__all__) - set(re.findall(r"\w+", " ".join(texts))) == set()


def test_errors_that_functions_raise_are_public() -> None:
    with pytest.raises(ctxtrim.UsageError):
        ctxtrim.compute_max_input_tokens(reserve=-1)
    with pytest.raises(ctxtrim.InputError):
        ctxtrim.estimate_tokens(["no message"])  # type: ignore[list-item]
    with pytest.raises(ctxtrim.OutputError):
        ctxtrim.Pipeline("trim").run_file(ROOT / "fixtures/agent.jsonl", ROOT / "missing/x.jsonl")
    with pytest.raises(ctxtrim.TokenizerError):
        ctxtrim.tokenizers.encode("text", "claude-sonnet-4-5")


def test_an_unknown_model_is_no_error() -> None:
    assert ctxtrim.find_model("plover-9") is None
    config: ctxtrim.PromptConfig = {"model": "plover-9"}
    assert ctxtrim.compute_max_input_tokens(config) == 128_000 - 4096


@local
def test_the_agent_loop_of_openai_runs(server: Server) -> None:
    refusal = sends(json.dumps({"error": REFUSAL}).encode(), 400)
    server.answers = [calls(server), refusal, completion("They burn.")]
    with openai.OpenAI(api_key="none", base_url=server.url, max_retries=0) as client:
        names = loop("openai")
        answer = names["run"](client, "Look after the lamps.")
    assert answer == "They burn."
    _, second, third = (body for _, body in server.asked)
    assert [sent["role"] for sent in second["messages"]] == ["system", "user", "assistant", "tool"]
    assert second["messages"][2]["tool_calls"][0]["id"] == "c1"
    assert "refusal" not in second["messages"][2]
    assert second["messages"][3]["content"].startswith("lamp 1 burns")
    assert len(json.dumps(third["messages"])) < len(json.dumps(second["messages"]))


@local
def test_the_agent_loop_of_anthropic_runs(server: Server) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": COMMAND}}
    refusal = sends(json.dumps({"type": "error", "error": REFUSAL}).encode(), 400)
    text = {"type": "text", "text": "They burn."}
    server.answers = [message(call, reason="tool_use"), refusal, message(text, reason="end_turn")]
    url = server.url.removesuffix("/v1")
    with anthropic.Anthropic(api_key="none", base_url=url, max_retries=0) as client:
        names = loop("anthropic")
        answer = names["run"](client, "Look after the lamps.")
    assert answer == "They burn."
    _, second, third = (body for _, body in server.asked)
    assert second["messages"][1] == {"role": "assistant", "content": [call]}
    assert second["messages"][2]["content"][0]["content"].startswith("lamp 1 burns")
    assert second["system"] == third["system"] == names["SYSTEM"]
    assert len(json.dumps(third["messages"])) < len(json.dumps(second["messages"]))


@pytest.mark.parametrize("client", ["openai", "anthropic"])
def test_the_agent_loops_are_short(client: str) -> None:
    (program,) = [text for text in PROGRAMS if f"from {client} import" in text]
    assert len([line for line in program.splitlines() if line]) <= 30


def test_every_program_is_python() -> None:
    assert len(PROGRAMS) == 4
    for program in PROGRAMS:
        ast.parse(program)
