"""Decisions, pure: what a cluster needs next, given what was observed."""
