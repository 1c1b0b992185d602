"""How long a cluster takes, and what the operator costs while it makes many and while it rests."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bench.bench import NAME
from bench.figures import Figure
from bench.operator import Operator

if TYPE_CHECKING:
    from bench.bench import Bench

MANY = 10
REST_SECONDS = 60.0
CALM_SECONDS = 20.0
"""From Ready to rest: the last settings are restored, the first quiet looks are taken."""


def creation(bench: Bench) -> list[Figure]:
    """A cluster of 3 × (1+1), from apply to Ready."""
    taken = []
    for _ in bench.repeatedly("create"):
        with bench.clusters("create") as clusters:
            began = time.monotonic()
            clusters.create(NAME)
            taken.append(clusters.await_true("Ready", [NAME]) - began)
    return [Figure(what="create 3 × (1+1): apply to Ready", unit="s", runs=tuple(taken), target=4, reference="17.9, 20.5, 18.4 s")]


def crowd(bench: Bench) -> list[Figure]:
    """Ten clusters at once, then a minute of rest; once, since the operator's peak is over all of its life."""
    operator = Operator.of(bench.client)
    with bench.clusters("crowd") as clusters:
        names = [f"{NAME}-{number}" for number in range(MANY)]
        used = operator.process.cpu_seconds
        began = time.monotonic()
        for name in names:
            clusters.create(name)
        ready = clusters.await_true("Ready", names, seconds=300) - began
        used = operator.process.cpu_seconds - used
        bench.steps.say(f"{MANY} clusters are Ready ({ready:.1f} s)")
        time.sleep(CALM_SECONDS)
        peak, writes = operator.process.peak_megabytes, operator.writes()
        rest = operator.process.cpu_seconds
        time.sleep(REST_SECONDS)
        rest = operator.process.cpu_seconds - rest
        written = operator.written_since(writes)
        if written:
            bench.steps.say(f"written at rest: {written}")
        resident = operator.process.megabytes
    return [
        Figure(what=f"{MANY} clusters of 3 × (1+1) at once: all Ready", unit="s", runs=(ready,)),
        Figure(what="  CPU of the operator until then", unit="s", runs=(used,)),
        Figure(what="  peak memory of the operator (RSS)", unit="MB", runs=(peak,), target=90, reference="75 MB (1 cluster)"),
        Figure(what="  memory of the operator a minute later (RSS)", unit="MB", runs=(resident,)),
        Figure(
            what=f"at rest, {MANY} clusters, {REST_SECONDS:.0f} s: writes but the Lease's",
            unit="",
            runs=(sum(written.values()),),
            target=0,
        ),
        Figure(what="  CPU of the operator", unit="% of a core", runs=(100 * rest / REST_SECONDS,), target=1),
    ]
