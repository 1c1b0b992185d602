"""External access in one pass: Services, endpoints, announcements, draining, and the word that the status has for all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from valkey_operator.api.conditions import Reason
from valkey_operator.core import places, settings, tls, transition, versions
from valkey_operator.core.access import access
from valkey_operator.core.access_status import draining, external_status, lack
from valkey_operator.core.health import Lack
from valkey_operator.core.hosts import Missing
from valkey_operator.core.observed import Server
from valkey_operator.core.plan import Announce, AnnounceFile, Ensure, Record, Remove
from valkey_operator.core.routes import routes_now

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from valkey_operator.api.status import ExternalAccessStatus
    from valkey_operator.core.access import Access
    from valkey_operator.core.access_status import Draining
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Announcement, Observed
    from valkey_operator.core.plan import Action
    from valkey_operator.core.routes import RoutesNow
    from valkey_operator.core.topology import Topology
    from valkey_operator.core.transition import Services


@dataclass(frozen=True, slots=True)
class Outside:
    """What external access is and needs now."""

    access: Access
    services: Services
    routes: RoutesNow
    drain: Draining | None
    lack: Lack | None
    """What keeps it from being ready; None when it is ready, or off with nothing left of it."""
    status: ExternalAccessStatus | None

    @property
    def awaited(self) -> frozenset[Reason]:
        """Everything that is waited for, be it what is told or not."""
        missing = (endpoint.reason for endpoint in self.access.endpoints.values() if isinstance(endpoint, Missing))
        return frozenset(missing) | ({self.lack.reason} if self.lack is not None else set())


def outside(observed: Observed, topology: Topology, *, now: datetime) -> Outside:
    """Everything about external access, from what was observed."""
    found = access(observed, now=now)
    wanted = transition.wanted_services(observed)
    services = transition.services(observed, topology, drained=False)
    routes = routes_now(observed, wanted, drained=False)
    leftovers = (*services.leftovers, *routes.leftovers)
    drain = draining(observed, topology, found, leftovers, now=now)
    if drain is not None and drain.over(now):
        services = transition.services(observed, topology, drained=True)
        routes = routes_now(observed, wanted, drained=not services.other_class)
    missing = _lack(observed, topology, found, leftovers, drain, now=now)
    status = external_status(observed, topology, found, leftovers, ready=missing is None, drain=drain)
    return Outside(found, services, routes, drain, missing, status)


def object_actions(external: Outside) -> Iterator[Action]:
    """Services and routes made, changed in place, and removed once nobody needs them."""
    yield from (Ensure(service) for service in external.services.ensured)
    yield from (Remove("Service", service.name, service.uid) for service in external.services.removed)
    yield from (Ensure(route) for route in external.routes.ensured)
    yield from (Remove(route.kind, route.name, route.uid) for route in external.routes.removed)


def announcements(observed: Observed, records: Mapping[NodeIndex, Announcement | None]) -> Iterator[Action]:
    """What each node announces: changed as one action where record or server differ, kept in record and file otherwise.

    A file that a server may read which cannot announce the whole pair holds nothing of it: that server begins at its place inside.
    """
    secured = observed.tls is not None
    for index, announcement in records.items():
        record = observed.records.get(index)
        if record is None:
            continue
        place, version = places.place(observed, index), versions.of_file(observed, index)
        written = announcement if announcement is not None and settings.carries(announcement, version=version) else None
        if written is None and places.named_place(observed, index) is not None:
            written = place  # the certificate may not cover the address that a server begins with by itself
        has_file = written is not None or index in observed.files
        file = AnnounceFile(index, record.uid, settings.announce_file(written, version=version, tls=secured)) if has_file else None
        wanted = Record(index, announcement)
        server, pair = observed.servers.get(index), announcement or place
        values: dict[str, str] = {}
        if isinstance(server, Server) and pair is not None:
            values = settings.announcing(pair, version=server.version, tls=secured)
            values |= settings.drift(places.among_servers(observed, index), server.config)
        differs = isinstance(server, Server) and bool(settings.drift(values, server.config))
        if record.announce != announcement or differs:
            yield Announce(index, wanted, file, values if differs else None)
        else:
            yield Ensure(wanted)
            if file is not None:
                yield Ensure(file)


def _lack(
    observed: Observed, topology: Topology, found: Access, leftovers: tuple[str, ...], drain: Draining | None, *, now: datetime
) -> Lack | None:
    if found.enabled:
        uncertified = tls.lack(observed, now=now)
        if uncertified is not None:
            return uncertified
        missing = lack(observed, topology, found, now=now)
        return Lack(missing.reason, missing.message) if missing is not None else None
    if not leftovers:
        return None
    if drain is None:
        late = ", ".join(str(index) for index in topology.wanted if index not in found.arrived)
        return Lack(
            Reason.ANNOUNCING,
            f"external access is off; servers are being told to announce their places inside{f', not yet done: nodes {late}' if late else ''}",
        )
    if drain.over(now):
        names = ", ".join(dict.fromkeys(name.partition(":")[0] for name in leftovers))
        return Lack(
            Reason.DRAINING,
            f"external access is off; what is left of it goes: {names}; what stays is held by who its metadata.finalizers name",
        )
    return Lack(
        Reason.DRAINING,
        f"external access is off; its Services stay for clients with old endpoints until {drain.until:%H:%M:%S} UTC",
    )
