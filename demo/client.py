"""A cluster-aware client, run where clients outside are: works against a cluster as an application does and tells what it saw.

One JSON document on standard input says what to do (so no password stands on a command line); lines of JSON on standard output say what
happened. Every command is repeated until it succeeds, as an application would, and each failure of the client library counts as an error.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from valkey.cluster import ClusterNode, ValkeyCluster
from valkey.exceptions import ValkeyClusterException, ValkeyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SOCKET_SECONDS = 1.0
"""How long the client waits for a connection or an answer; the library's default is to wait for ever."""
PATIENCE = 60.0
"""How long a command is repeated."""
PAUSE = 0.01
"""Between repetitions."""
FAILURES = (ValkeyError, ValkeyClusterException, OSError)
"""What the client library raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Where a client begins and as whom."""

    addresses: Sequence[str]
    username: str
    password: str

    def connect(self) -> ValkeyCluster:
        """A client of the library as applications make it: one address to begin with is enough, it is told the others."""
        nodes = [ClusterNode(host, int(port)) for host, _, port in (address.rpartition(":") for address in self.addresses)]
        return ValkeyCluster(
            startup_nodes=nodes,
            username=self.username,
            password=self.password,
            socket_timeout=SOCKET_SECONDS,
            socket_connect_timeout=SOCKET_SECONDS,
            decode_responses=True,
        )


@dataclass(slots=True)
class Record:
    """What the client saw: errors by their words, and the longest time without an answer."""

    errors: Counter[str] = field(default_factory=Counter)
    worst_gap: float = 0.0
    answered: float = field(default_factory=time.monotonic)
    lost: int = 0

    def succeeded(self) -> None:
        """An answer came."""
        now = time.monotonic()
        self.worst_gap = max(self.worst_gap, now - self.answered)
        self.answered = now

    def told(self) -> dict[str, Any]:
        """As it is printed."""
        return {"errors": self.errors.total(), "words": dict(self.errors), "worst_gap": self.worst_gap, "lost": self.lost}


class Application:
    """Writes values and reads them back, at a steady rate, whatever happens to the cluster meanwhile."""

    def __init__(self, client: ValkeyCluster, *, prefix: str, per_second: float) -> None:
        self._client = client
        self._prefix = prefix
        self._interval = 1.0 / per_second
        self._written: dict[str, str] = {}
        self.record = Record()

    def work(self, keys: Iterator[int]) -> Iterator[int]:
        """Write and read one key after the other; yields how many are done."""
        self.record.answered = time.monotonic()
        for done, number in enumerate(keys, 1):
            began = time.monotonic()
            key, value = f"{self._prefix}:{number:04}", f"{done} {time.time()}"
            self._repeat("SET", key, value)
            self._written[key] = value
            if self._repeat("GET", key) != value:
                self.record.lost += 1
            yield done
            time.sleep(max(0.0, self._interval - (time.monotonic() - began)))
            # The rate is ours, not the cluster's: a pause on purpose is no gap.
            self.record.answered = time.monotonic()

    def missing(self) -> int:
        """How many keys do not have the value that was written last, all of them read once more."""
        return sum(1 for key, value in self._written.items() if self._repeat("GET", key) != value)

    def spread(self) -> dict[str, int]:
        """How many keys each shard holds, by the endpoint of its primary."""
        where: Counter[str] = Counter()
        for key in self._written:
            node = self._client.get_node_from_key(key)
            where[node.name if node else "unknown"] += 1
        return dict(where)

    def _repeat(self, *command: str) -> object:
        """The answer, after as many attempts as it takes; every failure is recorded."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                answer: object = self._client.execute_command(*command)
            except FAILURES as error:
                self.record.errors[f"{type(error).__name__}: {error}"[:160]] += 1
                if time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE)
            else:
                self.record.succeeded()
                return answer


class Newcomers:
    """Connects anew again and again beside the application: who comes in the middle of a change is the first to meet a wrong address."""

    def __init__(self, login: Login, *, every: float = 0.25) -> None:
        self._login = login
        self._every = every
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.errors: Counter[str] = Counter()
        self.came = 0

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> dict[str, Any]:
        """End, and tell how many came and what they met."""
        self._over.set()
        self._thread.join()
        return {"newcomers": self.came, "newcomers_errors": self.errors.total(), "newcomers_words": dict(self.errors)}

    def _run(self) -> None:
        while not self._over.wait(self._every):
            self.came += 1
            try:
                client = self._login.connect()
                for number in range(12):  # enough to meet every shard
                    client.set(f"newcomer:{number}", self.came)
                client.close()
            except FAILURES as error:
                self.errors[f"{type(error).__name__}: {error}"[:160]] += 1


def main() -> None:
    """Do what standard input says: `work` (the default), `ask` one command, or `dial` an address."""
    lines = sys.stdin
    order = json.loads(lines.readline())
    match order.get("do", "work"):
        case "dial":
            _tell(**_dial(order["address"]))
        case "ask":
            _ask(_login(order), order["command"])
        case _:
            _work(_login(order), order, stopped=_closing(lines))


def _work(login: Login, order: Mapping[str, Any], *, stopped: threading.Event) -> None:
    """Work over so many keys, once or (`endless`) round and round until standard input is closed."""
    began = time.monotonic()
    client = login.connect()
    _tell(event="connected", seconds=time.monotonic() - began, nodes=sorted(node.name for node in client.get_nodes()))
    newcomers = Newcomers(login) if order.get("newcomers") else None
    if newcomers is not None:
        newcomers.start()
    keys = int(order.get("keys", 1000))
    application = Application(client, prefix=str(order.get("prefix", "demo")), per_second=float(order.get("per_second", 200)))
    numbers = _round_and_round(keys, stopped) if order.get("endless") else iter(range(keys))
    began = time.monotonic()
    done = 0
    for done in application.work(numbers):
        if done == keys // 2:
            _tell(event="half", done=done, seconds=time.monotonic() - began, **application.record.told())
    seconds = time.monotonic() - began
    met = newcomers.stop() if newcomers is not None else {}
    record = application.record.told()
    _tell(event="worked", done=done, seconds=seconds, spread=application.spread(), **record, **met)
    began = time.monotonic()
    _tell(event="checked", keys=min(keys, done), missing=application.missing(), seconds=time.monotonic() - began)


def _round_and_round(keys: int, stopped: threading.Event) -> Iterator[int]:
    number = 0
    while not stopped.is_set():
        yield number % keys
        number += 1


def _closing(lines: Any) -> threading.Event:  # noqa: ANN401 -- a text stream
    """Set once the stream is closed."""
    stopped = threading.Event()

    def wait() -> None:
        lines.read()
        stopped.set()

    threading.Thread(target=wait, daemon=True).start()
    return stopped


def _ask(login: Login, command: Sequence[str]) -> None:
    try:
        client = login.connect()
        answer: object = client.execute_command(*command)
    except (*FAILURES, ValueError) as error:  # it has no words of its own for some commands
        _tell(event="failed", why=str(error) or type(error).__name__)
        sys.exit(1)
    _tell(event="answered", answer=answer, by=_responsible(client, command))


def _responsible(client: ValkeyCluster, command: Sequence[str]) -> str:
    """The endpoint of the node that serves the command's keys; empty for a command without keys."""
    try:
        return str(client.nodes_manager.get_node_from_slot(client.determine_slot(*command)).name)
    except (*FAILURES, ValueError):  # the library cannot tell
        return ""


def _dial(address: str) -> dict[str, Any]:
    """Whether a TCP connection can be opened."""
    host, _, port = address.rpartition(":")
    began = time.monotonic()
    try:
        socket.create_connection((host, int(port)), timeout=SOCKET_SECONDS).close()
    except OSError as error:
        return {"event": "dialled", "open": False, "why": str(error) or type(error).__name__, "seconds": time.monotonic() - began}
    return {"event": "dialled", "open": True, "why": "", "seconds": time.monotonic() - began}


def _login(order: Mapping[str, Any]) -> Login:
    return Login(addresses=order["addresses"], username=order["username"], password=order["password"])


def _tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
