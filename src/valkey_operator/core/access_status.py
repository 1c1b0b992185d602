"""What the status tells of external access: endpoints as read back, and the one thing that keeps them from being ready."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from valkey_operator.api import template
from valkey_operator.api.conditions import Reason
from valkey_operator.api.status import Bootstrap, ExternalAccessStatus, NodeEndpoint, ShardEndpoint
from valkey_operator.core import hosts, names, node_ports
from valkey_operator.core.hosts import Missing
from valkey_operator.core.observed import Announcement, Server
from valkey_operator.core.times import parsed, stamp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from valkey_operator.core.access import Access
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Observed
    from valkey_operator.core.topology import Topology

_BOOTSTRAP_ADDRESSES = 3
"""Node ports: on so many different Kubernetes nodes, so that a client finds the cluster while one is away."""

_ORDER = (
    Reason.UNSUPPORTED_VALKEY_VERSION,
    Reason.INVALID_ADVERTISED_HOST,
    Reason.NODE_ADDRESS_UNKNOWN,
    Reason.ALLOCATING_PORTS,
    Reason.WAITING_FOR_DNS,
    Reason.CERTIFICATE_MISSING_NAMES,
)
"""What a person has to act on comes before what passes by itself."""


@dataclass(frozen=True, slots=True)
class Draining:
    """External access was turned off: its Services stay for a while for clients that still hold the old endpoints."""

    since: datetime
    until: datetime

    def over(self, now: datetime) -> bool:
        """Whether the Services may go."""
        return now >= self.until


def draining(observed: Observed, topology: Topology, access: Access, *, now: datetime) -> Draining | None:
    """Since when every server tells only places inside, while Services for external access still exist."""
    if access.enabled or not external_services(observed):
        return None
    if not set(topology.servers) <= access.arrived or not topology.complete:
        return None
    told = observed.cluster.status.external_access
    since = parsed(told.draining_since) if told is not None and told.draining_since else now
    return Draining(since, since + timedelta(seconds=observed.cluster.spec.external_access.drain_seconds))


def external_services(observed: Observed) -> list[str]:
    """The Services for external access that there are."""
    return sorted(name for name, service in observed.services.items() if service.kind)


def lack(observed: Observed, topology: Topology, access: Access) -> Missing | None:
    """The one thing that keeps external access from being ready, None when it is."""
    missing = [endpoint for _, endpoint in sorted(access.endpoints.items()) if isinstance(endpoint, Missing)]
    for reason in _ORDER:
        found = [endpoint.message for endpoint in missing if endpoint.reason is reason]
        if found:
            return Missing(reason, _first(found))
    spec = observed.cluster.spec.external_access
    if spec.bootstrap_service and _bootstrap_port(observed) is None:
        return Missing(Reason.ALLOCATING_PORTS, f"Service {names.bootstrap_service(observed.cluster.name)} has no node port yet")
    if access.withheld:
        return Missing(Reason.ANNOUNCING, _first(why for _, why in sorted(access.withheld.items())))
    quiet = [index for index in topology.wanted if index not in access.arrived]
    if quiet:
        return Missing(
            Reason.ANNOUNCING,
            f"{len(quiet)} of {len(topology.wanted)} nodes are not announced by every server yet, first node {quiet[0]}",
        )
    if spec.bootstrap_service and not _bootstrap_addresses(observed):
        return Missing(Reason.ANNOUNCING, "no pod serves yet behind the Service of all shards")
    return None


def _first(messages: Iterable[str]) -> str:
    listed = list(dict.fromkeys(messages))
    return listed[0] if len(listed) == 1 else f"{listed[0]} (and {len(listed) - 1} more like it)"


def external_status(
    observed: Observed, topology: Topology, access: Access, *, ready: bool, drain: Draining | None
) -> ExternalAccessStatus | None:
    """`status.externalAccess`; None when external access is off and nothing is left of it."""
    spec = observed.cluster.spec.external_access
    services = external_services(observed)
    if not access.enabled:
        if not services:
            return None
        return ExternalAccessStatus(type=spec.type.value, draining_since=stamp(drain.since) if drain else None)
    addresses = _bootstrap_addresses(observed)
    bootstrap = Bootstrap(service=names.bootstrap_service(observed.cluster.name), addresses=addresses) if addresses else None
    shards = sorted({index.shard for index in topology.wanted})
    endpoints = tuple(endpoint for shard in shards if (endpoint := _shard(observed, topology, access, shard)).nodes)
    return ExternalAccessStatus(type=spec.type.value, ready=ready, bootstrap=bootstrap, endpoints=endpoints)


def _shard(observed: Observed, topology: Topology, access: Access, shard: int) -> ShardEndpoint:
    nodes = tuple(
        _node(observed, access, index, endpoint)
        for index in topology.wanted
        if index.shard == shard and isinstance(endpoint := access.endpoints.get(index), Announcement)
    )
    primary = topology.primary(shard)
    own = access.endpoints.get(primary) if primary is not None else None
    service = names.shard_service(observed.cluster.name, shard)
    if not isinstance(own, Announcement):
        return ShardEndpoint(shard=shard, service=service, nodes=nodes)
    return ShardEndpoint(shard=shard, service=service, host=own.host, port=own.port, address=own.address, nodes=nodes)


def _node(observed: Observed, access: Access, index: NodeIndex, endpoint: Announcement) -> NodeEndpoint:
    return NodeEndpoint(
        node=index.node,
        role=role(observed, index),
        host=endpoint.host,
        port=endpoint.port,
        address=endpoint.address,
        announced=index in access.arrived and access.records.get(index) == endpoint,
    )


def role(observed: Observed, index: NodeIndex) -> str:
    """Primary or replica by the server's own word, else as last written; empty for one that is neither yet."""
    server = observed.servers.get(index)
    if isinstance(server, Server):
        if server.me.primary:
            return "primary" if server.me.slots else ""
        return "replica"
    record = observed.records.get(index)
    return record.status.role if record is not None else ""


def _bootstrap_port(observed: Observed) -> int | None:
    return node_ports.allocated(observed.services.get(names.bootstrap_service(observed.cluster.name)), node_ports.BOOTSTRAP)


def _bootstrap_addresses(observed: Observed) -> tuple[str, ...]:
    """Where clients begin: the bootstrap host, else up to three Kubernetes nodes that run pods which serve."""
    cluster = observed.cluster
    access = cluster.spec.external_access
    port = _bootstrap_port(observed)
    if port is None or not access.bootstrap_service:
        return ()
    if access.bootstrap_host is not None:
        return (f"{template.render(access.bootstrap_host, name=cluster.name, namespace=cluster.namespace)}:{port}",)
    addresses = hosts.machine_addresses(observed, access)
    if isinstance(addresses, Missing):
        return ()
    serving = sorted({pod.machine for pod in observed.pods.values() if pod.machine and pod.serving and pod.machine in addresses})
    return tuple(f"{addresses[machine]}:{port}" for machine in serving[:_BOOTSTRAP_ADDRESSES])
