"""A pipeline is a value: a copy from another process does the same. Originals are as read."""

import pickle
from functools import partial
from io import BytesIO
from pathlib import Path

from builders import conversation, step, user
from harness import run

from ctxtrim.config.from_command import command_config
from ctxtrim.formats.reading import open_reading
from ctxtrim.pipeline import StagePipeline
from ctxtrim.stages import STAGES
from ctxtrim.stream import done_chunks
from ctxtrim.stream.job import Job
from ctxtrim.tokenizers import tokenizer

DATA = (Path(__file__).parents[1] / "fixtures" / "agent.jsonl").read_bytes()
OWN_MODEL = '[models.ours]\ncontext_window = 2500\ntokenizer = "chars4"\n'


def outputs(pipeline: StagePipeline) -> list[tuple[bytes | None, object]]:
    results = done_chunks("agent.jsonl", open_reading(BytesIO(DATA)).chunks, Job(pipeline), None)
    return [(result.data, result.rows) for result in results]


def test_a_pickled_pipeline_of_all_stages_has_the_same_output(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(OWN_MODEL)
    options = {"model": "ours", "reserve": 1400, "max_age": 1, "max_messages": 10}
    config = command_config(options, {}, tmp_path)
    metering = config.metering(partial(tokenizer, is_light=True), config.model_of)
    pipeline = StagePipeline(tuple(config.spec(name) for name in STAGES), metering)
    expected = outputs(pipeline)

    copy = pickle.loads(pickle.dumps(pipeline))

    assert copy.stages == pipeline.stages
    assert outputs(copy) == expected
    assert expected[0][0] != DATA


def test_a_result_that_two_stages_shorten_is_archived_as_it_was_read() -> None:
    text = "a line of the output\n" * 100
    data = conversation([user("go"), *step("a", text), *step("b", "short")])
    clipped = {"max_age": 9, "max_tokens": 50, "keep_small": 0}
    ran = run(data, [("truncate", clipped), ("truncate", {"max_age": 0, "keep_small": 0})])
    assert set(ran.kept.values()) == {text.encode()}


def test_an_inserted_message_that_stays_has_the_same_tokens_after_a_stage() -> None:
    """The message after it, by which reports name it, may be dropped."""
    steps = [message for name in "abcdef" for message in step(name, f"{name} line\n" * 40)]
    stages = [
        ("summarize", {"keep_recent_turns": 0, "keep_recent_messages": 6}),
        ("trim", {"strategy": "oldest"}),
    ]
    ran = run(conversation([user("go"), *steps, user("and now?")]), stages, limit=200)
    summary, *others = [
        measured
        for measured in ran.rows[0].steps[1].changes
        if measured.change.message is None and measured.change.action == "kept"
    ]
    assert others == []
    assert summary.tokens_before == summary.tokens_after > 0
    dropped = [each for each in ran.rows[0].steps[1].changes if each.change.action == "dropped"]
    assert summary.change.before in [each.change.message for each in dropped]
