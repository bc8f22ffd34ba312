"""The report as SARIF 2.1.0: a result for each finding, with its line in the transcript.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from collections.abc import Iterator
from typing import Any

from ctxtrim.findings import Finding
from ctxtrim.reports.entries import Entry, entries, lines
from ctxtrim.reports.report import Report
from ctxtrim.text.escaping import json_text
from ctxtrim.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_PLAIN = frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/"
)  # bytes that stay in a URI


def render(report: Report) -> Iterator[str]:
    """The document: the results, one at a time, then the tool with the rules that they name."""
    rules: dict[str, int] = {}
    yield f'{{"version": "2.1.0", "$schema": "{SCHEMA}", "runs": [{{\n"results": ['
    separator = "\n"
    for entry in entries(report):
        for finding in entry.findings:
            index = rules.setdefault(finding.code, len(rules))
            yield separator + json_text(_result(entry, finding, index))
            separator = ",\n"
    invocation = {"executionSuccessful": not report.is_incomplete}
    yield f'],\n"invocations": {json_text([invocation])},\n"columnKind": "utf16CodeUnits",\n'
    yield f'"tool": {json_text({"driver": _driver(rules)})}\n}}]}}\n'


def _driver(rules: dict[str, int]) -> dict[str, Any]:
    return {
        "name": "ctxtrim",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(code) for code in rules],
    }


def _rule(code: str) -> dict[str, Any]:
    text = {"text": f"{code.replace('-', ' ').capitalize()}."}
    return {"id": code, "shortDescription": text, "fullDescription": text, "help": text}


def _result(entry: Entry, finding: Finding, index: int) -> dict[str, Any]:
    location = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(entry.file)},
            "region": {"startLine": max(1, finding.line or entry.line)},
        },
        "logicalLocations": [{"fullyQualifiedName": entry.place}],
    }
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": lines(finding)},
        "locations": [location],
    }


def _uri(path: str) -> str:
    """The path as a URI reference: relative paths stay relative, to the root of the checkout."""
    encoded = "".join(
        chr(byte) if byte in _PLAIN else f"%{byte:02X}"
        for byte in path.encode(errors="surrogateescape")
    )
    return f"file://{encoded}" if path.startswith("/") else encoded
