"""What the status of a ValkeyCluster and of a ValkeyNode tells: observed, never hoped for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, ValidationError

from valkey_operator.api.conditions import ConditionStatus, ConditionType, State
from valkey_operator.api.model import Model
from valkey_operator.api.rule import ATOMIC, DATE_TIME, INT32, INT64, list_map

if TYPE_CHECKING:
    from collections.abc import Mapping


class Condition(Model):
    """One thing that is so, is not so, or is not known."""

    type: Annotated[str, Field(max_length=316)]
    """What the condition speaks of."""

    status: ConditionStatus
    """Whether it is so."""

    reason: Annotated[str, Field(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    """Why, in one word for programs."""

    message: Annotated[str, Field(max_length=32768)]
    """Why, in a sentence for people, and what to do."""

    last_transition_time: Annotated[str, DATE_TIME]
    """Since when the status is what it is."""

    observed_generation: Annotated[int, Field(ge=0), INT64] | None = None
    """The generation of the object that was looked at."""


class NodeEndpoint(Model):
    """Where clients outside reach one node."""

    node: Annotated[int, INT32]
    """Index of the node in its shard."""

    role: str = ""
    """primary or replica."""

    host: str = ""
    """Host to dial."""

    port: Annotated[int, INT32] | None = None
    """Port to dial."""

    address: str = ""
    """Both, as host:port."""

    announced: bool = False
    """Whether every node of the cluster tells clients this pair."""

    waiting_since: Annotated[str, DATE_TIME] | None = None
    """Since when the endpoint exists but does not answer the operator; if it is announced all the same, the operator never got an answer there."""


class ShardEndpoint(Model):
    """Where clients outside reach one shard: its primary."""

    shard: Annotated[int, INT32]
    """Index of the shard."""

    service: str = ""
    """The shard's Service; that of all shards with loadBalancerScope Cluster, none with Node."""

    host: str = ""
    """Host of the primary."""

    port: Annotated[int, INT32] | None = None
    """Port of the primary."""

    address: str = ""
    """Both, as host:port."""

    nodes: Annotated[tuple[NodeEndpoint, ...], list_map("node")] = ()
    """The nodes of the shard, one by one."""


class Bootstrap(Model):
    """Where clients outside begin."""

    service: str = ""
    """The Service of all shards."""

    addresses: Annotated[tuple[str, ...], ATOMIC] = ()
    """Addresses to begin with, as host:port; with node ports up to three, on different Kubernetes nodes."""


class ExternalAccessStatus(Model):
    """What clients outside can reach, read back from Kubernetes and from the servers."""

    type: str
    """The type that is served."""

    ready: bool = False
    """Whether clients outside can work with every node."""

    draining_since: Annotated[str, DATE_TIME] | None = None
    """Since when endpoints of an earlier setting are only kept for clients with an old topology."""

    bootstrap: Bootstrap | None = None
    """Where clients outside begin."""

    endpoints: Annotated[tuple[ShardEndpoint, ...], list_map("shard")] = ()
    """The shards, one by one."""


class ClusterStatus(Model):
    """How the cluster is, as the operator last saw it."""

    state: State = State.INITIALIZING
    """One word: Initializing, Reconciling, Ready, Degraded or Failed."""

    reason: str = ""
    """Why, in one word."""

    message: str = ""
    """Why, in a sentence, and what to do."""

    observed_generation: Annotated[int, INT64] | None = None
    """The generation of the spec that this status answers."""

    shards: Annotated[int, INT32] = 0
    """Shards that the servers know."""

    ready_shards: Annotated[int, INT32] = 0
    """Shards whose primary and replicas are all well."""

    external_access: ExternalAccessStatus | None = None
    """What clients outside can reach; absent when external access is off."""

    conditions: Annotated[tuple[Condition, ...], list_map("type")] = ()
    """Ready, Progressing, Degraded, ClusterFormed, SlotsAssigned, ExternalAccessReady and ConfigurationWarning, each with its reason."""

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """The stored status; an empty one when it cannot be read, since all of it can be observed anew."""
        try:
            return cls.model_validate(raw)
        except ValidationError:
            return cls()

    @property
    def begins_at(self) -> tuple[str, ...]:
        """Where clients outside begin (`host:port`); empty while that is not told."""
        bootstrap = self.external_access.bootstrap if self.external_access is not None else None
        return bootstrap.addresses if bootstrap is not None else ()

    def condition(self, type_: ConditionType) -> Condition | None:
        """The condition of that type, if it was ever told."""
        return next((condition for condition in self.conditions if condition.type == type_), None)


class Announced(Model):
    """The pair that clients are told."""

    host: str = ""
    """Host."""

    port: Annotated[int, INT32] | None = None
    """Port."""

    address: str = ""
    """Both, as host:port."""


class NodeStatus(Model):
    """What the server is, as the operator last saw it."""

    observed_generation: Annotated[int, INT64] | None = None
    """The generation of the spec that this status answers."""

    node_id: str = ""
    """The server's own id (CLUSTER MYID)."""

    role: str = ""
    """primary or replica; empty while the server is in no cluster."""

    ready: bool = False
    """Whether the server is in the cluster and well."""

    pod_name: str = ""
    """The pod that runs the server."""

    pod_ip: Annotated[str, Field(alias="podIP")] = ""
    """That pod's address."""

    machine: str = ""
    """The Kubernetes node that runs the pod."""

    version: str = ""
    """The server's version."""

    certificate: str | None = None
    """SHA-256 fingerprint of the certificate that the server serves, as last seen in a new handshake; absent without TLS."""

    sending_away_since: Annotated[str, DATE_TIME] | None = None
    """Since when clients of the node are sent away, where its shard has one endpoint that leads to another node now; absent otherwise."""

    announced: Announced | None = None
    """What clients are really told, as read from the server."""

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """The stored status; an empty one when it cannot be read, since all of it can be observed anew."""
        try:
            return cls.model_validate(raw)
        except ValidationError:
            return cls()
