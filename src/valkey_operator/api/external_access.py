"""How clients outside Kubernetes reach a cluster: `spec.externalAccess`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from valkey_operator.api.access_rules import ACCESS_RULES, BALANCER_CLASS, SOURCE_RANGE, distinct
from valkey_operator.api.model import Model
from valkey_operator.api.port_rules import LAST_PORT
from valkey_operator.api.routes import RouteKind, Routes
from valkey_operator.api.rule import ATOMIC, INT32, STORED_DEFAULT, Rule
from valkey_operator.api.template_rules import AnnotationTemplates, ClusterHost, NodeHost

DEFAULT_PORT = 6380
HTTPS_PORT = 443

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
        distinct("type"),
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
    """How connections come in; required when enabled. Ingress: a router that goes by the name in the TLS handshake (SNI) passes
    connections on, to one ClusterIP Service per shard, one per node where advertisedHost has {node}, and one for all shards; the operator
    makes the routes where routes says so, else whoever runs the router does. LoadBalancer: Services of type LoadBalancer, how many says loadBalancerScope. NodePort: one
    Service of type NodePort per shard with a port per node, and one for all shards; clients dial Kubernetes nodes."""

    advertised_host: NodeHost | None = None
    """Host that nodes advertise: a template with {name}, {namespace}, {shard} and {node}, or, where ports tell nodes apart, the same
    name or IPv4 address for all. Ingress: required, a name, with {shard} when there are several shards; without {node} all nodes of a
    shard advertise its primary, and replicas cannot be read. LoadBalancer: with {shard} when there are several shards, and with
    loadBalancerScope Node with {node} when there are replicas, but anything with loadBalancerScope Cluster; without it a node advertises
    the address or else the name of its balancer. NodePort: anything; without it a node advertises the address of the Kubernetes node
    that runs its pod, and follows the pod. Example: "{name}-{shard}-{node}.example.com"."""

    advertised_port: Port | None = None
    """Port that nodes advertise; 6380 when unset, with routes of kind Ingress and Route 443. Ingress: the same for all, but with routes of
    kind TCPRoute the first port that is asked for, for all shards, with those of the nodes above it. LoadBalancer: that of a balancer's first node, those after
    it count up; with loadBalancerScope Cluster clients begin here, and the nodes have the ports after it. Not with type NodePort, where
    Kubernetes allocates the ports."""

    bootstrap_host: ClusterHost | None = None
    """Host under which clients find the Service of all shards: a template with {name} and {namespace}, told in the status. With every
    type, a name with Ingress, where routes that go by name need it; another one than any node's, except where ports tell them apart: with
    NodePort, with loadBalancerScope Cluster and with routes of kind TCPRoute. Without it the
    status tells hosts of shards (Ingress), the balancer's address (LoadBalancer) or up to three addresses of Kubernetes nodes
    (NodePort). Example: "{name}.example.com"."""

    bootstrap_service: bool = True
    """With every type: whether there is a Service of all shards, where clients begin; with loadBalancerScope Cluster whether the one
    balancer has a port for it. True when unset."""

    announce_when: AnnounceWhen = AnnounceWhen.RESOLVABLE
    """With every type, when there is an advertisedHost or a bootstrapHost. Resolvable: a name is announced, and bootstrapHost told in
    the status, once it resolves inside Kubernetes, and the condition lists the records that are missing. Always: whether it does or
    not. With every type, an endpoint that the operator itself cannot reach is announced after 5 s; with Resolvable not while the one
    that clients have answers it, and the first behind a load balancer after a minute. Resolvable when unset."""

    drain_seconds: Annotated[int, Field(ge=0, le=3600), INT32] = 60
    """With every type: how long old endpoints stay reachable after a change, for clients that still hold the old topology. 60 when
    unset."""

    external_traffic_policy: TrafficPolicy | None = None
    """With types LoadBalancer and NodePort. Cluster: every Kubernetes node passes connections on, clients' addresses are replaced. Local:
    only the Kubernetes node that runs the pod does, clients' addresses are kept; with NodePort the advertised host must then follow the
    pod, and with LoadBalancer loadBalancerScope must be Node. Kubernetes' own default (Cluster) when unset."""

    load_balancer_scope: LoadBalancerScope = LoadBalancerScope.SHARD
    """With type LoadBalancer alone. Shard: one balancer per shard with a port per node. Node: one per node, all on advertisedPort. Both:
    one more for all shards. Cluster: one in all, with a port for all shards and one per node. Shard when unset."""

    load_balancer_class: Annotated[str, Field(min_length=1, max_length=317), BALANCER_CLASS] | None = None
    """With type LoadBalancer alone: which implementation makes the balancers, as in a Service. While the type is LoadBalancer it can be
    neither set, changed nor removed: change the type first, and set it anew once status.externalAccess.drainingSince has come and gone.
    Example: "service.k8s.aws/nlb"."""

    load_balancer_source_ranges: Annotated[
        tuple[Annotated[str, Field(max_length=43), SOURCE_RANGE], ...], Field(max_length=64), ATOMIC
    ] = ()
    """With type LoadBalancer alone: from which networks clients may come, as in a Service. Example: ["203.0.113.0/24"]."""

    allocate_load_balancer_node_ports: bool | None = None
    """With type LoadBalancer alone: whether Kubernetes allocates node ports beside, as in a Service. True when unset."""

    ip_families: Annotated[tuple[IPFamily, ...], Field(max_length=2), ATOMIC, distinct("family")] = ()
    """With every type: which families of addresses clients outside use; those of the Services when unset. Example: ["IPv4", "IPv6"]."""

    node_port: NodePort = NodePort()
    """With type NodePort alone: port numbers and addresses."""

    service_annotations: AnnotationTemplates = Field(default_factory=dict)
    """With every type: annotations of every Service made for external access. Values may hold {name}, {namespace}, {shard} and {node}.
    Example: {"external-dns.alpha.kubernetes.io/hostname": "{name}-{shard}.example.com"}."""

    routes: Routes | None = None
    """With type Ingress alone: has the operator make the routes as well."""

    @property
    def by_port(self) -> bool:
        """Whether, with type Ingress, ports and not names tell nodes apart."""
        return self.type is ExternalAccessType.INGRESS and self.routes is not None and self.routes.kind is RouteKind.TCP_ROUTE

    @property
    def port(self) -> int:
        """The advertised port where users choose it."""
        https = self.routes is not None and self.routes.kind in {RouteKind.INGRESS, RouteKind.ROUTE}
        return self.advertised_port or (HTTPS_PORT if https and self.type is ExternalAccessType.INGRESS else DEFAULT_PORT)

    rules: ClassVar[tuple[Rule, ...]] = ACCESS_RULES
