"""Anthropic's messages, and Claude Code, which writes the same blocks."""
