"""One Service on its way from what it is to what it should be: old ports and families beside new ones, and the wider type of both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from valkey_operator.core import names
from valkey_operator.core.observed import Balancing
from valkey_operator.core.port_steps import as_it_is, beside, step
from valkey_operator.core.ports import OF_ONE_NODE, kind_of, taken_by_others, without_others
from valkey_operator.core.service_parts import keeps_class

if TYPE_CHECKING:
    from collections.abc import Iterable

    from valkey_operator.core.observed import AllocatedPort, Observed, Service
    from valkey_operator.core.plan import ExternalService, ServicePort
    from valkey_operator.core.topology import Topology

_WIDTH = ("ClusterIP", "NodePort", "LoadBalancer")


@dataclass(frozen=True, slots=True)
class ServiceChange:
    """A Service that is wanted, and what there is of it. Ports that somebody else put on it are none of both."""

    wanted: ExternalService
    live: Service | None

    @classmethod
    def of(cls, wanted: ExternalService, live: Service | None) -> ServiceChange:
        """The change of what is there into what is wanted."""
        if live is None:
            return cls(wanted, None)
        change = cls(_beside_others(wanted, live), without_others(live))
        return change._with_names_of_before() if live.type == wanted.type else change

    @property
    def leftovers(self) -> tuple[str, ...]:
        """`service:port`, `service:family` or `service:class` of what is there and not wanted."""
        old = (*(port.name for port in self._old_ports), *self._old_families, *(["class"] if self.is_of_other_class else []))
        return tuple(f"{self.wanted.name}:{name}" for name in old)

    @property
    def is_of_other_class(self) -> bool:
        """Whether it is a load balancer of another class than is wanted, which it stays as long as it is one."""
        return keeps_class(self.wanted, self.live)

    def widened(self, observed: Observed, topology: Topology) -> ExternalService | None:
        """The Service with what only old endpoints need; None where it is to be left alone.

        That is while it is being deleted, and while it is a balancer of another class whose ports lead where they should.
        """
        if self.is_of_other_class:
            return self._of_other_class(topology)
        return self.on_its_way(self._old_ports, self._old_families, observed, topology)

    def narrowed(self, observed: Observed, topology: Topology) -> ExternalService | None:
        """The Service without that; a balancer of another class as none, so that it can become one of the wanted class."""
        if self.is_of_other_class:
            return self._without_balancer(topology)
        return self._with_names_of_before().on_its_way((), (), observed, topology)

    def _with_names_of_before(self) -> ServiceChange:
        """The change in which a port for a router keeps the name that its number has already, where that leads to the same pods.

        kube-proxy joins a Service's ports and its endpoints by their names, and sees the change of both one after the other: a port that is only
        renamed leads nowhere for up to a second.
        """
        live = {port.port: port for port in self.live.ports} if self.live is not None else {}
        ports = tuple(self._named_as(port, live.get(port.port)) for port in self.wanted.ports)
        return replace(self, wanted=replace(self.wanted, ports=ports))

    def _named_as(self, port: ServicePort, live: AllocatedPort | None) -> ServicePort:
        if live is None or kind_of(port.name) != "sni":
            return port
        if self.wanted.role == "node":  # all its ports lead to its one pod
            return replace(port, name=live.name, target=live.target)
        same = kind_of(live.name) not in OF_ONE_NODE if self._shard is not None else live.target == port.target
        return replace(port, name=live.name) if same else port

    @property
    def _old_ports(self) -> tuple[AllocatedPort, ...]:
        """The ports that the present spec does not want."""
        new = {port.name for port in self.wanted.ports}
        return tuple(port for port in self.live.ports if port.name not in new) if self.live is not None else ()

    @property
    def _old_families(self) -> tuple[str, ...]:
        """The families that the present spec does not want and that can go: a first one that is not wanted stays, and is told elsewhere."""
        families = self.live.families if self.live is not None else ()
        if not families or families[0] not in self.wanted.ip_families:
            return ()
        return tuple(family for family in families if family not in self.wanted.ip_families)

    @property
    def _shard(self) -> int | None:
        """The shard whose Service this is; None where it is one node's, or that of all shards."""
        return self.wanted.shard if self.wanted.role != "node" else None

    def on_its_way(
        self, ports: tuple[AllocatedPort, ...], families: tuple[str, ...], observed: Observed, topology: Topology
    ) -> ExternalService | None:
        """The Service with those old ports and families, one step on, as wide as the ports that are on it need."""
        if self.live is None:
            return self.wanted
        if self.live.deleting:
            return None
        changed = step(self._with(ports, topology), self.live, observed)
        changed = replace(changed, ip_families=self._families(families))
        in_the_end = {port.name for port in self.wanted.ports}
        narrower = _WIDTH.index(self.live.type) > _WIDTH.index(self.wanted.type)
        if narrower and {port.name for port in changed.ports} - in_the_end:
            return replace(
                changed, type=self.live.type, balancing=self._balancing_meanwhile, traffic_policy=self.live.traffic_policy
            )
        return changed

    @property
    def _balancing_meanwhile(self) -> Balancing:
        """That of a balancer which goes later; one whose ports were to have no node ports gets them now where they are wanted."""
        live = self.live.balancing if self.live is not None else Balancing()
        return replace(live, allocate_node_ports=None) if self.wanted.type == "NodePort" else live

    def _of_other_class(self, topology: Topology) -> ExternalService | None:
        """What it is, its shard's port with the primary; None where that is what it is already."""
        found = self._as_it_is(topology)
        if found is None or self.live is None or found.ports == tuple(map(as_it_is, self.live.ports)):
            return None
        return replace(found, type=self.live.type, balancing=self.live.balancing)

    def _without_balancer(self, topology: Topology) -> ExternalService | None:
        """What it is, as no balancer: its ports stay, with their node ports, at which nodes may be announced."""
        found = self._as_it_is(topology)
        return replace(found, type="NodePort", balancing=Balancing()) if found is not None else None

    def _as_it_is(self, topology: Topology) -> ExternalService | None:
        """The Service as it is, its shard's port with the primary; None where there is none."""
        live = self.live
        if live is None or live.deleting:
            return None
        return replace(
            self.wanted,
            ports=self._to_primary(map(as_it_is, live.ports), topology),
            selector=live.selector,
            traffic_policy=live.traffic_policy,
            ip_families=self._families(self._old_families),
        )

    def _families(self, old: tuple[str, ...]) -> tuple[str, ...]:
        """The families as they should be now, with those that old endpoints still need. Kubernetes keeps the first one.

        Where that is not wanted the Service stays as it is until somebody decides.
        """
        live = self.live.families if self.live is not None else ()
        wanted = self.wanted.ip_families
        if not wanted or not live:
            return wanted
        return tuple(dict.fromkeys((live[0], *wanted, *old))) if live[0] in wanted else live

    def _with(self, old: tuple[AllocatedPort, ...], topology: Topology) -> ExternalService:
        """What is wanted with those old ports.

        A port by a container port's name reaches its one pod only while the selector takes in all pods of the shard. So a shard's Service that
        selects its primary does that by its port instead, until the last port of another kind is gone.
        """
        wanted = self.wanted
        merged = replace(wanted, ports=beside(wanted.ports, map(as_it_is, old)))
        targets = [*(port.target for port in merged.ports), *(port.target for port in self._old_ports)]
        if self._shard is None or not any(isinstance(target, str) for target in targets):
            return merged
        selector = {key: value for key, value in wanted.selector.items() if key != names.NODE_INDEX}
        return replace(merged, selector=selector, ports=self._to_primary(merged.ports, topology))

    def _to_primary(self, ports: Iterable[ServicePort], topology: Topology) -> tuple[ServicePort, ...]:
        """Ports of a shard's Service that selects all its pods: those of the shard lead to its primary, where they led while nobody knows it."""
        if self._shard is None:
            return tuple(ports)
        primary = topology.primary(self._shard)
        before = {port.name: port.target for port in self.live.ports} if self.live is not None else {}
        return tuple(
            port
            if kind_of(port.name) in OF_ONE_NODE
            else replace(port, target=names.container_port(primary) if primary is not None else before.get(port.name, port.target))
            for port in ports
        )


def _beside_others(wanted: ExternalService, live: Service) -> ExternalService:
    """A Service that takes no number from somebody else's port: a port that is wanted there stays as it is, or does not come."""
    taken = taken_by_others(live)
    if not taken:
        return wanted
    there = {port.name: as_it_is(port) for port in live.ports}
    ports = (there.get(port.name) if port.port in taken else port for port in wanted.ports)
    return replace(wanted, ports=tuple(port for port in ports if port is not None))
