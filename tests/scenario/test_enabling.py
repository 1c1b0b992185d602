"""Node ports come: nothing is announced before everything can be dialled, and nothing is half announced ever (the witness looks all the time)."""

import pytest

from scenario.passes import Passes
from scenario.story import NODE_PORT, NODES, Story, formed, reached
from scenario.world_pods import IMAGES
from valkey_operator.api.conditions import ConditionType, State
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.plan import Announce, SetConfig

FIRST = NodeIndex(0, 0)
PREFERRED = {
    "orders": {"np-bootstrap": 31199},
    "orders-0": {"np-0": 31200, "np-1": 31300},
    "orders-1": {"np-0": 31201, "np-1": 31301},
    "orders-2": {"np-0": 31202, "np-1": 31302},
}
OUTSIDE = {
    NodeIndex(0, 0): ("192.0.2.11", 31200),
    NodeIndex(0, 1): ("192.0.2.12", 31300),
    NodeIndex(1, 0): ("192.0.2.12", 31201),
    NodeIndex(1, 1): ("192.0.2.13", 31301),
    NodeIndex(2, 0): ("192.0.2.13", 31202),
    NodeIndex(2, 1): ("192.0.2.11", 31302),
}


def announced_at(story):
    """When each node was first made to announce a place outside."""
    found = {}
    for at, index, command in story.witness.commands:
        if isinstance(command, SetConfig) and command.values.get("cluster-announce-client-port", "0") != "0":
            found.setdefault(index, at)
    return found


@pytest.mark.parametrize("seed", range(2))
def test_node_ports_are_ready_in_seconds_without_a_restart(seed):
    story = formed(seed)
    since = story.now
    story.access(**NODE_PORT)
    story.settle(within=3)
    assert story.told() == OUTSIDE
    story.witness.assert_announced()
    assert story.node_ports() == PREFERRED
    assert story.starts() == 6
    assert story.outside_is() == "Ready"
    assert story.external.ready
    assert story.external.bootstrap.addresses == ("192.0.2.11:31199", "192.0.2.12:31199", "192.0.2.13:31199")
    assert [node.address for shard in story.external.endpoints for node in shard.nodes] == [f"{h}:{p}" for h, p in OUTSIDE.values()]
    assert story.reasons(ConditionType.EXTERNAL_ACCESS_READY, since=since) == ["AllocatingPorts", "Announcing", "Ready"]
    assert story.reasons(ConditionType.READY, since=since) == ["ClusterHealthy"]
    assert story.events(since=since) == ["AllocatingPorts", "ExternalAccessWithoutTLS!", "Announcing", "ExternalAccessReady"]


def test_a_cluster_with_node_ports_is_left_alone():
    story = reached()
    story.assert_at_rest(seconds=300)
    assert {process.config["cluster-ping-interval"] for process in story.fleet.alive()} == {"0"}


def test_a_cluster_that_is_outside_from_the_beginning():
    story = Story(externalAccess=NODE_PORT)
    story.settle(within=10)
    assert story.told() == OUTSIDE
    story.witness.assert_announced()


def test_a_service_that_somebody_else_owns_holds_all_announcements_up_and_is_named():
    story = formed()
    before = story.told()
    story.services.foreign.add("orders-1")
    story.access(**NODE_PORT)
    story.run(20)
    assert story.condition(ConditionType.EXTERNAL_ACCESS_READY)[1:] == (
        "ServiceConflict",
        "Service orders-1 belongs to somebody else",
    )
    assert story.status.state is State.READY
    assert not story.external.ready
    assert announced_at(story) == {}
    assert story.told() == before
    story.services.foreign.clear()
    story.settle()
    assert story.told() == OUTSIDE


def test_nothing_is_announced_until_the_last_endpoint_answers():
    story = formed()
    story.pods.live[NodeIndex(2, 1)].reached = False
    story.access(**NODE_PORT)
    story.run(4)
    assert story.outside_is() == "Announcing"
    assert (
        "192.0.2.11:31302 does not answer the operator: connection refused"
        in story.condition(ConditionType.EXTERNAL_ACCESS_READY)[2]
    )
    assert announced_at(story) == {}
    story.pods.live[NodeIndex(2, 1)].reached = True
    late = story.now
    story.settle()
    assert min(announced_at(story).values()) >= late
    assert max(announced_at(story).values()) <= late + 1


def test_an_endpoint_that_reaches_another_server_is_never_announced():
    story = formed()
    ports = story.services.node_ports_swapped = {31200: 31300, 31300: 31200}
    story.access(**NODE_PORT)
    story.run(12)
    assert "reaches another server than that of node" in story.condition(ConditionType.EXTERNAL_ACCESS_READY)[2]
    assert announced_at(story) == {}
    ports.clear()
    story.settle()
    assert story.told() == OUTSIDE


def test_a_firewall_between_the_operator_and_the_ports_holds_them_up_for_some_seconds_only():
    story = formed()
    story.outside.firewall = True
    since = story.now
    story.access(**NODE_PORT)
    story.run(10)
    assert 4 <= min(announced_at(story).values()) - since <= 6  # the status tells whole seconds
    assert story.told() == OUTSIDE
    assert story.outside_is() == "Ready"
    writes = len(story.kubernetes.writes)
    story.run(60)
    assert (
        "the operator gets no answer at the endpoints of nodes 0-0, 0-1" in story.condition(ConditionType.CONFIGURATION_WARNING)[2]
    )
    assert len(story.kubernetes.writes) == writes
    story.outside.firewall = False
    story.settle(within=20)
    assert "no answer" not in story.condition(ConditionType.CONFIGURATION_WARNING)[2]
    story.assert_at_rest()


def test_names_are_announced_once_they_resolve():
    story = formed()
    story.access(**NODE_PORT, advertisedHost="{name}-{shard}-{node}.example.com", bootstrapHost="{name}.example.com")
    story.run(12)
    assert story.outside_is() == "WaitingForDNS"
    assert "orders-0-0.example.com does not resolve" in story.condition(ConditionType.EXTERNAL_ACCESS_READY)[2]
    assert "WaitingForDNS!" in story.events()
    assert announced_at(story) == {}
    for number, index in enumerate(NODES):
        assert announced_at(story) == {}
        story.outside.names[f"orders-{index}.example.com"] = f"192.0.2.1{number % 3 + 1}"
        story.run(2)
    story.run(4)
    assert story.told() == {index: (f"orders-{index}.example.com", port) for index, (_, port) in OUTSIDE.items()}
    assert story.condition(ConditionType.EXTERNAL_ACCESS_READY)[1:] == (
        "WaitingForDNS",
        (
            "orders.example.com does not resolve inside the Kubernetes cluster: make the DNS records A 192.0.2.11, A 192.0.2.12, A 192.0.2.13, "
            "or set spec.externalAccess.announceWhen to Always"
        ),
    )
    assert story.external.bootstrap is None
    story.outside.names["orders.example.com"] = "192.0.2.11"
    story.settle(within=10)
    assert story.external.bootstrap.addresses == ("orders.example.com:31199",)
    assert len(story.passes.done) < 200
    del story.outside.names["orders.example.com"]
    story.access(
        **NODE_PORT, advertisedHost="{name}-{shard}-{node}.example.com", bootstrapHost="{name}.example.com", drainSeconds=5
    )
    story.settle(within=10)
    assert story.external.bootstrap.addresses == ("orders.example.com:31199",)


def test_who_says_always_does_not_wait_for_names():
    story = formed()
    story.outside.firewall = True
    story.access(**NODE_PORT, advertisedHost="{name}-{shard}-{node}.example.com", announceWhen="Always")
    with story.witness.excused():
        story.run(10)
    assert story.told()[FIRST] == ("orders-0-0.example.com", 31200)
    assert story.outside_is() == "Ready"


@pytest.mark.parametrize("image", [image for image, version in IMAGES.items() if version < (9,)])
def test_below_9_0_nothing_is_announced_and_nothing_crashes(image):
    story = Story(image=image)
    story.settle()
    before = story.told()
    story.access(**NODE_PORT)
    story.run(5)
    assert story.condition(ConditionType.EXTERNAL_ACCESS_READY)[1:] == (
        "UnsupportedValkeyVersion",
        "; ".join(
            f"node {index} runs Valkey 8.1.8, which cannot announce a port to clients: set spec.image to Valkey 9.0 or newer"
            for index in NODES
        ),
    )
    assert "UnsupportedValkeyVersion!" in story.events()
    assert story.told() == before
    for index in NODES[:2]:
        story.pods.restart_container(index)
        story.run(5)
    assert story.status.state is State.READY
    assert story.starts() == 6


def test_9_0_is_new_enough():
    story = Story(image="docker.io/valkey/valkey:9.0.0", externalAccess=NODE_PORT)
    story.settle()
    assert story.told() == OUTSIDE


def test_without_a_service_over_all_shards():
    story = formed()
    access = {"enabled": True, "type": "NodePort", "bootstrapService": False}
    story.access(**access)
    story.settle()
    assert story.external.ready
    assert story.external.bootstrap is None
    assert story.node_ports().keys() == {"orders-0", "orders-1", "orders-2"}


def test_applications_are_told_where_to_begin_outside_once_it_works():
    story = reached()
    (secret,) = [wanted for kind, wanted in story.kubernetes.objects.items() if kind.__name__ == "ConnectionSecret"]
    assert secret.external == ("192.0.2.11:31199", "192.0.2.12:31199", "192.0.2.13:31199")


def test_another_operator_finds_nothing_to_do():
    story = reached()
    story.passes = Passes(story.world)
    before = (len(story.kubernetes.writes), len(story.witness.commands))
    story.run(0.1)
    assert len(story.passes.done) == 1
    assert (len(story.kubernetes.writes), len(story.witness.commands)) == before
    story.assert_at_rest()


def test_a_server_that_is_silent_when_node_ports_come_holds_them_up_and_is_told_when_it_is_back():
    story = formed()
    story.world.silent.add(FIRST)
    story.access(**NODE_PORT)
    story.run(8)
    assert announced_at(story) == {}
    assert not any(isinstance(action, Announce) for action in story.passes.done[-1].plan.actions)
    story.world.silent.clear()
    story.settle()
    assert story.told() == OUTSIDE
