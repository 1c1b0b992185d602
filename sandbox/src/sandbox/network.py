"""The network: a router, nodes behind it, this machine and the outside beside it.

    machine ── 198.18.254.0/30 ──┐
                                 router (control plane) ── 198.18.0.0/24 ── node-1, node-2, …
    outside ── 198.18.255.0/30 ──┘

The router is a network namespace of its own, so that neither forwarding nor the firewall of this machine has to be touched:
all that is added to the machine's own namespace is one link and the routes through it. Namespaces are bound to files in /run,
not to names of `ip netns`, for the same reason.
"""

import shutil
from pathlib import Path

from sandbox import addresses
from sandbox.addresses import LOAD_BALANCERS, MACHINE_LINK, MACHINE_ROUTES, NODE_NETWORK, OUTSIDE_LINK, ROUTER, SERVICE_NETWORK
from sandbox.commands import attempt, run
from sandbox.errors import SandboxError
from sandbox.home import RUN

NAMESPACES = RUN / "namespaces"
ROUTER_NAMESPACE = "router"
OUTSIDE_NAMESPACE = "outside"
MACHINE_INTERFACE = "valkey-sandbox"
BRIDGE = "nodes"


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
    refuse_overlap(run("ip", "-4", "route", "show", "table", "all"))
    NAMESPACES.mkdir(parents=True, exist_ok=True)
    names = [node_name(number) for number in range(1, nodes + 1)]
    for name in (ROUTER_NAMESPACE, OUTSIDE_NAMESPACE, *names):
        file(name).touch()
        run("unshare", f"--net={file(name)}", "true")
    router = file(ROUTER_NAMESPACE)
    _ip(
        None,
        f"link add {MACHINE_INTERFACE} type veth peer name machine netns {router}",
        f"address add {MACHINE_LINK[2]}/{MACHINE_LINK.prefixlen} dev {MACHINE_INTERFACE}",
        f"link set {MACHINE_INTERFACE} up",
    )
    _ip(
        ROUTER_NAMESPACE,
        "link set lo up",
        f"address add {MACHINE_LINK[1]}/{MACHINE_LINK.prefixlen} dev machine",
        "link set machine up",
        f"link add outside type veth peer name eth0 netns {file(OUTSIDE_NAMESPACE)}",
        f"address add {OUTSIDE_LINK[1]}/{OUTSIDE_LINK.prefixlen} dev outside",
        "link set outside up",
        f"link add {BRIDGE} type bridge",
        f"address add {ROUTER}/{NODE_NETWORK.prefixlen} dev {BRIDGE}",
        f"link set {BRIDGE} up",
    )
    _ip(
        OUTSIDE_NAMESPACE,
        "link set lo up",
        f"address add {OUTSIDE_LINK[2]}/{OUTSIDE_LINK.prefixlen} dev eth0",
        "link set eth0 up",
        f"route add default via {OUTSIDE_LINK[1]}",
    )
    for number in range(1, nodes + 1):
        _join(number, nodes=nodes)
    _forward(ROUTER_NAMESPACE)
    run(*enter(ROUTER_NAMESPACE), "nft", "-f", "-", text=outside_rules())
    # A Service's address is any node's business; the first takes what comes from this machine.
    _ip(ROUTER_NAMESPACE, f"route add {SERVICE_NETWORK} via {addresses.node(1)}")
    _ip(None, *(f"route add {network} via {MACHINE_LINK[1]}" for network in MACHINE_ROUTES))


def outside_rules() -> str:
    """The router's rules in nftables' language: the outside reaches nodes and load balancers, and nothing else."""
    first, last = addresses.node(1), addresses.node(addresses.MOST_NODES)
    return f"""
table inet sandbox {{
  chain forward {{
    type filter hook forward priority filter
    iifname "outside" ip daddr {{ {first}-{last}, {LOAD_BALANCERS} }} accept
    iifname "outside" drop
  }}
  chain input {{
    type filter hook input priority filter
    iifname "outside" icmp type echo-request accept
    iifname "outside" drop
  }}
}}
"""


def refuse_overlap(routes: str) -> None:
    """Raise if this machine has a route (lines of `ip route`) into a network that the sandbox would take."""
    for line in routes.splitlines():
        words = line.split()
        target = words[1] if words[0] in {"local", "broadcast", "unreachable", "blackhole", "prohibit"} else words[0]
        if target == "default" or f"dev {MACHINE_INTERFACE}" in line:
            continue
        for network in (*MACHINE_ROUTES, MACHINE_LINK):
            if network.overlaps(addresses.network(target)):
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
    name, address = node_name(number), addresses.node(number)
    _ip(
        ROUTER_NAMESPACE,
        f"link add {name} type veth peer name eth0 netns {file(name)}",
        f"link set {name} master {BRIDGE} up",
        f"route add {addresses.pods_of(number)} via {address}",
    )
    others = [other for other in range(1, nodes + 1) if other != number]
    _ip(
        name,
        "link set lo up",
        f"address add {address}/{NODE_NETWORK.prefixlen} dev eth0",
        "link set eth0 up",
        f"route add default via {ROUTER}",
        *(f"route add {addresses.pods_of(other)} via {addresses.node(other)}" for other in others),
    )
    _forward(name)


def _forward(namespace: str) -> None:
    run(*enter(namespace), "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")


def _ip(namespace: str | None, *lines: str) -> None:
    run(*(enter(namespace) if namespace else []), "ip", "-batch", "-", text="\n".join(lines) + "\n")


def _is_bound(path: Path) -> bool:
    """Whether a namespace is bound to the file: it then lies in the kernel's namespace file system."""
    return path.stat().st_dev != path.parent.stat().st_dev
