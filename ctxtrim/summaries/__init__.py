"""The text of summaries: facts extracted by rules, prompts for an LLM, and the fallback if the LLM
fails.
"""
