"""The size limits of `truncate`, and results that it moves to files: S3-5 to S3-7.

`tests/clipping/test_limits.py` tests the clips themselves.
"""

import json
import os
import random
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from builders import call, contents, conversation, result, step, steps, user
from conftest import Run
from harness import run

from ctxtrim import truncate_text

LOG = "".join(f"line {number} of the log\n" for number in range(5000))
HUGE = "".join(f"line {number} of the dump\n" for number in range(9000))
LIMITS = ("--max-tokens", "0", "--tokenizer", "chars4", "--quiet")


def limited(text: str, **settings: Any) -> str:
    data = conversation([user("go"), *step("a", text)])
    found: str = contents(run(data, [("truncate", {"max_tokens": 0} | settings)]).data)[2]
    return found


@pytest.mark.parametrize("text", [LOG, f"Error: it broke\n{LOG}", f"{LOG}Exit code 1\n"])
@pytest.mark.parametrize(
    "settings",
    [
        {"max_lines": 10},
        {"max_lines": 3},
        {"max_lines": 10, "mode": "head"},
        {"max_lines": 2, "mode": "tail"},
        {"max_bytes": 400},
        {"max_chars": 400},
        {"max_lines": 40, "max_chars": 500, "max_bytes": 300},
    ],
)
def test_s3_5_results_are_limited_as_by_truncate_text(text: str, settings: dict[str, Any]) -> None:
    limits = {"max_lines": 0, "max_bytes": 0, "max_chars": 0} | settings
    now = limited(text, **settings)
    assert now == truncate_text(text, **limits).text
    assert "[tool output truncated: showing " in now


@pytest.mark.parametrize("mode", ["head-tail", "head", "tail"])
@pytest.mark.parametrize("tokens", [60, 150, 600])
def test_the_notice_has_the_sizes_that_the_limit_of_tokens_leaves(mode: str, tokens: int) -> None:
    settings = {"max_lines": 300, "max_tokens": tokens, "mode": mode}
    text = limited(LOG, **settings)
    content, _, sizes = text.partition("\n[tool output truncated: ")
    shown = [line for line in content.splitlines(True) if "[truncated" not in line]
    size = len("".join(shown))
    assert 0 < len(shown) < 300
    assert sizes.startswith(f"showing {len(shown)}/5000 lines, ")
    assert sizes.endswith(f" {size}/{len(LOG)} chars]")
    assert limited(text, **settings) == text


def test_s3_6_only_outputs_that_are_not_spilled_are_limited() -> None:
    data = conversation([user("go"), *step("a", HUGE), *step("b", LOG)])
    ran = run(data, [("truncate", {"max_tokens": 0, "max_lines": 10, "spill_above": 150_000})])
    notice, clip = contents(ran.data)[2::2]
    name = sha256(HUGE.encode()).hexdigest()
    assert (
        notice == f"[tool output of 9000 lines, {len(HUGE) / 1024:.1f}KB, {len(HUGE)} chars moved "
        f"to /shelf/{name}, "
        f"sha256 {name}]"
    )
    assert ran.kept[name] == HUGE.encode()
    assert "showing 10/5000 lines" in clip
    actions = [measurement.change.action for measurement in ran.rows[0].steps[0].changes]
    assert actions == ["archived", "truncated"]


def test_a_second_run_does_not_spill_a_result_that_its_notice_makes_long() -> None:
    how = {"max_tokens": 0, "max_bytes": 60, "spill_above": 100}
    talk = conversation([user("go"), *step("a", "\U0001f680" * 100)])
    once = run(talk, [("truncate", how)], tokenizer="bytes4").data
    assert once is not None
    assert len(contents(once)[2]) > 100
    assert run(once, [("truncate", how)], tokenizer="bytes4").data == once


def test_a_limited_result_is_not_moved_to_a_file(ctxtrim: Run, tmp_path: Path) -> None:
    """A file of it would not have the original."""
    once = ctxtrim("truncate", "--max-lines", "50", *LIMITS, stdin=DATA).out
    spill = ("--spill-above", "200", "--archive", tmp_path / "a")
    assert ctxtrim("truncate", *spill, *LIMITS, stdin=once).out == once != DATA


def test_the_notice_of_a_spilled_result_is_kept_when_it_is_old() -> None:
    """Only the notice says where the result is."""
    talk = conversation([user("go"), *step("a", HUGE), *step("b", "short")])
    spilled = run(talk, [("truncate", {"spill_above": 150_000})]).data
    assert spilled is not None
    old = [("truncate", {"max_age": 0, "keep_small": 0, "max_tokens": 10})]
    assert contents(run(spilled, old).data)[2] == contents(spilled)[2]


def spilling(ctxtrim: Run, data: bytes, tmp_path: Path, *words: object) -> Any:
    return ctxtrim(
        "truncate", "--spill-above", "100000", *LIMITS, *words, stdin=data, TMPDIR=str(tmp_path)
    )


SPILLS = f"ai_tool_outputs-{os.geteuid()}"
DATA = conversation([user("go"), *step("a", HUGE)])
NAME = sha256(HUGE.encode()).hexdigest()


def test_s3_6_outputs_are_spilled_to_a_private_temporary_folder_by_default(
    ctxtrim: Run, tmp_path: Path
) -> None:
    ran = spilling(ctxtrim, DATA, tmp_path)
    folder = tmp_path / SPILLS
    (file,) = (path for path in folder.rglob("*") if path.is_file())
    assert file.read_bytes() == HUGE.encode()
    assert f"moved to {file}, sha256 {NAME}]" in contents(ran.out)[2]
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, file, file.parent))
    assert spilling(ctxtrim, ran.out, tmp_path).out == ran.out


def test_s3_6_outputs_are_spilled_to_the_archive_and_restored(ctxtrim: Run, tmp_path: Path) -> None:
    archive = tmp_path / "a"
    ran = spilling(ctxtrim, DATA, tmp_path, "--archive", archive)
    assert not (tmp_path / SPILLS).exists()
    path = contents(ran.out)[2].partition(" moved to ")[2].partition(", sha256 ")[0]
    assert Path(path).is_relative_to(archive) and Path(path).read_bytes() == HUGE.encode()
    assert ctxtrim("trace", "get", "a", "--archive", archive).out == HUGE.encode()
    assert ctxtrim("restore", "-", "--archive", archive, stdin=ran.out).out == DATA


def test_s3_6_an_output_that_cannot_be_spilled_stays_whole(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / SPILLS).write_bytes(b"a file where a folder should be")
    ran = spilling(ctxtrim, DATA, tmp_path)
    assert (ran.code, ran.out) == (1, DATA)
    assert "ai_tool_outputs" in ran.err


def test_s3_6_a_dry_run_spills_nothing(ctxtrim: Run, tmp_path: Path) -> None:
    assert spilling(ctxtrim, DATA, tmp_path, "--dry-run").code == 0
    assert not (tmp_path / SPILLS).exists()


def test_s3_7_a_limited_output_is_not_limited_again() -> None:
    for settings in (
        {"max_lines": 10},
        {"max_bytes": 500},
        {"max_chars": 500},
        {"max_lines": 40, "max_bytes": 300},
    ):
        once = limited(LOG, **settings)
        assert limited(once, **settings) == once


def test_s3_7_the_stage_skips_outputs_that_would_not_shrink() -> None:
    text = "one\ntwo\nthree\nfour\nfive\n"
    assert truncate_text(text, max_lines=4).is_truncated
    assert limited(text, max_lines=4) == text


def test_s3_7_images_and_other_fields_are_kept() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages = [
        user("go"),
        *step("a", [{"type": "text", "text": LOG}, image]),
        *steps(1, "short")[1:],
    ]
    now = json.loads(run(conversation(messages), [("truncate", {"max_lines": 10})]).data or b"")[
        "messages"
    ]
    assert now[2]["content"][1] == image
    assert [set(item) for item in now] == [set(message) for message in messages]


def test_s3_5_a_clip_to_tokens_respects_the_line_limit() -> None:
    text = "ok\n" + "word " * 6000 + "\n" + "word " * 6000
    once = limited(text, max_lines=3, max_tokens=2000)
    assert limited(once, max_lines=3, max_tokens=2000) == once


@pytest.mark.parametrize("seed", [609, 650, 846, 1482])
def test_a_second_run_finds_no_shorter_text_within_limits_of_lines_and_tokens(seed: int) -> None:
    choose = random.Random(seed)
    words = [
        choose.choice(["alpha", "x", "gamma"])
        + str(choose.randint(1, 99))
        + choose.choice(" " * 25 + "\n")
        for _ in range(60)
    ]
    text = "".join(words)
    place = choose.randrange(len(text) - 40)
    used = f"{text[:place].rsplit(' ', 1)[0]} 4471192 {text[place:]}"
    talk = [user("go"), *step("a", used), call("b", see="4471192"), result("b", "fine")]
    stages = [("truncate", {"clock": "none", "max_tokens": 40, "max_lines": 3})]
    first = run(conversation(talk), stages, tokenizer="o200k_base").data or b""
    assert len(first) < len(conversation(talk))
    assert run(first, stages, tokenizer="o200k_base").data == first


@pytest.mark.parametrize("mode", ["head", "tail", "head-tail"])
def test_a_clip_is_never_empty(mode: str) -> None:
    """Providers refuse an empty text; a family needs more tokens than the limit."""
    family = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}\u200d\N{BOY}"
    assert limited(family * 9, max_tokens=1, mode=mode) == "…"


@pytest.mark.parametrize("lines", [0, 1, 3, 5000])
@pytest.mark.parametrize("most", [5, 30, 60, 500])
def test_s0_5_the_first_lines_and_the_pointer_fit_the_limit_of_a_result(
    lines: int, most: int
) -> None:
    pointer = "[cut: {id}]"
    how = {"max_age": 0, "max_tokens": most, "replace": "head", "head_lines": lines}
    how["pointer"] = pointer
    talk = conversation([user("go"), *step("a", LOG), *step("b", "short"), *step("c", "short")])
    once = run(talk, [("truncate", how)], tokenizer="chars4").data
    text = contents(once)[2]
    *head, last = text.split("\n")
    assert last == "[cut: a]"
    assert head == LOG.split("\n")[: len(head)]
    assert len(text) <= max(4 * most, len(last))
    if len(head) < lines:
        assert len(text) + len(f"\n{LOG.splitlines()[len(head)]}") > 4 * most
    assert run(once, [("truncate", how)], tokenizer="chars4").data == once
