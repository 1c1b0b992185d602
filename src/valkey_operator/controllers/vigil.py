"""Listening to primaries: a cluster is looked at the moment one of them hands over or dies, not only when its next look is due."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from valkey_operator.valkey.handover import handed_over

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from valkey_operator.kube.kinds import Key
    from valkey_operator.valkey.address import Address

_PACE = 1.0
"""Seconds: a primary that sends the operator away again and again is not looked at more often."""


class Vigil:
    """One waiting connection per primary. Losing them loses nothing: looks come anyway."""

    def __init__(self, wake: Callable[[Key], None]) -> None:
        """`wake` is called with the cluster that is to be looked at."""
        self._wake = wake
        self._listening: dict[Key, dict[tuple[Address, str], asyncio.Task[None]]] = {}

    def keep(self, cluster: Key, primaries: Iterable[tuple[Address, str]]) -> None:
        """Listen to these primaries of a cluster, each at a key of its own, and to no others."""
        wanted = set(primaries)
        running = {place: task for place, task in self._listening.pop(cluster, {}).items() if not task.done()}
        for place in running.keys() - wanted:
            running.pop(place).cancel()
        for place in wanted - running.keys():
            running[place] = asyncio.create_task(self._listen(cluster, *place), name=f"listen to {place[0]}")
        if running:
            self._listening[cluster] = running

    async def aclose(self) -> None:
        """Listen no more."""
        tasks = [task for running in self._listening.values() for task in running.values()]
        self._listening.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _listen(self, cluster: Key, address: Address, key: str) -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        if await handed_over(address, key):
            await asyncio.sleep(begun + _PACE - loop.time())
            self._wake(cluster)
