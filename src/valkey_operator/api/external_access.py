"""How clients outside Kubernetes reach a cluster: `spec.externalAccess`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from valkey_operator.api.model import Model
from valkey_operator.api.port_rules import LAST_PORT
from valkey_operator.api.rule import ATOMIC, INT32, STORED_DEFAULT, Rule
from valkey_operator.api.template_rules import AnnotationTemplates, ClusterHost, NodeHost

DEFAULT_PORT = 6380

Port = Annotated[int, Field(ge=1, le=LAST_PORT), INT32]


class ExternalAccessType(StrEnum):
    """Who carries connections from outside to the pods."""

    INGRESS = "Ingress"
    LOAD_BALANCER = "LoadBalancer"
    NODE_PORT = "NodePort"


class LoadBalancerScope(StrEnum):
    """How many load balancers there are."""

    SHARD = "Shard"
    NODE = "Node"
    CLUSTER = "Cluster"


class IPFamily(StrEnum):
    """A family of addresses."""

    IPV4 = "IPv4"
    IPV6 = "IPv6"


class AnnounceWhen(StrEnum):
    """When a host name is announced."""

    RESOLVABLE = "Resolvable"
    ALWAYS = "Always"


class TrafficPolicy(StrEnum):
    """Which machines pass on connections from outside."""

    CLUSTER = "Cluster"
    LOCAL = "Local"


class AddressType(StrEnum):
    """A kind of address of a Kubernetes node, as in its status."""

    EXTERNAL_IP = "ExternalIP"
    INTERNAL_IP = "InternalIP"
    HOSTNAME = "Hostname"
    EXTERNAL_DNS = "ExternalDNS"
    INTERNAL_DNS = "InternalDNS"


class NodePort(Model):
    """What type NodePort may be told. Kubernetes allocates the ports; all numbers here are preferences at the first allocation."""

    start_port: Port | None = None
    """First node port to ask for: node n of shard i asks for startPort + n × stride + i, so the first node of shard i gets
    startPort + i. A port that is taken is replaced by a free one at once, and an allocated port never moves by itself. The API server's
    range is 30000 to 32767 unless it was started with another one; numbers from 30000 to 30085 rarely collide. Without it Kubernetes
    picks the ports. Example: 31200."""

    stride: Annotated[int, Field(ge=1, le=32767), INT32] = 100
    """Distance between the port that is asked for a shard's first node, its second node and so on. 100 when unset."""

    bootstrap_port: Port | None = None
    """Node port to ask for the Service of all shards, where clients begin. Without it Kubernetes picks one. Example: 31199."""

    address_type: Annotated[
        tuple[AddressType, ...],
        Field(min_length=1, max_length=5),
        ATOMIC,
        Rule(
            cel="self.all(t, self.exists_one(u, u == t))",
            message="names a type twice: list each at most once",
            holds=lambda types: len(set(types)) == len(types),
        ),
    ] = (AddressType.EXTERNAL_IP, AddressType.INTERNAL_IP)
    """Which address of a Kubernetes node is advertised without advertisedHost: the first of these types that all Kubernetes nodes in
    use have; types are never mixed. [ExternalIP, InternalIP] when unset."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="!has(self.stride) || has(self.startPort)",
            message="counts from startPort: set startPort too, or remove stride",
            holds=lambda ports: not ports.is_set("stride") or ports.is_set("start_port"),
            field_path=".stride",
            reason="FieldValueForbidden",
        ),
    )


class ExternalAccess(Model):
    """Makes every node advertise an address that clients outside Kubernetes can dial, and keeps it true.

    Turning it on, off or changing it never restarts a pod.
    """

    enabled: Annotated[bool, STORED_DEFAULT] = False
    """Whether clients outside can reach the cluster. Other fields may stay while it is false. Default false."""

    type: ExternalAccessType = ExternalAccessType.NODE_PORT
    """How connections come in; required when enabled. NodePort: one Service of type NodePort per shard with a port per node, and one
    for all shards; clients dial Kubernetes nodes."""

    advertised_host: NodeHost | None = None
    """Host that nodes advertise: a template with {name}, {namespace}, {shard} and {node}, or the same name or IPv4 address for all.
    Without it a node advertises the address of the Kubernetes node that runs its pod, and follows the pod.
    Example: "{name}-{shard}-{node}.example.com"."""

    advertised_port: Port | None = None
    """Port that nodes advertise. Not with type NodePort, where it is the node port that Kubernetes allocated."""

    bootstrap_host: ClusterHost | None = None
    """Host under which clients find the Service of all shards: a template with {name} and {namespace}, told in the status. Without it
    up to three addresses of Kubernetes nodes are told. Example: "{name}.example.com"."""

    bootstrap_service: bool = True
    """Whether there is a Service of all shards, where clients begin. True when unset."""

    announce_when: AnnounceWhen = AnnounceWhen.RESOLVABLE
    """With advertisedHost. Resolvable: a name is announced once it resolves inside Kubernetes, and the condition lists the records that
    are missing. Always: at once. Resolvable when unset."""

    drain_seconds: Annotated[int, Field(ge=0, le=3600), INT32] = 60
    """How long old endpoints stay reachable after a change, for clients that still hold the old topology. 60 when unset."""

    external_traffic_policy: TrafficPolicy | None = None
    """Cluster: every Kubernetes node passes connections on, clients' addresses are replaced. Local: only the Kubernetes node that runs
    the pod does, clients' addresses are kept; the advertised host must then follow the pod. Kubernetes' own default (Cluster) when unset."""

    load_balancer_scope: LoadBalancerScope = LoadBalancerScope.SHARD
    """With type LoadBalancer. Shard: one balancer per shard with a port per node, and one for all shards. Node: one per node, all on
    advertisedPort. Cluster: one in all, with a port per node. Shard when unset."""

    load_balancer_class: Annotated[str, Field(min_length=1, max_length=316)] | None = None
    """With type LoadBalancer: which implementation makes the balancers, as in a Service."""

    load_balancer_source_ranges: Annotated[tuple[Annotated[str, Field(max_length=43)], ...], Field(max_length=64), ATOMIC] = ()
    """With type LoadBalancer: from which networks clients may come, as in a Service. Example: ["203.0.113.0/24"]."""

    allocate_load_balancer_node_ports: bool | None = None
    """With type LoadBalancer: whether Kubernetes allocates node ports beside, as in a Service."""

    ip_families: Annotated[tuple[IPFamily, ...], Field(max_length=2), ATOMIC] = ()
    """Which families of addresses clients outside use; those of the Services when unset. Example: ["IPv4", "IPv6"]."""

    node_port: NodePort = NodePort()
    """Port numbers and addresses for type NodePort."""

    service_annotations: AnnotationTemplates = Field(default_factory=dict)
    """Annotations of every Service made for external access. Values may hold {name}, {namespace}, {shard} and {node}.
    Example: {"external-dns.alpha.kubernetes.io/hostname": "{name}-{shard}.example.com"}."""

    @property
    def port(self) -> int:
        """The advertised port where users choose it."""
        return self.advertised_port or DEFAULT_PORT

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="!self.enabled || has(self.type)",
            message="say how clients outside reach the cluster: set type to NodePort",
            holds=lambda access: not access.enabled or access.is_set("type"),
            field_path=".type",
            reason="FieldValueRequired",
        ),
        Rule(
            cel="!has(self.advertisedPort) || !has(self.type) || self.type != 'NodePort'",
            message="with type NodePort the ports that Kubernetes allocates are advertised: remove it; to ask for certain ports set nodePort.startPort",
            holds=lambda access: (
                access.advertised_port is None or not access.is_set("type") or access.type != ExternalAccessType.NODE_PORT
            ),
            field_path=".advertisedPort",
            reason="FieldValueForbidden",
        ),
        Rule(
            cel="!has(self.bootstrapHost) || !has(self.bootstrapService) || self.bootstrapService",
            message="there is no Service of all shards while bootstrapService is false: remove one of the two",
            holds=lambda access: access.bootstrap_host is None or access.bootstrap_service,
            field_path=".bootstrapHost",
            reason="FieldValueForbidden",
        ),
        Rule(
            cel="!has(self.nodePort) || !has(self.nodePort.bootstrapPort) || !has(self.bootstrapService) || self.bootstrapService",
            message="there is no Service of all shards while bootstrapService is false: remove one of the two",
            holds=lambda access: access.node_port.bootstrap_port is None or access.bootstrap_service,
            field_path=".nodePort.bootstrapPort",
            reason="FieldValueForbidden",
        ),
    )
