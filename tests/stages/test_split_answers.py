"""Answers of several messages that a provider accepts only together: no stage leaves a piece.

Anthropic splits an answer at a server tool whose result follows in a later message. A response of
OpenAI with reasoning, a search and a text is read as two messages. Anthropic accepts a system
message in the middle only after a user turn and before an answer. A program that OpenAI runs waits
for the outputs of its calls.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from harness import Ran, run
from hypothesis import given
from hypothesis import strategies as st
from strategies import budgets, compactions, cutoffs, summaries, trims

Value = dict[str, Any]


def user(*content: Value | str) -> Value:
    blocks = [{"type": "text", "text": text} if isinstance(text, str) else text for text in content]
    return {"role": "user", "content": blocks}


def says(*content: Value | str) -> Value:
    return user(*content) | {"role": "assistant"}


def use(name: str) -> Value:
    return {"type": "server_tool_use", "id": name, "name": "code_execution", "input": {"code": "a"}}


def found(name: str, text: str = "tide") -> Value:
    content = {"type": "code_execution_result", "stdout": text, "return_code": 0}
    return {"type": "code_execution_tool_result", "tool_use_id": name, "content": content}


def call(name: str, caller: str | None = None) -> Value:
    by = (
        {} if caller is None else {"caller": {"type": "code_execution_20250825", "tool_id": caller}}
    )
    return {"type": "tool_use", "id": name, "name": "read_gauge", "input": {"pier": 1}} | by


def result(name: str, text: str = "2 m") -> Value:
    return {"type": "tool_result", "tool_use_id": name, "content": text}


def paused(name: str, text: str) -> list[Value]:
    """An answer that pauses while a server tool runs."""
    return [says("I search.", use(name)), says(found(name, text), text)]


def called(name: str, text: str, rounds: int = 1) -> list[Value]:
    """An answer whose server tool calls tools of the client."""
    talk = [says(use(name), call(f"{name}.0", name)), user(result(f"{name}.0", text))]
    for number in range(1, rounds):
        talk += [says(call(f"{name}.{number}", name)), user(result(f"{name}.{number}", text))]
    return [*talk, says(found(name), text[:60])]


def reasoned(name: str, text: str, has_call: bool = False) -> list[Value]:
    """A response of a search, a text, and perhaps a call, as items."""
    items: list[Value] = [
        {"type": "reasoning", "id": f"rs_{name}", "summary": []},
        {"type": "web_search_call", "id": f"ws_{name}", "action": {"query": text}},
        said("assistant", text, f"msg_{name}"),
    ]
    if has_call:
        output = {"type": "function_call_output", "call_id": name, "output": text}
        ids = {"id": f"fc_{name}", "call_id": name}
        items += [{"type": "function_call", "name": "read_gauge", "arguments": "{}"} | ids, output]
    return items


def programmed(name: str, text: str, rounds: int = 1) -> list[Value]:
    """An answer whose program, which OpenAI runs, calls tools of the client."""
    caller = {"caller": {"type": "program", "caller_id": name}}
    ids = {"id": f"prog_{name}", "call_id": name}
    talk: list[Value] = [{"type": "program", "code": "look()", "fingerprint": "f"} | ids]
    for number in range(rounds):
        inner = {"call_id": f"{name}.{number}"} | caller
        talk += [
            {"type": "function_call", "name": "read_gauge", "arguments": "{}"} | inner,
            {"type": "function_call_output", "output": text} | inner,
        ]
    ids = {"id": f"po_{name}", "call_id": name}
    return [*talk, {"type": "program_output", "result": text[:60], "status": "completed"} | ids]


def said(role: str, text: str, name: str = "") -> Value:
    kind = "output_text" if role == "assistant" else "input_text"
    message = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return message | {"id": name} if name else message


def broken_messages(data: bytes) -> list[str]:
    """The ids of server tools without their use or without their result."""
    blocks = [
        block
        for message in json.loads(data)["messages"]
        if message["role"] == "assistant" and isinstance(message["content"], list)
        for block in message["content"]
    ]
    uses = {block["id"] for block in blocks if block["type"] == "server_tool_use"}
    results = {block["tool_use_id"] for block in blocks if "tool_use_id" in block}
    callers = {block["caller"]["tool_id"] for block in blocks if "caller" in block}
    return sorted((uses ^ results) | (callers - uses))


def broken_items(data: bytes) -> list[str]:
    """The ids of items without other items of their response."""
    items = json.loads(data)["input"]
    programs = {item["call_id"] for item in items if item["type"] == "program"}
    outputs = {item["call_id"] for item in items if item["type"] == "program_output"}
    callers = {item["caller"]["caller_id"] for item in items if "caller" in item}
    ids = [item["id"] for item in items if "id" in item and not item["type"].startswith("program")]
    names = {name.partition("_")[2] for name in ids}
    kinds = {name: {each for each in ids if each.endswith(f"_{name}")} for name in names}
    broken = {name for name in names if not {f"{k}_{name}" for k in KINDS} <= kinds[name]}
    return sorted(broken | (programs ^ outputs) | (callers - programs))


KINDS = ("rs", "ws", "msg")


def messages(talk: Sequence[Value]) -> bytes:
    return json.dumps({"model": "claude-sonnet-4-5", "system": "s", "messages": talk}).encode()


def items(talk: Sequence[Value]) -> bytes:
    return json.dumps({"model": "gpt-5", "input": talk}).encode()


def four(answer: Callable[[str, str], list[Value]], ask: Callable[[str], Value]) -> list[Value]:
    """Four turns and a last prompt."""
    talk: list[Value] = []
    for number in range(4):
        talk += [ask(f"Ask {number} " + "please " * 20), *answer(str(number), "water " * 90)]
    return [*talk, ask("thanks")]


lengths = st.integers(1, 60)
edits = st.one_of(
    st.tuples(st.just("trim"), trims),
    st.tuples(st.just("summarize"), summaries),
    st.tuples(st.just("compact"), compactions),
    st.tuples(st.just("cutoff"), cutoffs),
)


@st.composite
def in_blocks(draw: st.DrawFn, name: str) -> list[Value]:
    text = "water " * draw(lengths)
    kind = draw(st.sampled_from(["plain", "step", "mixed", "paused", "called", "both"]))
    if kind == "plain":
        return [says(text), user("And then?")]
    if kind == "step":
        return [says(call(name)), user(result(name, text))]
    if kind == "mixed":  # a server tool that runs once the client has answered another call
        asks = says(use(f"{name}s"), call(name))
        return [asks, user(result(name, text), "Also dive."), says(found(f"{name}s"), text)]
    talk = paused(f"{name}a", text) if kind in ("paused", "both") else []
    return talk + (called(f"{name}b", text, draw(st.integers(1, 3))) if kind != "paused" else [])


@st.composite
def in_items(draw: st.DrawFn, name: str) -> list[Value]:
    text = "water " * draw(lengths)
    kind = draw(st.sampled_from(["plain", "reasoned", "programmed"]))
    if kind == "reasoned":
        return reasoned(name, text, has_call=draw(st.booleans()))
    if kind == "programmed":
        return programmed(name, text, draw(st.integers(1, 3)))
    return [said("user", text), said("assistant", text)]


@st.composite
def conversations(draw: st.DrawFn) -> tuple[bytes, Callable[[bytes], list[str]]]:
    """A conversation with split answers, and the function that lists its broken ones."""
    has_blocks, talk = draw(st.booleans()), []
    for number in range(draw(st.integers(1, 5))):
        talk.append(user(f"Ask {number}") if has_blocks else said("user", f"Ask {number}"))
        for part in range(draw(st.integers(0, 3))):
            talk += draw((in_blocks if has_blocks else in_items)(f"{number}x{part}"))
    if draw(st.booleans()):
        talk.append(user("thanks") if has_blocks else said("user", "thanks"))
    return (messages(talk), broken_messages) if has_blocks else (items(talk), broken_items)


@given(conversations(), st.lists(edits, min_size=1, max_size=3), budgets)
def test_no_stage_separates_the_pieces_of_an_answer(
    talk: tuple[bytes, Callable[[bytes], list[str]]],
    stages: list[tuple[str, dict[str, Any]]],
    budget: int,
) -> None:
    data, broken = talk
    assert broken(data) == []
    ran = run(data, stages, limit=budget)
    assert [finding for finding in ran.findings if finding.code == "self-check"] == []
    assert ran.data is None or broken(ran.data) == []


FORMS = [
    (messages(four(paused, user)), broken_messages),
    (messages(four(called, user)), broken_messages),
    (messages(four(lambda name, text: called(name, text, 3), user)), broken_messages),
    (items(four(reasoned, lambda text: said("user", text))), broken_items),
    (items(four(lambda n, t: reasoned(n, t, True), lambda t: said("user", t))), broken_items),
    (items(four(programmed, lambda text: said("user", text))), broken_items),
]


STAGES: list[tuple[str, Value]] = [
    ("trim", {}),
    ("trim", {"strategy": "oldest"}),
    ("trim", {"summarize": True}),
    ("summarize", {"keep_recent_turns": 1}),
]


@pytest.mark.parametrize(("data", "broken"), FORMS)
@pytest.mark.parametrize("stage", STAGES)
def test_every_budget_keeps_both_pieces_or_neither(
    data: bytes, broken: Callable[[bytes], list[str]], stage: tuple[str, Value]
) -> None:
    sizes = set()
    for budget in range(20, 1000, 40):
        ran = run(data, [stage], limit=budget)
        if ran.data is not None:
            assert broken(ran.data) == [], budget
            sizes.add(len(ran.data))
    assert sizes != {len(data)}


@pytest.mark.parametrize("settings", [{"keep_recent_tokens": 60}, {"keep_recent_messages": 2}])
@pytest.mark.parametrize(("data", "broken"), FORMS)
def test_a_compaction_keeps_both_pieces_or_neither(
    data: bytes, broken: Callable[[bytes], list[str]], settings: Value
) -> None:
    ran = run(data, [("compact", {"tool_cutoff": 0} | settings)], limit=600)
    out = ran.data or b""
    assert len(out) < len(data)
    assert broken(out) == []


def test_a_result_between_the_pieces_is_clipped() -> None:
    talk = [user("How deep?"), *called("s", "rows " * 900), user("thanks")]
    ran = run(messages(talk), [("trim", {})], limit=700)
    out = json.loads(ran.data or b"")["messages"]
    assert [message["role"] for message in out] == [message["role"] for message in talk]
    assert out[1] == talk[1]
    assert len(out[2]["content"][0]["content"]) < len(talk[2]["content"][0]["content"])


def test_a_pin_keeps_all_pieces() -> None:
    talk = [user("How deep?"), *paused("s", "a tide"), *paused("t", "gauge"), user("thanks")]
    ran = run(messages(talk), [("trim", {"pin": ["a tide"]})], limit=120)
    assert json.loads(ran.data or b"")["messages"] == [*talk[:3], talk[-1]]


def test_digests_replace_split_steps_and_keep_split_answers_in_words() -> None:
    """The answer ends with the text that the person asked for."""
    steps = [
        said("user", "How deep?"),
        *reasoned("a", "rows " * 90, has_call=True),
        *reasoned("b", "rows " * 90),
    ]
    ends = [said("user", "thanks")]
    cut = [("cutoff", {"tool_cutoff": 0, "tool_summary": "heuristic"})]
    data = messages([user("How deep?"), *called("s", "rows " * 90), user("And now?"), says("One.")])
    assert run(data, cut).data == data
    out = json.loads(run(items([*steps, *ends]), cut).data or b"")["input"]
    assert [item.get("id") for item in out] == [None, None, "rs_b", "ws_b", "msg_b", None]


def test_a_split_answer_of_claude_code_is_one_exchange() -> None:
    events = [
        {"type": value["role"], "sessionId": "s", "uuid": f"u{number}", "message": value}
        | {"parentUuid": f"u{number - 1}" if number else None}
        for number, value in enumerate(four(paused, user))
    ]
    data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    for budget in range(20, 1000, 40):
        out = run(data, [("trim", {})], limit=budget).data
        if out is not None:
            kept = [json.loads(line)["message"] for line in out.splitlines()]
            assert broken_messages(messages(kept)) == [], budget


def test_a_prompt_is_not_separated_by_one_piece_of_an_answer() -> None:
    """The cheapest answer between two prompts would be the end of a split one."""
    talk = [
        user("One"),
        *called("s", "rows " * 90),
        says("So."),
        user("Two"),
        says("Yes."),
        user("3"),
    ]
    for budget in range(20, 500, 10):
        out = run(messages(talk), [("trim", {})], limit=budget).data
        assert out is None or broken_messages(out) == []


def test_repair_keeps_reasoning_that_the_next_message_continues() -> None:
    text, call_item, _ = reasoned("a", "water", has_call=True)[2:]
    reasoning = {"type": "reasoning", "id": "rs_a", "summary": [], "content": "hm"}
    talk = [said("user", "Look."), reasoning, call_item, text, said("user", "So?")]
    out = json.loads(run(items(talk), [("repair", {})]).data or b"")["input"]
    assert [item["id"] for item in out if "id" in item] == ["rs_a", "msg_a"]


def rule(text: str) -> Value:
    return {"role": "system", "content": text}


def misplaced(messages: Sequence[Value]) -> list[int]:
    """The positions of system messages that Anthropic refuses."""
    roles = ["assistant", *(message["role"] for message in messages), "assistant"]
    return [
        position
        for position in range(len(messages))
        if roles[position + 1] == "system"
        and (roles[position] != "user" or roles[position + 2] != "assistant")
    ]


@st.composite
def ruled(draw: st.DrawFn) -> list[Value]:
    """A conversation with system messages after prompts and after results."""
    talk: list[Value] = []
    for turn in range(draw(st.integers(1, 4))):
        talk.append(user(f"Question {turn}"))
        for step in range(draw(st.integers(0, 3))):
            if draw(st.booleans()):
                talk.append(rule(f"Rule {turn}.{step}"))
            name = f"{turn}.{step}"
            talk += [says(call(name)), user(result(name, "rows " * draw(st.integers(1, 90))))]
        if draw(st.booleans()):
            talk.append(rule(f"Last rule of turn {turn}"))
        talk.append(says("tide " * draw(st.integers(1, 40))))
    return [*talk, user("thanks")]


@given(
    ruled(),
    st.one_of(
        st.tuples(st.just("trim"), trims),
        st.tuples(st.just("summarize"), summaries),
        st.tuples(st.just("compact"), compactions),
        st.tuples(st.just("cutoff"), cutoffs),
    ),
    budgets,
)
def test_a_system_message_in_the_middle_keeps_its_place(
    talk: list[Value], stage: tuple[str, dict[str, Any]], budget: int
) -> None:
    assert misplaced(talk) == []
    out = run(messages(talk), [stage], limit=budget).data
    if out is not None:
        assert misplaced(json.loads(out)["messages"]) == []


PINS = ["Rule 0", "Rule 1", "Last rule", "Question 0", "Question 1", "tide", "id:0.0", "id:1.0"]
pins = st.lists(st.sampled_from(PINS), min_size=1, max_size=3, unique=True).map(tuple)


@given(
    ruled(),
    st.one_of(st.tuples(st.just("trim"), trims), st.tuples(st.just("summarize"), summaries)),
    pins,
    budgets,
)
def test_a_system_message_in_the_middle_keeps_its_place_between_pins(
    talk: list[Value], stage: tuple[str, dict[str, Any]], pin: tuple[str, ...], budget: int
) -> None:
    name, settings = stage
    out = run(messages(talk), [(name, settings | {"pin": pin})], limit=budget).data
    if out is not None:
        assert misplaced(json.loads(out)["messages"]) == []


@pytest.mark.parametrize("is_step", [False, True])
def test_an_answer_stays_between_a_pinned_system_message_and_the_next_prompt(
    is_step: bool,
) -> None:
    pinned = [user("one"), rule("Be brief.")]
    long, brief = says("tide " * 90), says("tide " * 20)
    answers = [long, brief]
    if is_step:
        answers = [says(call("a")), user(result("a", "tide " * 90)), says(call("b"))]
        answers += [user(result("b", "2 m"))]
    talk = [*pinned, *answers, user("two"), long, user("three")]
    for stage, settings in (("trim", {}), ("summarize", {"keep_recent_turns": 1})):
        ran = run(messages(talk), [(stage, settings | {"pin": ("brief",)})], limit=120)
        out = json.loads(ran.data or b"")["messages"]
        out = out[out.index(pinned[1]) :]
        assert out == [pinned[1], *answers[-2:][-1 - is_step :], user("three")]
        reasons = {
            measured.change.reason for step in ran.rows[0].steps for measured in step.changes
        }
        assert "answer after a system message" in reasons


def test_an_answer_that_does_not_fit_after_a_pinned_system_message_is_an_overflow() -> None:
    talk = [user("one"), rule("Be brief."), says("tide " * 90), user("two")]
    ran = run(messages(talk), [("trim", {"pin": ("brief",)})], limit=60)
    assert ran.data is None
    details = ran.rows[0].findings[0].details
    assert "(answer after a system message)" in "\n".join(details)


def test_the_step_after_a_pinned_system_message_is_clipped_if_it_must() -> None:
    talk = [user("one"), rule("Be brief."), says(call("a")), user(result("a", "tide " * 400))]
    talk += [user("two"), says("so " * 30), user("three")]

    def trimmed(limit: int, *pins: str) -> Ran:
        return run(messages(talk), [("trim", {"pin": ("brief", *pins)})], limit=limit)

    for limit in (95, 120, 300):
        out = json.loads(trimmed(limit).data or b"")["messages"]
        assert out[:3] == talk[:3]
        assert out[-1] == talk[-1]
        text = out[3]["content"][0]["content"]
        assert len(text) < len("tide " * 400)
        assert text.startswith("tide tide") is (limit > 95)
    assert json.loads(trimmed(700).data or b"")["messages"] == talk
    assert trimmed(300, "id:a").data is None  # a pinned result is never clipped


def test_a_system_message_in_the_middle_is_kept_with_its_prompt() -> None:
    talk = [user("one"), rule("Be brief."), says("tide " * 50), user("two"), says("so " * 30)]
    talk.append(user("3"))

    def kept(limit: int) -> list[Value]:
        out = run(messages(talk), [("trim", {})], limit=limit).data
        found: list[Value] = json.loads(out or b"")["messages"]
        return found

    assert kept(90) == [*talk[:3], talk[-1]]
    assert kept(60) == talk[3:]


@pytest.mark.parametrize("first", [[], [user("hello")]])
def test_no_injected_text_follows_a_system_message_in_the_middle(first: list[Value]) -> None:
    reminder = "<system-reminder>Oil.</system-reminder>"
    talk = [*first, user("Mend the clock."), rule("Be brief."), says("tide " * 400, call("a"))]
    talk += [user(result("a"), reminder), says("done")]
    out = json.loads(run(messages(talk), [("trim", {})], limit=90).data or b"")["messages"]
    assert misplaced(out) == []
    assert out == [*talk[:-3], talk[-1]]


def test_a_step_between_a_system_message_and_a_prompt_is_not_cut_off() -> None:
    """Nor if prompts are adjacent elsewhere."""
    talk = [user("hello"), user("Mend the clock."), rule("Be brief."), says(call("a"))]
    talk += [user(result("a", "tide " * 400), "Also oil it."), says("done")]
    for place in ("in-place", "append"):
        settings = {"tool_cutoff": 0, "summary_place": place}
        out = run(messages(talk), [("cutoff", settings)], limit=9000).data or b""
        assert json.loads(out)["messages"] == talk


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_a_summary_leaves_no_prompt_after_a_system_message_in_the_middle(turns: int) -> None:
    talk = [user("hello"), user("Mend the clock."), rule("Be brief.")]
    talk += [says("tide " * 400, call("a")), user(result("a"), "Also oil it.")]
    talk += [says("so"), user("Now the chimes.")]
    settings = {"keep_recent_tokens": 0, "keep_recent_turns": turns, "pin": ("Mend",)}
    out = json.loads(run(messages(talk), [("summarize", settings)]).data or b"")["messages"]
    assert misplaced(out) == []
    assert rule("Be brief.") in out


def test_a_summary_quotes_a_system_message_in_the_middle() -> None:
    talk = [user("one"), rule("No bold text."), says("tide " * 400), user("two")]
    for number in range(3):
        talk += [says("so " * 100), user(f"more {number}")]
    settings = {"keep_recent_tokens": 60, "keep_recent_messages": 1}
    out = json.loads(run(messages(talk), [("summarize", settings)]).data or b"")["messages"]
    assert "> [system] No bold text." in json.dumps(out[0])
    assert [message["role"] for message in out].count("system") == 0
