"""Names, labels and annotations of everything that the operator makes: deterministic, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FIELD_MANAGER = "valkey-operator"

CLUSTER = "valkey.io/cluster"
SHARD_INDEX = "valkey.io/shard-index"
NODE_INDEX = "valkey.io/node-index"
EXTERNAL_ACCESS = "valkey.io/external-access"
ROLE = "valkey.io/role"
SERVING = "valkey.io/serving"
CONFIG_DIGEST = "valkey.io/config-digest"
CERTIFICATE = "valkey.io/certificate"
MANAGED_BY = "app.kubernetes.io/managed-by"

CLIENT_PORT = 6379
BUS_PORT = 16379

SERVER_CONTAINER = "server"

# Where a server finds its files: one directory per source, none inside another, so that each is mounted as a whole and follows its source.
CONFIG_DIRECTORY = "/etc/valkey/conf"
CONFIG_FILE = "valkey.conf"
ACL_DIRECTORY = "/etc/valkey/acl"
ACL_FILE = "users.acl"
REPLICATION_FILE = "replication.conf"
ANNOUNCE_DIRECTORY = "/etc/valkey/announce"
ANNOUNCE_FILE = "announce.conf"
TLS_DIRECTORY = "/etc/valkey/tls"
TLS_SINCE = "since"
TLS_PREVIOUS_CERTIFICATE = "previous.crt"
TLS_PREVIOUS_AUTHORITIES = "previous-ca.crt"
DATA_DIRECTORY = "/data"


@dataclass(frozen=True, slots=True, order=True)
class NodeIndex:
    """Which node of a cluster: its shard and its place in the shard, both from 0."""

    shard: int
    node: int

    def __str__(self) -> str:
        """`<shard>-<node>`, as in the names made from it."""
        return f"{self.shard}-{self.node}"


def node_indexes(*, shards: int, replicas: int) -> Iterator[NodeIndex]:
    """All nodes of a cluster in order, shard by shard."""
    return (NodeIndex(shard, node) for shard in range(shards) for node in range(replicas + 1))


def cluster_labels(cluster: str) -> dict[str, str]:
    """The labels on every object of a cluster."""
    return {
        "app.kubernetes.io/name": "valkey",
        "app.kubernetes.io/instance": cluster,
        "app.kubernetes.io/part-of": "valkey",
        MANAGED_BY: FIELD_MANAGER,
        CLUSTER: cluster,
    }


def node_labels(cluster: str, index: NodeIndex) -> dict[str, str]:
    """The labels on every object of one node of a cluster."""
    return cluster_labels(cluster) | {SHARD_INDEX: str(index.shard), NODE_INDEX: str(index.node)}


def index_of(labels: Mapping[str, str]) -> NodeIndex | None:
    """Which node an object belongs to by its labels; None where they name none."""
    shard, node = labels.get(SHARD_INDEX, ""), labels.get(NODE_INDEX, "")
    return NodeIndex(int(shard), int(node)) if shard.isdecimal() and node.isdecimal() else None


def headless_service(cluster: str) -> str:
    """The Service that gives pods their DNS names and clients inside their host."""
    return f"valkey-{cluster}"


def bootstrap_service(cluster: str) -> str:
    """The Service over all shards."""
    return cluster


def shard_service(cluster: str, shard: int) -> str:
    """The Service of one shard, with one port per node."""
    return f"{cluster}-{shard}"


def server_config(cluster: str) -> str:
    """The ConfigMap with valkey.conf."""
    return f"valkey-{cluster}"


def disruption_budget(cluster: str) -> str:
    """The PodDisruptionBudget over all pods of a cluster."""
    return f"valkey-{cluster}"


def system_secret(cluster: str) -> str:
    """The Secret with the generated passwords of the system users and of `default`."""
    return f"valkey-{cluster}-system"


def acl_secret(cluster: str) -> str:
    """The Secret with the ACL file and the replication credentials that servers read."""
    return f"valkey-{cluster}-acl"


def tls_secret(cluster: str) -> str:
    """The Secret with the certificate that servers load: what of the user's Secret was found to be good."""
    return f"valkey-{cluster}-tls"


def connection_secret(cluster: str) -> str:
    """The Secret that tells applications how to connect."""
    return f"{cluster}-connection"


def node_service(cluster: str, index: NodeIndex) -> str:
    """The Service of one node, where hosts tell nodes apart or each has a load balancer of its own."""
    return f"{cluster}-{index}"


def valkey_node(cluster: str, index: NodeIndex) -> str:
    """The ValkeyNode, the record of one server."""
    return f"{cluster}-{index}"


def workload(cluster: str, index: NodeIndex) -> str:
    """The StatefulSet of one server."""
    return f"valkey-{cluster}-{index}"


def pod(cluster: str, index: NodeIndex) -> str:
    """The one pod of a server's StatefulSet."""
    return f"{workload(cluster, index)}-0"


def pod_host(cluster: str, namespace: str, index: NodeIndex) -> str:
    """The pod's name in DNS, which its headless Service gives it, Ready or not."""
    return f"{pod(cluster, index)}.{headless_host(cluster, namespace)}"


def headless_host(cluster: str, namespace: str) -> str:
    """The host by which clients inside find the cluster."""
    return f"{headless_service(cluster)}.{namespace}.svc"


def dns_snippet(cluster: str) -> str:
    """The ConfigMap with what the DNS inside has to know of advertised names."""
    return f"{cluster}-dns"


def dns_file(cluster: str, namespace: str) -> str:
    """Its one key: no other cluster has the same, and CoreDNS is customarily told to import files that end so."""
    return f"{cluster}.{namespace}.override"


def announce_file(cluster: str, index: NodeIndex) -> str:
    """The ConfigMap with what one server announces after a restart."""
    return f"valkey-{cluster}-{index}-announce"


def container_port(index: NodeIndex) -> str:
    """The name of a server's client port: unique in its cluster, so that a Service port reaches just this pod."""
    return f"valkey-{index}"
