"""The measurements, each complete in itself: it makes the clusters that it needs and takes them away."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bench.clusters import Clusters
from bench.figures import Figure
from bench.operator import Operator
from bench.processes import PodProcess
from bench.witness import Witness, connect
from demo.outside import Outside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lightkube import Client

    from bench.clusters import Server
    from sandbox.steps import Steps

NAME = "orders"
MANY = 10
REST_SECONDS = 60.0
CALM_SECONDS = 20.0
"""From Ready to rest: the last settings are restored, the first quiet looks are taken."""
AFTERMATH_SECONDS = 3.0
"""How long a client goes on after what it was there for, so that late errors count."""


class Bench:
    """What all measurements need: an API server, the way outside, and how often."""

    def __init__(self, client: Client, *, outside: Sequence[str], runs: int, steps: Steps) -> None:
        self._client = client
        self._outside = outside
        self._runs = runs
        self._steps = steps

    def creation(self) -> list[Figure]:
        """A cluster of 3 × (1+1), from apply to Ready."""
        taken = []
        for _ in self._repeatedly("create"):
            with self._clusters("create") as clusters:
                began = time.monotonic()
                clusters.create(NAME)
                taken.append(clusters.await_true("Ready", [NAME]) - began)
        return [
            Figure(what="create 3 × (1+1): apply to Ready", unit="s", runs=tuple(taken), target=4, reference="17.9, 20.5, 18.4 s")
        ]

    def enabling(self) -> list[Figure]:
        """External access turned on while clients inside work, one for long and new ones all the time."""
        ready, told, errors, restarts = [], [], [], []
        for _ in self._repeatedly("enable NodePort under load"):
            with self._clusters("enable") as clusters:
                clusters.create(NAME)
                clusters.await_true("Ready", [NAME])
                before = clusters.servers(NAME)
                login = clusters.login(NAME, outside=False)
                witness = Witness(clusters, NAME, login=login)
                with self._load([], login, newcomers=True) as seen:
                    began = time.monotonic()
                    witness.start()
                    clusters.set_external(NAME, enabled=True)
                    ready.append(clusters.await_true("ExternalAccessReady", [NAME]) - began)
                    time.sleep(AFTERMATH_SECONDS)
                witness.stop()
                if witness.known is not None and witness.told is not None:
                    told.append(witness.told - witness.known)
                errors.append(float(seen["errors"] + seen["newcomers_errors"]))
                restarts.append(float(_replaced(before, clusters.servers(NAME))))
        return [
            Figure(what="enable NodePort on a live cluster: to ExternalAccessReady", unit="s", runs=tuple(ready), target=2),
            Figure(what="  from the last address known to every node telling it", unit="s", runs=tuple(told)),
            Figure(what="  errors of clients inside meanwhile", unit="", runs=tuple(errors), target=0),
            Figure(what="  pods restarted", unit="", runs=tuple(restarts), target=0),
        ]

    def crowd(self) -> list[Figure]:
        """Ten clusters at once, then a minute of rest; once, since the operator's peak is over all of its life."""
        operator = Operator.of(self._client)
        with self._clusters("crowd") as clusters:
            names = [f"{NAME}-{number}" for number in range(MANY)]
            used = operator.process.cpu_seconds
            began = time.monotonic()
            for name in names:
                clusters.create(name)
            ready = clusters.await_true("Ready", names, seconds=300) - began
            used = operator.process.cpu_seconds - used
            self._steps.say(f"{MANY} clusters are Ready ({ready:.1f} s)")
            time.sleep(CALM_SECONDS)
            peak, writes = operator.process.peak_megabytes, operator.writes()
            rest = operator.process.cpu_seconds
            time.sleep(REST_SECONDS)
            rest = operator.process.cpu_seconds - rest
            written = {
                kind: count - writes.get(kind, 0) for kind, count in operator.writes().items() if count > writes.get(kind, 0)
            }
            if written:
                self._steps.say(f"written at rest: {written}")
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

    def failover(self) -> list[Figure]:
        """What a client outside notices when a primary hands over, is deleted, or crashes."""
        kinds: dict[str, tuple[Callable[[Clusters, Server], None], list[float], list[float]]] = {
            "planned failover (CLUSTER FAILOVER)": (_hand_over, [], []),
            "primary's pod deleted (SIGTERM)": (Clusters.delete_pod, [], []),
            "primary's server killed (SIGKILL)": (_crash, [], []),
        }
        lost: list[float] = []
        with self._clusters("failover") as clusters:
            clusters.create(NAME, external=True)
            clusters.await_true("ExternalAccessReady", [NAME])
            for _ in self._repeatedly("failover"):
                for cause, gaps, errors in kinds.values():
                    clusters.await_whole(NAME)
                    with self._load(self._outside, clusters.login(NAME, outside=True)) as seen:
                        cause(clusters, _primary(clusters))
                        time.sleep(AFTERMATH_SECONDS)
                        clusters.await_whole(NAME)
                    gaps.append(1000 * seen["worst_gap"])
                    errors.append(float(seen["errors"]))
                    lost.append(float(seen["missing"]))
        figures = []
        for what, (_, gaps, errors) in kinds.items():
            figures.append(Figure(what=f"{what}: worst gap of a client outside", unit="ms", runs=tuple(gaps)))
            figures.append(Figure(what="  errors of the client", unit="", runs=tuple(errors)))
        return [*figures, Figure(what="  acknowledged writes lost, all runs", unit="", runs=(sum(lost),))]

    def _repeatedly(self, what: str) -> Iterator[int]:
        for number in range(1, self._runs + 1):
            with self._steps.step(f"{what}, run {number} of {self._runs}"):
                yield number

    def _clusters(self, purpose: str) -> Clusters:
        return Clusters(self._client, f"bench-{purpose}-{time.time_ns() // 1_000_000 % 100_000_000}")

    @contextmanager
    def _load(self, enter: Sequence[str], login: dict[str, Any], *, newcomers: bool = False) -> Iterator[dict[str, Any]]:
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
            self._steps.say(f"  {count} × {words}")


def _replaced(before: Sequence[Server], after: Sequence[Server]) -> int:
    """How many pods are other ones, or have restarted."""
    alive = {server.uid: server.restarts for server in after}
    return sum(1 for server in before if alive.get(server.uid) != server.restarts)


def _role(clusters: Clusters, server: Server) -> str:
    link = connect(server, clusters.login(NAME, outside=False))
    try:
        return str(link.execute_command("ROLE")[0])
    finally:
        link.close()


def _primary(clusters: Clusters) -> Server:
    """The primary of the last shard."""
    servers = clusters.servers(NAME)
    last = max(server.shard for server in servers)
    return next(server for server in servers if server.shard == last and _role(clusters, server) == "master")


def _hand_over(clusters: Clusters, primary: Server) -> None:
    """Its replica takes the shard over in agreement with it."""
    replica = next(s for s in clusters.servers(NAME) if s.shard == primary.shard and s.node != primary.node)
    link = connect(replica, clusters.login(NAME, outside=False))
    link.execute_command("CLUSTER FAILOVER")
    link.close()


def _crash(_: Clusters, primary: Server) -> None:
    """Its server ends at once; the kubelet starts another one in the same pod."""
    PodProcess.of(primary.pod, "valkey-server").kill()
