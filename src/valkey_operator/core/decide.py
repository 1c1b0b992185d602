"""The decision: everything that one pass does for one cluster, from everything that was observed. Reads like the life of a cluster."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from valkey_operator.api.conditions import Reason
from valkey_operator.core import access as external
from valkey_operator.core import config, names, node_ports, places, settings, tls, users
from valkey_operator.core.access_status import draining, external_services, external_status, lack
from valkey_operator.core.certificates import covers
from valkey_operator.core.formation import formation
from valkey_operator.core.health import Lack, health
from valkey_operator.core.observed import Server
from valkey_operator.core.plan import (
    AclSecret,
    Announce,
    AnnounceFile,
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
from valkey_operator.core.risks import risks
from valkey_operator.core.status import cluster_status, is_formed, node_status, pod_role
from valkey_operator.core.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from valkey_operator.api.status import ExternalAccessStatus
    from valkey_operator.core.access import Access
    from valkey_operator.core.access_status import Draining
    from valkey_operator.core.health import Health
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Observed
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
HEALTH = 15.0
"""Seconds between looks at a settled cluster."""
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
    outside = external.access(observed, now=now)
    drain = draining(observed, topology, outside, now=now)
    phase = settings.Phase(
        forming=not formed and not inside.whole,
        gossiping=not set(topology.servers) <= outside.arrived,
        syncing=not inside.linked,
    )
    login = users.access(
        cluster.spec.users,
        secrets=observed.user_passwords,
        passwords=observed.passwords or observed.fresh_passwords,
        standing=observed.acl,
    )
    missing = tls.lack(observed, certified, now=now) if outside.enabled else None
    missing = missing or _external_lack(observed, topology, outside, drain)
    told = external_status(observed, topology, outside, ready=missing is None, drain=drain)
    actions = (
        *_objects(observed, login, told, certified.wanted),
        *_external_objects(observed, drain, now=now),
        *_announcements(observed, outside),
        *_server_settings(observed, phase),
        *_certificates(observed),
        *joining.commands,
        *_pod_labels(observed, topology),
    )
    wake_after, quiet = _next_look(
        observed, inside, outside, phase, missing=missing, drain=drain, busy=bool(joining.commands), now=now
    )
    return Plan(
        actions=actions,
        status=cluster_status(
            observed,
            topology,
            inside,
            external=told,
            external_lack=missing,
            risks=risks(observed, topology, outside, login.mistakes, now=now),
            now=now,
        ),
        node_status={index: status for index in topology.wanted if (status := node_status(observed, index)) is not None},
        wake_after=wake_after,
        quiet=quiet,
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
    known = places.hosts(observed.cluster)
    host = next((host for host in known if standing is not None and covers(standing.names, host)), known[0])
    authorities = standing.files.authorities if standing is not None else None
    return ConnectionSecret(username, password, host, names.CLIENT_PORT, external, authorities)


def _stuck(observed: Observed) -> Iterator[NodeIndex]:
    """Pods that do not run and were made from an earlier spec: nothing is lost with them, and the new spec may be the cure."""
    for index, pod in sorted(observed.pods.items()):
        work = observed.workloads.get(index)
        outdated = work is not None and work.update_revision not in ("", pod.revision)
        if outdated and pod.trouble is not None and not pod.running and not pod.deleting:
            yield index


def _external_objects(observed: Observed, drain: Draining | None, *, now: datetime) -> Iterator[Action]:
    """The Services for external access: as wanted while it is on, untouched while they drain, gone afterwards."""
    access = observed.cluster.spec.external_access
    if access.enabled:
        yield from (Ensure(service) for service in node_ports.services(observed))
        unwanted = [] if access.bootstrap_service else [names.bootstrap_service(observed.cluster.name)]
    else:
        unwanted = external_services(observed) if drain is not None and drain.over(now) else []
    for name in unwanted:
        service = observed.services.get(name)
        if service is not None and service.kind and not service.deleting:
            yield Remove("Service", name, service.uid)


def _announcements(observed: Observed, access: Access) -> Iterator[Action]:
    """What each node announces: changed as one action where record or server differ, kept in record and file otherwise."""
    secured = observed.tls is not None
    version = min((server.version for server in observed.reachable().values()), default=settings.CLIENT_PORT_SINCE)
    for index, announcement in access.records.items():
        record = observed.records.get(index)
        if record is None:
            continue
        place = places.place(observed, index)
        # A certificate may not cover the address that a server begins with by itself.
        written = announcement or (place if places.named_place(observed, index) is not None else None)
        has_file = written is not None or index in observed.files
        file = AnnounceFile(index, record.uid, settings.announce_file(written, version=version, tls=secured)) if has_file else None
        wanted = Record(index, announcement)
        server, pair = observed.servers.get(index), announcement or place
        values: Mapping[str, str] = {}
        if isinstance(server, Server) and pair is not None:
            values = settings.announcing(pair, version=server.version, tls=secured)
        differs = isinstance(server, Server) and bool(settings.drift(values, server.config))
        if record.announce != announcement or differs:
            yield Announce(index, wanted, file, values if differs else None)
        else:
            yield Ensure(wanted)
            if file is not None:
                yield Ensure(file)


def _server_settings(observed: Observed, phase: Phase) -> Iterator[Action]:
    """Running values that differ from what they should be now."""
    for index, server in observed.reachable().items():
        wanted = settings.running(observed.cluster.spec.config, phase, version=server.version)
        differing = settings.drift(wanted, server.config)
        if differing:
            yield Tell(index, SetConfig(differing))


def _certificates(observed: Observed) -> Iterator[Action]:
    """Servers load what stands in their Secret. One whose kubelet has not brought it yet refuses, and is told again."""
    for index in observed.reachable():
        values = tls.to_load(observed, index)
        if values:
            yield Tell(index, SetConfig(values))


def _pod_labels(observed: Observed, topology: Topology) -> Iterator[Action]:
    """Role and serving, on the pods whose servers answered; and where one has a certificate to load, what calls its kubelet."""
    for index, server in topology.servers.items():
        pod = observed.pods.get(index)
        if pod is None or pod.deleting:
            continue
        role = pod_role(observed, index) or pod.role
        serving = server.state_ok and role is not None
        certificate = pod.certificate
        if observed.tls is not None and observed.tls.standing is not None and tls.to_load(observed, index):
            certificate = observed.tls.standing.files.digest
        if (role, serving, certificate) != (pod.role, pod.serving, pod.certificate):
            yield Ensure(PodLabels(index, pod.name, pod.uid, role, serving, certificate))


def _external_lack(observed: Observed, topology: Topology, access: Access, drain: Draining | None) -> Lack | None:
    """What keeps external access from being ready, as a condition tells it; None when it is ready, or off with nothing left of it."""
    if access.enabled:
        found = lack(observed, topology, access)
        return Lack(found.reason, found.message) if found is not None else None
    if not external_services(observed):
        return None
    if drain is None:
        return Lack(Reason.ANNOUNCING, "external access is off; servers are being told to announce their places inside")
    return Lack(
        Reason.DRAINING,
        f"external access is off; its Services stay for clients with old endpoints until {drain.until:%H:%M:%S} UTC",
    )


def _next_look(
    observed: Observed,
    inside: Health,
    outside: Access,
    phase: Phase,
    *,
    missing: Lack | None,
    drain: Draining | None,
    busy: bool,
    now: datetime,
) -> tuple[float, bool]:
    """When to look again if nothing happens before: the nearest of what is awaited; a settled cluster gets a quiet look."""
    waits: list[float] = []
    if busy or (phase.forming and observed.reachable()):
        waits.append(NEAR)
    if phase.gossiping:
        waits.append(NEAR if inside.whole or phase.forming else SOON)
    if outside.withheld:
        waits.append(NEAR)
    if missing is not None and missing.reason is Reason.WAITING_FOR_DNS:
        waits.append(DNS)
    loading = tls.loading_for(observed, now=now)
    if loading is not None and observed.reachable():
        waits.append(LOADING if loading < tls.PATIENCE else DNS)
    if drain is not None:
        waits.append(max((drain.until - now).total_seconds(), NEAR))
    waits += _silent(observed, now=now)
    if not inside.whole:
        waits.append(SOON if observed.reachable() else HEALTH)
    if waits:
        return min(waits), False
    return HEALTH, missing is None


def _silent(observed: Observed, *, now: datetime) -> Iterator[float]:
    """Of each server that runs and does not answer: when it may."""
    for index, pod in observed.pods.items():
        if pod.running and pod.ip and not isinstance(observed.servers.get(index), Server):
            yield NEAR if pod.started is not None and now < pod.started + _STARTING else SOON
