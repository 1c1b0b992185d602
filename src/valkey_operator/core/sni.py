"""Type Ingress: hosts tell nodes apart, all on one port; whoever routes by SNI finds a ClusterIP Service behind each host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.api import template
from valkey_operator.api.conditions import Reason
from valkey_operator.core import hosts, names, ports
from valkey_operator.core.hosts import Missing
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import Announcement
from valkey_operator.core.plan import ServicePort
from valkey_operator.core.service_parts import bootstrap_service, fixed_family, node_service, shard_service
from valkey_operator.core.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Iterator

    from valkey_operator.core.observed import Cluster, Observed, Service
    from valkey_operator.core.plan import ExternalService

BOOTSTRAP = "sni-bootstrap"
SHARD = "sni-shard"


def by_node(cluster: Cluster) -> bool:
    """Whether the template gives each node a host of its own."""
    return "node" in template.placeholders(cluster.spec.external_access.advertised_host or "")


def services(observed: Observed) -> Iterator[ExternalService]:
    """One Service per shard (its primary), one over all shards, and one per node where hosts tell nodes apart."""
    cluster = observed.cluster
    for shard in range(cluster.spec.shards):
        live = observed.services.get(names.shard_service(cluster.name, shard))
        yield shard_service(cluster, shard, type_="ClusterIP", ports=(_port(cluster, live, SHARD),), only=_primary(observed, shard))
    if by_node(cluster):
        for index in names.node_indexes(shards=cluster.spec.shards, replicas=cluster.spec.replicas):
            live = observed.services.get(names.node_service(cluster.name, index))
            yield node_service(cluster, index, type_="ClusterIP", ports=(_port(cluster, live, _node_port(index)),))
    if cluster.spec.external_access.bootstrap_service:
        live = observed.services.get(names.bootstrap_service(cluster.name))
        yield bootstrap_service(cluster, type_="ClusterIP", ports=(_port(cluster, live, BOOTSTRAP),))


def endpoints(observed: Observed) -> dict[NodeIndex, Announcement | Missing]:
    """The advertised host of each node at the advertised port, once the Service that its route leads to is there."""
    spec = observed.cluster.spec
    return {index: _endpoint(observed, index) for index in names.node_indexes(shards=spec.shards, replicas=spec.replicas)}


def service_of(cluster: Cluster, index: NodeIndex) -> str:
    """The name of the Service that a node's host leads to."""
    return names.node_service(cluster.name, index) if by_node(cluster) else names.shard_service(cluster.name, index.shard)


def _endpoint(observed: Observed, index: NodeIndex) -> Announcement | Missing:
    cluster, number = observed.cluster, observed.cluster.spec.external_access.port
    name = service_of(cluster, index)
    service = observed.services.get(name)
    found = next((port for port in service.ports if port.port == number), None) if service is not None else None
    if service is None or service.deleting or found is None:
        return Missing(Reason.ALLOCATING_PORTS, f"Service {name} does not have port {number} yet")
    if not by_node(cluster) and ports.kind_of(found.name) != "sni":
        return Missing(
            Reason.ALLOCATING_PORTS,
            f"port {number} of Service {name} leads to one node, for clients with endpoints of before: set another spec.externalAccess.advertisedPort",
        )
    if (fixed := fixed_family(cluster, service)) is not None:
        return fixed
    host = hosts.host(observed, index, ())
    return host if isinstance(host, Missing) else Announcement(host.name, number, host.ipv4, host.ipv6)


def bootstrap(observed: Observed) -> tuple[str, ...]:
    """The bootstrap host; else the hosts of the shards, any of which a client can begin with."""
    cluster = observed.cluster
    number = cluster.spec.external_access.port
    service = observed.services.get(names.bootstrap_service(cluster.name))
    if service is None or not any(port.port == number and port.target == names.CLIENT_PORT for port in service.ports):
        return ()
    host = hosts.bootstrap(cluster)
    if host is not None:
        return (f"{host}:{number}",)
    first = (hosts.advertised(cluster, NodeIndex(shard, 0)) for shard in range(min(cluster.spec.shards, 3)))
    return tuple(f"{name}:{number}" for name in first if name is not None)


def leads_to(service: Service, index: NodeIndex) -> bool:
    """Whether a shard's Service brings new clients to that node."""
    by_port = any(port.target == names.container_port(index) and ports.kind_of(port.name) == "sni" for port in service.ports)
    return by_port or service.selector.get(names.NODE_INDEX) == str(index.node)


def _primary(observed: Observed, shard: int) -> NodeIndex:
    """The shard's primary, the last known one while nobody says that he is.

    The Service selects the node and not the role, which two labels tell: with those a handover is two changes, the second of which kube-proxy
    follows a second after the first.
    """
    known = Topology.of(observed).primary(shard)
    recorded = (
        index for index, record in sorted(observed.records.items()) if index.shard == shard and record.status.role == "primary"
    )
    return known or next(recorded, NodeIndex(shard, 0))


def _node_port(index: NodeIndex) -> str:
    return f"sni-{index.node}"


def _port(cluster: Cluster, live: Service | None, place: str) -> ServicePort:
    """The advertised port, which is the Service's own too, so that the same name works inside when it leads to the ClusterIP.

    Another number than the one that is there gets a name of its own, so that both can be there for a while.
    """
    number = cluster.spec.external_access.port
    return ServicePort(ports.named(live, place, number), number, names.CLIENT_PORT)
