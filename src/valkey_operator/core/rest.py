"""A cluster at rest: one server's view is enough to tell that nothing happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.api.conditions import ConditionType
from valkey_operator.core import places, settings, tls
from valkey_operator.core.exposure import shard_addressed
from valkey_operator.core.observed import Server
from valkey_operator.core.topology import united
from valkey_operator.valkey.slots import ALL

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Cluster, NodeRecord, Observed
    from valkey_operator.valkey.topology import Member

HEALTH = 15.0
"""Seconds between looks at a settled cluster."""
ROLES = 1.0
"""The same where the operator is in the clients' way: it must see a failover at once to send them to the new primary."""

_CALM = settings.Phase(forming=False, gossiping=False, syncing=False)


def rest_seconds(cluster: Cluster) -> float:
    """How long a settled cluster is left alone."""
    access = cluster.spec.external_access
    return ROLES if access.enabled and shard_addressed(cluster) else HEALTH


def undisturbed(observed: Observed, index: NodeIndex, *, now: datetime) -> bool:
    """Whether that node's server, the only one asked, sees all nodes as they are recorded, and has the values that it should have."""
    server = observed.servers.get(index)
    if not isinstance(server, Server) or not server.state_ok or not server.link_up:
        return False
    if settings.drift(_values(observed, index, server), server.config):
        return False
    if observed.tls is not None and not (tls.loaded(observed, index) and _warned(observed, now=now)):
        return False
    members = {member.id: member for member in server.members}
    recorded = {record.status.node_id: node for node, record in observed.records.items()}
    if members.keys() != recorded.keys() or united(member.slots for member in server.members) != ALL:
        return False
    return all(_as_recorded(observed, observed.records[node], node, members[node_id]) for node_id, node in recorded.items())


def _warned(observed: Observed, *, now: datetime) -> bool:
    """Whether the status tells already what time alone brings about: that the certificate is about to expire, or did."""
    warning = tls.expiry(observed, now=now)
    condition = observed.cluster.status.condition(ConditionType.CONFIGURATION_WARNING)
    return warning is None or (condition is not None and warning in condition.message)


def _values(observed: Observed, index: NodeIndex, server: Server) -> Mapping[str, str]:
    """The values that a server should have at rest, what it announces included."""
    record = observed.records.get(index)
    pair = (record.announce if record is not None else None) or places.place(observed, index)
    values = settings.running(observed.cluster.spec.config, _CALM, version=server.version)
    if pair is not None:
        values |= settings.announcing(pair, version=server.version, tls=observed.tls is not None)
    return values | places.among_servers(observed, index)


def _as_recorded(observed: Observed, record: NodeRecord, index: NodeIndex, member: Member) -> bool:
    """Whether a node has the role, the health and the announcement that its record tells."""
    pod = observed.pods.get(index)
    if pod is None or pod.ip is None or member.failed or member.suspected:
        return False
    role = "primary" if member.primary else "replica"
    return (member.hostname, member.port) == places.told(observed, index, record.announce) and role == record.status.role
