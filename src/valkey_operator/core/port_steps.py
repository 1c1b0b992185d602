"""Changing which ports a Service has: those of one pod at a time.

Kubernetes keeps an EndpointSlice per set of ports. So each pod of a Service whose ports lead to single pods has a slice of its own, and when
the sets of several pods change in one write these slices are rewritten one after the other, any of them for any pod. For a moment one pod then
has no slice, so nobody has its ports, those that stay included: seen for 2–17 ms in half of all such changes, and a kube-proxy that looks just
then refuses connections until it looks again. The slice of a single pod is rewritten as a whole: no port is ever without its pod.

A port that leads to another pod than before, as a shard's does after a failover, concerns two pods. It moves in one write of its own: taken from
one pod in a step and given to the other in the next it would lead nowhere for longer than two slices take.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from valkey_operator.core import names
from valkey_operator.core.plan import ServicePort
from valkey_operator.core.ports import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from valkey_operator.core.observed import AllocatedPort, Observed, Service
    from valkey_operator.core.plan import ExternalService


def step(wanted: ExternalService, live: Service | None, observed: Observed) -> ExternalService:
    """The Service with the ports moved that lead elsewhere; where none does, with those of the next pod changed, once Kubernetes has followed.

    As wanted where the ports of just one pod change, and where none can change alone: a number passes from one pod to another.
    """
    if live is None:
        return wanted
    moved = _moved(wanted.ports, live.ports)
    if moved:
        return replace(wanted, ports=moved)
    changing = _changing(wanted.ports, live.ports)
    followed = has_followed(live, observed)
    if not changing or (followed and len(changing) == 1):
        return wanted
    waiting = frozenset(changing[1:] if followed else changing)
    ports = tuple(port for port in wanted.ports if port.target not in waiting)
    taken = {port.name for port in ports}
    kept = (as_it_is(port) for port in live.ports if port.target in waiting and port.name not in taken)
    now = beside(ports, kept)
    stuck = followed and {(port.name, port.port) for port in now} == {(port.name, port.port) for port in live.ports}
    return wanted if stuck else replace(wanted, ports=now)


def has_followed(live: Service, observed: Observed) -> bool:
    """Whether the EndpointSlices of a Service show the ports that it has now, as far as they lead to single pods."""
    served = {name for name in observed.served.get(live.name, frozenset()) if kind_of(name)}
    up = {names.container_port(index) for index, pod in observed.pods.items() if pod.ip and pod.running and not pod.deleting}
    if names.SERVING in live.selector:
        up &= {names.container_port(index) for index, pod in observed.pods.items() if pod.serving}
    return {port.name for port in live.ports if port.target in up} <= served <= {port.name for port in live.ports}


def beside(new: Iterable[ServicePort], kept: Iterable[ServicePort]) -> tuple[ServicePort, ...]:
    """New ports with those that are kept; one whose number is in use comes when that is free."""
    kept = tuple(kept)
    in_use = {port.port for port in kept}
    return (*(port for port in new if port.port not in in_use), *kept)


def as_it_is(port: AllocatedPort) -> ServicePort:
    """A port that stays as it is."""
    return ServicePort(port.name, port.port, port.target, node_port=port.node_port)


def _moved(wanted: Iterable[ServicePort], live: Sequence[AllocatedPort]) -> tuple[ServicePort, ...]:
    """The ports that a Service has, those that stay as they should be; empty where none of them leads elsewhere than it should.

    One whose name or number changes as well is another port: who has been told of it may still need what it was.
    """
    staying = {(port.name, port.port): port for port in wanted}
    now = tuple((port, staying.get((port.name, port.port))) for port in live)
    if all(stays is None or stays.target == port.target for port, stays in now):
        return ()
    return tuple(stays or as_it_is(port) for port, stays in now)


def _changing(wanted: Iterable[ServicePort], live: Iterable[AllocatedPort]) -> Sequence[str]:
    """The single pods, by the names of their container ports, that get other ports than they have."""
    new, old = _by_pod(wanted), _by_pod(live)
    return sorted(target for target in new.keys() | old.keys() if new.get(target) != old.get(target))


def _by_pod(ports: Iterable[ServicePort | AllocatedPort]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for port in ports:
        if isinstance(port.target, str):
            found.setdefault(port.target, set()).add(port.name)
    return found
