"""The API for programs: message lists in, new lists and small frozen values out.

Arguments are never changed.
"""
