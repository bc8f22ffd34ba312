"""OpenAI Chat Completions, Responses and Codex; the last two share items."""
