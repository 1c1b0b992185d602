"""From objects as the API server stores them to the frozen views that decisions are made on.

Each function here is a `project` for a reflector: it keeps what is looked at and drops the rest. One that meets an object which it cannot
read raises, and the reflector keeps the last readable view.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from valkey_operator.api.cluster import ValkeyCluster
from valkey_operator.api.model import SpecInvalid
from valkey_operator.api.node import ValkeyNode
from valkey_operator.api.status import ClusterStatus
from valkey_operator.core import names, observed
from valkey_operator.kube.fields import owned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from valkey_operator.core.names import NodeIndex

Object = dict[str, Any]

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Child:
    """What every object has that the operator made, or keeps labels on."""

    kind: str
    namespace: str
    name: str
    uid: str
    owner_uid: str | None
    """Of the owner that controls it; None: nobody does."""
    labels: Mapping[str, str]
    deleting: bool
    owned: Mapping[str, Any] = field(repr=False)
    """The part of it that is ours, with which `kube.fields.is_current` tells whether there is anything to write. Of a Secret it holds secrets."""

    def is_owned_by(self, uid: str) -> bool:
        """Whether it is the owner's of that uid to change and to remove. Labels do not make it so: anybody can write those."""
        return self.owner_uid == uid

    @property
    def cluster(self) -> str | None:
        """The ValkeyCluster that it belongs to, by its label."""
        return self.labels.get(names.CLUSTER)

    @property
    def index(self) -> NodeIndex | None:
        """The node that it belongs to, by its labels."""
        return names.index_of(self.labels)


@dataclass(frozen=True, slots=True)
class Seen(Generic[V]):
    """An object of ours: what all have, and what decisions look at in its kind."""

    child: Child
    view: V


@dataclass(frozen=True, slots=True)
class InvalidCluster:
    """A ValkeyCluster, stored before a rule of its API existed, that says what this operator cannot do."""

    name: str
    namespace: str
    uid: str
    generation: int
    status: ClusterStatus
    """As last written; it outlives the mistake."""
    mistakes: tuple[str, ...]
    """Sentences that name the field."""


def child(obj: Object) -> Child:
    """Of an object whose content no decision looks at (ConfigMap, PodDisruptionBudget): whether it is there, and as it was applied."""
    metadata = obj["metadata"]
    owners = (owner["uid"] for owner in metadata.get("ownerReferences", ()) if owner.get("controller"))
    return Child(
        kind=obj["kind"],
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        owner_uid=next(owners, None),
        labels=metadata.get("labels", {}),
        deleting=_deleting(obj),
        owned=owned(obj, names.FIELD_MANAGER),
    )


def cluster(obj: Object) -> observed.Cluster | InvalidCluster | None:
    """A ValkeyCluster; None once somebody has deleted it, since from then on nothing may be made for it."""
    if _deleting(obj):
        return None
    metadata = obj["metadata"]
    try:
        parsed = ValkeyCluster.parse(obj)
    except SpecInvalid as error:
        return InvalidCluster(
            name=metadata["name"],
            namespace=metadata["namespace"],
            uid=metadata["uid"],
            generation=metadata["generation"],
            status=ClusterStatus.parse(obj.get("status") or {}),
            mistakes=error.mistakes,
        )
    return observed.Cluster(
        name=metadata["name"],
        namespace=metadata["namespace"],
        uid=metadata["uid"],
        generation=metadata["generation"],
        created=metadata["creationTimestamp"],
        spec=parsed.spec,
        status=parsed.status,
        labels=metadata.get("labels", {}),
    )


def record(obj: Object) -> Seen[observed.NodeRecord]:
    """A ValkeyNode."""
    parsed = ValkeyNode.parse(obj)
    announce = parsed.spec.announce
    return Seen(
        child(obj),
        observed.NodeRecord(
            name=obj["metadata"]["name"],
            uid=obj["metadata"]["uid"],
            announce=None
            if announce is None
            else observed.Announcement(announce.host, announce.port, announce.client_ipv4, announce.client_ipv6),
            status=parsed.status,
        ),
    )


def service(obj: Object) -> Seen[observed.Service]:
    """A Service that the operator made."""
    metadata, spec = obj["metadata"], obj["spec"]
    ours = child(obj)
    own_class = ours.owned.get("spec", {}).get("loadBalancerClass")
    return Seen(
        ours,
        observed.Service(
            name=metadata["name"],
            uid=metadata["uid"],
            kind=metadata.get("labels", {}).get(names.EXTERNAL_ACCESS, ""),
            type=spec["type"],
            created=_time(metadata["creationTimestamp"]),
            deleting=_deleting(obj),
            ports=tuple(
                observed.AllocatedPort(
                    name=port.get("name", ""), port=port["port"], node_port=port.get("nodePort"), target=port.get("targetPort", 0)
                )
                for port in spec.get("ports", ())
                if port.get("protocol", "TCP") == "TCP"
            ),
            selector={key: value for key, value in (spec.get("selector") or {}).items() if key != names.CLUSTER},
            ingress=tuple(
                observed.Ingress(ip=address.get("ip", ""), hostname=address.get("hostname", ""))
                for address in obj.get("status", {}).get("loadBalancer", {}).get("ingress", ())
            ),
            balancing=observed.Balancing(
                load_balancer_class=own_class,
                source_ranges=tuple(spec.get("loadBalancerSourceRanges", ())),
                allocate_node_ports=spec.get("allocateLoadBalancerNodePorts"),
            ),
            foreign_class=spec.get("loadBalancerClass") if own_class is None else None,
            traffic_policy=spec.get("externalTrafficPolicy"),
            families=tuple(spec.get("ipFamilies", ())),
        ),
    )


@dataclass(frozen=True, slots=True)
class Slice:
    """Which ports of a Service some of its pods have."""

    namespace: str
    cluster: str
    service: str
    ports: frozenset[str]


def endpoint_slice(obj: Object) -> Slice:
    """An EndpointSlice, which has the labels of its Service."""
    metadata = obj["metadata"]
    return Slice(
        namespace=metadata["namespace"],
        cluster=metadata["labels"][names.CLUSTER],
        service=metadata["labels"]["kubernetes.io/service-name"],
        ports=frozenset(port.get("name", "") for port in obj.get("ports") or ()),
    )


def workload(obj: Object) -> Seen[observed.Workload]:
    """The StatefulSet of one server; its newest revision is empty until Kubernetes has looked at it."""
    return Seen(
        child(obj),
        observed.Workload(
            name=obj["metadata"]["name"],
            uid=obj["metadata"]["uid"],
            update_revision=obj.get("status", {}).get("updateRevision", ""),
        ),
    )


def machine(obj: Object) -> observed.Machine:
    """A Kubernetes node."""
    addresses = obj.get("status", {}).get("addresses", ())
    return observed.Machine(
        name=obj["metadata"]["name"],
        addresses=tuple((address["type"], address["address"]) for address in addresses),
    )


def _deleting(obj: Object) -> bool:
    return obj["metadata"].get("deletionTimestamp") is not None


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
