from dataclasses import replace

import pytest

from unit.core.given import NOW, balancer, observed
from unit.core.routed import PUBLIC, gateway, named, ported
from unit.core.test_access import NAMED, SERVICES
from valkey_operator.core.access import access
from valkey_operator.core.begin import obstacle
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import AllocatedPort, Ingress, Machine
from valkey_operator.core.resolving import names_to_resolve, record_to_make

FIRST = NodeIndex(0, 0)
RESOLVABLE = {"announceWhen": "Resolvable"}
HOSTED = {"type": "LoadBalancer", "advertisedHost": "{shard}.example.com", "bootstrapHost": "{name}.example.com"}


def made(host, record):
    return (
        f"{host} does not resolve inside the Kubernetes cluster: make {record}, or set spec.externalAccess.announceWhen to Always"
    )


def told(seen):
    """What is said of the first node's host."""
    return access(seen, now=NOW).endpoints[FIRST].message


def given(*ingress):
    """Balancers that were given that."""
    nodes = (AllocatedPort("lb-0", 6380, None, "valkey-0-0"), AllocatedPort("lb-1", 6381, None, "valkey-0-1"))
    shard = replace(balancer("orders-0", *nodes), ingress=ingress)
    begin = AllocatedPort("lb-bootstrap", 6380, None, 6379)
    return observed(HOSTED, shard, replace(balancer("orders", begin, kind="bootstrap"), ingress=ingress))


@pytest.mark.parametrize(
    ("behind", "record"),
    [
        (("192.0.2.1",), "the DNS record A 192.0.2.1"),
        (("2001:db8::1",), "the DNS record AAAA 2001:db8::1"),
        (("lb.example.org",), "the DNS record CNAME lb.example.org"),
        (("lb.example.org", "lb2.example.org"), "the DNS record CNAME lb.example.org"),
        (("192.0.2.1", "2001:db8::1", "lb.example.org"), "the DNS records A 192.0.2.1, AAAA 2001:db8::1"),
        ((), "a DNS record"),
    ],
)
def test_the_record_to_make_leads_to_what_is_behind_the_name(behind, record):
    assert record_to_make("a.example.com", behind).message == made("a.example.com", record)


@pytest.mark.parametrize(
    ("ingress", "record"),
    [
        (Ingress("198.51.100.1"), "the DNS record A 198.51.100.1"),
        (Ingress("2001:db8::1"), "the DNS record AAAA 2001:db8::1"),
        (Ingress("", "lb.example.org"), "the DNS record CNAME lb.example.org"),
    ],
)
def test_a_record_leads_to_what_a_balancer_was_given(ingress, record):
    assert told(given(ingress)) == made("0.example.com", record)
    assert obstacle(given(ingress)).message == made("orders.example.com", record)


def test_a_record_leads_to_the_gateway_of_routes_by_name():
    seen = named(access=RESOLVABLE)
    assert told(seen) == made("orders-0-0.example.com", "the DNS record A 198.51.100.7")
    assert obstacle(seen).message == made("orders.example.com", "the DNS record A 198.51.100.7")
    by_name = {PUBLIC: gateway(6380, protocol="TLS", addresses=("edge.example.org",))}
    seen = replace(seen, routing=replace(seen.routing, gateways=by_name))
    assert told(seen) == made("orders-0-0.example.com", "the DNS record CNAME edge.example.org")


def test_a_record_leads_to_the_gateway_of_routes_by_port():
    seen = ported(access={"advertisedHost": "db.example.com"})
    by_port = {PUBLIC: replace(seen.routing.gateways[PUBLIC], addresses=("2001:db8::7", "198.51.100.7"))}
    seen = replace(seen, routing=replace(seen.routing, gateways=by_port))
    assert told(seen) == made("db.example.com", "the DNS records AAAA 2001:db8::7, A 198.51.100.7")
    of_one = replace(ported(access={"advertisedHost": "db.example.com", "ipFamilies": ["IPv6"]}), routing=seen.routing)
    assert told(of_one) == made("db.example.com", "the DNS record AAAA 2001:db8::7")


def test_where_a_router_is_that_the_user_leads_nobody_knows():
    seen = named(access={**RESOLVABLE, "routes": None})
    assert told(seen) == made("orders-0-0.example.com", "a DNS record")


def test_a_record_leads_to_the_kubernetes_node_of_a_node():
    assert told(observed(NAMED, *SERVICES)) == made("orders-0-0.example.com", "the DNS record A 192.0.2.11")
    machines = {f"m{n}": Machine(f"m{n}", (("Hostname", f"m{n}.example.org"),)) for n in (1, 2, 3)}
    by_name = observed({**NAMED, "nodePort": {"addressType": ["Hostname"]}}, *SERVICES, machines=machines)
    assert told(by_name) == made("orders-0-0.example.com", "the DNS record CNAME m1.example.org")
    assert told(observed(NAMED, *SERVICES, machines={})) == made("orders-0-0.example.com", "a DNS record")


def test_what_is_no_name_is_never_looked_up():
    """A resolver's client fails over it: a part of more than 63 letters."""
    long = "{name}" * 11 + ".example.com"
    seen = observed({"type": "LoadBalancer", "advertisedHost": "{shard}" + long, "bootstrapHost": long})
    assert names_to_resolve(seen) == frozenset()
