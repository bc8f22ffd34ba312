"""A summarizer costs money: it is called only for messages that no earlier summary covers."""

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from builders import conversation, says, user
from conftest import Run

from ctxtrim import build_final_prompt


def talk(turns: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You mend harbours."}]
    for berth in range(turns):
        messages += [user(f"Mend berth {berth}. " * 20), says(f"Berth {berth} is mended. " * 5)]
    return [*messages, user("Now the last one.")]


class Writer:
    """A summarizer that counts its calls."""

    name = "writer"

    def __init__(self) -> None:
        self.calls = 0

    def summarize(self, prompt: str, max_tokens: int) -> str:
        self.calls += 1
        return f"Berths were mended, as written {self.calls} times."


class Command:
    """A command for summaries that counts its calls in a file."""

    def __init__(self, folder: Path) -> None:
        self.log, script = folder / "calls", folder / "write.py"
        script.write_text(
            f"import sys\nsys.stdin.read()\nopen({str(self.log)!r}, 'a').write('x')\n"
            "print('Berths were mended.')\n"
        )
        self.options = ("--llm-command", f"{sys.executable} {script}")

    @property
    def calls(self) -> int:
        return len(self.log.read_text())


@pytest.mark.parametrize("stage", ["trim --summarize", "summarize --keep-recent-turns 2"])
def test_a_command_is_called_once_for_a_file_that_does_not_change(
    ctxtrim: Run, tmp_path: Path, stage: str
) -> None:
    command, path = Command(tmp_path), tmp_path / "talk.json"
    path.write_bytes(conversation(talk(20)))
    options = (*stage.split(), "--budget", "900", *command.options)
    options = (*options, "--summary-store", str(tmp_path / "store.json"))
    first = ctxtrim(*options, str(path))
    store = (tmp_path / "store.json").read_bytes()
    assert (first.code, command.calls) == (0, 1)
    assert b"Berths were mended." in first.out
    again = ctxtrim(*options, str(path), "--explain")
    assert (again.out, command.calls) == (first.out, 1)
    assert "by store" in again.err
    assert " summarized " in again.err
    assert (tmp_path / "store.json").read_bytes() == store
    path.write_bytes(conversation(talk(24)))
    assert ctxtrim(*options, str(path)).code == 0
    assert command.calls == 2


@pytest.mark.parametrize(
    ("size", "fits"), [(1, True), (2000, False), (400_000, False)], ids=["fits", "long", "large"]
)
def test_the_summaries_of_an_array_are_stored_if_it_is_written(
    ctxtrim: Run, tmp_path: Path, size: int, fits: bool
) -> None:
    """A large array is read in parts."""
    store, out = tmp_path / "store.json", tmp_path / "out.json"
    last = [user("Which berth? " * size)]
    array = b",".join(conversation(messages).strip() for messages in (talk(20), last))
    words = ("trim", "--summarize", "--budget", "900", "--summary-store", store, "-o", out)
    words = (*words, "--tokenizer", "chars4")
    ran = ctxtrim(*words, stdin=b"[" + array + b"]")
    assert (ran.code, out.exists(), store.exists()) == (0 if fits else 3, fits, fits)


def test_a_summary_of_another_conversation_with_the_same_id_is_not_used(
    ctxtrim: Run, tmp_path: Path
) -> None:
    store = ("--summary-store", str(tmp_path / "store.json"))
    words = ("trim", "--summarize", "--budget", "900", *store)
    assert ctxtrim(*words, stdin=conversation(talk(20), id="a")).code == 0
    again = [*talk(20)[:3], *talk(60)[81:]]  # begins alike
    ran = ctxtrim(*words, stdin=conversation(again, id="a"))
    assert ran.code == 0
    assert "warning: the stored summary is not used: neither the summary nor" in ran.err


def prompt(turns: int, writer: Writer, summary: str | None, **options: Any) -> Any:
    options = {"model": "gpt-4o", "budget": 1000, "summarize": True} | options
    return build_final_prompt(
        talk(turns), summarizer=writer, conversation_summary=summary, **options
    )


def test_a_summarizer_is_called_once_for_a_list_that_does_not_change() -> None:
    writer = Writer()
    first = prompt(20, writer, None)
    assert first.summary.endswith("as written 1 times.")
    second = prompt(20, writer, first.summary)
    copied = pickle.loads(pickle.dumps(second.summary))
    assert copied.kept and vars(copied) == vars(second.summary)
    third = prompt(20, writer, copied)
    assert first.messages == second.messages == third.messages
    assert first.summary == second.summary == third.summary
    assert writer.calls == 1


def test_a_summarizer_is_called_again_for_more_messages_or_a_smaller_budget() -> None:
    writer = Writer()
    first = prompt(20, writer, None)
    more = prompt(21, writer, first.summary)
    assert (writer.calls, more.summary.endswith("as written 2 times.")) == (2, True)
    prompt(21, writer, more.summary, budget=1200)
    assert writer.calls == 2
    smaller = prompt(21, writer, more.summary, budget=600)
    assert (writer.calls, smaller.token_count <= 600) == (3, True)


def test_a_plain_text_is_continued_every_time() -> None:
    writer = Writer()
    first = prompt(20, writer, None)
    prompt(20, writer, json.loads(json.dumps(first.summary)))
    assert writer.calls == 2


def test_a_summary_of_another_conversation_covers_nothing() -> None:
    writer = Writer()
    summary = prompt(20, writer, None).summary
    others = [message | {"content": f"On {message['content']}"} for message in talk(20)]
    build_final_prompt(
        others,
        model="gpt-4o",
        budget=1000,
        summarize=True,
        summarizer=writer,
        conversation_summary=summary,
    )
    assert writer.calls == 2


def test_a_summary_by_rules_is_written_again_by_a_summarizer() -> None:
    writer = Writer()
    facts = build_final_prompt(talk(20), model="gpt-4o", budget=1000, summarize=True).summary
    assert prompt(20, writer, facts).summary.endswith("as written 1 times.")
