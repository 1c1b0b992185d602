"""Kubernetes objects as plain dicts, one file per kind."""
