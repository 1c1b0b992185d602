"""The API server of the world: stores what plans want, counts writes, and lets Services and pods come of it.

The operator does not see it but its own mirror, which follows by watches, a little later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scenario.timeline import NOON
from scenario.world_pods import Pods
from scenario.world_routes import Routes
from scenario.world_services import Services, WriteRefusedError
from valkey_operator.api.cluster import ValkeyClusterSpec
from valkey_operator.api.status import ClusterStatus, NodeStatus
from valkey_operator.core import plan
from valkey_operator.core.observed import AllocatedPort, Cluster, NodeRecord, Service, Snippet

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from scenario.timeline import Timeline
    from scenario.world_fleet import Fleet
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Machine, Pod, Routing, Workload

WATCH = (0.002, 0.04)
"""Seconds by which the operator's mirror lags behind, another figure in every world."""


@dataclass(frozen=True, slots=True)
class Write:
    """One write to the API server, for stories that count them."""

    at: float
    what: object


@dataclass(frozen=True, slots=True)
class Mirror:
    """All objects at one moment."""

    revision: int
    cluster: Cluster
    records: Mapping[NodeIndex, NodeRecord]
    workloads: Mapping[NodeIndex, Workload]
    pods: Mapping[NodeIndex, Pod]
    files: frozenset[NodeIndex]
    services: Mapping[str, Service]
    applied: Mapping[str, plan.ExternalService]
    """The Services for external access as they were written."""
    served: Mapping[str, frozenset[str]]
    machines: Mapping[str, Machine]
    passwords: plan.Passwords | None
    acl: str | None
    snippet: Snippet | None
    routing: Routing


class Kubernetes:
    """One ValkeyCluster and everything around it."""

    def __init__(self, timeline: Timeline, fleet: Fleet, spec: Mapping[str, Any]) -> None:
        self.timeline = timeline
        self.revision = 0
        self.writes: list[Write] = []
        self.cluster = Cluster(
            name="orders",
            namespace="shop",
            uid="cluster-1",
            generation=1,
            spec=ValkeyClusterSpec.read(spec, path="spec"),
            status=ClusterStatus(),
        )
        self.statuses: list[tuple[float, ClusterStatus]] = []
        self.objects: dict[object, plan.Wanted] = {}
        self.records: dict[NodeIndex, NodeRecord] = {}
        self.files: dict[NodeIndex, str] = {}
        self.passwords: plan.Passwords | None = None
        self.services = Services(timeline, changed=self.change)
        self.routes = Routes(timeline, changed=self.change)
        self.pods = Pods(timeline, fleet, cluster="orders", changed=self.change)
        self.pods.lines = self._lines
        self._lag = timeline.chance.uniform(*WATCH)
        self.mirror = self._now()

    def change(self) -> None:
        """Something changed that the operator watches."""
        self.revision += 1
        self.timeline.after(self._lag, self._arrive, self._now())

    def _arrive(self, mirror: Mirror) -> None:
        self.mirror = mirror

    def _now(self) -> Mirror:
        acl = self.objects.get(plan.AclSecret)
        snippet = self.objects.get(plan.DnsSnippet)
        services = {name: live.view() for name, live in self.services.live.items()}
        if plan.HeadlessService in self.objects:
            services["valkey-orders"] = _HEADLESS
        return Mirror(
            revision=self.revision,
            cluster=self.cluster,
            records=dict(self.records),
            workloads=self.pods.workload_view(),
            pods=self.pods.view(),
            files=frozenset(self.files),
            services=services,
            applied={name: live.wanted for name, live in self.services.live.items()},
            served={name: live.sliced | {port.name for port in live.others} for name, live in self.services.live.items()},
            machines=dict(self.pods.machines),
            passwords=self.passwords,
            acl=acl.acl if isinstance(acl, plan.AclSecret) else None,
            snippet=Snippet("snippet-1", snippet.text) if isinstance(snippet, plan.DnsSnippet) else None,
            routing=self.routes.view(),
        )

    def _wrote(self, what: object) -> None:
        self.writes.append(Write(self.timeline.now, what))
        self.change()

    def _lines(self, index: NodeIndex) -> str:
        """What a server reads at its start: valkey.conf, its arguments, and the file of what it announces, in this order."""
        config = self.objects[plan.ServerConfig]
        text = config.text if isinstance(config, plan.ServerConfig) else ""
        return f"{text}{{arguments}}{self.files.get(index, '')}"

    # --- what the user does -------------------------------------------------------------------------------------------------------

    def edit(self, **fields: Any) -> None:
        """The user changes fields of the spec."""
        spec = self.cluster.spec.model_dump(mode="json", by_alias=True, exclude_unset=True) | fields
        self.cluster = replace(self.cluster, spec=ValkeyClusterSpec.read(spec, path="spec"), generation=self.cluster.generation + 1)
        self.change()

    # --- what the operator does ---------------------------------------------------------------------------------------------------

    def ensure(self, wanted: plan.Wanted) -> None:
        """Make an object as wanted; nothing is written where it is so already."""
        if self._differed(wanted):
            self._wrote(wanted)

    def _differed(self, wanted: plan.Wanted) -> bool:
        """Make it so; whether that changed anything."""
        match wanted:
            case plan.ExternalService():
                changed = not self._is_shown(wanted) and self.services.ensure(wanted)
            case plan.ExternalRoute():
                shown = {route.name: route.parents for route in self.mirror.routing.routes}
                changed = shown.get(wanted.name) != wanted.parents and self.routes.ensure(wanted)
            case plan.ServerWorkload(index=index, digest=digest, owner_uid=owner):
                assert owner == self.records[index].uid
                changed = self.pods.ensure(index, image=self.cluster.spec.image, digest=digest)
            case plan.PodLabels():
                changed = self._labelled(wanted)
            case plan.Record(index=index, announce=announce):
                before = self.records.get(index)
                status = before.status if before is not None else NodeStatus()
                self.records[index] = NodeRecord(f"orders-{index}", f"record-{index}", announce, status)
                changed = before is None or before.announce != announce
            case plan.AnnounceFile(index=index, text=text, owner_uid=owner):
                assert owner == self.records[index].uid
                changed = self.files.get(index) != text
                self.files[index] = text
            case plan.SystemSecret(passwords=passwords):
                changed = self.passwords is None  # it is created, never changed
                self.passwords = self.passwords or passwords
            case _:
                changed = self.objects.get(type(wanted)) != wanted
                self.objects[type(wanted)] = wanted
        return changed

    def _is_shown(self, wanted: plan.ExternalService) -> bool:
        """Whether the operator's writer finds nothing to write: it compares with what its mirror shows, which may be old.

        A Service that is there and not shown yet it would create, which the API server does not do a second time.
        """
        shown, live = self.mirror.applied.get(wanted.name), self.services.live.get(wanted.name)
        if shown is None:
            return live is not None and not live.deleting
        return shown == replace(wanted, ports=tuple(replace(port, fallback=None) for port in wanted.ports))

    def _labelled(self, wanted: plan.PodLabels) -> bool:
        pod = self.pods.live.get(wanted.index)
        if pod is None or pod.uid != wanted.uid:
            raise WriteRefusedError(f"pod {wanted.pod} is another one by now")
        if (pod.role, pod.serving) == (wanted.role, wanted.serving):
            return False
        pod.role, pod.serving = wanted.role, wanted.serving
        return True

    def remove(self, wanted: plan.Remove) -> None:
        """Delete this very object."""
        if wanted.kind == "Service":
            self.services.delete(wanted.name, wanted.uid)
        elif wanted.kind == "TCPRoute":
            self.routes.delete(wanted.name, wanted.uid)
        elif wanted.kind == "ConfigMap":
            assert (wanted.name, wanted.uid) == ("orders-dns", "snippet-1")
            self.objects.pop(plan.DnsSnippet, None)
        else:
            index = next((index for index, pod in self.pods.live.items() if pod.name == wanted.name), None)
            if index is not None:
                self.pods.delete(index, wanted.uid)
        self._wrote(wanted)

    def write_status(self, status: ClusterStatus) -> None:
        """The status of the cluster, where it differs."""
        if status != self.cluster.status:
            self.cluster = replace(self.cluster, status=status)
            self.statuses.append((self.timeline.now, status))
            self._wrote(status)

    def write_node_status(self, index: NodeIndex, status: NodeStatus) -> None:
        """The status of a node, where it differs."""
        if index in self.records and self.records[index].status != status:
            self.records[index] = replace(self.records[index], status=status)
            self._wrote(status)


_HEADLESS = Service(
    name="valkey-orders",
    uid="service-headless",
    kind="",
    type="ClusterIP",
    created=NOON,
    deleting=False,
    ports=(AllocatedPort("client", 6379, None),),
)
