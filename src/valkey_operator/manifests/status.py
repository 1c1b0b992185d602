"""Statuses, as they are applied to the status sub-resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.api.cluster import API_VERSION
from valkey_operator.core import names

if TYPE_CHECKING:
    from valkey_operator.api.status import ClusterStatus, NodeStatus
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Cluster
    from valkey_operator.manifests.metadata import Manifest


def cluster_status(name: str, *, namespace: str, uid: str, status: ClusterStatus) -> Manifest:
    """The whole status of that very ValkeyCluster."""
    metadata = {"name": name, "namespace": namespace, "uid": uid}
    return {"apiVersion": API_VERSION, "kind": "ValkeyCluster", "metadata": metadata, "status": status.to_dict()}


def node_status(cluster: Cluster, index: NodeIndex, *, uid: str, status: NodeStatus) -> Manifest:
    """The whole status of that very ValkeyNode."""
    metadata = {"name": names.valkey_node(cluster.name, index), "namespace": cluster.namespace, "uid": uid}
    return {"apiVersion": API_VERSION, "kind": "ValkeyNode", "metadata": metadata, "status": status.to_dict()}
