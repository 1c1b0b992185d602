"""The load balancer's process: watches Services, writes their status and the router's routes (see balancing.py).

It runs inside the router's network namespace: `python -m sandbox.balancer KUBECONFIG`. What is true is read anew at each turn;
watches only say that it is time for one, so a watch that stays silent costs seconds, not correctness.
"""

import sys
import threading
import time
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx2
from lightkube import ALL_NS, Client, KubeConfig
from lightkube.resources.core_v1 import Node, Service, ServiceStatus
from lightkube.resources.discovery_v1 import EndpointSlice
from lightkube.types import PatchType

from sandbox import balancing, views
from sandbox.addresses import Address
from sandbox.balancing import ServiceView, Wish
from sandbox.commands import run

PERIOD = 5.0  # seconds between turns when nothing happens
WATCH_TIMEOUT = 60
PAUSE_AFTER_ERROR = 0.5
GATHERING = 0.02  # seconds in which changes that come together are taken together
ROUTING_PROTOCOL = "200"  # marks our routes in the router


class Balancer:
    """Carries out what balancing decides, for as long as it runs."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._changed = threading.Event()
        self._wishes: dict[str, tuple[Wish | None, float]] = {}  # by UID: the wish, and since when
        self._complaints: dict[str, str] = {}

    def run(self) -> None:
        """Never returns."""
        for kind in (Service, Node, EndpointSlice):
            threading.Thread(target=self._watch, args=(kind,), daemon=True).start()
        wait = 0.0
        while True:
            self._changed.wait(wait)
            time.sleep(GATHERING)
            self._changed.clear()
            try:
                wait = self._turn()
            except httpx2.HTTPError as error:
                print(f"trying again: {error}", flush=True)
                wait = PAUSE_AFTER_ERROR

    def _watch(self, kind: type[Service] | type[Node] | type[EndpointSlice]) -> None:
        while True:
            try:
                for _ in self._events(kind):
                    self._changed.set()
            except httpx2.HTTPError as error:
                print(f"watching {kind.__name__} again: {error}", flush=True)
                time.sleep(PAUSE_AFTER_ERROR)

    def _events(self, kind: type[Service] | type[Node] | type[EndpointSlice]) -> Iterator[tuple[str, object]]:
        if issubclass(kind, Node):
            return self._client.watch(kind, server_timeout=WATCH_TIMEOUT)
        return self._client.watch(kind, namespace=ALL_NS, server_timeout=WATCH_TIMEOUT)

    def _turn(self) -> float:
        """Bring everything in line once; returns the seconds until the next turn is due."""
        services = [self._view(service.to_dict()) for service in self._client.list(Service, namespace=ALL_NS)]
        nodes = dict(filter(None, (views.ready_addresses(node.to_dict()) for node in self._client.list(Node))))
        slices = (piece.to_dict() for piece in self._client.list(EndpointSlice, namespace=ALL_NS))
        decision = balancing.decide(services, nodes=nodes, endpoints=views.endpoint_nodes(slices))
        set_routes(decision.routes)
        for (namespace, name), ingress in decision.ingress.items():
            status = {"status": {"loadBalancer": {"ingress": list(ingress) or None}}}
            self._client.patch(ServiceStatus, name, status, namespace=namespace, patch_type=PatchType.MERGE)
            print(f"{namespace}/{name}: {list(ingress)}", flush=True)
        return min(PERIOD, decision.look_again or PERIOD)

    def _view(self, service: Mapping[str, Any]) -> ServiceView:
        uid = service["metadata"]["uid"]
        try:
            wish = views.wish_of(service)
        except ValueError as error:
            self._complain(uid, f"{service['metadata']['namespace']}/{service['metadata']['name']} is given nothing: {error}")
            wish = Wish(give="none")
        before, since = self._wishes.get(uid, (None, 0.0))
        if wish != before:
            since = time.monotonic()
        self._wishes[uid] = (wish, since)
        return views.service(service, wish=wish, waited=time.monotonic() - since)

    def _complain(self, uid: str, complaint: str) -> None:
        if self._complaints.get(uid) != complaint:
            self._complaints[uid] = complaint
            print(complaint, flush=True)


def set_routes(wanted: Mapping[Address, Address]) -> None:
    """The router has exactly these routes of ours: address to node."""
    present = parse_routes("".join(run("ip", family, "route", "show", "proto", ROUTING_PROTOCOL) for family in ("-4", "-6")))
    changes = [
        f"route replace {address} via {via} proto {ROUTING_PROTOCOL}"
        for address, via in wanted.items()
        if present.get(address) != via
    ]
    changes += [f"route delete {address} proto {ROUTING_PROTOCOL}" for address in present if address not in wanted]
    if changes:
        run("ip", "-batch", "-", text="\n".join(changes) + "\n")


def parse_routes(lines: str) -> dict[Address, Address]:
    """Address and next hop of each line of `ip route`."""
    routes = {}
    for line in lines.splitlines():
        words = line.split()
        routes[ip_address(words[0])] = ip_address(words[words.index("via") + 1])
    return routes


def main() -> None:
    """Serve until ended."""
    client = Client(config=KubeConfig.from_file(Path(sys.argv[1])), field_manager="sandbox-balancer", trust_env=False)
    Balancer(client).run()


if __name__ == "__main__":
    main()
