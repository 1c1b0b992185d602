"""The Services of the world, the API server's allocator of node ports, and a cloud's load balancers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from valkey_operator.core.observed import AllocatedPort, Ingress, Service
from valkey_operator.core.plan import ServicePort
from valkey_operator.core.ports import LAST

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from scenario.timeline import Timeline
    from valkey_operator.core.plan import ExternalService

NODE_PORTS = range(30000, 32768)
SLICES = (0.005, 0.05)
"""Seconds until the EndpointSlices of a Service follow a change of it."""
KUBE_PROXY = (0.05, 0.4)
"""Seconds until machines follow a change of a Service."""
CLOUD = (0.5, 2.0)
"""Seconds until a load balancer has an address, and until it passes on a port."""


class WriteRefusedError(Exception):
    """The API server refuses a write."""


@dataclass(slots=True)
class LiveService:
    """A Service as it stands."""

    wanted: ExternalService
    uid: str
    created: datetime
    deleting: bool = False
    node_ports: dict[str, int] = field(default_factory=dict)
    served: set[tuple[str, int]] = field(default_factory=set)
    """Port names with the numbers (node ports, and ports of a balancer) on which they are passed on by now."""
    sliced: frozenset[str] = frozenset()
    """The ports that its EndpointSlices have."""
    targets: dict[str, str | int] = field(default_factory=dict)
    """Where they lead."""
    nobodys: set[str | int] = field(default_factory=set)
    """Pods, by the names of their container ports, whose slice is being rewritten for another pod."""
    ingress: tuple[Ingress, ...] = ()
    families: tuple[str, ...] = ("IPv4",)
    others: tuple[AllocatedPort, ...] = ()
    """Ports that somebody else put on it, under a field manager of his own: no write of the operator takes them away."""

    def view(self) -> Service:
        """What the operator sees of it."""
        return Service(
            name=self.wanted.name,
            uid=self.uid,
            kind=self.wanted.role.value,
            type=self.wanted.type,
            created=self.created,
            deleting=self.deleting,
            ports=(
                *(AllocatedPort(port.name, port.port, self.node_ports.get(port.name), port.target) for port in self.wanted.ports),
                *(port for port in self.others if port.name not in {wanted.name for wanted in self.wanted.ports}),
            ),
            selector=self.wanted.selector,
            ingress=self.ingress,
            balancing=self.wanted.balancing,
            traffic_policy=self.wanted.traffic_policy,
            families=self.families,
        )


class Services:
    """Services for external access by name. A requested node port is given when it is free, else the request is refused."""

    def __init__(self, timeline: Timeline, *, changed: Callable[[], None]) -> None:
        self.timeline, self.changed = timeline, changed
        self.live: dict[str, LiveService] = {}
        self.taken: set[int] = set()
        """Node ports of somebody else's Services."""
        self.foreign: set[str] = set()
        """Names of Services that somebody else owns."""
        self.node_ports_swapped: dict[int, int] = {}
        """Node ports that a broken rule leads to another port's pod."""
        self.stingy: set[str] = set()
        """Names of Services that the cloud gives no balancer."""
        self.shut: set[int] = set()
        """Ports of balancers that the cloud has not opened yet."""
        self.allocations: dict[tuple[str, str], list[int]] = {}
        """Every node port that a port of a Service ever had, in order."""
        self._uids = 0
        self._balancers = 0

    def ensure(self, wanted: ExternalService) -> bool:
        """Make a Service as wanted, as the operator's writer does it; whether anything had to be written."""
        if wanted.name in self.foreign:
            raise WriteRefusedError(f"Service {wanted.name} belongs to somebody else")
        live = self.live.get(wanted.name)
        if live is None:
            self._uids += 1
            live = LiveService(replace(wanted, ports=()), uid=f"service-{self._uids}", created=self.timeline.moment)
        elif live.deleting:
            raise WriteRefusedError(f"Service {wanted.name} is being deleted")
        families = wanted.ip_families or live.families
        if self.live.get(wanted.name) is live and families[0] != live.families[0]:
            raise WriteRefusedError(
                f"spec.clusterIPs[0]: Invalid value: expected an {families[0]} value as indicated by `ipFamilies[0]`"
            )
        balanced = live.wanted.type == wanted.type == "LoadBalancer" and self.live.get(wanted.name) is live
        if balanced and wanted.balancing.load_balancer_class != live.wanted.balancing.load_balancer_class:
            raise WriteRefusedError("spec.loadBalancerClass: Invalid value: may not change once set")
        self._validate(wanted.ports)
        given: dict[str, int] = {}
        ports = tuple(self._allocated(live, port, given, wanted) for port in wanted.ports)
        settled = replace(wanted, ports=ports)
        if self.live.get(wanted.name) is live and (live.wanted, live.node_ports) == (settled, given):
            return False
        live.wanted, live.node_ports, live.families = settled, given, families
        self.live[wanted.name] = live
        for name, number in given.items():
            history = self.allocations.setdefault((wanted.name, name), [])
            if history[-1:] != [number]:
                history.append(number)
            self.timeline.between(*KUBE_PROXY, live.served.add, (name, number))
        self.timeline.between(*SLICES, self._slice, live)
        self._balance(live)
        return True

    @staticmethod
    def _validate(ports: tuple[ServicePort, ...]) -> None:
        """What the API server says of ports that no Service can have."""
        if not ports:
            raise WriteRefusedError("spec.ports: Required value")
        node_ports = [port.node_port for port in ports if port.node_port is not None]
        for what, values in (
            ("name", [port.name for port in ports]),
            ("port", [port.port for port in ports]),
            ("nodePort", node_ports),
        ):
            if len(set(values)) < len(values):
                raise WriteRefusedError(f"spec.ports[].{what}: Duplicate value: {values}")
        if not all(0 < port.port <= LAST for port in ports):
            raise WriteRefusedError("spec.ports[].port: Invalid value: must be between 1 and 65535, inclusive")

    def meddle(self, name: str, *ports: AllocatedPort) -> None:
        """Somebody puts ports of his own on a Service."""
        self.live[name].others = ports
        self.changed()

    def _slice(self, live: LiveService) -> None:
        """The slices follow: when the ports of several pods change at once, one of the pods is without a slice for a while."""
        now = frozenset(port.name for port in live.wanted.ports)
        if now == live.sliced:
            return
        other = live.sliced ^ now
        changed = {port.target for port in live.wanted.ports if isinstance(port.target, str) and port.name in other}
        changed |= {live.targets[name] for name in live.sliced - now}
        if live.sliced and len(changed) > 1:
            live.nobodys = {self.timeline.chance.choice(sorted(changed, key=str))}
            self.timeline.between(*KUBE_PROXY, live.nobodys.clear)
        live.sliced = now
        live.targets = {port.name: port.target for port in live.wanted.ports}
        self.changed()

    def _balance(self, live: LiveService) -> None:
        """The cloud follows: a balancer comes with the type, and goes with it."""
        if live.wanted.type != "LoadBalancer":
            live.ingress = ()
            return
        if not live.ingress:
            self.timeline.between(*CLOUD, self._has_balancer, live)
        for port in live.wanted.ports:
            self.timeline.between(*CLOUD, live.served.add, (port.name, port.port))

    def _has_balancer(self, live: LiveService) -> None:
        if self.live.get(live.wanted.name) is live and live.wanted.type == "LoadBalancer" and live.wanted.name not in self.stingy:
            self._balancers += not live.ingress
            self.give(live.wanted.name, *(live.ingress or (Ingress(f"198.51.100.{self._balancers}"),)))

    def give(self, name: str, *ingress: Ingress) -> None:
        """A balancer gets these addresses."""
        self.live[name].ingress = ingress
        self.changed()

    def cloud_works(self) -> None:
        """The cloud gives everybody a balancer from now on."""
        self.stingy.clear()
        for live in self.live.values():
            self._balance(live)

    def _allocated(self, live: LiveService, wanted: ServicePort, given: dict[str, int], service: ExternalService) -> ServicePort:
        """The port as it will be stored, and its node port among those given."""
        before = live.node_ports.get(wanted.name)
        if service.type == "ClusterIP":
            return replace(wanted, node_port=None, fallback=None)
        if wanted.node_port is None:
            if before or service.type == "NodePort" or service.balancing.allocate_node_ports is not False:
                given[wanted.name] = before or self._free(given)
            return replace(wanted, fallback=None)
        if wanted.node_port == before or (wanted.node_port in NODE_PORTS and wanted.node_port not in self.in_use(given)):
            given[wanted.name] = wanted.node_port
            return ServicePort(wanted.name, wanted.port, wanted.target, wanted.node_port)
        if wanted.fallback is None:
            raise WriteRefusedError(f"nodePort: Invalid value: {wanted.node_port}: provided port is already allocated")
        given[wanted.name] = before or self._free(given)
        return ServicePort(wanted.name, wanted.fallback, wanted.target)

    def in_use(self, given: dict[str, int] | None = None) -> set[int]:
        """All node ports that somebody has."""
        return (
            self.taken
            | {number for live in self.live.values() for number in live.node_ports.values()}
            | set((given or {}).values())
        )

    def _free(self, given: dict[str, int]) -> int:
        in_use = self.in_use(given)
        return self.timeline.chance.choice([number for number in NODE_PORTS[:200] if number not in in_use])

    def delete(self, name: str, uid: str | None = None, *, lingers: float = 0) -> None:
        """Somebody deletes a Service; finalizers may keep it for a while."""
        live = self.live.get(name)
        if live is None or uid not in (None, live.uid):
            return
        live.deleting = True
        self.changed()
        if lingers:
            self.timeline.after(lingers, self._gone, name, live)
        else:
            self._gone(name, live)

    def _gone(self, name: str, live: LiveService) -> None:
        if self.live.get(name) is live:
            del self.live[name]
            self.changed()

    def behind(self, node_port: int) -> tuple[LiveService, ServicePort] | None:
        """Which Service and port of it a node port leads to by now."""
        node_port = self.node_ports_swapped.get(node_port, node_port)
        for live in self.live.values():
            for port in live.wanted.ports:
                if live.node_ports.get(port.name) == node_port and (port.name, node_port) in live.served:
                    return live, port
        return None

    def at(self, host: str, number: int) -> tuple[LiveService, ServicePort] | None:
        """Which Service and port of it a balancer's address and port lead to by now."""
        for live in self.live.values():
            if host in {name for ingress in live.ingress for name in (ingress.ip, ingress.hostname)}:
                for port in live.wanted.ports:
                    if port.port == number and (port.name, number) in live.served and number not in self.shut:
                        return live, port
        return None
