"""ValkeyClusters as the measurements need them: made, changed, awaited by a watch, taken away."""

from __future__ import annotations

import base64
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from lightkube.core.exceptions import ApiError
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Namespace, Pod, Secret, Service
from lightkube.types import PatchType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lightkube import Client

NOT_FOUND = 404
VALKEY_CLUSTER = create_namespaced_resource("valkey.io", "v1alpha1", "ValkeyCluster", "valkeyclusters")
SHARDS, REPLICAS = 3, 1
NODES = SHARDS * (1 + REPLICAS)
IMAGE = "docker.io/valkey/valkey:9.1.2"

OFF: Mapping[str, Any] = {"enabled": False}
NODE_PORT: Mapping[str, Any] = {"enabled": True, "type": "NodePort", "loadBalancerScope": None, "drainSeconds": 0}
ONE_BALANCER: Mapping[str, Any] = {"enabled": True, "type": "LoadBalancer", "loadBalancerScope": "Cluster", "drainSeconds": 0}
"""External access as a merge patch has it."""

GIVEN_ADDRESS = "sandbox.valkey.io/address"
GIVEN_AFTER = "sandbox.valkey.io/delay"
"""Annotations of a Service by which the sandbox's load balancer is told which address to give, and after how many seconds."""


class BenchError(Exception):
    """What kept a figure from being measured."""


@dataclass(frozen=True, slots=True)
class Server:
    """One node of a cluster: its pod."""

    pod: str
    uid: str
    ip: str
    host_ip: str
    shard: int
    node: int
    restarts: int


class Clusters:
    """The clusters of one namespace, which goes with them at the end of `with`."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    def __enter__(self) -> Self:
        self.client.create(Namespace(metadata=ObjectMeta(name=self.namespace)))
        return self

    def __exit__(self, *_: object) -> None:
        self.client.delete(Namespace, self.namespace)
        self._until(self._is_gone, seconds=300, what=f"the end of namespace {self.namespace}")

    def create(
        self,
        name: str,
        *,
        access: Mapping[str, Any] = OFF,
        certificate: str = "",
        shards: int = SHARDS,
        replicas: int = REPLICAS,
    ) -> None:
        """A cluster of 3 × (1+1) or of another size; `certificate`: the name of a Secret, for TLS."""
        known = {key: value for key, value in access.items() if value is not None}
        spec: dict[str, Any] = {"image": IMAGE, "shards": shards, "replicas": replicas, "externalAccess": known}
        if certificate:
            spec["tls"] = {"certificate": {"secretName": certificate}}
        self.client.create(VALKEY_CLUSTER(metadata=ObjectMeta(name=name, namespace=self.namespace), spec=spec))

    def create_secret(self, name: str, values: Mapping[str, str]) -> None:
        """A Secret of the user's."""
        self.client.create(Secret(metadata=ObjectMeta(name=name, namespace=self.namespace), stringData=dict(values)))

    def service_address(self, name: str, *, seconds: float = 30.0) -> str:
        """The address of a Service, once it is there."""
        found: list[str] = []

        def is_there() -> bool:
            services = self.client.list(Service, namespace=self.namespace, fields={"metadata.name": name})
            found.extend(str(service.to_dict()["spec"]["clusterIP"]) for service in services)
            return bool(found)

        self._until(is_there, seconds=seconds, what=f"Service {name}")
        return found[0]

    def change(self, name: str, access: Mapping[str, Any]) -> None:
        """Turn external access on or off, or change it."""
        patch = {"spec": {"externalAccess": dict(access)}}
        self.client.patch(VALKEY_CLUSTER, name, patch, namespace=self.namespace, patch_type=PatchType.MERGE)

    def annotate_balancer(self, name: str, annotations: Mapping[str, str]) -> None:
        """Tell the sandbox how to treat the one balancer of a cluster."""
        patch = {"metadata": {"annotations": dict(annotations)}}
        self.client.patch(Service, name, patch, namespace=self.namespace, patch_type=PatchType.MERGE)

    def await_true(self, condition: str, names: Iterable[str], *, seconds: float = 180.0) -> float:
        """The moment (monotonic) at which the condition was first seen true on the last of the clusters, for its present spec."""
        return self._await_told(condition, "status", "True", names, seconds=seconds)

    def await_reason(self, condition: str, reason: str, names: Iterable[str], *, seconds: float = 180.0) -> float:
        """The same, but for a reason of the condition."""
        return self._await_told(condition, "reason", reason, names, seconds=seconds)

    def _await_told(self, condition: str, field: str, value: str, names: Iterable[str], *, seconds: float) -> float:
        waiting = set(names)
        moments: list[float] = []

        def look() -> None:
            for kind, cluster in self.client.watch(VALKEY_CLUSTER, namespace=self.namespace):
                if kind != "DELETED" and _tells(cluster, condition, field, value):
                    waiting.discard(cluster["metadata"]["name"])
                if not waiting:
                    moments.append(time.monotonic())
                    return

        # A watch is silent while nothing happens, and goes on for ever: the time is kept outside of it.
        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        looking.join(seconds)
        if not moments:
            raise BenchError(f"{field} {value} of {condition} of {', '.join(sorted(waiting))} did not come within {seconds:.0f} s")
        return moments[0]

    def servers(self, name: str) -> list[Server]:
        """The pods of a cluster that have an address."""
        pods = [pod.to_dict() for pod in self.client.list(Pod, namespace=self.namespace, labels={"valkey.io/cluster": name})]
        return sorted((_server(pod) for pod in pods if pod["status"].get("podIP")), key=lambda server: (server.shard, server.node))

    def node_port_pairs(self, name: str) -> set[str]:
        """Host and port of each node at the Kubernetes node that runs it; empty until Kubernetes has allocated all of them."""
        labels: dict[str, Any] = {"valkey.io/cluster": name, "valkey.io/external-access": "shard"}
        services = [service.to_dict() for service in self.client.list(Service, namespace=self.namespace, labels=labels)]
        ports = {
            (int(service["metadata"]["labels"]["valkey.io/shard-index"]), int(port["name"].removeprefix("np-"))): port["nodePort"]
            for service in services
            for port in service["spec"]["ports"]
            if port.get("nodePort")
        }
        if len(ports) < NODES:
            return set()
        return {f"{server.host_ip}:{ports[server.shard, server.node]}" for server in self.servers(name)}

    def balancer_pairs(self, name: str) -> set[str]:
        """Host and port of each node at the one balancer of the cluster; empty until it has an address."""
        for service in self.client.list(Service, namespace=self.namespace, fields={"metadata.name": name}):
            found = service.to_dict()
            given = found["status"].get("loadBalancer", {}).get("ingress", [])
            return {
                f"{given[0]['ip']}:{port['port']}" for port in found["spec"]["ports"] if given and port["name"] != "lb-bootstrap"
            }
        return set()

    def login(self, name: str, *, outside: bool) -> dict[str, Any]:
        """What a client needs: from outside the addresses that the Secret tells, else those of the pods."""
        data = self.client.get(Secret, f"{name}-connection", namespace=self.namespace).data or {}
        told = {key: base64.b64decode(value).decode() for key, value in data.items()}
        inside = [f"{server.ip}:{told['port']}" for server in self.servers(name)]
        addresses: Sequence[str] = told["external"].split(",") if outside else inside
        return {"addresses": addresses, "username": told["username"], "password": told["password"]}

    def await_inside(self, name: str, *, seconds: float = 60.0) -> None:
        """Nothing is left of external access."""

        def is_so() -> bool:
            cluster: Any = self.client.get(VALKEY_CLUSTER, name, namespace=self.namespace)
            return "externalAccess" not in cluster["status"]

        self._until(is_so, seconds=seconds, what=f"the end of external access to {name}")

    def delete_pod(self, server: Server) -> None:
        """Ask for the end of a pod, in order."""
        self.client.delete(Pod, server.pod, namespace=self.namespace)

    def await_whole(self, name: str, *, seconds: float = 120.0) -> None:
        """The cluster has all its pods, and its conditions say for a second that all is well."""
        calm_since = time.monotonic()

        def is_calm() -> bool:
            nonlocal calm_since
            cluster = self.client.get(VALKEY_CLUSTER, name, namespace=self.namespace)
            well = all(_tells(cluster, condition, "status", "True") for condition in ("Ready", "ExternalAccessReady"))
            if not well or len(self.servers(name)) < NODES:
                calm_since = time.monotonic()
            return time.monotonic() - calm_since > 1.0

        self._until(is_calm, seconds=seconds, what=f"health of {name}")

    def _is_gone(self) -> bool:
        try:
            self.client.get(Namespace, self.namespace)
        except ApiError as error:
            if error.status.code == NOT_FOUND:
                return True
            raise
        return False

    def _until(self, is_so: Callable[[], bool], *, seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > deadline:
                raise BenchError(f"{what} did not come within {seconds:.0f} s")
            time.sleep(0.1)


def _tells(cluster: Any, condition: str, field: str, value: str) -> bool:  # noqa: ANN401 -- a generic resource
    status = cluster.get("status") or {}
    if status.get("observedGeneration") != cluster["metadata"]["generation"]:
        return False
    return any(found["type"] == condition and found[field] == value for found in status.get("conditions", ()))


def _server(pod: dict[str, Any]) -> Server:
    metadata, status = pod["metadata"], pod["status"]
    return Server(
        pod=metadata["name"],
        uid=metadata["uid"],
        ip=status["podIP"],
        host_ip=status["hostIP"],
        shard=int(metadata["labels"]["valkey.io/shard-index"]),
        node=int(metadata["labels"]["valkey.io/node-index"]),
        restarts=sum(container["restartCount"] for container in status.get("containerStatuses", ())),
    )
