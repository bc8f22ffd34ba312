"""Texts that replace messages: write summaries and digests within a token limit,
and insert them.
"""
