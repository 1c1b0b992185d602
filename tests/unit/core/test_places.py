from dataclasses import replace

import pytest

from unit.core.given import NODES, observed, pod
from unit.core.secured import certificate, secured
from valkey_operator.core import places
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import Announcement, Tls

NODE = NodeIndex(1, 0)
NAME = "valkey-orders-1-0-0.valkey-orders.shop.svc"


def with_names(*names, **more):
    only = certificate("one", *names)
    return secured(Tls(offered=only, standing=only), **more)


def test_without_tls_a_server_announces_its_pods_address():
    assert places.place(observed(), NODE) == Announcement("10.0.1.0", 0)


def test_an_ipv6_address_is_no_host_name_so_the_pods_name_stands_for_it():
    seen = replace(observed(), pods={NODE: pod(NODE, ip="2001:db8::7")})
    assert places.place(seen, NODE) == Announcement(NAME, 0)
    assert places.named_place(seen, NODE) is None


@pytest.mark.parametrize(
    ("names", "host"),
    [
        (("*.valkey-orders.shop.svc",), NAME),
        (("*.valkey-orders.shop.svc.cluster.local",), f"{NAME}.cluster.local"),
        (("*.valkey-orders.shop.svc.cluster.local", "*.valkey-orders.shop.svc"), NAME),
        ((NAME,), NAME),
        (("*.example.com",), "10.0.1.0"),
    ],
)
def test_with_tls_it_announces_its_pods_name_where_the_certificate_covers_it(names, host):
    assert places.place(with_names(*names), NODE) == Announcement(host, 0)


def test_the_name_is_known_before_the_pod_is():
    assert places.place(with_names("*.valkey-orders.shop.svc", pods={}), NODE) == Announcement(NAME, 0)


def test_without_a_pod_and_a_name_there_is_no_place():
    assert places.place(observed(pods={}), NODE) is None
    assert places.told(observed(pods={}), NODE, None) is None


def test_a_name_waits_for_a_server_that_still_serves_a_certificate_without_it():
    new, old = certificate("two", "*.valkey-orders.shop.svc"), certificate("one", "*.example.com")
    asked = Tls(offered=new, standing=new, previous=old)
    assert places.place(secured(asked, loaded=old), NODE) == Announcement("10.0.1.0", 0)
    assert places.place(secured(asked), NODE) == Announcement(NAME, 0)


def test_clients_are_told_the_servers_own_port_inside_and_the_announced_one_outside():
    assert places.told(observed(), NODE, None) == ("10.0.1.0", 6379)
    assert places.told(observed(), NODE, Announcement("a.example.com", 31200)) == ("a.example.com", 31200)


def test_the_cluster_is_known_by_a_short_and_a_full_name():
    assert places.hosts(observed()) == ("valkey-orders.shop.svc", "valkey-orders.shop.svc.cluster.local")


def test_all_nodes_have_names_of_their_own():
    seen = with_names("*.valkey-orders.shop.svc")
    assert len({places.place(seen, index) for index in NODES}) == 6
