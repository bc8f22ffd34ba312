"""Patterns match as git's ignore files do. The expected values are those of `git check-ignore`."""

import pytest

from ctxtrim.text.globs import Glob, ignore_globs, is_ignored

PATHS = ("a.jsonl", "b.jsonl", "data/a.jsonl", "data/old/a.jsonl", "old/b.jsonl", "x/data/b.jsonl")

IGNORED = {
    "*.jsonl": PATHS,
    "a.jsonl": ("a.jsonl", "data/a.jsonl", "data/old/a.jsonl"),
    "/a.jsonl": ("a.jsonl",),
    "data": ("data/a.jsonl", "data/old/a.jsonl", "x/data/b.jsonl"),
    "data/": ("data/a.jsonl", "data/old/a.jsonl", "x/data/b.jsonl"),
    "/data/": ("data/a.jsonl", "data/old/a.jsonl"),
    "a.jsonl/": (),
    "data/*.jsonl": ("data/a.jsonl",),
    "data/*": ("data/a.jsonl", "data/old/a.jsonl"),
    "data/**": ("data/a.jsonl", "data/old/a.jsonl"),
    "**/data/*.jsonl": ("data/a.jsonl", "x/data/b.jsonl"),
    "data/**/a.jsonl": ("data/a.jsonl", "data/old/a.jsonl"),
    "**/old": ("data/old/a.jsonl", "old/b.jsonl"),
    "**": PATHS,
    "[ab].jsonl": PATHS,
    "[!a].jsonl": ("b.jsonl", "old/b.jsonl", "x/data/b.jsonl"),
    "[^a].jsonl": ("b.jsonl", "old/b.jsonl", "x/data/b.jsonl"),
    "?.jsonl": PATHS,
    "??.jsonl": (),
    r"\a.jsonl": ("a.jsonl", "data/a.jsonl", "data/old/a.jsonl"),
    r"\*.jsonl": (),
    "a.jsonl   ": ("a.jsonl", "data/a.jsonl", "data/old/a.jsonl"),
    r"a.jsonl\ ": (),
    "# a.jsonl": (),
    "": (),
    "*.jsonl\n!b.jsonl": ("a.jsonl", "data/a.jsonl", "data/old/a.jsonl"),
    "!b.jsonl\n*.jsonl": PATHS,
    "data/*\n!data/old": ("data/a.jsonl",),
    "data\n!data/old/a.jsonl": ("data/a.jsonl", "data/old/a.jsonl", "x/data/b.jsonl"),
    "d*a": ("data/a.jsonl", "data/old/a.jsonl", "x/data/b.jsonl"),
    "d*/a.jsonl": ("data/a.jsonl",),
    "x/**/*.jsonl": ("x/data/b.jsonl",),
    "***.jsonl": PATHS,
    "DATA": (),
}


def ignored(text: str, path: str) -> bool:
    """Whether a path or the first folder on the way to it that a pattern decides is ignored."""
    globs, names = ignore_globs(text), path.split("/")
    return any(
        is_ignored(globs, names[:end], is_folder=end < len(names))
        for end in range(1, len(names) + 1)
    )


@pytest.mark.parametrize("text", IGNORED)
def test_ignore_files_have_the_rules_of_git(text: str) -> None:
    assert tuple(path for path in PATHS if ignored(text, path)) == IGNORED[text]


def test_a_pattern_covers_everything_in_a_folder_that_it_matches() -> None:
    assert Glob("runs/nightly").covers(["runs", "nightly", "a", "b.jsonl"])
    assert not Glob("nightly/").covers(["nightly"])
    assert Glob("nightly/").covers(["nightly"], is_folder=True)


def test_a_pattern_of_many_stars_is_no_slower_than_others() -> None:
    assert not Glob("*a" * 60 + "b").covers(["a" * 200])
    assert not Glob("**/a/" * 40 + "b").covers(["a"] * 200)
