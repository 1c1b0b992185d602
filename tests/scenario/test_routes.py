"""Routes made by the operator: what is told leads somewhere while they are made, changed and refused, wherever the operator is killed."""

import pytest

from scenario.story import NODE_PORT, NODES, OFF, Story, formed, reached
from scenario.test_crashes import killed_after, was_killed
from scenario.test_enabling import OUTSIDE
from scenario.world_routes import GATEWAYS
from valkey_operator.api.conditions import ConditionType
from valkey_operator.core.names import NodeIndex

HOST = "valkey.example.com"
ADDRESS, OTHER = GATEWAYS["edge/public"], GATEWAYS["edge/other"]
ROUTED = {
    "enabled": True,
    "type": "Ingress",
    "advertisedHost": HOST,
    "drainSeconds": 3,
    "routes": {"kind": "TCPRoute", "parentRefs": [{"namespace": "edge", "name": "public"}]},
}
LED = {index: (HOST, 6381 + number) for number, index in enumerate(NODES)}


def known(story: Story) -> Story:
    """The Gateway's name is in the DNS."""
    story.outside.names[HOST] = ADDRESS
    return story


def routed() -> Story:
    """The cluster, Ready, with routes."""
    story = known(formed())
    story.access(**ROUTED)
    story.settle(within=15)
    return story


def test_every_node_has_a_listener_and_nothing_is_told_before_its_route_is_followed():
    story = routed()
    assert story.told() == LED
    assert sorted(story.kubernetes.routes.live) == ["orders", *(f"orders-{index}" for index in NODES)]
    story.witness.assert_announced()
    assert story.starts() == 6
    story.assert_at_rest()


def test_a_route_that_is_refused_withholds_all_the_first_time():
    story = known(formed())
    before = story.told()
    story.kubernetes.routes.refused.add("orders-1-0")
    story.access(**ROUTED)
    story.run(15)
    assert story.outside_is() == "RouteNotAccepted"
    assert "does not accept TCPRoute orders-1-0" in story.condition(ConditionType.EXTERNAL_ACCESS_READY)[2]
    assert story.told() == before
    story.kubernetes.routes.judge_anew()
    story.settle(within=10)
    assert story.told() == LED


def test_a_route_that_is_refused_later_leaves_what_is_told_and_what_the_status_says():
    story = routed()
    with story.witness.excused():
        story.kubernetes.routes.judge_anew("orders-1-0")
        story.run(5)
        assert story.outside_is() == "RouteNotAccepted"
        assert story.told() == LED
        assert [len(shard.nodes) for shard in story.external.endpoints] == [2, 2, 2]
        story.kubernetes.routes.judge_anew()
        story.run(2)
    story.settle()
    assert story.told() == LED
    story.witness.assert_announced()


def test_a_route_that_somebody_deletes_comes_back_at_its_port():
    story = routed()
    with story.witness.excused():
        story.kubernetes.routes.delete("orders-2-1")
        story.run(3)
    story.settle()
    assert story.told() == LED
    story.witness.assert_announced()


def test_from_node_ports_to_routes_and_back_nobody_is_told_what_cannot_be_dialled():
    story = known(reached())
    story.access(**ROUTED)
    story.run(12)
    story.settle()
    assert story.told() == LED
    story.access(**NODE_PORT, drainSeconds=3)
    story.run(12)
    story.settle()
    assert story.told() == OUTSIDE
    assert not story.kubernetes.routes.live
    assert story.starts() == 6


def test_another_gateway_leads_beside_the_old_one_until_names_lead_there():
    story = routed()
    ((_, port),) = {story.told()[NODES[0]]}
    story.access(**{**ROUTED, "routes": {"kind": "TCPRoute", "parentRefs": [{"namespace": "edge", "name": "other"}]}})
    story.run(2.5)
    assert {story.outside.dial(address, port).id for address in (ADDRESS, OTHER)} == {story.process(NODES[0]).id}
    story.outside.names[HOST] = OTHER
    settled = story.now
    story.run(5)
    story.settle()
    assert not [event for event in story.events(since=settled) if "RouteNotAccepted" in event], (
        "taking the old Gateway off changes nothing for clients"
    )
    assert story.told() == LED
    assert story.outside.dial(ADDRESS, port).id is None
    story.witness.assert_announced()
    story.assert_at_rest()


def test_routes_go_when_external_access_does():
    story = routed()
    story.access(**{**OFF, "drainSeconds": 3})
    story.run(8)
    story.settle()
    assert not story.kubernetes.routes.live
    assert not story.services.live
    assert story.told() == {index: (story.process(index).ip, 6379) for index in NODES}


def test_a_failover_moves_no_route():
    story = routed()
    story.write()
    story.pods.restart_container(NodeIndex(1, 0))
    story.run(6)
    story.settle()
    assert story.told() == LED


@pytest.mark.parametrize(
    ("begin", "steps"),
    [
        *((formed, range(first, 72, 18)) for first in (1, 7, 13)),
        *((reached, range(first, 80, 24)) for first in (1, 13)),
    ],
)
def test_the_end_is_the_same_wherever_the_operator_is_killed(begin, steps):
    for step in steps:
        story = killed_after(known(begin()), step)
        story.access(**ROUTED)
        story.run(12)
        story.settle()
        assert was_killed(story)
        assert story.told() == LED
        assert story.starts() == 6


def test_routes_lead_on_while_balancers_of_another_class_than_is_wanted_are_drained():
    story = known(formed())
    balanced = {"enabled": True, "type": "LoadBalancer", "drainSeconds": 3, "advertisedPort": 7000}
    story.access(**balanced, loadBalancerClass="example.com/one")
    story.settle()
    story.access(**ROUTED)
    story.run(2.5)
    assert story.told() == LED
    story.access(**balanced, loadBalancerClass="example.com/other")
    story.run(2)
    assert (story.outside_is(), story.told()) == ("Draining", LED)
    story.run(25)
    story.settle()
    assert {port for _, port in story.told().values()} == {7000, 7001}
    assert not story.kubernetes.routes.live
    assert not any(done.failed for done in story.passes.done)
    story.witness.assert_announced()
    story.assert_at_rest()
