"""No control character of a transcript, a file name or a configuration reaches the terminal or a
report.
"""

import json
import os
import re
from pathlib import Path

import pytest
from conftest import Ran, Run
from samples import line, messages, orphan, shortened

from ctxtrim.text.escaping import clean, clean_lines, json_text
from ctxtrim.text.numbers import Share

STEERING = (
    "\x1b[2J\x1b[31mEVIL\x1b]0;title\x07\r\b\x00\x7f\x85\x9b31m"  # C0, DEL and C1
    "\u202e\u2066\u2069\u200e\u061c"  # bidirectional controls
    "\u200b\ufeff\u2028\u2029\U000e0041"  # invisible characters and separators
)
STYLE = re.compile("\x1b\\[[0-9;]*m(?!EVIL)")  # the colours of our own tables
QUICK = ("--tokenizer", "chars4", "--no-progress")


def assert_safe(ran: Ran, *reports: Path, is_transcript: bool = False) -> None:
    """Nothing that was shown has a character that steers a terminal."""
    shown = [ran.err, *(path.read_text(errors="surrogateescape") for path in reports)]
    for text in [*shown, *([] if is_transcript else [ran.out.decode()])]:
        for item in STYLE.sub("", text).split("\n"):
            assert item.isprintable(), ascii(item)


def hostile(values: list[dict]) -> list[dict]:
    """A conversation whose names, ids and texts steer the terminal."""
    for message in values:
        for call in message.get("tool_calls", ()):
            call["id"] += STEERING + "\n"
            call["function"]["name"] += STEERING + "\n\ud800"
        if "tool_call_id" in message:
            message["tool_call_id"] += STEERING + "\n"
        message["content"] = (message["content"] or "") + STEERING
    return values


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a hostile transcript of a hostile name, and a configuration of
    the same kind.
    """
    path = tmp_path / f"evil{STEERING}\n".replace("\x00", "")
    path.mkdir()
    more = f'"id": {json.dumps(STEERING)}, "model": {json.dumps("gpt" + STEERING)}'
    (path / "a.jsonl").write_bytes(line(hostile(messages()), more) + line(hostile(orphan()), more))
    (path / "broken.jsonl").write_bytes(b'{"messages": \x1b]0;\x9b\n')
    text = json.dumps(STEERING[:-1])  # the last one would need other quoting in TOML
    (path / "config.toml").write_text(f'pin = ["\\u001b"]\nplaceholder = {text}\n')
    (path / "wrong.toml").write_text(f"{text} = {text}\n")
    return path


STAGES = (("truncate",), ("trim", "--budget", "150"), ("trim", "--budget", "5"), ("summarize",))


@pytest.mark.parametrize("words", STAGES, ids=" ".join)
def test_commands_that_write(ctxtrim: Run, folder: Path, words: tuple[str, ...]) -> None:
    for form in ("text", "json", "jsonl"):
        report, log = folder / "report", folder / "log"
        options = (
            "--report",
            report,
            "--report-format",
            form,
            "--log",
            log,
            "--config",
            folder / "config.toml",
        )
        ran = ctxtrim(*words, *QUICK, *options, "--explain", folder / "a.jsonl")
        assert_safe(ran, report, log, is_transcript=True)
        ran = ctxtrim(
            *words, *QUICK, *options, "--archive", folder / "x", "-o", folder / "out", folder
        )
        assert_safe(ran, report, log)


@pytest.mark.parametrize(
    "words", [("count", "--explain"), ("check", "--profile", "strict")], ids=" ".join
)
@pytest.mark.parametrize("color", ["never", "always"])
def test_commands_that_report(
    ctxtrim: Run, folder: Path, words: tuple[str, ...], color: str
) -> None:
    for form in (("--color", color), ("--json",), ("--report-format", "jsonl")):
        ran = ctxtrim(
            *words, *QUICK, *form, folder / "a.jsonl", folder / "broken.jsonl", NO_COLOR=""
        )
        assert_safe(ran)
        assert "EVIL" in ran.out.decode()


def test_compaction_and_its_events(ctxtrim: Run, folder: Path) -> None:
    options = ("--max-tokens", "10", "--events", folder / "events")
    ran = ctxtrim("run", "--preset", "compact", *QUICK, *options, folder / "a.jsonl")
    assert_safe(ran, folder / "events", is_transcript=True)


def test_names_in_an_archive_are_escaped_and_originals_are_exact(
    ctxtrim: Run, folder: Path
) -> None:
    archive = ("--archive", folder / "archive")
    ctxtrim("truncate", *QUICK, *archive, folder / "a.jsonl", "-o", folder / "out.jsonl")
    listed = ctxtrim("trace", "list", *archive)
    assert_safe(listed)
    name = listed.out.decode().splitlines()[1].split("  ")[0]
    assert name.startswith("call_1\\x1b")
    assert (
        ctxtrim("trace", "get", name, *archive).out.decode() == messages()[2]["content"] + STEERING
    )
    restored = ctxtrim("restore", folder / "out.jsonl", *archive)
    assert restored.out == (folder / "a.jsonl").read_bytes()
    for words in (
        ("trace", "verify"),
        ("trace", "get", "\x1b[2J\u202e"),
        ("restore", folder / "a.jsonl"),
    ):
        assert_safe(ctxtrim(*words, *archive))
    assert_safe(ctxtrim("trace", "list", "--archive", folder / "none"))


def test_messages_that_quote_options_and_configuration(ctxtrim: Run, folder: Path) -> None:
    evil = STEERING.replace("\x00", "")
    for words in (
        (f"--{evil}",),
        (evil,),
        ("count", f"--{evil}"),
        ("trace", evil),
        ("models", evil),
        ("rolling-context", evil),
        ("count", "--budget", evil, "x"),
        ("count", "--model", evil, folder / "a.jsonl"),
        ("count", "--tokenizer", evil, folder / "a.jsonl"),
        ("count", "--format", evil, folder / "a.jsonl"),
        ("count", "--messages-path", evil, folder / "a.jsonl"),
        ("count", "--report-format", evil),
        ("count", "--preset", evil),
        ("count", "--config", folder / evil),
        ("count", "--config", folder / "wrong.toml"),
        ("run", "-s", evil),
        ("run", "-s", f"trim:{evil}=1"),
        ("truncate", "--tool", evil, folder / "a.jsonl"),
        ("trim", "--pin", f"({evil}", folder / "a.jsonl"),
        ("trim", "-o", folder / "a.jsonl" / evil, folder / "a.jsonl"),
        ("config", "show", "--config", folder / "config.toml"),
        ("config", "show", "--config", folder / "config.toml", "--json"),
        ("config", "show", "--config", folder / "wrong.toml"),
    ):
        ran = ctxtrim(*words)
        assert ran.out or ran.err
        assert_safe(ran)
    assert_safe(ctxtrim("count", CTXTRIM_BUDGET=evil))
    assert_safe(ctxtrim("count", **{f"CTXTRIM_{evil}": "1"}))


def test_bytes_of_the_transcript_are_unchanged(ctxtrim: Run) -> None:
    data = line(messages(), f'"x": "{STEERING[-12:]}"')
    assert ctxtrim("truncate", *QUICK, stdin=data).out == shortened(data)


def test_file_names_that_are_not_utf_8(ctxtrim: Run, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9\xff.jsonl")
    inside = tmp_path / os.fsdecode(b"in\xfe")
    inside.mkdir()
    (inside / "other.jsonl").write_bytes(line())
    (inside / name).write_bytes(line(messages(), '"id": "\\ud800"'))
    archive = ("--archive", tmp_path / os.fsdecode(b"archive\xfe"))
    out, report, log = (
        tmp_path / os.fsdecode(b"out\xfe"),
        tmp_path / "report",
        tmp_path / os.fsdecode(b"log\xfe"),
    )
    for form in ("text", "json", "jsonl"):
        options = ("--report", report, "--report-format", form, "--log", log)
        ran = ctxtrim("truncate", *QUICK, *archive, *options, inside, "-o", out)
        assert ran.code == 0
        assert_safe(ran, report, log)
        assert (out / name).read_bytes() == shortened((inside / name).read_bytes())
    assert ctxtrim("restore", out / name, *archive).out == (inside / name).read_bytes()
    listed = ctxtrim("trace", "list", *archive)
    assert_safe(listed)
    assert b"in\\udcfe/caf\\udce9\\udcff.jsonl:1" in listed.out
    assert ctxtrim("trace", "verify", *archive).code == 0
    reported = ctxtrim("count", "--json", *QUICK, inside / name)
    assert json.loads(reported.out)["transcripts"][0]["path"] == str(inside / name)
    assert ctxtrim("truncate", *QUICK, *archive, "--in-place", inside / name).code == 0
    assert (inside / name).read_bytes() == (out / name).read_bytes()
    for words in (
        ("count", inside / f"{name}x"),
        ("restore", inside / "x", *archive),
        ("trim", "-o", log / "x", log),
    ):
        missing = ctxtrim(*words)
        assert missing.code == 1
        assert_safe(missing)


def test_lone_surrogates_in_an_archive(ctxtrim: Run, tmp_path: Path) -> None:
    values = messages()
    for message in values:
        for call in message.get("tool_calls", ()):
            call["id"], call["function"]["name"] = call["id"] + "\ud800", "look\udfff"
        if "tool_call_id" in message:
            message["tool_call_id"] += "\ud800"
            message["content"] += "\udc80"
    path, archive = tmp_path / "a.jsonl", ("--archive", tmp_path / "archive")
    path.write_bytes(line(values, '"id": "\\udead", "model": "\\udead"'))
    for number, words in enumerate(
        (
            ("truncate",),
            ("trim", "--budget", "300", "--summarize"),
            ("summarize", "--keep-recent-turns", "0", "--keep-recent-messages", "2"),
            ("run", "--preset", "compact", "--max-tokens", "10"),
            ("run", "--preset", "retention"),
        )
    ):
        out = tmp_path / f"{number}.jsonl"
        store = ("--summary-store", tmp_path / "store.json") if number else ()
        ran = ctxtrim(*words, *QUICK, *store, *archive, "--log", tmp_path / "log", path, "-o", out)
        assert ran.code == 0, ran.err
        assert_safe(ran, tmp_path / "log")
        assert ctxtrim("restore", out, *archive).out == path.read_bytes()
    stored = ctxtrim("trace", "get", "call_1\\ud800", *archive)
    assert stored.out.decode("utf-8", "surrogatepass") == values[2]["content"]


def test_a_clean_text_is_one_printable_line() -> None:
    assert clean("plain é 漢 🚀") == "plain é 漢 🚀"
    assert clean("a\nb\x9b\u202e\ud800") == "a\\nb\\x9b\\u202e\\ud800"
    assert clean_lines("a\x07\nb\r\n") == "a\\x07\nb\\r\n"


def test_json_text_is_printable_and_equivalent() -> None:
    for odd in ("", "\ud800", Share("80%")):
        value = {"é漢🚀" + STEERING: ['\n\t"\\', STEERING, odd, 1.5, None, 10**30]}
        for indent in (0, 1):
            text = json_text(value, indent)
            assert json.loads(text) == value
            assert all(text.isprintable() for text in text.split("\n"))
            assert "é漢🚀" in text


@pytest.mark.parametrize("odd", ["", "\ud800", Share("80%")])
def test_json_text_is_spelled_alike_by_both_encoders(odd: str) -> None:
    value = {"a": ["é/", True, odd], "b": [], "c": {}, "d": ({"e": -1.5}, None), "f": 10**30}
    for indent in (0, 2):
        expected = json.dumps(value, ensure_ascii=False, indent=indent or None)
        assert json_text(value, indent) == expected.replace("\ud800", "\\ud800")
