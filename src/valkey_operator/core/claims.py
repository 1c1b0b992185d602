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

    def rank(self, address: str) -> tuple[bool, str, str, str]:
        """The lowest has the endpoint: of those who announce it already, else of all, the oldest."""
        return address not in self.announced, self.cluster.created, self.cluster.namespace, self.cluster.name


def claims(mine: Contender, others: Iterable[Contender]) -> dict[str, str]:
    """The endpoints that a cluster cannot have, each with the one that has it (`namespace/name`)."""
    if not _contends(mine.cluster):
        return {}
    found: dict[str, Contender] = {}
    for other in others:
        for address in claimed(other):
            if other.rank(address) < found.get(address, mine).rank(address):
                found[address] = other
    return {address: f"{other.cluster.namespace}/{other.cluster.name}" for address, other in found.items()}


def claimed(contender: Contender) -> frozenset[str]:
    """The endpoints that a cluster announces, and those that it is about to, as its status tells."""
    if not _contends(contender.cluster):
        return frozenset()
    told = contender.cluster.status.external_access
    return contender.announced | {node.address for shard in (told.endpoints if told is not None else ()) for node in shard.nodes}


def _contends(cluster: Cluster) -> bool:
    """Whether a cluster's names or numbers could be another's as well; node ports could not, Kubernetes gives each number once."""
    access = cluster.spec.external_access
    return access.enabled and access.advertised_host is not None and access.type is not ExternalAccessType.NODE_PORT
