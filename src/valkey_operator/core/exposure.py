"""The three ways out: for each type of external access its Services, where each node can be dialled, and where clients begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from valkey_operator.api.external_access import ExternalAccessType
from valkey_operator.core import load_balancers, node_ports, sni

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from valkey_operator.core.hosts import Missing
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Announcement, Cluster, Observed
    from valkey_operator.core.plan import ExternalService


@dataclass(frozen=True, slots=True)
class Exposure:
    """One way out."""

    services: Callable[[Observed], Iterator[ExternalService]]
    """The Services that it needs in the end; what is allocated is pinned."""
    endpoints: Callable[[Observed], dict[NodeIndex, Announcement | Missing]]
    """Where each node can be dialled, as read back from Kubernetes."""
    service: Callable[[Cluster, NodeIndex], str]
    """The name of the Service that has a node's endpoint."""
    bootstrap: Callable[[Observed], tuple[str, ...]]
    """Where clients begin (`host:port`), as read back; empty while there is nothing."""
    behind: Callable[[Observed, NodeIndex | None], tuple[str, ...]]
    """The addresses, or else the names, that a host of a node has to lead to, or of all shards (None); empty where nobody knows them."""


_EXPOSURES = {
    ExternalAccessType.NODE_PORT: Exposure(
        node_ports.services, node_ports.endpoints, node_ports.service_of, node_ports.bootstrap, node_ports.behind
    ),
    ExternalAccessType.LOAD_BALANCER: Exposure(
        load_balancers.services,
        load_balancers.endpoints,
        load_balancers.service_of,
        load_balancers.bootstrap,
        load_balancers.behind,
    ),
    ExternalAccessType.INGRESS: Exposure(sni.services, sni.endpoints, sni.service_of, sni.bootstrap, sni.behind),
}


def exposure(cluster: Cluster) -> Exposure:
    """The way out that a cluster's spec asks for."""
    return _EXPOSURES[cluster.spec.external_access.type]


def shard_addressed(cluster: Cluster) -> bool:
    """Whether hosts tell shards apart but not nodes, so that all nodes of a shard announce one endpoint, which leads to its primary."""
    access = cluster.spec.external_access
    return access.type is ExternalAccessType.INGRESS and cluster.spec.replicas > 0 and not sni.by_node(cluster)
