"""Real servers on loopback addresses of their own, so that each has the usual ports, as a pod has."""

import itertools
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path

from integration.valkey.programs import server_program
from valkey_operator.valkey.address import Address, Credentials, Tls

PORT = 6379
BUS_PORT = 16379
FORMING = ("--cluster-node-timeout", "500", "--cluster-ping-interval", "100", "--repl-diskless-sync-delay", "0")

# A block of addresses per process, so that test runs side by side do not meet.
_FIRST = int(IPv4Address("127.16.0.1")) + os.getpid() % 30000 * 256
_hosts = (str(IPv4Address(_FIRST + number)) for number in itertools.count())
# A server dies with the test run, however that ends.
_MORTAL = ("setpriv", "--pdeathsig", "KILL")


def free_port(host: str = "127.0.0.1") -> int:
    """A port on which nobody listens, nor on its bus port."""
    for port in range(20000 + os.getpid() % 10000, 40000):
        try:
            for one in (port, port + 10000):
                socket.create_server((host, one), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
        except OSError:
            continue
        return port
    raise RuntimeError("no free port")


@dataclass
class Server:
    """One valkey-server process with a directory of its own."""

    version: str
    directory: Path
    host: str
    arguments: tuple[str, ...] = ()
    credentials: Credentials | None = None
    tls: Tls | None = None
    port: int = PORT
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def address(self) -> Address:
        return Address(self.host, self.port, self.credentials, self.tls)

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text()

    def start(self) -> None:
        """Start the process and wait until its port is open."""
        place = ("--bind", self.host, "--bind-source-addr", self.host, "--port", "0" if self.tls else str(self.port))
        own = (*place, "--dir", str(self.directory), "--save", "", "--logfile", "log", "--cluster-enabled", "yes")
        argv = (*_MORTAL, *server_program(self.version), *self._first_arguments(), *own, *self.arguments)
        self._process = subprocess.Popen(argv)
        deadline = time.monotonic() + 10
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self} did not start:\n{self.log}")
            time.sleep(0.01)

    def kill(self) -> None:
        """End the process at once, as a machine that loses power does."""
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the process to shut down and wait for it."""
        self._end(signal.SIGTERM)

    def pause(self) -> None:
        """Let the process answer nothing, with its connections open."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused process go on."""
        self._signal(signal.SIGCONT)

    def wipe(self) -> None:
        """Empty the directory: after the next start it is another server."""
        shutil.rmtree(self.directory)
        self.directory.mkdir()

    def _first_arguments(self) -> tuple[str, ...]:
        """A configuration file, when the directory holds one, stands before all other arguments."""
        file = self.directory / "valkey.conf"
        return (str(file),) if file.exists() else ()

    def _answers(self) -> bool:
        try:
            socket.create_connection((self.host, self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(20)
            self._process = None


@dataclass
class Lab:
    """Makes servers and ends them all."""

    directory: Path
    made: list[Server] = field(default_factory=list)

    def next_host(self) -> str:
        """An address that no server of this process has."""
        return next(_hosts)

    def server(
        self,
        version: str = "9.1",
        arguments: Sequence[str] = (),
        *,
        host: str | None = None,
        prepare: Callable[[Server], None] | None = None,
        **more: object,
    ) -> Server:
        """A running server; `prepare` may write files into its directory before it starts."""
        server = Server(version, self.directory / str(len(self.made)), host or self.next_host(), tuple(arguments), **more)  # type: ignore[arg-type]
        server.directory.mkdir()
        if prepare is not None:
            prepare(server)
        self.made.append(server)
        server.start()
        return server

    def end(self) -> None:
        """No process is left."""
        for server in self.made:
            server.resume()
            server.kill()
