"""Asks every server of a cluster, over and over, what it tells clients, and notes when the last one tells the last pair."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from valkey import Valkey

from bench.clusters import NODES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.clusters import Clusters, Server

PERIOD = 0.02


class Witness:
    """Watches a cluster whose external access is being turned on; `known` and `told` are moments (monotonic), None before."""

    def __init__(self, clusters: Clusters, name: str, *, login: Mapping[str, Any]) -> None:
        self._clusters = clusters
        self._name = name
        self._servers = clusters.servers(name)
        self._links = [connect(server, login) for server in self._servers]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.known: float | None = None
        self.told: float | None = None

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()
        for link in self._links:
            link.close()

    def _watch(self) -> None:
        expected: set[str] = set()
        while not self._over.wait(PERIOD) and self.told is None:
            if self.known is None:
                ports = self._clusters.node_ports(self._name)
                if len(ports) == NODES:
                    self.known = time.monotonic()
                    expected = {f"{server.host_ip}:{ports[server.shard, server.node]}" for server in self._servers}
            elif all(set(pairs(link)) == expected for link in self._links):
                self.told = time.monotonic()


def connect(server: Server, login: Mapping[str, Any]) -> Valkey:
    """A connection to one server at its pod's address."""
    link = Valkey(server.ip, 6379, username=login["username"], password=login["password"], decode_responses=True, socket_timeout=5)
    link.response_callbacks.pop(
        "CLUSTER NODES", None
    )  # its reply is wanted as it is: the library's dictionary leaves host names out
    return link


def pairs(link: Valkey) -> Sequence[str]:
    """Host and port of every node as one server tells them."""
    lines = str(link.execute_command("CLUSTER NODES")).splitlines()
    return [f"{place.split(',')[1]}:{place.split('@')[0].rpartition(':')[2]}" for place in (line.split()[1] for line in lines)]
