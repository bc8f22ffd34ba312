"""Texts that make careless code slow, by name: each function returns a text of about the given size
in bytes of UTF-8.

A text is a repeated unit, with a number in it if equal units would be recognized as copies, or a
single structure that grows. All texts are invented here.
"""

import base64
import json
import random
from collections.abc import Callable

Text = Callable[[int], str]
_HUNK = (
    "@@ -{0},3 +{0},4 @@ def step_{0}():\n context\n-    old_{0} = 1\n+   "
    " new_{0} = 2\n+    more = 3\n"
)
_DIFF = (
    "diff --git a/src/m{0}.py b/src/m{0}.py\nindex 1a2b3c..4d5e6f 100644\n--- "
    "a/src/m{0}.py\n+++ b/src/m{0}.py\n"
)
_TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/srv/app/worker{0}.py", line {0}, in run\n    value = '
    "load(path)\nValueError: bad value {0}\n"
)
_LOG = (
    "2031-05-06 07:08:09 INFO worker-{0} request served in {0} ms\n2031-05-06 07:08:09 ERROR "
    "job {0} failed: retry\n"
)
_PROSE = (
    "The parser of step {0} reads one line, keeps the newest value "
    "and reports the rest as unknown. "
)


def repeated(unit: str) -> Text:
    """The same unit again and again."""
    width = len(unit.encode("utf-8", "surrogatepass"))
    return lambda size: unit * max(1, size // width)


def numbered(unit: str) -> Text:
    """The same unit repeated, with a new number in `{0}` each time."""

    def text(size: int) -> str:
        pieces: list[str] = []
        while size > 0:
            pieces.append(unit.format(len(pieces)))
            size -= len(pieces[-1].encode())
        return "".join(pieces)

    return text


def enclosed(first: str, unit: Text, last: str) -> Text:
    """A text between a beginning and an end."""
    return lambda size: first + unit(size).rstrip(",") + last


def quoted(text: Text) -> Text:
    """A text as a JSON string inside JSON."""
    return lambda size: json.dumps({"output": text(size), "metadata": {"exit_code": 0}})


def nested(depth: int) -> Text:
    """An array of objects that nest so many levels deep."""
    value = '{"a":' * depth + "1" + "}" * depth
    return lambda size: "[" + ",".join([value] * max(1, size // len(value))) + "]"


def balanced(size: int) -> str:
    """Brackets that all close, half of the text deep."""
    return "[" * (size // 2) + "]" * (size // 2)


def random_letters(size: int) -> str:
    """A single word without any repetition."""
    source = random.Random(7)
    return "".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=size))


def encoded(size: int) -> str:
    """Random bytes in base64, on a single line."""
    return base64.b64encode(random.Random(8).randbytes(size * 3 // 4)).decode()


_record = numbered('{{"id": {0}, "name": "item {0}", "tags": ["a", "b"], "size": {0}.5}}\n')
_element = numbered(
    '{{"id":{0},"name":"item {0}","text":"some words about item {0} that are a little longer"}},'
)

TEXTS: dict[str, Text] = {
    "prose": numbered(_PROSE),
    "lines": numbered(_PROSE + "\n"),
    # an endless character or short unit
    "word": repeated("a"),
    "random word": random_letters,
    "base64": encoded,
    "digits": repeated("1234567890"),
    "blanks": repeated(" "),
    "tabs": repeated("\t"),
    "newlines": repeated("\n"),
    "returns": repeated("\r"),
    "line ends": repeated("\r\n"),
    "blank lines": repeated("  \t\n"),
    "wide blanks": repeated("\u3000"),
    "quotes": repeated('"'),
    "backslashes": repeated("\\"),
    "escaped quotes": repeated('\\"'),
    "slashes": repeated("/"),
    "dots": repeated("."),
    "dashes": repeated("-"),
    "angles": repeated("> "),
    "controls": repeated("\x01"),
    # characters of several code points
    "flags": repeated("🇩🇪"),
    "families": repeated("👨‍👩‍👧"),
    "joined emoji": repeated("👩\u200d"),
    "accents": repeated("\u0301"),
    "accented": repeated("e\u0301"),
    "mixed accents": repeated("\u0301\u0323"),
    "conjuncts": repeated("क्"),
    "prepended": repeated("\u0600"),
    "jamo": repeated("\u1100"),
    "selectors": repeated("❤\ufe0f"),
    "ideographs": repeated("漢字"),
    "emoji": repeated("😀"),
    "surrogates": repeated("\ud83d"),
    # output of terminals and tools
    "escapes": repeated("\x1b[31mred\x1b[0m "),
    "escape lines": numbered("\x1b[2K\rstep {0}\x1b[0m\n"),
    "progress": numbered("{0} of many\r"),
    "log": numbered(_LOG),
    "log of one line": numbered("12:00:01 error job {0}; "),
    "tracebacks": numbered(_TRACEBACK),
    "traceback lines": repeated("Traceback (most recent call last):\n"),
    "diff": numbered(_DIFF + _HUNK),
    "hunks": lambda size: _DIFF.format(0) + numbered(_HUNK)(size),
    "diff headers": repeated("--- a\n"),
    "diff of one file": lambda size: "diff --git a b\n" + repeated("index 1..2\n")(size),
    "paths": numbered("src/package/module_{0}/file_{0}.py\n"),
    "path of one line": repeated("a/b.c/"),
    "matches": numbered("src/module_{0}.py:{0}: value = load(path)\n"),
    "rows": numbered("-rw-r--r-- 1 user group {0} May  6 07:08 file_{0}.txt\n"),
    "tags": repeated("</tag>\n"),
    "fences": repeated("```\n"),
    "markers": numbered("... [truncated {0} lines] ...\n"),
    "own markers": numbered("… [{0} characters truncated] …"),
    "own digests": numbered("[✓ bash: npm test {0} | exit 0 | {0} lines]\n"),
    "own titles": repeated("[Previous conversation summary]\n"),
    "must": numbered("You must always keep value {0}, never drop it.\n"),
    "decided": numbered("Decision: we will use option {0} instead of the other.\n"),
    "keys": numbered("token = abcdefgh{0}ijklmnop0123456789\n"),
    "key begins": repeated("-----BEGIN PRIVATE KEY-----\n"),
    "key prefixes": repeated("sk-"),
    # JSON, whole and broken
    "brackets": repeated("["),
    "balanced brackets": balanced,
    "braces": repeated('{"a":'),
    "pairs": enclosed("[", repeated("[],"), "]"),
    "numbers": enclosed("[", numbered("{0},"), "]"),
    "long number": enclosed("[", repeated("1"), "]"),
    "strings": enclosed("[", numbered('"item {0}",'), "]"),
    "long string": enclosed('["', repeated("word "), '"]'),
    "escaped string": enclosed('["', repeated("\\n\\u00e9\\ud83d\\ude00"), '"]'),
    "flag string": enclosed('["', repeated("🇩🇪"), '"]'),
    "members": enclosed("{", numbered('"key {0}": {0},'), "}"),
    "equal members": enclosed("{", repeated('"a": 1,'), "}"),
    "elements": enclosed("[", _element, "]"),
    "nested": nested(20),
    "nested deeply": nested(400),
    "JSON lines": _record,
    "JSON lines in JSON": quoted(_record),
    "elements in JSON": quoted(enclosed("[", _element, "]")),
    "flags in JSON": quoted(repeated("🇩🇪")),
    "JSON markers": enclosed("[", numbered('"[{0} more items truncated]",'), "]"),
    "almost JSON": enclosed("[", _element, "[]"),
}
