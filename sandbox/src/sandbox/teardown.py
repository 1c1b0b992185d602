"""Ending the sandbox: whatever a run, even a killed one, has left on this machine is gone afterwards."""

import os
import shutil
import signal
import time
from pathlib import Path

from sandbox import network, processes, tunables
from sandbox.errors import SandboxError
from sandbox.home import RUN, Home
from sandbox.node_files import CGROUP
from sandbox.steps import Steps

CGROUPS = Path("/sys/fs/cgroup")


def sweep(home: Home, *, steps: Steps) -> None:
    """No process, mount, namespace, link, route or file in /run of the sandbox is left; programs, images and logs stay."""
    with steps.step("everything has ended"):
        _end_processes()
        network.remove()
        tunables.restore()
        _remove_cgroups()
        shutil.rmtree(home.state, ignore_errors=True)
        home.kubeconfig.unlink(missing_ok=True)
        shutil.rmtree(RUN, ignore_errors=True)


def _end_processes() -> None:
    """End all at once and by force: nothing in them needs a farewell, since their data goes with them."""
    found = {process.pid: process for process in [*processes.marked(), *processes.recorded()]}
    processes.stop([process for process in found.values() if process.is_alive()], grace=0)
    _end_inhabitants()


def _end_inhabitants() -> None:
    """End what others have started in the sandbox's network namespaces, which could not be removed else."""
    deadline = time.monotonic() + 5
    while left := network.inhabitants():
        if time.monotonic() > deadline:
            raise SandboxError(f"these processes in the sandbox's network cannot be ended: {left}")
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(processes.POLL)


def _remove_cgroups() -> None:
    """Remove the containers' groups, the innermost first; the kernel lets go of each once its last process has."""
    roots = [path for path in (CGROUPS / CGROUP[1:], *CGROUPS.glob(f"*{CGROUP}")) if path.is_dir()]
    for root in roots:
        folders = [path for path in root.rglob("*") if path.is_dir()]
        for path in [*sorted(folders, key=lambda path: len(path.parts), reverse=True), root]:
            path.rmdir()
