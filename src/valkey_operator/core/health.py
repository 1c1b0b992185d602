"""How a cluster is inside: what is missing until it is whole, the most telling thing first, in words that say what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from valkey_operator.api.conditions import Reason
from valkey_operator.core import names
from valkey_operator.core.observed import Server, Unreachable
from valkey_operator.core.topology import united
from valkey_operator.valkey.slots import ALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from valkey_operator.core.formation import Formation
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Observed, Trouble
    from valkey_operator.core.topology import Topology

_IMAGE = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"})


@dataclass(frozen=True, slots=True)
class Lack:
    """One thing that keeps a cluster from being whole."""

    reason: Reason
    message: str
    serious: bool = False
    """Whether it will not pass by waiting."""


@dataclass(frozen=True, slots=True)
class Health:
    """What is missing, most telling first; nothing when the cluster is whole."""

    lacks: tuple[Lack, ...]
    ready_shards: int
    slots_assigned: bool
    linked: bool
    """Whether every replica that answers is linked to its primary."""
    trouble: Lack | None = None
    """What needs a person although nothing may be missing: the certificate."""

    @property
    def whole(self) -> bool:
        """Whether every server is there, knows every other, and every slot and every replica is in its place."""
        return not self.lacks

    @property
    def degraded(self) -> Lack | None:
        """The first lack that needs a person."""
        return next((lack for lack in self.lacks if lack.serious), self.trouble)


def health(observed: Observed, topology: Topology, formation: Formation, *, trouble: Lack | None = None) -> Health:
    """How the cluster is inside, from everything that was observed; `trouble`: what is wrong with its certificate."""
    owned = united(server.me.slots for server in topology.servers.values() if server.me.primary)
    uncertified = observed.tls is not None and observed.tls.standing is None
    lacks = (
        *((trouble,) if trouble is not None and uncertified else ()),
        *_foreign(observed, formation),
        *_lost(formation),
        *_troubled(observed, topology),
        *_absent(observed, topology),
        *_unacquainted(topology),
        *_uncovered(len(ALL - owned)),
        *_replicas(topology),
        *_not_ok(topology),
        *_not_ready(observed, topology),
    )
    return Health(
        lacks=lacks,
        ready_shards=sum(1 for shard in {index.shard for index in topology.wanted} if _shard_ready(topology, shard)),
        slots_assigned=owned == ALL,
        linked=all(server.link_up for server in topology.servers.values() if not server.me.primary),
        trouble=trouble,
    )


def _some(indexes: Iterable[NodeIndex]) -> str:
    """Nodes in a sentence: the first few, and how many more."""
    listed = [str(index) for index in indexes]
    shown = ", ".join(listed[:4])
    return shown if len(listed) <= 4 else f"{shown} and {len(listed) - 4} more"  # noqa: PLR2004  # a sentence holds four


def _foreign(observed: Observed, formation: Formation) -> Iterator[Lack]:
    for index in formation.strangers:
        pod = names.pod(observed.cluster.name, index)
        yield Lack(
            Reason.SERVER_FOREIGN,
            f"the server of pod {pod} belongs to another Valkey cluster and is left alone: delete the pod to start it empty",
            serious=True,
        )


def _lost(formation: Formation) -> Iterator[Lack]:
    if formation.lost:
        shards = ", ".join(str(shard) for shard in sorted(formation.lost) if shard >= 0) or "unknown"
        yield Lack(
            Reason.PRIMARY_LOST,
            f"shard {shards}: every copy of its data is gone with its servers; its slots are given to an empty server. "
            "With spec.replicas of 1 or more a shard survives the loss of one server",
            serious=True,
        )


def _troubled(observed: Observed, topology: Topology) -> Iterator[Lack]:
    for index in topology.wanted:
        pod = observed.pods.get(index)
        if pod is not None and pod.trouble is not None and not pod.running:
            yield _trouble(pod.name, pod.trouble)


def _trouble(pod: str, trouble: Trouble) -> Lack:
    said = " ".join(trouble.message.split()).removesuffix(".")
    if trouble.reason in _IMAGE:
        return Lack(
            Reason.IMAGE_PULL_FAILED,
            f"pod {pod}: {trouble.reason}: {said}. Correct spec.image, or name the registry's credentials in spec.imagePullSecrets",
            serious=True,
        )
    if trouble.reason == "Unschedulable":
        return Lack(
            Reason.POD_UNSCHEDULABLE,
            f"pod {pod} fits on no Kubernetes node: {said}. Make room, or change spec.resources or spec.scheduling",
            serious=True,
        )
    return Lack(
        Reason.SERVER_CRASHED,
        f"pod {pod}: {trouble.reason}: {said}. If the server names a directive, correct it in spec.config; "
        f"otherwise see `kubectl logs {pod} --previous`",
        serious=True,
    )


def _absent(observed: Observed, topology: Topology) -> Iterator[Lack]:
    starting, silent = [], []
    for index in topology.wanted:
        pod = observed.pods.get(index)
        server = observed.servers.get(index)
        if isinstance(server, Server):
            continue
        if pod is None or not pod.running or pod.ip is None:
            starting.append(index)
        else:
            silent.append((index, server))
    if silent:
        index, server = silent[0]
        why = f": {server.reason}" if isinstance(server, Unreachable) else ""
        yield Lack(
            Reason.SERVER_UNREACHABLE, f"the servers of nodes {_some(index for index, _ in silent)} do not answer ({index}{why})"
        )
    if starting:
        yield Lack(Reason.WAITING_FOR_PODS, f"pods of nodes {_some(starting)} are starting")


def _unacquainted(topology: Topology) -> Iterator[Lack]:
    ids = set(topology.ids)
    partial = [index for index, server in topology.servers.items() if not ids <= {m.id for m in server.members if not m.handshake}]
    if partial:
        yield Lack(Reason.ADDING_NODES, f"nodes {_some(partial)} do not know all others yet")


def _uncovered(missing: int) -> Iterator[Lack]:
    if missing:
        yield Lack(Reason.SLOTS_UNASSIGNED, f"{missing} of {len(ALL)} slots are served by no primary that answers")


def _replicas(topology: Topology) -> Iterator[Lack]:
    loose, unlinked = [], []
    for index, server in topology.servers.items():
        primary = topology.primary(index.shard)
        if primary is None or primary == index:
            continue
        if server.me.primary_id != topology.servers[primary].id:
            loose.append(index)
        elif not server.link_up:
            unlinked.append(index)
    if loose:
        yield Lack(Reason.MISSING_REPLICAS, f"nodes {_some(loose)} do not follow the primary of their shard yet")
    if unlinked:
        yield Lack(Reason.MISSING_REPLICAS, f"replicas {_some(unlinked)} are copying their primary")


def _not_ok(topology: Topology) -> Iterator[Lack]:
    failing = [index for index, server in topology.servers.items() if not server.state_ok]
    if failing:
        yield Lack(Reason.RECONCILING, f"cluster_state is not ok yet on nodes {_some(failing)}")


def _not_ready(observed: Observed, topology: Topology) -> Iterator[Lack]:
    waiting = [index for index in topology.servers if index in observed.pods and not observed.pods[index].ready]
    if waiting:
        yield Lack(Reason.WAITING_FOR_PODS, f"pods of nodes {_some(waiting)} are not Ready yet")


def _shard_ready(topology: Topology, shard: int) -> bool:
    primary = topology.primary(shard)
    if primary is None:
        return False
    servers = topology.in_shard(shard)
    complete = len(servers) == sum(1 for index in topology.wanted if index.shard == shard)
    return complete and all(
        server.state_ok and (index == primary or (server.me.primary_id == servers[primary].id and server.link_up))
        for index, server in servers.items()
    )
