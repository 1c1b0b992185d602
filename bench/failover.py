"""What a client outside notices when a primary hands over, is deleted, or crashes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.bench import AFTERMATH_SECONDS, NAME
from bench.clusters import NODE_PORT, BenchError, Clusters
from bench.figures import Figure
from bench.processes import PodProcess
from bench.witness import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bench.bench import Bench
    from bench.clusters import Server

PATIENCE = 15.0
LOOKS = 0.005
"""Seconds between looks at a replica."""


@dataclass(slots=True)
class Kind:
    """One cause of a failover, and what came of it in each run."""

    what: str
    cause: Callable[[Clusters, Server], None]
    gap_target: float | None = None
    errors_target: float | None = None
    gaps: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    promoted: list[float] = field(default_factory=list)
    """Milliseconds until a replica was the primary."""


def failover(bench: Bench) -> list[Figure]:
    """Worst gaps and errors, and how much of a gap was the wait for a new primary."""
    planned = Kind("planned failover (CLUSTER FAILOVER)", _hand_over, gap_target=150, errors_target=0)
    deleted = Kind("primary's pod deleted (SIGTERM)", Clusters.delete_pod)
    killed = Kind("primary's server killed (SIGKILL)", _crash)
    kinds = (planned, deleted, killed)
    lost: list[float] = []
    with bench.clusters("failover") as clusters:
        clusters.create(NAME, access=NODE_PORT)
        clusters.await_true("ExternalAccessReady", [NAME])
        for _ in bench.repeatedly("failover"):
            for kind in kinds:
                clusters.await_whole(NAME)
                primary = primary_of_last_shard(clusters, clusters.login(NAME, outside=False))
                with bench.load(bench.outside, clusters.login(NAME, outside=True)) as seen:
                    began = time.monotonic()
                    kind.cause(clusters, primary)
                    kind.promoted.append(1000 * (_promotion(clusters, primary) - began))
                    time.sleep(AFTERMATH_SECONDS)
                    clusters.await_whole(NAME)
                kind.gaps.append(1000 * seen["worst_gap"])
                kind.errors.append(float(seen["errors"]))
                lost.append(float(seen["missing"]))
    figures = []
    for kind in kinds:
        gap = f"{kind.what}: worst gap of a client outside"
        figures.append(Figure(what=gap, unit="ms", runs=tuple(kind.gaps), target=kind.gap_target))
        if kind is killed:
            beyond = tuple(gap - promoted for gap, promoted in zip(kind.gaps, kind.promoted, strict=True))
            figures.append(Figure(what="  less the time until a replica was promoted", unit="ms", runs=beyond, target=500))
        figures.append(Figure(what="  errors of the client", unit="", runs=tuple(kind.errors), target=kind.errors_target))
    return [*figures, Figure(what="  acknowledged writes lost, all runs", unit="", runs=(sum(lost),), target=0)]


def _promotion(clusters: Clusters, primary: Server) -> float:
    """The moment (monotonic) at which another node of the shard was its primary."""
    replica = _replica(clusters, primary)
    link = connect(replica, clusters.login(NAME, outside=False))
    deadline = time.monotonic() + PATIENCE
    try:
        while link.execute_command("ROLE")[0] != "master":
            if time.monotonic() > deadline:
                raise BenchError(f"{replica.pod} was not promoted within {PATIENCE:.0f} s")
            time.sleep(LOOKS)
        return time.monotonic()
    finally:
        link.close()


def primary_of_last_shard(clusters: Clusters, login: Mapping[str, Any]) -> Server:
    """By its own word."""
    servers = clusters.servers(NAME)
    last = max(server.shard for server in servers)
    return next(server for server in servers if server.shard == last and _role(server, login) == "master")


def hand_over(clusters: Clusters, primary: Server, login: Mapping[str, Any]) -> None:
    """Its replica takes the shard over in agreement with it."""
    link = connect(_replica(clusters, primary), login)
    link.execute_command("CLUSTER FAILOVER")
    link.close()


def _role(server: Server, login: Mapping[str, Any]) -> str:
    link = connect(server, login)
    try:
        return str(link.execute_command("ROLE")[0])
    finally:
        link.close()


def _replica(clusters: Clusters, primary: Server) -> Server:
    return next(s for s in clusters.servers(NAME) if s.shard == primary.shard and s.node != primary.node)


def _hand_over(clusters: Clusters, primary: Server) -> None:
    hand_over(clusters, primary, clusters.login(NAME, outside=False))


def _crash(_: Clusters, primary: Server) -> None:
    """Its server ends at once; the kubelet starts another one in the same pod."""
    PodProcess.of(primary.pod, "valkey-server").kill()
