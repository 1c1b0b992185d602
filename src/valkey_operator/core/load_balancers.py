"""Type LoadBalancer: a balancer per shard with a port per node, per node, or one in all. A port reaches one node, never several."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from valkey_operator.api.conditions import Reason
from valkey_operator.api.external_access import ExternalAccessType, LoadBalancerScope
from valkey_operator.core import hosts, names, ports
from valkey_operator.core.hosts import Missing
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import Announcement, Balancing
from valkey_operator.core.plan import ServicePort
from valkey_operator.core.service_parts import (
    bootstrap_service,
    fixed_family,
    going,
    keeps_class,
    known_number,
    leads,
    node_service,
    shard_service,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from valkey_operator.core.observed import Cluster, Observed, Service
    from valkey_operator.core.plan import ExternalService

BOOTSTRAP = "lb-bootstrap"


def services(observed: Observed) -> Iterator[ExternalService]:
    """The balancers that the scope asks for, and, unless one serves all, one over all shards."""
    cluster = observed.cluster
    match cluster.spec.external_access.load_balancer_scope:
        case LoadBalancerScope.SHARD:
            yield from (_of_shard(observed, shard) for shard in range(cluster.spec.shards))
        case LoadBalancerScope.NODE:
            yield from (_of_node(observed, index) for index in _nodes(cluster))
        case LoadBalancerScope.CLUSTER:
            yield _of_cluster(observed)
            return
    if cluster.spec.external_access.bootstrap_service:
        yield _of_all_shards(observed)


def endpoints(observed: Observed) -> dict[NodeIndex, Announcement | Missing]:
    """The port of each node at the advertised host, else at its balancer's address."""
    wanted = {service.name: service for service in services(observed)}
    return {index: _endpoint(observed, index, wanted) for index in _nodes(observed.cluster)}


def _endpoint(observed: Observed, index: NodeIndex, wanted: Mapping[str, ExternalService]) -> Announcement | Missing:
    name = service_of(observed.cluster, index)
    service = observed.services.get(name)
    if service is not None and keeps_class(wanted[name], service):
        return _other_class(service, wanted, observed, index)
    port = _read_back(service, wanted[name], names.container_port(index))
    if (leaving := going(service)) is not None:
        return leaving
    if service is None or port is None or service.type != "LoadBalancer":
        return Missing(Reason.ALLOCATING_PORTS, f"Service {name} has no port for node {index} yet")
    if (fixed := fixed_family(observed.cluster, service)) is not None:
        return fixed
    addresses = hosts.balancer_addresses(service)
    if not addresses:
        return Missing(Reason.WAITING_FOR_LOAD_BALANCER, f"Service {name} waits for its load balancer")
    host = hosts.host(observed, index, addresses)
    return host if isinstance(host, Missing) else Announcement(host.name, port, host.ipv4, host.ipv6)


def bootstrap(observed: Observed) -> tuple[str, ...]:
    """The bootstrap host, else the addresses of the balancer over all shards."""
    cluster = observed.cluster
    if not cluster.spec.external_access.bootstrap_service:
        return ()
    one = cluster.spec.external_access.load_balancer_scope is LoadBalancerScope.CLUSTER
    wanted = _of_cluster(observed) if one else _of_all_shards(observed)
    service = observed.services.get(wanted.name)
    port = _read_back(service, wanted, names.CLIENT_PORT)
    if service is None or port is None or not service.ingress or keeps_class(wanted, service):
        return ()
    host = hosts.bootstrap(cluster)
    listed = (host,) if host is not None else behind(observed, None)
    return tuple(f"[{address}]:{port}" if ":" in address else f"{address}:{port}" for address in listed)


def bootstrap_of_other_class(observed: Observed) -> Missing | None:
    """That the balancer over all shards is still one of another class; None where it is not, or where none is wanted."""
    if observed.cluster.spec.external_access.type is not ExternalAccessType.LOAD_BALANCER:
        return None
    wanted = {service.name: service for service in services(observed)}
    name = names.bootstrap_service(observed.cluster.name)
    service = observed.services.get(name)
    if service is None or name not in wanted or not keeps_class(wanted[name], service):
        return None
    return _other_class(service, wanted, observed)


def _other_class(
    service: Service, wanted: Mapping[str, ExternalService], observed: Observed, index: NodeIndex | None = None
) -> Missing:
    """That a Service is still a balancer of another class, and who waits for whom: a node that is announced through it for the user."""
    has = _class(service.balancing.load_balancer_class or service.foreign_class)
    asked = _class(wanted[service.name].balancing.load_balancer_class)
    record = observed.records.get(index) if index is not None else None
    told = record.announce if record is not None else None
    if index is not None and told is not None and _is_through_other_class(told.port, index, wanted, observed):
        return Missing(
            Reason.SERVICE_CONFLICT,
            f"Service {service.name} is a load balancer of {has}, not of {asked}, which Kubernetes does not change while its type is "
            f"LoadBalancer, and clients are told node {index} at its address: set spec.externalAccess.type to NodePort and remove "
            "loadBalancerClass, wait until status.externalAccess.drainingSince has come and gone, and set type to LoadBalancer again",
        )
    return Missing(
        Reason.DRAINING,
        f"Service {service.name} stays a load balancer of {has} for clients with old endpoints, and becomes one of {asked} "
        "spec.externalAccess.drainSeconds after status.externalAccess.drainingSince",
    )


def _class(name: str | None) -> str:
    return f"class {name}" if name is not None else "no class"


def _is_through_other_class(number: int, index: NodeIndex, wanted: Mapping[str, ExternalService], observed: Observed) -> bool:
    """Whether a node's announced port may be one of a balancer that has to go. One by the same number of a router counts too: nobody can tell."""
    cluster = observed.cluster
    kept = (service for name, service in observed.services.items() if name in wanted and keeps_class(wanted[name], service))
    return any(leads(cluster, service, index, number, kind="lb") for service in kept)


def kept_out(observed: Observed) -> tuple[str, ...]:
    """The pods' addresses that the wanted source ranges keep out of load balancers; so they probably do with the operator's own."""
    ranges = [ip_network(text, strict=False) for text in observed.cluster.spec.external_access.load_balancer_source_ranges]
    ips = (pod.ip for pod in observed.pods.values() if ranges and pod.ip)
    return tuple(ip for ip in ips if not any(ip_address(ip) in each for each in ranges))


def is_pending(service: Service) -> bool:
    """Whether a Service has no load balancer's address yet, or none any more."""
    return service.type == "LoadBalancer" and not service.ingress


def behind(observed: Observed, index: NodeIndex | None) -> tuple[str, ...]:
    """What the balancer of a node was given, or that of all shards."""
    cluster = observed.cluster
    service = observed.services.get(names.bootstrap_service(cluster.name) if index is None else service_of(cluster, index))
    return hosts.of_families(hosts.balancer_addresses(service), hosts.wanted_families(cluster)) if service is not None else ()


def _nodes(cluster: Cluster) -> Iterator[NodeIndex]:
    return names.node_indexes(shards=cluster.spec.shards, replicas=cluster.spec.replicas)


def _of_shard(observed: Observed, shard: int) -> ExternalService:
    cluster, port = observed.cluster, observed.cluster.spec.external_access.port
    live = observed.services.get(names.shard_service(cluster.name, shard))
    nodes = (NodeIndex(shard, node) for node in range(cluster.spec.replicas + 1))
    wanted = _ports(observed, live, [(f"lb-{index.node}", port + index.node, index) for index in nodes])
    return shard_service(cluster, shard, type_="LoadBalancer", ports=wanted, balancing=_balancing(cluster))


def _of_node(observed: Observed, index: NodeIndex) -> ExternalService:
    cluster = observed.cluster
    live = observed.services.get(names.node_service(cluster.name, index))
    wanted = _ports(observed, live, [(f"lb-{index.node}", cluster.spec.external_access.port, index)])
    return node_service(cluster, index, type_="LoadBalancer", ports=wanted, balancing=_balancing(cluster))


def _of_all_shards(observed: Observed) -> ExternalService:
    cluster = observed.cluster
    live = observed.services.get(names.bootstrap_service(cluster.name))
    wanted = _ports(observed, live, [(BOOTSTRAP, cluster.spec.external_access.port, None)])
    return bootstrap_service(cluster, type_="LoadBalancer", ports=wanted, balancing=_balancing(cluster))


def _of_cluster(observed: Observed) -> ExternalService:
    """All nodes behind one address, each at a port of its own, and the all-shards port at `advertisedPort` itself."""
    cluster, access = observed.cluster, observed.cluster.spec.external_access
    live = observed.services.get(names.bootstrap_service(cluster.name))
    places: list[_Place] = [(BOOTSTRAP, access.port, None)] if access.bootstrap_service else []
    nodes = enumerate(_nodes(cluster), start=1)
    places += [(f"lb-{index}", access.port + number, index) for number, index in nodes]
    return bootstrap_service(cluster, type_="LoadBalancer", ports=_ports(observed, live, places), balancing=_balancing(cluster))


_Place = tuple[str, int, NodeIndex | None]
"""The name of a port, the number that it prefers, and the node that it leads to; None: to all shards."""


def _ports(observed: Observed, live: Service | None, places: list[_Place]) -> tuple[ServicePort, ...]:
    """The ports of a Service, those that it has with the numbers that they have."""
    wanted = []
    own = {place for place, _, _ in places}
    told = {place: number for place, preferred, index in places if live is None and (number := _told(observed, index, preferred))}
    taken = {port.port for port in live.ports if port.name not in own} if live is not None else set()
    for place, preferred, index in places:
        others = {number for other, number in told.items() if other != place}
        name, number = ports.settled(live, place, preferred=preferred, taken=taken | others, told=told.get(place))
        taken.add(number)
        wanted.append(ServicePort(name, number, names.container_port(index) if index is not None else names.CLIENT_PORT))
    return tuple(wanted)


def _told(observed: Observed, index: NodeIndex | None, preferred: int) -> int | None:
    """The number by which clients know a port. One below the preferred number was never given to it: it is of another type or setting."""
    number = known_number(observed, index)
    return number if number is not None and number >= preferred else None


def _read_back(service: Service | None, wanted: ExternalService, target: str | int) -> int | None:
    """The number under which a Service really leads to a target, None while it is not as wanted."""
    port = next((port for port in wanted.ports if port.target == target), None)
    live = service.port(port.name) if service is not None and port is not None else None
    return live.port if live is not None else None


def service_of(cluster: Cluster, index: NodeIndex) -> str:
    """The name of the Service that leads to a node."""
    match cluster.spec.external_access.load_balancer_scope:
        case LoadBalancerScope.SHARD:
            return names.shard_service(cluster.name, index.shard)
        case LoadBalancerScope.NODE:
            return names.node_service(cluster.name, index)
        case LoadBalancerScope.CLUSTER:
            return names.bootstrap_service(cluster.name)


def _balancing(cluster: Cluster) -> Balancing:
    access = cluster.spec.external_access
    return Balancing(
        load_balancer_class=access.load_balancer_class,
        source_ranges=access.load_balancer_source_ranges,
        allocate_node_ports=access.allocate_load_balancer_node_ports,
    )
