"""Facts about a list of messages: turns, steps, exchanges, tool results, recent, pinned and
protected messages.
"""
