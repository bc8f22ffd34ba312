"""OpenHands histories: its events and those of its SDK."""
