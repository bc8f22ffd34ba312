"""Every rule of every provider at once: what satisfies it can be sent anywhere.

Where they disagree the narrower rule stands: OpenAI takes system messages anywhere, here they stand before everything
else, as Anthropic's top-level prompt and most compatible servers ask for; Anthropic merges messages of one side in a
row, here roles alternate, as older gateways and the chat templates of open models ask for; and what is a warning for
one provider because only some of its models refuse it is an error.
"""

from ctxtrim.structure import anthropic, gemini, openai, openai_responses
from ctxtrim.structure.rule import Profile, Rule


def _union() -> tuple[Rule, ...]:
    """Each kind of breach once, with the answer of the first provider that refuses it."""
    rules: dict[object, Rule] = {}
    for profile in (anthropic.PROFILE, openai.PROFILE, openai_responses.PROFILE, gemini.PROFILE):
        for rule in profile.rules:
            rules.setdefault(rule.breaches, rule._replace(severity="error"))
    return tuple(rules.values())


PROFILE = Profile("strict", _union())
