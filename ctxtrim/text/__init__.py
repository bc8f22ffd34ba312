"""Characters and JSON text, without any notion of a conversation."""

Range = tuple[int, int]
"""A range of a text: start and end, in characters."""
