"""Gemini requests, Gemini CLI and Qwen Code, which share parts."""
