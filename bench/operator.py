"""The operator under measurement: its process and its metrics."""

from __future__ import annotations

import re
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightkube.resources.core_v1 import Pod

from bench.clusters import BenchError
from bench.processes import PodProcess

if TYPE_CHECKING:
    from lightkube import Client

NAMESPACE = "valkey-operator-system"
SAMPLE = re.compile(
    r'^valkey_operator_api_writes_total\{kind="(?P<kind>\w+)",verb="(?P<verb>[\w-]+)"\} (?P<value>\S+)$', re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Operator:
    """The one pod of the Deployment."""

    process: PodProcess
    ip: str

    @classmethod
    def of(cls, client: Client) -> Operator:
        """The running one."""
        pods = [pod.to_dict() for pod in client.list(Pod, namespace=NAMESPACE)]
        running = [pod for pod in pods if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]]
        if len(running) != 1:
            raise BenchError(f"{len(running)} operator pods run, one is to be measured")
        pod = running[0]
        return cls(PodProcess.of(pod["metadata"]["name"], "valkey-operator"), pod["status"]["podIP"])

    def writes(self) -> dict[str, float]:
        """Writes to the API server since its start, by kind and verb; renewals of the Lease are left out."""
        with urllib.request.urlopen(f"http://{self.ip}:8080/metrics", timeout=10) as answer:
            text = answer.read().decode()
        return {f"{m['kind']} {m['verb']}": float(m["value"]) for m in SAMPLE.finditer(text) if m["kind"] != "Lease"}
