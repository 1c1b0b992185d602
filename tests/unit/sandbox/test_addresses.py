from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from sandbox import addresses


def test_nodes_and_their_pods_have_addresses_by_their_numbers():
    assert addresses.node(1) == (IPv4Address("198.18.0.11"), IPv6Address("2001:2::11"))
    assert addresses.node(3) == (IPv4Address("198.18.0.13"), IPv6Address("2001:2::13"))
    assert addresses.pods_of(3) == (IPv4Network("10.245.3.0/24"), IPv6Network("fd00:10:245:3::/64"))


def test_no_two_networks_overlap():
    pairs = [
        addresses.NODE_NETWORK,
        addresses.LOAD_BALANCERS,
        addresses.MACHINE_LINK,
        addresses.OUTSIDE_LINK,
        addresses.POD_NETWORK,
        addresses.SERVICE_NETWORK,
    ]

    for networks in zip(*pairs, strict=True):
        assert not [(one, other) for one in networks for other in networks if one is not other and one.overlaps(other)]


def test_the_last_node_lies_within_the_networks():
    last = zip(addresses.node(addresses.MOST_NODES), addresses.NODE_NETWORK, strict=True)
    assert all(address in network for address, network in last)
    pods = zip(addresses.pods_of(addresses.MOST_NODES), addresses.POD_NETWORK, strict=True)
    assert all(part.subnet_of(network) for part, network in pods)


def test_kubernetes_is_told_both_families_with_ipv4_first():
    assert addresses.both(addresses.node(2)) == "198.18.0.12,2001:2::12"
    assert addresses.both(addresses.SERVICE_NETWORK) == "10.96.0.0/16,fd00:10:96::/112"


def test_the_api_servers_service_has_the_first_address():
    assert IPv4Address("10.96.0.1") == addresses.KUBERNETES_SERVICE
