"""`check --strict`: warnings and estimated counts are errors."""

from msgspec.structs import replace

from ctxtrim.findings import Finding
from ctxtrim.metering import BOUND, USAGE
from ctxtrim.reports.model import Row
from ctxtrim.tokens.models import UNKNOWN, find_model


def strict_finding(finding: Finding) -> Finding:
    """A finding whose warning is an error."""
    return replace(finding, severity="error") if finding.severity == "warning" else finding


def strict_row(row: Row) -> Row:
    """A row whose warnings are errors, with an error for an estimated count."""
    findings = tuple(map(strict_finding, row.findings))
    if row.count.exactness == "estimated" and row.is_handled:
        text = f"the count is estimated with {row.tokenizer}: {_cause(row)}"
        findings += (Finding("estimate", "error", text, row.line, tokens=row.count.tokens),)
    return replace(row, findings=findings)


def _cause(row: Row) -> str:
    """Why the count is an estimate, and what to do if something helps."""
    if row.model is None:
        return "no model is named or recorded; name it with --model"
    model = find_model(row.model)
    if model is None:
        return f"{row.model} is not in the registry of models, so no tokenizer of it is verified"
    if model.tokenizer == UNKNOWN.tokenizer:
        return f"no exact tokenizer of {row.model} is known; use --strict for other models only"
    if row.tokenizer.startswith(f"{USAGE} + "):
        return "recorded usage is no exact count; leave out --tokenizer"
    if " × " in row.tokenizer:
        return "calibrated counts are estimates; leave out --calibrate"
    if row.tokenizer.removesuffix(BOUND) != model.tokenizer:
        return f"the tokenizer of {row.model} is {model.tokenizer}; leave out --tokenizer"
    if any(finding.code == "not-counted" for finding in row.findings):
        return "not everything that the model reads is counted, as its findings say"
    return "the cost of a part is assumed, such as that of a document or of encrypted reasoning"
