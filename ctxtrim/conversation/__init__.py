"""Facts about a list of messages: turns, steps, exchanges, tool results, what is recent, pinned or protected."""
