"""The whole sandbox: up and down."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from sandbox import client, control_plane, dns, images, network, ownership, packages, pki, processes, teardown, tunables
from sandbox.build import programs
from sandbox.control_plane import BEHIND_ROUTER, LOOPBACK
from sandbox.home import Home
from sandbox.node import Node
from sandbox.ownership import Mode, Owner
from sandbox.steps import Steps

BALANCER = "balancer"
READY_TIMEOUT = 90
USUAL_NODES = 3


def up(home: Home, *, mode: Mode, nodes: int | None = None, steps: Steps) -> None:
    """The sandbox runs at least as `mode` asks; what runs already is kept if it can be."""
    with ownership.exclusive(steps):
        ownership.refuse_another(home)
        running = ownership.owner()
        if running is not None and _is_kept(running, mode=mode, nodes=nodes, steps=steps):
            if running.mode is Mode.FULL:
                complete(home, running, steps=steps)
            steps.say(f"the sandbox is running ({running.mode}); kubeconfig: {home.kubeconfig}")
            return
        built = build(home, mode=mode, steps=steps)
        if running is not None or processes.marked():
            teardown.sweep(home, steps=steps)
        record = Owner(home=str(home.path), mode=mode, nodes=nodes or USUAL_NODES, programs=str(built), complete=False)
        try:
            record.write()
            start = _start_control_plane_only if mode is Mode.CONTROL_PLANE_ONLY else _start_full
            start(home, record, steps=steps)
            replace(record, complete=True).write()
        except BaseException:
            teardown.sweep(home, steps=steps)
            raise
        steps.say(f"the sandbox is running ({mode}); kubeconfig: {home.kubeconfig}")


def down(home: Home, *, steps: Steps) -> None:
    """Nothing of the sandbox runs any more."""
    with ownership.exclusive(steps):
        ownership.refuse_another(home)
        teardown.sweep(home, steps=steps)


def build(home: Home, *, mode: Mode = Mode.FULL, steps: Steps) -> Path:
    """Install and build all that `mode` needs; returns the directory of the Kubernetes programs."""
    packages.ensure(packages.CONTROL_PLANE, steps=steps)
    if mode is Mode.FULL:
        packages.ensure(packages.NODES, steps=steps)
        images.basic(home, steps=steps)
    return programs(home, steps=steps)


def nodes_of(home: Home, record: Owner) -> list[Node]:
    """The nodes of a running sandbox, switched off ones too."""
    return [Node(home, number) for number in range(1, record.nodes + 1)] if record.mode is Mode.FULL else []


def complete(home: Home, record: Owner, *, steps: Steps) -> None:
    """Nodes that are off or miss a daemon are started again, and so is the load balancer."""
    broken = [node for node in nodes_of(home, record) if not node.is_whole()]
    if broken:
        restart_nodes(home, record, nodes=broken, steps=steps)
    if processes.find(BALANCER) is None:
        _start_balancer(home)


def restart_nodes(home: Home, record: Owner, *, nodes: list[Node], steps: Steps) -> None:
    """These nodes, whatever state they are in, start again and are ready."""

    def restart(node: Node) -> None:
        node.power_off()
        network.set_link(node.number, is_up=True)
        node.power_on(Path(record.programs))
        node.join()

    _in_parallel(restart, nodes)
    _wait_until_ready(home, nodes, steps=steps)


def _start_control_plane_only(home: Home, record: Owner, *, steps: Steps) -> None:
    credentials = control_plane.issue(home, authority=pki.Authority(home.pki), place=LOOPBACK)
    control_plane.start(home, programs=Path(record.programs), place=LOOPBACK, credentials=credentials, steps=steps)
    _open(home, steps=steps)


def _start_full(home: Home, record: Owner, *, steps: Steps) -> None:
    tunables.remember()
    with steps.step("network is laid"):
        network.create(record.nodes)
    authority = pki.Authority(home.pki)
    credentials = control_plane.issue(home, authority=authority, place=BEHIND_ROUTER)
    nodes = nodes_of(home, record)
    built = Path(record.programs)

    def prepare(node: Node) -> None:
        node.configure(authority=authority, credentials=credentials, place=BEHIND_ROUTER)
        node.power_on(built)
        images.load(images.basic(home, steps=steps), home=home, nodes=[node])

    with ThreadPoolExecutor(1) as pool, steps.step("nodes have their images"):
        prepared = pool.submit(_in_parallel, prepare, nodes)
        control_plane.start(home, programs=built, place=BEHIND_ROUTER, credentials=credentials, steps=steps)
        prepared.result()
    _in_parallel(Node.join, nodes)
    _start_balancer(home)
    _open(home, steps=steps)
    dns.deploy(home)
    _wait_until_ready(home, nodes, steps=steps)
    dns.wait(home, steps=steps)


def _open(home: Home, *, steps: Steps) -> None:
    """People may do everything, and the controllers work: namespaces have the account that pods need."""
    connection = client.connect(home)
    client.bind_administrators(connection)
    needs = [process for process in processes.recorded() if process.name == "kube-controller-manager"]
    with steps.step("controllers work"):
        processes.wait_until(lambda: client.has_default_account(connection), needs=needs, what="a first account", timeout=60)


def _start_balancer(home: Home) -> None:
    command = [
        *network.enter(network.ROUTER_NAMESPACE),
        sys.executable,
        "-m",
        "sandbox.balancer",
        str(home.root_kubeconfig),
    ]
    processes.start(BALANCER, command, log=home.log(BALANCER))


def _wait_until_ready(home: Home, nodes: list[Node], *, steps: Steps) -> None:
    connection = client.connect(home)
    names = {node.name for node in nodes}

    def are_ready() -> bool:
        states = client.node_states(connection) or {}
        return all(states.get(name) for name in names)

    needs = [process for process in processes.recorded() if process.name != BALANCER]
    with steps.step(f"ready: {', '.join(sorted(names))}"):
        processes.wait_until(are_ready, needs=needs, what="readiness of all nodes", timeout=READY_TIMEOUT)


def _in_parallel(work: Callable[[Node], None], nodes: list[Node]) -> None:
    with ThreadPoolExecutor(len(nodes)) as pool:
        list(pool.map(work, nodes))


def _is_kept(running: Owner, *, mode: Mode, nodes: int | None, steps: Steps) -> bool:
    """Whether the running sandbox serves; says why if it does not."""
    if not running.complete:
        steps.say("an earlier start was interrupted: starting afresh")
        return False
    dead = [name for name in control_plane.names(running.mode is Mode.FULL) if processes.find(name) is None]
    if dead:
        steps.say(f"{', '.join(dead)} of the earlier sandbox ended by itself: starting afresh")
        return False
    if mode is Mode.FULL and running.mode is Mode.CONTROL_PLANE_ONLY:
        steps.say("a control plane alone is running: replacing it by the whole sandbox")
        return False
    if mode is Mode.FULL and running.nodes != (nodes or running.nodes):
        steps.say(f"a sandbox of {running.nodes} nodes is running: replacing it by one of {nodes}")
        return False
    return True
