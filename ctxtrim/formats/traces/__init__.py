"""Logs of requests to models: OpenTelemetry, Langfuse, LangSmith and LiteLLM.

A program reads its records into `LoggedRequest` values; the rest is shared.
"""
