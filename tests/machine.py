"""A machine in the machine, for tests that break things: a sandbox of its own beside the shared one.

It has its own processes, network, mounts, /run and control groups; it uses the programs and images that the shared sandbox built.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from cluster import SANDBOX, sandbox
from sandbox import control_groups
from sandbox.home import Home

MAKE_GROUP = f"""
set -eu
{control_groups.MAKE}
make_group "$0"
exec unshare --mount --net --pid --uts --ipc --cgroup --fork --kill-child --mount-proc sh -c "$1" "$0"
"""
SET_UP = f"""
set -eu
{control_groups.JOIN}{control_groups.COVER}
cover_groups "$0"
mount -n -t tmpfs -o mode=755 machine /run
ip link set lo up
touch /run/ready
exec catatonit -P
"""
NAMESPACES = ["--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup"]
ENTER = f"""
{control_groups.JOIN}
join_groups
exec "$@"
"""


PROCESSES = """
import os, pathlib
for folder in pathlib.Path("/proc").glob("[0-9]*"):
    if int(folder.name) != os.getpid():
        print((folder / "cmdline").read_bytes().decode().replace("\\0", " "))
"""


class Machine:
    """Use it as a context: at its end, all its processes end."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._started: list[subprocess.Popen[bytes]] = []
        self._name = f"test-machine-{os.getpid()}-{time.monotonic_ns()}"

    def __enter__(self) -> Self:
        sandbox("build")
        shared = Home.of(os.environ)
        self.home = self.new_home("home", shared)
        self._holder = subprocess.Popen(["sh", "-c", MAKE_GROUP, self._name, SET_UP])
        deadline = time.monotonic() + 20
        while not self._is_ready():
            assert self._holder.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self._started, self._holder):
            process.kill()
            process.wait()
        deadline = time.monotonic() + 10
        while groups := sorted(Path("/sys/fs/cgroup").glob(f"**/{self._name}/**/"), reverse=True):
            for group in groups:
                try:
                    group.rmdir()
                except OSError:
                    assert time.monotonic() < deadline, f"{group} is in use"
            time.sleep(0.05)

    def new_home(self, name: str, shared: Home) -> Path:
        """A home with everything built."""
        home = self.directory / name
        home.mkdir()
        for kept in (shared.programs, shared.images):
            (home / kept.name).symlink_to(kept)
        return home

    def run(self, *command: str | Path, home: Path | None = None) -> subprocess.CompletedProcess[str]:
        """The result of a command in it."""
        return subprocess.run(self.words(*command), env=self.environment(home), capture_output=True, text=True, check=False)

    def start(self, *command: str | Path) -> subprocess.Popen[bytes]:
        """A command in it that runs beside the test."""
        quiet = subprocess.DEVNULL
        self._started.append(subprocess.Popen(self.words(*command), env=self.environment(), stdout=quiet, stderr=quiet))
        return self._started[-1]

    def sandbox(self, *arguments: str, home: Path | None = None) -> str:
        """What a sandbox command printed there; its failure fails the test."""
        done = self.run(SANDBOX, *arguments, home=home)
        assert done.returncode == 0, f"sandbox {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout

    def words(self, *command: str | Path) -> list[str]:
        """The words of a command that runs in it."""
        return ["nsenter", f"--target={self._init()}", *NAMESPACES, "--", "sh", "-c", ENTER, "sh", *map(str, command)]

    def environment(self, home: Path | None = None) -> dict[str, str]:
        """The environment of commands in it."""
        return {**os.environ, "VALKEY_SANDBOX_HOME": str(home or self.home)}

    def traces(self) -> dict[str, list[str]]:
        """All that a sandbox could leave behind."""
        script = {
            "mounts": "cut -d' ' -f1-3 /proc/mounts | sort",
            "links": "ip -o link | cut -d: -f2 | cut -d@ -f1",
            "routes": "ip route show table all",
            "firewall": "nft list ruleset",
            "namespaces": "lsns -n -o TYPE,NS | sort",
            "files": "find /run /var/lib/cni /var/lib/kubelet /var/log/pods /var/log/containers /etc/cni 2>/dev/null | sort",
            "groups": "find /sys/fs/cgroup -type d | sort",
            "settings": "cd /proc/sys; cat vm/overcommit_memory kernel/panic net/ipv4/ip_forward net/ipv6/conf/*/forwarding",
        }
        found = {name: self.run("sh", "-c", command).stdout.splitlines() for name, command in script.items()}
        return {"processes": self.processes(), **found}

    def processes(self) -> list[str]:
        """The command lines of all processes in it."""
        return self.run(sys.executable, "-c", PROCESSES).stdout.splitlines()

    def _init(self) -> int:
        return int(Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children").read_text().split()[0])

    def _is_ready(self) -> bool:
        try:
            return Path(f"/proc/{self._init()}/root/run/ready").exists()
        except (IndexError, OSError):
            return False
