"""The network outside: who answers when a client dials a host and a port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.core.observed import Machine, Probe

if TYPE_CHECKING:
    from scenario.world_kubernetes import Kubernetes
    from scenario.world_pods import LivePod
    from scenario.world_services import LiveService
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.plan import ExternalService, ServicePort

KUBE_PROXY_ADDRESS = 0.5
"""Seconds until a machine serves node ports on an address that it has just got."""


class Outside:
    """Machines can be reached at their addresses and under DNS names, pods cannot."""

    def __init__(self, kubernetes: Kubernetes) -> None:
        self.kubernetes = kubernetes
        self.names: dict[str, str] = {}
        """DNS: name to address."""
        self.since: dict[str, float] = {}
        """Since when machines have addresses that they got later."""
        self.firewall = False
        """Whether node ports are closed to the operator, though not to clients."""

    def give(self, machine: str, *addresses: tuple[str, str]) -> None:
        """A machine's addresses change."""
        kubernetes = self.kubernetes
        before = kubernetes.pods.machines[machine].addresses
        kubernetes.pods.machines[machine] = Machine(machine, addresses)
        self.since |= {address: kubernetes.timeline.now for kind, address in addresses if (kind, address) not in before}
        kubernetes.change()

    def machine_at(self, host: str) -> str | None:
        """Which machine has that address or name by now."""
        address = self.names.get(host, host)
        if self.kubernetes.timeline.now < self.since.get(address, -1.0) + KUBE_PROXY_ADDRESS:
            return None
        machines = self.kubernetes.pods.machines.values()
        return next((machine.name for machine in machines if address in {own for _, own in machine.addresses}), None)

    def dial(self, host: str, port: int) -> Probe:
        """What answers there."""
        services = self.kubernetes.services
        machine = self.machine_at(host)
        address = self.names.get(host, host)
        found = services.behind(port) if machine is not None else services.at(address, port) or self._routed(address, port)
        if machine is None and found is None:
            return Probe(None, "timed out")
        if found is None:
            return Probe(None, "connection refused")
        service, service_port = found
        targets = [] if service_port.target in service.nobodys else self._targets(service.wanted, service_port.target)
        if machine is not None and service.wanted.traffic_policy == "Local":
            targets = [pod for pod in targets if pod.machine == machine]
        answering = [pod.process for pod in targets if pod.process is not None and pod.reached]
        if not answering:
            return Probe(None, "connection refused")
        return Probe(self.kubernetes.timeline.chance.choice(answering).id)

    def _routed(self, address: str, number: int) -> tuple[LiveService, ServicePort] | None:
        """Which Service and port of it a Gateway leads to there."""
        route = self.kubernetes.routes.at(address, number)
        service = self.kubernetes.services.live.get(route.name) if route is not None else None
        if route is None or service is None:
            return None
        ports = (port for port in service.wanted.ports if port.port == route.port.port and port.name in service.sliced)
        return next(((service, port) for port in ports), None)

    def _targets(self, service: ExternalService, target: str | int) -> list[LivePod]:
        """The pods behind a Service's port: those with its labels, and by name just the one whose container port has that name."""
        return [
            pod
            for index, pod in self.kubernetes.pods.live.items()
            if service.selector.items() <= _labels(index, pod).items()
            and target in (6379, f"valkey-{index}")
            and (pod.ready or service.publish_not_ready)
        ]


def _labels(index: NodeIndex, pod: LivePod) -> dict[str, str]:
    return {
        "valkey.io/shard-index": str(index.shard),
        "valkey.io/node-index": str(index.node),
        "valkey.io/role": pod.role or "",
        "valkey.io/serving": "true" if pod.serving else "",
    }
