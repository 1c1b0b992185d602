"""Type NodePort: a Service per shard with a port per node, one over all shards. Kubernetes allocates, the operator remembers.

A node port once allocated never moves: it is pinned from then on, and asked for again when somebody deletes the Service. `startPort` is
what is asked for at the first allocation and no more than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.api.conditions import Reason
from valkey_operator.core import hosts, names, ports
from valkey_operator.core.hosts import Missing
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import Announcement
from valkey_operator.core.plan import ServicePort
from valkey_operator.core.service_parts import bootstrap_service, fixed_family, known_number, shard_service

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from valkey_operator.api.external_access import ExternalAccess
    from valkey_operator.core.observed import Cluster, Observed, Service
    from valkey_operator.core.plan import ExternalService

BOOTSTRAP = "np-bootstrap"
_BOOTSTRAP_ADDRESSES = 3
"""On so many different Kubernetes nodes, so that a client finds the cluster while one is away."""


def port_name(node: int) -> str:
    """The name of a node's port in the Service of its shard."""
    return f"np-{node}"


def preferred(access: ExternalAccess, index: NodeIndex) -> int | None:
    """The node port that `startPort` asks for; None where it asks for none, or for one that cannot exist."""
    settings = access.node_port
    if settings.start_port is None:
        return None
    port = settings.start_port + index.node * settings.stride + index.shard
    return port if port <= ports.LAST else None


def allocated(service: Service | None, name: str) -> int | None:
    """The node port that a Service really has under a port name, once its own port has followed it."""
    port = service.port(name) if service is not None else None
    return port.node_port if port is not None and port.node_port == port.port else None


def services(observed: Observed) -> Iterator[ExternalService]:
    """One Service per shard with a port per node, and one over all shards."""
    cluster = observed.cluster
    for shard in range(cluster.spec.shards):
        yield shard_service(cluster, shard, type_="NodePort", ports=_ports(observed, shard))
    if cluster.spec.external_access.bootstrap_service:
        live = observed.services.get(names.bootstrap_service(cluster.name))
        yield bootstrap_service(cluster, type_="NodePort", ports=(_bootstrap_port(observed, live),))


def endpoints(observed: Observed) -> dict[NodeIndex, Announcement | Missing]:
    """The node port of each node, at the advertised host or at the Kubernetes node that runs its pod."""
    addresses = hosts.machine_addresses(observed)
    spec = observed.cluster.spec
    return {
        index: _endpoint(observed, index, addresses) for index in names.node_indexes(shards=spec.shards, replicas=spec.replicas)
    }


def service_of(cluster: Cluster, index: NodeIndex) -> str:
    """The name of the Service that has a node's port."""
    return names.shard_service(cluster.name, index.shard)


def _endpoint(observed: Observed, index: NodeIndex, addresses: Mapping[str, tuple[str, ...]] | Missing) -> Announcement | Missing:
    name = service_of(observed.cluster, index)
    service = observed.services.get(name)
    port = allocated(service, port_name(index.node))
    if service is None or port is None:
        return Missing(Reason.ALLOCATING_PORTS, f"Service {name} has no node port for node {index} yet")
    if (fixed := fixed_family(observed.cluster, service)) is not None:
        return fixed
    pod = observed.pods.get(index)
    machine = pod.machine if pod is not None else None
    known = addresses.get(machine, ()) if machine is not None and not isinstance(addresses, Missing) else ()
    if not known and observed.cluster.spec.external_access.advertised_host is None:
        if machine is None:
            return Missing(Reason.WAITING_FOR_CLUSTER, f"the pod of node {index} runs on no Kubernetes node yet")
        if isinstance(addresses, Missing):
            return addresses
        return Missing(Reason.NODE_ADDRESS_UNKNOWN, f"Kubernetes node {machine}, which runs node {index}, has no address yet")
    host = hosts.host(observed, index, hosts.of_families(known, service.families))
    return host if isinstance(host, Missing) else Announcement(host.name, port, host.ipv4, host.ipv6)


def bootstrap(observed: Observed) -> tuple[str, ...]:
    """The bootstrap host, else up to three Kubernetes nodes that run pods which serve."""
    cluster = observed.cluster
    service = observed.services.get(names.bootstrap_service(cluster.name))
    port = allocated(service, BOOTSTRAP)
    if service is None or port is None:
        return ()
    host = hosts.bootstrap(cluster)
    if host is not None:
        return (f"{host}:{port}",)
    return tuple(f"{_first(known)}:{port}" for known in _machines(observed, service, None))


def behind(observed: Observed, index: NodeIndex | None) -> tuple[str, ...]:
    """The addresses of the Kubernetes node that runs a node's pod, or of up to three that run pods which serve."""
    cluster = observed.cluster
    service = observed.services.get(names.bootstrap_service(cluster.name) if index is None else service_of(cluster, index))
    return tuple(address for known in _machines(observed, service, index) for address in known) if service is not None else ()


def _machines(observed: Observed, service: Service, index: NodeIndex | None) -> Iterator[tuple[str, ...]]:
    """The addresses of each of these Kubernetes nodes, of the families that the Service has."""
    addresses = hosts.machine_addresses(observed)
    if isinstance(addresses, Missing):
        return
    served = {machine: hosts.of_families(known, service.families) for machine, known in addresses.items()}
    pods = [pod for at, pod in observed.pods.items() if (pod.serving if index is None else at == index)]
    machines = sorted({pod.machine for pod in pods if pod.machine and served.get(pod.machine)})
    yield from (served[machine] for machine in machines[:_BOOTSTRAP_ADDRESSES])


def _first(addresses: tuple[str, ...]) -> str:
    """The address to print: IPv4 or a name before IPv6, which needs brackets before a port."""
    plain = next((address for address in addresses if ":" not in address), "")
    return plain or f"[{addresses[0]}]"


def _ports(observed: Observed, shard: int) -> tuple[ServicePort, ...]:
    cluster = observed.cluster
    live = observed.services.get(names.shard_service(cluster.name, shard))
    wanted: list[ServicePort] = []
    for node in range(cluster.spec.replicas + 1):
        index = NodeIndex(shard, node)
        last = known_number(observed, index) if live is None else None
        preference = last or preferred(cluster.spec.external_access, index)
        used = {number for port in wanted for number in (port.port, port.fallback) if number is not None}
        wanted.append(_asked(port_name(node), live, preference=preference, target=names.container_port(index), used=used))
    return tuple(wanted)


def _bootstrap_port(observed: Observed, live: Service | None) -> ServicePort:
    last = known_number(observed, None) if live is None else None
    preference = last or observed.cluster.spec.external_access.node_port.bootstrap_port
    return _asked(BOOTSTRAP, live, preference=preference, target=names.CLIENT_PORT, used=set())


def _asked(name: str, live: Service | None, *, preference: int | None, target: str | int, used: set[int]) -> ServicePort:
    """A port: what it has stays, else what is preferred is asked for, else Kubernetes chooses and the port has a number of its own until then.

    While a Service changes from another type its ports keep their numbers, so those are `used` as well. The number of another port there,
    or its node port, is not asked for: it could not be the port's own while that one stays.
    """
    port = live.port(name) if live is not None else None
    if port is not None and port.node_port is not None:
        return ServicePort(name, port=port.node_port, target=target, node_port=port.node_port)
    others = [other for other in live.ports if other.name != name] if live is not None else []
    numbers = {other.port for other in others}
    own = ports.free(names.CLIENT_PORT, used | numbers)
    if preference is not None and preference not in numbers | {other.node_port for other in others}:
        return ServicePort(name, port=preference, target=target, node_port=preference, fallback=own)
    return ServicePort(name, port=own, target=target)
