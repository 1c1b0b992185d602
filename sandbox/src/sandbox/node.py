"""One node: namespaces with a containerd, a kubelet and a kube-proxy of its own.

All processes of a node, containers too, live in one PID namespace. To end its first process is to pull the plug: the kernel ends
all others, and with them go the node's mounts and its /run, as when a machine loses power.
"""

import os
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path

from sandbox import addresses, control_groups, kubeconfig, network, node_files, pki, processes
from sandbox.addresses import Addresses
from sandbox.control_plane import Credentials, Place
from sandbox.errors import SandboxError
from sandbox.home import Home
from sandbox.node_files import CONFIGURATION, CONTAINERD_SOCKET, PROGRAMS
from sandbox.processes import Process

INIT = "catatonit"  # waits for ever, and collects ended processes
KUBELET_PORT = 10250
KUBELET_STARTS = 10
DAEMONS = ("containerd", "kubelet", "kube-proxy")

NAMESPACES = ("--mount", "--uts", "--ipc", "--pid", "--cgroup")

# $0 the node's name, $1 its directory, $2 the directory of Kubernetes' programs.
# The mounts are prepared aside, since both directories may lie below what is covered at the end.
SET_UP = f"""
set -eu
{control_groups.JOIN}{control_groups.COVER}
cover_groups {control_groups.of_node("$0")}
hostname "$0"
mount -n -t tmpfs -o mode=755 sandbox-node /mnt
mkdir -p /mnt/node /mnt/programs /mnt/lock
mount -n --bind "$1" /mnt/node
mount -n --bind "$2" /mnt/programs
mount -n --bind "$1/var" /var
mount -n --move /mnt /run
exec {INIT} -P
"""

# The same words; SET_UP comes last.
MAKE_GROUPS = f"""
set -eu
{control_groups.MAKE}
make_group {control_groups.of_node("$0")}
exec unshare {" ".join(NAMESPACES)} --fork --kill-child --mount-proc -- sh -c "$3" "$0" "$1" "$2"
"""

RUN_DAEMON = f"""
set -eu
{control_groups.JOIN}
join_groups
exec "$@"
"""


@dataclass(frozen=True, slots=True)
class Node:
    """A node by its number; the first is 1."""

    home: Home
    number: int

    @property
    def name(self) -> str:
        """Its name in Kubernetes."""
        return network.node_name(self.number)

    @property
    def addresses(self) -> Addresses:
        """Its InternalIPs."""
        return addresses.node(self.number)

    @property
    def directory(self) -> Path:
        """Its configuration, and its /var."""
        return self.home.node(self.number)

    def process(self) -> Process | None:
        """What holds its namespaces, if the node is on."""
        return processes.find(self.name)

    def is_whole(self) -> bool:
        """Whether it is on and all its daemons run."""
        return all(processes.find(name) is not None for name in self._process_names())

    def socket(self) -> Path:
        """Its containerd's socket, as it is seen from outside of the node."""
        return Path(f"/proc/{_init(self._on())}/root{CONTAINERD_SOCKET}")

    def configure(self, *, authority: pki.Authority, credentials: Credentials, place: Place) -> None:
        """Write its configuration and its identity."""
        pods = addresses.pods_of(self.number)
        for folder in ("cni", "var/lib", "var/log", "var/tmp"):
            (self.directory / folder).mkdir(parents=True, exist_ok=True)
        (self.directory / "var/run").symlink_to("/run")
        (self.directory / "containerd.toml").write_text(node_files.containerd())
        (self.directory / "cni/10-sandbox.conflist").write_text(node_files.cni(pods))
        (self.directory / "kubelet.yaml").write_text(node_files.kubelet())
        (self.directory / "kube-proxy.yaml").write_text(node_files.kube_proxy(self.name, self.addresses.ipv4))
        hosts = [self.name, *map(str, self.addresses)]
        identity = authority.issue(self.name, name=f"system:node:{self.name}", groups=["system:nodes"], hosts=hosts)
        for source, name in (
            (credentials.authority.certificate, "ca.crt"),
            (identity.certificate, "kubelet.crt"),
            (identity.key, "kubelet.key"),
            (credentials.proxy, "kube-proxy.kubeconfig"),
        ):
            shutil.copy(source, self.directory / name)
        kubeconfig.write(
            self.directory / "kubelet.kubeconfig", server=place.server, authority=credentials.authority, client=identity
        )

    def power_on(self, programs: Path) -> None:
        """Make its namespaces and start containerd in them; returns once containerd answers.

        Control groups of containers that ended with the power are gone then, as on any machine: a kubelet asks for the container of each that it
        finds, again and again for three seconds, before it starts any.
        """
        control_groups.remove(control_groups.of_node(self.name))
        words = ["sh", "-c", MAKE_GROUPS, self.name, str(self.directory), str(programs), SET_UP]
        holder = processes.start(self.name, [*network.enter(self.name), *words], log=self.home.log(self.name))
        processes.wait_until(lambda: _is_set_up(holder), needs=[holder], what=f"{self.name}'s set-up", timeout=20)
        containerd = self._start("containerd", "containerd", f"--config={CONFIGURATION}/containerd.toml")
        processes.wait_until(lambda: _answers(self.socket()), needs=[containerd], what="containerd's socket", timeout=30)

    def join(self) -> None:
        """Start kubelet and kube-proxy, which then register the node by themselves; returns once the kubelet serves.

        Behind its open socket a containerd that finds containers of before is not there for kubelets yet, who end then: as on any machine
        they are started again.
        """
        self._start("kube-proxy", f"{PROGRAMS}/kube-proxy", f"--config={CONFIGURATION}/kube-proxy.yaml")
        for left in reversed(range(KUBELET_STARTS)):
            kubelet = self._start_kubelet()
            try:
                processes.wait_until(self._serves, needs=[kubelet], what=f"{self.name}'s kubelet's port", timeout=30)
            except SandboxError:
                if kubelet.is_alive() or not left:
                    raise
            else:
                return

    def _start_kubelet(self) -> Process:
        return self._start(
            "kubelet",
            f"{PROGRAMS}/kubelet",
            f"--config={CONFIGURATION}/kubelet.yaml",
            f"--kubeconfig={CONFIGURATION}/kubelet.kubeconfig",
            f"--hostname-override={self.name}",
            f"--node-ip={addresses.both(self.addresses)}",
            f"--node-labels=topology.kubernetes.io/region=sandbox,topology.kubernetes.io/zone=zone-{self.number}",
        )

    def _serves(self) -> bool:
        """Whether its kubelet can be reached."""
        with socket.socket() as probe:
            probe.settimeout(0.2)
            return probe.connect_ex((str(self.addresses.ipv4), KUBELET_PORT)) == 0

    def power_off(self) -> None:
        """Pull the plug: all its processes end at once, unprepared."""
        found = [processes.find(name) for name in self._process_names()]
        processes.stop([process for process in found if process is not None], grace=0)

    def _start(self, daemon: str, *command: str) -> Process:
        inside = ["nsenter", f"--target={_init(self._on())}", "--net", *NAMESPACES, "--", "sh", "-c", RUN_DAEMON, "sh"]
        name = f"{self.name}-{daemon}"
        return processes.start(name, [*inside, *command], log=self.home.log(name))

    def _process_names(self) -> list[str]:
        return [self.name, *(f"{self.name}-{daemon}" for daemon in DAEMONS)]

    def _on(self) -> Process:
        holder = self.process()
        if holder is None:
            raise ProcessLookupError(f"{self.name} is off")
        return holder


def _init(holder: Process) -> int:
    """The number of the node's first process."""
    return processes.children(holder.pid)[0]


def _is_set_up(holder: Process) -> bool:
    return any(processes.name(child) == INIT for child in processes.children(holder.pid))


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(os.fspath(path)) == 0
