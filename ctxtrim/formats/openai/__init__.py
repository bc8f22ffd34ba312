"""OpenAI's Chat Completions and Responses, and Codex, which writes the same items."""
