"""Characters and JSON text, without any notion of a conversation."""
