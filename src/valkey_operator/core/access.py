"""External access: which endpoint each node has, what it may announce now, and what of it clients are told already.

The rule that everything hangs on: no client is ever told a pair of host and port that is not reachable at that moment. So a pair is
announced only when it exists whole, when it answers, and, the first time, when all nodes have one; an address that goes missing later
stays announced, and a pod IP is never announced again while external access is on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from valkey_operator.api.conditions import Reason
from valkey_operator.api.external_access import ExternalAccessType
from valkey_operator.core import hosts, names, places, resolving, settings, tls
from valkey_operator.core.exposure import exposure, shard_addressed
from valkey_operator.core.hosts import Missing
from valkey_operator.core.observed import Announcement, Server
from valkey_operator.core.times import parsed
from valkey_operator.core.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Cluster, Observed

PATIENCE = timedelta(seconds=5)
"""How long an endpoint that does not answer the operator is withheld: a firewall may let clients through but not the operator."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """Why an endpoint that exists is not announced yet."""

    why: str
    silent_since: datetime | None = None
    """Since when the one reason is that the operator, which dials it, gets no answer there."""


@dataclass(frozen=True, slots=True)
class Access:
    """What external access looks like at this moment, and what it should become."""

    enabled: bool
    endpoints: Mapping[NodeIndex, Announcement | Missing]
    """Where each node can be dialled from outside, as read back."""
    records: Mapping[NodeIndex, Announcement | None]
    """What each node should announce now; None: its place inside."""
    withheld: Mapping[NodeIndex, Withheld] = field(default_factory=dict)
    """Endpoints that exist but are not announced yet."""
    unproven: frozenset[NodeIndex] = frozenset()
    """Nodes announced although the operator itself got no answer at their endpoint."""
    arrived: frozenset[NodeIndex] = frozenset()
    """Nodes of which every server that answers tells what it should."""

    @property
    def settled(self) -> bool:
        """Whether every node announces what it should in the end, and every server tells it."""
        final = all(self.records.get(index) == endpoint for index, endpoint in self.endpoints.items())
        return final and self.records.keys() <= self.arrived


def access(observed: Observed, *, now: datetime) -> Access:
    """External access as it is and as it should become; `now` bounds the wait for endpoints that do not answer."""
    topology = Topology.of(observed)
    if not observed.cluster.spec.external_access.enabled:
        inside = dict.fromkeys(topology.wanted)
        return Access(enabled=False, endpoints={}, records=inside, arrived=_arrived(observed, inside))
    endpoints = _endpoints(observed)
    current = {index: _current(observed, index, endpoint) for index, endpoint in endpoints.items()}
    doubtful: dict[NodeIndex, Withheld] = {}
    for index, endpoint in endpoints.items():
        if not isinstance(endpoint, Missing) and endpoint != current[index]:
            doubt = _doubt(observed, topology, index, endpoint)
            if doubt is not None:
                silent = _is_silent(observed, index, endpoint)
                doubtful[index] = Withheld(doubt, (_silent_since(observed, index, endpoint) or now) if silent else None)
    unproven = frozenset(
        index for index, held in doubtful.items() if held.silent_since is not None and now >= held.silent_since + PATIENCE
    )
    incomplete = len(unproven) < len(doubtful) or any(isinstance(endpoint, Missing) for endpoint in endpoints.values())
    if all(announcement is None for announcement in current.values()) and (incomplete or tls.uncovered(observed)):
        # The first time all or none: those that have waited long enough go on waiting for the others, since when they did.
        return Access(enabled=True, endpoints=endpoints, records=current, withheld=doubtful, arrived=_arrived(observed, current))
    withheld = {index: held for index, held in doubtful.items() if index not in unproven}
    records = {
        index: current[index] if isinstance(endpoint, Missing) or index in withheld else endpoint
        for index, endpoint in endpoints.items()
    }
    return Access(
        enabled=True,
        endpoints=endpoints,
        records=records,
        withheld=withheld,
        unproven=unproven,
        arrived=_arrived(observed, records),
    )


def candidates(observed: Observed) -> frozenset[Announcement]:
    """The endpoints to dial before anything can be announced: those that exist and are not what their node announces already."""
    if not observed.cluster.spec.external_access.enabled:
        return frozenset()
    return frozenset(
        endpoint
        for index, endpoint in _endpoints(observed).items()
        if not isinstance(endpoint, Missing)
        and isinstance(observed.servers.get(index), Server)
        and (record := observed.records.get(index)) is not None
        and record.announce != endpoint
    )


def claimed(cluster: Cluster) -> frozenset[str]:
    """The endpoints (`host:port`) that a cluster has where they could be another cluster's as well; Kubernetes gives each node port once."""
    access, told = cluster.spec.external_access, cluster.status.external_access
    if not access.enabled or access.type is ExternalAccessType.NODE_PORT or told is None:
        return frozenset()
    nodes = [node.address for shard in told.endpoints for node in shard.nodes] if access.advertised_host is not None else []
    begin = told.bootstrap.addresses if access.bootstrap_host is not None and told.bootstrap is not None else ()
    return frozenset((*nodes, *begin))


def claims(cluster: Cluster, others: Iterable[Cluster]) -> dict[str, str]:
    """The endpoints of clusters that were there before this one, each with its cluster; none where users choose no host of this one."""
    access = cluster.spec.external_access
    if access.advertised_host is None and access.bootstrap_host is None:
        return {}
    older = (other for other in others if (other.created, other.uid) < (cluster.created, cluster.uid))
    return {address: f"{other.namespace}/{other.name}" for other in older for address in claimed(other)}


def pending_balancers(observed: Observed) -> tuple[str, ...]:
    """The Services that have been waiting for a load balancer's address."""
    access = observed.cluster.spec.external_access
    if not access.enabled or access.type is not ExternalAccessType.LOAD_BALANCER:
        return ()
    services = sorted(observed.services.values(), key=lambda service: service.name)
    return tuple(service.name for service in services if service.type == "LoadBalancer" and not service.ingress)


def _endpoints(observed: Observed) -> dict[NodeIndex, Announcement | Missing]:
    """Where each node can be dialled, or the first thing that keeps it from being announced there."""
    found = exposure(observed.cluster).endpoints(observed)
    unresolved = resolving.unresolved(observed)
    twice = {} if shard_addressed(observed.cluster) else _twice(found)
    return {
        index: endpoint if isinstance(endpoint, Missing) else _obstacle(observed, index, endpoint, unresolved, twice) or endpoint
        for index, endpoint in found.items()
    }


def _obstacle(
    observed: Observed, index: NodeIndex, endpoint: Announcement, unresolved: frozenset[str], twice: Mapping[str, NodeIndex]
) -> Missing | None:
    """What keeps an endpoint that exists from being announced at all."""
    server = observed.servers.get(index)
    if isinstance(server, Server) and server.version < settings.CLIENT_PORT_SINCE and endpoint.port != names.CLIENT_PORT:
        version = ".".join(str(part) for part in server.version)
        return Missing(
            Reason.UNSUPPORTED_VALKEY_VERSION,
            f"node {index} runs Valkey {version}, which cannot announce a port to clients: set spec.image to Valkey 9.0 or newer",
        )
    if twice.get(endpoint.address, index) != index:
        return Missing(
            Reason.INVALID_ADVERTISED_HOST,
            f"spec.externalAccess.advertisedHost gives nodes {twice[endpoint.address]} and {index} the same endpoint {endpoint.address}: "
            "separate its placeholders, as in {shard}-{node}",
        )
    if hosts.advertised(observed.cluster, index) is not None and endpoint.address in observed.claims:
        return Missing(
            Reason.HOST_CLAIMED,
            f"{endpoint.address} is the endpoint of ValkeyCluster {observed.claims[endpoint.address]}, which was there before: "
            "set another spec.externalAccess.advertisedHost or advertisedPort",
        )
    if endpoint.host in unresolved:
        return resolving.record_to_make(endpoint.host, exposure(observed.cluster).behind(observed, index))
    if endpoint.host in hosts.chosen(observed.cluster) and not tls.presents(observed, index, endpoint.host):
        return Missing(
            Reason.CERTIFICATE_MISSING_NAMES, f"the server of node {index} has no certificate yet that covers {endpoint.host}"
        )
    return None


def _current(observed: Observed, index: NodeIndex, endpoint: Announcement | Missing) -> Announcement | None:
    """What a node announces by its record; where that says nothing (not yet seen, or removed by hand) its endpoint if the server announces that."""
    record, server = observed.records.get(index), observed.servers.get(index)
    if record is not None and record.announce is not None:
        return record.announce
    if isinstance(endpoint, Missing) or not isinstance(server, Server):
        return None
    values = settings.announcing(endpoint, version=server.version, tls=observed.tls is not None)
    return None if settings.drift(values, server.config) else endpoint


def _twice(found: Mapping[NodeIndex, Announcement | Missing]) -> dict[str, NodeIndex]:
    """The first node of each endpoint."""
    first: dict[str, NodeIndex] = {}
    for index, endpoint in sorted(found.items(), key=lambda pair: pair[0]):
        if not isinstance(endpoint, Missing):
            first.setdefault(endpoint.address, index)
    return first


def _doubt(observed: Observed, topology: Topology, index: NodeIndex, endpoint: Announcement) -> str | None:
    """Why an endpoint is not proven to reach its node (where all nodes of a shard share one: its primary); None where it is."""
    server = observed.servers.get(index)
    if not isinstance(server, Server):
        return f"the server of node {index} does not answer"
    probe = observed.probes.get(endpoint)
    if probe is None:
        return f"{endpoint.address} was not dialled yet"
    if probe.id is None:
        return f"{endpoint.address} does not answer the operator: {probe.reason}"
    primary = topology.primary(index.shard)
    expected = topology.servers[primary].id if primary is not None and shard_addressed(observed.cluster) else server.id
    if probe.id != expected:
        return f"{endpoint.address} reaches another server than that of node {index}"
    return None


def _is_silent(observed: Observed, index: NodeIndex, endpoint: Announcement) -> bool:
    """Whether an endpoint was dialled in vain although its server is well: it may be the operator's own way there."""
    probe = observed.probes.get(endpoint)
    return isinstance(observed.servers.get(index), Server) and probe is not None and probe.id is None


def _silent_since(observed: Observed, index: NodeIndex, endpoint: Announcement) -> datetime | None:
    """Since when the status tells that this very endpoint is dialled in vain."""
    told = observed.cluster.status.external_access
    for shard in told.endpoints if told is not None else ():
        for node in shard.nodes:
            if (shard.shard, node.node, node.address) == (index.shard, index.node, endpoint.address) and node.waiting_since:
                return parsed(node.waiting_since)
    return None


def _arrived(observed: Observed, records: Mapping[NodeIndex, Announcement | None]) -> frozenset[NodeIndex]:
    """The nodes whose pair every server that answers tells. The proof is the other servers' word, not what was sent."""
    servers = observed.reachable()
    told: dict[str, set[tuple[str, int]]] = {}
    tellers: dict[str, int] = {}
    for server in servers.values():
        for member in server.members:
            told.setdefault(member.id, set()).add((member.hostname, member.port))
            tellers[member.id] = tellers.get(member.id, 0) + 1
    arrived = set()
    for index, record in records.items():
        asked, pair = servers.get(index), places.told(observed, index, record)
        if asked is None or pair is None:
            continue
        if told.get(asked.id) == {pair} and tellers[asked.id] == len(servers):
            arrived.add(index)
    return frozenset(arrived)
