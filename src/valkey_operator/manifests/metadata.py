"""The metadata of everything that is made for a cluster: name, namespace, labels and the one owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from valkey_operator.api.cluster import API_VERSION
from valkey_operator.core import names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Cluster

Manifest = dict[str, Any]
"""An object as the API server takes it."""


def of_cluster(cluster: Cluster, name: str, labels: Mapping[str, str] | None = None) -> Manifest:
    """The metadata of an object that the ValkeyCluster owns; `labels` come on top of those of every object of a cluster."""
    return _metadata(
        cluster,
        name=name,
        labels=names.cluster_labels(cluster.name) | dict(labels or {}),
        owner=_owner("ValkeyCluster", cluster.name, uid=cluster.uid),
    )


def of_node(cluster: Cluster, name: str, *, index: NodeIndex, owner_uid: str) -> Manifest:
    """The metadata of an object that the ValkeyNode of one server owns."""
    return _metadata(
        cluster,
        name=name,
        labels=names.node_labels(cluster.name, index),
        owner=_owner("ValkeyNode", names.valkey_node(cluster.name, index), uid=owner_uid),
    )


def _metadata(cluster: Cluster, *, name: str, labels: Mapping[str, str], owner: Manifest) -> Manifest:
    return {"name": name, "namespace": cluster.namespace, "labels": dict(labels), "ownerReferences": [owner]}


def _owner(kind: str, name: str, *, uid: str) -> Manifest:
    # No blockOwnerDeletion: it would need the right to update the owner's finalizers, and nothing here must outlive its owner by a moment.
    return {"apiVersion": API_VERSION, "kind": kind, "name": name, "uid": uid, "controller": True}
