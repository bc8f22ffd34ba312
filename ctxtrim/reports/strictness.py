"""`check --strict`: warnings and estimated counts are errors."""

from msgspec.structs import replace

from ctxtrim.reports.model import Row
from ctxtrim.stage import Finding


def strict_finding(finding: Finding) -> Finding:
    """A finding whose warning is an error."""
    return replace(finding, severity="error") if finding.severity == "warning" else finding


def strict_row(row: Row) -> Row:
    """A row whose warnings are errors, with an error for an estimated count."""
    findings = tuple(map(strict_finding, row.findings))
    if row.count.exactness == "estimated" and row.is_handled:
        text = (
            f"the count is estimated with {row.tokenizer}; name a model with --model, or its "
            "tokenizer with --tokenizer"
        )
        findings += (Finding("estimate", "error", text, row.line, tokens=row.count.tokens),)
    return replace(row, findings=findings)
