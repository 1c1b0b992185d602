import pytest

from sandbox import network
from sandbox.errors import SandboxError

HARMLESS = """\
default via 192.0.2.1 dev eth0
192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.2
10.0.0.0/16 dev tunnel
blackhole 203.0.113.0/24
local 127.0.0.0/8 dev lo table local proto kernel scope host src 127.0.0.1
broadcast 192.0.2.255 dev eth0 table local proto kernel scope link src 192.0.2.2
198.18.0.0/24 via 198.18.254.1 dev valkey-sandbox
default via fe80::1 dev eth0 metric 1024 pref medium
fe80::/64 dev eth0 proto kernel metric 256 pref medium
local ::1 dev lo table local proto kernel metric 0 pref medium
anycast fd00:1:: dev eth0 table local proto kernel metric 0 pref medium
multicast ff00::/8 dev eth0 table local proto kernel metric 256 pref medium
2001:2::/64 via 2001:2:0:254::1 dev valkey-sandbox metric 1024 pref medium
"""


def test_routes_elsewhere_and_its_own_are_no_obstacle():
    network.refuse_overlap(HARMLESS)


@pytest.mark.parametrize(
    ("route", "taken"),
    [
        ("10.96.3.0/24 dev tunnel", "10.96.0.0/16"),
        ("10.0.0.0/8 dev tunnel", "10.245.0.0/16"),
        ("198.18.100.7 dev eth0", "198.18.100.0/24"),
        ("local 198.18.254.2 dev eth1 table local proto kernel", "198.18.254.0/30"),
        ("unreachable 198.18.0.0/15", "198.18.0.0/24"),
        ("fd00:10::/32 dev tunnel", "fd00:10:245::/48"),
        ("anycast 2001:2:0:100:: dev eth1 table local proto kernel", "2001:2:0:100::/112"),
    ],
)
def test_a_route_into_its_networks_is_refused_and_named(route, taken):
    with pytest.raises(SandboxError) as refused:
        network.refuse_overlap(HARMLESS + route + "\n")

    assert str(refused.value) == f"this machine has a route into {taken}, which the sandbox needs for itself: `{route}`"


@pytest.mark.parametrize(
    "reached",
    [
        'iifname "outside" ip daddr { 198.18.0.11-198.18.0.19, 198.18.100.0/24 } accept',
        'iifname "outside" ip6 daddr { 2001:2::11-2001:2::19, 2001:2:0:100::/112 } accept',
    ],
)
def test_the_outside_reaches_nodes_and_load_balancers_and_is_stopped_for_all_else(reached):
    rules = [line.strip() for line in network.outside_rules().splitlines()]

    assert rules.index(reached) < rules.index('iifname "outside" drop')
    assert rules.count('iifname "outside" drop') == 2
