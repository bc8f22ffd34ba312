"""Anthropic Messages and Claude Code, which share content blocks."""
