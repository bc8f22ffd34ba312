"""The report as one JSON document, version 1."""

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from ctxtrim.findings import Finding, Subject
from ctxtrim.pipeline import StageRun
from ctxtrim.reports.model import Row
from ctxtrim.reports.phrases import pointer
from ctxtrim.reports.report import Report
from ctxtrim.stage import Measured
from ctxtrim.text.escaping import json_text
from ctxtrim.text.names import option_name
from ctxtrim.version import __version__


def render(report: Report) -> Iterator[str]:
    """The whole document, indented."""
    yield "{\n"
    for key, value in head(report).items():
        yield f" {json_text(key)}: {_indented(value, 1)},\n"
    yield ' "transcripts": '
    yield from _array(transcript(row) for row in report.rows)
    for key, value in foot(report).items():
        yield f",\n {json_text(key)}: {_indented(value, 1)}"
    yield "\n}\n"


def _array(values: Iterator[object]) -> Iterator[str]:
    """An array that is a member of the document, one value at a time."""
    start = "[\n  "
    for value in values:
        yield start + _indented(value, 2)
        start = ",\n  "
    yield "[]" if start.startswith("[") else "\n ]"


def _indented(value: object, level: int) -> str:
    """A value as JSON at a level of nesting. A raw line break is never part of a string."""
    return json_text(value, indent=1).replace("\n", "\n" + level * " ")


def head(report: Report) -> dict[str, Any]:
    """Versions, and the pipeline with every setting."""
    stages = [
        {
            "stage": spec.name,
            "settings": {option_name(key): value for key, value in spec.settings.items()},
        }
        for spec in report.pipeline
    ]
    return {"version": 1, "ctxtrim": __version__, "pipeline": stages}


def foot(report: Report) -> dict[str, Any]:
    """Findings about files, the totals with their exactness, and losses of conversions by kind."""
    losses = report.losses.by_code
    sums = structs.asdict(report.sums)
    labels = {name: sums.pop(name) for name in ("exactness", "exactness_read")}
    return {
        "findings": [{"path": path} | _finding(finding) for path, finding in report.findings],
        "totals": sums | structs.asdict(report.problems),
        **labels,
        **({"losses": losses} if losses else {}),
    }


def transcript(row: Row) -> dict[str, Any]:
    """One transcript."""
    count, budget = row.count, row.budget
    value: dict[str, Any] = {
        "path": row.path,
        "line": row.line,
        "index": row.index,
        "pointer": pointer(row.pointer),
        "id": row.id,
        "format": row.format,
        "model": row.model,
        "tokenizer": row.tokenizer,
        "exactness": count.exactness,
        "counted": row.is_counted,
        "exactness_read": row.exactness_read,
        "messages_read": row.messages_read,
        "messages": row.messages,
        "tokens_read": row.tokens_read,
        "tokens": count.tokens,
        "written": row.is_written,
        "by_role": count.by_role,
        "by_kind": count.by_kind,
        "by_tool": count.by_tool,
        "framing": count.framing,
        "tools_schema": count.tools_schema,
        "reported": structs.asdict(row.usage) if row.usage else None,
        "budget": {
            "context_window": budget.context_window,
            "max_input": budget.max_input,
            "reserve": budget.reserve,
            "available": budget.available,
        },
        "fits": row.fits,
        "steps": [_step(row, step) for step in row.steps],
        "findings": [_finding(finding) for finding in row.findings],
    }
    if row.lines_left_out:
        value["lines_left_out"] = row.lines_left_out
    if row.by:
        value["by"] = row.by
    if row.explained:
        value["request_explained"] = {
            name: tokens for name, tokens in row.overhead_read.items() if tokens
        }
        value["messages_explained"] = [structs.asdict(message) for message in row.explained]
    return value


def _step(row: Row, step: StageRun) -> dict[str, Any]:
    changes = [
        measured for measured in step.changes if row.explained or measured.change.action != "kept"
    ]
    smallest = step.smallest_dropped
    findings = (*step.findings, *map(_large, step.large))
    return {
        "stage": step.stage,
        "tokens_before": step.tokens_before,
        "tokens_after": step.tokens_after,
        "messages_before": step.messages_before,
        "messages_after": step.messages_after,
        **({"smallest_dropped": smallest._asdict()} if smallest is not None else {}),
        "changes": [_change(row, measured) for measured in changes],
        "findings": [_finding(finding) for finding in findings],
    }


def _large(message: Subject) -> Finding:
    text, line = message.text, message.line
    return Finding("large-message", "info", text, line, message.index, message.tokens)


def _change(row: Row, measured: Measured) -> dict[str, Any]:
    change = measured.change
    is_inserted = change.message is None and change.line is None
    return {
        "message": change.message,
        **({"before": change.before} if is_inserted else {}),
        "line": change.line if change.message is None else row.lines.get(change.message),
        "action": change.action,
        "reason": change.reason,
        "tokens_before": measured.tokens_before,
        "tokens_after": measured.tokens_after,
        "archived": f"sha256:{measured.archived}" if measured.archived else None,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    value: dict[str, Any] = {
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        "line": finding.line,
        "message_index": finding.index,
        "tokens": finding.tokens,
    }
    if finding.kind is not None:
        value["kind"] = finding.kind
    if finding.details:
        value["details"] = list(finding.details)
    return value
