"""Inputs, outputs and compression: the only package that opens transcripts and reports."""
