"""Long-running processes: started, recorded, found again by a later command, and ended.

A record holds the process's start time beside its number, so that a stale record never leads to a stranger. All that the
sandbox starts also carries MARK in its environment, which finds what was started just before a run was killed.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sandbox.commands import system_environment
from sandbox.errors import SandboxError
from sandbox.home import RUN

RECORDS = RUN / "processes"
MARK = "VALKEY_SANDBOX_PROCESS"
POLL = 0.05
LAST_LINES = 15


@dataclass(frozen=True, slots=True)
class Process:
    """One process: its number is only valid together with its start time (clock ticks since boot)."""

    name: str
    pid: int
    started: int
    log: str = ""

    def is_alive(self) -> bool:
        """Whether this very process still runs; one that has ended but was not yet collected does not."""
        return _started(self.pid) == self.started

    def failure(self, what: str) -> SandboxError:
        """An error that ends with the last lines of the process's log."""
        return SandboxError(f"{what}\n{last_lines(Path(self.log))}\n  (all of it: {self.log})")


def start(name: str, command: Sequence[str | Path], *, log: Path, environment: Mapping[str, str] | None = None) -> Process:
    """Start a process of its own session, its output in `log`, and record it."""
    log.parent.mkdir(parents=True, exist_ok=True)
    RECORDS.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=system_environment(**{MARK: name}, **(environment or {})),
        )
    process = Process(name=name, pid=child.pid, started=_started(child.pid) or 0, log=str(log))
    child.returncode = 0  # it outlives us; nobody waits for it
    written = RECORDS / f"{name}.new"
    written.write_text(json.dumps(asdict(process)))
    written.rename(_record(name))
    return process


def find(name: str) -> Process | None:
    """The recorded process of that name, if it still runs."""
    try:
        process = Process(**json.loads(_record(name).read_text()))
    except FileNotFoundError:
        return None
    return process if process.is_alive() else None


def recorded() -> list[Process]:
    """All recorded processes, ended ones too."""
    return [Process(**json.loads(path.read_text())) for path in sorted(RECORDS.glob("*.json"))]


def marked() -> list[Process]:
    """All living processes that carry MARK: what the sandbox started, recorded or not."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:  # it has ended, or is not ours to look at
            continue
        names = [value.partition(b"=")[2].decode() for value in environment if value.startswith(MARK.encode() + b"=")]
        started = _started(int(entry.name))
        if names and started is not None:
            found.append(Process(name=names[0], pid=int(entry.name), started=started))
    return found


def stop(processes: Sequence[Process], *, grace: float = 5.0) -> None:
    """End the processes and their groups: politely, and after `grace` seconds by force. Forgets their records."""
    for process in processes:
        _signal(process, signal.SIGTERM if grace else signal.SIGKILL)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline and any(process.is_alive() for process in processes):
        time.sleep(POLL)
    for process in processes:
        _signal(process, signal.SIGKILL)
    deadline = time.monotonic() + 5.0
    while any(process.is_alive() for process in processes):
        if time.monotonic() > deadline:
            left = ", ".join(f"{process.name} ({process.pid})" for process in processes if process.is_alive())
            raise SandboxError(f"these processes cannot be ended, perhaps they hang in the kernel: {left}")
        time.sleep(POLL)
    for process in processes:
        _record(process.name).unlink(missing_ok=True)


def wait_until(answers: Callable[[], bool], *, needs: Sequence[Process], what: str, timeout: float) -> None:
    """Return once `answers()` is true; raises with a log's last lines when a needed process ends or time is up."""
    deadline = time.monotonic() + timeout
    while not answers():
        for process in needs:
            if not process.is_alive():
                raise process.failure(f"{process.name} ended while starting:")
        if time.monotonic() > deadline:
            raise needs[-1].failure(f"{what} did not come true within {timeout:.0f} s; {needs[-1].name} runs and says:")
        time.sleep(POLL)


def children(pid: int) -> list[int]:
    """The children of a process, by number."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def name(pid: int) -> str:
    """The name of a process's program, or nothing if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def last_lines(log: Path, count: int = LAST_LINES) -> str:
    """The end of a log file, indented; says so when there is nothing."""
    try:
        lines = log.read_text(errors="replace").splitlines()[-count:]
    except FileNotFoundError:
        lines = []
    return "\n".join(f"  | {line[:400]}" for line in lines) or "  | (its log is empty)"


def _signal(process: Process, number: int) -> None:
    if not process.is_alive():
        return
    try:
        if os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, number)
        else:
            os.kill(process.pid, number)
    except ProcessLookupError:
        pass


def _record(name: str) -> Path:
    return RECORDS / f"{name}.json"


def _started(pid: int) -> int | None:
    """Clock ticks from boot to the start of a process, or None if there is none that still runs."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before it may hold spaces and parentheses
    return None if fields[0] in "ZX" else int(fields[19])
