"""One sandbox on a machine, one command at a time."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum

from sandbox import processes
from sandbox.errors import SandboxError
from sandbox.home import LOCK, RUN, Home
from sandbox.steps import Steps

OWNER = RUN / "owner.json"


class Mode(StrEnum):
    """How much of Kubernetes runs."""

    CONTROL_PLANE_ONLY = "control-plane-only"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose sandbox this machine runs and what it is; `complete` once its start has finished."""

    home: str
    mode: Mode
    nodes: int
    programs: str  # the directory of the Kubernetes programs that it runs
    complete: bool

    def write(self) -> None:
        """Record this as the truth, at once or not at all."""
        RUN.mkdir(parents=True, exist_ok=True)
        unfinished = OWNER.with_suffix(".new")
        unfinished.write_text(json.dumps(asdict(self)))
        unfinished.rename(OWNER)


def owner() -> Owner | None:
    """The recorded owner; what it started may have ended since."""
    try:
        content = json.loads(OWNER.read_text())
    except FileNotFoundError:
        return None
    return Owner(**{**content, "mode": Mode(content["mode"])})


def refuse_another(home: Home) -> None:
    """Raise if a sandbox of another home is alive on this machine."""
    other = owner()
    if other is None or other.home == str(home.path):
        return
    if any(process.is_alive() for process in processes.recorded()):
        raise SandboxError(
            f"the sandbox of {other.home} is running on this machine, and there can be one only: "
            f"use it (VALKEY_SANDBOX_HOME={other.home}), or end it with `VALKEY_SANDBOX_HOME={other.home} sandbox down`"
        )


@contextmanager
def exclusive(steps: Steps) -> Iterator[None]:
    """Hold the machine-wide lock, after waiting for another command that holds it."""
    file = _locked(steps)
    try:
        yield
    finally:
        if not RUN.exists():  # nothing runs any more: leave no file either
            LOCK.unlink(missing_ok=True)
        os.close(file)


def _locked(steps: Steps) -> int:
    while True:
        file = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            steps.say(f"waiting for another sandbox command (process {os.read(file, 20).decode() or 'unknown'})")
            fcntl.flock(file, fcntl.LOCK_EX)
        if _is_current(file):
            os.truncate(file, 0)
            os.pwrite(file, str(os.getpid()).encode(), 0)
            return file
        os.close(file)  # its holder has removed it meanwhile


def _is_current(file: int) -> bool:
    try:
        return os.stat(LOCK).st_ino == os.fstat(file).st_ino  # noqa: PTH116 -- beside fstat
    except FileNotFoundError:
        return False
