"""Ending the sandbox: whatever a run, even a killed one, has left on this machine is gone afterwards."""

import shutil

from sandbox import processes
from sandbox.home import RUN, Home
from sandbox.steps import Steps


def sweep(home: Home, *, steps: Steps) -> None:
    """No process, mount, namespace, link, route or file in /run of the sandbox is left; programs, images and logs stay."""
    with steps.step("everything has ended"):
        _end_processes()
        shutil.rmtree(home.state, ignore_errors=True)
        home.kubeconfig.unlink(missing_ok=True)
        shutil.rmtree(RUN, ignore_errors=True)


def _end_processes() -> None:
    """Clients of the API server before the API server, that before etcd, so that none of them waits for another."""
    last = {"kube-apiserver": 1, "etcd": 2}
    found = {process.pid: process for process in [*processes.marked(), *processes.recorded()] if process.is_alive()}
    for turn in range(3):
        processes.stop([process for process in found.values() if last.get(process.name, 0) == turn])
