"""The message rules of providers, by name, one module each."""

from collections.abc import Iterator, Sequence

from ctxtrim.conversation.turns import Shape
from ctxtrim.findings import Code, Finding, Severity
from ctxtrim.loading import LazyTable, module_table
from ctxtrim.model import Transcript
from ctxtrim.stages.structure import checks
from ctxtrim.stages.structure.rule import Breach, Rule, checked

PROFILES: LazyTable[tuple[Rule, ...]] = module_table(
    "ctxtrim.stages.structure",
    {
        "openai": "openai:RULES",
        "openai-responses": "openai_responses:RULES",
        "anthropic": "anthropic:RULES",
        "gemini": "gemini:RULES",
        "strict": "strict:RULES",
    },
)

STRICT_ROLES: LazyTable[tuple[Rule, ...]] = module_table(
    "ctxtrim.stages.structure", {"elements": "bedrock:RULES", "runs": "mistral:RULES"}
)
"""The rules of transcripts with strict roles, which need no profile to be checked."""

PAIRING: Sequence[Rule] = checks.pairing()
"""Rules of all providers: every call has its result and every result its call."""


def findings(
    rules: Sequence[Rule], transcript: Transcript, shape: Shape, *, is_request: bool = False
) -> Iterator[Finding]:
    """A finding for every breach of some rules, in message order, with the answers of all providers
    that refuse it.

    A breach of a rule that only applies to requests is a warning in recordings.
    """
    conversation = checked(transcript, shape, is_request=is_request)
    rules_by_breach: dict[tuple[Breach, Code], list[Rule]] = {}
    for rule in rules:
        for breach in rule.breaches(conversation):
            rules_by_breach.setdefault((breach, rule.code), []).append(rule)
    for ((position, problem), code), broken_rules in sorted(
        rules_by_breach.items(), key=lambda item: item[0][0][0]
    ):
        message = transcript.messages[position]
        severities = {_severity(rule, is_request) for rule in broken_rules}
        severity: Severity = "error" if "error" in severities else "warning"
        answers = dict.fromkeys(rule.answer for rule in broken_rules if rule.answer)
        details = tuple(f"refused with: {answer}" for answer in answers)
        yield Finding(
            code, severity, problem, transcript.line_of(message), message.index, details=details
        )


def _severity(rule: Rule, is_request: bool) -> Severity:
    return "warning" if rule.for_request and not is_request else rule.severity
