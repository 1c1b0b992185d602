"""The network: a router, nodes behind it, this machine and the outside beside it.

    machine ── 198.18.254.0/30, 2001:2:0:254::/126 ──┐
                                                     router (control plane) ── 198.18.0.0/24, 2001:2::/64 ── node-1, node-2, …
    outside ── 198.18.255.0/30, 2001:2:0:255::/126 ──┘

The router is a network namespace of its own, so that neither forwarding nor the firewall of this machine has to be touched:
all that is added to the machine's own namespace is one link and the routes through it. Namespaces are bound to files in /run,
not to names of `ip netns`, for the same reason.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

from sandbox import addresses
from sandbox.addresses import (
    LOAD_BALANCERS,
    MACHINE_LINK,
    MACHINE_ROUTES,
    NODE_NETWORK,
    OUTSIDE_LINK,
    ROUTER,
    SERVICE_NETWORK,
    Address,
    Addresses,
    Network,
    Networks,
)
from sandbox.commands import attempt, run
from sandbox.errors import SandboxError
from sandbox.home import RUN

NAMESPACES = RUN / "namespaces"
ROUTER_NAMESPACE = "router"
OUTSIDE_NAMESPACE = "outside"
MACHINE_INTERFACE = "valkey-sandbox"
BRIDGE = "nodes"
IPV6 = Path("/proc/sys/net/ipv6")
ROUTE_TYPES = {"local", "broadcast", "anycast", "multicast", "unreachable", "blackhole", "prohibit", "throw"}


def node_name(number: int) -> str:
    """The name of a node, of its namespace and of its port on the router's bridge."""
    return f"node-{number}"


def file(namespace: str) -> Path:
    """The file that a network namespace is bound to."""
    return NAMESPACES / namespace


def enter(namespace: str) -> list[str]:
    """The beginning of a command that runs in a network namespace."""
    return ["nsenter", f"--net={file(namespace)}", "--"]


def create(nodes: int) -> None:
    """Lay the whole network for so many nodes."""
    if not IPV6.exists():
        raise SandboxError(
            "the kernel of this machine has no IPv6, which the sandbox's network needs: start it without ipv6.disable=1"
        )
    refuse_overlap("".join(run("ip", family, "route", "show", "table", "all") for family in ("-4", "-6")))
    NAMESPACES.mkdir(parents=True, exist_ok=True)
    names = [node_name(number) for number in range(1, nodes + 1)]
    for name in (ROUTER_NAMESPACE, OUTSIDE_NAMESPACE, *names):
        file(name).touch()
        # Nobody else is there who could have an address already, so addresses serve at once.
        run("unshare", f"--net={file(name)}", "sh", "-c", f"echo 0 > {IPV6}/conf/default/accept_dad")
    router = file(ROUTER_NAMESPACE)
    _ip(
        None,
        f"link add {MACHINE_INTERFACE} type veth peer name machine netns {router}",
    )
    for setting in ("accept_dad", "disable_ipv6"):  # whatever this machine does at its other links
        (IPV6 / "conf" / MACHINE_INTERFACE / setting).write_text("0")
    _ip(None, *_addresses(MACHINE_LINK.at(2), MACHINE_LINK, MACHINE_INTERFACE), f"link set {MACHINE_INTERFACE} up")
    _ip(
        ROUTER_NAMESPACE,
        "link set lo up",
        *_addresses(MACHINE_LINK.at(1), MACHINE_LINK, "machine"),
        "link set machine up",
        f"link add outside type veth peer name eth0 netns {file(OUTSIDE_NAMESPACE)}",
        *_addresses(OUTSIDE_LINK.at(1), OUTSIDE_LINK, "outside"),
        "link set outside up",
        f"link add {BRIDGE} type bridge",
        *_addresses(ROUTER, NODE_NETWORK, BRIDGE),
        f"link set {BRIDGE} up",
    )
    _ip(
        OUTSIDE_NAMESPACE,
        "link set lo up",
        *_addresses(OUTSIDE_LINK.at(2), OUTSIDE_LINK, "eth0"),
        "link set eth0 up",
        *_default_routes(OUTSIDE_LINK.at(1)),
    )
    for number in range(1, nodes + 1):
        _join(number, nodes=nodes)
    _forward(ROUTER_NAMESPACE)
    run(*enter(ROUTER_NAMESPACE), "nft", "-f", "-", text=outside_rules())
    # A Service's address is any node's business; the first takes what comes from this machine.
    _ip(ROUTER_NAMESPACE, *_routes(SERVICE_NETWORK, addresses.node(1)))
    _ip(None, *(line for networks in MACHINE_ROUTES for line in _routes(networks, MACHINE_LINK.at(1))))


def outside_rules() -> str:
    """The router's rules in nftables' language: the outside reaches nodes and load balancers, and nothing else."""
    first, last = addresses.node(1), addresses.node(addresses.MOST_NODES)
    return f"""
table inet sandbox {{
  chain forward {{
    type filter hook forward priority filter
    iifname "outside" ip daddr {{ {first.ipv4}-{last.ipv4}, {LOAD_BALANCERS.ipv4} }} accept
    iifname "outside" ip6 daddr {{ {first.ipv6}-{last.ipv6}, {LOAD_BALANCERS.ipv6} }} accept
    iifname "outside" drop
  }}
  chain input {{
    type filter hook input priority filter
    iifname "outside" icmp type echo-request accept
    iifname "outside" icmpv6 type {{ echo-request, nd-neighbor-solicit, nd-neighbor-advert }} accept
    iifname "outside" drop
  }}
}}
"""


def refuse_overlap(routes: str) -> None:
    """Raise if this machine has a route (lines of `ip route`) into a network that the sandbox would take."""
    for line in routes.splitlines():
        words = line.split()
        target = words[1] if words[0] in ROUTE_TYPES else words[0]
        if target == "default" or f"dev {MACHINE_INTERFACE}" in line:
            continue
        present = addresses.network(target)
        for network in (network for networks in (*MACHINE_ROUTES, MACHINE_LINK) for network in networks):
            if present.version == network.version and present.overlaps(network):
                raise SandboxError(f"this machine has a route into {network}, which the sandbox needs for itself: `{line.strip()}`")


def set_link(number: int, *, is_up: bool) -> None:
    """Plug or unplug a node's cable at the router."""
    _ip(ROUTER_NAMESPACE, f"link set {node_name(number)} {'up' if is_up else 'down'}")


def remove() -> None:
    """Take away what `create` made, whole or half; the processes in it must have ended."""
    if shutil.which("ip") and attempt("ip", "link", "show", MACHINE_INTERFACE).returncode == 0:
        _ip(None, f"link delete {MACHINE_INTERFACE}")  # its routes go with it
    for path in NAMESPACES.glob("*"):
        if _is_bound(path):
            run("umount", "--no-mtab", path)
        path.unlink()


def inhabitants() -> list[int]:
    """The numbers of all processes inside the sandbox's network namespaces."""
    ours = {path.stat().st_ino for path in NAMESPACES.glob("*") if _is_bound(path)}
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                inode = (entry / "ns/net").stat().st_ino
            except OSError:  # it has ended
                continue
            if inode in ours:
                found.append(int(entry.name))
    return found


def _join(number: int, *, nodes: int) -> None:
    """Connect one node with the router, and let everybody know the way to its pods."""
    name, own = node_name(number), addresses.node(number)
    _ip(
        ROUTER_NAMESPACE,
        f"link add {name} type veth peer name eth0 netns {file(name)}",
        f"link set {name} master {BRIDGE} up",
        *_routes(addresses.pods_of(number), own),
    )
    others = [other for other in range(1, nodes + 1) if other != number]
    _ip(
        name,
        "link set lo up",
        *_addresses(own, NODE_NETWORK, "eth0"),
        "link set eth0 up",
        *_default_routes(ROUTER),
        *(line for other in others for line in _routes(addresses.pods_of(other), addresses.node(other))),
    )
    _forward(name)


def _forward(namespace: str) -> None:
    run(*enter(namespace), "sh", "-c", f"echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > {IPV6}/conf/all/forwarding")


def _addresses(own: Iterable[Address], networks: Iterable[Network], device: str) -> list[str]:
    return [f"address add {address}/{network.prefixlen} dev {device}" for address, network in zip(own, networks, strict=True)]


def _routes(networks: Networks, via: Addresses) -> list[str]:
    return [f"route add {network} via {hop}" for network, hop in zip(networks, via, strict=True)]


def _default_routes(via: Addresses) -> list[str]:
    return [f"route add default via {hop}" for hop in via]


def _ip(namespace: str | None, *lines: str) -> None:
    run(*(enter(namespace) if namespace else []), "ip", "-batch", "-", text="\n".join(lines) + "\n")


def _is_bound(path: Path) -> bool:
    """Whether a namespace is bound to the file: it then lies in the kernel's namespace file system."""
    return path.stat().st_dev != path.parent.stat().st_dev
