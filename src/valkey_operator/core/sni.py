"""Type Ingress: hosts tell nodes apart, all on one port, or with TCPRoutes the ports of a Gateway do; a ClusterIP Service is behind each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.api import template
from valkey_operator.api.conditions import Reason
from valkey_operator.api.external_access import ExternalAccessType
from valkey_operator.core import hosts, names, ports
from valkey_operator.core.hosts import Missing
from valkey_operator.core.listeners import gateways, listener_ports
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import Announcement
from valkey_operator.core.plan import ServicePort
from valkey_operator.core.routes import refusal
from valkey_operator.core.service_parts import bootstrap_service, fixed_family, going, node_service, shard_service
from valkey_operator.core.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from valkey_operator.core.observed import Cluster, Observed, Service
    from valkey_operator.core.plan import ExternalService


def by_node(cluster: Cluster) -> bool:
    """Whether each node has a host or a port of its own."""
    access = cluster.spec.external_access
    return access.by_port or "node" in template.placeholders(access.advertised_host or "")


def services(observed: Observed) -> Iterator[ExternalService]:
    """One Service per shard (its primary), one over all shards, and one per node where hosts tell nodes apart."""
    cluster, numbers = observed.cluster, _numbers(observed)
    for shard in range(cluster.spec.shards):
        port = _port(observed, names.shard_service(cluster.name, shard), "shard", numbers)
        yield shard_service(cluster, shard, type_="ClusterIP", ports=(port,), only=_primary(observed, shard))
    if by_node(cluster):
        for index in names.node_indexes(shards=cluster.spec.shards, replicas=cluster.spec.replicas):
            port = _port(observed, names.node_service(cluster.name, index), str(index.node), numbers)
            yield node_service(cluster, index, type_="ClusterIP", ports=(port,))
    if cluster.spec.external_access.bootstrap_service:
        port = _port(observed, names.bootstrap_service(cluster.name), "bootstrap", numbers)
        yield bootstrap_service(cluster, type_="ClusterIP", ports=(port,))


def endpoints(observed: Observed) -> dict[NodeIndex, Announcement | Missing]:
    """The host of each node at its port, once the Service that its route leads to is there, and the route is accepted."""
    spec, numbers = observed.cluster.spec, _numbers(observed)
    return {index: _endpoint(observed, index, numbers) for index in names.node_indexes(shards=spec.shards, replicas=spec.replicas)}


def service_of(cluster: Cluster, index: NodeIndex) -> str:
    """The name of the Service that a node's host leads to."""
    return names.node_service(cluster.name, index) if by_node(cluster) else names.shard_service(cluster.name, index.shard)


def _endpoint(observed: Observed, index: NodeIndex, numbers: Mapping[str, int]) -> Announcement | Missing:
    cluster = observed.cluster
    name = service_of(cluster, index)
    number = numbers.get(name, cluster.spec.external_access.port)
    service = observed.services.get(name)
    found = next((port for port in service.ports if port.port == number), None) if service is not None else None
    if (leaving := going(service)) is not None:
        return leaving
    if service is None or found is None:
        return Missing(Reason.ALLOCATING_PORTS, f"Service {name} does not have port {number} yet")
    if (taken := _taken(service, number)) is not None:
        return taken
    if not by_node(cluster) and ports.kind_of(found.name) in ports.OF_ONE_NODE:
        return Missing(
            Reason.ALLOCATING_PORTS,
            f"port {number} of Service {name} leads to one node, for clients with endpoints of before: set another spec.externalAccess.advertisedPort",
        )
    refused = fixed_family(cluster, service) or refusal(observed, name) or _unaddressed(observed)
    if refused is not None:
        return refused
    host = hosts.host(observed, index, _addresses(observed) if cluster.spec.external_access.by_port else ())
    return host if isinstance(host, Missing) else Announcement(host.name, number, host.ipv4, host.ipv6)


def taken_port(observed: Observed, name: str) -> Missing | None:
    """That the port of a Service that clients would be told of is somebody else's; None where it is not."""
    service = observed.services.get(name)
    return _taken(service, _number(observed, name)) if service is not None else None


def bootstrap_awaits_drain(observed: Observed) -> Missing | None:
    """That the port of all shards has the number of one that leads to a single node, for clients with old endpoints; None where it has not."""
    cluster, name = observed.cluster, names.bootstrap_service(observed.cluster.name)
    if cluster.spec.external_access.type is not ExternalAccessType.INGRESS or name not in observed.services:
        return None
    number = _number(observed, name)
    there = next((port for port in ports.without_others(observed.services[name]).ports if port.port == number), None)
    if there is None or there.target == names.CLIENT_PORT:
        return None
    return Missing(
        Reason.DRAINING,
        f"port {number} of Service {name} leads to one node for clients with old endpoints, and to all shards "
        "spec.externalAccess.drainSeconds after status.externalAccess.drainingSince",
    )


def _taken(service: Service, number: int) -> Missing | None:
    if number not in ports.taken_by_others(service):
        return None
    found = next(port for port in service.ports if port.port == number)
    return Missing(
        Reason.SERVICE_CONFLICT,
        f"port {number} of Service {service.name} is {found.name}, which somebody else put there: remove it, or set another "
        "spec.externalAccess.advertisedPort",
    )


def bootstrap(observed: Observed) -> tuple[str, ...]:
    """The bootstrap host; else the hosts of the shards, any of which a client can begin with, or where ports tell nodes apart the host of all."""
    cluster, name = observed.cluster, names.bootstrap_service(observed.cluster.name)
    number = _number(observed, name)
    service = observed.services.get(name)
    if service is None or not any(
        port.port == number and port.target == names.CLIENT_PORT for port in ports.without_others(service).ports
    ):
        return ()
    host = hosts.bootstrap(cluster)
    if cluster.spec.external_access.by_port:
        first = hosts.host(observed, NodeIndex(0, 0), _addresses(observed))
        host = host or (None if isinstance(first, Missing) else first.name)
        return (f"{host}:{number}",) if host is not None and refusal(observed, name) is None else ()
    if host is not None:
        return (f"{host}:{number}",) if refusal(observed, name) is None else ()
    shards = (hosts.advertised(cluster, NodeIndex(shard, 0)) for shard in range(min(cluster.spec.shards, 3)))
    return tuple(f"{name}:{number}" for name in shards if name is not None)


def behind(observed: Observed, _index: NodeIndex | None) -> tuple[str, ...]:
    """Where the Gateways of the routes are, the same for all; of other routers the operator does not know it."""
    return hosts.of_families(_addresses(observed), hosts.wanted_families(observed.cluster))


def leads_to(service: Service, index: NodeIndex) -> bool:
    """Whether a shard's Service brings new clients to that node."""
    to_primary = (port.target for port in service.ports if ports.kind_of(port.name) not in ports.OF_ONE_NODE)
    return names.container_port(index) in to_primary or service.selector.get(names.NODE_INDEX) == str(index.node)


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


def _number(observed: Observed, service: str) -> int:
    """The port of a Service that clients are told of."""
    return _numbers(observed).get(service, observed.cluster.spec.external_access.port)


def _numbers(observed: Observed) -> Mapping[str, int]:
    """The ports of Services that have not the advertised one."""
    return listener_ports(observed) if observed.cluster.spec.external_access.by_port else {}


def _addresses(observed: Observed) -> tuple[str, ...]:
    """Where the Gateways of the routes are."""
    found = (observed.routing.gateways.get(gateway) for gateway in gateways(observed.cluster))
    return tuple(address for gateway in found if gateway is not None for address in gateway.addresses)


def _unaddressed(observed: Observed) -> Missing | None:
    """Where the user leaves the host to the operator: that no Gateway says where it is."""
    access = observed.cluster.spec.external_access
    if not access.by_port or access.advertised_host is not None or _addresses(observed):
        return None
    return Missing(
        Reason.ROUTE_NOT_ACCEPTED,
        f"Gateway {', '.join(gateways(observed.cluster))} has no address in its status: wait for it, or set spec.externalAccess.advertisedHost",
    )


def _port(observed: Observed, service: str, place: str, numbers: Mapping[str, int]) -> ServicePort:
    """The port that clients are told of, which is the Service's own too, so that the same name works inside when it leads to the ClusterIP.

    Another number than the one that is there gets a name of its own, so that both can be there for a while.
    """
    access = observed.cluster.spec.external_access
    number = numbers.get(service, access.port)
    name = f"{'tcp' if access.by_port else 'sni'}-{place}"
    return ServicePort(ports.named(observed.services.get(service), name, number), number, names.CLIENT_PORT)
