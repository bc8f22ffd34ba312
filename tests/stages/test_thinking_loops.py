"""While a request to Claude enables thinking, the current tool loop must start with thinking, or
the API refuses the request. No stage drops that start.
"""

import json
from typing import Any

import pytest
from conftest import Run
from depth import examples
from harness import run
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import budgets, compactions, cutoffs, removals, summaries, trims, truncations

Element = dict[str, Any]
ENABLED = {"type": "enabled", "budget_tokens": 1024}
LOG = "depth 12 m at buoy 4, wind from the north\n"
GO_ON = {"type": "text", "text": "Go on."}
REASON = "the tool loop must start with thinking while thinking is enabled"


def thinking(text: str) -> Element:
    return {"type": "thinking", "thinking": text, "signature": "c2ln"}


def asks(name: str, *before: Element) -> Element:
    """An answer with one call."""
    call = {"type": "tool_use", "id": name, "name": "bash", "input": {"n": name}}
    return {"role": "assistant", "content": [*before, call]}


def gets(name: str, text: str = LOG, *after: Element) -> Element:
    """The result of the call."""
    answer = {"type": "tool_result", "tool_use_id": name, "content": text}
    return {"role": "user", "content": [answer, *after]}


def prompt(text: str) -> Element:
    return {"role": "user", "content": text}


def request(messages: list[Element], mode: Any = ENABLED) -> bytes:
    """A request to Anthropic."""
    tools = [{"name": "bash", "input_schema": {"type": "object"}}]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 4096, "messages": messages, "tools": tools}
    return (json.dumps(body | ({"thinking": mode} if mode else {})) + "\n").encode()


def converse(messages: list[Element], mode: Any = ENABLED, key: str = "thinking") -> bytes:
    """The same request as Bedrock's Converse API takes it."""
    talk = [
        {"role": message["role"], "content": [*map(_converse_block, _blocks(message))]}
        for message in messages
    ]
    spec = {"name": "bash", "inputSchema": {"json": {"type": "object"}}}
    body = {"modelId": "anthropic.claude-sonnet-4-5", "messages": talk}
    config = {"toolConfig": {"tools": [{"toolSpec": spec}]}}
    fields = {"additionalModelRequestFields": {key: mode}}
    return (json.dumps(body | config | fields) + "\n").encode()


def _blocks(message: Element) -> list[Element]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _converse_block(block: Element) -> Element:
    match block["type"]:
        case "thinking":
            text = {"text": block["thinking"], "signature": block["signature"]}
            return {"reasoningContent": {"reasoningText": text}}
        case "tool_use":
            call = {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}
            return {"toolUse": call}
        case "tool_result":
            content = [{"text": block["content"]}]
            return {"toolResult": {"toolUseId": block["tool_use_id"], "content": content}}
    return {"text": block["text"]}


def loop(*thinks: bool) -> list[Element]:
    """A prompt and the steps after it, some of which begin with thinking."""
    messages = [prompt("Which buoy is the deepest?")]
    for number, has_thinking in enumerate(thinks):
        before = [thinking(f"I look at buoy {number}.")] if has_thinking else []
        messages += [asks(f"t{number}", *before), gets(f"t{number}", LOG * 30)]
    return messages


THINKS_ONCE = loop(True, *[False] * 7)
STAGES = [
    ("trim", "--strategy", "priority"),
    ("trim", "--strategy", "oldest"),
    ("trim", "--strategy", "middle"),
    ("trim", "--strategy", "age"),
    ("trim", "--summarize"),
    ("summarize", "--keep-recent-turns", "0", "--keep-recent-messages", "2"),
    ("cutoff", "--tool-cutoff", "1"),
    ("cutoff", "--tool-cutoff", "1", "--summary-place", "append"),
    ("compact", "--keep-recent-tokens", "200", "--tool-cutoff", "0"),
]


def within(budget: int) -> tuple[str, ...]:
    """The options for a budget, and a tokenizer that counts the same on every Python."""
    return ("--budget", str(budget), "--tokenizer", "o200k_base")


def steps(data: bytes) -> list[list[str]]:
    """The kinds of the blocks of each answer, texts of stages aside."""
    answers = [item for item in json.loads(data)["messages"] if item["role"] == "assistant"]
    kinds = [
        [block.get("type", next(iter(block))) for block in item["content"]] for item in answers
    ]
    return [[kind for kind in answer if kind != "text"] for answer in kinds]


@pytest.mark.parametrize("stage", STAGES, ids=" ".join)
def test_no_stage_drops_the_only_thinking_of_the_loop(ctxtrim: Run, stage: tuple[str, ...]) -> None:
    data = request(THINKS_ONCE)
    ran = ctxtrim("run", "-s", *stage, *within(1300), stdin=data)
    assert ran.code == 0
    found = steps(ran.out)
    assert found[0] == ["thinking", "tool_use"]
    assert 1 <= len(found) < 8
    assert json.loads(ran.out)["messages"][1]["content"][0] == thinking("I look at buoy 0.")
    check = ("check", "--profile", "anthropic", "--as", "request")
    assert ctxtrim(*check, stdin=ran.out).code == 0


@pytest.mark.parametrize(
    ("mode", "kept"), [("keep-current-loop", True), ("strip-after-edit", False), ("strip", False)]
)
def test_the_option_about_thinking_may_remove_it(ctxtrim: Run, mode: str, kept: bool) -> None:
    before = [prompt("Sail. " * 2000), {"role": "assistant", "content": "It sails."}]
    data = request([*before, *THINKS_ONCE])
    ran = ctxtrim("trim", *within(1300), "--thinking", mode, stdin=data)
    assert steps(ran.out)[0] == (["thinking", "tool_use"] if kept else ["tool_use"])
    check = ("check", "--profile", "anthropic", "--as", "request")
    assert (b"thinking-missing" in ctxtrim(*check, stdin=ran.out).out) is not kept


@pytest.mark.parametrize("key", ["thinking", "reasoning_config"])
def test_a_request_to_bedrock_keeps_it_too(ctxtrim: Run, key: str) -> None:
    ran = ctxtrim("trim", *within(1300), stdin=converse(THINKS_ONCE, key=key))
    assert steps(ran.out)[0] == ["reasoningContent", "toolUse"]
    assert ctxtrim("check", "--as", "request", stdin=ran.out).code == 0


@pytest.mark.parametrize(
    "mode", [None, {"type": "adaptive"}, {"type": "disabled"}, {"type": "between_tools"}, "on"]
)
def test_other_modes_need_no_thinking(ctxtrim: Run, mode: Any) -> None:
    ran = ctxtrim("trim", *within(1300), stdin=request(THINKS_ONCE, mode))
    assert steps(ran.out)[0] == ["tool_use"]


def test_a_loop_that_thinks_in_each_step_may_lose_the_first(ctxtrim: Run) -> None:
    ran = ctxtrim("trim", *within(1300), stdin=request(loop(*[True] * 8)))
    assert b"I look at buoy 0." not in ran.out
    assert steps(ran.out)[0] == ["thinking", "tool_use"]


def test_a_loop_that_has_ended_may_lose_its_thinking(ctxtrim: Run) -> None:
    ends = {"role": "assistant", "content": [{"type": "text", "text": "Buoy 4."}]}
    for more in ([ends], [ends, prompt("And the next?")]):
        ran = ctxtrim("trim", *within(1200), stdin=request([*THINKS_ONCE, *more]))
        assert b"I look at buoy 0." not in ran.out


def test_explain_and_an_overflow_name_the_reason(ctxtrim: Run) -> None:
    data = request(THINKS_ONCE)
    ran = ctxtrim("trim", *within(1300), "--explain", stdin=data)
    assert REASON in ran.err
    ran = ctxtrim("trim", *within(600), stdin=data)
    assert (ran.code, ran.out) == (3, b"")
    assert f"message 1 (assistant), line 1: ≈86 tokens ({REASON})" in ran.err


@pytest.mark.parametrize("stage", [("trim", {}), ("summarize", {"keep_recent_turns": 0})])
def test_a_text_of_the_user_after_a_result_may_begin_a_new_loop(
    stage: tuple[str, dict[str, Any]],
) -> None:
    """Anthropic does not say whether it does, so both starts are kept, with their prompts."""
    talk = [prompt("Dive."), asks("a", thinking("I dive.")), gets("a"), asks("b")]
    talk += [gets("b", LOG * 90, GO_ON), asks("c", thinking("On I go.")), gets("c")]
    talk += [asks("d"), gets("d", LOG * 90), asks("e"), gets("e")]
    ran = run(request(talk), [stage], limit=900)
    assert ran.data is not None
    assert b'"id": "d"' not in ran.data
    for text in (b"I dive.", b"On I go.", b"Go on."):
        assert text in ran.data


@pytest.mark.parametrize("write", [request, converse])
def test_check_reports_a_loop_without_thinking(ctxtrim: Run, write: Any) -> None:
    profile = ("--profile", "anthropic") if write is request else ()
    data = write(loop(False, True))
    ran = ctxtrim("check", *profile, stdin=data)
    assert (ran.code, b"thinking-missing" in ran.out) == (0, True)
    ran = ctxtrim("check", *profile, "--as", "request", stdin=data)
    assert ran.code == 4
    assert b"Expected `thinking` or `redacted_thinking`" in ran.out
    for fine in (loop(True, False), [*loop(False)[:-1], gets("t0", LOG, GO_ON)]):
        assert ctxtrim("check", *profile, "--as", "request", stdin=write(fine)).code == 0
    adaptive = write(loop(False, True), {"type": "adaptive"})
    assert ctxtrim("check", *profile, "--as", "request", stdin=adaptive).code == 0


@st.composite
def talks(draw: st.DrawFn) -> list[Element]:
    """A conversation that ends within a tool loop: the user types between the results at times, and
    any answer thinks first.
    """
    messages: list[Element] = []
    texts = st.sampled_from(["ok", LOG, LOG * 30])
    for turn in range(draw(st.integers(1, 3))):
        messages.append(prompt(f"Question {turn}. " + draw(texts)))
        for step in range(draw(st.integers(1, 5))):
            name = f"t{turn}s{step}"
            before = [thinking(f"{name}: " + draw(texts))] if draw(st.booleans()) else []
            typed = [GO_ON] if draw(st.integers(0, 4)) == 0 else []
            messages += [asks(name, *before), gets(name, draw(texts), *typed)]
        if draw(st.booleans()):
            messages += [{"role": "assistant", "content": [{"type": "text", "text": "Done."}]}]
    return messages


ALL = st.one_of(
    st.tuples(st.just("trim"), trims),
    st.tuples(st.just("summarize"), summaries),
    st.tuples(st.just("cutoff"), cutoffs),
    st.tuples(st.just("compact"), compactions),
    st.tuples(st.just("truncate"), truncations),
    st.tuples(st.just("drop-images"), removals),
    st.just(("repair", {})),
)


def start_of_loop(talk: list[Element]) -> str | None:
    """The name of the first call of the last turn, if that step alone must stay: it thinks, another
    step does not, and an answer in words ended the turn before.
    """
    turn = max(at for at, element in enumerate(talk) if isinstance(element["content"], str))
    answers = [element["content"] for element in talk[turn:] if element["role"] == "assistant"]
    thinks = [answer[0]["type"] == "thinking" for answer in answers]
    is_open = talk[-1]["role"] == "user"
    is_apart = turn == 0 or talk[turn - 1]["role"] == "assistant"
    if is_open and is_apart and thinks[0] and not all(thinks):
        return str(answers[0][-1]["id"])
    return None


def thinks_of_kept_steps(talk: list[Element], data: bytes) -> list[bool]:
    """Whether each step of the last turn that an output has thinks."""
    turn = max(at for at, element in enumerate(talk) if isinstance(element["content"], str))
    answers = [element["content"] for element in talk[turn:] if element["role"] == "assistant"]
    steps = [answer for answer in answers if "id" in answer[-1]]
    kept = [step for step in steps if f'"{step[-1]["id"]}"'.encode() in data]
    return [step[0]["type"] == "thinking" for step in kept]


@settings(max_examples=examples(3000))
@given(talks(), ALL, budgets, st.sampled_from([request, converse]))
def test_no_stage_drops_the_step_that_starts_the_loop_with_thinking(
    talk: list[Element], stage: tuple[str, dict[str, Any]], budget: int, write: Any
) -> None:
    name = start_of_loop(talk)
    data = run(write(talk), [stage], limit=budget).data
    if data and name and not all(thinks_of_kept_steps(talk, data)):
        assert f"{name}: ".encode() in data  # its thinking
        assert f'"{name}"'.encode() in data
