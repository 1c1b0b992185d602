"""A world in memory around one ValkeyCluster: machines, an API server, Valkey servers, clients outside. Nothing of it is the operator.

What the operator sees of it is `observe`; what it does to it are the methods of `kubernetes` and the commands of servers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scenario.timeline import Timeline
from scenario.witness import Witness
from scenario.world_fleet import Fleet
from scenario.world_kubernetes import Kubernetes
from scenario.world_outside import Outside
from valkey_operator.core import access, resolving, settings
from valkey_operator.core.observed import Observed, Passwords, Probe, Unreachable

if TYPE_CHECKING:
    from typing import Any

    from scenario.world_server import Process
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Announcement, Pod, Server


class World:
    """Everything that is not the operator."""

    def __init__(self, *, seed: int = 0, **spec: Any) -> None:
        self.timeline = Timeline(seed)
        self.fleet = Fleet(self.timeline)
        self.kubernetes = Kubernetes(self.timeline, self.fleet, {"shards": 3, "replicas": 1, **spec})
        self.outside = Outside(self.kubernetes)
        self.witness = Witness(self)
        self.silent: set[NodeIndex] = set()
        """Nodes whose server the operator cannot reach, though others can."""
        self.may_read_machines = True
        self.user_passwords: dict[str, tuple[str, ...] | str] = {}
        self._draws = 0

    def process(self, index: NodeIndex) -> Process:
        """The server of a node, which must run."""
        process = self.kubernetes.pods.live[index].process
        assert process is not None
        return process

    def tell(self, index: NodeIndex, command: Any) -> None:
        """Send a command to the server of a node."""
        pod = self.kubernetes.pods.live.get(index)
        if pod is None or pod.process is None or index in self.silent:
            raise ConnectionRefusedError(str(index))
        self.witness.before(pod.process, command)
        pod.process.obey(command)
        self.witness.after(index, pod.process, command)

    def observe(self) -> Observed:
        """All that the operator can know now."""
        mirror = self.kubernetes.mirror
        self._draws += 1
        seen = Observed(
            cluster=mirror.cluster,
            records=mirror.records,
            workloads=mirror.workloads,
            pods=mirror.pods,
            files=mirror.files,
            services=mirror.services,
            served=mirror.served,
            machines=mirror.machines if self.may_read_machines else None,
            passwords=mirror.passwords,
            fresh_passwords=Passwords(*(f"{user}-password-{self._draws}" for user in ("operator", "replication", "default"))),
            acl=mirror.acl,
            snippet=mirror.snippet,
            routing=mirror.routing,
            user_passwords=dict(self.user_passwords),
            servers={index: self._ask(index, pod) for index, pod in mirror.pods.items()},
        )
        seen = replace(seen, resolved={name: name in self.outside.names for name in resolving.names_to_resolve(seen)})
        return replace(seen, probes={endpoint: self._probe(endpoint) for endpoint in access.candidates(seen)})

    def _ask(self, index: NodeIndex, pod: Pod) -> Server | Unreachable:
        if pod.ip is None or not pod.running:
            return Unreachable("its pod does not run")
        process = self.fleet.at(pod.ip)
        if process is None or index in self.silent:
            return Unreachable("timed out")
        return process.look(settings.ASKED)

    def _probe(self, endpoint: Announcement) -> Probe:
        return Probe(None, "timed out") if self.outside.firewall else self.outside.dial(endpoint.host, endpoint.port)
