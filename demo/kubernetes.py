"""Kubernetes as the demo sees it: through kubectl, as a person would."""

from __future__ import annotations

import base64
import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
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
    machine: str
    """The Kubernetes node that runs the pod."""


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """A cluster, by the words that begin each kubectl command."""

    kubectl: Sequence[str | Path]
    namespace: str = "default"

    def run(self, *arguments: str, text: str | None = None) -> str:
        """What kubectl printed; its complaint is the error's message."""
        command = [*self.kubectl, "--namespace", self.namespace, *arguments]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise DemoError(f"kubectl {' '.join(arguments)}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def get(self, what: str, *more: str) -> Any:  # noqa: ANN401 -- JSON
        """Objects as kubectl has them."""
        return json.loads(self.run("get", what, *more, "--output", "json"))

    def await_condition(self, cluster: str, condition: str, *, seconds: int) -> str:
        """The condition's message once it is true; an error that quotes the message it has instead when time is up."""
        try:
            self.run("wait", f"vkc/{cluster}", f"--for=condition={condition}", f"--timeout={seconds}s")
        except DemoError as error:
            found = self.condition(cluster, condition)
            says = f"{found['reason']}: {found['message']}" if found else "the operator has not told it yet"
            raise DemoError(f"{condition} of ValkeyCluster {cluster} did not come true within {seconds} s ({says})") from error
        return str((self.condition(cluster, condition) or {}).get("message", ""))

    def condition(self, cluster: str, condition: str) -> dict[str, str] | None:
        """A condition of a ValkeyCluster as it is now."""
        conditions = self.get(f"vkc/{cluster}").get("status", {}).get("conditions", [])
        return next((found for found in conditions if found["type"] == condition), None)

    def endpoints(self, cluster: str) -> list[Endpoint]:
        """Every node of a ValkeyCluster as its status tells it."""
        status = self.get(f"vkc/{cluster}")["status"]["externalAccess"]
        records = self.get("vkn", f"--selector=valkey.io/cluster={cluster}")["items"]
        labels = ("valkey.io/shard-index", "valkey.io/node-index")
        behind = {tuple(int(item["metadata"]["labels"][label]) for label in labels): item.get("status", {}) for item in records}
        return [
            Endpoint(
                shard=shard["shard"],
                node=node["node"],
                role=node.get("role", ""),
                address=node["address"],
                pod=behind[shard["shard"], node["node"]].get("podName", ""),
                machine=behind[shard["shard"], node["node"]].get("machine", ""),
            )
            for shard in status["endpoints"]
            for node in shard["nodes"]
        ]

    def login(self, cluster: str) -> dict[str, Any]:
        """What the Secret for applications tells a client outside."""
        data = self.get(f"secret/{cluster}-connection")["data"]
        told = {key: base64.b64decode(value).decode() for key, value in data.items()}
        return {"addresses": told["external"].split(","), "username": told["username"], "password": told["password"]}
