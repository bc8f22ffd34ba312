"""Transcripts are freed when their run ends: no cycle of references waits for the collector."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import FIXTURES, Run
from sessions import Messages, openai_session

from ctxtrim import (
    STAGES,
    Pipeline,
    build_final_prompt,
    compact,
    estimate_tokens,
    fits,
    summarize_context,
    truncate_old_tool_outputs,
)

TRANSCRIPTS = [FIXTURES / name for name in ("agent.jsonl", "claude-code.jsonl", "kiro.json")]
COMMANDS = [
    "count --by tool",
    "check --budget 100",
    "trim --budget 300",
    "trim --budget 300 --strategy oldest --explain",
    "truncate --max-age 0 --max-tokens 10",
    "truncate --max-tokens 10 --tool bash:max-tokens=5",
    "summarize --budget 300",
    "convert --to anthropic",
    *(f"run -s {stage} --budget 300" for stage in STAGES),
]


@pytest.fixture
def cycles() -> Iterator[list[object]]:
    """The objects that only the collector frees; the list is filled by `gc.collect()`."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    yield gc.garbage
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


def of_ctxtrim(objects: list[object]) -> set[str]:
    kinds = {(type(each).__module__, type(each).__qualname__) for each in objects}
    return {f"{module}.{name}" for module, name in kinds if module.startswith("ctxtrim.")}


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_leaves_no_cycles(
    words: str, ctxtrim: Run, tmp_path: Path, cycles: list[object]
) -> None:
    output = () if words.startswith(("count", "check")) else ("-o", tmp_path / "out")
    ran = ctxtrim(*words.split(), *TRANSCRIPTS, *output, "--model", "gpt-4o")
    assert ran.code in (0, 3), ran.err
    gc.collect()
    assert of_ctxtrim(cycles) == set()


FUNCTIONS: dict[str, Callable[[Messages], object]] = {
    "build_final_prompt": lambda messages: build_final_prompt(messages, context_window=2000),
    "compact": lambda messages: compact(messages, {"max_tokens": 1000}),
    "estimate_tokens": lambda messages: estimate_tokens(messages, model="gpt-4o"),
    "fits": lambda messages: fits(messages, context_window=2000),
    "summarize_context": lambda messages: summarize_context(messages, max_tokens=100),
    "truncate": lambda messages: truncate_old_tool_outputs(messages, max_age=1),
    "Pipeline": lambda messages: Pipeline("truncate", "trim", budget=1000).run(messages),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_leaves_no_cycles(name: str, cycles: list[object]) -> None:
    FUNCTIONS[name](openai_session(8))
    gc.collect()
    assert of_ctxtrim(cycles) == set()
