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
from valkey_operator.api.external_access import AnnounceWhen, ExternalAccessType
from valkey_operator.core import hosts, load_balancers, places, resolving, settings, tls
from valkey_operator.core.balancer_words import quoted
from valkey_operator.core.exposure import exposure, shard_addressed
from valkey_operator.core.hosts import Missing
from valkey_operator.core.observed import Announcement, Server
from valkey_operator.core.service_parts import leads
from valkey_operator.core.times import parsed
from valkey_operator.core.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Mapping

    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Observed

PATIENCE = timedelta(seconds=5)
"""How long an endpoint that does not answer the operator is withheld: a firewall may let clients through but not the operator."""
BALANCER_PATIENCE = timedelta(seconds=60)
"""The same behind a load balancer, which clouds report before it works; for as long nobody need miss it, being told none or one that works."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """Why an endpoint that exists is not announced yet."""

    why: str
    silent_since: datetime | None = None
    """Since when the one reason is that the operator, which dials it, gets no answer there."""
    until: datetime | None = None
    """When it is announced all the same; None: not before it is proven."""


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
    unproven: Mapping[NodeIndex, datetime] = field(default_factory=dict)
    """Nodes announced although the operator itself gets no answer at their endpoint, and since when it gets none."""
    arrived: frozenset[NodeIndex] = frozenset()
    """Nodes of which every server that answers tells what it should."""

    @property
    def settled(self) -> bool:
        """Whether every node announces what it should in the end, or until old endpoints are drained, and every server tells it."""
        final = all(self.records.get(index) == endpoint or _waits_for_drain(endpoint) for index, endpoint in self.endpoints.items())
        return final and self.records.keys() <= self.arrived


def access(observed: Observed, *, now: datetime) -> Access:
    """External access as it is and as it should become; `now` bounds the wait for endpoints that do not answer."""
    topology = Topology.of(observed)
    if not observed.cluster.spec.external_access.enabled:
        inside = dict.fromkeys(topology.wanted)
        return Access(enabled=False, endpoints={}, records=inside, arrived=_arrived(observed, inside))
    endpoints = _endpoints(observed)
    current = {index: _current(observed, index, endpoint) for index, endpoint in endpoints.items()}
    doubtful = {
        index: held
        for index, endpoint in endpoints.items()
        if not isinstance(endpoint, Missing)
        and endpoint != current[index]
        and (held := _withheld(observed, topology, index, endpoint, current[index], now=now)) is not None
    }
    unproven = {
        index: held.silent_since
        for index, held in doubtful.items()
        if held.silent_since is not None and held.until is not None and now >= held.until
    }
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
        unproven={**unproven, **_still_silent(observed, records)},
        arrived=_arrived(observed, records),
    )


def candidates(observed: Observed) -> frozenset[Announcement]:
    """The endpoints to dial: those that exist and are not announced yet, and what their nodes announce instead.

    Those that were announced without an answer are dialled again while all is well: nobody who waits for the operator is held up by that.
    """
    if not observed.cluster.spec.external_access.enabled:
        return frozenset()
    well = all(isinstance(server, Server) and server.state_ok for server in observed.servers.values())
    unheard = _still_silent(observed, {index: record.announce for index, record in observed.records.items()})
    found: set[Announcement] = set()
    for index, endpoint in _endpoints(observed).items():
        record = observed.records.get(index)
        if isinstance(endpoint, Missing) or record is None or not isinstance(observed.servers.get(index), Server):
            continue
        if record.announce != endpoint:
            found |= {endpoint} if record.announce is None else {endpoint, record.announce}
        elif well and index in unheard:
            found.add(endpoint)
    return frozenset(found)


def troubled_balancers(observed: Observed) -> tuple[str, ...]:
    """The Services whose load balancer has no address, or was dialled in vain: a cloud may refuse a whole balancer or one more port of it."""
    access = observed.cluster.spec.external_access
    if not access.enabled or access.type is not ExternalAccessType.LOAD_BALANCER:
        return ()
    pending = {service.name for service in observed.services.values() if load_balancers.is_pending(service)}
    in_vain = {
        load_balancers.service_of(observed.cluster, index)
        for index, endpoint in _endpoints(observed).items()
        if not isinstance(endpoint, Missing) and _is_silent(observed, index, endpoint)
    }
    return tuple(sorted(pending | in_vain))


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
    if isinstance(server, Server) and not settings.carries(endpoint, version=server.version):
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
            f"{endpoint.address} is the endpoint of ValkeyCluster {observed.claims[endpoint.address]}, which had it before: "
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
    """What a node announces by its record, unless its server is by now one that cannot: it begins at its place inside, and stays there.

    Where the record says nothing (not yet seen, removed by hand, or emptied by an operator that ended in the middle of turning access off) what
    the server announces, if that is its endpoint or leads to it: while external access is on no node goes back inside.
    """
    record, server = observed.records.get(index), observed.servers.get(index)
    last = record.announce if record is not None else None
    if last is not None and not (isinstance(server, Server) and not settings.carries(last, version=server.version)):
        return last
    if not isinstance(server, Server):
        return None
    if not isinstance(endpoint, Missing):
        values = settings.announcing(endpoint, version=server.version, tls=observed.tls is not None)
        if not settings.drift(values, server.config):
            return endpoint
    told = settings.announced(server.config, tls=observed.tls is not None)
    return told if any(leads(observed.cluster, service, index, told.port) for service in observed.services.values()) else None


def _waits_for_drain(endpoint: Announcement | Missing) -> bool:
    """Whether a node's endpoint comes when old ones are gone, through none of which it is announced."""
    return isinstance(endpoint, Missing) and endpoint.reason is Reason.DRAINING


def _twice(found: Mapping[NodeIndex, Announcement | Missing]) -> dict[str, NodeIndex]:
    """The first node of each endpoint."""
    first: dict[str, NodeIndex] = {}
    for index, endpoint in sorted(found.items(), key=lambda pair: pair[0]):
        if not isinstance(endpoint, Missing):
            first.setdefault(endpoint.address, index)
    return first


def _withheld(
    observed: Observed, topology: Topology, index: NodeIndex, endpoint: Announcement, current: Announcement | None, *, now: datetime
) -> Withheld | None:
    """What keeps an endpoint from being announced instead of the current one; None where it is proven."""
    doubt = _doubt(observed, topology, index, endpoint)
    if doubt is None:
        return _unfollowed(observed, index, now=now)
    if not _is_silent(observed, index, endpoint):
        return Withheld(doubt)
    since = _silent_since(observed, index, endpoint) or now
    spec = observed.cluster.spec.external_access
    if spec.announce_when is not AnnounceWhen.ALWAYS:
        works = current is not None and _doubt(observed, topology, index, current) is None
        if current is not None and works and not load_balancers.kept_out(observed):
            # The operator's way out is open, so the new endpoint does not work yet.
            return Withheld(
                f"{doubt}; clients keep {current.address}, where it gets an answer: if only the operator is kept away from the new one, "
                "set spec.externalAccess.announceWhen to Always",
                since,
            )
        if (current is None or works) and spec.type is ExternalAccessType.LOAD_BALANCER:
            return Withheld(doubt, since, since + BALANCER_PATIENCE)
    return Withheld(doubt, since, since + PATIENCE)


def _doubt(observed: Observed, topology: Topology, index: NodeIndex, endpoint: Announcement) -> str | None:
    """Why an endpoint is not proven to reach its node (where all nodes of a shard share one: its primary); None where it is."""
    server = observed.servers.get(index)
    if not isinstance(server, Server):
        return f"the server of node {index} does not answer"
    probe = observed.probes.get(endpoint)
    if probe is None:
        return f"{endpoint.address} was not dialled yet"
    if probe.id is None:
        return f"{endpoint.address} does not answer the operator: {probe.reason}{quoted(observed, index)}"
    primary = topology.primary(index.shard)
    expected = topology.servers[primary].id if primary is not None and shard_addressed(observed.cluster) else server.id
    if probe.id != expected:
        return f"{endpoint.address} reaches another server than that of node {index}"
    return None


def _unfollowed(observed: Observed, index: NodeIndex, *, now: datetime) -> Withheld | None:
    """What an answer does not prove: at a balancer's address the operator's own Kubernetes node gives it, and the others may follow later."""
    if observed.cluster.spec.external_access.type is not ExternalAccessType.LOAD_BALANCER:
        return None
    name = load_balancers.service_of(observed.cluster, index)
    if now >= observed.followed.get(name, now):
        return None
    return Withheld(
        f"Service {name} has just changed, and more than once: kube-proxies of other Kubernetes nodes follow within a second"
    )


def _is_silent(observed: Observed, index: NodeIndex, endpoint: Announcement) -> bool:
    """Whether an endpoint was dialled in vain although its server is well: it may be the operator's own way there."""
    probe = observed.probes.get(endpoint)
    return isinstance(observed.servers.get(index), Server) and probe is not None and probe.id is None


def _still_silent(observed: Observed, records: Mapping[NodeIndex, Announcement | None]) -> dict[NodeIndex, datetime]:
    """Since when endpoints that were announced in the end give no answer; one that was heard once is proven.

    Who says Always has said that it is no matter.
    """
    if observed.cluster.spec.external_access.announce_when is AnnounceWhen.ALWAYS:
        return {}
    waiting = {index: _silent_since(observed, index, record) for index, record in records.items() if record is not None}
    heard = {endpoint for endpoint, probe in observed.probes.items() if probe.id is not None}
    return {index: since for index, since in waiting.items() if since is not None and records[index] not in heard}


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
