"""Changing Services in place: what is new beside what is old, until clients have forgotten the old endpoints.

Services keep their names through every change of type, scope, port or template. What the present spec does not want any more is not a
list that somebody keeps but what is there and not wanted; it goes `drainSeconds` after every server tells the new endpoints. Ports that
somebody else put on a Service are none of this: they stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from valkey_operator.api.external_access import ExternalAccessType, LoadBalancerScope
from valkey_operator.core import names
from valkey_operator.core.exposure import exposure
from valkey_operator.core.service_change import ServiceChange

if TYPE_CHECKING:
    from valkey_operator.core.observed import Cluster, Observed, Service
    from valkey_operator.core.plan import ExternalService
    from valkey_operator.core.topology import Topology


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
    """The Services as they should be now; `drained`: whether old endpoints may go.

    While there are balancers of another class than is wanted these alone do.
    """
    live = {name: service for name, service in observed.services.items() if service.kind}
    changes = [ServiceChange.of(wanted, live.pop(wanted.name, None)) for wanted in wanted_services(observed)]
    unwanted = [service for _, service in sorted(live.items())]
    other_class = any(change.is_of_other_class for change in changes)
    now = (
        change.narrowed(observed, topology)
        if drained and change.is_of_other_class == other_class
        else change.widened(observed, topology)
        for change in changes
    )
    return Services(
        ensured=tuple(service for service in now if service is not None),
        removed=tuple(service for service in unwanted if drained and not other_class and not service.deleting),
        leftovers=(*(service.name for service in unwanted), *(name for change in changes for name in change.leftovers)),
        other_class=other_class,
    )


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
