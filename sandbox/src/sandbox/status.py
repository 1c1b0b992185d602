"""What of the sandbox runs, for people."""

from collections.abc import Iterator

from sandbox import client, cluster, control_plane, faults, processes
from sandbox.home import Home
from sandbox.node import Node
from sandbox.ownership import Mode, Owner


def lines(home: Home, record: Owner) -> Iterator[str]:
    """One line for each thing that should run."""
    yield f"home        {record.home}"
    yield f"kubeconfig  {home.kubeconfig}"
    yield f"mode        {record.mode}{'' if record.complete else ', not completely started'}"
    names = control_plane.names(with_nodes=record.mode is Mode.FULL)
    for name in [*names, cluster.BALANCER] if record.mode is Mode.FULL else names:
        process = processes.find(name)
        yield f"{name:<24}{f'runs (process {process.pid})' if process else 'does not run: `sandbox up` starts it'}"
    nodes = cluster.nodes_of(home, record)
    ready = (client.node_states(client.connect(home)) or {}) if nodes else {}
    for node in nodes:
        yield f"{node.name:<24}{_node(node, is_ready=ready.get(node.name, False))}"


def is_whole(home: Home, record: Owner) -> bool:
    """Whether everything runs."""
    names = control_plane.names(with_nodes=record.mode is Mode.FULL)
    return record.complete and all(map(processes.find, names)) and all(node.is_whole() for node in cluster.nodes_of(home, record))


def _node(node: Node, *, is_ready: bool) -> str:
    if node.process() is None:
        return "is down"
    words = ["Ready" if is_ready else "not Ready", *map(str, node.addresses)]
    if not node.is_whole():
        words.append("a daemon of it has ended: `sandbox up` starts it")
    if faults.is_parted(node.number):
        words.append("parted from another node")
    return ", ".join(words)
