"""External access: which endpoint each node has, what it may announce now, and what of it clients are told already.

The rule that everything hangs on: no client is ever told a pair of host and port that is not reachable at that moment. So a pair is
announced only when it exists whole, when it answers, and, the first time, when all nodes have one; an address that goes missing later
stays announced, and a pod IP is never announced again while external access is on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from valkey_operator.api.conditions import Reason
from valkey_operator.api.external_access import AnnounceWhen
from valkey_operator.core import hosts, names, node_ports, settings, tls
from valkey_operator.core.hosts import Missing
from valkey_operator.core.observed import Announcement, Server
from valkey_operator.core.places import told
from valkey_operator.core.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Observed

PATIENCE = timedelta(seconds=5)
"""How long an endpoint that does not answer the operator is withheld: a firewall may let clients through but not the operator."""


@dataclass(frozen=True, slots=True)
class Access:
    """What external access looks like at this moment, and what it should become."""

    enabled: bool
    endpoints: Mapping[NodeIndex, Announcement | Missing]
    """Where each node can be dialled from outside, as read back."""
    records: Mapping[NodeIndex, Announcement | None]
    """What each node should announce now; None: its place inside."""
    withheld: Mapping[NodeIndex, str] = field(default_factory=dict)
    """Endpoints that exist but are not announced yet, and why."""
    unproven: frozenset[NodeIndex] = frozenset()
    """Nodes announced although the operator itself got no answer at their endpoint."""
    arrived: frozenset[NodeIndex] = frozenset()
    """Nodes of which every server that answers tells what it should."""


def access(observed: Observed, *, now: datetime) -> Access:
    """External access as it is and as it should become; `now` bounds the wait for endpoints that do not answer."""
    wanted = Topology.of(observed).wanted
    current = {index: record.announce if (record := observed.records.get(index)) else None for index in wanted}
    if not observed.cluster.spec.external_access.enabled:
        inside = dict.fromkeys(wanted)
        return Access(enabled=False, endpoints={}, records=inside, arrived=_arrived(observed, inside))
    endpoints = _endpoints(observed)
    withheld: dict[NodeIndex, str] = {}
    unproven: set[NodeIndex] = set()
    for index, endpoint in endpoints.items():
        if isinstance(endpoint, Missing) or endpoint == current[index]:
            continue
        doubt = _doubt(observed, index, endpoint)
        if doubt is not None and _may_wait(observed, index, endpoint, now=now):
            withheld[index] = doubt
        elif doubt is not None:
            unproven.add(index)
    first_time = all(announcement is None for announcement in current.values())
    if first_time and (
        withheld or tls.uncovered(observed) or any(isinstance(endpoint, Missing) for endpoint in endpoints.values())
    ):
        records = current
    else:
        records = {
            index: current[index] if isinstance(endpoint, Missing) or index in withheld else endpoint
            for index, endpoint in endpoints.items()
        }
    return Access(
        enabled=True,
        endpoints=endpoints,
        records=records,
        withheld=withheld,
        unproven=frozenset(unproven),
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


def names_to_resolve(observed: Observed) -> frozenset[str]:
    """The advertised names that must resolve before they are announced."""
    spec = observed.cluster.spec.external_access
    if not spec.enabled or spec.announce_when is not AnnounceWhen.RESOLVABLE:
        return frozenset()
    told = {record.announce.host for record in observed.records.values() if record.announce is not None}
    rendered = {hosts.advertised(observed.cluster, spec, index) for index in Topology.of(observed).wanted}
    return frozenset(name for name in rendered if name is not None and not hosts.is_ipv4(name) and name not in told)


def _endpoints(observed: Observed) -> dict[NodeIndex, Announcement | Missing]:
    addresses = hosts.machine_addresses(observed, observed.cluster.spec.external_access)
    return {index: _endpoint(observed, index, addresses) for index in Topology.of(observed).wanted}


def _endpoint(observed: Observed, index: NodeIndex, addresses: Mapping[str, str] | Missing) -> Announcement | Missing:
    cluster = observed.cluster
    name = names.shard_service(cluster.name, index.shard)
    port = node_ports.allocated(observed.services.get(name), names.node_port_name(index.node))
    if port is None:
        return Missing(Reason.ALLOCATING_PORTS, f"Service {name} has no node port for node {index} yet")
    server = observed.servers.get(index)
    if isinstance(server, Server) and server.version < settings.CLIENT_PORT_SINCE:
        version = ".".join(str(part) for part in server.version)
        return Missing(
            Reason.UNSUPPORTED_VALKEY_VERSION,
            f"node {index} runs Valkey {version}, which cannot announce a port to clients: set spec.image to Valkey 9.0 or newer",
        )
    host = hosts.host_of(observed, cluster.spec.external_access, index, addresses)
    if isinstance(host, Missing):
        return host
    if host.name in names_to_resolve(observed) and not observed.resolved.get(host.name, False):
        where = ", ".join(sorted(set(addresses.values()))) if not isinstance(addresses, Missing) else "the Kubernetes nodes"
        return Missing(
            Reason.WAITING_FOR_DNS,
            f"{host.name} does not resolve inside the Kubernetes cluster: make a DNS record {host.name} → {where}, "
            "or set spec.externalAccess.announceWhen to Always",
        )
    if host.name in hosts.chosen(cluster) and not tls.presents(observed, index, host.name):
        return Missing(Reason.CERTIFICATE_MISSING_NAMES, f"the certificate of node {index} does not cover {host.name}")
    return Announcement(host.name, port, host.ipv4)


def _doubt(observed: Observed, index: NodeIndex, endpoint: Announcement) -> str | None:
    """Why an endpoint is not proven to reach its node; None where it is."""
    server = observed.servers.get(index)
    if not isinstance(server, Server):
        return f"the server of node {index} does not answer"
    probe = observed.probes.get(endpoint)
    if probe is None:
        return f"{endpoint.address} was not dialled yet"
    if probe.id is None:
        return f"{endpoint.address} does not answer the operator: {probe.reason}"
    if probe.id != server.id:
        return f"{endpoint.address} reaches another server than that of node {index}"
    return None


def _may_wait(observed: Observed, index: NodeIndex, endpoint: Announcement, *, now: datetime) -> bool:
    """Whether an endpoint that is not proven is still withheld: for ever where another server answers or the node's own does not."""
    server, pod = observed.servers.get(index), observed.pods.get(index)
    service = observed.services.get(names.shard_service(observed.cluster.name, index.shard))
    if not isinstance(server, Server) or pod is None or pod.started is None or service is None:
        return True
    probe = observed.probes.get(endpoint)
    if probe is None or probe.id is not None:
        return True
    return now < max(service.created, pod.started) + PATIENCE


def _arrived(observed: Observed, records: Mapping[NodeIndex, Announcement | None]) -> frozenset[NodeIndex]:
    """The nodes whose pair every server that answers tells. The proof is the other servers' word, not what was sent."""
    servers = observed.reachable()
    heard: dict[str, set[tuple[str, int]]] = {}
    for server in servers.values():
        for member in server.members:
            heard.setdefault(member.id, set()).add((member.hostname, member.port))
    arrived = set()
    for index, record in records.items():
        asked, pair = servers.get(index), told(observed, index, record)
        if asked is None or pair is None:
            continue
        if heard.get(asked.id) == {pair} and all(
            any(member.id == asked.id for member in other.members) for other in servers.values()
        ):
            arrived.add(index)
    return frozenset(arrived)
