"""Requests to Claude whose tokens are documented."""

from builders import user

from ctxtrim.metering import Metering
from ctxtrim.model import Transcript
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokens.counter import Count

# platform.claude.com, token counting: 14 and 403 tokens by the API's own count.
SCIENTIST = [{"role": "system", "content": "You are a scientist"}, user("Hello, Claude")]
WEATHER = [
    {
        "name": "get_weather",
        "description": "Get the current weather in a given location",
        "input_schema": {
            "type": "object",
            "properties": {
                "location": {
                    "type": "string",
                    "description": "The city and state, e.g. San Francisco, CA",
                }
            },
            "required": ["location"],
        },
    }
]
QUESTION = [user("What's the weather like in San Francisco?")]


def counted(
    talk: Transcript, model: str = "claude-sonnet-4", name: str = "claude-v3-bound"
) -> Count:
    return Metering(tokenizer, model, name).meter(talk).counter.count(talk)
