"""What Services for external access have in common, whatever their type."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from valkey_operator.api import template
from valkey_operator.api.conditions import Reason
from valkey_operator.core import hosts, names, ports
from valkey_operator.core.hosts import Missing
from valkey_operator.core.observed import Balancing
from valkey_operator.core.plan import ExternalService, ServiceRole

if TYPE_CHECKING:
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Cluster, Observed, Service
    from valkey_operator.core.plan import ServicePort


NO_BALANCING = Balancing()


def shard_service(
    cluster: Cluster,
    shard: int,
    *,
    type_: str,
    ports: tuple[ServicePort, ...],
    balancing: Balancing = NO_BALANCING,
    only: NodeIndex | None = None,
) -> ExternalService:
    """The Service of one shard, or of `only` one node of it."""
    service = ExternalService(
        name=names.shard_service(cluster.name, shard),
        role=ServiceRole.SHARD,
        type=type_,
        ports=ports,
        selector={names.SHARD_INDEX: str(shard)} | ({names.NODE_INDEX: str(only.node)} if only is not None else {}),
        shard=shard,
        balancing=balancing,
    )
    return _as_told(service, cluster, shard=shard)


def node_service(
    cluster: Cluster, index: NodeIndex, *, type_: str, ports: tuple[ServicePort, ...], balancing: Balancing = NO_BALANCING
) -> ExternalService:
    """The Service of one node."""
    service = ExternalService(
        name=names.node_service(cluster.name, index),
        role=ServiceRole.NODE,
        type=type_,
        ports=ports,
        selector={names.SHARD_INDEX: str(index.shard), names.NODE_INDEX: str(index.node)},
        shard=index.shard,
        balancing=balancing,
    )
    return _as_told(service, cluster, shard=index.shard, node=index.node)


def bootstrap_service(
    cluster: Cluster, *, type_: str, ports: tuple[ServicePort, ...], balancing: Balancing = NO_BALANCING
) -> ExternalService:
    """The Service over all pods that serve: an empty server that is Ready would tell a client nothing."""
    service = ExternalService(
        name=names.bootstrap_service(cluster.name),
        role=ServiceRole.BOOTSTRAP,
        type=type_,
        ports=ports,
        selector={names.SERVING: "true"},
        balancing=balancing,
        publish_not_ready=False,
    )
    return _as_told(service, cluster)


def _as_told(service: ExternalService, cluster: Cluster, *, shard: int | None = None, node: int | None = None) -> ExternalService:
    """The Service with what the user says of every Service made for external access.

    An annotation that names a shard or a node is left out on a Service that is of none.
    """
    access = cluster.spec.external_access
    policy = access.external_traffic_policy if service.type != "ClusterIP" else None
    unknown = {"shard"} if shard is None else set()
    unknown |= {"node"} if node is None else set()
    return replace(
        service,
        annotations={
            key: template.render(value, name=cluster.name, namespace=cluster.namespace, shard=shard, node=node)
            for key, value in access.service_annotations.items()
            if not template.placeholders(value) & unknown
        },
        traffic_policy=policy.value if policy is not None else None,
        ip_families=hosts.wanted_families(cluster),
    )


def leads(cluster: Cluster, service: Service, index: NodeIndex, number: int, *, kind: str = "") -> bool:
    """Whether a Service leads to just that node at that number, by a port of any kind or of that one."""
    alone = service.name == names.node_service(cluster.name, index)
    ours = ports.without_others(service).ports
    there = (port for port in ours if port.port == number and kind in ("", ports.kind_of(port.name)))
    return any(alone or port.target == names.container_port(index) for port in there)


def known_number(observed: Observed, index: NodeIndex | None) -> int | None:
    """The number by which clients know a node, or all shards (None), to ask for again where somebody deleted the Service; None where they know none.

    Nor where another Service leads to the node at it: that one has the endpoint.
    """
    if index is None:
        return next((int(address.rpartition(":")[2]) for address in observed.cluster.status.begins_at), None)
    record = observed.records.get(index)
    number = record.announce.port if record is not None and record.announce is not None else None
    if number is None or any(leads(observed.cluster, service, index, number) for service in observed.services.values()):
        return None
    return number


def going(service: Service | None) -> Missing | None:
    """That a Service is being deleted; None where it is not."""
    if service is None or not service.deleting:
        return None
    return Missing(
        Reason.ALLOCATING_PORTS,
        f"Service {service.name} is being deleted and is made anew once it is gone: while it stays, its metadata.finalizers name who holds it",
    )


def keeps_class(wanted: ExternalService, live: Service | None) -> bool:
    """Whether a Service is a load balancer of another class than is wanted: Kubernetes keeps that until the Service is of another type.

    Where no class is wanted one that a cloud set itself is as good as none.
    """
    if live is None or live.deleting or not live.type == wanted.type == "LoadBalancer":
        return False
    asked = wanted.balancing.load_balancer_class
    return asked != live.balancing.load_balancer_class and (asked is None or asked != live.foreign_class)


def fixed_family(cluster: Cluster, service: Service) -> Missing | None:
    """What to do about a Service whose first family is not wanted: Kubernetes keeps it as long as the Service lives. None where there is no need."""
    wanted = hosts.wanted_families(cluster)
    if not wanted or not service.families or service.families[0] in wanted:
        return None
    first = service.families[0]
    return Missing(
        Reason.SERVICE_CONFLICT,
        f"Service {service.name} has {first} as its first family for as long as it lives: add {first} to "
        "spec.externalAccess.ipFamilies, or set spec.externalAccess.enabled to false until the Service is gone",
    )
