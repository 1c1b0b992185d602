"""Asks every server of a cluster, over and over, what it tells clients, and dials what it should tell: when was what so."""

from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from valkey import Valkey

from bench.clusters import BenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bench.clusters import Server

PERIOD = 0.02
PATIENCE = 60.0
DIALING = 0.2


class Witness:
    """Watches while `with` holds how new endpoints come to be told; moments are monotonic."""

    def __init__(self, servers: Iterable[Server], expected: Callable[[], set[str]], *, login: Mapping[str, Any]) -> None:
        """`expected`: the new endpoints (`host:port`), empty until all of them are known."""
        self._expected = expected
        self._links = [connect(server, login) for server in servers]
        self._moments: dict[str, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for link in self._links:
            link.close()

    def told(self) -> tuple[float, float, float]:
        """When the last endpoint was known, when the last one answered, when the last server told the last one. Waits for that."""
        self._thread.join(PATIENCE)
        if len(self._moments) < 3:  # noqa: PLR2004 -- the three
            raise BenchError(f"not all servers told the new endpoints within {PATIENCE:.0f} s")
        return self._moments["known"], self._moments["answered"], self._moments["told"]

    def _watch(self) -> None:
        expected = self._until("known", self._expected)
        dialing = threading.Thread(target=self._until, args=("answered", lambda: all(map(_answers, expected))))
        dialing.start()
        self._until("told", lambda: all(set(pairs(link)) == expected for link in self._links))
        dialing.join()

    def _until(self, moment: str, holds: Callable[[], Any]) -> Any:  # noqa: ANN401 -- what the question answers
        while not self._over.wait(PERIOD):
            if answer := holds():
                self._moments[moment] = time.monotonic()
                return answer
        return set()


def connect(server: Server, login: Mapping[str, Any]) -> Valkey:
    """A connection to one server at its pod's address; with TLS `login` has `trust`, a file with its authorities."""
    secured: dict[str, Any] = (
        {"ssl": True, "ssl_ca_certs": str(login["trust"]), "ssl_check_hostname": False} if "trust" in login else {}
    )
    link = Valkey(
        server.ip, 6379, username=login["username"], password=login["password"], decode_responses=True, socket_timeout=5, **secured
    )
    link.response_callbacks.pop(
        "CLUSTER NODES", None
    )  # its reply is wanted as it is: the library's dictionary leaves host names out
    return link


def pairs(link: Valkey) -> Sequence[str]:
    """Host and port of every node as one server tells them; without a host where it knows none."""
    places = (line.split()[1].partition(",") for line in str(link.execute_command("CLUSTER NODES")).splitlines())
    return [f"{host}:{address.partition('@')[0].rpartition(':')[2]}" for address, _, host in places]


def _answers(pair: str) -> bool:
    host, _, port = pair.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=DIALING):
            return True
    except OSError:
        return False
