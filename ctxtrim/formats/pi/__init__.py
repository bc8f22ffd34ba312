"""Sessions of pi and of compatible programs."""
