from dataclasses import replace

from unit.core.edits import promoted, recorded, silent
from unit.core.given import NODES, observed, service
from unit.core.routed import BY_PORT, PORTS, PUBLIC, by_name, by_port, gateway, named, ported, route, routing, services
from valkey_operator.core import sni
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import AllocatedPort, Announcement

P0, R0, *_ = NODES
SHARD_PORT = AllocatedPort("sni-shard", 6380, None, 6379)
BY_NODE = {"type": "Ingress", "advertisedHost": "{name}-{shard}-{node}.example.com"}
BY_SHARD = {"type": "Ingress", "advertisedHost": "{name}-{shard}.example.com"}


def shown(access):
    return {
        each.name: (each.type, [(port.name, port.port, port.target) for port in each.ports], dict(each.selector))
        for each in sni.services(observed(access))
    }


def test_each_node_has_a_service_behind_its_host():
    services = shown(BY_NODE)
    assert services["orders-2-1"] == (
        "ClusterIP",
        [("sni-1", 6380, 6379)],
        {"valkey.io/shard-index": "2", "valkey.io/node-index": "1"},
    )
    assert services["orders"] == ("ClusterIP", [("sni-bootstrap", 6380, 6379)], {"valkey.io/serving": "true"})
    assert len(services) == 3 + 6 + 1


def test_a_shards_service_leads_to_its_primary():
    services = shown(BY_SHARD)
    assert services["orders-0"] == (
        "ClusterIP",
        [("sni-shard", 6380, 6379)],
        {"valkey.io/shard-index": "0", "valkey.io/node-index": "0"},
    )
    assert len(services) == 3 + 1


def selected(seen):
    return next(sni.services(seen)).selector["valkey.io/node-index"]


def test_after_a_failover_it_leads_to_the_new_primary():
    assert selected(promoted(observed(BY_SHARD), R0, over=P0)) == "1"


def test_while_nobody_says_who_is_primary_it_leads_where_it_led():
    seen = silent(observed(BY_SHARD), P0, R0)
    assert selected(seen) == "0"
    assert selected(recorded(recorded(seen, P0, role="replica"), R0, role="primary")) == "1"
    assert selected(replace(seen, records={})) == "0"


def test_a_shards_service_leads_to_a_node_by_its_selector_or_by_its_port():
    by_selector = service("orders-0", SHARD_PORT, selector={"valkey.io/shard-index": "0", "valkey.io/node-index": "1"})
    assert [sni.leads_to(by_selector, index) for index in (P0, R0)] == [False, True]
    np = AllocatedPort("np-0", 6379, 31200, "valkey-0-0")
    by_port = service("orders-0", np, replace(SHARD_PORT, target="valkey-0-1"), selector={"valkey.io/shard-index": "0"})
    assert [sni.leads_to(by_port, index) for index in (P0, R0)] == [False, True]


def test_an_endpoint_is_the_nodes_host_at_the_advertised_port():
    live = service("orders-1-1", AllocatedPort("sni-1", 7443, None), kind="node", type_="ClusterIP")
    endpoints = sni.endpoints(observed({**BY_NODE, "advertisedPort": 7443}, live))
    assert endpoints[NodeIndex(1, 1)] == Announcement("orders-1-1.example.com", 7443)


def test_nothing_is_an_endpoint_before_its_service_is_there():
    endpoint = sni.endpoints(observed(BY_NODE))[NodeIndex(1, 1)]
    assert (endpoint.reason, endpoint.message) == ("AllocatingPorts", "Service orders-1-1 does not have port 6380 yet")


def test_a_service_that_is_being_deleted_is_named():
    live = service("orders-1-1", AllocatedPort("sni-1", 6380, None), kind="node", type_="ClusterIP", deleting=True)
    assert sni.endpoints(observed(BY_NODE, live))[NodeIndex(1, 1)].message == (
        "Service orders-1-1 is being deleted and is made anew once it is gone: while it stays, its metadata.finalizers name who holds it"
    )


def test_a_port_that_leads_there_already_serves_whatever_it_was_made_for():
    live = service("orders-1-1", AllocatedPort("lb-1", 6380, 30001, "valkey-1-1"), kind="node", type_="LoadBalancer")
    assert sni.endpoints(observed(BY_NODE, live))[NodeIndex(1, 1)] == Announcement("orders-1-1.example.com", 6380)
    balancer = service("orders", AllocatedPort("lb-bootstrap", 6380, 30002, 6379), kind="bootstrap", type_="LoadBalancer")
    hosted = {**BY_NODE, "bootstrapHost": "{name}.example.com"}
    assert sni.bootstrap(observed(hosted, balancer)) == ("orders.example.com:6380",)


def test_a_port_of_somebody_else_is_no_endpoint():
    mine = AllocatedPort("mine", 7777, None, 6379)
    access = {**BY_NODE, "advertisedPort": 7777}
    node = service("orders-1-1", AllocatedPort("sni-1", 6380, None, 6379), mine, kind="node", type_="ClusterIP")
    endpoint = sni.endpoints(observed(access, node))[NodeIndex(1, 1)]
    assert (endpoint.reason, endpoint.message) == (
        "ServiceConflict",
        "port 7777 of Service orders-1-1 is mine, which somebody else put there: remove it, or set another spec.externalAccess.advertisedPort",
    )
    everywhere = service("orders", AllocatedPort("sni-bootstrap", 6380, None, 6379), mine, kind="bootstrap", type_="ClusterIP")
    assert sni.bootstrap(observed({**access, "bootstrapHost": "orders.example.com"}, everywhere)) == ()


def test_a_shards_port_that_leads_to_one_node_is_not_the_shards_endpoint():
    live = service("orders-1", AllocatedPort("lb-0", 6380, 30001, "valkey-1-0"), type_="LoadBalancer")
    endpoint = sni.endpoints(observed(BY_SHARD, live))[NodeIndex(1, 1)]
    assert endpoint.reason == "AllocatingPorts"
    assert endpoint.message == (
        "port 6380 of Service orders-1 leads to one node, for clients with endpoints of before: set another spec.externalAccess.advertisedPort"
    )


def test_all_nodes_of_a_shard_have_the_shards_endpoint_where_hosts_do_not_tell_them_apart():
    live = service("orders-1", AllocatedPort("sni-shard", 6380, None), type_="ClusterIP")
    endpoints = sni.endpoints(observed(BY_SHARD, live))
    assert endpoints[NodeIndex(1, 0)] == endpoints[NodeIndex(1, 1)] == Announcement("orders-1.example.com", 6380)


def test_clients_begin_at_the_bootstrap_host_or_at_any_shard():
    live = service("orders", AllocatedPort("sni-bootstrap", 6380, None, 6379), kind="bootstrap", type_="ClusterIP")
    assert sni.bootstrap(observed({**BY_NODE, "bootstrapHost": "{name}.example.com"}, live)) == ("orders.example.com:6380",)
    assert sni.bootstrap(observed(BY_NODE, live)) == (
        "orders-0-0.example.com:6380",
        "orders-1-0.example.com:6380",
        "orders-2-0.example.com:6380",
    )


# --- where ports tell nodes apart ---


def test_by_port_each_node_has_a_service_at_its_listeners_port():
    seen = observed(BY_PORT, routing=routing())
    found = {each.name: [(port.name, port.port, port.target) for port in each.ports] for each in sni.services(seen)}
    assert found == {
        "orders-0": [("tcp-shard", 6380, 6379)],
        "orders-1": [("tcp-shard", 6380, 6379)],
        "orders-2": [("tcp-shard", 6380, 6379)],
        "orders-0-0": [("tcp-0", 6381, 6379)],
        "orders-0-1": [("tcp-1", 6382, 6379)],
        "orders-1-0": [("tcp-0", 6383, 6379)],
        "orders-1-1": [("tcp-1", 6384, 6379)],
        "orders-2-0": [("tcp-0", 6385, 6379)],
        "orders-2-1": [("tcp-1", 6386, 6379)],
        "orders": [("tcp-bootstrap", 6380, 6379)],
    }


def test_by_port_a_number_that_changes_gets_a_name_of_its_own():
    seen = ported(*by_port({**PORTS, "orders-0-0": 7000}))
    service = next(each for each in sni.services(seen) if each.name == "orders-0-0")
    assert [(port.name, port.port) for port in service.ports] == [("tcp-0-p7000", 7000)]


def test_by_port_an_endpoint_is_the_gateways_address_at_the_nodes_listener():
    endpoints = sni.endpoints(ported())
    assert endpoints == {
        NodeIndex(0, 0): Announcement("198.51.100.7", 6381, "198.51.100.7"),
        NodeIndex(0, 1): Announcement("198.51.100.7", 6382, "198.51.100.7"),
        NodeIndex(1, 0): Announcement("198.51.100.7", 6383, "198.51.100.7"),
        NodeIndex(1, 1): Announcement("198.51.100.7", 6384, "198.51.100.7"),
        NodeIndex(2, 0): Announcement("198.51.100.7", 6385, "198.51.100.7"),
        NodeIndex(2, 1): Announcement("198.51.100.7", 6386, "198.51.100.7"),
    }
    assert sni.bootstrap(ported()) == ("198.51.100.7:6380",)


def test_by_port_a_name_may_lead_to_the_gateway():
    seen = ported(access={"advertisedHost": "valkey.example.com"})
    assert sni.endpoints(seen)[P0] == Announcement("valkey.example.com", 6381, "198.51.100.7")
    assert sni.bootstrap(seen) == ("valkey.example.com:6380",)
    begin = ported(access={"advertisedHost": "valkey.example.com", "bootstrapHost": "{name}.example.com"})
    assert sni.bootstrap(begin) == ("orders.example.com:6380",)


def addressed(*addresses):
    return routing(*by_port(), gateways={PUBLIC: gateway(*PORTS.values(), addresses=addresses)})


def test_by_port_a_gateway_without_an_address_needs_a_name():
    nowhere = ported(routing=addressed())
    missing = sni.endpoints(nowhere)[P0]
    assert (missing.reason, missing.message) == (
        "RouteNotAccepted",
        "Gateway gateways/public has no address in its status: wait for it, or set spec.externalAccess.advertisedHost",
    )
    assert sni.bootstrap(nowhere) == ()
    named = ported(access={"advertisedHost": "valkey.example.com"}, routing=addressed())
    assert sni.endpoints(named)[P0] == Announcement("valkey.example.com", 6381)


def test_by_port_a_gateway_may_have_a_name_for_an_address():
    assert sni.endpoints(ported(routing=addressed("gateway.example.com")))[P0] == Announcement("gateway.example.com", 6381)
    both = sni.endpoints(ported(routing=addressed("gateway.example.com", "2001:db8::7", "198.51.100.7")))[P0]
    assert both == Announcement("198.51.100.7", 6381, "198.51.100.7", "2001:db8::7")
    assert sni.endpoints(ported(routing=addressed("2001:db8::7")))[P0].reason == "NodeAddressUnknown"


def test_by_port_nothing_is_an_endpoint_before_its_service_has_the_port():
    seen = observed(BY_PORT, *services("tcp"), routing=routing(*by_port()))
    missing = sni.endpoints(seen)[NodeIndex(2, 1)]
    assert (missing.reason, missing.message) == ("AllocatingPorts", "Service orders-2-1 does not have port 6386 yet")
    assert sni.bootstrap(observed(BY_PORT, routing=routing(*by_port()))) == ()


# --- with routes ---


def without(routes, name):
    return tuple(route for route in routes if route.name != name)


def test_an_endpoint_needs_its_own_route():
    for seen in (named(*without(by_name(), "orders-0-1")), ported(*without(by_port(), "orders-0-1"))):
        endpoints = sni.endpoints(seen)
        assert {index for index, found in endpoints.items() if not isinstance(found, Announcement)} == {NodeIndex(0, 1)}
        assert endpoints[NodeIndex(0, 1)].reason == "RouteNotAccepted"


def test_clients_begin_once_the_route_to_all_shards_is_accepted():
    assert sni.bootstrap(named()) == ("orders.example.com:6380",)
    assert sni.bootstrap(named(*without(by_name(), "orders"))) == ()
    assert sni.bootstrap(ported(*without(by_port(), "orders"))) == ()


def test_where_hosts_tell_shards_apart_all_nodes_of_one_need_its_route():
    shards = ("orders-0", "orders-2")
    seen = named(
        *(route("TLSRoute", name, f"{name}.example.com") for name in shards),
        access={"advertisedHost": "{name}-{shard}.example.com"},
    )
    endpoints = sni.endpoints(seen)
    assert endpoints[NodeIndex(2, 1)] == Announcement("orders-2.example.com", 6380)
    assert [endpoints[NodeIndex(1, node)].message for node in (0, 1)] == ["TLSRoute orders-1 is not there yet"] * 2


def test_the_port_of_a_shard_is_its_primarys_by_whatever_name():
    there = service("orders-0", AllocatedPort("tcp-shard", 6380, None, 6379), type_="ClusterIP")
    found = sni.endpoints(observed({"type": "Ingress", "advertisedHost": "{shard}.example.com"}, there))
    assert found[NodeIndex(0, 0)] == Announcement("0.example.com", 6380)
    by_its_port = replace(there, ports=(AllocatedPort("tcp-shard", 6380, None, "valkey-0-1"),))
    assert [sni.leads_to(by_its_port, NodeIndex(0, node)) for node in (0, 1)] == [False, True]
