"""Specs with load balancers and SNI that the API server refuses, with what it prints, and specs that it accepts."""

from typing import Any

from integration.api.node_port_examples import node_port
from integration.api.refusal import Refused

TLS: dict[str, Any] = {"tls": {"certificate": {"secretName": "my-cluster-tls"}}}


def balancer(*, shards: int = 3, replicas: int = 0, **fields: Any) -> dict[str, Any]:
    return {"shards": shards, "replicas": replicas, "externalAccess": {"enabled": True, "type": "LoadBalancer", **fields}}


def ingress(*, shards: int = 3, replicas: int = 0, **fields: Any) -> dict[str, Any]:
    access = {"enabled": True, "type": "Ingress", "advertisedHost": "{name}-{shard}-{node}.example.com", **fields}
    return {"shards": shards, "replicas": replicas, **TLS, "externalAccess": access}


def without(field: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {**spec, "externalAccess": {key: value for key, value in spec["externalAccess"].items() if key != field}}


def refused(title: str, spec: dict[str, Any], *lines: str) -> Refused:
    return Refused(title, spec, tuple(f"spec.externalAccess.{line}" for line in lines))


def source_range(text: str) -> Refused:
    return refused(
        f"source range {text!r}",
        balancer(loadBalancerSourceRanges=["203.0.113.0/24", text]),
        f'loadBalancerSourceRanges[1]: Invalid value: "{text}": must be a network, its address without bits beyond the length: write '
        "203.0.113.0/24 or 2001:db8::/32",
    )


def balancer_class(text: str) -> Refused:
    return refused(
        f"class {text[:40]!r}",
        balancer(loadBalancerClass=text),
        f"loadBalancerClass: Invalid value: \"{text}\": must be name or domain/name, the name of at most 63 letters, digits, '-', '_' "
        "and '.', as in example.com/internal",
    )


FOR_BALANCERS = "goes with type LoadBalancer alone: remove it, or set type to LoadBalancer"
FOR_NODE_PORTS = "nodePort: Forbidden: goes with type NodePort alone: remove it, or set type to NodePort"
NO_POLICY = "externalTrafficPolicy: Forbidden: with type Ingress connections come from the router, to Services that have no such policy: remove it"
NAMES_ALONE = "must be a host name with type Ingress, since a TLS handshake names no IP address (SNI)"
SHARDS_OF_INGRESS = "advertisedHost: Invalid value: with type Ingress all shards have the same port, so each needs a host of its own: put {shard} into it"
SHARDS_OF_BALANCERS = (
    "advertisedHost: Invalid value: each shard has load balancers of its own with the same ports as the others', and one host cannot "
    "lead to all of them: put {shard} into it, or set loadBalancerScope to Cluster"
)
NODES_OF_BALANCERS = (
    "advertisedHost: Invalid value: each node has a load balancer of its own with the same port as the others', and one host cannot "
    "lead to all of them: put {node} into it, or set loadBalancerScope to Shard"
)
LOCAL = (
    "externalTrafficPolicy: Invalid value: with Local a load balancer for several nodes loses connections, since it learns which "
    "Kubernetes nodes run any of their pods, not which runs a port's: set loadBalancerScope to Node, or externalTrafficPolicy to Cluster"
)
LAST_PORT = (
    "advertisedPort: Invalid value: the last port is advertisedPort + replicas, with loadBalancerScope Cluster advertisedPort + shards × "
    "(1 + replicas), and must be at most 65535: lower it"
)
SAME_HOST = (
    "bootstrapHost: Invalid value: cannot be advertisedHost as well, since another Service, which serves the same port, is behind it: "
    "choose another name, or remove it"
)

EXPOSURE_REFUSED = (
    # fields of another type
    refused("node ports with load balancers", balancer(nodePort={"startPort": 31200}), FOR_NODE_PORTS),
    refused("no node ports with load balancers", balancer(nodePort={}), FOR_NODE_PORTS),
    refused("node ports with load balancers that are off", balancer(enabled=False, nodePort={"startPort": 31200}), FOR_NODE_PORTS),
    refused("node ports with SNI", ingress(nodePort={"addressType": ["Hostname"]}), FOR_NODE_PORTS),
    refused(
        "all of load balancers with node ports",
        node_port(
            loadBalancerScope="Cluster",
            loadBalancerClass="example.com/internal",
            loadBalancerSourceRanges=["203.0.113.0/24"],
            allocateLoadBalancerNodePorts=False,
        ),
        f"loadBalancerScope: Forbidden: {FOR_BALANCERS}",
        f"loadBalancerClass: Forbidden: {FOR_BALANCERS}",
        f"loadBalancerSourceRanges: Forbidden: {FOR_BALANCERS}",
        f"allocateLoadBalancerNodePorts: Forbidden: {FOR_BALANCERS}",
    ),
    refused(
        "no source ranges with node ports",
        node_port(loadBalancerSourceRanges=[]),
        f"loadBalancerSourceRanges: Forbidden: {FOR_BALANCERS}",
    ),
    refused(
        "a scope with node ports that are off",
        node_port(enabled=False, loadBalancerScope="Node"),
        f"loadBalancerScope: Forbidden: {FOR_BALANCERS}",
    ),
    refused("a class with SNI", ingress(loadBalancerClass="internal"), f"loadBalancerClass: Forbidden: {FOR_BALANCERS}"),
    # SNI
    Refused(
        "SNI without TLS",
        {"shards": 3, "externalAccess": ingress()["externalAccess"]},
        (
            (
                "spec.tls: Required value: with type Ingress routes go by the name in the TLS handshake (SNI): set it, or choose type "
                "LoadBalancer or NodePort"
            ),
        ),
    ),
    refused(
        "SNI without a host",
        without("advertisedHost", ingress()),
        (
            "advertisedHost: Required value: with type Ingress it is the host that leads to a node: set it, for example to "
            "{name}-{shard}-{node}.example.com"
        ),
    ),
    refused("SNI with one name for all shards", ingress(advertisedHost="{name}-{node}.example.com"), SHARDS_OF_INGRESS),
    refused("SNI with an address", ingress(shards=1, advertisedHost="192.0.2.7"), f"advertisedHost: Invalid value: {NAMES_ALONE}"),
    refused(
        "SNI with an address per shard", ingress(advertisedHost="192.0.2.{shard}"), f"advertisedHost: Invalid value: {NAMES_ALONE}"
    ),
    refused(
        "SNI with an address per node",
        ingress(advertisedHost="192.0.{shard}.{node}"),
        f"advertisedHost: Invalid value: {NAMES_ALONE}",
    ),
    refused(
        "SNI that is off with an address",
        ingress(enabled=False, advertisedHost="192.0.2.7"),
        f"advertisedHost: Invalid value: {NAMES_ALONE}",
    ),
    refused("SNI with an address to begin at", ingress(bootstrapHost="192.0.2.7"), f"bootstrapHost: Invalid value: {NAMES_ALONE}"),
    refused("SNI with a traffic policy", ingress(externalTrafficPolicy="Cluster"), NO_POLICY),
    refused("SNI with local traffic", ingress(externalTrafficPolicy="Local"), NO_POLICY),
    refused(
        "SNI with one name for the shard and to begin at",
        ingress(shards=1, replicas=1, advertisedHost="{name}.example.com", bootstrapHost="{name}.example.com"),
        SAME_HOST,
    ),
    # load balancers
    refused("local traffic with a balancer per shard, unsaid", balancer(externalTrafficPolicy="Local"), LOCAL),
    refused("local traffic with a balancer per shard", balancer(externalTrafficPolicy="Local", loadBalancerScope="Shard"), LOCAL),
    refused("local traffic with one balancer", balancer(externalTrafficPolicy="Local", loadBalancerScope="Cluster"), LOCAL),
    refused("one name for the balancers of all shards", balancer(advertisedHost="{name}.example.com"), SHARDS_OF_BALANCERS),
    refused("one address for the balancers of all shards", balancer(advertisedHost="192.0.2.7"), SHARDS_OF_BALANCERS),
    refused(
        "names that tell nodes apart but no shards",
        balancer(replicas=1, advertisedHost="{name}-{node}.example.com"),
        SHARDS_OF_BALANCERS,
    ),
    refused(
        "one name for the balancers of all nodes",
        balancer(replicas=1, loadBalancerScope="Node", advertisedHost="{name}.example.com"),
        SHARDS_OF_BALANCERS,
        NODES_OF_BALANCERS,
    ),
    refused(
        "one name for the balancers of a shard's nodes",
        balancer(replicas=1, loadBalancerScope="Node", advertisedHost="{name}-{shard}.example.com"),
        NODES_OF_BALANCERS,
    ),
    refused(
        "one name for the balancers of the one shard's nodes",
        balancer(shards=1, replicas=2, loadBalancerScope="Node", advertisedHost="{name}.example.com"),
        NODES_OF_BALANCERS,
    ),
    refused(
        "one name for the shard's balancer and the one to begin at",
        balancer(shards=1, advertisedHost="{name}.example.com", bootstrapHost="{name}.example.com"),
        SAME_HOST,
    ),
    refused("a replica beyond the last port", balancer(replicas=1, advertisedPort=65535), LAST_PORT),
    refused("a node beyond the last port", balancer(replicas=1, loadBalancerScope="Cluster", advertisedPort=65530), LAST_PORT),
    refused(
        "a thousand nodes beyond the last port",
        balancer(shards=500, replicas=1, loadBalancerScope="Cluster", advertisedPort=64536),
        LAST_PORT,
    ),
    source_range("10.0.0.1/8"),
    source_range("10.0.0.0"),
    source_range("10.0.0.0/33"),
    source_range("10.0.0.0/255.0.0.0"),
    source_range("010.0.0.0/8"),
    source_range(" 10.0.0.0/8"),
    source_range("2001:db8::1/32"),
    source_range("::ffff:10.0.0.0/104"),
    source_range("fe80::%eth0/64"),
    source_range("everybody"),
    source_range(""),
    balancer_class("my class"),
    balancer_class("Example.com/internal"),
    balancer_class("example..com/internal"),
    balancer_class("example.com/a/b"),
    balancer_class("-internal"),
    balancer_class("a" * 64),
    balancer_class("a." * 126 + "ab/x"),
    # every type
    refused(
        "one family twice",
        node_port(ipFamilies=["IPv6", "IPv6"]),
        "ipFamilies: Invalid value: names a family twice: list each at most once",
    ),
)

EXPOSURE_ACCEPTED: dict[str, dict[str, Any]] = {
    "load balancers as they come": balancer(),
    "load balancers with all that goes with them": balancer(
        replicas=1,
        advertisedHost="{name}-{shard}.{namespace}.example.com",
        advertisedPort=7000,
        bootstrapHost="{name}.{namespace}.example.com",
        announceWhen="Always",
        externalTrafficPolicy="Cluster",
        loadBalancerScope="Shard",
        loadBalancerClass="service.k8s.aws/nlb",
        loadBalancerSourceRanges=["203.0.113.0/24", "198.51.100.7/32", "2001:db8::/32", "FD00::/8", "0.0.0.0/0", "::/0"],
        allocateLoadBalancerNodePorts=False,
        ipFamilies=["IPv4", "IPv6"],
        serviceAnnotations={"external-dns.alpha.kubernetes.io/hostname": "{name}-{shard}.example.com"},
    ),
    "no balancer to begin at": balancer(bootstrapService=False),
    "load balancers that are off with all that may stay": balancer(
        enabled=False, replicas=1, loadBalancerScope="Node", advertisedHost="valkey.example.com", externalTrafficPolicy="Local"
    ),
    "fields of every type while there is none": {
        "shards": 3,
        "externalAccess": {
            "nodePort": {"startPort": 31200},
            "loadBalancerScope": "Node",
            "loadBalancerClass": "internal",
            "advertisedPort": 6380,
        },
    },
    "a balancer per shard with a name per node": balancer(replicas=2, advertisedHost="{name}-{shard}-{node}.example.com"),
    "a balancer per shard with an address per shard": balancer(advertisedHost="192.0.2.{shard}"),
    "one shard with one name": balancer(
        shards=1, replicas=2, advertisedHost="valkey.example.com", bootstrapHost="{name}.example.com"
    ),
    "one shard with one address": balancer(shards=1, advertisedHost="192.0.2.7"),
    "a balancer per node": balancer(replicas=1, loadBalancerScope="Node", externalTrafficPolicy="Local"),
    "a balancer per node with a name per node": balancer(
        replicas=1, loadBalancerScope="Node", advertisedHost="{name}-{shard}-{node}.example.com", advertisedPort=65535
    ),
    "a balancer per node with a name per shard": balancer(loadBalancerScope="Node", advertisedHost="{name}-{shard}.example.com"),
    "one node with one name": balancer(shards=1, loadBalancerScope="Node", advertisedHost="valkey.example.com"),
    "one balancer with one name": balancer(
        replicas=1, loadBalancerScope="Cluster", advertisedHost="valkey.example.com", bootstrapHost="valkey.example.com"
    ),
    "one balancer with one address": balancer(loadBalancerScope="Cluster", advertisedHost="192.0.2.7", loadBalancerSourceRanges=[]),
    "one balancer for a thousand nodes": balancer(shards=500, replicas=1, loadBalancerScope="Cluster", advertisedPort=64535),
    "the last replica at the last port": balancer(replicas=5, advertisedPort=65530),
    "a class without a domain": balancer(loadBalancerClass="Internal_1.x"),
    "a class of 317 characters": balancer(loadBalancerClass="a." * 126 + "a/" + "b" * 63),
    "node ports of both families": node_port(ipFamilies=["IPv6", "IPv4"]),
    "node ports of the one host to begin at": node_port(advertisedHost="valkey.example.com", bootstrapHost="valkey.example.com"),
    "SNI that is off without TLS": ingress(enabled=False),
    "SNI that is off without a host": without("advertisedHost", ingress(enabled=False)),
    "SNI: a name per node": ingress(),
    "SNI: a name per node with replicas": ingress(replicas=2),
    "SNI: a name per shard": ingress(replicas=1, advertisedHost="{name}-{shard}.{namespace}.example.com"),
    "SNI: one name for one shard": ingress(shards=1, replicas=1, advertisedHost="valkey.example.com"),
    "SNI: a name per node of one shard": ingress(shards=1, replicas=1, advertisedHost="{node}.{name}.example.com"),
    "SNI: a name to begin at": ingress(bootstrapHost="{name}.{namespace}.example.com"),
    "SNI: a port of its own": ingress(advertisedPort=443),
    "SNI: the last port": ingress(replicas=5, advertisedPort=65535),
    "SNI: no Service of all shards": ingress(bootstrapService=False),
    "SNI: announced at once and never drained": ingress(announceWhen="Always", drainSeconds=0),
    "SNI: both families": ingress(ipFamilies=["IPv6", "IPv4"]),
    "SNI: annotations": ingress(serviceAnnotations={"example.com/note": "{name}-{shard}-{node}"}),
    "SNI: digits before the last label": ingress(advertisedHost="192.0.2.{shard}.example.com"),
    "SNI: a name with a digit at its end": ingress(advertisedHost="{name}-{node}.shard{shard}"),
}
