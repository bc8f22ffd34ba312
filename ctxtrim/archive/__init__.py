"""Originals and how to undo edits: the archive, its folders, the recording of a run, and the
summary store.
"""
