"""Sessions of pi, and of programs that write the same."""
