"""The decision: everything that one pass does for one cluster, from everything that was observed. Reads like the life of a cluster."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from valkey_operator.api.conditions import ConditionStatus, ConditionType, Reason
from valkey_operator.core import config, dns, names, places, settings, tls, users
from valkey_operator.core.certificates import covers
from valkey_operator.core.formation import be_believed, formation
from valkey_operator.core.health import health
from valkey_operator.core.listening import listening
from valkey_operator.core.observed import Server
from valkey_operator.core.outside import announcements, object_actions, outside
from valkey_operator.core.plan import (
    AclSecret,
    Announce,
    ConnectionSecret,
    DisruptionBudget,
    Ensure,
    HeadlessService,
    Plan,
    PodLabels,
    Record,
    Remove,
    ServerConfig,
    ServerWorkload,
    SetConfig,
    SystemSecret,
    Tell,
    TlsSecret,
)
from valkey_operator.core.rest import HEALTH, rest_seconds
from valkey_operator.core.risks import risks
from valkey_operator.core.sending_away import is_sending_away, send_away
from valkey_operator.core.status import cluster_status, is_formed, node_status, pod_role
from valkey_operator.core.times import parsed
from valkey_operator.core.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from datetime import datetime

    from valkey_operator.api.status import ExternalAccessStatus
    from valkey_operator.core.health import Health
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Cluster, Observed
    from valkey_operator.core.outside import Outside
    from valkey_operator.core.plan import Action
    from valkey_operator.core.settings import Phase

NEAR = 0.1
"""Seconds: what servers tell each other in a moment."""
LOADING = 0.3
"""Seconds: what a kubelet brings as soon as it can."""
SOON = 1.0
"""Seconds: what takes a while, or has been near for too long."""
DNS = 5.0
"""Seconds: the one thing that cannot be watched."""
AGAIN = 0.5
"""Seconds: between sending away the clients of a demoted node."""
_EXPECTED = timedelta(seconds=60)
"""What has not happened within this time will not happen in a moment."""
_STARTING = timedelta(seconds=30)
"""For so long after its start a silent server is expected to answer any moment."""


def decide(observed: Observed, *, now: datetime) -> Plan:
    """The plan for one pass. Deterministic, and idempotent: the same observation yields the same plan."""
    cluster = observed.cluster
    topology = Topology.of(observed)
    formed = is_formed(cluster.status)
    joining = formation(topology, observed.pods, formed=formed)
    certified = tls.verdict(observed, now=now)
    inside = health(observed, topology, joining, trouble=certified.trouble)
    commands = (*joining.commands, *(be_believed(topology) if inside.linked else ()))
    external = outside(observed, topology, now=now)
    phase = settings.Phase(
        forming=not formed and not inside.whole,
        gossiping=not set(topology.servers) <= external.access.arrived,
        syncing=not inside.linked,
    )
    login = users.access(
        cluster.spec.users,
        secrets=observed.user_passwords,
        passwords=observed.passwords or observed.fresh_passwords,
        standing=observed.acl,
    )
    told = {index: status for index in topology.wanted if (status := node_status(observed, index, now=now)) is not None}
    actions = (
        *_objects(observed, login, external.status, certified.wanted),
        *object_actions(external),
        *dns.actions(observed, external, now=now),
        *announcements(observed, {index: to for index, to in external.access.records.items() if index not in joining.strangers}),
        *_server_settings(observed, phase, joining.strangers),
        *_certificates(observed, joining.strangers),
        *commands,
        *_pod_labels(observed, topology, joining.strangers),
        *send_away(observed, now=now),
    )
    wake_after, quiet = _next_look(observed, inside, external, phase, busy=bool(commands), now=now)
    return Plan(
        actions=actions,
        status=cluster_status(
            observed,
            topology,
            inside,
            external=external.status,
            external_lack=external.lack,
            risks=risks(observed, topology, external.access, login.mistakes, now=now),
            now=now,
        ),
        node_status=told,
        wake_after=wake_after,
        listen=listening(topology) if formed else {},
        # What servers were told just now is looked at whole: a command that failed is not left to the slow looks.
        quiet=quiet and not any(isinstance(action, Tell | Announce) for action in actions),
    )


def _objects(
    observed: Observed, login: users.Access, told: ExternalAccessStatus | None, certificate: TlsSecret | None
) -> Iterator[Action]:
    """The objects that make servers run. Passwords come first: nothing that holds their hashes is written before they are.

    With TLS the certificate does too: no server starts without it.
    """
    cluster = observed.cluster
    text = config.server_config(cluster.spec.config, tls=observed.tls is not None)
    wanted = tuple(names.node_indexes(shards=cluster.spec.shards, replicas=cluster.spec.replicas))
    yield Ensure(SystemSecret(observed.passwords or observed.fresh_passwords))
    yield Ensure(HeadlessService())
    yield Ensure(DisruptionBudget())
    yield Ensure(ServerConfig(text))
    if certificate is not None:
        yield Ensure(certificate)
    for index in wanted:
        if index not in observed.records:
            yield Ensure(Record(index, announce=None))
    if observed.passwords is None:
        return
    yield Ensure(AclSecret(login.acl, users.replication_config(observed.passwords)))
    if login.application is not None:
        username, password = login.application
        bootstrap = told.bootstrap.addresses if told is not None and told.bootstrap is not None and told.ready else ()
        yield Ensure(_connection(observed, username, password, bootstrap))
    if observed.tls is not None and observed.tls.standing is None:
        return
    digest = config.digest(text, login.acl)
    for index in wanted:
        if index in observed.records:
            yield Ensure(ServerWorkload(index, observed.records[index].uid, digest))
    for pod in _stuck(observed):
        yield Remove("Pod", observed.pods[pod].name, observed.pods[pod].uid)


def _connection(observed: Observed, username: str, password: str, external: tuple[str, ...]) -> ConnectionSecret:
    """What applications are told; the host inside is one that they can verify, where there is one."""
    standing = observed.tls.standing if observed.tls is not None else None
    known = places.hosts(observed)
    host = next((host for host in known if standing is not None and covers(standing.names, host)), known[0])
    authorities = standing.files.authorities if standing is not None else None
    return ConnectionSecret(username, password, host, names.CLIENT_PORT, external, authorities)


def _stuck(observed: Observed) -> Iterator[NodeIndex]:
    """Our pods that do not run and were made from an earlier spec: nothing is lost with them, and the new spec may be the cure."""
    for index, pod in sorted(observed.pods.items()):
        work = observed.workloads.get(index)
        outdated = work is not None and pod.owner_uid == work.uid and work.update_revision not in ("", pod.revision)
        if outdated and pod.trouble is not None and not pod.running and not pod.deleting:
            yield index


def _server_settings(observed: Observed, phase: Phase, strangers: Container[NodeIndex]) -> Iterator[Action]:
    """Running values that differ from what they should be now."""
    for index, server in observed.reachable().items():
        if index in strangers:
            continue
        wanted = settings.running(observed.cluster.spec.config, phase, version=server.version)
        differing = settings.drift(wanted, server.config)
        if differing:
            yield Tell(index, SetConfig(differing))


def _certificates(observed: Observed, strangers: Container[NodeIndex]) -> Iterator[Action]:
    """Servers load what stands in their Secret. One whose kubelet has not brought it yet refuses, and is told again."""
    for index in observed.reachable():
        values = tls.to_load(observed, index)
        if values and index not in strangers:
            yield Tell(index, SetConfig(values))


def _pod_labels(observed: Observed, topology: Topology, strangers: Container[NodeIndex]) -> Iterator[Action]:
    """Role and serving, on the pods whose servers answered; one that is of another cluster or knows of no slots serves none of our clients.

    A primary that is silent while another node has its slots is none any more: a Service that selects the primary must not lead to both.
    Where a server has a certificate to load the pod is marked, which calls its kubelet to bring it.
    """
    for index, pod in observed.pods.items():
        if pod.deleting:
            continue
        server = topology.servers.get(index)
        if server is None:
            if pod.role == "primary" and topology.primary(index.shard) not in {None, index}:
                yield Ensure(PodLabels(index, pod.name, pod.uid, "replica", pod.serving, pod.certificate))
            continue
        role = pod_role(observed, index) or pod.role
        tells_slots = any(member.slots for member in server.members)
        serving = role is not None and tells_slots and index not in strangers and (server.state_ok or pod.serving)
        certificate = tls.call(observed, index) or pod.certificate
        if (role, serving, certificate) != (pod.role, pod.serving, pod.certificate):
            yield Ensure(PodLabels(index, pod.name, pod.uid, role, serving, certificate))


def _next_look(
    observed: Observed,
    inside: Health,
    external: Outside,
    phase: Phase,
    *,
    busy: bool,
    now: datetime,
) -> tuple[float, bool]:
    """When to look again if nothing happens before: the nearest of what is awaited; a settled cluster gets a quiet look."""
    waits = [*_inside_waits(observed, inside, phase, busy=busy, now=now), *_outside_waits(observed, external, now=now)]
    return (min(waits), False) if waits else (rest_seconds(observed.cluster), external.lack is None)


def _inside_waits(observed: Observed, inside: Health, phase: Phase, *, busy: bool, now: datetime) -> Iterator[float]:
    near = _near(observed.cluster, ConditionType.READY, now)
    if busy or (phase.forming and observed.reachable()):
        yield near
    if phase.gossiping and not phase.forming:
        yield _near(observed.cluster, ConditionType.EXTERNAL_ACCESS_READY, now) if inside.whole else SOON
    for index, pod in observed.pods.items():
        if pod.running and pod.ip and not isinstance(observed.servers.get(index), Server):
            yield NEAR if pod.started is not None and now < pod.started + _STARTING else SOON
    loading = tls.loading_for(observed, now=now)
    if loading is not None and observed.reachable():
        yield LOADING if loading < tls.PATIENCE else DNS
    if not inside.whole:
        yield SOON if observed.reachable() else HEALTH


def _near(cluster: Cluster, type_: ConditionType, now: datetime) -> float:
    """The pace of what servers tell each other in a moment; slower where it has not happened for long, so that nothing runs hot."""
    return SOON if _late(cluster, type_, now) else NEAR


def _late(cluster: Cluster, type_: ConditionType, now: datetime) -> bool:
    """Whether a condition has not been True for longer than what it waits for should take."""
    condition = cluster.status.condition(type_)
    return (
        condition is not None
        and condition.status is not ConditionStatus.TRUE
        and now > parsed(condition.last_transition_time) + _EXPECTED
    )


def _outside_waits(observed: Observed, external: Outside, *, now: datetime) -> Iterator[float]:
    if external.access.withheld:
        silent = [held.silent_since for held in external.access.withheld.values() if held.silent_since is not None]
        is_new = bool(silent) and now < max(silent) + _EXPECTED
        yield NEAR if is_new or not _late(observed.cluster, ConditionType.EXTERNAL_ACCESS_READY, now) else DNS
    if _POLLED & external.awaited:
        yield DNS
    if external.access.unproven:
        yield HEALTH
    if external.drain is not None:
        yield HEALTH if external.drain.over(now) else max((external.drain.until - now).total_seconds(), NEAR)
    if is_sending_away(observed, now=now):
        yield AGAIN


_POLLED = frozenset({Reason.WAITING_FOR_DNS, Reason.HOST_CLAIMED, Reason.WAITING_FOR_LOAD_BALANCER})
"""What no watch of this cluster tells: resolvers, other clusters, the events of a Service."""
