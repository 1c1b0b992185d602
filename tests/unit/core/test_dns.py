"""Names inside: each advertised name leads to the Service that serves it, and what cannot be led is said."""

from dataclasses import replace
from datetime import timedelta

import pytest

from unit.core.given import NODES, NOW, balancer, observed, service
from valkey_operator.core.decide import decide
from valkey_operator.core.dns import snippet
from valkey_operator.core.observed import AllocatedPort, Announcement, Snippet
from valkey_operator.core.plan import DnsSnippet, Ensure, Remove

BY_NODE = {"type": "Ingress", "advertisedHost": "{name}-{shard}-{node}.example.com"}
HEADER = "# Names of ValkeyCluster shop/orders for clients inside: for the server block of CoreDNS that holds `kubernetes`."
P0, R0, *_ = NODES


def rules(seen, *, draining=False):
    """Which name leads where, without the words that all rules have."""
    text = snippet(seen, draining=draining)
    lines = [line for line in (text or "").splitlines() if not line.startswith("#")]
    assert all(line.startswith("rewrite name exact ") and line.endswith(" answer auto") for line in lines)
    return dict(line.split()[3:5] for line in lines)


def left_out(seen):
    return [line for line in snippet(seen, draining=False).splitlines()[1:] if line.startswith("#")]


def published(text):
    return {"snippet": Snippet("snippet-1", text)}


def written(seen, *, now=NOW):
    """What a pass does about the snippet."""
    found = [
        action.wanted.text if isinstance(action, Ensure) else action
        for action in decide(seen, now=now).actions
        if (isinstance(action, Ensure) and isinstance(action.wanted, DnsSnippet))
        or (isinstance(action, Remove) and action.kind == "ConfigMap")
    ]
    assert len(found) <= 1
    return found[0] if found else None


def test_the_snippet_is_what_coredns_takes():
    seen = observed(BY_NODE | {"bootstrapHost": "{name}.example.com"}, spec={"shards": 1})
    assert snippet(seen, draining=False) == (
        f"{HEADER}\n"
        "rewrite name exact orders-0-0.example.com orders-0-0.shop.svc.cluster.local answer auto\n"
        "rewrite name exact orders-0-1.example.com orders-0-1.shop.svc.cluster.local answer auto\n"
        "rewrite name exact orders.example.com orders.shop.svc.cluster.local answer auto\n"
    )


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        (BY_NODE, "orders-1-0"),
        (BY_NODE | {"advertisedHost": "{name}-{shard}.example.com"}, "orders-1"),
        ({"type": "LoadBalancer"}, "orders-1"),
        ({"type": "LoadBalancer", "loadBalancerScope": "Node"}, "orders-1-0"),
        ({"type": "LoadBalancer", "loadBalancerScope": "Cluster"}, "orders"),
        ({"type": "NodePort"}, "orders-1"),
    ],
    ids=["by node", "by shard", "balancer per shard", "balancer per node", "one balancer", "node ports"],
)
def test_a_name_leads_to_the_service_that_has_its_port(access, expected):
    named = {"advertisedHost": "{shard}-{node}.db"} | access
    host = {"{shard}-{node}.db": "1-0.db", BY_NODE["advertisedHost"]: "orders-1-0.example.com"}
    found = rules(observed(named))
    assert found[host.get(named["advertisedHost"], "orders-1.example.com")] == f"{expected}.shop.svc.cluster.local"


def test_names_are_published_before_they_are_announced_since_they_must_resolve_first():
    seen = observed({"type": "LoadBalancer", "advertisedHost": "{shard}.db"})
    assert decide(seen, now=NOW).status.condition("ExternalAccessReady").reason != "Ready"
    assert sorted(rules(seen)) == ["0.db", "1.db", "2.db"]


@pytest.mark.parametrize(
    "access",
    [
        None,
        BY_NODE | {"enabled": False},
        {"type": "NodePort"},
        {"type": "LoadBalancer"},
        {"type": "NodePort", "advertisedHost": "192.0.2.1", "bootstrapHost": "192.0.2.2"},
    ],
    ids=["never on", "off", "addresses of machines", "addresses of balancers", "addresses of the user's choice"],
)
def test_there_is_no_snippet_without_names(access):
    seen = observed(access, balancer("orders-0", AllocatedPort("lb-0", 6380, None, "valkey-0-0"), ip="198.51.100.1"))
    assert snippet(seen, draining=False) is None
    assert written(seen) is None


def test_a_name_that_a_balancer_was_given_leads_to_its_service():
    seen = observed({"type": "LoadBalancer"}, balancer("orders-0", AllocatedPort("lb-0", 6380, None), hostname="a.elb.example.com"))
    assert rules(seen) == {"a.elb.example.com": "orders-0.shop.svc.cluster.local"}


def test_the_name_of_a_kubernetes_node_is_everybodys():
    ports = service("orders-0", AllocatedPort("np-0", 31200, 31200, "valkey-0-0"))
    seen = observed({"type": "NodePort", "nodePort": {"addressType": ["Hostname"]}}, ports)
    machines = {name: replace(machine, addresses=(("Hostname", f"{name}.db"),)) for name, machine in seen.machines.items()}
    assert snippet(replace(seen, machines=machines), draining=False) is None


def test_a_name_of_several_services_is_left_out_and_said():
    seen = observed({"type": "NodePort", "advertisedHost": "db.example.com", "bootstrapHost": "begin.example.com"})
    assert rules(seen) == {"begin.example.com": "orders.shop.svc.cluster.local"}
    assert left_out(seen) == [
        "# db.example.com is left out: ports tell the Services orders-0, orders-1, orders-2 apart, and a name leads to one only."
    ]


def test_a_bootstrap_host_that_is_a_nodes_as_well_is_left_out():
    seen = observed({"type": "NodePort", "advertisedHost": "db.example.com", "bootstrapHost": "db.example.com"}, spec={"shards": 1})
    assert rules(seen) == {}
    assert left_out(seen) == [
        "# db.example.com is left out: ports tell the Services orders-0, orders apart, and a name leads to one only."
    ]


def test_one_name_for_all_leads_to_the_one_service_that_has_all_ports():
    access = {"type": "LoadBalancer", "loadBalancerScope": "Cluster", "advertisedHost": "db.example.com"}
    seen = observed(access | {"bootstrapHost": "db.example.com"})
    assert rules(seen) == {"db.example.com": "orders.shop.svc.cluster.local"}
    assert left_out(seen) == []


def test_a_name_at_which_an_older_cluster_has_the_endpoint_is_left_to_it():
    ports = (AllocatedPort("lb-0", 6380, None, "valkey-1-0"), AllocatedPort("lb-1", 6381, None, "valkey-1-1"))
    seen = observed({"type": "LoadBalancer", "advertisedHost": "{shard}.db"}, balancer("orders-1", *ports, ip="198.51.100.1"))
    claimed = replace(seen, claims={"1.db:6381": "shop/older"})
    assert sorted(rules(claimed)) == ["0.db", "2.db"]
    assert left_out(claimed) == ["# 1.db is left out: it leads to ValkeyCluster shop/older, which had it before."]
    assert sorted(rules(replace(seen, claims={"1.db:7000": "shop/older"}))) == ["0.db", "1.db", "2.db"]


def test_a_bootstrap_host_at_which_an_older_cluster_begins_is_left_to_it():
    begin = balancer("orders", AllocatedPort("lb-bootstrap", 6380, None, 6379), ip="198.51.100.1", kind="bootstrap")
    seen = observed({"type": "LoadBalancer", "bootstrapHost": "begin.db"}, begin)
    assert rules(seen) == {"begin.db": "orders.shop.svc.cluster.local"}
    claimed = replace(seen, claims={"begin.db:6380": "shop/older"})
    assert rules(claimed) == {}
    assert left_out(claimed) == ["# begin.db is left out: it leads to ValkeyCluster shop/older, which had it before."]


def test_a_bootstrap_host_that_is_refused_leaves_the_name_to_its_node():
    seen = observed(BY_NODE | {"bootstrapHost": "{name}-0-0.example.com"}, spec={"shards": 1})
    assert rules(seen)["orders-0-0.example.com"] == "orders-0-0.shop.svc.cluster.local"
    assert left_out(seen) == []


def test_what_is_no_host_name_is_not_put_into_anybodys_dns():
    """A part of more than 63 letters: the API server cannot see it in the template."""
    seen = observed({"type": "LoadBalancer", "advertisedHost": "{shard}{name}" + "a" * 60 + ".db"})
    assert snippet(seen, draining=False) is None


def test_the_domain_is_that_of_kubernetes():
    seen = observed({"type": "LoadBalancer", "advertisedHost": "{shard}.db"}, domain="k8s.example.org")
    assert rules(seen)["0.db"] == "orders-0.shop.svc.k8s.example.org"


def test_a_name_of_before_stays_while_a_node_announces_it():
    before = f"{HEADER}\nrewrite name exact old.db orders-0.shop.svc.cluster.local answer auto\n"
    access = {"type": "LoadBalancer", "advertisedHost": "{shard}.db"}
    told = {R0: Announcement("old.db", 6380)}
    assert rules(observed(access, told=told, **published(before)))["old.db"] == "orders-0.shop.svc.cluster.local"
    assert sorted(rules(observed(access, **published(before)))) == ["0.db", "1.db", "2.db"]


def test_names_go_when_old_endpoints_have_drained():
    """External access was turned off: the Services stay for `drainSeconds`, and so do the names."""
    before = f"{HEADER}\nrewrite name exact old.db orders-0.shop.svc.cluster.local answer auto\n"
    seen = observed(None, service("orders-0", AllocatedPort("np-0", 31200, 31200, "valkey-0-0")), **published(before))
    assert written(seen) == before
    status = seen.cluster.status.model_copy(update={"external_access": decide(seen, now=NOW).status.external_access})
    seen = replace(seen, cluster=replace(seen.cluster, status=status))
    assert written(seen, now=NOW + timedelta(seconds=59)) == before
    assert written(seen, now=NOW + timedelta(seconds=60)) == Remove("ConfigMap", "orders-dns", "snippet-1")


def test_a_snippet_is_removed_where_nothing_is_advertised_by_name_any_more():
    before = f"{HEADER}\nrewrite name exact old.db orders-0.shop.svc.cluster.local answer auto\n"
    assert written(observed({"type": "NodePort"}, **published(before))) == Remove("ConfigMap", "orders-dns", "snippet-1")


def test_a_name_that_cannot_be_led_any_more_is_not_kept():
    before = f"{HEADER}\nrewrite name exact db.example.com orders.shop.svc.cluster.local answer auto\n"
    seen = observed(
        {"type": "NodePort", "advertisedHost": "db.example.com"}, told={P0: Announcement("db.example.com", 1)}, **published(before)
    )
    assert rules(seen, draining=True) == {}
