"""Ending the sandbox: whatever a run, even a killed one, has left on this machine is gone afterwards."""

import os
import shutil
import signal
import time
from pathlib import Path

from sandbox import control_groups, network, ownership, processes, tunables
from sandbox.errors import SandboxError
from sandbox.home import RUN, Home
from sandbox.steps import Steps

PATIENCE = 10.0


def sweep(home: Home, *, steps: Steps) -> None:
    """No process, mount, namespace, link, route or file in /run of the sandbox is left; programs, images and logs stay."""
    earlier = ownership.owner()
    homes = {home, Home(Path(earlier.home))} if earlier else {home}
    with steps.step("everything has ended"):
        _end_processes()
        network.remove()
        tunables.restore()
        for each in homes:
            shutil.rmtree(each.state, ignore_errors=True)
            each.kubeconfig.unlink(missing_ok=True)
        shutil.rmtree(RUN, ignore_errors=True)
        control_groups.remove()


def _end_processes() -> None:
    """End all at once and by force: nothing in them needs a farewell, since their data goes with them."""
    found = {process.pid: process for process in [*processes.marked(), *processes.recorded()]}
    processes.stop([process for process in found.values() if process.is_alive()], grace=0)
    _end_inhabitants()


def _end_inhabitants() -> None:
    """End what others have started in the sandbox's network namespaces, which could not be removed else."""
    deadline = time.monotonic() + PATIENCE
    while left := network.inhabitants():
        if time.monotonic() > deadline:
            raise SandboxError(f"these processes in the sandbox's network cannot be ended: {left}")
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(processes.POLL)
