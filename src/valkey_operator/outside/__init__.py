"""A cluster as clients outside see it: what to ask, what is seen, what follows from it, and configurations of client libraries.

It starts fast: nothing here imports pydantic, lightkube or a client library (import-linter holds that).
"""
