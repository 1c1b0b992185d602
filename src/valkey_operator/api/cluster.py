"""ValkeyCluster: what users write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import Field

from valkey_operator.api.config import Config
from valkey_operator.api.exposure_rules import EXPOSURE_RULES
from valkey_operator.api.external_access import ExternalAccess
from valkey_operator.api.metadata import Metadata
from valkey_operator.api.model import Model
from valkey_operator.api.passthrough import Container, PodSecurityContext, Resources
from valkey_operator.api.port_rules import MAX_NODES, PORT_RULES
from valkey_operator.api.rule import ATOMIC, INT32, INT64, STORED_DEFAULT, Rule, list_map
from valkey_operator.api.scheduling import Scheduling
from valkey_operator.api.status import ClusterStatus
from valkey_operator.api.tls import ALWAYS_OR_NEVER, Tls
from valkey_operator.api.users import User

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUP = "valkey.io"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

DEFAULT_IMAGE = "docker.io/valkey/valkey:9.1.2"

MAX_REPLICAS = 5
MAX_NAME = 39
"""So that `valkey-<name>-<shard>-<node>` has at most the 52 characters of a StatefulSet's name whose pods carry it in labels, with three
digits of a shard and one of a node."""

_FIXED = Rule(
    cel="self == oldSelf",
    message="cannot be changed yet: create a new ValkeyCluster with the number you want and move the data",
)


class ImagePullSecret(Model):
    """A Secret with a registry's password."""

    name: Annotated[str, Field(min_length=1, max_length=253)]
    """The Secret's name, in the cluster's namespace."""


class ValkeyClusterSpec(Model):
    """What the cluster should be."""

    image: Annotated[str, Field(min_length=1, max_length=1024)] = DEFAULT_IMAGE
    """The server's image. When unset, the one that the operator's version was made for, docker.io/valkey/valkey:9.1.2, which moves
    with the operator: set it to decide yourself when servers are updated."""

    image_pull_secrets: Annotated[tuple[ImagePullSecret, ...], Field(max_length=16), ATOMIC] = ()
    """Secrets for pulling images."""

    shards: Annotated[int, Field(ge=1, le=MAX_NODES), INT32, _FIXED]
    """How many shards, each with one primary and a share of the 16,384 slots. Three or more survive the loss of a primary by themselves.
    Cannot be changed yet."""

    replicas: Annotated[int, Field(ge=0, le=MAX_REPLICAS), INT32, STORED_DEFAULT, _FIXED] = 0
    """How many replicas each shard has beside its primary. Cannot be changed yet. Default 0."""

    resources: Resources = Field(default_factory=dict)
    """What the server's container is promised and may use. Example: {"requests": {"cpu": "500m", "memory": "1Gi"}}."""

    scheduling: Scheduling = Scheduling()
    """Where the pods run."""

    users: Annotated[tuple[User, ...], Field(max_length=64), list_map("name")] = ()
    """Who may log in. Without users the user "default" gets a generated password, found in the Secret `<cluster>-connection`. With
    users, "default" is off unless it is listed."""

    containers: Annotated[tuple[Container, ...], Field(max_length=16), list_map("name")] = ()
    """Patches of the pods' containers, merged by name as in a strategic merge patch; `server` is Valkey's. Other names are added as
    further containers."""

    config: Config = Field(default_factory=dict)
    """Further settings of valkey.conf. Values are strings: quote numbers, yes and no. Keys that the operator owns are refused.
    Example: {"maxmemory-policy": "allkeys-lru", "lazyfree-lazy-eviction": "yes"}."""

    pod_security_context: PodSecurityContext = Field(default_factory=dict)
    """The pods' security context, merged over the operator's, which passes the Pod Security Standard "restricted"."""

    termination_grace_period_seconds: Annotated[int, Field(ge=1), INT64] = 30
    """How long a server has to hand over and stop. 30 when unset."""

    tls: Tls | None = None
    """Secures all connections. Must be decided when the cluster is created: it can be neither added nor removed later."""

    external_access: ExternalAccess = ExternalAccess()
    """How clients outside Kubernetes reach the cluster."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel=f"self.shards > {MAX_NODES} || self.replicas > {MAX_REPLICAS} || self.shards * (1 + self.replicas) <= {MAX_NODES}",
            message=f"shards × (1 + replicas) must be at most {MAX_NODES}, the largest cluster that Valkey recommends: lower one of them",
            holds=lambda spec: spec.shards * (1 + spec.replicas) <= MAX_NODES,
            field_path=".shards",
        ),
        *PORT_RULES,
        *EXPOSURE_RULES,
        ALWAYS_OR_NEVER,
    )


class ValkeyCluster(Model):
    """A Valkey cluster: shards of one primary and its replicas, reachable from outside when externalAccess says so.

    Its name is an RFC 1035 label of at most 39 characters, so that all names made from it fit.
    """

    metadata: Metadata
    spec: ValkeyClusterSpec
    status: ClusterStatus = ClusterStatus()

    @classmethod
    def parse(cls, obj: Mapping[str, Any]) -> Self:
        """The object as the API server stores it; raises SpecInvalid with every mistake when its spec says what this operator cannot do."""
        spec = ValkeyClusterSpec.read(obj.get("spec") or {}, path="spec")
        return cls(metadata=Metadata.of(obj), spec=spec, status=ClusterStatus.parse(obj.get("status") or {}))
