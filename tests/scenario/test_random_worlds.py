"""Worlds in which anything happens at any time: nothing that must never be is ever seen, and in the end all is whole."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scenario.story import NODE_PORT, Story
from valkey_operator.core.names import NodeIndex

SHARDS = st.integers(0, 2)
MEMBERS = st.integers(0, 1)
MOMENTS = st.sampled_from([0.02, 0.1, 0.4, 1.5, 6.0])


class RandomWorld(RuleBasedStateMachine):
    """What people, machines and networks do to a cluster. The rules name what happens; the operator is never asked."""

    @initialize(seed=st.integers(0, 2**16), replicas=st.sampled_from([1, 1, 0]), enabled=st.booleans())
    def begins(self, seed, replicas, enabled):
        self.access = {**NODE_PORT, "enabled": enabled, "drainSeconds": 3}
        self.replicas = replicas
        self.story = Story(seed=seed, replicas=replicas, externalAccess=self.access)
        self.story.witness.strict = False
        self.numbers = {}

    def _node(self, shard, node):
        return NodeIndex(shard, min(node, self.replicas))

    @rule(seconds=MOMENTS)
    def time_passes(self, seconds):
        self.story.run(seconds)

    @rule(seconds=MOMENTS)
    def a_client_writes(self, seconds):
        for slot in range(0, 16384, 1500):
            self.story.fleet.write(slot)
        self.story.run(seconds)

    @rule(shard=SHARDS, node=MEMBERS, seconds=MOMENTS)
    def a_pod_is_killed(self, shard, node, seconds):
        self.story.pods.kill(self._node(shard, node))
        self.story.run(seconds)

    @rule(shard=SHARDS, node=MEMBERS, seconds=MOMENTS)
    def a_pod_is_deleted(self, shard, node, seconds):
        self.story.pods.delete(self._node(shard, node))
        self.story.run(seconds)

    @rule(shard=SHARDS, node=MEMBERS, seconds=MOMENTS)
    def a_container_restarts(self, shard, node, seconds):
        if self._node(shard, node) in self.story.pods.live:
            self.story.pods.restart_container(self._node(shard, node))
        self.story.run(seconds)

    @rule(shard=SHARDS, node=MEMBERS, seconds=MOMENTS)
    def the_operator_loses_sight_of_a_server_or_finds_it_again(self, shard, node, seconds):
        self.story.world.silent ^= {self._node(shard, node)}
        self.story.run(seconds)

    @rule(seconds=MOMENTS)
    def the_user_turns_external_access_on_or_off(self, seconds):
        self.access = {**self.access, "enabled": not self.access["enabled"]}
        self.story.access(**self.access)
        self.story.run(seconds)

    @rule(shard=SHARDS, node=MEMBERS)
    def somebody_takes_a_node_port_or_gives_it_back(self, shard, node):
        number = 31200 + shard + 100 * node
        services = self.story.services
        if number in services.taken:
            services.taken.discard(number)
        elif number not in services.in_use():
            services.taken.add(number)

    @rule(
        name=st.sampled_from(["orders", "orders-0", "orders-1", "orders-2"]), lingers=st.sampled_from([0.0, 2.0]), seconds=MOMENTS
    )
    def somebody_deletes_a_service(self, name, lingers, seconds):
        self.story.services.delete(name, lingers=lingers)
        self.story.run(seconds)

    @rule(machine=st.sampled_from(["m1", "m2", "m3"]), last=st.integers(20, 99), seconds=MOMENTS)
    def a_machine_gets_another_address(self, machine, last, seconds):
        self.story.outside.give(machine, ("InternalIP", f"198.51.100.{last}"))
        self.story.run(seconds)

    @rule(machine=st.sampled_from(["m1", "m2"]))
    def a_machine_is_cordoned_or_not_any_more(self, machine):
        self.story.pods.cordoned ^= {machine}

    @rule(steps=st.integers(1, 30), seconds=MOMENTS)
    def the_operator_is_killed(self, steps, seconds):
        self.story.passes.kill_after = self.story.passes.steps + steps
        self.story.run(seconds)

    @rule(until=st.sampled_from([1.0, 5.0]))
    def the_api_server_fails_for_a_while(self, until):
        end = self.story.now + until
        chance = self.story.world.timeline.chance
        self.story.passes.fails = lambda at: at < end and chance.random() < 0.5
        self.story.run(until)

    @invariant()
    def a_node_port_never_moves(self):
        for live in self.story.services.live.values():
            for name, number in live.node_ports.items():
                assert self.numbers.setdefault((live.uid, name), number) == number

    def teardown(self):
        story = self.story
        story.world.silent.clear()
        story.pods.cordoned.clear()
        story.passes.kill_after = None
        story.run(4)
        story.settle(within=120)
        if self.access["enabled"]:
            story.witness.assert_announced()
        else:
            assert not story.services.live
            assert story.status.external_access is None
        story.witness.strict = True
        story.assert_at_rest(seconds=40)


RandomWorld.TestCase.settings = settings(
    max_examples=8, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
test_random_worlds = RandomWorld.TestCase
