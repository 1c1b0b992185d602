"""ValkeyNode: the operator's record of one server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field

from valkey_operator.api.metadata import Metadata
from valkey_operator.api.model import Model
from valkey_operator.api.rule import INT32
from valkey_operator.api.status import NodeStatus

if TYPE_CHECKING:
    from collections.abc import Mapping


class Announce(Model):
    """The pair that clients should be told."""

    host: Annotated[str, Field(min_length=1, max_length=253)]
    """Host name or IPv4 address."""

    port: Annotated[int, Field(ge=1, le=65535), INT32]
    """Port."""

    client_ipv4: Annotated[str, Field(alias="clientIPv4", max_length=15)] = ""
    """The same host as an IPv4 address, for clients that read CLUSTER NODES; empty when it is not known."""

    client_ipv6: Annotated[str, Field(alias="clientIPv6", max_length=39)] = ""
    """The same as an IPv6 address."""


class ValkeyNodeSpec(Model):
    """What the server should be and announce."""

    cluster: Annotated[str, Field(min_length=1, max_length=63)]
    """The ValkeyCluster that the server belongs to."""

    shard: Annotated[int, Field(ge=0), INT32]
    """Index of its shard."""

    node: Annotated[int, Field(ge=0), INT32]
    """Index within its shard."""

    announce: Announce | None = None
    """What clients should be told; absent means the pod's own address."""


class ValkeyNode(Model):
    """One server of a ValkeyCluster. Made, changed and removed by the operator: change the ValkeyCluster instead.

    Its spec says what that server should be and announce, its status what it is and what is really announced.
    """

    metadata: Metadata
    spec: ValkeyNodeSpec
    status: NodeStatus = NodeStatus()

    @classmethod
    def parse(cls, obj: Mapping[str, Any]) -> Self:
        """The object as the API server stores it; raises SpecInvalid with every mistake."""
        spec = ValkeyNodeSpec.read(obj.get("spec") or {}, path="spec")
        return cls(metadata=Metadata.of(obj), spec=spec, status=NodeStatus.parse(obj.get("status") or {}))
