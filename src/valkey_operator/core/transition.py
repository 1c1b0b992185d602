"""Changing Services in place: old ports beside new ones and the wider type of both, until clients have forgotten the old endpoints.

Services keep their names through every change of type, scope, port or template. What the present spec does not want any more is not a
list that somebody keeps but what is there and not wanted; it goes `drainSeconds` after every server tells the new endpoints. Ports that
somebody else put on a Service are none of this: they stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from valkey_operator.api.external_access import ExternalAccessType, LoadBalancerScope
from valkey_operator.core import names
from valkey_operator.core.exposure import exposure
from valkey_operator.core.observed import Balancing
from valkey_operator.core.port_steps import as_it_is, beside, step
from valkey_operator.core.ports import kind_of, taken_by_others, without_others
from valkey_operator.core.service_parts import keeps_class

if TYPE_CHECKING:
    from valkey_operator.core.observed import AllocatedPort, Cluster, Observed, Service
    from valkey_operator.core.plan import ExternalService
    from valkey_operator.core.topology import Topology

_OF_ONE_NODE = ("np", "lb")
"""The kinds of ports on a shard's Service that lead to one node each; the others lead to its primary."""
_WIDTH = ("ClusterIP", "NodePort", "LoadBalancer")


@dataclass(frozen=True, slots=True)
class Services:
    """The Services for external access: how they should be now, and what of them only old endpoints need."""

    ensured: tuple[ExternalService, ...]
    removed: tuple[Service, ...]
    leftovers: tuple[str, ...]
    """`service`, `service:port`, `service:family` or `service:class` of what the present spec does not want."""
    other_class: bool = False
    """Whether some are load balancers of another class than is wanted. These go first: what nodes are announced at may be left over by name."""


def wanted_services(observed: Observed) -> tuple[ExternalService, ...]:
    """The Services that the present spec needs in the end."""
    if not observed.cluster.spec.external_access.enabled:
        return ()
    return tuple(exposure(observed.cluster).services(observed))


def services(observed: Observed, topology: Topology, *, drained: bool) -> Services:
    """The Services as they should be now; `drained`: whether old endpoints may go. One that is being deleted is left alone until it is gone.

    So is a balancer of another class than is wanted until it is drained. While there are such ones nothing else goes.
    """
    wanted = {service.name: _beside_others(service, observed.services.get(service.name)) for service in wanted_services(observed)}
    live = {name: without_others(service) for name, service in observed.services.items() if service.kind}
    unwanted = [service for name, service in sorted(live.items()) if name not in wanted]
    other_class = [name for name, service in wanted.items() if keeps_class(service, live.get(name))]
    narrow = drained and not other_class
    old = {name: _old_ports(service, live.get(name)) for name, service in wanted.items()}
    old_families = {name: _old_families(service, live.get(name)) for name, service in wanted.items()}
    return Services(
        ensured=tuple(
            replace(
                _without_balancer(service, live[name])
                if name in other_class
                else _in_place(service, live.get(name), () if narrow else old[name], observed, topology),
                ip_families=_families(service, live.get(name), () if narrow else old_families[name]),
            )
            for name, service in wanted.items()
            if not (name in live and live[name].deleting) and (drained or name not in other_class)
        ),
        removed=tuple(service for service in unwanted if narrow and not service.deleting),
        leftovers=(
            *(service.name for service in unwanted),
            *(f"{name}:{port.name}" for name, listed in old.items() for port in listed),
            *(f"{name}:{family}" for name, listed in old_families.items() for family in listed),
            *(f"{name}:class" for name in other_class),
        ),
        other_class=bool(other_class),
    )


def _beside_others(wanted: ExternalService, live: Service | None) -> ExternalService:
    """A Service that takes no number from somebody else's port: a port that is wanted there stays as it is, or does not come."""
    taken = taken_by_others(live)
    if live is None or not taken:
        return wanted
    there = {port.name: as_it_is(port) for port in live.ports}
    ports = (there.get(port.name) if port.port in taken else port for port in wanted.ports)
    return replace(wanted, ports=tuple(port for port in ports if port is not None))


def _old_ports(wanted: ExternalService, live: Service | None) -> tuple[AllocatedPort, ...]:
    """The ports of a Service that the present spec does not want."""
    if live is None:
        return ()
    new = {port.name for port in wanted.ports}
    return tuple(port for port in live.ports if port.name not in new)


def _in_place(
    wanted: ExternalService, live: Service | None, old: tuple[AllocatedPort, ...], observed: Observed, topology: Topology
) -> ExternalService:
    """A Service on its way from what it is to what it should be, as wide as the ports that are on it need."""
    changed = step(_with_old(wanted, live, old, topology), live, observed)
    in_the_end = {port.name for port in wanted.ports}
    if live is None or in_the_end >= {port.name for port in changed.ports} or _WIDTH.index(live.type) <= _WIDTH.index(wanted.type):
        return changed
    return replace(changed, type=live.type, balancing=live.balancing, traffic_policy=live.traffic_policy)


def _without_balancer(wanted: ExternalService, live: Service) -> ExternalService:
    """A load balancer of another class as none, so that it can become one of the wanted class.

    Its ports stay, with their node ports, at which nodes may be announced.
    """
    return replace(
        wanted,
        type="NodePort",
        ports=tuple(as_it_is(port) for port in live.ports),
        selector=live.selector,
        balancing=Balancing(),
        traffic_policy=live.traffic_policy,
    )


def _old_families(wanted: ExternalService, live: Service | None) -> tuple[str, ...]:
    """The families of a Service that the present spec does not want and that can go: a first one that is not wanted stays, and is told elsewhere."""
    if live is None or not live.families or live.families[0] not in wanted.ip_families:
        return ()
    return tuple(family for family in live.families if family not in wanted.ip_families)


def _families(wanted: ExternalService, live: Service | None, old: tuple[str, ...]) -> tuple[str, ...]:
    """The families of a Service as they should be now, with those that old endpoints still need. Kubernetes keeps the first one.

    Where that is not wanted the Service stays as it is until somebody decides.
    """
    if live is None or not wanted.ip_families or not live.families:
        return wanted.ip_families
    first = live.families[0]
    return tuple(dict.fromkeys((first, *wanted.ip_families, *old))) if first in wanted.ip_families else live.families


def _with_old(wanted: ExternalService, live: Service | None, old: tuple[AllocatedPort, ...], topology: Topology) -> ExternalService:
    """A Service with the ports that old endpoints still need.

    A port by a container port's name reaches its one pod only while the selector takes in all pods of the shard. So a shard's Service that
    selects its primary does that by its port instead, until the last port of another kind is gone.
    """
    if live is None:
        return wanted
    merged = replace(wanted, ports=beside(wanted.ports, map(as_it_is, old)))
    targets = [*(port.target for port in merged.ports), *(port.target for port in _old_ports(wanted, live))]
    if wanted.shard is None or wanted.role == "node" or not any(isinstance(target, str) for target in targets):
        return merged
    primary = topology.primary(wanted.shard)
    before = {port.name: port.target for port in live.ports}
    ports = tuple(
        port
        if kind_of(port.name) in _OF_ONE_NODE
        else replace(port, target=names.container_port(primary) if primary is not None else before.get(port.name, port.target))
        for port in merged.ports
    )
    selector = {key: value for key, value in wanted.selector.items() if key != names.NODE_INDEX}
    return replace(merged, selector=selector, ports=ports)


def service_of(cluster: Cluster, shard: int) -> str:
    """The Service that a shard's endpoint is on: its own, or the one of all where a single balancer serves the cluster.

    Empty where each node has a balancer of its own: no Service is the shard's.
    """
    access = cluster.spec.external_access
    if access.type is ExternalAccessType.LOAD_BALANCER:
        match access.load_balancer_scope:
            case LoadBalancerScope.NODE:
                return ""
            case LoadBalancerScope.CLUSTER:
                return names.bootstrap_service(cluster.name)
    return names.shard_service(cluster.name, shard)
