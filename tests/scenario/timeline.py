"""Virtual time: what is due next happens at once, and nothing ever waits."""

from __future__ import annotations

import heapq
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


class Timeline:
    """Everything that is going to happen, in order; all chance comes from one seed, so that a story is told the same way twice."""

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.chance = Random(seed)
        self._due: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._order = count()

    @property
    def moment(self) -> datetime:
        """Now, as Kubernetes and decisions see it."""
        return self.at(self.now)

    @staticmethod
    def at(seconds: float) -> datetime:
        """A moment of the story."""
        return NOON + timedelta(seconds=seconds)

    def after(self, seconds: float, happening: Callable[..., None], *facts: object) -> None:
        """Let something happen later."""
        heapq.heappush(self._due, (self.now + seconds, next(self._order), happening, facts))

    def between(self, least: float, most: float, happening: Callable[..., None], *facts: object) -> None:
        """Let something happen at a moment that nobody knows before."""
        self.after(self.chance.uniform(least, most), happening, *facts)

    def step(self, until: float) -> bool:
        """Let the next thing happen if it is due by then; False once time has come there and nothing is left before."""
        if self._due and self._due[0][0] <= until:
            self.now, _, happening, facts = heapq.heappop(self._due)
            happening(*facts)
            return True
        self.now = max(self.now, until)
        return False

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        until = self.now + seconds
        while self.step(until):
            pass
