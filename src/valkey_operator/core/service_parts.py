"""What Services for external access have in common, whatever their type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.api import template
from valkey_operator.core import names
from valkey_operator.core.plan import ExternalService, ServiceRole

if TYPE_CHECKING:
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Balancing, Cluster
    from valkey_operator.core.plan import ServicePort


def shard_service(
    cluster: Cluster, shard: int, type_: str, ports: tuple[ServicePort, ...], *, balancing: Balancing | None = None, role: str = ""
) -> ExternalService:
    """The Service of one shard; with a `role`, of its pods of that role."""
    selector = {names.SHARD_INDEX: str(shard)} | ({names.ROLE: role} if role else {})
    return _service(
        cluster, names.shard_service(cluster.name, shard), ServiceRole.SHARD, type_, ports, selector, shard=shard, balancing=balancing
    )


def node_service(
    cluster: Cluster, index: NodeIndex, type_: str, ports: tuple[ServicePort, ...], *, balancing: Balancing | None = None
) -> ExternalService:
    """The Service of one node."""
    selector = {names.SHARD_INDEX: str(index.shard), names.NODE_INDEX: str(index.node)}
    return _service(
        cluster,
        names.node_service(cluster.name, index),
        ServiceRole.NODE,
        type_,
        ports,
        selector,
        shard=index.shard,
        node=index.node,
        balancing=balancing,
    )


def bootstrap_service(
    cluster: Cluster, type_: str, ports: tuple[ServicePort, ...], *, balancing: Balancing | None = None
) -> ExternalService:
    """The Service over all pods that serve: an empty server that is Ready would tell a client nothing."""
    return _service(
        cluster,
        names.bootstrap_service(cluster.name),
        ServiceRole.BOOTSTRAP,
        type_,
        ports,
        {names.SERVING: "true"},
        balancing=balancing,
    )


def _service(
    cluster: Cluster,
    name: str,
    role: ServiceRole,
    type_: str,
    ports: tuple[ServicePort, ...],
    selector: dict[str, str],
    *,
    shard: int | None = None,
    node: int | None = None,
    balancing: Balancing | None = None,
) -> ExternalService:
    access = cluster.spec.external_access
    policy = access.external_traffic_policy if type_ != "ClusterIP" else None
    annotations = {
        key: template.render(value, name=cluster.name, namespace=cluster.namespace, shard=shard, node=node)
        for key, value in access.service_annotations.items()
    }
    more = {"balancing": balancing} if balancing is not None else {}
    return ExternalService(
        name=name,
        role=role,
        type=type_,
        ports=ports,
        selector=selector,
        shard=shard,
        annotations=annotations,
        traffic_policy=policy.value if policy is not None else None,
        ip_families=tuple(family.value for family in access.ip_families),
        publish_not_ready=role is not ServiceRole.BOOTSTRAP,
        **more,
    )
