"""Summarizers that need a network or a process: an OpenAI-compatible endpoint and a command."""
