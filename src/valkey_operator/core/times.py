"""Moments as Kubernetes writes them: UTC, whole seconds, `2026-01-31T12:00:00Z`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def stamp(moment: datetime) -> str:
    """A moment as text."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def stamp_after(moment: datetime) -> str:
    """A moment as text, the first whole second that is not before it."""
    return stamp(moment if moment.microsecond == 0 else moment + timedelta(seconds=1))


def parsed(text: str) -> datetime:
    """Text as a moment; ValueError where it is none."""
    return datetime.fromisoformat(text)
