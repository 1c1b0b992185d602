"""The operator under measurement: its process and its metrics."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightkube.resources.core_v1 import Pod

from bench.clusters import BenchError
from bench.processes import PodProcess
from tests.e2e import metrics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightkube import Client

NAMESPACE = "valkey-operator-system"


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
        counted = self.counted("valkey_operator_api_writes_total", "kind", "verb")
        return {key: value for key, value in counted.items() if not key.startswith("Lease ")}

    def lists(self) -> dict[str, float]:
        """Lists of objects since its start, by kind."""
        return self.counted("valkey_operator_lists_total", "kind")

    def watches(self) -> dict[str, float]:
        """Watches that are open, by kind."""
        begun = self.counted("valkey_operator_api_requests_total", "kind", verb="watch")
        ended = self.counted("valkey_operator_watches_ended_total", "kind")
        return {kind: count - ended.get(kind, 0) for kind, count in begun.items()}

    def written_since(self, before: Mapping[str, float]) -> dict[str, float]:
        """What `writes` tells beyond what it told before."""
        return {kind: count - before.get(kind, 0) for kind, count in self.writes().items() if count > before.get(kind, 0)}

    def await_quiet(self, *, seconds: float = 10.0, within: float = 300.0) -> None:
        """Nothing was written for so long."""
        written, since, begun = self.writes(), time.monotonic(), time.monotonic()
        while time.monotonic() < since + seconds:
            if time.monotonic() > begun + within:
                raise BenchError(f"the operator still writes after {within:.0f} s")
            time.sleep(1)
            if (now := self.writes()) != written:
                written, since = now, time.monotonic()

    def counted(self, name: str, *by: str, **only: str) -> dict[str, float]:
        """The sums of a metric's series with those labels, by the values of others."""
        sums: dict[str, float] = {}
        for labels, value in metrics.samples(self.ip, name):
            if only.items() <= labels.items():
                key = " ".join(labels[label] for label in by)
                sums[key] = sums.get(key, 0) + value
        return sums
