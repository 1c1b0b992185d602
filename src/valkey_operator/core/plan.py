"""What a decision yields: actions, the whole next status, and when to look again.

All actions of a plan are independent and run at the same time, but for those to one server, which run in order, and for `Announce`, which is
one action because its parts must not be torn apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from valkey_operator.core.observed import Balancing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from valkey_operator.api.status import ClusterStatus, NodeStatus
    from valkey_operator.core.certificates import Files
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Announcement, ListenerRef, Passwords
    from valkey_operator.valkey.slots import Slots


# --- objects wanted; manifests/ renders them, perform writes them where they differ ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class HeadlessService:
    """The Service that gives pods their DNS names; publishes not-ready addresses."""


@dataclass(frozen=True, slots=True)
class ServicePort:
    """A port of a Service for external access."""

    name: str
    port: int
    target: str | int
    """A container port's name (one pod) or the number (all pods)."""
    node_port: int | None = None
    fallback: int | None = None
    """`port` where `node_port` is only preferred: the number used when the API server refuses that node port, which is then left to it."""


class ServiceRole(StrEnum):
    """What a Service for external access leads to, as its label `valkey.io/external-access` tells."""

    SHARD = "shard"
    NODE = "node"
    BOOTSTRAP = "bootstrap"


@dataclass(frozen=True, slots=True)
class ExternalService:
    """A Service for external access: of one shard, of one node, or of all of them."""

    name: str
    role: ServiceRole
    type: str
    """ClusterIP, NodePort or LoadBalancer."""
    ports: tuple[ServicePort, ...]
    selector: Mapping[str, str] = field(default_factory=dict)
    """Labels of its pods beside that of the cluster."""
    shard: int | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    traffic_policy: str | None = None
    balancing: Balancing = field(default_factory=Balancing)
    ip_families: tuple[str, ...] = ()
    publish_not_ready: bool = True
    """Whether its pods are led to before they are Ready and while they shut down: clients were told of them."""


@dataclass(frozen=True, slots=True)
class ExternalRoute:
    """A route from a router to the Service of its name."""

    kind: str
    """TLSRoute, TCPRoute, Ingress or Route."""
    api_version: str
    name: str
    role: ServiceRole
    port: ServicePort
    """That of the Service."""
    hosts: tuple[str, ...] = ()
    """The names that it leads; none where ports tell nodes apart."""
    parents: tuple[ListenerRef, ...] = ()
    """The listeners of Gateways that it attaches to."""
    shard: int | None = None
    ingress_class: str | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """The PodDisruptionBudget of the cluster: one pod at a time."""


@dataclass(frozen=True, slots=True)
class SystemSecret:
    """The generated passwords; written once, never changed."""

    passwords: Passwords


@dataclass(frozen=True, slots=True)
class AclSecret:
    """What servers read at their start: the ACL file and the replication credentials."""

    acl: str = field(repr=False)
    replication: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TlsSecret:
    """The certificate that servers load."""

    files: Files
    since: str
    """The moment of its last change."""
    previous: tuple[str, str] | None = None
    """The certificate and the authorities that it held before."""


@dataclass(frozen=True, slots=True)
class ConnectionSecret:
    """What applications need to connect."""

    username: str
    password: str = field(repr=False)
    host: str
    port: int
    external: tuple[str, ...]
    """`host:port` of the outside bootstrap addresses."""
    authorities: str | None = None
    """The certificates of those who vouch for the servers; None: there is no TLS."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The ConfigMap with valkey.conf."""

    text: str


@dataclass(frozen=True, slots=True)
class Record:
    """A ValkeyNode."""

    index: NodeIndex
    announce: Announcement | None


@dataclass(frozen=True, slots=True)
class ServerWorkload:
    """The StatefulSet of one node, owned by its ValkeyNode."""

    index: NodeIndex
    owner_uid: str
    digest: str
    """Of what the server reads at its start (valkey.conf and the ACL file)."""


@dataclass(frozen=True, slots=True)
class AnnounceFile:
    """What one server announces after a restart: the text of a configuration file; owned by its ValkeyNode."""

    index: NodeIndex
    owner_uid: str
    text: str


@dataclass(frozen=True, slots=True)
class DnsSnippet:
    """The ConfigMap with what the DNS inside has to know of advertised names."""

    text: str


@dataclass(frozen=True, slots=True)
class PodLabels:
    """The labels that the operator keeps on a pod, and the annotation by which its kubelet brings a new certificate at once."""

    index: NodeIndex
    pod: str
    uid: str
    role: str | None
    serving: bool
    certificate: str | None = None


Wanted = (
    HeadlessService
    | ExternalService
    | ExternalRoute
    | DisruptionBudget
    | SystemSecret
    | AclSecret
    | TlsSecret
    | ConnectionSecret
    | ServerConfig
    | Record
    | ServerWorkload
    | AnnounceFile
    | DnsSnippet
    | PodLabels
)


# --- commands to servers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SetConfig:
    """One CONFIG SET of all these."""

    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AddSlots:
    """Take slots that nobody owns."""

    slots: Slots


@dataclass(frozen=True, slots=True)
class Meet:
    """Join the server at this pod IP."""

    ip: str


@dataclass(frozen=True, slots=True)
class Replicate:
    """Become a replica of the primary with this id."""

    primary_id: str


@dataclass(frozen=True, slots=True)
class Forget:
    """Forget the node with this id."""

    id: str


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Of a replica: become primary now, its primary is certainly gone."""

    vote: bool
    """Whether the other primaries vote on it (CLUSTER FAILOVER FORCE), or there can be no majority of them (TAKEOVER)."""


@dataclass(frozen=True, slots=True)
class BumpEpoch:
    """Of a primary: take the newest epoch of the cluster, so that what it and its replicas say is believed by everybody."""


@dataclass(frozen=True, slots=True)
class KillClients:
    """Close all connections of clients of a kind (normal, pubsub), so that they connect again, to where the endpoint leads now."""

    kind: Literal["normal", "pubsub"]


Command = SetConfig | AddSlots | Meet | Replicate | Forget | TakeOver | BumpEpoch | KillClients


# --- actions ------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ensure:
    """Make an object be as wanted: created where absent, applied where it differs, never taken over from another owner."""

    wanted: Wanted


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete this very object."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Tell:
    """Send a command to one server."""

    index: NodeIndex
    command: Command


@dataclass(frozen=True, slots=True)
class Announce:
    """Change what one node announces: its record, then its file, then one CONFIG SET; a failed part stops the rest."""

    index: NodeIndex
    record: Record
    file: AnnounceFile | None
    """None: the node has never announced anything but its place inside, so it has no file."""
    values: Mapping[str, str] | None
    """None: the server cannot be asked now; it reads the file when it comes."""


Action = Ensure | Remove | Tell | Announce


@dataclass(frozen=True, slots=True)
class Event:
    """Something a person should hear of once."""

    reason: str
    note: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that one pass does."""

    actions: tuple[Action, ...]
    status: ClusterStatus
    node_status: Mapping[NodeIndex, NodeStatus]
    events: tuple[Event, ...] = ()
    wake_after: float | None = None
    """Seconds until the next look if nothing happens before; None: only when something happens."""
    listen: Mapping[NodeIndex, str] = field(default_factory=dict)
    """Primaries that tell of their handover, each with the key to wait at."""
    quiet: bool = False
    """Whether that look is the slow look at a settled cluster, for which one server's view is enough."""
