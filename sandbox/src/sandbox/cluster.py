"""The whole sandbox: up, down and what it is now."""

from dataclasses import replace
from pathlib import Path

from sandbox import control_plane, ownership, packages, pki, processes, teardown
from sandbox.build import programs
from sandbox.control_plane import LOOPBACK
from sandbox.home import Home
from sandbox.ownership import Mode, Owner
from sandbox.steps import Steps


def up(home: Home, *, mode: Mode, nodes: int, steps: Steps) -> None:
    """The sandbox runs at least as `mode` asks; what runs already is kept if it can be."""
    with ownership.exclusive(steps):
        ownership.refuse_another(home)
        if _suffices(ownership.owner(), mode=mode):
            steps.say("the sandbox is running already")
            return
        packages.ensure(packages.CONTROL_PLANE, steps=steps)
        built = programs(home, steps=steps)
        if ownership.owner() is not None:
            steps.say("an earlier sandbox is not whole or not enough: ending it first")
            teardown.sweep(home, steps=steps)
        try:
            _start(home, built, mode=mode, nodes=nodes, steps=steps)
        except BaseException:
            teardown.sweep(home, steps=steps)
            raise
        steps.say(f"control plane is up; kubeconfig: {home.kubeconfig}")


def _start(home: Home, programs: Path, *, mode: Mode, nodes: int, steps: Steps) -> None:
    record = Owner(home=str(home.path), mode=mode, nodes=nodes, complete=False)
    record.write()
    authority = pki.Authority(home.pki)
    credentials = control_plane.issue(home, authority=authority, place=LOOPBACK)
    control_plane.start(home, programs=programs, place=LOOPBACK, credentials=credentials, steps=steps)
    control_plane.bind_administrators(credentials.root)
    replace(record, complete=True).write()


def down(home: Home, *, steps: Steps) -> None:
    """Nothing of the sandbox runs any more."""
    with ownership.exclusive(steps):
        ownership.refuse_another(home)
        teardown.sweep(home, steps=steps)


def _suffices(owner: Owner | None, *, mode: Mode) -> bool:
    if owner is None or not owner.complete:
        return False
    if mode is Mode.FULL and owner.mode is not Mode.FULL:
        return False
    return all(process.is_alive() for process in processes.recorded())
