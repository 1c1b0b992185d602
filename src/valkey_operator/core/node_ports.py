"""Services of type NodePort: one per shard with a port per node, one over all shards. Kubernetes allocates, the operator remembers.

A node port once allocated never moves: it is pinned from then on, and asked for again when somebody deletes the Service. `startPort` is
what is asked for at the first allocation and no more than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.api import template
from valkey_operator.core import names
from valkey_operator.core.plan import ExternalService, ServicePort

if TYPE_CHECKING:
    from collections.abc import Iterator

    from valkey_operator.api.external_access import ExternalAccess
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Cluster, Observed, Service

BOOTSTRAP = "np-bootstrap"
_LAST_PORT = 65535


def preferred(access: ExternalAccess, index: NodeIndex) -> int | None:
    """The node port that `startPort` asks for; None where it asks for none, or for one that cannot exist."""
    settings = access.node_port
    if settings.start_port is None:
        return None
    port = settings.start_port + index.node * settings.stride + index.shard
    return port if port <= _LAST_PORT else None


def allocated(service: Service | None, name: str) -> int | None:
    """The node port that a Service really has under a port name, once its own port has followed it."""
    port = service.port(name) if service is not None else None
    return port.node_port if port is not None and port.node_port == port.port else None


def services(observed: Observed) -> Iterator[ExternalService]:
    """The Services that external access needs, with what is allocated already pinned. One that is being deleted is left alone until it is gone."""
    cluster = observed.cluster
    access = cluster.spec.external_access
    for shard in range(cluster.spec.shards):
        name = names.shard_service(cluster.name, shard)
        live = observed.services.get(name)
        if live is not None and live.deleting:
            continue
        yield ExternalService(
            name=name,
            shard=shard,
            type=access.type.value,
            ports=tuple(
                _port(observed, live, names.NodeIndex(shard, node), access=access) for node in range(cluster.spec.replicas + 1)
            ),
            annotations=_annotations(cluster, access, shard=shard),
            traffic_policy=_policy(access),
        )
    name = names.bootstrap_service(cluster.name)
    live = observed.services.get(name)
    if access.bootstrap_service and not (live is not None and live.deleting):
        yield ExternalService(
            name=name,
            shard=None,
            type=access.type.value,
            ports=(_bootstrap_port(observed, live, access),),
            annotations=_annotations(cluster, access, shard=None),
            traffic_policy=_policy(access),
        )


def _policy(access: ExternalAccess) -> str | None:
    return access.external_traffic_policy.value if access.external_traffic_policy is not None else None


def _annotations(cluster: Cluster, access: ExternalAccess, *, shard: int | None) -> dict[str, str]:
    return {
        key: template.render(value, name=cluster.name, namespace=cluster.namespace, shard=shard)
        for key, value in access.service_annotations.items()
    }


def _port(observed: Observed, live: Service | None, index: NodeIndex, *, access: ExternalAccess) -> ServicePort:
    name = names.node_port_name(index.node)
    record = observed.records.get(index)
    last = record.announce.port if record is not None and record.announce is not None else None
    return _asked(
        name,
        pinned=_pinned(live, name),
        preference=last or preferred(access, index),
        target=names.container_port(index),
        own=names.CLIENT_PORT + index.node,
    )


def _bootstrap_port(observed: Observed, live: Service | None, access: ExternalAccess) -> ServicePort:
    told = observed.cluster.status.external_access
    last = (
        next((int(address.rpartition(":")[2]) for address in told.bootstrap.addresses), None) if told and told.bootstrap else None
    )
    return _asked(
        BOOTSTRAP,
        pinned=_pinned(live, BOOTSTRAP),
        preference=last or access.node_port.bootstrap_port,
        target=names.CLIENT_PORT,
        own=names.CLIENT_PORT,
    )


def _pinned(live: Service | None, name: str) -> int | None:
    port = live.port(name) if live is not None else None
    return port.node_port if port is not None else None


def _asked(name: str, *, pinned: int | None, preference: int | None, target: str | int, own: int) -> ServicePort:
    """A port: what it has stays, else what is preferred is asked for, else Kubernetes chooses and `own` is its number until then."""
    if pinned is not None:
        return ServicePort(name, port=pinned, target=target, node_port=pinned)
    if preference is not None:
        return ServicePort(name, port=preference, target=target, node_port=preference, fallback=own)
    return ServicePort(name, port=own, target=target)
