"""The witness of a world: looks at every moment whether something happens that must never happen."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from valkey_operator.core.plan import AddSlots, SetConfig

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from scenario.world import World
    from scenario.world_server import Process
    from valkey_operator.core.names import NodeIndex

EVERY = 0.2


class Witness:
    """Asserts while a story runs; `told` remembers every pair that any server ever told of a node."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.strict = True
        """Whether every pair that is told of a living server must be one that a client can dial at this moment."""
        self.enabled = False
        """Whether external access was on when the operator last looked."""
        self.meddled: set[tuple[str, int]] = set()
        """Pairs that somebody set by hand."""
        self.outside: dict[NodeIndex, tuple[str, int]] = {}
        """The pair outside that each node was last made to announce."""
        self.commands: list[tuple[float, NodeIndex, Any]] = []
        world.timeline.after(EVERY, self._watch)

    def _watch(self) -> None:
        self.sample()
        self.world.timeline.after(EVERY, self._watch)

    @contextmanager
    def excused(self) -> Iterator[None]:
        """While somebody outside breaks an endpoint, it cannot be dialled."""
        self.strict = False
        yield
        self.strict = True

    # --- commands ---------------------------------------------------------------------------------------------------------------

    def before(self, process: Process, command: Any) -> None:
        """Nobody alive loses slots to a gift."""
        if isinstance(command, AddSlots):
            for other in self.world.fleet.alive():
                if other is not process:
                    assert not other.me.slots & command.slots, f"slots {command.slots} are owned by {other.id}, who is alive"

    def after(self, index: NodeIndex, process: Process, command: Any) -> None:
        """What a command makes a server announce is a whole pair, and a new one can be dialled."""
        self.commands.append((self.world.timeline.now, index, command))
        if not isinstance(command, SetConfig) or not command.values.keys() & {
            "cluster-announce-hostname",
            "cluster-announce-client-port",
        }:
            return
        pair = (process.me.hostname, process.me.port)
        if pair == (process.ip, 6379):
            assert not (self.enabled and index in self.outside), f"{index} announces its pod IP again"
            self.outside.pop(index, None)
            return
        self._whole(process, pair)
        if pair != self.outside.get(index) and self.strict and not self.world.outside.firewall:
            assert self.world.outside.dial(*pair).id == process.id, f"{index} announces {pair}, which does not reach it"
        self.outside[index] = pair

    @staticmethod
    def _whole(process: Process, pair: tuple[str, int]) -> None:
        host, port = pair
        assert host not in ("", "?"), "no host is announced"
        assert (host == process.ip) == (port == 6379), f"{pair} is half a place inside and half an endpoint outside"

    # --- all the time -----------------------------------------------------------------------------------------------------------

    def sample(self) -> None:
        """What every server tells clients now."""
        fleet, kubernetes = self.world.fleet, self.world.kubernetes
        dialled: dict[tuple[str, str, int], None] = {}
        for teller in fleet.alive():
            told = teller.told()
            places = [(host, port) for node_id, host, port in told if fleet.everybody[node_id].alive]
            assert len(set(places)) == len(places), f"two nodes on one endpoint: {sorted(places)}"
            dialled |= dict.fromkeys(told)
        for node_id, host, port in dialled:
            process = fleet.everybody[node_id]
            if (host, port) in self.meddled:
                continue
            self._whole(process, (host, port))
            if not process.alive or host == process.ip or not self.strict:
                continue
            pod = kubernetes.pods.of(node_id)
            if pod is not None and pod.reached and not pod.deleting:
                reached = self.world.outside.dial(host, port)
                assert reached.id == node_id, f"{host}:{port} is told, but: {reached.reason or reached.id}"

    # --- in the end -------------------------------------------------------------------------------------------------------------

    def assert_whole(self) -> None:
        """One cluster: everybody knows just everybody, every slot has one owner in all views, every replica its copy, no write is lost."""
        kubernetes, fleet = self.world.kubernetes, self.world.fleet
        spec = kubernetes.cluster.spec
        living = {process.id: process for process in fleet.alive()}
        assert len(living) == spec.shards * (spec.replicas + 1)
        truth = {process.id: process.me.slots for process in living.values() if process.me.slots}
        assert len(truth) == spec.shards
        assert sum(len(slots) for slots in truth.values()) == 16384
        for process in living.values():
            assert process.state_ok
            assert process.view.keys() == living.keys(), "a view has ghosts or lacks somebody"
            assert {peer.id: peer.slots for peer in process.view.values() if peer.slots} == truth
            assert process.me.primary_id is None or process.link_up
        for shard in range(spec.shards):
            members = [self.world.process(index) for index in kubernetes.pods.live if index.shard == shard]
            (primary,) = [process for process in members if process.me.primary_id is None]
            assert {process.me.primary_id for process in members} <= {None, primary.id}
        assert fleet.unreadable() == set(), "acknowledged writes are not where clients look for them"

    def assert_announced(self) -> None:
        """Every server tells of every node the pair by which a client outside reaches it."""
        for teller in self.world.fleet.alive():
            for peer in teller.view.values():
                assert self.world.outside.dial(peer.hostname, peer.port).id == peer.id
