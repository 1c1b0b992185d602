"""A story: a world, the operator in it, and the words in which a test tells what happened."""

from __future__ import annotations

import pickle
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from scenario.passes import Passes
from scenario.world import World
from scenario.world_server import Process
from valkey_operator.api.conditions import ConditionType
from valkey_operator.api.status import ClusterStatus
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.plan import AddSlots, SetConfig
from valkey_operator.core.status import transitions
from valkey_operator.valkey.slots import ALL

if TYPE_CHECKING:
    from typing import Any

    from valkey_operator.api.status import ExternalAccessStatus

NODES = tuple(NodeIndex(shard, node) for shard in range(3) for node in range(2))
NODE_PORT = {"enabled": True, "type": "NodePort", "nodePort": {"startPort": 31200, "bootstrapPort": 31199}}
OFF = {**NODE_PORT, "enabled": False}


class Story:
    """The cluster `orders`, of three shards with one replica each unless told otherwise."""

    def __init__(self, *, seed: int = 0, **spec: Any) -> None:
        self.world = World(seed=seed, **spec)
        self.passes = Passes(self.world)
        self.kubernetes = self.world.kubernetes
        self.pods = self.kubernetes.pods
        self.services = self.kubernetes.services
        self.fleet = self.world.fleet
        self.outside = self.world.outside
        self.witness = self.world.witness

    # --- what happens ---------------------------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.passes.run(seconds)

    def settle(self, within: float = 60) -> None:
        """Let things come to rest, and find the cluster whole."""
        self.passes.settle(within=within)
        self.witness.assert_whole()

    def access(self, **fields: Any) -> None:
        """The user changes `spec.externalAccess`."""
        self.kubernetes.edit(externalAccess=fields)

    def write(self) -> None:
        """A client writes some keys to every shard."""
        for slot in range(0, 16384, 1000):
            assert self.fleet.write(slot)

    def process(self, index: NodeIndex) -> Process:
        """The server of a node."""
        return self.world.process(index)

    def meddle(self, index: NodeIndex, values: dict[str, str]) -> None:
        """Somebody sets values of a server by hand."""
        me = self.process(index).me
        before = (me.hostname, me.port)
        self.process(index).obey(SetConfig(values))
        if (me.hostname, me.port) != before:
            self.witness.meddled.add((me.hostname or "?", me.port))

    def stranger(self) -> Process:
        """A server of another cluster, which owns all slots there."""
        lines = "cluster-preferred-endpoint-type hostname\ncluster-announce-hostname 10.9.9.9\n"
        stranger = Process(self.fleet, ip="10.9.9.9", version=(9, 1, 2), lines=lines)
        stranger.obey(AddSlots(ALL))
        return stranger

    # --- what is to be seen ---------------------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return self.world.timeline.now

    @property
    def status(self) -> ClusterStatus:
        """The status as written."""
        return self.kubernetes.cluster.status

    @property
    def external(self) -> ExternalAccessStatus:
        """`status.externalAccess`, which must be there."""
        assert self.status.external_access is not None
        return self.status.external_access

    def condition(self, type_: ConditionType) -> tuple[str, str, str]:
        """Status, reason and message of a condition."""
        found = self.status.condition(type_)
        assert found is not None
        return found.status.value, found.reason, found.message

    def outside_is(self) -> str:
        """The reason of ExternalAccessReady."""
        return self.condition(ConditionType.EXTERNAL_ACCESS_READY)[1]

    def reasons(self, type_: ConditionType, *, since: float = 0) -> list[str]:
        """The reasons that a condition had, one after the other."""
        found: list[str] = []
        for at, status in self.kubernetes.statuses:
            condition = status.condition(type_)
            if at >= since and condition is not None and found[-1:] != [condition.reason]:
                found.append(condition.reason)
        return found

    def events(self, *, since: float = 0) -> list[str]:
        """The reasons of all events, warnings with an exclamation mark."""
        statuses = [(0.0, ClusterStatus()), *self.kubernetes.statuses]
        return [
            event.reason + ("!" if event.warning else "")
            for (_, before), (at, after) in pairwise(statuses)
            for event in transitions(before, after)
            if at >= since
        ]

    def told(self) -> dict[NodeIndex, tuple[str, int]]:
        """The pair of each node that every server tells, empty for one of which they tell different things."""
        pairs: dict[NodeIndex, tuple[str, int]] = {}
        for index, pod in self.pods.live.items():
            if pod.process is None:
                continue
            told = {
                (peer.hostname, peer.port) if (peer := teller.view.get(pod.process.id)) else ("", 0)
                for teller in self.fleet.alive()
            }
            pairs[index] = told.pop() if len(told) == 1 else ("", 0)
        return dict(sorted(pairs.items()))

    def node_ports(self) -> dict[str, dict[str, int]]:
        """The node ports of every Service."""
        return {name: dict(live.node_ports) for name, live in sorted(self.services.live.items())}

    def starts(self) -> int:
        """How many pods there ever were."""
        return sum(self.pods.starts.values())

    def assert_at_rest(self, seconds: float = 60) -> None:
        """No write, no command, and only quiet looks for some time."""
        before = (len(self.kubernetes.writes), len(self.witness.commands))
        passes, looks = len(self.passes.done), self.passes.looks
        self.run(seconds)
        assert (len(self.kubernetes.writes), len(self.witness.commands)) == before
        assert len(self.passes.done) == passes, "a settled cluster needs no decision"
        assert self.passes.looks - looks <= seconds / 15 + 1


@cache
def _settled(seed: int, access: str) -> bytes:
    """What came before most stories, told once."""
    story = Story(seed=seed)
    story.settle()
    if access:
        story.access(**NODE_PORT)
        story.settle()
    del story.passes.done[:-1], story.kubernetes.writes[:], story.kubernetes.statuses[:-1], story.witness.commands[:]
    return pickle.dumps(story)


def formed(seed: int = 0) -> Story:
    """The cluster, Ready, inside."""
    return _continued(seed, "")


def reached(seed: int = 0) -> Story:
    """The cluster, Ready, with node ports."""
    return _continued(seed, "NodePort")


def _continued(seed: int, access: str) -> Story:
    story: Story = pickle.loads(_settled(seed, access))
    return story
