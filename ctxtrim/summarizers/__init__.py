"""Summarizers that need a network or a process: an OpenAI-compatible endpoint and a command."""

from ctxtrim.summaries.summarizer import Summarizer
from ctxtrim.summarizers.command import Command
from ctxtrim.summarizers.endpoint import Endpoint

__all__ = ["Command", "Endpoint", "Summarizer"]
