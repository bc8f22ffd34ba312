"""Clips: shorten one text, in a way that suits its kind.

`clipper.KINDS` are tried in order. A new kind is a module with a `TextKind` and an entry in this
table.
"""
