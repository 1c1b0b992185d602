"""The cluster `orders` of the golden files, and what is wanted of it: the file `<name>.yaml` holds the object for the name here."""

from __future__ import annotations

from typing import Any

from valkey_operator.api.cluster import ValkeyClusterSpec
from valkey_operator.api.status import ClusterStatus
from valkey_operator.core import plan
from valkey_operator.core.certificates import Files
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import Announcement, Balancing, Cluster, ListenerRef, Passwords

NODE = NodeIndex(1, 0)
NODE_UID = "7d3c8f0e-0a55-4c0e-9f5e-0d1c7a1b1100"


def orders(**spec: Any) -> Cluster:
    """The cluster with further fields of its spec, written as in YAML."""
    return Cluster(
        name="orders",
        namespace="shop",
        uid="2f1d9a52-6a5b-4d0c-8a1f-5b9f5a3c0001",
        generation=1,
        spec=ValkeyClusterSpec.read({"shards": 3, "replicas": 1, **spec}, path="spec"),
        status=ClusterStatus(),
    )


WANTED: dict[str, plan.Wanted] = {
    "headless-service": plan.HeadlessService(),
    "shard-service": plan.ExternalService(
        name="orders-1",
        role=plan.ServiceRole.SHARD,
        shard=1,
        type="NodePort",
        selector={"valkey.io/shard-index": "1"},
        ports=(
            plan.ServicePort(name="np-0", port=31201, target="valkey-1-0", node_port=31201, fallback=6379),
            plan.ServicePort(name="np-1", port=6380, target="valkey-1-1"),
        ),
        annotations={"example.com/team": "checkout"},
        traffic_policy="Cluster",
    ),
    "bootstrap-service": plan.ExternalService(
        name="orders",
        role=plan.ServiceRole.BOOTSTRAP,
        type="NodePort",
        ports=(plan.ServicePort(name="np-bootstrap", port=31299, target=6379, node_port=31299),),
        selector={"valkey.io/serving": "true"},
        publish_not_ready=False,
    ),
    "load-balancer-service": plan.ExternalService(
        name="orders-1-0",
        role=plan.ServiceRole.NODE,
        shard=1,
        type="LoadBalancer",
        ports=(plan.ServicePort(name="lb-0", port=6380, target="valkey-1-0"),),
        selector={"valkey.io/shard-index": "1", "valkey.io/node-index": "0"},
        traffic_policy="Local",
        balancing=Balancing(
            load_balancer_class="example.com/balancer", source_ranges=("203.0.113.0/24",), allocate_node_ports=False
        ),
        ip_families=("IPv4",),
    ),
    "tls-route": plan.ExternalRoute(
        kind="TLSRoute",
        api_version="gateway.networking.k8s.io/v1",
        name="orders-1-0",
        role=plan.ServiceRole.NODE,
        shard=1,
        hosts=("orders-1-0.example.com", "orders-1-0.old.example.com"),
        parents=(
            ListenerRef("gateways", "public"),
            ListenerRef("gateways", "private", section="valkey"),
            ListenerRef("gateways", "more", port=6380),
        ),
        port=plan.ServicePort(name="sni-0", port=6380, target=6379),
        annotations={"example.com/team": "checkout"},
    ),
    "tcp-route": plan.ExternalRoute(
        kind="TCPRoute",
        api_version="gateway.networking.k8s.io/v1alpha2",
        name="orders",
        role=plan.ServiceRole.BOOTSTRAP,
        parents=(ListenerRef("gateways", "public", port=6380),),
        port=plan.ServicePort(name="tcp-bootstrap", port=6380, target=6379),
    ),
    "ingress": plan.ExternalRoute(
        kind="Ingress",
        api_version="networking.k8s.io/v1",
        name="orders-1",
        role=plan.ServiceRole.SHARD,
        shard=1,
        hosts=("orders-1.example.com", "orders-1.old.example.com"),
        port=plan.ServicePort(name="sni-shard", port=443, target=6379),
        ingress_class="haproxy",
        annotations={"haproxy.org/ssl-passthrough": "yes", "example.com/team": "checkout"},
    ),
    "openshift-route": plan.ExternalRoute(
        kind="Route",
        api_version="route.openshift.io/v1",
        name="orders-1-0",
        role=plan.ServiceRole.NODE,
        shard=1,
        hosts=("orders-1-0.example.com",),
        port=plan.ServicePort(name="sni-0", port=443, target=6379),
    ),
    "disruption-budget": plan.DisruptionBudget(),
    "system-secret": plan.SystemSecret(
        Passwords(operator="operator-password", replication="replication-password", default="p@ss/word")
    ),
    "acl-secret": plan.AclSecret(
        acl="user default off resetpass -@all\n", replication="primaryuser _replication\nprimaryauth replication-password\n"
    ),
    "tls-secret": plan.TlsSecret(
        files=Files(certificate="certificate\n", key="key\n", authorities="authorities\n"),
        since="2026-03-01T12:00:00Z",
        previous=("earlier certificate\n", "earlier authorities\n"),
    ),
    "connection-secret": plan.ConnectionSecret(
        username="default",
        password="p@ss/word",
        host="valkey-orders.shop.svc",
        port=6379,
        external=("192.0.2.11:31299", "192.0.2.12:31299"),
    ),
    "connection-secret-tls": plan.ConnectionSecret(
        username="default", password="p@ss/word", host="valkey-orders.shop.svc", port=6379, external=(), authorities="authorities\n"
    ),
    "server-config": plan.ServerConfig(text="cluster-node-timeout 2000\nport 6379\n"),
    "valkey-node": plan.Record(index=NODE, announce=Announcement(host="192.0.2.11", port=31201, client_ipv4="192.0.2.11")),
    "valkey-node-inside": plan.Record(index=NODE, announce=None),
    "workload": plan.ServerWorkload(index=NODE, owner_uid=NODE_UID, digest="0123456789abcdef"),
    "announce-file": plan.AnnounceFile(
        index=NODE,
        owner_uid=NODE_UID,
        text="cluster-announce-hostname 192.0.2.11\ncluster-announce-client-port 31201\ncluster-announce-client-ipv4 192.0.2.11\n",
    ),
    "dns-snippet": plan.DnsSnippet(
        text="# Names of ValkeyCluster shop/orders\nrewrite name exact orders.example.com orders.shop.svc.cluster.local answer auto\n"
    ),
    "pod-labels": plan.PodLabels(
        index=NODE, pod="valkey-orders-1-0-0", uid="c9a1b6de-3f0f-4b7a-bb53-6f1e9d210010", role="primary", serving=True
    ),
}
