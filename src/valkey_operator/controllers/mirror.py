"""What the operator knows of Kubernetes: a reflector per kind, and which clusters a change concerns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from valkey_operator.api.cluster import API_VERSION
from valkey_operator.controllers import pod_views, secret_views, views
from valkey_operator.controllers.routing_mirror import RoutingMirror
from valkey_operator.core import names, observed
from valkey_operator.kube.controller import Source
from valkey_operator.kube.errors import Forbidden, NotServed
from valkey_operator.kube.kinds import (
    CONFIG_MAP,
    ENDPOINT_SLICE,
    NODE,
    POD,
    POD_DISRUPTION_BUDGET,
    SECRET,
    SERVICE,
    STATEFUL_SET,
    Key,
    Kind,
)
from valkey_operator.kube.reflector import Reflector

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from valkey_operator.controllers.views import Child, InvalidCluster, Seen
    from valkey_operator.kube.client import Kube
    from valkey_operator.kube.observer import Observer

V = TypeVar("V")

VALKEY_CLUSTER = Kind(API_VERSION, "ValkeyCluster", "valkeyclusters")
VALKEY_NODE = Kind(API_VERSION, "ValkeyNode", "valkeynodes")

_OURS = f"{names.MANAGED_BY}={names.FIELD_MANAGER}"


@dataclass(frozen=True, slots=True)
class UserSecret:
    """A Secret that may hold users' passwords or a certificate: only that it is there and which version; its values are read when they are wanted."""

    namespace: str
    name: str
    version: str


class Mirror:
    """All reflectors of the operator. Only of ValkeyClusters, and of Secrets' names, everything is seen; else only what is ours."""

    def __init__(self, kube: Kube, routing: RoutingMirror, *, namespace: str | None, reads_nodes: bool, observer: Observer) -> None:
        """`namespace` None means all; `reads_nodes`: whether the operator has the right to read Kubernetes nodes."""
        self.routing = routing

        def ours(
            kind: Kind, project: Callable[[dict[str, Any]], V | None], index: Callable[[V], Iterable[Hashable]]
        ) -> Reflector[V]:
            return Reflector(kube, kind, project, namespace=namespace, label_selector=_OURS, index=index, observer=observer)

        self.clusters: Reflector[observed.Cluster | InvalidCluster] = Reflector(
            kube, VALKEY_CLUSTER, views.cluster, namespace=namespace, index=lambda view: (view.namespace,), observer=observer
        )
        self.records = ours(VALKEY_NODE, views.record, _under)
        self.services = ours(SERVICE, views.service, _under)
        self.slices = ours(ENDPOINT_SLICE, views.endpoint_slice, _of_slice)  # they have their Services' labels
        self.workloads = ours(STATEFUL_SET, views.workload, _under)
        self.secrets = ours(SECRET, secret_views.secret, _under)
        self.pods = ours(POD, pod_views.pod, _under_cluster_and_machine)
        self.config_maps = ours(CONFIG_MAP, views.child, _child_under)
        self.budgets = ours(POD_DISRUPTION_BUDGET, views.child, _child_under)
        self.user_secrets: Reflector[UserSecret] = Reflector(kube, SECRET, _user_secret, namespace=namespace, observer=observer)
        self.machines: Reflector[observed.Machine] | None = (
            Reflector(kube, NODE, views.machine, observer=observer) if reads_nodes else None
        )

    @classmethod
    async def of(cls, kube: Kube, *, namespace: str | None, observer: Observer) -> Mirror:
        """A mirror that does without Kubernetes nodes, and without kinds of routes, where the operator may not read them."""
        routing = await RoutingMirror.of(kube, namespace=namespace, ours=_OURS, observer=observer)
        reads_nodes = True
        try:
            async for _ in kube.list_pages(NODE, page=1):
                break
        except Forbidden:
            reads_nodes = False
        return cls(kube, routing, namespace=namespace, reads_nodes=reads_nodes, observer=observer)

    def sources(self) -> Sequence[Source[Key, Any]]:
        """The reflectors, each with the clusters that a change in it concerns."""
        sources: list[Source[Key, Any]] = [
            Source(self.clusters, lambda view: (Key(view.namespace, view.name),)),
            *(Source(each, _cluster_of_seen) for each in (self.records, self.services, self.workloads, self.secrets, self.pods)),
            *(Source(each, _cluster_of) for each in (self.config_maps, self.budgets)),
            Source(self.slices, _of_slice),
            Source(self.user_secrets, self._users_of),
            *self.routing.sources(self.clusters.store.all),
        ]
        if self.machines is not None:
            sources.append(Source(self.machines, self._clusters_on))
        return sources

    def kind(self, name: str) -> Kind:
        """The kind of that name, in the version that is used; NotServed for a route's that there is not."""
        kind = KINDS.get(name) or self.routing.kinds().get(name)
        if kind is None:
            raise NotServed(f"Kubernetes does not serve {name}")
        return kind

    def child(self, kind: str, namespace: str, name: str) -> Child | None:
        """The object of that kind and name, if it is ours."""
        if kind not in KINDS:
            return self.routing.child(kind, namespace, name)
        match kind:
            case "ConfigMap":
                return self.config_maps.store.get(namespace, name)
            case "PodDisruptionBudget":
                return self.budgets.store.get(namespace, name)
            case _:
                reflector: Reflector[Seen[Any]] = self._seen[kind]
                seen = reflector.store.get(namespace, name)
                return seen.child if seen is not None else None

    @property
    def _seen(self) -> dict[str, Any]:
        return {
            "ValkeyNode": self.records,
            "Service": self.services,
            "StatefulSet": self.workloads,
            "Secret": self.secrets,
            "Pod": self.pods,
        }

    def _users_of(self, secret: UserSecret) -> Iterator[Key]:
        for view in self.clusters.store.by(secret.namespace):
            if isinstance(view, observed.Cluster) and secret.name in _secret_names(view):
                yield Key(view.namespace, view.name)

    def _clusters_on(self, machine: observed.Machine) -> Iterator[Key]:
        for seen in self.pods.store.by(machine.name):
            yield from _cluster_of(seen.child)


KINDS = {kind.kind: kind for kind in (VALKEY_NODE, SERVICE, STATEFUL_SET, SECRET, CONFIG_MAP, POD_DISRUPTION_BUDGET, POD)}
"""Every kind that a plan can want, by name, but for those of routes."""


def _secret_names(cluster: observed.Cluster) -> Iterator[str]:
    """The Secrets that a cluster's user makes for it: of passwords, and of the certificate."""
    yield from (user.secret_name(cluster.name) for user in cluster.spec.users)
    if cluster.spec.tls is not None:
        yield cluster.spec.tls.certificate.secret_name


def _user_secret(obj: dict[str, Any]) -> UserSecret | None:
    metadata = obj["metadata"]
    if metadata.get("labels", {}).get(names.MANAGED_BY) == names.FIELD_MANAGER:
        return None
    return UserSecret(metadata["namespace"], metadata["name"], metadata["resourceVersion"])


def _cluster_of(child: Child) -> tuple[Key, ...]:
    return (Key(child.namespace, child.cluster),) if child.cluster else ()


def _cluster_of_seen(seen: Seen[Any]) -> tuple[Key, ...]:
    return _cluster_of(seen.child)


def _of_slice(view: views.Slice) -> tuple[Key, ...]:
    return (Key(view.namespace, view.cluster),)


def _child_under(child: Child) -> tuple[Hashable, ...]:
    return _cluster_of(child)


def _under(seen: Seen[Any]) -> tuple[Hashable, ...]:
    return _cluster_of(seen.child)


def _under_cluster_and_machine(seen: Seen[observed.Pod]) -> tuple[Hashable, ...]:
    return (*_cluster_of(seen.child), *((seen.view.machine,) if seen.view.machine else ()))
