"""What the status tells of external access: endpoints as read back, and the one thing that keeps them from being ready."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from valkey_operator.api.conditions import Reason
from valkey_operator.api.external_access import ExternalAccessType
from valkey_operator.api.status import Bootstrap, ExternalAccessStatus, NodeEndpoint, ShardEndpoint
from valkey_operator.core import begin, names
from valkey_operator.core.balancer_words import awaited
from valkey_operator.core.exposure import exposure
from valkey_operator.core.hosts import Missing
from valkey_operator.core.load_balancers import is_pending
from valkey_operator.core.observed import Announcement, Server
from valkey_operator.core.routes import refusal
from valkey_operator.core.sni import taken_port
from valkey_operator.core.times import parsed, stamp, stamp_after
from valkey_operator.core.transition import service_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from valkey_operator.core.access import Access
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Observed
    from valkey_operator.core.topology import Topology

_ORDER = (
    Reason.UNSUPPORTED_VALKEY_VERSION,
    Reason.INVALID_ADVERTISED_HOST,
    Reason.HOST_CLAIMED,
    Reason.SERVICE_CONFLICT,
    Reason.NODE_ADDRESS_UNKNOWN,
    Reason.WAITING_FOR_CLUSTER,
    Reason.ALLOCATING_PORTS,
    Reason.DRAINING,
    Reason.WAITING_FOR_LOAD_BALANCER,
    Reason.ROUTE_NOT_ACCEPTED,
    Reason.WAITING_FOR_DNS,
    Reason.CERTIFICATE_MISSING_NAMES,
)
"""What a person has to act on comes before what passes by itself."""


@dataclass(frozen=True, slots=True)
class Draining:
    """Every server tells the present endpoints; what only older ones need stays for a while, for clients that still hold those."""

    since: datetime
    until: datetime

    def over(self, now: datetime) -> bool:
        """Whether it may go."""
        return now >= self.until


def draining(
    observed: Observed, topology: Topology, access: Access, leftovers: tuple[str, ...], *, now: datetime
) -> Draining | None:
    """Since when old endpoints are only kept; None while there are none, or while some server still tells them.

    A changed spec begins it anew: it may leave more behind, which has to stay for as long. Where clients begin is told from before until
    something leads there in the new way, and so long the old way stays too.
    """
    if not leftovers or not topology.complete or not access.settled or (access.enabled and begin.is_from_before(observed)):
        return None
    cluster = observed.cluster
    told = cluster.status.external_access if cluster.status.observed_generation in (None, cluster.generation) else None
    since = parsed(told.draining_since) if told is not None and told.draining_since else now
    return Draining(since, since + timedelta(seconds=observed.cluster.spec.external_access.drain_seconds))


def lack(observed: Observed, topology: Topology, access: Access, *, now: datetime) -> Missing | None:
    """The one thing that keeps external access from being ready, None when it is."""
    nowhere = begin.obstacle(observed)
    missing = [nowhere] if nowhere is not None else []
    missing += [
        _whole(observed, index, endpoint, now=now)
        for index, endpoint in sorted(access.endpoints.items(), key=lambda pair: pair[0])
        if isinstance(endpoint, Missing)
    ]
    for reason in _ORDER:
        found = [endpoint.message for endpoint in missing if endpoint.reason is reason]
        if found:
            return Missing(reason, _listed(found))
    if access.withheld:
        return Missing(
            Reason.ANNOUNCING, _listed(held.why for _, held in sorted(access.withheld.items(), key=lambda pair: pair[0]))
        )
    quiet = [index for index in topology.wanted if index not in access.arrived]
    if quiet:
        return Missing(
            Reason.ANNOUNCING,
            f"{len(quiet)} of {len(topology.wanted)} nodes are not announced by every server yet, first node {quiet[0]}",
        )
    if observed.cluster.spec.external_access.bootstrap_service and not exposure(observed.cluster).bootstrap(observed):
        service = names.bootstrap_service(observed.cluster.name)
        return refusal(observed, service) or _unaddressed(observed, service, now=now)
    return None


def _whole(observed: Observed, index: NodeIndex, missing: Missing, *, now: datetime) -> Missing:
    """What a node lacks; of a load balancer also since when, and what the cloud says of it."""
    if missing.reason is not Reason.WAITING_FOR_LOAD_BALANCER:
        return missing
    return awaited(observed, exposure(observed.cluster).service(observed.cluster, index), now=now)


def _unaddressed(observed: Observed, service: str, *, now: datetime) -> Missing:
    """That clients outside cannot begin at the Service over all shards."""
    live = observed.services.get(service)
    if (later := begin.awaits_drain(observed)) is not None:
        return later
    match observed.cluster.spec.external_access.type:
        case ExternalAccessType.LOAD_BALANCER if live is not None and is_pending(live):
            return awaited(observed, service, now=now)
        case ExternalAccessType.INGRESS if (taken := taken_port(observed, service)) is not None:
            return taken
    return Missing(Reason.ANNOUNCING, f"Service {service}, over all shards, has no address yet, or no pod serves behind it")


_LISTED = 8
"""So many nodes are named in a sentence; which records or balancers are missing is what a person wants to know."""


def _listed(messages: Iterable[str]) -> str:
    """All of them, each once, as far as a sentence holds them."""
    all_ = list(dict.fromkeys(messages))
    more = f"; and {len(all_) - _LISTED} more" if len(all_) > _LISTED else ""
    return "; ".join(all_[:_LISTED]) + more


def external_status(
    observed: Observed, topology: Topology, access: Access, leftovers: tuple[str, ...], *, ready: bool, drain: Draining | None
) -> ExternalAccessStatus | None:
    """`status.externalAccess`; None when external access is off and nothing is left of it."""
    cluster = observed.cluster
    type_ = cluster.spec.external_access.type.value
    since = stamp_after(drain.since) if drain else None
    if not access.enabled:
        return ExternalAccessStatus(type=type_, draining_since=since) if leftovers else None
    addresses = begin.addresses(observed) if cluster.spec.external_access.bootstrap_service else ()
    bootstrap = Bootstrap(service=names.bootstrap_service(cluster.name), addresses=addresses) if addresses else None
    shards = sorted({index.shard for index in topology.wanted})
    endpoints = tuple(endpoint for shard in shards if (endpoint := _shard(observed, topology, access, shard)).nodes)
    return ExternalAccessStatus(type=type_, ready=ready, draining_since=since, bootstrap=bootstrap, endpoints=endpoints)


def _shard(observed: Observed, topology: Topology, access: Access, shard: int) -> ShardEndpoint:
    nodes = tuple(
        _node(observed, access, index, endpoint)
        for index in topology.wanted
        if index.shard == shard and (endpoint := _endpoint(access, index)) is not None
    )
    primary = topology.primary(shard)
    own = _endpoint(access, primary) if primary is not None else None
    service = service_of(observed.cluster, shard)
    if own is None:
        return ShardEndpoint(shard=shard, service=service, nodes=nodes)
    return ShardEndpoint(shard=shard, service=service, host=own.host, port=own.port, address=own.address, nodes=nodes)


def _endpoint(access: Access, index: NodeIndex) -> Announcement | None:
    """Where a node can be dialled; while something is missing for that, what clients are told of it all the same."""
    endpoint = access.endpoints.get(index)
    return endpoint if isinstance(endpoint, Announcement) else access.records.get(index)


def _node(observed: Observed, access: Access, index: NodeIndex, endpoint: Announcement) -> NodeEndpoint:
    return NodeEndpoint(
        node=index.node,
        role=role(observed, index),
        host=endpoint.host,
        port=endpoint.port,
        address=endpoint.address,
        announced=index in access.arrived and access.records.get(index) == endpoint,
        waiting_since=stamp(since) if (since := _silent_since(access, index)) is not None else None,
    )


def _silent_since(access: Access, index: NodeIndex) -> datetime | None:
    held = access.withheld.get(index)
    return held.silent_since if held is not None else access.unproven.get(index)


def role(observed: Observed, index: NodeIndex) -> str:
    """Primary or replica by the server's own word, else as last written; empty for one that is neither yet."""
    server = observed.servers.get(index)
    if isinstance(server, Server):
        if server.me.primary:
            return "primary" if server.me.slots else ""
        return "replica"
    record = observed.records.get(index)
    return record.status.role if record is not None else ""
