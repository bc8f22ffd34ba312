"""The types of the API: small programs are checked by mypy as users check theirs."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

PROGRAM = """
import ctxtrim
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam
from openai.types.chat.completion_create_params import CompletionCreateParams

client, waiting = OpenAI(), AsyncOpenAI()
messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Hello."}]


def create(prompt: list[ChatCompletionMessageParam]) -> ChatCompletion:
    return client.chat.completions.create(model="gpt-4o", messages=prompt)


async def create_later(prompt: list[ChatCompletionMessageParam]) -> ChatCompletion:
    return await waiting.chat.completions.create(model="gpt-4o", messages=prompt)


config: ctxtrim.PromptConfig = {"model": "gpt-4o", "keep_recent_turns": 3}
prompt = ctxtrim.build_final_prompt(messages, config, reserve=4096)
create(prompt.messages)
new, is_shorter, dropped = ctxtrim.enforce_context_limit(messages, 1000, model="gpt-4o")
create(new)
create(ctxtrim.trim_conversation(messages, 1000))
create(ctxtrim.truncate_old_tool_outputs(messages, {"max_age": 5}, max_tokens=100))
create(ctxtrim.compact(messages, {"maxMessages": 20}).messages)
create(ctxtrim.Pipeline("trim", model="gpt-4o").run(messages).messages)
text, tokens = ctxtrim.summarize_context(messages, summary_tokens=100)
names = (ctxtrim.tokenizers.count("a", "gpt-4o"), ctxtrim.STAGES, ctxtrim.__version__)
number: int = dropped + tokens + ctxtrim.estimate_tokens(messages, "gpt-4o")
fields: CompletionCreateParams = {"model": "gpt-4o", "messages": [], "tool_choice": "none"}
number += ctxtrim.estimate_tokens(messages, request=fields)
answer: ChatCompletion = ctxtrim.with_recovery(create, messages, model="gpt-4o")


async def main() -> ChatCompletion:
    return await ctxtrim.with_recovery(create_later, messages, config)
"""
EXAMPLES = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL | re.MULTILINE
)
WRONG = {
    'ctxtrim.build_final_prompt([], {"keep_recent_turn": 3})': "arg-type",
    "ctxtrim.build_final_prompt([], keep_recent_turn=3)": "call-arg",
    'ctxtrim.truncate_old_tool_outputs([], {"max_agee": 1})': "arg-type",
    "ctxtrim.compute_max_input_tokens(window=1)": "call-arg",
    "ctxtrim.trim_conversation([], 10, model=4)": "arg-type",
    'ctxtrim.Pipeline("trim", modell="gpt-4o")': "call-arg",
    'ctxtrim.fits("a.jsonl", modell="gpt-4o")': "call-arg",
    "a, b = ctxtrim.enforce_context_limit([{}], 10)": "misc",
    "a, b, c = ctxtrim.summarize_context([])": "misc",
    "ctxtrim.trim_conversation([1], 10)": "type-var",
    "ctxtrim.trim_conversations([], 10)": "attr-defined",
    "ctxtrim.api.trim_conversations([], 10)": "attr-defined",
    "from ctxtrim import Transcripts": "attr-defined",
}
PROGRAMS = {
    "right.py": PROGRAM,
    "wrong.py": "\n".join(["import ctxtrim", *WRONG]) + "\n",
    **{
        f"example_{number}.py": f"# mypy: allow-untyped-defs, no-warn-return-any\n{text}"
        for number, text in enumerate(EXAMPLES)
    },
}


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The errors of mypy in each program."""
    folder = tmp_path_factory.mktemp("typed")
    for name, text in PROGRAMS.items():
        (folder / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *(str(folder / name) for name in PROGRAMS)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"MYPY_CACHE_DIR": str(folder)} | os.environ,
    )
    assert not done.stderr, done.stderr
    lines = [line for line in done.stdout.splitlines() if ": error:" in line]
    return {name: [line for line in lines if f"{name}:" in line] for name in PROGRAMS}


def test_results_are_accepted_as_messages_of_openai(errors: dict[str, list[str]]) -> None:
    assert errors["right.py"] == []


def test_a_type_checker_sees_every_wrong_call(errors: dict[str, list[str]]) -> None:
    for number, (call, code) in enumerate(WRONG.items(), 2):
        found = [error for error in errors["wrong.py"] if f":{number}: " in error]
        assert any(f"[{code}" in error for error in found), (call, found)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_examples_of_the_docs_have_no_type_errors(
    errors: dict[str, list[str]], number: int
) -> None:
    assert errors[f"example_{number}.py"] == []
