from dataclasses import replace

from unit.core.edits import promoted, silent
from unit.core.given import NODES, observed, service
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
    record = seen.records[R0]
    was_primary = replace(record, status=record.status.model_copy(update={"role": "primary"}))
    assert selected(replace(seen, records={R0: was_primary})) == "1"
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


def test_a_port_that_leads_there_already_serves_whatever_it_was_made_for():
    live = service("orders-1-1", AllocatedPort("lb-1", 6380, 30001, "valkey-1-1"), kind="node", type_="LoadBalancer")
    assert sni.endpoints(observed(BY_NODE, live))[NodeIndex(1, 1)] == Announcement("orders-1-1.example.com", 6380)
    balancer = service("orders", AllocatedPort("lb-bootstrap", 6380, 30002, 6379), kind="bootstrap", type_="LoadBalancer")
    hosted = {**BY_NODE, "bootstrapHost": "{name}.example.com"}
    assert sni.bootstrap(observed(hosted, balancer)) == ("orders.example.com:6380",)


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
