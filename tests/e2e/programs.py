"""Client programs beside tests and measurements: outside, where clients of external access are, or on the machine, which reaches pods as well."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Self, cast

from sandbox.home import PROGRAM

from . import builds

LIBRARIES = ("valkey-py", "glide", "valkey-go")
"""The client libraries whose applications notice nothing."""
PROGRAMS = Path(__file__).with_name("outside")
PYTHON = (sys.executable, "-W", "ignore")
PODS = "10.245.0.0/16"
PATIENCE = 60.0  # seconds until a program works
SETTINGS = {"fresh_every": 0.2, "keys": 400, "warm": 20, "pause": 0.005, "last_round": False}
"""How a load is: a new client so often (seconds), keys of the long-lived one, its requests until it works, and its pause between two (seconds)."""


def python(name: str, *, is_outside: bool, hosts: Path | None = None) -> list[str]:
    """The words that run one of the programs with the project's Python."""
    return placed([*PYTHON, str(PROGRAMS / name)], is_outside=is_outside, hosts=hosts)


def placed(command: list[str], *, is_outside: bool, hosts: Path | None) -> list[str]:
    """The words that run a command where it belongs; `hosts`: a file of names and addresses for it alone."""
    if hosts is not None:
        command = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(hosts), *command]
    return [str(PROGRAM), "outside", "--", *command] if is_outside else command


class Running:
    """A program that runs while `with` holds, and reports when it is stopped."""

    def __init__(self, command: Sequence[str], settings: Mapping[str, Any]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._input, self._output, self._complaints = cast("tuple[IO[str], IO[str], IO[str]]", pipes)
        self._settings = settings
        self._report: dict[str, Any] | None = None

    def __enter__(self) -> Self:
        said = self._first_line(PATIENCE, self._process.kill)
        assert said == "working\n", f"a client program does not work: {said}{self._rest()}"
        return self

    def in_vain(self, seconds: float) -> dict[str, Any] | None:
        """Instead of `with`: what it reports if it has not come to work after so many seconds; None where it has."""
        hangs = threading.Timer(seconds + PATIENCE, self._process.kill)
        hangs.start()
        try:
            said = self._first_line(seconds, self._input.close)
            if said == "working\n":
                return None
            assert said, f"a client program failed: {self._rest()}"
            report: dict[str, Any] = json.loads(said)
            return report
        finally:
            hangs.cancel()
            self.__exit__()

    def _first_line(self, seconds: float, give_up: Callable[[], None]) -> str:
        """What it says first; `give_up` is done after so many seconds of silence."""
        timer = threading.Timer(seconds, give_up)
        timer.start()
        self._input.write(json.dumps(self._settings) + "\n")
        self._input.flush()
        said = self._output.readline()
        timer.cancel()
        return said

    def measure_anew(self) -> None:
        """From now on gaps are measured."""
        self._input.write("measure\n")
        self._input.flush()

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._input, self._output, self._complaints):
            stream.close()

    def stop(self) -> dict[str, Any]:
        """What it reports in the end."""
        if self._report is None:
            said, complaint = self._process.communicate(timeout=60)
            assert self._process.returncode == 0, f"a client program failed: {complaint}"
            self._report = json.loads(said.splitlines()[-1])
        return self._report

    def _rest(self) -> str:
        self._process.kill()
        return "".join(self._process.communicate())


def load(
    library: str,
    *,
    seeds: Iterable[str],
    login: tuple[str, str],
    prefix: str,
    is_outside: bool = True,
    hosts: Path | None = None,
    trust: Path | None = None,
    **changes: Any,
) -> Running:
    """A load by a client library; `seeds` are addresses as host:port, `login` a user and its password, `trust` a file with authorities.

    `changes` are to SETTINGS.
    """
    settings = {
        "library": library,
        "seeds": [_pair(address) for address in seeds],
        "username": login[0],
        "password": login[1],
        "prefix": prefix,
        "trust": trust and str(trust),
        **SETTINGS,
        **changes,
    }
    return Running(placed(builds.command(library), is_outside=is_outside, hosts=hosts), settings)


@contextmanager
def loads(*, prefix: str, **options: Any) -> Iterator[list[Running]]:
    """A load by each of the LIBRARIES, while `with` holds; what else `load` takes is the same for all."""
    with ExitStack() as stack:
        yield [stack.enter_context(load(library, prefix=f"{prefix}-{library}", **options)) for library in LIBRARIES]


def sampler(
    servers: Iterable[str],
    *,
    login: tuple[str, str],
    hosts: Path | None = None,
    trust: Path | None = None,
    inside: Mapping[str, str] | None = None,
    by_shard: bool = False,
) -> Running:
    """The check of every pair that any of the servers (their pod IPs) tells.

    `inside`: names inside and the addresses to which they lead; `by_shard`: whether what is told of a replica may lead to its primary.
    """
    settings = {
        "servers": list(servers),
        "username": login[0],
        "password": login[1],
        "pods": PODS,
        "trust": trust and str(trust),
        "inside": inside or {},
        "by_shard": by_shard,
        "dial": python("dial.py", is_outside=True, hosts=hosts),
    }
    return Running(python("sample.py", is_outside=False), settings)


def node_ids(
    addresses: Sequence[str], *, login: tuple[str, str], hosts: Path | None = None, trust: Path | None = None
) -> dict[str, str]:
    """Which server a client outside reaches at each address."""
    who = {"username": login[0], "password": login[1], "trust": trust and str(trust)}
    settings: list[Any] = [who, [_pair(address) for address in addresses]]
    text = "".join(json.dumps(line) + "\n" for line in settings)
    done = subprocess.run(
        python("dial.py", is_outside=True, hosts=hosts), input=text, capture_output=True, text=True, check=True, timeout=30
    )
    return dict(zip(addresses, json.loads(done.stdout), strict=True))


def _pair(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)
