"""Numbers that never move, and hosts that follow."""

import pytest

from scenario.story import NODE_PORT, NODES, formed, reached
from scenario.test_enabling import OUTSIDE, PREFERRED
from valkey_operator.api.conditions import ConditionType, State
from valkey_operator.core.names import NodeIndex

FIRST = NodeIndex(0, 0)


def test_a_preferred_port_that_is_taken_is_replaced_for_ever_and_said():
    story = formed()
    story.services.taken |= {31200, 31199}
    story.access(**NODE_PORT)
    story.settle()
    given = story.node_ports()
    assert given["orders-0"]["np-1"] == 31300
    other, bootstrap = given["orders-0"]["np-0"], given["orders"]["np-bootstrap"]
    assert other not in (31200, 31199)
    story.witness.assert_announced()
    warning = story.condition(ConditionType.CONFIGURATION_WARNING)[2]
    assert f"31200 of node 0-0 (it has {other})" in warning
    assert (
        f"node port 31199 asked for by spec.externalAccess.nodePort.bootstrapPort was taken or is outside the API server's range; {bootstrap} is kept for ever"
        in warning
    )
    assert [event for event in story.events() if event in ("PreferredPortTaken!", "MultipleWarnings!")]
    story.services.taken.clear()
    story.kubernetes.change()
    story.run(0.1)
    story.assert_at_rest()
    assert story.node_ports() == given


def test_a_port_outside_the_range_of_the_api_server_is_replaced():
    story = formed()
    story.access(enabled=True, type="NodePort", nodePort={"startPort": 8000})
    story.settle()
    assert all(number in range(30000, 32768) for ports in story.node_ports().values() for number in ports.values())
    assert "8000 of node 0-0" in story.condition(ConditionType.CONFIGURATION_WARNING)[2]


def test_ports_do_not_move_when_another_first_port_is_preferred():
    story = reached()
    story.access(**{**NODE_PORT, "nodePort": {"startPort": 32000}})
    story.settle()
    assert story.node_ports() == PREFERRED
    assert story.told() == OUTSIDE


def test_two_clusters_worth_of_taken_ports_give_everybody_a_port_of_its_own():
    story = formed()
    story.services.taken |= set(range(31199, 31400))
    story.access(**NODE_PORT)
    story.settle()
    numbers = [number for ports in story.node_ports().values() for number in ports.values()]
    assert len(set(numbers)) == len(numbers) == 7
    story.witness.assert_announced()


@pytest.mark.parametrize("lingers", [0.0, 3.0])
@pytest.mark.parametrize("name", ["orders-1", "orders"])
def test_a_service_that_somebody_deleted_comes_back_with_its_numbers(name, lingers):
    story = formed()
    story.services.taken |= {31201, 31199}
    story.access(**NODE_PORT)
    story.settle()
    given, told = story.node_ports(), story.told()
    story.services.taken.clear()
    with story.witness.excused():
        story.services.delete(name, lingers=lingers)
        story.run(lingers + 2)
    story.settle()
    assert story.node_ports() == given
    assert story.told() == told
    story.witness.assert_announced()


def test_a_number_that_somebody_took_while_a_service_was_away_is_replaced_and_announced():
    story = reached()
    with story.witness.excused():
        story.services.delete("orders-1")
        story.services.taken.add(31201)
        story.run(3)
    story.settle()
    moved = story.node_ports()["orders-1"]["np-0"]
    assert moved != 31201
    assert story.told() == {**OUTSIDE, NodeIndex(1, 0): ("192.0.2.12", moved)}


def test_the_number_of_the_bootstrap_service_survives_passes_that_cannot_make_it():
    story = formed()
    story.services.taken.add(31199)
    story.access(**NODE_PORT)
    story.settle()
    given = story.node_ports()
    story.services.taken.clear()
    story.services.delete("orders")
    story.services.foreign.add("orders")  # whatever keeps it from being made: a quota, a webhook
    story.run(10)
    assert not story.external.ready
    story.services.foreign.clear()
    story.settle()
    assert story.node_ports() == given


@pytest.mark.parametrize("seed", range(2))
def test_a_host_follows_its_pod_to_another_machine(seed):
    story = reached(seed)
    story.pods.cordoned.add("m1")
    story.pods.delete(FIRST)
    story.run(0.1)
    story.settle()
    assert story.pods.live[FIRST].machine == "m2"
    assert story.told() == {**OUTSIDE, FIRST: ("192.0.2.12", 31200)}
    story.witness.assert_announced()


def test_a_machine_that_gets_another_address_is_announced_there_once_it_answers():
    story = reached()
    with story.witness.excused():
        story.outside.give("m1", ("InternalIP", "192.0.2.77"))
        story.run(3)
    assert story.told() == {**OUTSIDE, FIRST: ("192.0.2.77", 31200), NodeIndex(2, 1): ("192.0.2.77", 31302)}
    story.settle()
    story.witness.assert_announced()
    assert story.external.bootstrap.addresses[0] == "192.0.2.77:31199"


def test_an_address_that_does_not_answer_yet_is_not_announced():
    """The old one may still work; the witness would see a new pair that cannot be dialled."""
    story = reached()
    story.outside.give("m1", ("InternalIP", "192.0.2.77"), ("InternalIP", "192.0.2.11"))
    story.run(5)
    story.settle()
    assert story.told()[FIRST] == ("192.0.2.77", 31200)


def test_outside_addresses_are_announced_when_all_machines_have_one():
    story = reached()
    for number, name in enumerate(("m1", "m2"), start=1):
        story.outside.give(name, ("InternalIP", f"192.0.2.1{number}"), ("ExternalIP", f"203.0.113.{number}"))
    story.run(3)
    assert story.told() == OUTSIDE
    story.outside.give("m3", ("InternalIP", "192.0.2.13"), ("ExternalIP", "203.0.113.3"))
    story.run(3)
    story.settle()
    assert story.told()[FIRST] == ("203.0.113.1", 31200)
    story.witness.assert_announced()


def test_an_operator_that_may_not_read_machines_knows_them_by_their_pods():
    story = formed()
    story.world.may_read_machines = False
    story.access(**NODE_PORT)
    story.settle()
    assert story.told() == OUTSIDE


def test_an_operator_that_may_not_read_machines_says_what_it_needs():
    story = formed()
    story.world.may_read_machines = False
    story.access(**{**NODE_PORT, "nodePort": {"addressType": ["ExternalIP"]}})
    story.run(10)
    assert story.outside_is() == "NodeAddressUnknown"
    assert "allow it to get, list and watch nodes" in story.condition(ConditionType.EXTERNAL_ACCESS_READY)[2]
    story.world.may_read_machines = True
    for name, address in (("m1", "203.0.113.1"), ("m2", "203.0.113.2"), ("m3", "203.0.113.3")):
        story.outside.give(name, ("ExternalIP", address))
    story.settle()
    assert story.told()[FIRST] == ("203.0.113.1", next(iter(story.node_ports()["orders-0"].values())))


def test_machines_without_an_address_type_in_common_are_told_and_nothing_is_announced():
    story = formed()
    before = story.told()
    story.outside.give("m1", ("ExternalIP", "203.0.113.1"))
    story.access(**NODE_PORT)
    story.run(10)
    assert story.condition(ConditionType.EXTERNAL_ACCESS_READY)[1:] == (
        "NodeAddressUnknown",
        (
            "Kubernetes nodes m1, m2, m3 have no address type of ExternalIP, InternalIP in common: "
            "set spec.externalAccess.nodePort.addressType to a type that all of them have, or spec.externalAccess.advertisedHost"
        ),
    )
    assert "NodeAddressUnknown!" in story.events()
    assert (story.status.state, story.told()) == (State.READY, before)
    story.outside.give("m1", ("ExternalIP", "203.0.113.1"), ("InternalIP", "192.0.2.11"))
    story.settle()
    assert story.told() == OUTSIDE


def test_a_machine_that_loses_its_address_stays_announced():
    story = reached()
    with story.witness.excused():
        story.outside.give("m1", ("Hostname", "m1"))
        story.run(20)
        assert story.outside_is() == "NodeAddressUnknown"
        assert story.told() == OUTSIDE
        story.outside.give("m1", ("InternalIP", "192.0.2.11"))
        story.run(2)
    story.settle()
    assert story.told() == OUTSIDE


def test_with_local_traffic_only_the_pods_own_machine_is_announced():
    story = formed()
    story.access(**NODE_PORT, externalTrafficPolicy="Local")
    story.settle()
    story.pods.cordoned.add("m1")
    with story.witness.excused():
        story.pods.delete(FIRST)
        story.run(5)
    story.settle()
    story.witness.assert_announced()


def test_replaced_pods_keep_their_ports():
    story = reached()
    for index in NODES:
        story.pods.kill(index)
        story.run(0.1)
        story.settle()
    assert story.node_ports() == PREFERRED
    assert story.told() == OUTSIDE
    assert all(len(numbers) == 1 for numbers in story.services.allocations.values())


def families(story):
    return {live.families for live in story.services.live.values()}


def told_beside(story):
    """The addresses that the first node announces beside its host."""
    config = story.process(FIRST).config
    return config["cluster-announce-client-ipv4"], config["cluster-announce-client-ipv6"]


def test_a_second_family_is_told_beside_and_goes_when_clients_have_forgotten_it():
    story = reached()
    for number in (1, 2, 3):
        story.outside.give(f"m{number}", ("InternalIP", f"192.0.2.1{number}"), ("InternalIP", f"2001:db8::{number}"))
    story.run(3)
    assert (families(story), told_beside(story)) == ({("IPv4",)}, ("192.0.2.11", ""))

    story.access(**NODE_PORT, ipFamilies=["IPv6", "IPv4"], drainSeconds=5)
    story.settle()
    assert (families(story), told_beside(story)) == ({("IPv4", "IPv6")}, ("192.0.2.11", "2001:db8::1"))

    story.access(**NODE_PORT, ipFamilies=["IPv4"], drainSeconds=5)
    story.run(3)
    assert (families(story), told_beside(story)) == ({("IPv4", "IPv6")}, ("192.0.2.11", ""))
    story.settle()
    assert families(story) == {("IPv4",)}
    assert story.told() == OUTSIDE
    story.witness.assert_announced()


def test_a_first_family_that_is_not_wanted_any_more_is_told_and_everything_stays_announced():
    story = reached()
    story.access(**NODE_PORT, ipFamilies=["IPv6"])
    story.run(10)
    assert story.outside_is() == "ServiceConflict"
    assert "add IPv4 to spec.externalAccess.ipFamilies" in story.condition(ConditionType.EXTERNAL_ACCESS_READY)[2]
    assert (families(story), story.told(), story.status.state) == ({("IPv4",)}, OUTSIDE, State.READY)
    story.access(**NODE_PORT)
    story.settle()
    assert story.told() == OUTSIDE
