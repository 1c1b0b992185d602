"""Which of several clusters has an endpoint that all of them want: clients of the one that serves it must not lose it to another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from valkey_operator.api.external_access import ExternalAccessType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from valkey_operator.core.observed import Cluster


@dataclass(frozen=True, slots=True)
class Contender:
    """A cluster that may want an endpoint which another one wants."""

    cluster: Cluster
    announced: frozenset[str]
    """The endpoints (`host:port`) that its nodes announce, by their records: those stay so while a server is silent."""

    @property
    def has(self) -> frozenset[str]:
        """The endpoints that its clients know already."""
        return self.announced | _begin(self.cluster)

    @property
    def claimed(self) -> frozenset[str]:
        """The endpoints that could be another cluster's as well: those that it has, and those that it is about to announce."""
        if not contends(self.cluster):
            return frozenset()
        told = self.cluster.status.external_access
        about_to = (node.address for shard in (told.endpoints if told is not None else ()) for node in shard.nodes)
        nodes = self.announced.union(about_to) if self.cluster.spec.external_access.advertised_host is not None else frozenset()
        return nodes | _begin(self.cluster)

    def rank(self, address: str) -> tuple[bool, str, str, str]:
        """The lowest has the endpoint: of those whose clients know it already, else of all, the oldest."""
        return address not in self.has, self.cluster.created, self.cluster.namespace, self.cluster.name


def claims(mine: Contender, others: Iterable[Contender]) -> dict[str, str]:
    """The endpoints that a cluster cannot have, each with the one that has it (`namespace/name`)."""
    if not contends(mine.cluster):
        return {}
    found: dict[str, Contender] = {}
    for other in others:
        for address in other.claimed:
            if other.rank(address) < found.get(address, mine).rank(address):
                found[address] = other
    return {address: f"{other.cluster.namespace}/{other.cluster.name}" for address, other in found.items()}


def contends(cluster: Cluster) -> bool:
    """Whether hosts that its user chose could be another's as well; with node ports not: Kubernetes gives each number once."""
    access = cluster.spec.external_access
    chosen = access.advertised_host is not None or access.bootstrap_host is not None
    return access.enabled and chosen and access.type is not ExternalAccessType.NODE_PORT


def _begin(cluster: Cluster) -> frozenset[str]:
    """Where its clients begin by the status, if they do at a host that its user chose."""
    return frozenset(cluster.status.begins_at if cluster.spec.external_access.bootstrap_host is not None else ())
