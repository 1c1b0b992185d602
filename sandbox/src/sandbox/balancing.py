"""What the load balancer wants: from what is asked of it and what there is, addresses and routes. Pure.

A Service of type LoadBalancer says by annotations how it wants to be treated:

    sandbox.valkey.io/delay    seconds until it is given something (counted anew when its annotations change)
    sandbox.valkey.io/give     ip (default), hostname, both, none
    sandbox.valkey.io/count    how many addresses, of each family that the Service has
    sandbox.valkey.io/address  these addresses or host names, comma-separated, instead of some of the pool
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from sandbox.addresses import LOAD_BALANCERS, Address, Addresses, Network

PREFIX = "sandbox.valkey.io/"
CLASS = f"{PREFIX}balancer"
GIFTS = ("ip", "hostname", "both", "none")
POOLS: Mapping[str, Network] = {"IPv4": LOAD_BALANCERS.ipv4, "IPv6": LOAD_BALANCERS.ipv6}

Ingress = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Wish:
    """How a Service wants to be treated."""

    delay: float = 0.0
    give: str = "ip"
    count: int = 1
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceView:
    """A Service as the load balancer sees it. `waited`: seconds since its wish is what it is."""

    namespace: str
    name: str
    wish: Wish | None  # None: it wants no load balancer, or another one
    ingress: Ingress = ()
    families: tuple[str, ...] = ("IPv4",)  # in this order it is given addresses
    is_local: bool = False  # only nodes with an endpoint of it may take its traffic
    waited: float = 0.0


@dataclass(frozen=True, slots=True)
class Decision:
    """Which Services get which status, which address is routed to which node, and when to look again (seconds)."""

    ingress: Mapping[tuple[str, str], Ingress]
    routes: Mapping[Address, Address]
    look_again: float | None


def wish(annotations: Mapping[str, str], *, requested: str | None = None) -> Wish:
    """The wish in a Service's annotations (`requested`: its loadBalancerIP); raises ValueError with what is wrong."""
    give = annotations.get(f"{PREFIX}give", "ip")
    if give not in GIFTS:
        raise ValueError(f"{PREFIX}give is {give!r}, not one of {', '.join(GIFTS)}")
    named = annotations.get(f"{PREFIX}address", requested or "")
    addresses = tuple(filter(None, (part.strip() for part in named.split(","))))
    count = annotations.get(f"{PREFIX}count", str(len(addresses) or 1))
    if not count.isdecimal():
        raise ValueError(f"{PREFIX}count is {count!r}, not a number")
    delay = annotations.get(f"{PREFIX}delay", "0")
    if not re.fullmatch(r"\d+(\.\d+)?", delay):
        raise ValueError(f"{PREFIX}delay is {delay!r}, not a number of seconds")
    return Wish(delay=float(delay), give=give, count=int(count), addresses=addresses)


def decide(
    services: Iterable[ServiceView],
    *,
    nodes: Mapping[str, Addresses],
    endpoints: Mapping[tuple[str, str], frozenset[str]],
) -> Decision:
    """Give every Service what it wants. `nodes`: the ready ones; `endpoints`: the nodes that have ready endpoints of a Service."""
    services = sorted(services, key=lambda service: (service.namespace, service.name))
    held = {address for service in services if service.wish for address in _pool_addresses(service)}
    ingress: dict[tuple[str, str], Ingress] = {}
    routes: dict[Address, Address] = {}
    look_again: list[float] = []
    for service in services:
        key = (service.namespace, service.name)
        wanted: Ingress = ()
        if service.wish and (left := service.wish.delay - service.waited) > 0:
            look_again.append(left)
            wanted = service.ingress
        elif service.wish:
            wanted = _gift(service, service.wish, taken=held)
            held |= {address for entry in wanted if (address := _pool_address(entry))}
        if wanted != service.ingress:
            ingress[key] = wanted
        able = {name: nodes[name] for name in endpoints.get(key, frozenset()) if name in nodes} if service.is_local else nodes
        for entry in wanted:
            if "ip" in entry and able:
                address = ip_address(entry["ip"])
                routes[address] = _chosen(address, able)
    return Decision(ingress=ingress, routes=routes, look_again=min(look_again, default=None))


def _gift(service: ServiceView, wanted: Wish, *, taken: set[Address]) -> Ingress:
    if wanted.give == "none":
        return ()
    asked_ips = [name for name in wanted.addresses if _is_ip(name)]
    asked_hosts = [name for name in wanted.addresses if not _is_ip(name)]
    entries: list[dict[str, Any]] = []
    ips = asked_ips or [ip for family in service.families for ip in _from_pool(service, wanted.count, POOLS[family], taken=taken)]
    hosts = asked_hosts or [_host(service, index) for index in range(wanted.count)]
    for index in range(max(len(ips), len(hosts)) if wanted.give == "both" else len(hosts if wanted.give == "hostname" else ips)):
        entry: dict[str, Any] = {}
        if wanted.give in {"ip", "both"} and index < len(ips):
            entry |= {"ip": ips[index], "ipMode": "VIP"}
        if wanted.give in {"hostname", "both"} and index < len(hosts):
            entry |= {"hostname": hosts[index]}
        entries.append(entry)
    return tuple(entries)


def _from_pool(service: ServiceView, count: int, pool: Network, *, taken: set[Address]) -> list[str]:
    """Addresses that it holds already, then the lowest free ones."""
    kept = [address for address in _pool_addresses(service) if address in pool][:count]
    free = (address for address in pool.hosts() if address not in taken)
    return [str(address) for address in [*kept, *(address for address, _ in zip(free, range(count - len(kept)), strict=False))]]


def _pool_addresses(service: ServiceView) -> list[Address]:
    return [address for entry in service.ingress if (address := _pool_address(entry))]


def _pool_address(entry: Mapping[str, Any]) -> Address | None:
    address = ip_address(entry["ip"]) if _is_ip(entry.get("ip", "")) else None
    return address if address and any(address in pool for pool in POOLS.values()) else None


def _host(service: ServiceView, index: int) -> str:
    number = f"-{index}" if index else ""
    return f"{service.name}{number}.{service.namespace}.lb.sandbox"


def _is_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _chosen(address: Address, nodes: Mapping[str, Addresses]) -> Address:
    """One of the nodes, by a draw in which the loss of another node changes nothing."""
    winner: str = max(nodes, key=lambda name: hashlib.sha256(f"{address} {name}".encode()).digest())
    return next(own for own in nodes[winner] if own.version == address.version)
