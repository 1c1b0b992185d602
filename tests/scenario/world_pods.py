"""The pods of the world: StatefulSets make them, machines run them, and what can go wrong on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scenario.world_server import FatalConfigError, Process
from valkey_operator.core import names
from valkey_operator.core.observed import Machine, Pod, Trouble, Workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from scenario.timeline import Timeline
    from scenario.world_fleet import Fleet
    from valkey_operator.core.names import NodeIndex

IMAGES = {
    "docker.io/valkey/valkey:9.1.2": (9, 1, 2),
    "docker.io/valkey/valkey:9.0.0": (9, 0, 0),
    "docker.io/valkey/valkey:8.1.8": (8, 1, 8),
    "registry.example.com/valkey:stable": (8, 1, 8),
}
"""What the registry has."""

REACHED = (0.05, 0.3)
"""Seconds until EndpointSlices and kube-proxy lead to a pod that has just started."""


@dataclass(slots=True)
class LiveWorkload:
    """The StatefulSet of one server."""

    uid: str
    image: str
    digest: str

    @property
    def revision(self) -> str:
        """Of its template."""
        return f"{self.image}/{self.digest}"


@dataclass(slots=True)
class LivePod:
    """A pod as it stands."""

    name: str
    uid: str
    image: str
    revision: str
    machine: str | None = None
    ip: str | None = None
    process: Process | None = None
    started: float | None = None
    ready: bool = False
    reached: bool = False
    deleting: bool = False
    role: str | None = None
    serving: bool = False
    trouble: Trouble | None = None


class Pods:
    """One pod per workload, on one of three machines; `changed` is called whenever the operator would see a difference."""

    def __init__(self, timeline: Timeline, fleet: Fleet, *, cluster: str, changed: Callable[[], None]) -> None:
        self.timeline, self.fleet, self.cluster, self.changed = timeline, fleet, cluster, changed
        self.machines: dict[str, Machine] = {
            name: Machine(name, (("Hostname", name), ("InternalIP", address)))
            for name, address in (("m1", "192.0.2.11"), ("m2", "192.0.2.12"), ("m3", "192.0.2.13"))
        }
        self.cordoned: set[str] = set()
        self.workloads: dict[NodeIndex, LiveWorkload] = {}
        self.live: dict[NodeIndex, LivePod] = {}
        self.starts: dict[NodeIndex, int] = {}
        """How many pods each node has had."""
        self.lines: Callable[[NodeIndex], str]
        """The configuration that a server of a node reads at its start."""
        self._count = 0
        self._addresses = 0

    def ensure(self, index: NodeIndex, *, image: str, digest: str) -> bool:
        """Apply the StatefulSet of a node; whether anything had to be written."""
        workload = self.workloads.get(index)
        if workload is not None and (workload.image, workload.digest) == (image, digest):
            return False
        if workload is None:
            self.workloads[index] = LiveWorkload(f"workload-{index}", image, digest)
            self.timeline.between(0.02, 0.2, self._create, index)
        else:
            workload.image, workload.digest = image, digest
        return True

    def _create(self, index: NodeIndex) -> None:
        workload = self.workloads[index]
        if index in self.live:
            return
        self._count += 1
        pod = LivePod(names.pod(self.cluster, index), f"pod-{self._count}", workload.image, workload.revision)
        self.live[index] = pod
        self.starts[index] = self.starts.get(index, 0) + 1
        self.changed()
        self.timeline.between(0.02, 0.1, self._schedule, index, pod)

    def _schedule(self, index: NodeIndex, pod: LivePod) -> None:
        free = [name for name in self.machines if name not in self.cordoned]
        if self.live.get(index) is not pod:
            return
        if free:
            pod.machine = free[(index.shard + index.node) % len(free)]
            pod.trouble = None
            self.timeline.between(0.2, 1.0, self._start, index, pod)
            self.changed()
        else:
            self._troubled(pod, Trouble("Unschedulable", "0/3 nodes are available: 3 node(s) were unschedulable."))
            self.timeline.after(1, self._schedule, index, pod)

    def _start(self, index: NodeIndex, pod: LivePod) -> None:
        """The container starts, in a new pod or again in the same."""
        if self.live.get(index) is not pod or pod.deleting:
            return
        if pod.image not in IMAGES:
            self._troubled(pod, Trouble("ImagePullBackOff", f'Back-off pulling image "{pod.image}"'))
            self.timeline.after(5, self._start, index, pod)
            return
        if pod.ip is None:
            self._addresses += 1
            pod.ip = f"10.1.{self._addresses // 250}.{self._addresses % 250 + 1}"
        try:
            arguments = f"cluster-announce-hostname {pod.ip}\ncluster-announce-ip {pod.ip}\n"
            process = Process(self.fleet, ip=pod.ip, version=IMAGES[pod.image], lines=self.lines(index).format(arguments=arguments))
        except FatalConfigError as error:
            self._troubled(pod, Trouble("CrashLoopBackOff", str(error)))
            self.timeline.after(5, self._start, index, pod)
        else:
            pod.trouble, pod.process, pod.started = None, process, self.timeline.now
            self.timeline.between(0.1, 1.0, self._is_ready, pod, process)
            self.timeline.between(*REACHED, self._is_reached, pod)
            self.changed()

    def _troubled(self, pod: LivePod, trouble: Trouble) -> None:
        if pod.trouble != trouble:
            pod.trouble = trouble
            self.changed()

    def _is_ready(self, pod: LivePod, process: Process) -> None:
        if pod.process is process:
            pod.ready = True
            self.changed()

    @staticmethod
    def _is_reached(pod: LivePod) -> None:
        pod.reached = True

    # --- what happens to pods ------------------------------------------------------------------------------------------------------

    def restart_container(self, index: NodeIndex) -> None:
        """The server's process dies and is started again in the same pod, empty."""
        pod = self.live[index]
        if pod.process is None:
            return
        self.fleet.kill(pod.process)
        pod.process, pod.started, pod.ready = None, None, False
        self.changed()
        self.timeline.between(0.1, 0.6, self._start, index, pod)

    def kill(self, index: NodeIndex) -> None:
        """The pod is gone at once, with its process."""
        pod = self.live.get(index)
        if pod is None:
            return
        if pod.process is not None:
            self.fleet.kill(pod.process)
        pod.process = None
        del self.live[index]
        self.changed()
        self.timeline.between(0.02, 0.3, self._create, index)

    def delete(self, index: NodeIndex, uid: str | None = None) -> None:
        """Somebody deletes the pod: a primary hands over before it stops, where its version can."""
        pod = self.live.get(index)
        if pod is None or pod.deleting or uid not in (None, pod.uid):
            return
        pod.deleting = True
        process = pod.process
        if process is not None and process.config["shutdown-on-sigterm"] == "failover" and process.me.slots:
            heirs = [other for other in self.fleet.alive() if other.me.primary_id == process.id and other.link_up]
            if heirs:
                max(heirs, key=lambda heir: heir.offset).promote()
        self.changed()
        self.timeline.between(0.1, 0.6, self._stopped, index, pod)

    def _stopped(self, index: NodeIndex, pod: LivePod) -> None:
        if self.live.get(index) is pod:
            self.kill(index)

    # --- what is seen of them ------------------------------------------------------------------------------------------------------

    def of(self, node_id: str) -> LivePod | None:
        """The pod of a process that runs."""
        return next((pod for pod in self.live.values() if pod.process is not None and pod.process.id == node_id), None)

    def view(self) -> dict[NodeIndex, Pod]:
        """What the operator sees of the pods."""
        return {index: self._pod(index, pod) for index, pod in self.live.items()}

    def _pod(self, index: NodeIndex, pod: LivePod) -> Pod:
        machine = self.machines.get(pod.machine or "")
        return Pod(
            name=pod.name,
            uid=pod.uid,
            ip=pod.ip,
            machine=pod.machine,
            host_ips=tuple(address for kind, address in machine.addresses if kind == "InternalIP") if machine and pod.ip else (),
            ready=pod.ready,
            running=pod.process is not None,
            started=self.timeline.at(pod.started) if pod.started is not None else None,
            deleting=pod.deleting,
            role=pod.role,
            serving=pod.serving,
            revision=pod.revision,
            trouble=pod.trouble,
            owner_uid=f"workload-{index}",
        )

    def workload_view(self) -> dict[NodeIndex, Workload]:
        """What the operator sees of the StatefulSets."""
        return {
            index: Workload(names.workload(self.cluster, index), live.uid, live.revision) for index, live in self.workloads.items()
        }
