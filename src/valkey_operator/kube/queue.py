"""A work queue of keys: each at most once, never two workers on one, failures backed off, looks put off.

The semantics are those of controller-runtime's queue, plus one: whoever takes a key learns whether anything but the time changed.
The clock is the event loop's: tests bring a loop of virtual time.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from valkey_operator.kube.observer import SILENT

if TYPE_CHECKING:
    from collections.abc import Hashable

    from valkey_operator.kube.observer import Observer

K = TypeVar("K", bound="Hashable")


class Queue(Generic[K]):
    """Keys that wait for a worker, in the order of their coming."""

    def __init__(
        self,
        *,
        base: float = 0.2,
        limit: float = 60.0,
        jitter: random.Random | None = None,
        observer: Observer = SILENT,
    ) -> None:
        """Back-off begins at `base` seconds and doubles up to `limit`; each delay is shortened by up to a fifth, at random."""
        self._base = base
        self._limit = limit
        self._jitter = jitter or random.Random()  # noqa: S311
        self._observer = observer
        self._ready: dict[K, bool] = {}  # key -> quiet; in order of coming
        self._active: set[K] = set()
        self._again: dict[K, bool] = {}  # came while being worked
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}
        self._getters: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, key: K) -> None:
        """Something about that key changed: have it worked, once more if it is being worked right now."""
        self._put(key, quiet=False)

    def add_after(self, key: K, seconds: float, *, quiet: bool = False) -> None:
        """Have the key worked in that many seconds; takes the place of an earlier such wish. `quiet`: only because of the time."""
        self._forget_timer(key)
        if seconds <= 0:
            self._put(key, quiet=quiet)
            return
        self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._due, key, quiet)

    def retry(self, key: K, *, at_least: float = 0.0) -> float:
        """Have the key worked after its back-off, which grows with each retry until `forget`; the seconds until then."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = min(self._limit, self._base * 2.0 ** min(failures, 32)) * self._jitter.uniform(0.8, 1.0)
        seconds = max(delay, at_least)
        self.add_after(key, seconds)
        return seconds

    def failures(self, key: K) -> int:
        """How many retries in a row the key has had."""
        return self._failures.get(key, 0)

    def forget(self, key: K) -> None:
        """The key succeeded: its next back-off begins at the base."""
        self._failures.pop(key, None)

    async def get(self) -> tuple[K, bool]:
        """The next key, and whether nothing but the time brought it up; it is being worked until `done`.

        Its pending timer goes with it: whoever works a key sees everything and says anew when to look.
        """
        while not self._ready:
            waiter = asyncio.get_running_loop().create_future()
            self._getters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake()  # it was meant for us: hand it on
                raise
            finally:
                if waiter in self._getters:
                    self._getters.remove(waiter)
        key = next(iter(self._ready))
        quiet = self._ready.pop(key)
        self._active.add(key)
        self._forget_timer(key)
        self._observer.queued(len(self._ready))
        return key, quiet

    def done(self, key: K) -> None:
        """The key is no longer being worked; if it came up meanwhile it waits again."""
        self._active.discard(key)
        if key in self._again:
            self._put(key, quiet=self._again.pop(key))

    def _due(self, key: K, quiet: bool) -> None:
        self._timers.pop(key, None)
        self._put(key, quiet=quiet)

    def _put(self, key: K, *, quiet: bool) -> None:
        into = self._again if key in self._active else self._ready
        into[key] = quiet and into.get(key, True)
        if into is self._ready:
            self._observer.queued(len(self._ready))
            self._wake()

    def _wake(self) -> None:
        while self._getters and self._ready:
            waiter = self._getters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _forget_timer(self, key: K) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
