"""Reports for programs are valid against their schemas: with findings, without, and when empty."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES, ROOT, Run
from jsonschema import Draft4Validator, Draft202012Validator
from junitparser import Error, Failure, JUnitXml
from samples import chat, line, orphan, oversized_chat

SARIF = Draft4Validator(
    json.loads(Path(__file__).with_name("sarif-2.1.0.schema.json").read_text()),
    format_checker=Draft4Validator.FORMAT_CHECKER,
)
SCHEMA = json.loads((ROOT / "ctxtrim" / "reports" / "report.schema.json").read_text())
REPORT = Draft202012Validator(SCHEMA)
STEERING = "\x1b[31m\u202e\ufffe]]>&<\"'|`\udc80"

# the lines of the input, and the exit code of check
INPUTS = {
    "all fit": (line(chat()), 0),
    "failures": (line(chat()) + line(oversized_chat()) + line(orphan()) + b"{cut\n", 1),
    "hostile": (line(orphan(), f'"id": {json.dumps(STEERING)}'), 4),
    "empty": (b"", 1),
}


@pytest.fixture(params=INPUTS)
def checked(request: pytest.FixtureRequest, ctxtrim: Run, tmp_path: Path) -> Any:
    """A function that checks an input and returns the text of the report."""
    data, code = INPUTS[request.param]
    path = tmp_path / "a & b <é>.jsonl"
    path.write_bytes(data)

    def report(name: str) -> str:
        words = ("check", "--tokenizer=chars4", "--budget=300", path.name, "--report", name)
        assert ctxtrim(*words, cwd=tmp_path).code == code
        return (tmp_path / name).read_text(encoding="utf-8")

    return report


def test_sarif_is_valid_and_names_the_line_of_each_finding(checked: Any) -> None:
    report = json.loads(checked("r.sarif"))
    SARIF.validate(report)
    (run,) = report["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    is_whole = {"not-json", "no-transcript"}.isdisjoint(rules)
    assert run["invocations"] == [{"executionSuccessful": is_whole}]
    for result in run["results"]:
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "a%20%26%20b%20%3C%C3%A9%3E.jsonl"
        assert place["region"]["startLine"] >= 1
        assert rules[result["ruleIndex"]] == result["ruleId"]


def test_files_are_named_from_the_root_of_the_repository(ctxtrim: Run, tmp_path: Path) -> None:
    package = tmp_path / "repository" / "services" / "agent"
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    for folder in (package / "recordings", package.parent / "shared", tmp_path / "outside"):
        folder.mkdir(parents=True)
        (folder / "a.jsonl").write_bytes(line(orphan()))
    inputs = ("recordings", "../shared", "../../../outside")
    files = ["services/agent/recordings", "services/shared", "../../../outside"]

    def report(name: str) -> str:
        return ctxtrim("check", "--report-format", name, *inputs, cwd=package).out.decode()

    results = json.loads(report("sarif"))["runs"][0]["results"]
    places = [result["locations"][0]["physicalLocation"] for result in results[::2]]
    assert [place["artifactLocation"]["uri"] for place in places] == [f"{f}/a.jsonl" for f in files]
    *annotations, _ = report("github").splitlines()
    assert [re.findall("file=(.*?),", shown) for shown in annotations[::2]] == [
        [f"{file}/a.jsonl"] for file in files
    ]
    assert re.findall(' file="(.*?)"', report("junit")) == [f"{file}/a.jsonl" for file in files]


def test_junit_has_a_case_for_each_transcript_and_unreadable_file(
    checked: Any, tmp_path: Path
) -> None:
    text = checked("r.xml")
    suites = JUnitXml.fromstring(text.encode())
    rows = json.loads(checked("r.json"))
    cases = [case for suite in suites for case in suite]
    results = [result for case in cases for result in case.result]
    bad_files = [item for item in rows["findings"] if item["severity"] == "error"]
    assert suites.tests == len(cases) == len(rows["transcripts"]) + len(bad_files)
    assert suites.errors == sum(type(result) is Error for result in results) == len(bad_files)
    assert suites.failures == sum(type(result) is Failure for result in results)
    failing = rows["totals"]["overflowing"] + rows["totals"]["malformed"]
    assert suites.failures == failing
    assert all(case.name and case.classname for case in cases)
    assert all(result.message and result.type for result in results)


def test_the_json_report_is_valid(checked: Any) -> None:
    REPORT.validate(json.loads(checked("r.json")))
    *rows, last = map(json.loads, checked("r.jsonl").splitlines())
    part = Draft202012Validator({"$ref": "#/$defs/transcript", "$defs": SCHEMA["$defs"]})
    for row in rows:
        part.validate(row)
    REPORT.validate(last | {"transcripts": rows})


WORDS = (
    ("count", "--explain", "--by", "file"),
    ("check", "--profile", "anthropic"),
    ("run", "-struncate:max-age=1", "-strim", "-ssummarize", "--budget=900", "--explain"),
    ("run", "--preset=compact", "--max-tokens=900"),
    ("convert", "--to", "anthropic"),
)


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_json_reports_of_all_commands_are_valid(
    ctxtrim: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    out = () if words[0] in ("count", "check") else ("--dry-run",)
    files = (FIXTURES / "agent.jsonl", FIXTURES / "claude-code.jsonl", FIXTURES / "document.json")
    report = json.loads(ctxtrim(*words, *out, "--json", *files).out)
    assert len(report["transcripts"]) == 7
    REPORT.validate(report)
