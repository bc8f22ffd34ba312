"""The forms of a report by name: a report in, its text out."""

from collections.abc import Callable

from ctxtrim.report import Report
from ctxtrim.reports import json, jsonl, text

REPORTS: dict[str, Callable[[Report], str]] = {
    "text": text.render,
    "json": json.render,
    "jsonl": jsonl.render,
}
