"""Port numbers of Services: what is allocated stays, what is new takes the number that it prefers, or the lowest free one.

Somebody else may put ports of his own on a Service. Their numbers are taken, and that is all that they are.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from valkey_operator.core.observed import Service

LAST = 65535
OF_ONE_NODE = ("np", "lb")
"""The kinds of ports on a shard's Service that lead to one node each; the others lead to its primary."""

_NAME = re.compile(r"(?P<kind>np|lb|sni|tcp)-(?P<place>bootstrap|shard|\d+(?:-\d+)?)(?:-p(?P<port>\d+))?")


def kind_of(name: str) -> str:
    """Of which kind of external access a Service's port is: np, lb, sni, tcp; empty for none."""
    match = _NAME.fullmatch(name)
    return match["kind"] if match else ""


def without_others(service: Service) -> Service:
    """A Service with its ports for external access alone."""
    return replace(service, ports=tuple(port for port in service.ports if kind_of(port.name)))


def taken_by_others(service: Service | None) -> set[int]:
    """The numbers of the ports that somebody else put on a Service."""
    return {port.port for port in service.ports if not kind_of(port.name)} if service is not None else set()


def settled(live: Service | None, name: str, *, preferred: int, taken: set[int], told: int | None = None) -> tuple[str, int]:
    """The name and number of a port that a user chooses the number of: `lb-0` with the preferred number, read back where it exists.

    A port never moves. When the user asks for another number the port for that gets a name of its own (`lb-0-p7000`) and stands beside the
    old one until nobody holds the old endpoint any more. So does a port that has another number than the preferred one, since that was
    `taken` by another port of the Service: its name tells what it was made for, also when that number becomes free. `told`: the number that it
    had, where somebody deleted the Service.
    """
    ports = _numbers(live)
    own = named(live, name, preferred)
    if own in ports:
        return own, ports[own]
    number = free(told or preferred, taken | set(ports.values()))
    return (own if number == preferred else _apart(name, preferred)), number


def named(live: Service | None, name: str, number: int) -> str:
    """The name of a port that is wanted for a number: `lb-0`, or `lb-0-p7000` where that has it or where `lb-0` has another number."""
    ports, apart = _numbers(live), _apart(name, number)
    return apart if apart in ports or ports.get(name, number) != number else name


def _apart(name: str, number: int) -> str:
    return f"{name}-p{number}"


def _numbers(live: Service | None) -> dict[str, int]:
    return {port.name: port.port for port in live.ports} if live is not None else {}


def free(preferred: int, taken: set[int]) -> int:
    """The lowest number from the preferred one up that is not taken; where there is none up to the last port, the highest one below."""
    upwards = (number for number in range(preferred, LAST + 1) if number not in taken)
    downwards = (number for number in range(min(preferred, LAST), 0, -1) if number not in taken)
    return next(upwards, None) or next(downwards)
