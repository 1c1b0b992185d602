from ipaddress import IPv4Address, IPv6Address

import pytest

from sandbox.addresses import Addresses
from sandbox.balancing import ServiceView, Wish, decide, wish

NODES = {
    "node-1": Addresses(IPv4Address("198.18.0.11"), IPv6Address("2001:2::11")),
    "node-2": Addresses(IPv4Address("198.18.0.12"), IPv6Address("2001:2::12")),
    "node-3": Addresses(IPv4Address("198.18.0.13"), IPv6Address("2001:2::13")),
}


def service(name="web", **values):
    return ServiceView(**{"namespace": "default", "name": name, "wish": Wish(), **values})


def vip(*addresses):
    return tuple({"ip": address, "ipMode": "VIP"} for address in addresses)


def given(*services, nodes=NODES, endpoints=None):
    decision = decide(services, nodes=nodes, endpoints=endpoints or {})
    return {name: ingress for (_, name), ingress in decision.ingress.items()}


def test_reads_a_wish_from_annotations():
    annotations = {
        "sandbox.valkey.io/delay": "2.5",
        "sandbox.valkey.io/give": "both",
        "sandbox.valkey.io/address": "198.18.100.9, a.example",
        "other": "x",
    }

    assert wish(annotations) == Wish(delay=2.5, give="both", count=2, addresses=("198.18.100.9", "a.example"))


def test_nothing_asked_means_one_address_at_once():
    assert wish({}) == Wish(delay=0.0, give="ip", count=1, addresses=())


def test_the_old_field_of_a_service_counts_as_asking():
    assert wish({}, requested="198.18.100.4").addresses == ("198.18.100.4",)


@pytest.mark.parametrize(
    ("annotation", "value", "complaint"),
    [
        ("give", "pony", "sandbox.valkey.io/give is 'pony', not one of ip, hostname, both, none"),
        ("delay", "soon", "sandbox.valkey.io/delay is 'soon', not a number of seconds"),
        ("count", "many", "sandbox.valkey.io/count is 'many', not a number"),
    ],
)
def test_a_wish_that_cannot_be_understood_is_named(annotation, value, complaint):
    with pytest.raises(ValueError) as told:  # noqa: PT011 -- the whole message is compared
        wish({f"sandbox.valkey.io/{annotation}": value})

    assert str(told.value) == complaint


def test_gives_the_lowest_free_addresses_of_the_pool():
    held = service("held", ingress=vip("198.18.100.1"))

    assert given(held, service("new"), service("more", wish=Wish(count=2))) == {
        "more": vip("198.18.100.2", "198.18.100.3"),
        "new": vip("198.18.100.4"),
    }


def test_gives_addresses_of_each_family_that_the_service_has_in_its_order():
    assert given(
        service("dual", families=("IPv4", "IPv6"), wish=Wish(count=2)),
        service("six", families=("IPv6",)),
        service("six-first", families=("IPv6", "IPv4")),
    ) == {
        "dual": vip("198.18.100.1", "198.18.100.2", "2001:2:0:100::1", "2001:2:0:100::2"),
        "six": vip("2001:2:0:100::3"),
        "six-first": vip("2001:2:0:100::4", "198.18.100.3"),
    }


def test_a_second_family_is_added_and_taken_away_beside_what_stays():
    assert given(service(ingress=vip("198.18.100.7"), families=("IPv4", "IPv6"))) == {"web": vip("198.18.100.7", "2001:2:0:100::1")}
    assert given(service(ingress=vip("198.18.100.7", "2001:2:0:100::1"))) == {"web": vip("198.18.100.7")}


def test_an_address_is_routed_to_a_nodes_address_of_the_same_family():
    dual = service(ingress=vip("198.18.100.7", "2001:2:0:100::7"), families=("IPv4", "IPv6"))

    routes = decide([dual], nodes={"node-2": NODES["node-2"]}, endpoints={}).routes

    assert routes == {
        IPv4Address("198.18.100.7"): IPv4Address("198.18.0.12"),
        IPv6Address("2001:2:0:100::7"): IPv6Address("2001:2::12"),
    }


def test_an_address_once_given_stays():
    assert given(service(ingress=vip("198.18.100.7"))) == {}


def test_more_and_fewer_addresses_keep_those_that_can_stay():
    assert given(service(ingress=vip("198.18.100.7"), wish=Wish(count=2))) == {"web": vip("198.18.100.7", "198.18.100.1")}
    assert given(service(ingress=vip("198.18.100.7", "198.18.100.8"))) == {"web": vip("198.18.100.7")}


def test_a_named_address_replaces_the_present_one():
    assert given(service(ingress=vip("198.18.100.7"), wish=Wish(addresses=("198.18.100.50",)))) == {"web": vip("198.18.100.50")}


def test_withdraws_when_asked_for_none_or_when_no_load_balancer_is_wanted_any_more():
    assert given(service(ingress=vip("198.18.100.7"), wish=Wish(give="none"))) == {"web": ()}
    assert given(service(ingress=vip("198.18.100.7"), wish=None)) == {"web": ()}
    assert given(service(wish=None)) == {}


def test_host_names_alone_or_together_with_addresses():
    assert given(service(wish=Wish(give="hostname", count=2))) == {
        "web": ({"hostname": "web.default.lb.sandbox"}, {"hostname": "web-1.default.lb.sandbox"})
    }
    assert given(service(wish=Wish(give="both", addresses=("198.18.100.9", "a.example")))) == {
        "web": ({"ip": "198.18.100.9", "ipMode": "VIP", "hostname": "a.example"},)
    }


def test_a_delay_keeps_what_is_there_and_says_when_to_look_again():
    waiting = service(wish=Wish(delay=5), waited=3.5)
    changing = service("old", ingress=vip("198.18.100.7"), wish=Wish(delay=9, addresses=("198.18.100.8",)), waited=1)

    decision = decide([waiting, changing], nodes=NODES, endpoints={})

    assert decision.ingress == {}
    assert decision.look_again == 1.5
    assert list(decision.routes) == [IPv4Address("198.18.100.7")]


def test_every_address_is_routed_to_a_ready_node_and_moves_only_when_that_is_lost():
    services = [service(f"web-{number}", ingress=vip(f"198.18.100.{number}")) for number in range(1, 30)]
    before = decide(services, nodes=NODES, endpoints={}).routes
    after = decide(services, nodes={name: address for name, address in NODES.items() if name != "node-2"}, endpoints={}).routes

    assert set(before.values()) == {node.ipv4 for node in NODES.values()}
    moved = {address for address in before if before[address] != after[address]}
    assert moved == {address for address, node in before.items() if node == NODES["node-2"].ipv4}


def test_local_traffic_is_routed_to_a_node_with_an_endpoint_or_to_none():
    local = service(ingress=vip("198.18.100.7"), is_local=True)

    for name, node in NODES.items():
        routes = decide([local], nodes=NODES, endpoints={("default", "web"): frozenset({name})}).routes
        assert routes == {IPv4Address("198.18.100.7"): node.ipv4}
    assert decide([local], nodes=NODES, endpoints={}).routes == {}
