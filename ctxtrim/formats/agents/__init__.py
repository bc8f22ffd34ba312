"""Formats of coding agents that have no provider of their own."""
