"""The ValkeyNode, the record of one server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.api.cluster import API_VERSION
from valkey_operator.core import names
from valkey_operator.manifests.metadata import of_cluster

if TYPE_CHECKING:
    from valkey_operator.core.observed import Announcement, Cluster
    from valkey_operator.core.plan import Record
    from valkey_operator.manifests.metadata import Manifest


def valkey_node(cluster: Cluster, wanted: Record) -> Manifest:
    """What that server should be and announce; it owns the server's workload and announce file."""
    index = wanted.index
    spec: Manifest = {"cluster": cluster.name, "shard": index.shard, "node": index.node}
    if wanted.announce is not None:
        spec["announce"] = _announcement(wanted.announce)
    labels = names.node_labels(cluster.name, index)
    return {
        "apiVersion": API_VERSION,
        "kind": "ValkeyNode",
        "metadata": of_cluster(cluster, names.valkey_node(cluster.name, index), labels),
        "spec": spec,
    }


def _announcement(announce: Announcement) -> Manifest:
    body: Manifest = {"host": announce.host, "port": announce.port}
    if announce.client_ipv4:
        body["clientIPv4"] = announce.client_ipv4
    if announce.client_ipv6:
        body["clientIPv6"] = announce.client_ipv6
    return body
