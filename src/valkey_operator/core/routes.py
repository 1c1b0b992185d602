"""Routes made by the operator: each leads from a router to the Service of its name, and counts once its parents have accepted it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from valkey_operator.api import template
from valkey_operator.api.conditions import Reason
from valkey_operator.api.external_access import ExternalAccessType
from valkey_operator.api.routes import GATEWAY_KINDS, RouteKind
from valkey_operator.core import hosts, listeners, names, resolving
from valkey_operator.core.hosts import Missing
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import ListenerRef
from valkey_operator.core.plan import ExternalRoute, ServiceRole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from valkey_operator.api.routes import Routes
    from valkey_operator.core.observed import Cluster, Observed, Route, Verdict
    from valkey_operator.core.plan import ExternalService

_CURES = {
    "NotAllowedByListeners": "let a listener's allowedRoutes admit the cluster's namespace and kind {kind}",
    "NoMatchingListenerHostname": "let a listener's hostname cover {host}, or leave it out",
    "NoMatchingParent": "name a listener that is there in spec.externalAccess.routes.parentRefs",
    "HostAlreadyClaimed": "choose another host",
}


@dataclass(frozen=True, slots=True)
class RoutesNow:
    """The routes as they should be now, and what of them only old endpoints need."""

    ensured: tuple[ExternalRoute, ...]
    removed: tuple[Route, ...]
    leftovers: tuple[str, ...]
    """`kind/name`, `kind/name:host` or `kind/name of parent` of what the present spec does not want."""


def wanted_by(cluster: Cluster) -> Routes | None:
    """What the user says of routes; None where the operator makes none."""
    access = cluster.spec.external_access
    return access.routes if access.enabled and access.type is ExternalAccessType.INGRESS else None


def routes_now(observed: Observed, services: Sequence[ExternalService], *, drained: bool) -> RoutesNow:
    """The routes to these Services, which the present spec wants; what older endpoints need stays until it is `drained`."""
    wanted = {(route.kind, route.name): route for route in _routes(observed, services)}
    live = {(route.kind, route.name): route for route in observed.routing.routes}
    old_hosts = {key: _old_hosts(live.get(key), route) for key, route in wanted.items()}
    old_parents = {key: _old_parents(live.get(key), route) for key, route in wanted.items()}
    unwanted = [route for key, route in sorted(live.items()) if key not in wanted]
    return RoutesNow(
        ensured=tuple(
            route if drained else replace(route, hosts=(*route.hosts, *old_hosts[key]), parents=(*route.parents, *old_parents[key]))
            for key, route in wanted.items()
            if not (key in live and live[key].deleting)
        ),
        removed=tuple(route for route in unwanted if drained and not route.deleting),
        leftovers=(
            *(f"{route.kind}/{route.name}" for route in unwanted),
            *(f"{kind}/{name}:{host}" for (kind, name), listed in old_hosts.items() for host in listed),
            *(f"{kind}/{name} of {parent.text}" for (kind, name), listed in old_parents.items() for parent in listed),
        ),
    )


def refusal(observed: Observed, service: str) -> Missing | None:
    """What keeps connections from being led to a Service; None where its route is accepted, or where the user makes the routes."""
    wanted = wanted_by(observed.cluster)
    if wanted is None:
        return None
    return _nowhere(observed, wanted) or _refused(observed, wanted, service)


def _nowhere(observed: Observed, wanted: Routes) -> Missing | None:
    """What keeps all routes from leading anywhere."""
    kind = wanted.kind.value
    if kind not in observed.routing.served:
        return _missing(
            f"Kubernetes does not serve {kind}, or the operator may not see that it does: install the CRDs that it comes from, "
            "or choose another spec.externalAccess.routes.kind"
        )
    for gateway in listeners.gateways(observed.cluster):
        if gateway not in observed.routing.gateways:
            return _missing(f"Gateway {gateway} does not exist: make it, or correct spec.externalAccess.routes.parentRefs")
        silent = listeners.without_listener(observed, gateway) if wanted.kind is RouteKind.TCP_ROUTE else ()
        if silent:
            ports = ", ".join(str(port) for port in silent)
            return _missing(f"Gateway {gateway} has no listeners of protocol TCP at ports {ports}: add them")
    return None


def _refused(observed: Observed, wanted: Routes, service: str) -> Missing | None:
    kind = wanted.kind.value
    route = next((each for each in observed.routing.routes if (each.kind, each.name) == (kind, service)), None)
    if route is None or route.deleting:
        return _missing(f"{kind} {service} is not there yet")
    host = _host_of(observed, service)
    if wanted.kind is not RouteKind.TCP_ROUTE and host not in route.hosts:
        return _missing(f"{kind} {service} does not lead {host} yet")
    parents = _parents(observed, wanted, service)
    elsewhere = [parent for parent in parents if parent not in route.parents]
    if elsewhere:
        return _missing(f"{kind} {service} does not attach to {', '.join(parent.text for parent in elsewhere)} yet")
    old = {
        parent.text for parent in route.parents if parent not in parents
    }  # a route keeps them for a while; their word counts no more
    told = _is_told(observed, host)
    words = [
        _words(route, verdict, host or "")
        for verdict in route.verdicts
        if verdict.parent not in old and not _holds(verdict, told=told)
    ]
    return _missing("; ".join(words)) if words else None


def _holds(verdict: Verdict, *, told: bool) -> bool:
    """Whether a parent leads connections by the route. It looks anew at one from which old hosts or parents were taken, and leads on meanwhile."""
    return bool(verdict.accepted) or (verdict.accepted is None and verdict.accepted_before and told)


def _is_told(observed: Observed, host: str | None) -> bool:
    """Whether clients are told that host already; where the Gateway's address is told, whether anything is."""
    told = resolving.told(observed)
    return bool(told) if host is None else host in told


def _missing(message: str) -> Missing:
    return Missing(Reason.ROUTE_NOT_ACCEPTED, message)


def _words(route: Route, verdict: Verdict, host: str) -> str:
    """One parent's refusal or silence, with what to do."""
    what = f"{route.kind} {route.name}"
    if verdict.accepted is None:
        return f"{verdict.parent} has not taken {what} yet: does its controller run?"
    reason = verdict.message.partition(":")[0]
    cure = _CURES.get(reason, "")
    return f"{verdict.parent} does not accept {what} ({verdict.message})" + (f": {cure}" if cure else "").format(
        kind=route.kind, host=host
    )


def _routes(observed: Observed, services: Sequence[ExternalService]) -> Iterator[ExternalRoute]:
    """A route for each Service that clients are told of."""
    cluster, wanted = observed.cluster, wanted_by(observed.cluster)
    if wanted is None or wanted.kind.value not in observed.routing.served:
        return
    by_node = any(service.role is ServiceRole.NODE for service in services)
    for service in services:
        host = _host_of(observed, service.name)
        if (by_node and service.role is ServiceRole.SHARD) or (host is None and wanted.kind is not RouteKind.TCP_ROUTE):
            continue
        yield ExternalRoute(
            kind=wanted.kind.value,
            api_version=observed.routing.served[wanted.kind.value],
            name=service.name,
            role=service.role,
            shard=service.shard,
            hosts=(host,) if host is not None and wanted.kind is not RouteKind.TCP_ROUTE else (),
            parents=_parents(observed, wanted, service.name),
            port=service.ports[0],
            ingress_class=wanted.ingress_class_name,
            annotations=_annotations(cluster, wanted, service),
        )


def _parents(observed: Observed, wanted: Routes, service: str) -> tuple[ListenerRef, ...]:
    if wanted.kind not in GATEWAY_KINDS:
        return ()
    by_port = wanted.kind is RouteKind.TCP_ROUTE
    number = listeners.listener_ports(observed).get(service, 0) if by_port else 0
    return tuple(
        ListenerRef(
            parent.namespace or observed.cluster.namespace, parent.name, parent.section_name or "", number or parent.port or 0
        )
        for parent in wanted.parent_refs
    )


def _host_of(observed: Observed, service: str) -> str | None:
    """The host under which clients outside find a Service; None for one that they are not told of."""
    cluster = observed.cluster
    if service == names.bootstrap_service(cluster.name):
        return _bootstrap_host(cluster)
    for index in names.node_indexes(shards=cluster.spec.shards, replicas=cluster.spec.replicas):
        if service in {names.node_service(cluster.name, index), names.shard_service(cluster.name, index.shard)}:
            return hosts.advertised(cluster, index)
    return None


def _bootstrap_host(cluster: Cluster) -> str | None:
    """The bootstrap host; None for one that no route may have: it is no name, or a node's already, which a route of all shards would take from it."""
    host = hosts.bootstrap(cluster)
    if host is None or cluster.spec.external_access.by_port:
        return host
    taken = host in hosts.of_nodes(cluster).values()
    return None if taken or hosts.no_name("bootstrapHost", host) is not None else host


def _annotations(cluster: Cluster, wanted: Routes, service: ExternalService) -> dict[str, str]:
    """As the user says; one that names a shard or a node is left out on a route to something else."""
    index = _index(service)
    unknown = {"shard"} if service.shard is None else set()
    unknown |= {"node"} if index is None else set()
    return {
        key: template.render(
            value,
            name=cluster.name,
            namespace=cluster.namespace,
            shard=service.shard,
            node=index.node if index is not None else None,
        )
        for key, value in wanted.annotations.items()
        if not template.placeholders(value) & unknown
    }


def _index(service: ExternalService) -> NodeIndex | None:
    if service.role is not ServiceRole.NODE or service.shard is None:
        return None
    return NodeIndex(service.shard, int(service.selector[names.NODE_INDEX]))


def _old_hosts(live: Route | None, wanted: ExternalRoute) -> tuple[str, ...]:
    """The hosts of a live route that are not wanted any more. OpenShift's has one host, which is changed at once."""
    if live is None or live.kind == RouteKind.ROUTE:
        return ()
    return tuple(host for host in live.hosts if host not in wanted.hosts)


def _old_parents(live: Route | None, wanted: ExternalRoute) -> tuple[ListenerRef, ...]:
    """The parents of a live route that are not wanted any more. On a Gateway that stays a TCPRoute moves at once: its port is somebody else's."""
    if live is None:
        return ()
    stays = {parent.gateway for parent in wanted.parents} if live.kind == RouteKind.TCP_ROUTE else set[str]()
    return tuple(parent for parent in live.parents if parent not in wanted.parents and parent.gateway not in stays)
