"""The TCPRoutes of the world, and the two Gateways that they attach to: each takes or refuses a route a moment after it was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from valkey_operator.core.observed import Gateway, Listener, Route, Routing, Verdict
from valkey_operator.core.times import stamp

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from scenario.timeline import Timeline
    from valkey_operator.core.observed import ListenerRef
    from valkey_operator.core.plan import ExternalRoute

GATEWAYS = {"edge/public": "203.0.113.9", "edge/other": "203.0.113.10"}
"""Where each listens."""
LISTENERS = range(6380, 6400)
DELAY = (0.05, 0.5)
"""Seconds until Gateways follow a route, and have said so."""


@dataclass(slots=True)
class LiveRoute:
    """A route as it stands."""

    wanted: ExternalRoute
    uid: str
    created: datetime
    followed: ExternalRoute | None = None
    """As its Gateways lead connections by it."""
    accepted: bool | None = None
    accepted_before: tuple[ListenerRef, ...] = ()
    """The parents that took it as it was before."""

    def view(self) -> Route:
        """What the operator sees of it."""
        return Route(
            kind=self.wanted.kind,
            namespace="shop",
            name=self.wanted.name,
            uid=self.uid,
            created=stamp(self.created),
            deleting=False,
            ours=True,
            parents=self.wanted.parents,
            verdicts=tuple(
                Verdict(
                    parent.text,
                    self.accepted,
                    accepted_before=self.accepted is None and parent in self.accepted_before,
                    message="" if self.accepted is not False else "NotAllowedByListeners",
                )
                for parent in self.wanted.parents
            ),
        )


class Routes:
    """Routes by name."""

    def __init__(self, timeline: Timeline, *, changed: Callable[[], None]) -> None:
        self.timeline, self.changed = timeline, changed
        self.live: dict[str, LiveRoute] = {}
        self.refused: set[str] = set()
        """Names of routes that no Gateway accepts."""
        self._uids = 0

    def ensure(self, wanted: ExternalRoute) -> bool:
        """Make a route as wanted; whether anything had to be written."""
        live = self.live.get(wanted.name)
        if live is None:
            self._uids += 1
            live = self.live[wanted.name] = LiveRoute(wanted, f"route-{self._uids}", self.timeline.moment)
        elif live.wanted == wanted:
            return False
        if live.accepted is not None:
            live.accepted_before = live.wanted.parents if live.accepted else ()
        live.wanted, live.accepted = wanted, None
        self.timeline.between(*DELAY, self._follow, live)
        return True

    def _follow(self, live: LiveRoute) -> None:
        if self.live.get(live.wanted.name) is live:
            live.accepted = live.wanted.name not in self.refused
            live.followed = live.wanted if live.accepted else None
            self.changed()

    def judge_anew(self, *refused: str) -> None:
        """Somebody changes the Gateways: they refuse these routes from now on, and no others."""
        self.refused = set(refused)
        for live in self.live.values():
            self._follow(live)

    def delete(self, name: str, uid: str | None = None) -> None:
        """The route goes, and with it the way that it led."""
        live = self.live.get(name)
        if live is not None and uid in (None, live.uid):
            del self.live[name]
            self.changed()

    def at(self, host: str, number: int) -> ExternalRoute | None:
        """The route that a Gateway follows at its address and port."""
        for live in self.live.values():
            for parent in live.followed.parents if live.followed is not None else ():
                if (GATEWAYS[parent.gateway], parent.port) == (host, number):
                    return live.followed
        return None

    def view(self) -> Routing:
        """What the operator sees of all this."""
        listeners = tuple(Listener(f"tcp-{port}", port, "TCP") for port in LISTENERS)
        return Routing(
            served={"TCPRoute": "gateway.networking.k8s.io/v1"},
            routes=tuple(live.view() for live in self.live.values()),
            gateways={key: Gateway(*key.split("/"), (address,), listeners) for key, address in GATEWAYS.items()},
        )
