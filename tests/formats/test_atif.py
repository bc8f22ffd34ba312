"""Trajectories in ATIF: steps of the agent hold its calls and their results."""

import json
from io import BytesIO
from typing import Any

import pytest
from conftest import Run
from harness import Ran, read, run
from insertions import SUMMARY, format_of, written
from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Transcript

Value = dict[str, Any]
LONG = "a gull flies by " * 200
AGENT = {
    "name": "harbour-agent",
    "version": "1.0",
    "model_name": "gpt-4o",
    "tool_definitions": [{"type": "function", "function": {"name": "gauge"}}],
}


def call(name: str) -> Value:
    return {"tool_call_id": name, "function_name": "gauge", "arguments": {"pier": 1}}


def result(content: Any, name: str | None = None) -> Value:
    return {"content": content} | ({} if name is None else {"source_call_id": name})


def step(source: str, message: Any, *results: Value, **more: Any) -> Value:
    observation = {"observation": {"results": list(results)}} if results else {}
    return {"source": source, "message": message} | more | observation


def trajectory(*steps: Value, **more: Any) -> Value:
    numbered = [{"step_id": number} | each for number, each in enumerate(steps, 1)]
    head = {"schema_version": "ATIF-v1.7", "session_id": "run-1", "agent": AGENT}
    return head | {"steps": numbered} | more


def line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def format_and_transcripts(data: bytes) -> tuple[str | None, list[Transcript]]:
    reading = open_reading(BytesIO(data))
    found = [transcript for chunk in reading.chunks for transcript in chunk.transcripts]
    return reading.format.name if reading.format else None, found


def shown(*steps: Value) -> list[tuple[str, list[tuple[str, str]]]]:
    _, (found,) = format_and_transcripts(line(trajectory(*steps)))
    return [
        (message.role, [(part.kind, part.text) for part in message.parts])
        for message in found.messages
    ]


TALK = [
    step("system", "Answer as the harbour master."),
    step("user", "How deep is it?"),
    step(
        "agent",
        "I look.",
        result(LONG, "a"),
        result("3 m", "b"),
        reasoning_content="Hm.",
        tool_calls=[call("a"), call("b")],
        metrics={"prompt_tokens": 50, "completion_tokens": 5},
    ),
    step("agent", "Two metres."),
    step("user", "And tomorrow?"),
]


@pytest.mark.parametrize("value", [trajectory(*TALK), [trajectory(*TALK)]])
def test_a_step_of_the_agent_is_an_answer_with_its_results(value: Any) -> None:
    form, (found,) = format_and_transcripts(line(value))
    assert (form, found.id, found.model, found.uncounted) == ("atif", "run-1", "gpt-4o", 0)
    assert json.loads(found.tools or "") == AGENT["tool_definitions"]
    assert [(usage.prompt_tokens, usage.message) for usage in found.usages] == [(50, 2)]
    assert [
        (message.role, [part.kind for part in message.parts]) for message in found.messages
    ] == [
        ("system", ["text"]),
        ("user", ["text"]),
        ("assistant", ["reasoning", "text", "tool_call", "tool_call"]),
        ("tool", ["tool_result"]),
        ("tool", ["tool_result"]),
        ("assistant", ["text"]),
        ("user", ["text"]),
    ]
    answers = [message.result for message in found.messages[3:5]]
    assert [(part.call_id, part.text) for part in answers if part] == [("a", LONG), ("b", "3 m")]


def test_a_result_without_a_call_id_answers_the_first_call() -> None:
    calls = [call("a"), call("b")]
    found = shown(step("agent", "I look.", result("2 m"), tool_calls=calls))
    assert found == [
        (
            "assistant",
            [
                ("text", "I look."),
                ("tool_call", '{"pier":1}'),
                ("text", '{"name":"gauge","arguments":"{\\"pier\\":1}"}'),
            ],
        ),
        ("tool", [("tool_result", "2 m")]),
    ]


def test_an_observation_without_calls_is_the_result_of_the_answer(ctxtrim: Run) -> None:
    value = trajectory(*TALK[:2], step("agent", "{", result("invalid JSON")), *TALK[3:])
    _, (found,) = format_and_transcripts(line(value))
    assert [message.role for message in found.messages[2:4]] == ["assistant", "tool"]
    assert found.messages[2].action is not None
    assert ctxtrim("check", stdin=line(value)).code == 0


def test_a_boundary_replaces_all_steps_before_it() -> None:
    management = {"context_management": {"type": "compaction", "boundary": "replace"}}
    summary = step("system", "Compacted.", result("We looked up the tides."), extra=management)
    _, (found,) = format_and_transcripts(line(trajectory(*TALK[:4], summary, TALK[4])))
    assert [(message.role, message.is_summary) for message in found.messages] == [
        ("user", True),
        ("user", False),
    ]
    assert found.messages[0].parts[0].text == "We looked up the tides."
    append = {"context_management": {"type": "injection", "boundary": "append"}}
    assert shown(step("system", "Tides:", result("high at noon"), extra=append)) == [
        ("system", [("text", "Tides:"), ("text", "high at noon")])
    ]


def test_steps_before_a_boundary_without_a_summary_are_not_sent_and_stay(ctxtrim: Run) -> None:
    management = {"context_management": {"type": "compaction", "boundary": "replace"}}
    boundary = step("system", "Compacted.", extra=management)
    told = step("user", "We looked up the tides. " * 9)
    value = trajectory(*TALK[:4], boundary, told, step("agent", "They are high."), TALK[4])
    _, (found,) = format_and_transcripts(line(value))
    assert [message.role for message in found.messages] == ["user", "assistant", "user"]
    ran = ctxtrim("trim", "-b", "50", stdin=line(value))
    steps = json.loads(ran.out)["steps"]
    assert (ran.code, steps[:5], len(steps)) == (0, value["steps"][:5], 6)
    assert steps[5] == value["steps"][7] | {"step_id": 6}


def test_no_message_comes_before_the_summary_of_a_compaction() -> None:
    management = {"context_management": {"type": "compaction", "boundary": "replace"}}
    summary = step("system", "Compacted.", result("We looked up the tides."), extra=management)
    data = line(trajectory(*TALK[:4], summary, TALK[4]))
    (chunk,) = read(data)
    (found,) = chunk.transcripts
    with pytest.raises(NotEditableError, match="before the summary of a compaction"):
        written(chunk, format_of(data), replace(found, messages=(SUMMARY, *found.messages)))
    kept = replace(found, messages=(found.messages[0], SUMMARY, found.messages[1]))
    value = json.loads(written(chunk, format_of(data), kept))
    assert [each["source"] for each in value["steps"][4:]] == ["system", "user", "user"]


def test_no_message_comes_between_the_results_of_a_step() -> None:
    data = line(trajectory(*TALK))
    (chunk,) = read(data)
    (found,) = chunk.transcripts
    meant = replace(found, messages=(*found.messages[:4], SUMMARY, *found.messages[4:]))
    with pytest.raises(NotEditableError, match="no message between its results"):
        written(chunk, format_of(data), meant)


def test_contents_may_have_images() -> None:
    image = {"type": "image", "source": {"media_type": "image/png", "path": "images/1.png"}}
    content = [{"type": "text", "text": "Look."}, image]
    _, (found,) = format_and_transcripts(line(trajectory(step("user", content))))
    assert [part.media and part.media.kind for part in found.messages[0].parts] == [None, "image"]


def test_embedded_subagents_are_transcripts() -> None:
    inner = trajectory(step("user", "Look."), trajectory_id="t2")
    outer = trajectory(*TALK, subagent_trajectories=[inner])
    form, found = format_and_transcripts(line(outer))
    assert (form, [each.id for each in found]) == ("atif", ["run-1", "t2"])


def test_results_are_shortened_and_other_bytes_stay() -> None:
    data = line(trajectory(*TALK))
    out = run(data, [("truncate", {"max_tokens": 50})], model="gpt-4o").data
    assert out is not None
    short = json.loads(out)["steps"][2]["observation"]["results"][0]["content"]
    assert len(short) < len(LONG)
    assert out == data.replace(json.dumps(LONG).encode(), json.dumps(short).encode())


def test_step_ids_stay_consecutive() -> None:
    out = run(line(trajectory(*TALK)), [("trim", {})], limit=60, model="gpt-4o").data
    assert out == line(trajectory(TALK[0], TALK[4]))
    data = line(trajectory(*TALK))
    (chunk,) = read(data)
    (found,) = chunk.transcripts
    meant = replace(found, messages=(found.messages[0], SUMMARY, *found.messages[5:]))
    summary = step("user", SUMMARY.parts[0].text)
    new = json.loads(written(chunk, format_of(data), meant))
    assert new == trajectory(TALK[0], summary, *TALK[3:])


def repaired(*results: Value) -> Ran:
    asked = step("agent", "I look.", *results, tool_calls=[call("a"), call("b")])
    return run(line(trajectory(TALK[1], asked, TALK[4])), [("repair", {"repair": "synthesize"})])


@pytest.mark.parametrize("results", [[], [result("2 m", "a")], [result("2 m", "b")]])
def test_missing_results_are_written_into_the_observation(results: list[Value]) -> None:
    ran = repaired(*results)
    assert ran.findings == () and ran.data is not None
    held = json.loads(ran.data)["steps"][1]["observation"]["results"]
    assert {each["source_call_id"] for each in held} == {"a", "b"}


def test_other_members_of_an_observation_stay_next_to_a_new_result() -> None:
    noted = {"extra": {"exit": "cut off"}}
    asked = step("agent", "I look.", tool_calls=[call("a")], observation=noted)
    value = trajectory(TALK[1], asked, TALK[4])
    out = run(line(value), [("repair", {"repair": "synthesize"})]).data
    assert out is not None
    observation = json.loads(out)["steps"][1]["observation"]
    assert (observation["extra"], len(observation["results"])) == (noted["extra"], 1)


def test_calls_without_a_result_are_removed() -> None:
    asked = step("agent", "I look.", tool_calls=[call("a")])
    out = run(line(trajectory(TALK[1], asked, TALK[4])), [("repair", {})]).data
    assert out == line(trajectory(TALK[1], step("agent", "I look."), TALK[4]))


def test_steps_of_another_format_are_not_taken() -> None:
    value = trajectory(*TALK) | {"schema_version": "1.0"}
    assert format_and_transcripts(line(value)) == (None, [])


def test_a_sound_counts_by_its_length() -> None:
    def media(**source: Any) -> Any:
        sound = {"type": "audio", "source": {"media_type": "audio/wav", **source}}
        _, (found,) = format_and_transcripts(line(trajectory(step("user", [sound]))))
        return found.messages[0].parts[0].media

    for path in ("surf.wav", "data:audio/wav;base64,UklGRg=="):
        assert (media(path=path).kind, media(path=path).seconds) == ("audio", None)
        assert media(path=path, duration_sec=2.5).seconds == 2.5
