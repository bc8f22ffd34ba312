"""Originals and how to undo: the archive, its folders, what a run records, and the summary store."""
