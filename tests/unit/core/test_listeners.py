"""Routes by port: each node has a listener's port of its own, given once and kept."""

from dataclasses import replace

import pytest

from unit.core.given import observed
from unit.core.routed import BY_PORT, PARENT, PORTS, PUBLIC, by_port, gateway, other, route, routing, services
from valkey_operator.api.status import Bootstrap, ExternalAccessStatus
from valkey_operator.core.listeners import gateways, listener_ports, without_listener
from valkey_operator.core.observed import Announcement, Listener

OLDER, YOUNGER = "2026-03-01T10:59:59Z", "2026-03-01T11:00:01Z"


def given(*routes, access=None, **changed):
    """Nothing was told yet, and there are no Services."""
    return observed({**BY_PORT, **(access or {})}, routing=routing(*routes, **changed))


def ports(seen):
    return dict(listener_ports(seen))


def told(seen, ports, *, begin=None):
    """Nodes announce these ports, and the status tells where clients begin."""
    records = {
        index: replace(record, announce=Announcement("198.51.100.7", ports[f"orders-{index}"]))
        if f"orders-{index}" in ports
        else record
        for index, record in seen.records.items()
    }
    bootstrap = Bootstrap(service="orders", addresses=(f"198.51.100.7:{begin}",)) if begin else None
    status = seen.cluster.status.model_copy(
        update={"external_access": ExternalAccessStatus(type="Ingress", ready=True, bootstrap=bootstrap)}
    )
    return replace(seen, records=records, cluster=replace(seen.cluster, status=status))


# --- the first time ---


def test_all_shards_come_first_then_each_node_from_the_advertised_port_up():
    assert ports(given()) == PORTS
    assert ports(given(access={"advertisedPort": 7000})) == {name: port + 620 for name, port in PORTS.items()}


def test_without_a_service_of_all_shards_the_nodes_begin():
    assert list(ports(given(access={"bootstrapService": False})).items())[:2] == [("orders-0-0", 6380), ("orders-0-1", 6381)]


def test_ports_of_others_are_passed_over():
    found = ports(given(others=(other(6380), other(6382))))
    assert list(found.values()) == [6381, 6383, 6384, 6385, 6386, 6387, 6388]


def test_a_port_of_another_gateway_is_free():
    assert ports(given(others=(other(6380, of="private"),))) == PORTS


def test_another_route_may_name_its_listener():
    listening = replace(gateway(6380), listeners=(Listener("valkey", 6380, "TCP"), Listener("more", 6381, "TCP")))
    assert ports(given(others=(other(section="valkey"),), gateways={PUBLIC: listening}))["orders"] == 6381
    assert ports(given(others=(other(section="unknown"),), gateways={PUBLIC: listening}))["orders"] == 6380


def test_listeners_of_other_protocols_are_passed_over():
    listening = replace(gateway(), listeners=(Listener("web", 6380, "HTTPS"), Listener("sni", 6381, "TLS")))
    assert ports(given(gateways={PUBLIC: listening}))["orders"] == 6382


# --- for ever ---


def test_what_a_route_has_it_keeps():
    live = {"orders": 7000, "orders-0-0": 6399, "orders-2-1": 6380}
    assert ports(given(*by_port(live))) == {
        "orders": 7000,
        "orders-0-0": 6399,
        "orders-0-1": 6381,
        "orders-1-0": 6382,
        "orders-1-1": 6383,
        "orders-2-0": 6384,
        "orders-2-1": 6380,
    }


def test_another_advertised_port_moves_nobody():
    assert ports(given(*by_port(), access={"advertisedPort": 7000})) == PORTS


def test_routes_of_another_kind_or_to_another_gateway_have_no_port_here():
    elsewhere = replace(route("TCPRoute", "orders", port=7000), parents=other(7000, of="private").parents)
    assert ports(given(elsewhere)) == PORTS
    assert ports(given(route("TLSRoute", "orders", port=7000))) == PORTS


def test_a_younger_route_moves_on_before_anybody_was_told():
    seen = given(*by_port(), others=(other(6381, created=OLDER),))
    assert ports(seen) == {**PORTS, "orders-0-0": 6387}


def test_of_two_of_the_same_age_the_first_by_name_stays():
    same = other(6381, created="2026-03-01T11:00:00Z")
    assert ports(given(*by_port(), others=(same,)))["orders-0-0"] == 6387
    assert ports(given(*by_port(), others=(replace(same, namespace="zoo"),))) == PORTS


def test_a_route_that_was_there_first_stays():
    assert ports(given(*by_port(), others=(other(6381, created=YOUNGER),))) == PORTS


def test_a_listener_of_another_protocol_was_there_before_any_route():
    listening = replace(gateway(), listeners=(Listener("web", 6381, "HTTPS"),))
    assert ports(given(*by_port(), gateways={PUBLIC: listening})) == {**PORTS, "orders-0-0": 6387}


def test_once_clients_were_told_nobody_moves_on():
    older = (other(6380, created=OLDER), other(6381, created=OLDER))
    assert ports(told(given(*by_port(), others=older), PORTS, begin=6380)) == PORTS


def test_what_was_told_of_one_node_does_not_keep_another_on_its_port():
    seen = told(given(*by_port(), others=(other(6381, created=OLDER),)), {"orders-1-0": 6381})
    assert ports(seen)["orders-0-0"] == 6387


def test_a_route_that_somebody_deleted_comes_back_at_the_port_that_was_told():
    live = {"orders": 6390, "orders-0-0": 6395}
    there = services("tcp", live)
    seen = told(observed(BY_PORT, *there, routing=routing()), live, begin=6390)
    assert {name: ports(seen)[name] for name in live} == live
    gone = told(observed(BY_PORT, *there, routing=routing(*by_port(live, deleting=True))), live, begin=6390)
    assert {name: ports(gone)[name] for name in live} == live


def test_it_does_not_where_somebody_took_it_meanwhile():
    live = {"orders-0-0": 6395}
    seen = told(observed(BY_PORT, *services("tcp", live), routing=routing(others=(other(6395),))), live)
    assert ports(seen)["orders-0-0"] == 6381


def test_a_port_that_was_told_of_another_kind_of_access_is_none_of_a_listener():
    seen = told(observed(BY_PORT, *services("sni", {"orders-0-0": 6395}), routing=routing()), {"orders-0-0": 6395})
    assert ports(seen) == PORTS


def test_no_port_is_given_twice():
    seen = given(*by_port({"orders-2-1": 6382}), others=(other(6381), other(6384)))
    assert sorted(ports(seen).values()) == [6380, 6382, 6383, 6385, 6386, 6387, 6388]


# --- listeners ---


@pytest.mark.parametrize(
    ("listening", "missing"),
    [
        (gateway(*range(6380, 6387)), ()),
        (gateway(6380, 6381, 6383), (6382, 6384, 6385, 6386)),
        (gateway(*range(6380, 6387), protocol="HTTPS"), (6387, 6388, 6389, 6390, 6391, 6392, 6393)),
    ],
)
def test_listeners_that_are_missing_are_told_by_port(listening, missing):
    assert without_listener(given(gateways={PUBLIC: listening}), PUBLIC) == missing


def test_a_gateway_that_is_not_there_listens_nowhere():
    assert without_listener(given(gateways={}), PUBLIC) == tuple(PORTS.values())


def test_a_gateway_is_in_the_clusters_namespace_unless_it_says_another_and_counts_once():
    parents = [{"name": "own"}, PARENT, PARENT]
    access = {**BY_PORT, "routes": {"kind": "TCPRoute", "parentRefs": parents}}
    assert gateways(observed(access, answering=False).cluster) == ("shop/own", "gateways/public")
    assert gateways(observed({"type": "NodePort"}).cluster) == ()
