"""Specs with host templates and node ports that the API server refuses, with what it prints, and specs that it accepts."""

from typing import Any

from integration.api.refusal import UNCHECKED, Refused


def node_port(**fields: Any) -> dict[str, Any]:
    return {"shards": 3, "externalAccess": {"enabled": True, "type": "NodePort", **fields}}


def host(template: str, says: str) -> Refused:
    return Refused(
        f"host {template[:40]!r}",
        node_port(advertisedHost=template),
        (f'spec.externalAccess.advertisedHost: Invalid value: "{template}": {says}',),
    )


UNKNOWN = "has an unknown placeholder: known here are {name}, {namespace}, {shard}, {node}"
UNBALANCED = "has a brace without its partner: write placeholders as {name}"
UPPER = "must be lower case: DNS knows no other, and certificates and routes are compared letter by letter"
NO_HOST = "must be a host name of lower-case letters, digits, '-' and '.', or an IPv4 address, without scheme and port"
NO_ADDRESS = "ends in a number but is no IPv4 address: write a host name or four numbers of 0 to 255"
LABEL = "has a part between two dots of more than 63 characters: shorten it"
TOO_LONG_RENDERED = "with this cluster's name it renders to a host with more than 63 characters between two dots, or more than 253 in all: shorten it"

NODE_PORT_REFUSED = (
    Refused(
        "enabled without a type",
        {"shards": 3, "externalAccess": {"enabled": True}},
        (
            "spec.externalAccess.type: Required value: say how clients outside reach the cluster: set type to Ingress, LoadBalancer or NodePort",
        ),
    ),
    Refused(
        "an unknown type",
        node_port(type="Tunnel"),
        (
            'spec.externalAccess.type: Unsupported value: "Tunnel": supported values: "Ingress", "LoadBalancer", "NodePort"',
            UNCHECKED,
        ),
    ),
    host("{name}-{index}.example.com", UNKNOWN),
    host("{Name}.example.com", UNKNOWN),
    host("{}.example.com", UNKNOWN),
    host("{name-{shard}.example.com", UNBALANCED),
    host("name}.example.com", UNBALANCED),
    host("{name}-{node}.Example.com", UPPER),
    host("node_{node}.example.com", NO_HOST),
    host("https://example.com", NO_HOST),
    host("example.com:6380", NO_HOST),
    host("example.com.", NO_HOST),
    host("a..example.com", NO_HOST),
    host("-{name}.example.com", NO_HOST),
    host("*.example.com", NO_HOST),
    host("fd00::1", NO_HOST),
    host("10.0.0.300", NO_ADDRESS),
    host("10.0.{shard}", NO_ADDRESS),
    Refused(
        "a label of 64 characters",
        node_port(advertisedHost="a" * 64 + ".example.com"),
        (f'spec.externalAccess.advertisedHost: Invalid value: "{"a" * 64}.example.com": {LABEL}',),
    ),
    Refused(
        "a label too long with the name that the cluster has",
        node_port(advertisedHost="{name}-" + "a" * 30 + ".example.com"),
        (f"spec.externalAccess.advertisedHost: Invalid value: {TOO_LONG_RENDERED}",),
        name="n" * 39,
    ),
    Refused(
        "a bootstrap label too long with the name that the cluster has",
        node_port(bootstrapHost="{name}-" + "a" * 30 + ".example.com"),
        (f"spec.externalAccess.bootstrapHost: Invalid value: {TOO_LONG_RENDERED}",),
        name="m" * 39,
    ),
    Refused(
        "a host of 254 characters",
        node_port(advertisedHost="a." * 125 + "test"),
        ("spec.externalAccess.advertisedHost: Too long: may not be more than 253 bytes", UNCHECKED),
    ),
    Refused(
        "an empty host",
        node_port(advertisedHost=""),
        (
            (
                'spec.externalAccess.advertisedHost: Invalid value: "": spec.externalAccess.advertisedHost in body should be at least 1 '
                "chars long"
            ),
            f'spec.externalAccess.advertisedHost: Invalid value: "": {NO_HOST}',
        ),
    ),
    Refused(
        "a bootstrap host per shard",
        node_port(bootstrapHost="{name}-{shard}.example.com"),
        (
            (
                'spec.externalAccess.bootstrapHost: Invalid value: "{name}-{shard}.example.com": has an unknown placeholder: known here are '
                "{name}, {namespace}"
            ),
        ),
    ),
    Refused(
        "a bootstrap host without its Service",
        node_port(bootstrapHost="{name}.example.com", bootstrapService=False),
        (
            (
                "spec.externalAccess.bootstrapHost: Forbidden: there is no Service of all shards while bootstrapService is false: remove one "
                "of the two"
            ),
        ),
    ),
    Refused(
        "a bootstrap port without its Service",
        node_port(nodePort={"bootstrapPort": 31199}, bootstrapService=False),
        (
            (
                "spec.externalAccess.nodePort.bootstrapPort: Forbidden: there is no Service of all shards while bootstrapService is false: "
                "remove one of the two"
            ),
        ),
    ),
    Refused(
        "an advertised port with node ports",
        node_port(advertisedPort=6380),
        (
            (
                "spec.externalAccess.advertisedPort: Forbidden: with type NodePort the ports that Kubernetes allocates are advertised: "
                "remove it; to ask for certain ports set nodePort.startPort"
            ),
        ),
    ),
    Refused(
        "a port beyond 65535",
        node_port(nodePort={"startPort": 70000}),
        (
            (
                "spec.externalAccess.nodePort.startPort: Invalid value: 70000: spec.externalAccess.nodePort.startPort in body should be less "
                "than or equal to 65535"
            ),
        ),
    ),
    Refused(
        "a last port beyond 65535",
        {**node_port(nodePort={"startPort": 65400}), "replicas": 2},
        (
            (
                "spec.externalAccess.nodePort.startPort: Invalid value: the last port asked for is startPort + replicas × stride + "
                "shards - 1 and must be at most 65535: lower startPort or stride"
            ),
        ),
    ),
    Refused(
        "a stride shorter than the shards",
        {**node_port(nodePort={"startPort": 31200, "stride": 2}), "replicas": 1},
        (
            (
                "spec.externalAccess.nodePort.stride: Invalid value: two nodes ask for the same port unless stride (100 when unset) is at "
                "least the number of shards: raise it"
            ),
        ),
    ),
    Refused(
        "a bootstrap port that a node asks for",
        {**node_port(nodePort={"startPort": 31200, "bootstrapPort": 31302}), "replicas": 1},
        (
            (
                "spec.externalAccess.nodePort.bootstrapPort: Invalid value: a node asks for this port already (startPort + n × stride + i): "
                "choose one below startPort or above the last"
            ),
        ),
    ),
    Refused(
        "a bootstrap port that a shard asks for, without replicas",
        node_port(nodePort={"startPort": 31200, "stride": 1, "bootstrapPort": 31202}),
        (
            (
                "spec.externalAccess.nodePort.bootstrapPort: Invalid value: a node asks for this port already (startPort + n × stride + i): "
                "choose one below startPort or above the last"
            ),
        ),
    ),
    Refused(
        "a stride of nothing",
        node_port(nodePort={"startPort": 31200, "stride": 0, "bootstrapPort": 31199}),
        (
            (
                "spec.externalAccess.nodePort.stride: Invalid value: 0: spec.externalAccess.nodePort.stride in body should be greater than "
                "or equal to 1"
            ),
        ),
    ),
    Refused(
        "a stride without a start",
        node_port(nodePort={"stride": 10}),
        ("spec.externalAccess.nodePort.stride: Forbidden: counts from startPort: set startPort too, or remove stride",),
    ),
    Refused(
        "one address type twice",
        node_port(nodePort={"addressType": ["InternalIP", "InternalIP"]}),
        ("spec.externalAccess.nodePort.addressType: Invalid value: names a type twice: list each at most once",),
    ),
    Refused(
        "draining for ever",
        node_port(drainSeconds=3601),
        (
            (
                "spec.externalAccess.drainSeconds: Invalid value: 3601: spec.externalAccess.drainSeconds in body should be less than or "
                "equal to 3600"
            ),
        ),
    ),
    Refused(
        "a placeholder in an annotation that nobody knows",
        node_port(serviceAnnotations={"external-dns.alpha.kubernetes.io/hostname": "{cluster}.example.com"}),
        (f"spec.externalAccess.serviceAnnotations: Invalid value: a value {UNKNOWN}",),
    ),
    Refused(
        "an annotation's name with a space",
        node_port(serviceAnnotations={"my note": "x"}),
        (
            (
                "spec.externalAccess.serviceAnnotations: Invalid value: a key is no annotation's name: write name or domain/name, "
                "the name of at most 63 letters, digits, '-', '_' and '.'"
            ),
        ),
    ),
)

NODE_PORT_ACCEPTED: dict[str, dict[str, Any]] = {
    "off with all that may stay": {
        "shards": 3,
        "externalAccess": {"enabled": False, "advertisedHost": "{name}.example.com", "nodePort": {"startPort": 31200}},
    },
    "an empty external access": {"shards": 3, "externalAccess": {}},
    "an advertised port kept for later": {"shards": 3, "externalAccess": {"advertisedPort": 6380}},
    "node ports as they come": node_port(),
    "node ports from a start": {**node_port(nodePort={"startPort": 31200, "stride": 10, "bootstrapPort": 31199}), "replicas": 2},
    "a stride of one without replicas": node_port(nodePort={"startPort": 31200, "stride": 1}),
    "a bootstrap port after the last": node_port(nodePort={"startPort": 31200, "stride": 1, "bootstrapPort": 31203}),
    "the last port": node_port(nodePort={"startPort": 65533}),
    "a name per node": node_port(advertisedHost="{name}-{shard}-{node}.{namespace}.example.com", announceWhen="Always"),
    "one name for all": node_port(advertisedHost="valkey.example.com", bootstrapHost="{name}.{namespace}.example.com"),
    "one address for all": node_port(advertisedHost="192.0.2.7"),
    "a single label": node_port(advertisedHost="valkey"),
    "a label of 63 characters": node_port(advertisedHost="a" * 63 + ".example.com"),
    "digits before the last label": node_port(advertisedHost="1.2.3.4.example.com"),
    "addresses in another order": node_port(nodePort={"addressType": ["Hostname", "InternalIP"]}, externalTrafficPolicy="Local"),
    "no drain and no bootstrap": node_port(drainSeconds=0, bootstrapService=False),
    "annotations with placeholders and JSON": node_port(
        serviceAnnotations={
            "external-dns.alpha.kubernetes.io/hostname": "{name}-{shard}.{namespace}.example.com",
            "example.com/settings": '{"ports": {}, "weights": {"a": 1}, "open": "{"}',
            "plain": "",
        }
    ),
}
