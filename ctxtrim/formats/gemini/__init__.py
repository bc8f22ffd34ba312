"""Gemini's requests, Gemini CLI, and Qwen Code, which writes the same parts."""
