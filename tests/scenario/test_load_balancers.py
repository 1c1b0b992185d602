"""Load balancers, and changes from one way out to another under the eyes of the witness."""

from contextlib import nullcontext

import pytest

from scenario.story import NODE_PORT, NODES, OFF, formed, reached
from scenario.test_enabling import OUTSIDE, PREFERRED
from valkey_operator.api.conditions import ConditionType, State
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import AllocatedPort, Ingress
from valkey_operator.core.times import stamp

BALANCED = {"enabled": True, "type": "LoadBalancer", "drainSeconds": 3}
FIRST = NodeIndex(0, 0)


def ports(story):
    return {name: {port.name: port.port for port in live.wanted.ports} for name, live in sorted(story.services.live.items())}


def numbers(story):
    return {name: sorted(listed.values()) for name, listed in ports(story).items()}


@pytest.mark.parametrize("scope", ["Shard", "Node", "Cluster"])
def test_every_node_has_a_port_of_a_balancer(scope):
    story = formed()
    story.access(**BALANCED, loadBalancerScope=scope)
    story.settle(within=10)
    story.witness.assert_announced()
    assert len(set(story.told().values())) == 6
    assert story.starts() == 6
    story.assert_at_rest()


def test_while_balancers_are_pending_the_cluster_is_ready_and_clients_keep_what_they_have():
    story = formed()
    before = story.told()
    story.services.stingy |= {"orders-1"}
    story.access(**BALANCED)
    story.run(20)
    assert story.status.state is State.READY
    assert story.outside_is() == "WaitingForLoadBalancer"
    assert "Service orders-1 waits for its load balancer since" in story.condition(ConditionType.EXTERNAL_ACCESS_READY)[2]
    assert story.told() == before
    story.services.cloud_works()
    story.settle()
    story.witness.assert_announced()


def test_a_port_that_a_cloud_has_not_opened_yet_is_not_told_while_the_old_one_works():
    """The operator reaches the old one, so nothing keeps it from the new one but that it does not work yet, however long that takes."""
    story = formed()
    story.access(**BALANCED)
    story.settle()
    before = story.told()
    story.services.shut = {7000, 7001}
    story.access(**BALANCED, advertisedPort=7000)
    story.run(300)
    assert story.told() == before
    assert story.outside_is() == "Announcing"
    assert "does not answer the operator" in story.condition(ConditionType.EXTERNAL_ACCESS_READY)[2]
    story.services.shut = set()
    story.run(6)
    story.settle()
    assert {port for _, port in story.told().values()} == {7000, 7001}
    story.witness.assert_announced()
    story.assert_at_rest()


def test_the_first_endpoints_behind_balancers_are_given_a_minute():
    story = formed()
    story.services.shut = {6380, 6381}
    since, inside = story.now, story.told()
    story.access(**BALANCED)
    story.run(55)
    assert story.told() == inside
    with story.witness.excused():
        story.run(10)
        assert {port for _, port in story.told().values()} == {6380, 6381}
        assert "the operator gets no answer" in story.condition(ConditionType.CONFIGURATION_WARNING)[2]
        assert "at those of 6 of 6 nodes" in story.condition(ConditionType.EXTERNAL_ACCESS_READY)[2]
        story.services.shut = set()
        story.run(16)
    assert story.condition(ConditionType.EXTERNAL_ACCESS_READY) == ("True", "Ready", "clients outside reach every node")
    assert story.events(since=since).count("ExternalAccessReady") == 1
    story.settle()


@pytest.mark.parametrize(("scope", "name"), [("Shard", "orders-0"), ("Shard", "orders"), ("Cluster", "orders")])
def test_ports_that_made_room_for_others_come_back_after_somebody_deleted_their_service(scope, name):
    story = formed()
    story.access(**BALANCED, loadBalancerScope=scope)
    story.settle()
    story.access(**BALANCED, loadBalancerScope=scope, advertisedPort=6381)
    with story.witness.excused() if scope == "Cluster" else nullcontext():  # decision 11: a moment without a slice
        story.settle()
    before, told = numbers(story), {index: port for index, (_, port) in story.told().items()}
    with story.witness.excused():
        story.services.delete(name)
        story.run(10)
    story.settle()
    assert numbers(story) == before
    assert {index: port for index, (_, port) in story.told().items()} == told
    story.witness.assert_announced()


def test_a_wait_begins_with_the_change_of_type_and_not_with_the_service():
    story = reached()
    story.run(120)
    story.services.stingy |= {"orders-1", "orders"}
    changed = stamp(story.world.timeline.moment)
    story.access(**BALANCED)
    story.run(20)
    told = story.condition(ConditionType.EXTERNAL_ACCESS_READY)[2]
    assert changed <= told.partition("Service orders-1 waits for its load balancer since ")[2]
    story.run(60)
    assert story.condition(ConditionType.EXTERNAL_ACCESS_READY)[2] == told


def test_a_balancer_that_gets_another_address_or_loses_it():
    story = formed()
    story.access(**BALANCED)
    story.settle()
    (old,) = story.services.live["orders-0"].ingress
    with story.witness.excused():
        story.services.give("orders-0")
        story.run(10)
        assert story.outside_is() == "WaitingForLoadBalancer"
        assert story.told()[FIRST] == (old.ip, 6380)
        story.services.give("orders-0", Ingress("198.51.100.99"))
        story.run(3)
    story.settle()
    assert story.told()[FIRST] == ("198.51.100.99", 6380)
    story.witness.assert_announced()


def test_a_balancer_with_a_name_alone_is_announced_by_it():
    story = formed()
    story.services.stingy |= {"orders-0"}
    story.access(**BALANCED)
    story.run(5)
    story.services.give("orders-0", Ingress(hostname="lb.example.com"))
    story.settle()
    assert story.told()[FIRST] == ("lb.example.com", 6380)


def test_from_node_ports_to_balancers_nobody_is_ever_told_what_cannot_be_dialled():
    story = reached()
    story.access(**BALANCED)
    story.run(2.5)
    assert all("np-0" in names for name, names in ports(story).items() if name != "orders")
    story.run(12)
    story.settle()
    story.witness.assert_announced()
    assert ports(story) == {
        "orders": {"lb-bootstrap": 6380},
        "orders-0": {"lb-0": 6380, "lb-1": 6381},
        "orders-1": {"lb-0": 6380, "lb-1": 6381},
        "orders-2": {"lb-0": 6380, "lb-1": 6381},
    }
    assert story.starts() == 6
    story.assert_at_rest()


def test_and_back():
    story = formed()
    story.access(**BALANCED)
    story.settle()
    story.access(**{**NODE_PORT, "drainSeconds": 3})
    story.run(12)
    story.settle()
    assert story.told() == OUTSIDE
    assert story.node_ports() == PREFERRED
    assert {live.wanted.type for live in story.services.live.values()} == {"NodePort"}
    story.assert_at_rest()


def test_another_port_stands_beside_the_old_one_until_nobody_holds_that():
    story = formed()
    story.access(**BALANCED)
    story.settle()
    story.access(**BALANCED, advertisedPort=7000)
    story.run(15)
    story.settle()
    assert story.told()[FIRST][1] == 7000
    assert sorted(ports(story)["orders-0"].values()) == [7000, 7001]
    story.assert_at_rest()


@pytest.mark.parametrize("target", [6379, "valkey-0-0"])
def test_a_port_that_somebody_else_put_on_a_service_is_left_alone_and_keeps_nothing_from_ending(target):
    story = reached()
    mine = AllocatedPort("mine", 7777, None, target)
    story.services.meddle("orders-0", mine)
    story.run(1)
    story.assert_at_rest()
    story.access(**BALANCED)
    story.settle()
    assert story.external.draining_since is None
    assert numbers(story)["orders-0"] == [6380, 6381]
    story.access(**NODE_PORT, drainSeconds=3)
    story.settle()
    assert story.external.draining_since is None
    assert story.services.live["orders-0"].view().type == "NodePort"
    assert story.services.live["orders-0"].others == (mine,)
    story.witness.assert_announced()
    story.assert_at_rest()


def test_a_change_that_is_taken_back_halfway():
    story = reached()
    story.access(**BALANCED)
    story.run(1.2)
    story.access(**{**NODE_PORT, "drainSeconds": 3})
    story.run(12)
    story.settle()
    assert story.told() == OUTSIDE
    assert story.node_ports() == PREFERRED


@pytest.mark.parametrize("part", range(3))
def test_a_change_ends_the_same_wherever_the_operator_is_killed(part):
    for steps in range(1 + part, 60, 18):
        story = reached()
        story.passes.kill_after = story.passes.steps + steps
        story.access(**BALANCED)
        story.run(12)
        story.settle()
        assert all(pair[1] in (6380, 6381) for pair in story.told().values())
        assert not any(name.startswith("np") for names in ports(story).values() for name in names)
        assert story.starts() == 6


def test_balancers_go_when_external_access_does():
    story = formed()
    story.access(**BALANCED)
    story.settle()
    story.access(**{**OFF, "drainSeconds": 3})
    story.run(8)
    assert not story.services.live
    story.settle()
    assert story.told() == {index: (story.process(index).ip, 6379) for index in NODES}


ONE = {**BALANCED, "loadBalancerClass": "example.com/one"}
OTHER = {**BALANCED, "loadBalancerClass": "example.com/other"}
NODE_PORTS = {**NODE_PORT, "drainSeconds": 3}


def classes(story):
    return {
        live.wanted.balancing.load_balancer_class for live in story.services.live.values() if live.wanted.type == "LoadBalancer"
    }


def of_class_one(**more):
    story = formed()
    story.access(**{**ONE, **more})
    story.settle()
    return story


@pytest.mark.parametrize("other", [OTHER, BALANCED])
@pytest.mark.parametrize("before", [NODE_PORTS, {**OFF, "drainSeconds": 3}])
def test_another_class_wanted_before_the_old_balancers_are_drained_comes_after_that(before, other):
    story = of_class_one()
    old = {live.ingress for live in story.services.live.values()}
    story.access(**before)
    story.run(2)
    since, told = story.now, story.told()
    story.access(**other)
    story.run(2)
    assert story.outside_is() == "Draining"
    assert "orders-0 stays a load balancer of class example.com/one" in story.condition(ConditionType.EXTERNAL_ACCESS_READY)[2]
    assert (classes(story), story.told()) == ({"example.com/one"}, told)
    story.run(15)
    story.settle()
    assert classes(story) == {other.get("loadBalancerClass")}
    assert {live.wanted.type for live in story.services.live.values()} == {"LoadBalancer"}
    assert not old & {live.ingress for live in story.services.live.values()}
    assert {port for _, port in story.told().values()} == {6380, 6381}
    assert numbers(story)["orders-0"] == [6380, 6381]
    assert "ServiceConflict" not in story.reasons(ConditionType.EXTERNAL_ACCESS_READY, since=since)
    assert not any(done.failed for done in story.passes.done)
    story.witness.assert_announced()
    assert story.starts() == 6
    story.assert_at_rest()


@pytest.mark.parametrize(
    ("scope", "next_scope"), [("Cluster", "Shard"), ("Shard", "Cluster"), ("Node", "Shard"), ("Shard", "Node")]
)
def test_another_class_with_another_scope_leaves_alone_what_is_told_meanwhile(scope, next_scope):
    story = of_class_one(loadBalancerScope=scope)
    story.access(**NODE_PORTS)
    story.run(2)
    story.access(**OTHER, loadBalancerScope=next_scope)
    story.run(25)
    story.settle()
    assert classes(story) == {"example.com/other"}
    assert not any(done.failed for done in story.passes.done)
    story.witness.assert_announced()
    story.assert_at_rest()


def test_a_class_that_was_changed_under_announced_endpoints_leaves_them_and_the_way_out_is_told():
    """The user went by way of another type faster than the operator looked."""
    story = of_class_one()
    told = story.told()
    story.access(**OTHER)
    story.run(20)
    assert story.outside_is() == "ServiceConflict"
    assert "set spec.externalAccess.type to NodePort" in story.condition(ConditionType.EXTERNAL_ACCESS_READY)[2]
    assert (classes(story), story.told()) == ({"example.com/one"}, told)
    assert not any(done.failed for done in story.passes.done)
    story.access(**NODE_PORTS)
    story.run(2)
    assert story.external.draining_since is not None
    story.run(6)
    story.settle()
    assert story.external.draining_since is None
    story.access(**OTHER)
    story.run(10)
    story.settle()
    assert classes(story) == {"example.com/other"}
    story.witness.assert_announced()


@pytest.mark.parametrize("part", range(3))
def test_another_class_comes_wherever_the_operator_is_killed(part):
    for steps in range(1 + part, 60, 18):
        story = of_class_one()
        story.access(**NODE_PORTS)
        story.run(2)
        story.passes.kill_after = story.passes.steps + steps
        story.access(**OTHER)
        story.run(30)
        story.settle()
        assert classes(story) == {"example.com/other"}
        assert {port for _, port in story.told().values()} == {6380, 6381}
        assert not any(name.startswith("np") for names in ports(story).values() for name in names)
        story.witness.assert_announced()
