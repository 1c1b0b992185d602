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
    ],
)
def test_a_route_into_its_networks_is_refused_and_named(route, taken):
    with pytest.raises(SandboxError) as refused:
        network.refuse_overlap(HARMLESS + route + "\n")

    assert str(refused.value) == f"this machine has a route into {taken}, which the sandbox needs for itself: `{route}`"


def test_the_outside_reaches_nodes_and_load_balancers_and_is_stopped_for_all_else():
    rules = [line.strip() for line in network.outside_rules().splitlines()]

    assert rules.index('iifname "outside" ip daddr { 198.18.0.11-198.18.0.19, 198.18.100.0/24 } accept') < rules.index(
        'iifname "outside" drop'
    )
    assert rules.count('iifname "outside" drop') == 2
