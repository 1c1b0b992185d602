"""The ConfigMaps: valkey.conf, per server the file with what it announces, and the names for the DNS inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.core import names
from valkey_operator.manifests.metadata import of_cluster, of_node

if TYPE_CHECKING:
    from valkey_operator.core.observed import Cluster
    from valkey_operator.core.plan import AnnounceFile, DnsSnippet, ServerConfig
    from valkey_operator.manifests.metadata import Manifest


def server_config(cluster: Cluster, wanted: ServerConfig) -> Manifest:
    """valkey.conf, the same for all servers of a cluster."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": of_cluster(cluster, names.server_config(cluster.name)),
        "data": {names.CONFIG_FILE: wanted.text},
    }


def announce_file(cluster: Cluster, wanted: AnnounceFile) -> Manifest:
    """What one server announces when it starts; what it announces now it was told by CONFIG SET."""
    name = names.announce_file(cluster.name, wanted.index)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": of_node(cluster, name, index=wanted.index, owner_uid=wanted.owner_uid),
        "data": {names.ANNOUNCE_FILE: wanted.text},
    }


def dns_snippet(cluster: Cluster, wanted: DnsSnippet) -> Manifest:
    """What CoreDNS imports, wherever its administrator puts it."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": of_cluster(cluster, names.dns_snippet(cluster.name)),
        "data": {names.dns_file(cluster.name, cluster.namespace): wanted.text},
    }
