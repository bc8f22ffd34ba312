"""All rules of all providers: a transcript that satisfies them can be sent to any provider.

If providers disagree, the narrower rule applies. OpenAI accepts system messages anywhere; here they
must come first, as in Anthropic's top-level prompt and most compatible servers. Anthropic merges
consecutive messages of one role; here roles alternate, as older gateways and the chat templates of
open models require. A warning that depends on the model is an error here.
"""

from ctxtrim.stages.structure import anthropic, gemini, openai, openai_responses
from ctxtrim.stages.structure.rule import Rule


def _union() -> tuple[Rule, ...]:
    """Each kind of breach once, with the error message of the first provider that rejects it."""
    rules: dict[object, Rule] = {}
    for rule in (*anthropic.RULES, *openai.RULES, *openai_responses.RULES, *gemini.RULES):
        rules.setdefault(rule.breaches, rule._replace(severity="error"))
    return tuple(rules.values())


RULES = _union()
