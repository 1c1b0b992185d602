"""Risks that are allowed: told in the condition `ConfigurationWarning`, never in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.api.conditions import Reason
from valkey_operator.core import hosts, load_balancers, names, node_ports, places, tls, users
from valkey_operator.core.balancer_words import quoted
from valkey_operator.core.certificates import covers, missing_names
from valkey_operator.core.exposure import exposure, shard_addressed
from valkey_operator.core.health import Lack
from valkey_operator.core.observed import Announcement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from valkey_operator.core.access import Access
    from valkey_operator.core.observed import Observed
    from valkey_operator.core.topology import Topology

_HANDOVER_SECONDS = 15
"""What a primary needs at most to hand over before it stops (cluster-manual-failover-timeout of 5 s), and to stop."""


def risks(observed: Observed, topology: Topology, access: Access, mistakes: tuple[str, ...], *, now: datetime) -> tuple[Lack, ...]:
    """Everything worth a warning; `mistakes` are those of the users' Secrets."""
    return (
        *(Lack(Reason.USERS_ACL_ERROR, mistake) for mistake in mistakes),
        *_outdated(observed, topology),
        *_grace_period(observed),
        *_certificate(observed, now=now),
        *(_external(observed, topology, access) if access.enabled else ()),
    )


def _outdated(observed: Observed, topology: Topology) -> Iterator[Lack]:
    outdated = [
        pod.name
        for index in topology.wanted
        if (pod := observed.pods.get(index))
        and (work := observed.workloads.get(index))
        and work.update_revision not in ("", pod.revision)
    ]
    if outdated:
        yield Lack(
            Reason.PODS_OUTDATED,
            f"{len(outdated)} pods were made from an earlier spec ({outdated[0]} is the first): this version does not replace them by itself; "
            "delete them one by one, replicas first, and wait for Ready in between",
        )


def _grace_period(observed: Observed) -> Iterator[Lack]:
    seconds = observed.cluster.spec.termination_grace_period_seconds
    if seconds < _HANDOVER_SECONDS:
        yield Lack(
            Reason.GRACE_PERIOD_TOO_SHORT,
            f"spec.terminationGracePeriodSeconds is {seconds}: a primary may be killed before it has handed over; set at least {_HANDOVER_SECONDS}",
        )


def _certificate(observed: Observed, *, now: datetime) -> Iterator[Lack]:
    """What of a certificate in use will be, or is already, in somebody's way."""
    standing = observed.tls.standing if observed.tls is not None else None
    if standing is None:
        return
    warning = tls.expiry(observed, now=now)
    if warning is not None:
        yield Lack(Reason.CERTIFICATE_EXPIRES, warning)
    cluster = observed.cluster
    host = names.headless_host(cluster.name, cluster.namespace)
    missing = []
    if not any(covers(standing.names, known) for known in places.hosts(observed)):
        missing.append(host)
    if any(places.named_place(observed, index) is None for index in observed.pods):
        missing.append(f"*.{host}")
    if missing:
        yield Lack(
            Reason.CERTIFICATE_MISSING_NAMES,
            f"the servers' certificate does not cover {' and '.join(missing)}: clients inside Kubernetes that verify names cannot connect by "
            "them, and are told pod addresses; issue it with these names",
        )


def _unverifiable(observed: Observed, access: Access) -> Iterator[Lack]:
    """Addresses outside that nobody chose, so that they are announced in any case."""
    standing = observed.tls.standing if observed.tls is not None else None
    if standing is None:
        return
    found = [endpoint.host for endpoint in access.endpoints.values() if isinstance(endpoint, Announcement)]
    missing = [host for host in missing_names(standing, sorted(found)) if host not in hosts.chosen(observed.cluster)]
    if missing:
        yield Lack(
            Reason.CERTIFICATE_MISSING_NAMES,
            f"the servers' certificate does not cover {', '.join(missing)}, where clients outside dial: those that verify names cannot connect; "
            "issue it with these addresses, or set spec.externalAccess.advertisedHost to names that it covers",
        )


def _external(observed: Observed, topology: Topology, access: Access) -> Iterator[Lack]:
    spec = observed.cluster.spec
    settings = spec.external_access
    if observed.tls is None:
        yield Lack(
            Reason.EXTERNAL_ACCESS_WITHOUT_TLS,
            "clients outside talk to the servers without TLS: whoever is on the way can read passwords and data",
        )
    yield from _unverifiable(observed, access)
    if any(user.name == users.DEFAULT and users.is_open(user) for user in spec.users):
        yield Lack(
            Reason.DEFAULT_USER_OPEN,
            "the user default needs no password and the cluster can be reached from outside: take nopass out of its entry in spec.users, "
            "its permissions included, and give it a password",
        )
    moved = [
        f"{wanted} of node {index} (it has {port})"
        for index in topology.wanted
        if (wanted := node_ports.preferred(settings, index)) is not None
        and (port := _node_port(observed, index)) is not None
        and port != wanted
    ]
    if moved:
        yield Lack(
            Reason.PREFERRED_PORT_TAKEN,
            f"node ports asked for by spec.externalAccess.nodePort.startPort were taken or are outside the API server's range: {', '.join(moved)}; "
            "what was allocated instead is kept for ever",
        )
    wanted_bootstrap = settings.node_port.bootstrap_port
    bootstrap = observed.services.get(names.bootstrap_service(observed.cluster.name))
    given = node_ports.allocated(bootstrap, node_ports.BOOTSTRAP)
    if wanted_bootstrap is not None and given is not None and given != wanted_bootstrap:
        yield Lack(
            Reason.PREFERRED_PORT_TAKEN,
            f"node port {wanted_bootstrap} asked for by spec.externalAccess.nodePort.bootstrapPort was taken or is outside the API server's range; "
            f"{given} is kept for ever",
        )
    if shard_addressed(observed.cluster):
        yield Lack(
            Reason.REPLICAS_NOT_REACHABLE,
            "advertisedHost does not tell the nodes of a shard apart, so that clients outside reach primaries only: add {node} to it",
        )
    kept_out = load_balancers.kept_out(observed)
    if kept_out:
        yield Lack(
            Reason.SOURCE_RANGES,
            f"spec.externalAccess.loadBalancerSourceRanges keeps pods out ({kept_out[0]}): clients inside Kubernetes are told the same "
            "endpoints and may not reach them; add the pod network",
        )
    yield from _left_out(observed)
    if settings.type != "LoadBalancer" and settings.external_traffic_policy == "Local" and settings.advertised_host is not None:
        yield Lack(
            Reason.LOCAL_TRAFFIC_POLICY,
            "with externalTrafficPolicy Local only the Kubernetes node that runs a pod answers, and advertisedHost does not follow the pod: "
            "remove advertisedHost, or use externalTrafficPolicy Cluster",
        )
    if access.unproven:
        unproven = ", ".join(str(index) for index in sorted(access.unproven))
        said = "".join(dict.fromkeys(quoted(observed, index) for index in sorted(access.unproven)))
        yield Lack(
            Reason.ENDPOINTS_UNPROVEN,
            f"the operator gets no answer at the endpoints of nodes {unproven}, which are announced all the same: "
            f"make sure that clients outside can reach them{said}",
        )


def _left_out(observed: Observed) -> Iterator[Lack]:
    """Annotations that name a shard or a node where no Service is of just one."""
    wanted = observed.cluster.spec.external_access.service_annotations
    if not wanted:
        return
    carried = {key for service in exposure(observed.cluster).services(observed) for key in service.annotations}
    if left_out := sorted(wanted.keys() - carried):
        yield Lack(
            Reason.ANNOTATIONS_LEFT_OUT,
            f"spec.externalAccess.serviceAnnotations has values that no Service can have: {', '.join(left_out)}; with this type and scope each "
            "Service is of more than the one shard or node that they name: take {shard} and {node} out of them as far as that is so",
        )


def _node_port(observed: Observed, index: names.NodeIndex) -> int | None:
    service = observed.services.get(names.shard_service(observed.cluster.name, index.shard))
    return node_ports.allocated(service, node_ports.port_name(index.node))
