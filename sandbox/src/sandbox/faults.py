"""Faults made on purpose: nodes that lose power, and pairs of nodes that cannot reach each other."""

from sandbox import addresses, cluster, network
from sandbox.commands import attempt, run
from sandbox.errors import SandboxError
from sandbox.home import Home
from sandbox.node import Node
from sandbox.ownership import Owner
from sandbox.steps import Steps

TABLE = "sandbox-partition"


def node_down(home: Home, record: Owner, *, number: int, steps: Steps) -> None:
    """A node is without power and cable: kubelet, containerd and all containers have ended, nothing reaches its address."""
    node = _node(home, record, number)
    with steps.step(f"{node.name} is down"):
        network.set_link(number, is_up=False)
        node.power_off()


def node_up(home: Home, record: Owner, *, number: int, steps: Steps) -> None:
    """A node has started again and is ready."""
    node = _node(home, record, number)
    if node.is_whole():
        network.set_link(number, is_up=True)
        steps.say(f"{node.name} is up")
        return
    cluster.restart_nodes(home, record, nodes=[node], steps=steps)


def partition(home: Home, record: Owner, *, numbers: tuple[int, int], steps: Steps) -> None:
    """Neither these two nodes nor their pods reach each other; the control plane and the outside still reach both."""
    one, other = (_node(home, record, number).number for number in numbers)
    if one == other:
        raise SandboxError(f"a partition is between two nodes, and both are {network.node_name(one)}")
    for number, peer in ((one, other), (other, one)):
        run(*network.enter(network.node_name(number)), "nft", "-f", "-", text=drop_rules(peer))
    steps.say(f"{network.node_name(one)} and {network.node_name(other)} are parted")


def heal(home: Home, record: Owner, *, steps: Steps) -> None:
    """All nodes reach each other; a node that is down stays down."""
    for node in cluster.nodes_of(home, record):
        # One that has no partition answers with an error, which is as good.
        attempt(*network.enter(node.name), "nft", "delete", "table", "inet", TABLE)
    steps.say("no node is parted from another")


def drop_rules(peer: int) -> str:
    """Rules in nftables' language that drop what comes from a node and its pods; they add to those for other peers."""
    node, pods = addresses.node(peer), addresses.pods_of(peer)
    return f"""
table inet {TABLE} {{
  chain prerouting {{
    type filter hook prerouting priority raw
  }}
}}
add rule inet {TABLE} prerouting ip saddr {{ {node.ipv4}, {pods.ipv4} }} drop
add rule inet {TABLE} prerouting ip6 saddr {{ {node.ipv6}, {pods.ipv6} }} drop
"""


def is_parted(number: int) -> bool:
    """Whether a node is parted from another."""
    return attempt(*network.enter(network.node_name(number)), "nft", "list", "table", "inet", TABLE).returncode == 0


def _node(home: Home, record: Owner, number: int) -> Node:
    for node in cluster.nodes_of(home, record):
        if node.number == number:
            return node
    raise SandboxError(
        f"there is no node {number}: this sandbox has {record.nodes if cluster.nodes_of(home, record) else 'no'} nodes"
    )
