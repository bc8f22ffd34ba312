"""Sessions of Cline: `{"version", "agent", "sessionId", "messages", "system_prompt"?}`."""

import json
from typing import Any

import pytest
from conftest import Run
from harness import read, run

from ctxtrim.conversation.turns import shape

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


LOG = "The tide fell by two fathoms.\n" * 40
STATE = {"type": "text", "text": "<environment_details>\nACT MODE\n</environment_details>"}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def history(*answers: list[Any], calls: int = 1) -> bytes:
    """A history: a task, steps whose results are texts, and an answer."""
    talk: list[dict[str, Any]] = [
        {"role": "user", "content": [text("<task>\nGo.\n</task>"), STATE]}
    ]
    for step, content in enumerate(answers):
        uses = [USE | {"id": f"t{step}{number}"} for number in range(calls)]
        talk += [{"role": "assistant", "content": uses}, {"role": "user", "content": content}]
    return json.dumps([*talk, {"role": "assistant", "content": [text("Done.")]}]).encode()


HEAD = text("[read_files for '/bay/log.txt'] Result:")


def test_results_that_are_texts_answer_their_calls(ctxtrim: Run) -> None:
    data = history([HEAD, text(LOG), STATE], [text("[subagents] Result:\nTwo."), STATE])
    (found,) = read(data)[0].transcripts
    roles = ["user", "assistant", "tool", "user", "assistant", "tool", "user", "assistant"]
    assert [message.role for message in found.messages] == roles
    assert [message.index for message in found.messages] == list(range(8))
    assert shape(found.messages).unanswered == ()
    assert [message.is_injected for message in found.messages if message.role == "user"] == [
        False, True, True,
    ]  # fmt: skip
    assert ctxtrim("check", "-b", "10k", stdin=data).code == 0


def test_parallel_results_that_are_texts_answer_their_calls_in_order() -> None:
    two = [HEAD, text(LOG), text("[read_files for 'b'] Result:"), text("Calm."), STATE]
    (found,) = read(history(two, calls=2))[0].transcripts
    results = [message for message in found.messages if message.role == "tool"]
    assert [message.parts[-1].text for message in results] == [LOG, "Calm."]
    assert [message.result.call_id for message in results if message.result] == ["t00", "t01"]


def test_what_the_person_typed_after_a_result_is_a_prompt() -> None:
    typed = text("<feedback>\nUse the chart.\n</feedback>")
    (found,) = read(history([HEAD, text(LOG), typed]))[0].transcripts
    assert [(message.role, message.is_injected) for message in found.messages[2:4]] == [
        ("tool", False), ("user", False),
    ]  # fmt: skip


def test_a_result_that_is_a_text_is_shortened_and_dropped_with_its_call(ctxtrim: Run) -> None:
    data = history([HEAD, text(LOG), STATE], [HEAD, text(LOG), STATE])
    clipped = json.loads(ctxtrim("truncate", "--max-tokens", "30", stdin=data).out)
    assert [clipped[2]["content"][place] for place in (0, 2)] == [HEAD, STATE]
    assert len(clipped[2]["content"][1]["text"]) < len(LOG)
    for budget in range(60, 1200, 60):
        ran = ctxtrim("trim", "-b", str(budget), stdin=data)
        assert ran.code == 0, ran.err
        kept = [block for message in json.loads(ran.out) for block in message["content"]]
        assert kept.count(HEAD) == sum(block["type"] == "tool_use" for block in kept)


def test_a_result_after_its_label_is_shortened_and_the_label_stays(ctxtrim: Run) -> None:
    label = "[execute_command for 'tide'] Result:\n"
    data = history([text(label + LOG), STATE], [text(label + LOG), STATE])
    clipped = json.loads(ctxtrim("truncate", "--max-tokens", "30", stdin=data).out)
    first = clipped[2]["content"][0]["text"]
    assert first.startswith(label)
    assert len(first) < len(LOG)
    aged = run(data, [("truncate", {"max_age": 0})]).data or b""
    assert [message.role for message in read(aged)[0].transcripts[0].messages][2] == "tool"
    assert json.loads(aged)[2]["content"][0]["text"].startswith(f"{label}[content truncated")


@pytest.mark.parametrize("word", ["<answer>", "<task>", "<feedback>"])
def test_a_result_may_contain_the_tags_of_what_a_person_typed(word: str) -> None:
    label, content = "[read_files for 'a'] Result:", f"{word} in a file\n"
    for blocks in ([text(f"{label}\n{content}")], [text(label), text(content)]):
        messages = read(history([*blocks, STATE]))[0].transcripts[0].messages
        assert [message.role for message in messages[2:4]] == ["tool", "user"]
        assert len(messages[2].parts) == len(blocks)
        assert messages[3].is_injected


@pytest.mark.parametrize(
    "answer",
    [
        "[ask_followup_question for 'Which?'] Result:\n<answer>\nThe red one.\n</answer>",
        "[read_files for 'a'] Result:\nThe user denied it:\n<feedback>\nNo.\n</feedback>",
    ],
)
def test_what_a_person_typed_as_a_result_is_never_shortened(answer: str) -> None:
    for blocks in ([text(answer)], list(map(text, answer.split("\n", 1)))):
        data = history([*blocks, STATE], [HEAD, text(LOG)])
        (found,) = read(data)[0].transcripts
        assert found.messages[2].role == "tool"
        assert shape(found.messages).unanswered == ()
        aged = run(data, [("truncate", {"max_age": 0, "keep_small": 0})]).data or b""
        assert json.loads(aged)[2] == json.loads(data)[2]


def test_results_around_feedback_and_results_of_the_api_are_read() -> None:
    proper = {"type": "tool_result", "tool_use_id": "t00", "content": "One."}
    typed = text("<feedback>\nUse the chart.\n</feedback>")
    (found,) = read(history([HEAD, text(LOG), typed, HEAD, text("Two.")], calls=2))[0].transcripts
    roles = [(message.role, message.is_injected) for message in found.messages[2:5]]
    assert roles == [("tool", False), ("tool", False), ("user", False)]
    (found,) = read(history([proper, HEAD, text("Two.")], calls=2))[0].transcripts
    results = [message.result for message in found.messages[2:4]]
    assert [result.call_id for result in results if result is not None] == ["t00", "t01"]


def test_a_label_may_have_a_command_of_several_lines() -> None:
    label = "[execute_command for 'cat <<END\ncalm\nEND'] Result:"
    (found,) = read(history([text(label), text(LOG), STATE]))[0].transcripts
    assert [part.text for part in found.messages[2].parts] == [label, LOG]


@pytest.mark.parametrize("is_apart", [False, True])
def test_every_stage_edits_results_that_are_texts(ctxtrim: Run, is_apart: bool) -> None:
    label = "[browser_action for 'bay'] Result:"
    picture = {"type": "image", "source": {"type": "url", "url": "https://bay.example/a.png"}}
    answers = [
        [text(label), text(LOG)] if is_apart else [text(f"{label}\n{LOG}")] for _ in "abcdef"
    ]
    data = history([text(label), picture, STATE], *([*answer, STATE] for answer in answers))
    open_call = history(*([*answer, STATE] for answer in answers), calls=2)
    for stage in (
        "truncate:max-age=1,metadata=true", "drop-images:max-age=0", "cutoff:tool-cutoff=1",
        "repair:repair=synthesize", "repair:repair=drop",
    ):  # fmt: skip
        for talk in (data, open_call):
            ran = ctxtrim("run", "-s", stage, "--no-archive", stdin=talk)
            assert ran.code == 0, ran.err
            is_repaired = talk is data or stage.startswith("repair")
            assert ctxtrim("check", stdin=ran.out).code == (0 if is_repaired else 4)


def test_a_result_without_a_text_has_its_label_alone() -> None:
    data = history([text("[a] Result:"), text("[b] Result:\nTwo."), STATE], calls=2)
    results = read(data)[0].transcripts[0].messages[2:4]
    assert [(message.role, message.parts[0].text) for message in results] == [
        ("tool", "[a] Result:"), ("tool", "Two."),
    ]  # fmt: skip


def test_the_count_of_a_compaction_is_an_estimate(ctxtrim: Run) -> None:
    compaction = session({"type": "text", "text": "Calm."}) | {"source_message_count": 40}
    ran = ctxtrim("count", "--json", stdin=json.dumps(compaction).encode())
    (row,) = json.loads(ran.out)["transcripts"]
    assert row["exactness"] == "estimated"
    assert "messages after the compaction" in ran.out.decode()
