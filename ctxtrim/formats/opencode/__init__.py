"""Exported sessions of opencode."""
