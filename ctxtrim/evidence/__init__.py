"""Evidence that a tool result still matters: errors, quotations, use by later calls, active files,
duplicates.
"""
