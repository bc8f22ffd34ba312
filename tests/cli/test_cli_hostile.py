"""Hostile input: a result, or a clear line with file and line; the right exit code, and nothing
lost.
"""

import bz2
import json
import tarfile
from io import BytesIO
from pathlib import Path

import pytest
from conftest import FIXTURES, Run
from samples import chat, line, long_chat, messages, orphan, oversized_chat, shortened, step_text

QUICK = ("--tokenizer", "chars4")
BIG = "9" * 5_000  # more digits than Python's own parser takes

# By name: a line (or several) between two conversations, and the expected message (None: no
# message, exit code 0).
ODDITIES: dict[str, tuple[bytes, str | None]] = {
    "blank lines": (b"\n  \n\t\n\r\n", None),
    "a line with only a BOM": (b"\xef\xbb\xbf\n", None),
    "CRLF": (line(chat(), end="\r\n"), None),
    "BOM in the middle": (b"\xef\xbb\xbf" + line(chat()), None),
    "lone surrogates": (line(chat("\ud800 and \udfff")), None),
    "raw U+2028 and U+0085": (line(chat(), '"x": "a\u2028b\u2029c\u0085d"'), None),
    "NaN": (line(chat(), '"x": NaN, "y": -Infinity'), None),
    "numbers": (line(chat(), '"x": 1.10, "y": 1e5, "z": 123456789012345678901234567890'), None),
    "a number of 5,000 digits": (line(chat(), f'"x": {BIG}'), None),
    "duplicate keys": (line(chat(), '"x": 1, "x": 2, "x": 1'), None),
    "unknown JSON": (b'{"event": "tick"}\n[1, 2]\n42\n"text"\nnull\n', None),
    "nested 500 deep": (line(chat(), '"x": ' + "[" * 500 + "]" * 500), None),
    "an empty conversation": (b'{"messages": []}\n', None),
    "bad UTF-8": (b'{"messages": [{"role": "user", "content": "caf\xe9"}]}\n', "not UTF-8"),
    "cut off in mid-line": (line(chat())[:50] + b"\n", "ends in the middle of a JSON value"),
    "UTF-16": ('{"messages": []}'.encode("utf-16") + b"\n", "not UTF-8 at byte 1 of the line"),
    "a byte order mark of UTF-16": (b"\xff\xfex\n", "not UTF-8 at byte 1 of the line"),
    "the first bytes of bzip2": (b"BZh\xff\n", "not UTF-8 at byte 4 of the line"),
    "the mark of tar": (b"x" * 257 + b"ustar\xff\n", "not UTF-8 at byte 263 of the line"),
    "a log line": (b"2026-02-03 INFO ready\n", "not JSON"),
    "NUL bytes": (b"\x00\x00\x00\x00\n", "not JSON"),
    "nested 100,000 deep": (b"[" * 100_000 + b"]" * 100_000 + b"\n", "nested too deeply"),
}


@pytest.mark.parametrize("name", ODDITIES)
def test_an_odd_line_is_unchanged_while_its_neighbour_is_edited(
    ctxtrim: Run, tmp_path: Path, name: str
) -> None:
    odd, complaint = ODDITIES[name]
    path = tmp_path / "odd.jsonl"
    path.write_bytes(line() + odd + line(chat()))
    ran = ctxtrim("truncate", *QUICK, path)
    assert ran.out == shortened(line()) + odd + line(chat())
    lines = [line for line in ran.err.splitlines() if "error" in line]
    if complaint is None:
        assert (ran.code, lines) == (0, [])
    else:
        assert ran.code == 1
        assert len(lines) == 1
        assert lines[0].startswith(f"{path}:2: error: ")
        assert complaint in lines[0]


def test_a_run_without_stages_keeps_every_odd_line(ctxtrim: Run, tmp_path: Path) -> None:
    data = b"".join(odd for odd, _ in ODDITIES.values())
    (tmp_path / "odd.jsonl").write_bytes(b"\xef\xbb\xbf" + line() + data + line(chat(), end=""))
    ran = ctxtrim("run", *QUICK, tmp_path / "odd.jsonl")
    assert ran.out == (tmp_path / "odd.jsonl").read_bytes()
    assert ran.code == 1


MEMBERS = (
    r'"a":1.10,  "b" : 1e5, "c":12345678901234567890123, "d":NaN, '
    r'"e":"\u00e9\ud800", "f":1, "f":2, "g":'
)


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_an_edited_line_keeps_every_unedited_byte(ctxtrim: Run, end: str) -> None:
    data = b"\xef\xbb\xbf" + line(messages(), MEMBERS + '"\u2028"', end)
    ran = ctxtrim("truncate", *QUICK, stdin=data)
    assert (ran.code, ran.out) == (0, shortened(data))


def test_deep_nesting_next_to_an_edit_loses_nothing(ctxtrim: Run, tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    data = line(messages(), '"x": ' + "[" * 1_000 + "]" * 1_000)
    path.write_bytes(data)
    ran = ctxtrim("truncate", *QUICK, "--in-place", path)
    assert (ran.code, path.read_bytes()) in ((0, shortened(data)), (1, data))


def test_values_without_a_separator_are_read_and_unchanged(ctxtrim: Run, tmp_path: Path) -> None:
    glued = line(end="") + line(chat())
    (tmp_path / "glued.jsonl").write_bytes(
        line(chat()) + glued + line(oversized_chat(), end="") + line(long_chat())
    )
    ran = ctxtrim("truncate", *QUICK, tmp_path / "glued.jsonl")
    assert ran.code == 0
    assert ran.out == line(chat()) + shortened(glued) + line(oversized_chat(), end="") + line(
        long_chat()
    )
    assert f"{tmp_path / 'glued.jsonl'}:2: warning: " in ran.err
    trimmed = ctxtrim("trim", *QUICK, "--budget", "300", tmp_path / "glued.jsonl")
    assert trimmed.code == 3
    assert "a question without an end" not in trimmed.out.decode()
    assert json.loads(trimmed.out.splitlines()[-1])["messages"][-1] == long_chat()[-1]


def test_only_a_line_of_5_megabytes_is_shortened(ctxtrim: Run, tmp_path: Path) -> None:
    long = messages()
    long[-1]["content"] = "\n".join(
        f"{number}: a line of a very long result" for number in range(150_000)
    )
    data = line(chat()) + line(long) + line(chat())
    assert len(data) > 5_000_000
    (tmp_path / "long.jsonl").write_bytes(data)
    assert ctxtrim("run", *QUICK, tmp_path / "long.jsonl").out == data
    ran = ctxtrim("truncate", *QUICK, "--max-age", "50", tmp_path / "long.jsonl")
    lines = ran.out.splitlines(keepends=True)
    assert ran.code == 0
    assert (lines[0], lines[2]) == (line(chat()), line(chat()))
    value = json.loads(lines[1])["messages"]
    assert value[:-1] == long[:-1]
    assert value[-1]["content"].startswith("0: a line")
    assert value[-1]["content"].endswith("149999: a line of a very long result")
    assert len(value[-1]["content"]) <= 4 * 2_000


def tar(data: bytes) -> bytes:
    """A tar archive with one file."""
    archive, member = BytesIO(), tarfile.TarInfo("a.jsonl")
    member.size = len(data)
    with tarfile.open(fileobj=archive, mode="w") as file:
        file.addfile(member, BytesIO(data))
    return archive.getvalue()


WHOLE = {
    "empty.jsonl": (b"", "no transcript found"),
    "page.pdf": (b"%PDF-1.7\n1 0 obj\n", "; expected JSON or JSON lines"),
    "table.csv": (b"role,content\nuser,hello\n", "; expected JSON or JSON lines"),
    "title.jsonl": (
        b'{"type": "summary", "summary": "A title", "leafUuid": "a"}\n',
        "no transcript found: it looks like claude-code, but has no messages",
    ),
    "blank.jsonl": (b"\n\n", "no transcript found"),
    "binary.jsonl": (bytes(range(256)) * 40, "no transcript found"),
    "random.jsonl": (b"\x1f\x8c\x08\x00" + b"\x00\xff" * 50, "no transcript found"),
    "tar.jsonl": (tar(line()), "a tar archive: unpack it first"),
    "bzip2.jsonl": (bz2.compress(line()), "bzip2 data: unpack it first"),
    "train.parquet": (
        b"PAR1\x15\x04\x15\xf0\x9a\x01\n\0PAR1",
        "a Parquet file: convert it to JSON lines first",
    ),
    "train.arrow": (b"ARROW1\0\0\xff\n", "an Arrow file: convert it to JSON lines first"),
    "utf-16.jsonl": (
        (line() * 2).decode().encode("utf-16"),
        "the file is UTF-16; convert it with iconv -f utf-16 -t utf-8",
    ),
    "text.jsonl": (
        b"Dear diary,\ntoday I read a transcript.\n",
        "no transcript found: not JSON (expecting value at character 1); expected JSON or JSON "
        "lines",
    ),
    "other.jsonl": (
        b'{"event": "tick"}\n{"event": "tock"}\n',
        'no transcript found: unknown format (starts with `{"event": "tick"} {"even…`); '
        "`ctxtrim help count` lists the formats",
    ),
    "cut.json": ((FIXTURES / "document.json").read_bytes()[:900], "ends in the middle"),
    "cut.jsonl": (line()[:300], "ends in the middle"),
    "broken.json": (
        (FIXTURES / "document.json").read_bytes().replace(b'"kite"', b'"kite'),
        "not JSON",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_without_a_transcript_is_unchanged_with_a_reason(
    ctxtrim: Run, tmp_path: Path, name: str
) -> None:
    data, complaint = WHOLE[name]
    path = tmp_path / name
    path.write_bytes(data)
    ran = ctxtrim("trim", *QUICK, path)
    assert (ran.code, ran.out) == (1, data)
    lines = [line for line in ran.err.splitlines() if line.startswith(str(path))]
    assert len(lines) == 1
    assert complaint in lines[0].partition("error: ")[2]


def test_the_totals_name_files_and_lines_that_cannot_be_read(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line() + b"{cut\nnot JSON\n")
    (tmp_path / "b.jsonl").write_bytes(b"")
    ran = ctxtrim("check", *QUICK, "a.jsonl", "b.jsonl", "c.jsonl", cwd=tmp_path)
    assert ran.code == 1
    assert ran.out.endswith(b", 2 unreadable files, 2 unreadable lines\n")


@pytest.mark.parametrize("url", ["https://example.org/a.jsonl", "s3://talks/a.jsonl"])
def test_a_url_is_to_be_downloaded(ctxtrim: Run, url: str) -> None:
    ran = ctxtrim("count", url)
    assert ran.code == 1
    assert ran.err == f"{url}: error: cannot be read: it is a URL; download the file and name it\n"


def test_a_cut_document_names_the_line_where_it_breaks_off(ctxtrim: Run, tmp_path: Path) -> None:
    data = WHOLE["cut.json"][0]
    (tmp_path / "cut.json").write_bytes(data)
    ran = ctxtrim("check", *QUICK, tmp_path / "cut.json")
    assert ran.code == 1
    last = len(data.splitlines())
    assert f"cut.json:{last}: " in ran.out.decode() + ran.err


@pytest.mark.parametrize("command", ["count", "check --verbose", "truncate"])
def test_an_unreadable_file_is_reported_and_stops_nothing(
    ctxtrim: Run, tmp_path: Path, command: str
) -> None:
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    (tmp_path / "folder").mkdir()
    (tmp_path / "good.jsonl").write_bytes(line(chat()))
    bad = ("missing.jsonl", "./no//folder/", "loop.jsonl", "folder", "good.jsonl/below.jsonl")
    ran = ctxtrim(*command.split(), *QUICK, *bad, "good.jsonl", cwd=tmp_path)
    assert ran.code == 1
    assert (b"good.jsonl:1 " if command != "truncate" else line(chat())) in ran.out
    for name in bad:
        assert (
            len([error for error in ran.err.splitlines() if error.startswith(f"{name}: error: ")])
            == 1
        ), name


def test_a_folder_is_walked_and_one_bad_file_stops_nothing(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_bytes(line())
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "broken.jsonl").symlink_to("nowhere.jsonl")
    ran = ctxtrim("truncate", *QUICK, "--in-place", tmp_path)
    assert ran.code == 1
    assert (tmp_path / "good.jsonl").read_bytes() == shortened(line())
    assert (tmp_path / "empty.jsonl").read_bytes() == b""
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "broken.jsonl",
        "empty.jsonl",
        "good.jsonl",
    ]


def test_transcript_text_never_controls_the_terminal(ctxtrim: Run) -> None:
    evil = orphan()
    evil[1]["tool_call_id"] = "\x1b[2J\r[/bold]\n"
    evil[2]["tool_calls"][0]["function"]["name"] = "\x1b]0;title\x07[red]"
    for words in (("count", "--explain"), ("check", "--color", "always")):
        ran = ctxtrim(*words, *QUICK, stdin=line(evil))
        shown = ran.out + ran.err.encode()
        assert not [part for part in (b"\x1b[2J", b"\x1b]0", b"\x07", b"\r") if part in shown]
        assert b"\\x1b" in shown


def test_a_file_name_with_odd_characters_works(ctxtrim: Run, tmp_path: Path) -> None:
    for name in ("[bold] {x} %s.jsonl", "--budget.jsonl", "tab\tand é.jsonl"):
        (tmp_path / name).write_bytes(line())
        assert ctxtrim("truncate", *QUICK, "--", name, cwd=tmp_path).out == shortened(line())
    reported = ctxtrim("count", *QUICK, "--json", tmp_path).out
    assert len(json.loads(reported)["transcripts"]) == 3


def test_special_tokens_and_endless_words_are_counted_as_text(ctxtrim: Run) -> None:
    data = line(chat("<|endoftext|>" * 50 + " " * 200_000 + step_text(1)))
    ran = ctxtrim("count", "--model", "gpt-4o", "--json", stdin=data)
    assert ran.code == 0
    assert json.loads(ran.out)["totals"]["tokens"] > 300


@pytest.mark.parametrize("option", ["--archive", "--log", "--report", "-o", "--config"])
def test_an_empty_path_is_refused(ctxtrim: Run, tmp_path: Path, option: str) -> None:
    """A shell gives it for a variable that is not set."""
    (tmp_path / "t.jsonl").write_bytes(line())
    for words in ((option, "", "t.jsonl"), ("--in-place", "")):
        ran = ctxtrim("truncate", *QUICK, *words, cwd=tmp_path)
        assert (ran.code, ran.out) == (2, b"")
        assert " is empty; name a" in ran.err
        assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]
    assert (tmp_path / "t.jsonl").read_bytes() == line()


@pytest.mark.parametrize("option", ["--archive", "--log", "--events", "--config"])
def test_a_dash_is_no_name_of_a_file(ctxtrim: Run, tmp_path: Path, option: str) -> None:
    ran = ctxtrim("truncate", *QUICK, option, "-", stdin=line(), cwd=tmp_path)
    assert (ran.code, ran.out) == (2, b"")
    assert f"{option} -: expected a path" in ran.err
    assert not list(tmp_path.iterdir())


def test_numbers_above_the_length_of_any_text_are_valid(ctxtrim: Run) -> None:
    words = ("truncate", *QUICK, "--replace", "head", "--max-age", "1", "--head-lines")
    for number in (10**22, 10**60):
        ran = ctxtrim(*words, str(number), stdin=line())
        assert ran.code == 0
        assert ran.out == ctxtrim(*words, "1000", stdin=line()).out


def test_more_processes_than_work_are_not_started(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(line())
    ran = ctxtrim("truncate", *QUICK, "--jobs", "99999", tmp_path / "t.jsonl")
    assert (ran.code, ran.out) == (0, shortened(line()))


def test_a_transcript_that_does_not_fit_is_not_said_to_fit(ctxtrim: Run) -> None:
    words = ("--budget", "1", "--on-overflow", "keep")
    ran = ctxtrim("trim", *QUICK, *words, stdin=line(chat()))
    assert (ran.code, ran.out) == (3, line(chat()))
    assert ran.err.splitlines()[-1].endswith("1 overflowing")
