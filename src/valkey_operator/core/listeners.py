"""Which listener of a Gateway each node has where ports tell nodes apart: a number that was taken once is kept for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.core import names
from valkey_operator.core.ports import free, kind_of
from valkey_operator.core.service_parts import known_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from valkey_operator.core.observed import Cluster, Observed, Route

_TCP = "TCP"


def gateways(cluster: Cluster) -> tuple[str, ...]:
    """The Gateways that the routes of a cluster attach to, as `namespace/name`."""
    routes = cluster.spec.external_access.routes
    parents = routes.parent_refs if routes is not None else ()
    return tuple(dict.fromkeys(f"{parent.namespace or cluster.namespace}/{parent.name}" for parent in parents))


def listener_ports(observed: Observed) -> Mapping[str, int]:
    """Of the Service of all shards and of each node's Service: the port of the listener that leads to it.

    What its route has already; else the lowest from `advertisedPort` up that no other route on these Gateways uses, nor a listener of another
    protocol. A route that another one, which is older, has come before moves on, as long as nobody was told of it. One that somebody deleted
    comes back at the port that was told.
    """
    told = _told(observed)
    used = _used(observed)
    found = {}
    live = {route.name: (port, route) for route in observed.routing.routes if (port := _port(observed.cluster, route))}
    for name in _services(observed.cluster):
        if name in live:
            port, route = live[name]
            first = (route.created, route.namespace, route.name)
            if told.get(name) == port or used.get(port, first) >= first:
                found[name] = port
        elif name in told and told[name] in _service_ports(observed, name) - set(used):
            found[name] = told[name]
    taken = set(used) | set(found.values())
    for name in _services(observed.cluster):
        if name not in found:
            found[name] = free(observed.cluster.spec.external_access.port, taken)
            taken.add(found[name])
    return found


def without_listener(observed: Observed, gateway: str) -> tuple[int, ...]:
    """The ports of the cluster's nodes at which a Gateway does not listen for TCP."""
    there = observed.routing.gateways.get(gateway)
    listening = {each.port for each in there.listeners if each.protocol == _TCP} if there is not None else set()
    return tuple(sorted(set(listener_ports(observed).values()) - listening))


def _services(cluster: Cluster) -> Iterator[str]:
    if cluster.spec.external_access.bootstrap_service:
        yield names.bootstrap_service(cluster.name)
    for index in names.node_indexes(shards=cluster.spec.shards, replicas=cluster.spec.replicas):
        yield names.node_service(cluster.name, index)


def _port(cluster: Cluster, route: Route) -> int:
    """The port by which a route of ours attaches to the Gateways of now; 0 where it does not."""
    if route.kind != "TCPRoute" or route.deleting:
        return 0
    return next((parent.port for parent in route.parents if parent.gateway in gateways(cluster)), 0)


def _used(observed: Observed) -> dict[int, tuple[str, str, str]]:
    """The ports of these Gateways that are not free, each with the oldest who uses it (creation, namespace, name): a listener is older than any route."""
    wanted = gateways(observed.cluster)
    listeners = {
        (key, listener.name): listener
        for key in wanted
        if key in observed.routing.gateways
        for listener in observed.routing.gateways[key].listeners
    }
    used = {listener.port: ("", "", "") for listener in listeners.values() if listener.protocol != _TCP}
    for route in sorted(observed.routing.others, key=lambda route: (route.created, route.namespace, route.name)):
        for parent in route.parents:
            if parent.gateway in wanted:
                named = listeners.get((parent.gateway, parent.section))
                used.setdefault(
                    parent.port or (named.port if named is not None else 0), (route.created, route.namespace, route.name)
                )
    return used


def _service_ports(observed: Observed, service: str) -> set[int]:
    """The ports that a Service has for a listener."""
    live = observed.services.get(service)
    return {port.port for port in live.ports if kind_of(port.name) == "tcp"} if live is not None else set()


def _told(observed: Observed) -> dict[str, int]:
    """Of each Service: the port that clients were told of."""
    told = {
        names.node_service(observed.cluster.name, index): record.announce.port
        for index, record in observed.records.items()
        if record.announce is not None
    }
    begin = known_number(observed, None)
    return told | ({names.bootstrap_service(observed.cluster.name): begin} if begin is not None else {})
