"""Every address of the sandbox.

The networks are those set aside for benchmarks (RFC 2544), which no real network should use, so that routes on this machine
harm nobody. Pods and Services have the customary ones.
"""

from ipaddress import IPv4Address, IPv4Network

API_SERVER_PORT = 6443
ETCD_PORT = 23790
ETCD_PEER_PORT = 23791

# The router joins the nodes, the machine itself and the outside. The control plane lives in it too.
ROUTER = IPv4Address("198.18.0.1")
NODE_NETWORK = IPv4Network("198.18.0.0/24")
LOAD_BALANCERS = IPv4Network("198.18.100.0/24")
MACHINE_LINK = IPv4Network("198.18.254.0/30")  # .1 is the router, .2 the machine
OUTSIDE_LINK = IPv4Network("198.18.255.0/30")  # .1 is the router, .2 the outside
POD_NETWORK = IPv4Network("10.245.0.0/16")
SERVICE_NETWORK = IPv4Network("10.96.0.0/16")
KUBERNETES_SERVICE = SERVICE_NETWORK[1]
MACHINE_ROUTES = (NODE_NETWORK, LOAD_BALANCERS, POD_NETWORK, SERVICE_NETWORK)

MOST_NODES = 9


def node(number: int) -> IPv4Address:
    """The address of a node; the first is 1."""
    return NODE_NETWORK[10 + number]


def pods_of(number: int) -> IPv4Network:
    """The network of the pods on a node."""
    return IPv4Network(f"10.245.{number}.0/24")


def network(text: str) -> IPv4Network:
    """The network that `ip route` calls so; a bare address is one of itself."""
    return IPv4Network(text, strict=False)
