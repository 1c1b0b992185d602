"""What was observed of one cluster at one moment: Kubernetes objects, pods, machines, and what each server said.

Unknown is a value (`Unreachable`, `Unasked`), never None, and absence of information never deletes, fails over or forgets anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from valkey_operator.api.cluster import ValkeyClusterSpec
    from valkey_operator.api.status import ClusterStatus, NodeStatus
    from valkey_operator.core.certificates import Certificate, Flawed
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.valkey.topology import Member


@dataclass(frozen=True, slots=True)
class Cluster:
    """A ValkeyCluster as its user wrote it, and the status last written."""

    name: str
    namespace: str
    uid: str
    generation: int
    spec: ValkeyClusterSpec
    status: ClusterStatus
    created: str = ""
    """When, as Kubernetes writes it; of two clusters that want one endpoint, and do not announce it yet, the older has it."""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Announcement:
    """What clients are told of one node: host and port, and the addresses behind the host where they are known (else empty)."""

    host: str
    port: int
    client_ipv4: str = ""
    client_ipv6: str = ""

    @property
    def address(self) -> str:
        """`host:port`, as a client dials it."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A ValkeyNode: what that server should announce (None: its place inside) and the status last written."""

    name: str
    uid: str
    announce: Announcement | None
    status: NodeStatus


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a pod does not run, in Kubernetes' own words: `ImagePullBackOff`, `Unschedulable`, `CrashLoopBackOff` and so on."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Pod:
    """The pod of one node."""

    name: str
    uid: str
    ip: str | None
    machine: str | None
    """The Kubernetes node that runs it."""
    host_ips: tuple[str, ...]
    ready: bool
    running: bool
    """Whether the server's container runs."""
    started: datetime | None
    """When the server's container started."""
    deleting: bool
    role: str | None
    """Its label `valkey.io/role`."""
    serving: bool
    """Whether it has the label `valkey.io/serving`."""
    revision: str
    """Of the StatefulSet's template that it was made from."""
    trouble: Trouble | None = None
    certificate: str | None = None
    """Its annotation `valkey.io/certificate`: for which files its kubelet was last called."""
    owner_uid: str | None = None
    """Of the StatefulSet that it belongs to; None: of none."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The StatefulSet of one node."""

    name: str
    uid: str
    update_revision: str
    """The newest revision of its template; a pod of another one is outdated."""


@dataclass(frozen=True, slots=True)
class AllocatedPort:
    """A TCP port of a Service as the API server allocated it. Ports of other protocols have numbers of their own."""

    name: str
    port: int
    node_port: int | None
    target: str | int = 0
    """A container port's name, or a number."""


@dataclass(frozen=True, slots=True)
class Ingress:
    """One address of a load balancer: an IP, a host name, or both."""

    ip: str = ""
    hostname: str = ""


@dataclass(frozen=True, slots=True)
class Balancing:
    """What the operator asks of a load balancer, as in a Service; None and empty: nothing."""

    load_balancer_class: str | None = None
    source_ranges: tuple[str, ...] = ()
    allocate_node_ports: bool | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """A Service that was made for external access."""

    name: str
    uid: str
    kind: str
    """Its label `valkey.io/external-access`: shard, node or bootstrap; empty for the headless one."""
    type: str
    created: datetime
    deleting: bool
    ports: tuple[AllocatedPort, ...]
    selector: Mapping[str, str] = field(default_factory=dict)
    ingress: tuple[Ingress, ...] = ()
    """Of a load balancer: the addresses that it was given."""
    balancing: Balancing = field(default_factory=Balancing)
    foreign_class: str | None = None
    """The class of its load balancer that somebody else set, as some clouds do where none is asked for."""
    traffic_policy: str | None = None
    families: tuple[str, ...] = ()
    """`IPv4`, `IPv6`, in Kubernetes' order; the first never changes. Empty: not told."""

    def port(self, name: str) -> AllocatedPort | None:
        """The port of that name, None where it has none."""
        return next((port for port in self.ports if port.name == name), None)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a route's parent says of it."""

    parent: str
    """`Gateway infra/public` and the like."""
    accepted: bool | None
    """None: it has not said anything of the route as it is now."""
    accepted_before: bool = False
    """Where it has not: whether it accepted an earlier version."""
    message: str = ""
    """Its reason and words where it does not accept it."""


@dataclass(frozen=True, slots=True, order=True)
class ListenerRef:
    """Which listeners of which Gateway a route attaches to."""

    namespace: str
    name: str
    section: str = ""
    port: int = 0
    """0: of every port."""

    @property
    def gateway(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def text(self) -> str:
        """As sentences name it."""
        section = f" listener {self.section}" if self.section else ""
        return f"Gateway {self.gateway}{section}" + (f" port {self.port}" if self.port else "")


@dataclass(frozen=True, slots=True)
class Route:
    """A route to a Service: one that was made for external access, or another one that uses ports of a Gateway."""

    kind: str
    namespace: str
    name: str
    uid: str
    created: str
    deleting: bool
    ours: bool
    """Whether it was made for external access."""
    hosts: tuple[str, ...] = ()
    parents: tuple[ListenerRef, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


@dataclass(frozen=True, slots=True)
class Listener:
    """Where a Gateway listens."""

    name: str
    port: int
    protocol: str
    """TLS, TCP, HTTPS and so on."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A Gateway of the Gateway API."""

    namespace: str
    name: str
    addresses: tuple[str, ...]
    """As its status tells them: addresses and names."""
    listeners: tuple[Listener, ...]


@dataclass(frozen=True, slots=True)
class Routing:
    """What there is of routes: nothing of it is looked at without `spec.externalAccess.routes`."""

    served: Mapping[str, str] = field(default_factory=dict)
    """Of each kind of route that Kubernetes serves, and that the operator may read: its apiVersion."""
    routes: tuple[Route, ...] = ()
    """Those that this ValkeyCluster owns."""
    gateways: Mapping[str, Gateway] = field(default_factory=dict)
    """By `namespace/name`."""
    others: tuple[Route, ...] = ()
    """TCPRoutes that this ValkeyCluster does not own."""


NO_ROUTING = Routing()


@dataclass(frozen=True, slots=True)
class Machine:
    """A Kubernetes node."""

    name: str
    addresses: tuple[tuple[str, str], ...]
    """(type, address) in the order of its status: ExternalIP, InternalIP, Hostname, ExternalDNS, InternalDNS."""


@dataclass(frozen=True, slots=True)
class Passwords:
    """The generated passwords of a cluster's system users and of `default`."""

    operator: str = field(repr=False)
    replication: str = field(repr=False)
    default: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Server:
    """What one server said of itself and of its cluster."""

    id: str
    version: tuple[int, ...]
    primary: bool
    link_up: bool
    """Of a replica: whether it is linked to its primary."""
    offset: int
    """Its replication offset, bytes."""
    loading: bool
    state_ok: bool
    """Whether its `cluster_state` is ok."""
    members: tuple[Member, ...]
    """What it knows of the cluster, itself included."""
    config: Mapping[str, str]
    """Its running values of `settings.ASKED`."""
    served_certificate: str | None = None
    """The fingerprint of the certificate that it served in a new handshake; None: there was no need to ask."""

    @property
    def me(self) -> Member:
        """Its own line of the topology."""
        return next(member for member in self.members if member.myself)


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Why a server could not be asked."""

    reason: str


@dataclass(frozen=True, slots=True)
class Probe:
    """What answered at an endpoint: the node id, or why nothing did."""

    id: str | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Tls:
    """The certificates of a cluster with TLS."""

    offered: Certificate | Flawed
    """What the user's Secret holds."""
    standing: Certificate | None
    """What the servers' Secret holds; None: there is none yet, or nobody could use what it holds."""
    standing_since: datetime | None = None
    """Since when the servers' Secret holds that."""
    previous: Certificate | None = None
    """What it held before, without the key: what a server serves that has not loaded the standing one yet."""
    offered_trusted: bool = False
    """Whether the standing authorities vouch for the offered certificate."""
    standing_trusted: bool = False
    """Whether the offered authorities vouch for the standing certificate."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """The ConfigMap with a cluster's names for the DNS inside, as it stands."""

    uid: str
    text: str


@dataclass(frozen=True, slots=True)
class Observed:
    """One cluster, whole."""

    cluster: Cluster
    records: Mapping[NodeIndex, NodeRecord]
    workloads: Mapping[NodeIndex, Workload]
    pods: Mapping[NodeIndex, Pod]
    files: frozenset[NodeIndex]
    """Of which nodes there is a file of what they announce."""
    services: Mapping[str, Service]
    """Those that the ValkeyCluster owns, by name."""
    served: Mapping[str, frozenset[str]]
    """Of each Service for external access: the names of its ports that Kubernetes passes on, by its EndpointSlices."""
    machines: Mapping[str, Machine] | None
    """None: the operator may not read nodes."""
    passwords: Passwords | None
    """None: not generated yet."""
    fresh_passwords: Passwords
    """Drawn for this look, used only where there are none."""
    acl: str | None
    """The ACL file as it stands; None: not written yet."""
    user_passwords: Mapping[str, tuple[str, ...] | str]
    """Of each of spec.users with a password Secret: its passwords, or what is wrong with the Secret."""
    servers: Mapping[NodeIndex, Server | Unreachable]
    probes: Mapping[Announcement, Probe] = field(default_factory=dict)
    """What answered at endpoints that are about to be announced."""
    resolved: Mapping[str, bool] = field(default_factory=dict)
    """Whether each advertised host name resolves inside the cluster."""
    tls: Tls | None = None
    """None: the cluster has no TLS."""
    claims: Mapping[str, str] = field(default_factory=dict)
    """Endpoints (`host:port`) that other clusters have, each with its owner (`namespace/name`)."""
    routing: Routing = NO_ROUTING
    followed: Mapping[str, datetime] = field(default_factory=dict)
    """When kube-proxies have followed the last change of a Service, by name, where it came right after another one."""
    service_warnings: Mapping[str, str] = field(default_factory=dict)
    """Of Services whose load balancer has no address, or was dialled in vain: the newest Warning event."""
    snippet: Snippet | None = None
    """The names published for the DNS inside; None: there are none."""
    domain: str = "cluster.local"
    """The domain of Kubernetes' own names, which nobody tells but who runs the operator."""

    def reachable(self) -> dict[NodeIndex, Server]:
        """The servers that answered."""
        return {index: server for index, server in self.servers.items() if isinstance(server, Server)}
