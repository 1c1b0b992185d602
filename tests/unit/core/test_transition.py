from dataclasses import replace

from unit.core.edits import promoted, silent
from unit.core.given import NODES, balancer, observed, service
from valkey_operator.core import transition
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import AllocatedPort, Balancing
from valkey_operator.core.topology import Topology

NODE_PORTS = (AllocatedPort("np-0", 31200, 31200, "valkey-0-0"), AllocatedPort("np-1", 31300, 31300, "valkey-0-1"))
SHARD = service("orders-0", *NODE_PORTS, selector={"valkey.io/shard-index": "0"})


def services(access, *live, drained=False):
    seen = observed(access, *live)
    return transition.services(seen, Topology.of(seen), drained=drained)


def at_last(access, live, *, drained=False):
    """What a Service becomes when Kubernetes follows every step."""
    while True:
        found = named(services(access, live, drained=drained), live.name)
        ports = tuple(AllocatedPort(port.name, port.port, port.node_port, port.target) for port in found.ports)
        if ports == live.ports:
            return found
        live = replace(live, ports=ports, type=found.type, selector=found.selector)


def ports(service):
    return [(port.name, port.port, port.target, port.node_port) for port in service.ports]


def named(found, name):
    return next(each for each in found.ensured if each.name == name)


def test_a_change_of_type_puts_new_ports_beside_old_ones_under_the_wider_type():
    found = services({"type": "LoadBalancer"}, SHARD)
    changed = at_last({"type": "LoadBalancer"}, SHARD)
    assert changed.type == "LoadBalancer"
    assert ports(changed) == [
        ("lb-0", 6380, "valkey-0-0", None),
        ("lb-1", 6381, "valkey-0-1", None),
        ("np-0", 31200, "valkey-0-0", 31200),
        ("np-1", 31300, "valkey-0-1", 31300),
    ]
    assert found.leftovers == ("orders-0:np-0", "orders-0:np-1")


def test_old_ports_go_once_clients_have_forgotten_them():
    changed = at_last({"type": "LoadBalancer"}, SHARD, drained=True)
    assert [port.name for port in changed.ports] == ["lb-0", "lb-1"]


def test_a_type_gets_narrower_only_at_the_end_and_keeps_its_class_until_then():
    live = replace(
        balancer(
            "orders-0",
            AllocatedPort("lb-0", 6380, 30001, "valkey-0-0"),
            AllocatedPort("lb-1", 6381, 30002, "valkey-0-1"),
            ip="198.51.100.1",
        ),
        balancing=Balancing(load_balancer_class="example.com/lb"),
        traffic_policy="Cluster",
    )
    changed = at_last({"type": "NodePort"}, live)
    assert (changed.type, changed.balancing.load_balancer_class) == ("LoadBalancer", "example.com/lb")
    assert ports(changed)[:2] == [("np-0", 6379, "valkey-0-0", None), ("np-1", 6382, "valkey-0-1", None)]
    assert ports(changed)[2:] == [("lb-0", 6380, "valkey-0-0", 30001), ("lb-1", 6381, "valkey-0-1", 30002)]
    assert at_last({"type": "NodePort"}, live, drained=True).type == "NodePort"


def test_a_shards_service_leads_to_its_primary_by_port_while_ports_of_single_nodes_are_on_it():
    found = named(services({"type": "Ingress", "advertisedHost": "{shard}.example.com"}, SHARD), "orders-0")
    assert found.selector == {"valkey.io/shard-index": "0"}
    assert ("sni-shard", 6380, "valkey-0-0", None) in ports(found)
    narrowing = named(
        services({"type": "Ingress", "advertisedHost": "{shard}.example.com"}, replace(SHARD, ports=NODE_PORTS), drained=True),
        "orders-0",
    )
    assert narrowing.selector == {"valkey.io/shard-index": "0"}
    assert [name for name, *_ in ports(narrowing)] == ["sni-shard", "np-1"]
    last = at_last({"type": "Ingress", "advertisedHost": "{shard}.example.com"}, SHARD, drained=True)
    assert last.selector == {"valkey.io/shard-index": "0", "valkey.io/node-index": "0"}
    assert ports(last) == [("sni-shard", 6380, 6379, None)]


BY_SHARD = {"type": "Ingress", "advertisedHost": "{shard}.example.com"}


def after_a_failover(access, live, *, drained=False):
    """Where the shard's port leads, step by step, once node 1 is its primary."""
    steps = []
    while True:
        seen = promoted(observed(access, live), NodeIndex(0, 1), over=NodeIndex(0, 0))
        found = named(transition.services(seen, Topology.of(seen), drained=drained), live.name)
        live = replace(
            live,
            type=found.type,
            selector=found.selector,
            ports=tuple(AllocatedPort(port.name, port.port, port.node_port, port.target) for port in found.ports),
        )
        steps.append({port.name: port.target for port in found.ports})
        if steps[-2:-1] == steps[-1:]:
            return steps[:-1]


def test_after_a_failover_a_shards_port_moves_to_the_new_primary_and_is_never_away():
    led = replace(SHARD, ports=(AllocatedPort("sni-shard", 6380, None, "valkey-0-0"), *NODE_PORTS))
    there = {"sni-shard": "valkey-0-1", "np-0": "valkey-0-0", "np-1": "valkey-0-1"}
    assert after_a_failover(BY_SHARD, led) == [there]
    assert after_a_failover(BY_SHARD, led, drained=True) == [
        there,
        {"sni-shard": "valkey-0-1", "np-1": "valkey-0-1"},
        {"sni-shard": "valkey-0-1"},
        {"sni-shard": 6379},
    ]


def test_a_shards_port_is_never_away_while_ports_of_nodes_come_beside_it():
    live = replace(
        SHARD,
        type="ClusterIP",
        selector={"valkey.io/shard-index": "0", "valkey.io/node-index": "1"},
        ports=(AllocatedPort("sni-shard", 6380, None, 6379),),
    )
    steps = after_a_failover({"type": "NodePort"}, live)
    assert [each["sni-shard"] for each in steps] == ["valkey-0-1"] * 3
    assert steps[-1].keys() == {"sni-shard", "np-0", "np-1"}


def test_a_shards_port_that_only_old_endpoints_need_follows_the_primary_too():
    led = replace(SHARD, ports=(*NODE_PORTS, AllocatedPort("sni-shard", 6380, None, "valkey-0-0")))
    assert after_a_failover({"type": "NodePort"}, led) == [{"sni-shard": "valkey-0-1", "np-0": "valkey-0-0", "np-1": "valkey-0-1"}]


MINE = AllocatedPort("mine", 7777, None, "valkey-0-0")


def test_somebody_elses_port_is_neither_ours_nor_left_over():
    foreign = replace(SHARD, ports=(*NODE_PORTS, MINE))
    assert services({"type": "NodePort"}, foreign) == services({"type": "NodePort"}, SHARD)
    assert services({"type": "NodePort"}, foreign).leftovers == ()
    assert services({"type": "LoadBalancer"}, foreign) == services({"type": "LoadBalancer"}, SHARD)


def test_somebody_elses_port_keeps_no_type_and_no_selector():
    live = replace(SHARD, type="LoadBalancer", ports=(AllocatedPort("sni-shard", 6380, None, "valkey-0-0"), MINE))
    found = named(services(BY_SHARD, live, drained=True), "orders-0")
    assert (found.type, found.selector) == ("ClusterIP", {"valkey.io/shard-index": "0", "valkey.io/node-index": "0"})
    assert ports(found) == [("sni-shard", 6380, 6379, None)]


def test_a_number_that_somebody_elses_port_has_is_not_taken_from_it():
    live = service("orders-0-0", AllocatedPort("sni-0", 6380, None, 6379), MINE, kind="node", type_="ClusterIP")
    access = {"type": "Ingress", "advertisedHost": "{shard}-{node}.example.com", "advertisedPort": 7777}
    assert ports(named(services(access, live), "orders-0-0")) == [("sni-0", 6380, 6379, None)]
    pinned = AllocatedPort("np-0", 6379, 7777, "valkey-0-0")
    live = replace(SHARD, ports=(pinned, NODE_PORTS[1], MINE))
    assert ports(named(services({"type": "NodePort"}, live), "orders-0"))[0] == ("np-0", 6379, "valkey-0-0", 7777)


def test_while_the_primary_is_unknown_a_shards_port_leads_where_it_led():
    live = replace(SHARD, ports=(*NODE_PORTS, AllocatedPort("sni-shard", 6380, None, "valkey-0-1")))
    seen = observed({"type": "Ingress", "advertisedHost": "{shard}.example.com"}, live)
    seen = silent(seen, *(index for index in NODES if index.shard == 0))
    found = named(transition.services(seen, Topology.of(seen), drained=False), "orders-0")
    assert found.selector == {"valkey.io/shard-index": "0"}
    assert [(name, target) for name, _, target, _ in ports(found)] == [
        ("sni-shard", "valkey-0-1"),
        ("np-0", "valkey-0-0"),
        ("np-1", "valkey-0-1"),
    ]


def test_what_was_for_all_stays_when_external_access_is_turned_off_until_it_is_drained():
    off = services({"enabled": False}, SHARD)
    assert (off.ensured, off.removed, off.leftovers) == ((), (), ("orders-0",))
    assert [each.name for each in services({"enabled": False}, SHARD, drained=True).removed] == ["orders-0"]


def test_a_service_that_is_being_deleted_is_left_alone():
    found = services({"type": "NodePort"}, replace(SHARD, deleting=True))
    assert "orders-0" not in {each.name for each in found.ensured}


def families(access, live, *, drained=False):
    return named(services(access, live, drained=drained), "orders-0").ip_families


def test_a_family_is_added_behind_the_first_one_which_kubernetes_keeps():
    live = replace(SHARD, families=("IPv4",))
    assert families({"type": "NodePort", "ipFamilies": ["IPv4", "IPv6"]}, live) == ("IPv4", "IPv6")
    assert families({"type": "NodePort", "ipFamilies": ["IPv6", "IPv4"]}, live) == ("IPv4", "IPv6")
    assert families({"type": "NodePort"}, live) == ()


def test_a_family_that_is_not_wanted_any_more_stays_until_clients_have_forgotten_it():
    live, access = replace(SHARD, families=("IPv4", "IPv6")), {"type": "NodePort", "ipFamilies": ["IPv4"]}
    assert families(access, live) == ("IPv4", "IPv6")
    assert families(access, live, drained=True) == ("IPv4",)
    assert services(access, live).leftovers == ("orders-0:IPv6",)


def test_a_first_family_that_is_not_wanted_at_all_stays_and_is_not_waited_for():
    live, access = replace(SHARD, families=("IPv4",)), {"type": "NodePort", "ipFamilies": ["IPv6"]}
    assert families(access, live) == families(access, live, drained=True) == ("IPv4",)
    assert services(access, live).leftovers == ()


def test_nothing_is_left_over_of_a_settled_cluster():
    shards = [
        service(
            f"orders-{n}", *(AllocatedPort(f"np-{m}", 31200 + 100 * m + n, 31200 + 100 * m + n, f"valkey-{n}-{m}") for m in (0, 1))
        )
        for n in range(3)
    ]
    bootstrap = service("orders", AllocatedPort("np-bootstrap", 31999, 31999, 6379), kind="bootstrap")
    found = services({"type": "NodePort", "nodePort": {"startPort": 31200}}, *shards, bootstrap)
    assert found.leftovers == ()
    assert ports(named(found, "orders-1")) == [("np-0", 31201, "valkey-1-0", 31201), ("np-1", 31301, "valkey-1-1", 31301)]


def test_a_balancer_of_another_class_is_left_alone_and_goes_alone_once_it_is_drained():
    live = replace(
        balancer("orders-0", AllocatedPort("lb-0", 6380, 30001, "valkey-0-0"), *NODE_PORTS, ip="198.51.100.1"),
        balancing=Balancing(load_balancer_class="example.com/lb"),
        selector={"valkey.io/shard-index": "0"},
    )
    other = service("orders-0-0", AllocatedPort("lb-0", 6380, 30005, "valkey-0-0"), kind="node")
    access = {"type": "LoadBalancer", "loadBalancerClass": "example.com/other"}
    before, after = services(access, live, other), services(access, live, other, drained=True)
    assert "orders-0" not in {each.name for each in before.ensured}
    assert before.leftovers == ("orders-0-0", "orders-0:np-0", "orders-0:np-1", "orders-0:class")
    changed = named(after, "orders-0")
    assert (changed.type, changed.balancing, changed.selector) == ("NodePort", Balancing(), {"valkey.io/shard-index": "0"})
    assert ports(changed) == [
        ("lb-0", 6380, "valkey-0-0", 30001),
        ("np-0", 31200, "valkey-0-0", 31200),
        ("np-1", 31300, "valkey-0-1", 31300),
    ]
    assert (before.removed, after.removed) == ((), ())
    assert (before.other_class, services({"type": "LoadBalancer", "loadBalancerClass": "example.com/lb"}, live).other_class) == (
        True,
        False,
    )


def test_a_shards_port_on_a_balancer_of_another_class_follows_the_primary():
    live = replace(
        balancer("orders-0", AllocatedPort("sni-shard", 6380, 30006, "valkey-0-0"), *NODE_PORTS, ip="198.51.100.1"),
        balancing=Balancing(load_balancer_class="example.com/lb"),
        selector={"valkey.io/shard-index": "0"},
    )
    access = {"type": "LoadBalancer", "loadBalancerClass": "example.com/other"}
    assert "orders-0" not in {each.name for each in services(access, live).ensured}
    seen = promoted(observed(access, live), NodeIndex(0, 1), over=NodeIndex(0, 0))
    found = transition.services(seen, Topology.of(seen), drained=False)
    changed = named(found, "orders-0")
    assert (changed.type, changed.balancing, changed.selector) == ("LoadBalancer", live.balancing, live.selector)
    assert ports(changed) == [
        ("sni-shard", 6380, "valkey-0-1", 30006),
        ("np-0", 31200, "valkey-0-0", 31200),
        ("np-1", 31300, "valkey-0-1", 31300),
    ]
    assert "orders-0:class" in found.leftovers


TWO = (AllocatedPort("lb-0", 6380, 30001, "valkey-0-0"), AllocatedPort("lb-1", 6381, 30002, "valkey-0-1"))
BY_NODE = {"type": "Ingress", "advertisedHost": "{shard}-{node}.example.com"}
ONE_NODE = {"valkey.io/shard-index": "0", "valkey.io/node-index": "0"}


def test_a_number_that_passes_from_one_pod_to_another_moves_in_one_write():
    live = replace(balancer("orders-0", *TWO, ip="198.51.100.1"), selector={"valkey.io/shard-index": "0"})
    changed = at_last({**BY_NODE, "advertisedPort": 6381}, live, drained=True)
    assert (changed.type, ports(changed)) == ("ClusterIP", [("sni-shard", 6381, 6379, None)])


def test_a_balancer_that_was_to_have_no_node_ports_gets_them_when_they_are_wanted():
    """Kubernetes allocates none while its own field says so."""
    bare = (replace(port, node_port=None) for port in TWO)
    live = replace(balancer("orders-0", *bare, ip="198.51.100.1"), balancing=Balancing(allocate_node_ports=False))
    changed = at_last({"type": "NodePort"}, live)
    assert (changed.type, changed.balancing.allocate_node_ports) == ("LoadBalancer", None)
    router = at_last(BY_NODE, live)
    assert (router.type, router.balancing.allocate_node_ports) == ("LoadBalancer", False)


def test_a_number_that_stays_keeps_its_name_since_a_renamed_port_leads_nowhere_for_a_moment():
    live = service(
        "orders-0-0", AllocatedPort("lb-0", 6380, 30001, "valkey-0-0"), kind="node", type_="LoadBalancer", selector=ONE_NODE
    )
    meanwhile = named(services(BY_NODE, live), "orders-0-0")
    assert (meanwhile.type, ports(meanwhile)) == ("LoadBalancer", [("lb-0", 6380, "valkey-0-0", 30001)])
    last = named(services(BY_NODE, live, drained=True), "orders-0-0")
    assert (last.type, ports(last)) == ("ClusterIP", [("lb-0", 6380, "valkey-0-0", None)])
    after = services(BY_NODE, replace(live, type="ClusterIP", ports=(AllocatedPort("lb-0", 6380, None, "valkey-0-0"),)))
    assert ports(named(after, "orders-0-0")) == [("lb-0", 6380, "valkey-0-0", None)]
    assert "orders-0-0:lb-0" not in after.leftovers


def test_the_port_of_all_shards_keeps_its_name_and_that_of_a_node_does_not_become_it():
    live = balancer("orders", AllocatedPort("lb-bootstrap", 6380, 30100, 6379), ip="198.51.100.1", kind="bootstrap")
    assert ports(at_last(BY_NODE, live, drained=True)) == [("lb-bootstrap", 6380, 6379, None)]
    of_a_node = replace(live, ports=(AllocatedPort("lb-0-0", 6380, 30101, "valkey-0-0"),))
    assert ports(at_last(BY_NODE, of_a_node, drained=True)) == [("sni-bootstrap", 6380, 6379, None)]


def test_the_port_of_a_shard_keeps_the_name_that_it_had_with_tcp_routes():
    live = service("orders-0", AllocatedPort("tcp-shard", 6380, None, 6379), type_="ClusterIP", selector=ONE_NODE)
    assert ports(named(services(BY_SHARD, live), "orders-0")) == [("tcp-shard", 6380, 6379, None)]
