"""What all measurements need; each of them is complete in itself: it makes the clusters that it needs and takes them away."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.clusters import Clusters
from demo.outside import Outside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightkube import Client

    from bench.clusters import Server
    from sandbox.steps import Steps

NAME = "orders"
AFTERMATH_SECONDS = 3.0
"""How long a client goes on after what it was there for, so that late errors count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """An API server, the way outside, and how often."""

    client: Client
    outside: Sequence[str]
    runs: int
    steps: Steps

    def repeatedly(self, what: str) -> Iterator[int]:
        """The numbers of the runs, each told with its duration."""
        for number in range(1, self.runs + 1):
            with self.steps.step(f"{what}, run {number} of {self.runs}"):
                yield number

    def clusters(self, purpose: str) -> Clusters:
        """A namespace of its own."""
        return Clusters(self.client, f"bench-{purpose}-{time.time_ns() // 1_000_000 % 100_000_000}")

    @contextmanager
    def load(self, enter: Sequence[str], login: dict[str, Any], *, newcomers: bool = False) -> Iterator[dict[str, Any]]:
        """A client that works while the body runs; what it saw is in the yielded dictionary afterwards."""
        seen: dict[str, Any] = {}
        order = {"endless": True, "newcomers": newcomers, "prefix": "bench", **login}
        with Outside(enter, order) as client:
            client.until("connected")
            time.sleep(1.0)
            yield seen
            client.stop()
            seen.update(client.until("worked"))
            seen.update(client.until("checked"))
        for words, count in {**seen["words"], **seen.get("newcomers_words", {})}.items():
            self.steps.say(f"  {count} × {words}")


def replaced(before: Sequence[Server], after: Sequence[Server]) -> int:
    """How many pods are other ones, or have restarted."""
    alive = {server.uid: server.restarts for server in after}
    return sum(1 for server in before if alive.get(server.uid) != server.restarts)
