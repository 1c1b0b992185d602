"""Where clients begin: what the status tells of the Service of all shards, and what keeps the bootstrap host from being told.

No node is told through that host, so none waits for it: only the status and readiness do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.api.conditions import Reason
from valkey_operator.api.external_access import ExternalAccessType
from valkey_operator.core import hosts, load_balancers, names, resolving, sni
from valkey_operator.core.exposure import exposure
from valkey_operator.core.hosts import Missing
from valkey_operator.core.observed import Announcement

if TYPE_CHECKING:
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Observed


def addresses(observed: Observed) -> tuple[str, ...]:
    """Where clients begin (`host:port`).

    What was told last stays while there is no Service for it, since its number is known from nowhere else, and where the bootstrap host is
    the same while nothing leads there.
    """
    cluster, last = observed.cluster, observed.cluster.status.begins_at
    if last and names.bootstrap_service(cluster.name) not in observed.services:
        return last
    if obstacle(observed) is not None:
        return ()
    return exposure(cluster).bootstrap(observed) or (last if hosts.bootstrap(cluster) in resolving.begun_at(cluster) else ())


def is_from_before(observed: Observed) -> bool:
    """Whether clients are told to begin where nothing leads in the way that the spec asks for now.

    Not where that is since something old has to go first.
    """
    cluster = observed.cluster
    if not cluster.spec.external_access.bootstrap_service or not addresses(observed) or exposure(cluster).bootstrap(observed):
        return False
    return awaits_drain(observed) is None


def awaits_drain(observed: Observed) -> Missing | None:
    """That a balancer of another class, or a node's port of that number, has to go before clients can begin in the new way."""
    return load_balancers.bootstrap_of_other_class(observed) or sni.bootstrap_awaits_drain(observed)


def obstacle(observed: Observed) -> Missing | None:
    """What keeps the bootstrap host from being told; None where nothing does, or where there is no such host."""
    cluster = observed.cluster
    host = hosts.bootstrap(cluster)
    if host is None or not cluster.spec.external_access.bootstrap_service:
        return None
    return hosts.no_name("bootstrapHost", host) or _shared(observed, host) or _elsewhere(observed, host)


def sharing(observed: Observed) -> NodeIndex | None:
    """A node that has the host and the port of the bootstrap host, behind which are two Services then; None where there is none.

    Node ports are out of the question: Kubernetes gives each number once.
    """
    cluster, way = observed.cluster, exposure(observed.cluster)
    host = hosts.bootstrap(cluster)
    if host is None or cluster.spec.external_access.type is ExternalAccessType.NODE_PORT:
        return None
    same = [index for index, other in _hosts(observed).items() if other == host]
    if not same:
        return None
    numbers = {(service.name, port.target): port.port for service in way.services(observed) for port in service.ports}
    begin = numbers.get((names.bootstrap_service(cluster.name), names.CLIENT_PORT))
    for index in same:
        service = way.service(cluster, index)
        if numbers.get((service, names.container_port(index)), numbers.get((service, names.CLIENT_PORT))) == begin:
            return index
    return None


def _hosts(observed: Observed) -> dict[NodeIndex, str]:
    """The host of each node: what the user chose, else what is known."""
    cluster = observed.cluster
    if cluster.spec.external_access.advertised_host is None:
        found = exposure(cluster).endpoints(observed)
        return {index: endpoint.host for index, endpoint in found.items() if isinstance(endpoint, Announcement)}
    return hosts.of_nodes(cluster)


def _shared(observed: Observed, host: str) -> Missing | None:
    index = sharing(observed)
    if index is None:
        return None
    cluster = observed.cluster
    service = exposure(cluster).service(cluster, index)
    other = "the load balancer" if hosts.advertised(cluster, index) is None else "spec.externalAccess.advertisedHost"
    return Missing(
        Reason.INVALID_ADVERTISED_HOST,
        f"spec.externalAccess.bootstrapHost (Service {names.bootstrap_service(cluster.name)}) and {other} of node {index} (Service {service}) "
        f"give the same host and port, at {host}, and these can lead to one Service only: set spec.externalAccess.bootstrapHost to a name that "
        "no node has",
    )


def _elsewhere(observed: Observed, host: str) -> Missing | None:
    """What keeps a host that is well from leading to this cluster, once there is something for it to lead to."""
    way = exposure(observed.cluster)
    for address in way.bootstrap(observed):
        if address in observed.claims:
            return Missing(
                Reason.HOST_CLAIMED,
                f"{address} is the endpoint of ValkeyCluster {observed.claims[address]}, which had it before: "
                "set another spec.externalAccess.bootstrapHost",
            )
        if host in resolving.unresolved(observed):
            return resolving.record_to_make(host, way.behind(observed, None))
    return None
