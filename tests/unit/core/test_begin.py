from dataclasses import replace

import pytest

from unit.core.given import NODES, NOW, balancer, observed, pod, service
from unit.core.routed import BY_NAME, named, ported
from unit.core.test_access import NAMED, OUTSIDE, SERVICES, TYPE
from valkey_operator.api.conditions import Reason
from valkey_operator.api.status import Bootstrap, ExternalAccessStatus
from valkey_operator.core.begin import addresses, obstacle
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import AllocatedPort, Announcement, Balancing
from valkey_operator.core.outside import outside
from valkey_operator.core.topology import Topology

HOST = "orders.example.com"
BEGUN = {**TYPE, "bootstrapHost": "{name}.example.com"}
ALL_SHARDS = service("orders", AllocatedPort("np-bootstrap", 30999, 30999), kind="bootstrap")
ALWAYS = {"announceWhen": "Always"}
BALANCED = {"type": "LoadBalancer", **ALWAYS}


def ports(*numbers, shard=0):
    return tuple(AllocatedPort(f"lb-{node}", number, None, f"valkey-{shard}-{node}") for node, number in enumerate(numbers))


SHARDS = [balancer(f"orders-{shard}", *ports(6380, 6381, shard=shard), ip=f"198.51.100.{shard}") for shard in range(3)]
OVER_ALL = balancer("orders", AllocatedPort("lb-bootstrap", 6380, None, 6379), ip="198.51.100.9", kind="bootstrap")


def begun(access=None, **changed):
    """Node ports that are announced at addresses, and a bootstrap host."""
    return observed({**BEGUN, **(access or {})}, *SERVICES, ALL_SHARDS, told=OUTSIDE, **changed)


def balanced(**access):
    return observed({**BALANCED, **access}, *SHARDS, OVER_ALL)


def last(seen, *told):
    """Where clients begin by the status."""
    status = ExternalAccessStatus(type="NodePort", bootstrap=Bootstrap(service="orders", addresses=told))
    return replace(seen, cluster=replace(seen.cluster, status=seen.cluster.status.model_copy(update={"external_access": status})))


def lack(seen):
    missing = outside(seen, Topology.of(seen), now=NOW).lack
    return (missing.reason, missing.message) if missing is not None else None


def assert_not_told(seen, reason, message):
    """Clients are not told where to begin, and no node waits for it."""
    assert lack(seen) == (reason, message)
    assert addresses(seen) == ()
    assert outside(seen, Topology.of(seen), now=NOW).access.records == OUTSIDE


# --- a name that is none ---


def test_a_bootstrap_host_that_is_no_name_once_rendered_is_not_told():
    seen = begun({"bootstrapHost": "{name}" * 11 + ".example.com", **ALWAYS})
    assert_not_told(
        seen,
        Reason.INVALID_ADVERTISED_HOST,
        (
            f"spec.externalAccess.bootstrapHost renders as '{'orders' * 11}.example.com': "
            "it has a part between two dots of more than 63 characters: shorten it"
        ),
    )


# --- a host that is a node's as well ---


def test_a_bootstrap_host_that_is_a_nodes_as_well_is_refused():
    seen = balanced(advertisedHost="{name}-{shard}-{node}.example.com", bootstrapHost="{name}-1-0.example.com")
    assert lack(seen) == (
        Reason.INVALID_ADVERTISED_HOST,
        (
            "spec.externalAccess.bootstrapHost (Service orders) and spec.externalAccess.advertisedHost of node 1-0 (Service orders-1) give the "
            "same host and port, at orders-1-0.example.com, and these can lead to one Service only: set spec.externalAccess.bootstrapHost to a name "
            "that no node has"
        ),
    )
    assert addresses(seen) == ()


def test_a_bootstrap_host_that_is_the_address_of_a_shards_balancer_is_refused():
    reason, message = lack(balanced(bootstrapHost="198.51.100.2"))
    assert reason is Reason.INVALID_ADVERTISED_HOST
    assert "the load balancer of node 2-0 (Service orders-2)" in message


@pytest.mark.parametrize("routes", [BY_NAME["routes"], {"kind": "Ingress"}, {"kind": "Route"}, None])
def test_a_bootstrap_host_that_is_a_nodes_as_well_is_refused_before_there_is_a_route(routes):
    seen = named(access={"bootstrapHost": "{name}-0-0.example.com", "routes": routes})
    assert obstacle(replace(seen, services={})).reason is Reason.INVALID_ADVERTISED_HOST


def test_a_bootstrap_host_that_is_a_shards_as_well_is_refused():
    seen = observed({"type": "Ingress", "advertisedHost": "{name}-{shard}.example.com", "bootstrapHost": "{name}-0.example.com"})
    assert "node 0-0 (Service orders-0)" in obstacle(seen).message


def test_a_route_over_all_shards_takes_no_host_from_a_node():
    def routes(host):
        seen = named(access={"bootstrapHost": host})
        return {route.name: route.hosts for route in outside(seen, Topology.of(seen), now=NOW).routes.ensured}

    assert routes("{name}.example.com")["orders"] == (HOST,)
    assert "orders" not in routes("{name}-0-0.example.com")
    assert routes("{name}-0-0.example.com")["orders-0-0"] == ("orders-0-0.example.com",)
    assert "orders" not in routes("{name}" * 11 + ".example.com")


@pytest.mark.parametrize(
    "seen",
    [
        balanced(advertisedHost="{shard}.example.com", bootstrapHost=HOST),
        observed({**BALANCED, "loadBalancerScope": "Cluster", "advertisedHost": HOST, "bootstrapHost": HOST}),
        begun({"advertisedHost": HOST, **ALWAYS}),
        ported(access={"advertisedHost": HOST, "bootstrapHost": HOST, **ALWAYS}),
        ported(access={"bootstrapHost": "198.51.100.7"}),
    ],
)
def test_where_ports_tell_them_apart_nodes_and_all_shards_may_have_one_host(seen):
    assert obstacle(seen) is None


# --- a host that is another cluster's ---


def test_a_bootstrap_host_of_an_older_cluster_is_not_taken():
    seen = replace(balanced(bootstrapHost=HOST), claims={f"{HOST}:6380": "shop/older"})
    assert lack(seen) == (
        Reason.HOST_CLAIMED,
        f"{HOST}:6380 is the endpoint of ValkeyCluster shop/older, which had it before: set another spec.externalAccess.bootstrapHost",
    )
    assert addresses(seen) == ()
    assert obstacle(replace(seen, claims={f"{HOST}:7000": "shop/older"})) is None


# --- a host that does not resolve ---


def test_a_bootstrap_host_is_told_once_it_resolves_and_no_node_waits_for_it():
    seen = begun()
    assert_not_told(
        seen,
        Reason.WAITING_FOR_DNS,
        (
            f"{HOST} does not resolve inside the Kubernetes cluster: make the DNS records A 192.0.2.11, A 192.0.2.12, A 192.0.2.13, "
            "or set spec.externalAccess.announceWhen to Always"
        ),
    )
    resolved = replace(seen, resolved={HOST: True})
    assert lack(resolved) is None
    assert addresses(resolved) == (f"{HOST}:30999",)


def test_the_record_of_all_shards_is_listed_before_those_of_nodes():
    reason, message = lack(observed({**NAMED, **BEGUN}, *SERVICES, ALL_SHARDS))
    assert reason is Reason.WAITING_FOR_DNS
    assert [part.split()[0] for part in message.split("; ")] == [HOST, *(f"orders-{index}.example.com" for index in NODES)]


@pytest.mark.parametrize("access", [ALWAYS, {"bootstrapHost": "203.0.113.1"}])
def test_who_says_always_or_an_address_does_not_wait(access):
    assert lack(begun(access)) is None


def test_a_bootstrap_host_that_is_told_need_not_resolve_again():
    seen = last(begun(), f"{HOST}:30999")
    assert lack(seen) is None
    assert addresses(seen) == (f"{HOST}:30999",)
    assert obstacle(last(begun(), "other.example.com:30999")).reason is Reason.WAITING_FOR_DNS


# --- what was told last ---


def test_what_was_told_stays_while_nothing_leads_there():
    pending = observed({**BALANCED, "bootstrapHost": HOST}, *SHARDS, replace(OVER_ALL, ingress=()))
    assert addresses(pending) == ()
    assert addresses(last(pending, f"{HOST}:6380")) == (f"{HOST}:6380",)
    assert addresses(last(pending, "other.example.com:6380")) == ()
    assert addresses(last(observed(TYPE, *SERVICES), "192.0.2.11:30999")) == ("192.0.2.11:30999",)


def test_the_old_way_to_a_host_that_is_told_stays_until_something_leads_there_in_the_new_one():
    both = replace(OVER_ALL, ports=(AllocatedPort("np-bootstrap", 30999, 30999, 6379), *OVER_ALL.ports))
    announced = outside(balanced(), Topology.of(balanced()), now=NOW).access.endpoints

    def drains(over_all, **access):
        wanted = Balancing(access.get("loadBalancerClass"))
        shards = [replace(shard, balancing=wanted) for shard in SHARDS]
        seen = observed({**BALANCED, "bootstrapHost": HOST, **access}, *shards, over_all, told=announced)
        found = outside(last(seen, f"{HOST}:30999"), Topology.of(seen), now=NOW)
        assert "orders:np-bootstrap" in found.services.leftovers
        return found.drain is not None

    assert not drains(replace(both, ingress=()))
    assert drains(both)
    assert drains(replace(both, ingress=()), bootstrapHost="other.example.com")
    assert drains(replace(both, ingress=()), loadBalancerClass="example.com/other")


def test_addresses_that_nobody_chose_go_with_the_pods_that_serve():
    gone = begun({"bootstrapHost": None}, pods={index: pod(index, serving=False) for index in NODES})
    assert addresses(last(gone, "192.0.2.11:30999")) == ()
    one = begun({"bootstrapHost": None}, pods={index: pod(index, serving=index == NodeIndex(1, 0)) for index in NODES})
    assert addresses(one) == ("192.0.2.12:30999",)


def test_a_port_of_all_shards_that_waits_for_a_nodes_to_go_does_not_hold_the_drain():
    """From one balancer for all to a router, at the number that a node had."""
    way = {
        "type": "Ingress",
        "advertisedHost": "{shard}-{node}.example.com",
        "advertisedPort": 6381,
        "bootstrapHost": HOST,
        **ALWAYS,
    }
    one = {"kind": "node", "type_": "ClusterIP"}
    nodes = [service(f"orders-{index}", AllocatedPort(f"sni-{index.node}", 6381, None, 6379), **one) for index in NODES]
    shards = [service(f"orders-{shard}", AllocatedPort("sni-shard", 6381, None, 6379), type_="ClusterIP") for shard in range(3)]
    of_nodes = (AllocatedPort(f"lb-{index}", 6381 + place, None, f"valkey-{index}") for place, index in enumerate(NODES))
    before = replace(OVER_ALL, ports=(*OVER_ALL.ports, *of_nodes))
    told = {index: Announcement(f"{index}.example.com", 6381) for index in NODES}
    seen = last(observed(way, before, *nodes, *shards, told=told), f"{HOST}:6380")
    found = outside(seen, Topology.of(seen), now=NOW)
    assert found.drain is not None
    assert found.lack.reason is Reason.DRAINING
    assert found.lack.message == (
        "port 6381 of Service orders leads to one node for clients with old endpoints, and to all shards "
        "spec.externalAccess.drainSeconds after status.externalAccess.drainingSince"
    )
    assert addresses(seen) == (f"{HOST}:6380",)
