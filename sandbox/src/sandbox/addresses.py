"""Every address of the sandbox, of both families; IPv4 is Kubernetes' first.

The networks are those set aside for benchmarks (RFC 2544 and RFC 5180), which no real network should use, so that routes on this
machine harm nobody. Pods and Services have the customary ones.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import NamedTuple

API_SERVER_PORT = 6443
ETCD_PORT = 23790
ETCD_PEER_PORT = 23791

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class Addresses(NamedTuple):
    """One place in both families."""

    ipv4: IPv4Address
    ipv6: IPv6Address


class Networks(NamedTuple):
    """One network in both families."""

    ipv4: IPv4Network
    ipv6: IPv6Network

    def at(self, number: int) -> Addresses:
        """The place of that number in it: its IPv6 address is written with the same digits."""
        return Addresses(self.ipv4[number], self.ipv6[int(str(number), 16)])


# The router joins the nodes, the machine itself and the outside. The control plane lives in it too.
NODE_NETWORK = Networks(IPv4Network("198.18.0.0/24"), IPv6Network("2001:2::/64"))
ROUTER = NODE_NETWORK.at(1)
LOAD_BALANCERS = Networks(IPv4Network("198.18.100.0/24"), IPv6Network("2001:2:0:100::/112"))
MACHINE_LINK = Networks(IPv4Network("198.18.254.0/30"), IPv6Network("2001:2:0:254::/126"))  # .1 is the router, .2 the machine
OUTSIDE_LINK = Networks(IPv4Network("198.18.255.0/30"), IPv6Network("2001:2:0:255::/126"))  # .1 is the router, .2 the outside
POD_NETWORK = Networks(IPv4Network("10.245.0.0/16"), IPv6Network("fd00:10:245::/48"))
SERVICE_NETWORK = Networks(IPv4Network("10.96.0.0/16"), IPv6Network("fd00:10:96::/112"))
KUBERNETES_SERVICE = SERVICE_NETWORK.ipv4[1]
DNS_SERVICE = SERVICE_NETWORK.ipv4[10]
MACHINE_ROUTES = (NODE_NETWORK, LOAD_BALANCERS, POD_NETWORK, SERVICE_NETWORK)

MOST_NODES = 9


def node(number: int) -> Addresses:
    """The addresses of a node; the first is 1."""
    return NODE_NETWORK.at(10 + number)


def pods_of(number: int) -> Networks:
    """The networks of the pods on a node."""
    return Networks(IPv4Network(f"10.245.{number}.0/24"), IPv6Network(f"fd00:10:245:{number}::/64"))


def network(text: str) -> Network:
    """The network that `ip route` calls so; a bare address is one of itself."""
    return ip_network(text, strict=False)


def both(pair: Addresses | Networks) -> str:
    """Both families as Kubernetes' programs take them."""
    return ",".join(map(str, pair))
