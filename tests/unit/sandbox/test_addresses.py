from ipaddress import IPv4Address, IPv4Network

from sandbox import addresses


def test_nodes_and_their_pods_have_addresses_by_their_numbers():
    assert addresses.node(1) == IPv4Address("198.18.0.11")
    assert addresses.node(3) == IPv4Address("198.18.0.13")
    assert addresses.pods_of(3) == IPv4Network("10.245.3.0/24")


def test_no_two_networks_overlap():
    networks = [
        addresses.NODE_NETWORK,
        addresses.LOAD_BALANCERS,
        addresses.MACHINE_LINK,
        addresses.OUTSIDE_LINK,
        addresses.POD_NETWORK,
        addresses.SERVICE_NETWORK,
    ]

    assert not [(one, other) for one in networks for other in networks if one is not other and one.overlaps(other)]


def test_the_last_node_lies_within_the_networks():
    assert addresses.node(addresses.MOST_NODES) in addresses.NODE_NETWORK
    assert addresses.pods_of(addresses.MOST_NODES).subnet_of(addresses.POD_NETWORK)


def test_the_api_servers_service_has_the_first_address():
    assert IPv4Address("10.96.0.1") == addresses.KUBERNETES_SERVICE
