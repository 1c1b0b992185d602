"""Kubernetes as the demo sees it: through kubectl, as a person would."""

from __future__ import annotations

import base64
import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class DemoError(Exception):
    """Says what went wrong and what to do about it; shown without a traceback."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where one node is reached from outside, and what stands behind it."""

    shard: int
    node: int
    role: str
    address: str
    pod: str
    uid: str
    """The pod's."""
    ip: str
    """The pod's."""
    machine: str
    """The Kubernetes node that runs the pod."""


@dataclass(frozen=True, slots=True)
class View:
    """A ValkeyCluster at one moment."""

    conditions: Mapping[str, Mapping[str, str]]
    endpoints: Sequence[Endpoint]

    def is_true(self, condition: str) -> bool:
        """Whether the condition holds."""
        return self.conditions.get(condition, {}).get("status") == "True"

    def message(self, condition: str) -> str:
        """What the condition says."""
        return self.conditions.get(condition, {}).get("message", "")

    def endpoint(self, shard: int, node: int) -> Endpoint:
        """The endpoint of one node."""
        return next(found for found in self.endpoints if (found.shard, found.node) == (shard, node))


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """A cluster, by the words that begin each kubectl command and their environment."""

    kubectl: Sequence[str | Path]
    environment: Mapping[str, str] | None = None
    namespace: str = "default"

    def run(self, *arguments: str) -> str:
        """What kubectl printed; its complaint is the error's message."""
        command = [*self.kubectl, "--namespace", self.namespace, *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise DemoError(f"kubectl {' '.join(arguments)}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def get(self, what: str, *more: str) -> Any:  # noqa: ANN401 -- JSON
        """Objects as kubectl has them."""
        return json.loads(self.run("get", what, *more, "--output", "json"))

    def await_condition(self, cluster: str, condition: str, *, seconds: int) -> None:
        """The condition is true; an error that quotes the message it has instead when time is up."""
        try:
            self.run("wait", f"vkc/{cluster}", f"--for=condition={condition}", f"--timeout={seconds}s")
        except DemoError as error:
            says = self.view(cluster).message(condition) or "the operator has not told it yet"
            raise DemoError(f"{condition} of ValkeyCluster {cluster} did not come true within {seconds} s: {says}") from error

    def view(self, cluster: str) -> View:
        """The cluster and all that stands behind its endpoints, in one question."""
        items = self.get("vkc,vkn,pods")["items"]
        found = {(item["kind"], item["metadata"]["name"]): item for item in items}
        status = found["ValkeyCluster", cluster].get("status", {})
        endpoints = []
        for shard in status.get("externalAccess", {}).get("endpoints", ()):
            for node in shard["nodes"]:
                record = found.get(("ValkeyNode", f"{cluster}-{shard['shard']}-{node['node']}"), {}).get("status", {})
                pod = found.get(("Pod", record.get("podName", "")), {})
                endpoints.append(
                    Endpoint(
                        shard=shard["shard"],
                        node=node["node"],
                        role=node.get("role", ""),
                        address=node["address"],
                        pod=record.get("podName", ""),
                        uid=pod.get("metadata", {}).get("uid", ""),
                        ip=record.get("podIP", ""),
                        machine=record.get("machine", ""),
                    )
                )
        return View({condition["type"]: condition for condition in status.get("conditions", ())}, endpoints)

    def login(self, cluster: str) -> dict[str, Any]:
        """What the Secret for applications tells a client outside."""
        data = self.get(f"secret/{cluster}-connection")["data"]
        told = {key: base64.b64decode(value).decode() for key, value in data.items()}
        return {"addresses": told["external"].split(","), "username": told["username"], "password": told["password"]}
