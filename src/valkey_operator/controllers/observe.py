"""Looking: what the mirror holds of one cluster, what its servers say, and whether new endpoints answer."""

from __future__ import annotations

import asyncio
import secrets as randomness
import socket
import string
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from valkey_operator.controllers import secret_views
from valkey_operator.controllers.following import Following
from valkey_operator.controllers.service_events import ServiceEvents
from valkey_operator.controllers.trust import Trust
from valkey_operator.core import access, names, resolving, settings, tls
from valkey_operator.core.claims import Contender, claims, contends
from valkey_operator.core.observed import Cluster, Observed, Passwords, Probe, Server, Snippet, Unreachable
from valkey_operator.core.users import OPERATOR
from valkey_operator.kube.errors import NotFound
from valkey_operator.kube.kinds import SECRET, Key
from valkey_operator.valkey.address import Address, Credentials
from valkey_operator.valkey.errors import Malformed, ValkeyError
from valkey_operator.valkey.handshake import answering, served_certificate
from valkey_operator.valkey.look import look

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from valkey_operator.controllers.mirror import Mirror
    from valkey_operator.controllers.views import Slice
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Announcement, Pod, Tls
    from valkey_operator.kube.client import Kube
    from valkey_operator.valkey.address import Tls as Secured
    from valkey_operator.valkey.connection import Servers
    from valkey_operator.valkey.look import Look

_RESOLVE_SECONDS = 2.0
_PASSWORD_LENGTH = 32
_ALPHABET = string.ascii_letters + string.digits


class Eyes:
    """Observes clusters. Keeps connections, the values of users' Secrets of one version and what was said a moment ago, nothing that cannot be lost."""

    def __init__(
        self,
        kube: Kube,
        mirror: Mirror,
        servers: Servers,
        *,
        domain: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`domain` is that of Kubernetes' own names."""
        self._domain = domain
        self._kube = kube
        self._mirror = mirror
        self._servers = servers
        self._now = now
        self._trust = Trust()
        self._events = ServiceEvents(kube, now=now)
        self._following = Following(mirror, now=now)
        self._user_secrets: dict[tuple[str, str, str], secret_views.Secret] = {}

    async def observe(self, cluster: Cluster, *, only: NodeIndex | None = None) -> Observed:
        """Everything about one cluster; `only`: ask that one server and no other, for a look at rest."""
        known = await self._known(cluster)
        asked = {index: pod for index, pod in known.pods.items() if only in (None, index)}
        answers = await asyncio.gather(*(self._ask(known, index, pod) for index, pod in asked.items()))
        seen = replace(known, servers=dict(zip(asked, answers, strict=True)))
        if only is not None:
            return seen
        seen = replace(seen, resolved=await _resolved(resolving.names_to_resolve(seen)))
        seen = replace(seen, probes=await self._probes(seen, access.candidates(seen)))
        return replace(seen, service_warnings=await self._service_warnings(seen))

    async def address(self, observed: Observed, index: NodeIndex) -> Address | None:
        """Where a node's server is asked, as whom, and how the connection is secured; None while that cannot be."""
        pod = observed.pods.get(index)
        if pod is None or pod.ip is None:
            return None
        tls = await self._trust.secured(observed, index, now=self._now())
        return self._as_operator(observed, pod.ip, names.CLIENT_PORT, tls)

    def _as_operator(self, observed: Observed, host: str, port: int, tls: Secured | None) -> Address | None:
        if observed.passwords is None or (observed.tls is not None and tls is None):
            return None
        return Address(host, port, Credentials(OPERATOR, observed.passwords.operator), tls)

    async def prune(self) -> None:
        """Close connections to servers whose pods are gone, and forget Secrets of old versions."""
        ips = {seen.view.ip for seen in self._mirror.pods.store.all()}
        await self._servers.prune(Address(ip, names.CLIENT_PORT, Credentials(OPERATOR, "")) for ip in ips if ip is not None)
        current = {(view.namespace, view.name, view.version) for view in self._mirror.user_secrets.store.all()}
        self._user_secrets = {key: value for key, value in self._user_secrets.items() if key in current}
        self._trust.prune()
        self._events.prune()
        self._following.prune()

    async def _known(self, cluster: Cluster) -> Observed:
        """What the mirror holds, no server asked yet."""
        mirror, key = self._mirror, Key(cluster.namespace, cluster.name)
        secrets = {seen.child.name: seen.view for seen in mirror.secrets.store.by(key)}
        system = secrets.get(names.system_secret(cluster.name))
        servers_secret = secrets.get(names.acl_secret(cluster.name))
        wanted = set(names.node_indexes(shards=cluster.spec.shards, replicas=cluster.spec.replicas))
        return Observed(
            cluster=cluster,
            records={seen.child.index: seen.view for seen in mirror.records.store.by(key) if seen.child.index in wanted},
            workloads={seen.child.index: seen.view for seen in mirror.workloads.store.by(key) if seen.child.index in wanted},
            pods={seen.child.index: seen.view for seen in mirror.pods.store.by(key) if seen.child.index in wanted},
            files=frozenset(child.index for child in mirror.config_maps.store.by(key) if child.index is not None),
            services={seen.child.name: seen.view for seen in mirror.services.store.by(key) if seen.child.is_owned_by(cluster.uid)},
            served=_served(mirror.slices.store.by(key)),
            followed=self._following.due(cluster.namespace),
            machines={view.name: view for view in mirror.machines.store.all()} if mirror.machines is not None else None,
            passwords=secret_views.passwords(system) if system is not None else None,
            fresh_passwords=Passwords(operator=_password(), replication=_password(), default=_password()),
            acl=secret_views.acl(servers_secret) if servers_secret is not None else None,
            user_passwords=await self._user_passwords(cluster),
            servers={},
            tls=await self._tls(cluster, secrets.get(names.tls_secret(cluster.name))),
            claims=self._claims(cluster),
            snippet=self._snippet(cluster),
            domain=self._domain,
            routing=mirror.routing.routing(cluster),
        )

    def _snippet(self, cluster: Cluster) -> Snippet | None:
        """Only our own: one of that name that belongs to somebody else is not for us to remove."""
        child = self._mirror.config_maps.store.get(cluster.namespace, names.dns_snippet(cluster.name))
        if child is None or child.deleting or not child.is_owned_by(cluster.uid):
            return None
        return Snippet(child.uid, child.owned.get("data", {}).get(names.dns_file(cluster.name, cluster.namespace), ""))

    def _claims(self, cluster: Cluster) -> Mapping[str, str]:
        """The endpoints that other clusters have."""
        if not contends(cluster):
            return {}
        clusters = (other for other in self._mirror.clusters.store.all() if isinstance(other, Cluster) and other.uid != cluster.uid)
        return claims(self._contender(cluster), map(self._contender, clusters))

    def _contender(self, cluster: Cluster) -> Contender:
        records = (seen.view for seen in self._mirror.records.store.by(Key(cluster.namespace, cluster.name)))
        return Contender(cluster, frozenset(record.announce.address for record in records if record.announce is not None))

    async def _service_warnings(self, observed: Observed) -> Mapping[str, str]:
        """What the cloud says of balancers that it does not make, or not wholly; of all others nobody asks."""
        troubled = access.troubled_balancers(observed)
        keys = (Key(observed.cluster.namespace, name) for name in troubled)
        said = await asyncio.gather(*(self._events.newest_warning(key) for key in keys))
        return dict(zip(troubled, said, strict=True))

    async def _tls(self, cluster: Cluster, standing: secret_views.Secret | None) -> Tls | None:
        if cluster.spec.tls is None:
            return None
        offered = await self._user_secret(cluster.namespace, cluster.spec.tls.certificate.secret_name)
        return await self._trust.tls(offered, standing)

    async def _user_passwords(self, cluster: Cluster) -> Mapping[str, tuple[str, ...] | str]:
        found: dict[str, tuple[str, ...] | str] = {}
        for user in cluster.spec.users:
            if user.needs_password:
                secret = await self._user_secret(cluster.namespace, user.secret_name(cluster.name))
                found[user.name] = secret_views.user_passwords(user, cluster=cluster.name, secret=secret)
        return found

    async def _user_secret(self, namespace: str, name: str) -> secret_views.Secret | None:
        """A user's Secret in the version that the mirror has seen; None where there is none."""
        view = self._mirror.user_secrets.store.get(namespace, name)
        if view is None:
            return None
        key = (view.namespace, view.name, view.version)
        if key not in self._user_secrets:
            try:
                self._user_secrets[key] = secret_views.values(await self._kube.get(SECRET, name, namespace))
            except NotFound:
                return None
        return self._user_secrets[key]

    async def _ask(self, observed: Observed, index: NodeIndex, pod: Pod) -> Server | Unreachable:
        if pod.ip is None or not pod.running:
            return Unreachable("its pod does not run")
        try:
            address = await self.address(observed, index)
            if address is None:
                return Unreachable("there is no password or no certificate for it yet")
            server = _server(await look(self._servers, address, settings.ASKED))
            if not tls.in_doubt(observed, index, server):
                return server
            return replace(server, served_certificate=await served_certificate(address))
        except ValkeyError as error:
            return Unreachable(str(error))

    async def _probes(self, observed: Observed, endpoints: Iterable[Announcement]) -> Mapping[Announcement, Probe]:
        """Who answers at endpoints, each over a connection of its own: one that was open before proves nothing."""
        listed = tuple(endpoints)
        answers = await asyncio.gather(*(self._probe(observed, endpoint) for endpoint in listed))
        return {endpoint: answer for endpoint, answer in zip(listed, answers, strict=True) if answer is not None}

    async def _probe(self, observed: Observed, endpoint: Announcement) -> Probe | None:
        tls = await self._trust.secured(observed, None, now=self._now(), dialled=endpoint.host)
        address = self._as_operator(observed, endpoint.host, endpoint.port, tls)
        if address is None:
            return None
        try:
            return Probe(await answering(address))
        except ValkeyError as error:
            return Probe(None, str(error))


def _server(seen: Look) -> Server:
    if not any(member.myself for member in seen.members):
        raise Malformed("CLUSTER NODES does not tell the asked server itself")
    return Server(
        id=seen.id,
        version=seen.version,
        primary=seen.primary,
        link_up=seen.link_up,
        offset=seen.offset,
        loading=seen.loading,
        state_ok=seen.state == "ok",
        members=seen.members,
        config=seen.config,
    )


def _served(slices: Iterable[Slice]) -> Mapping[str, frozenset[str]]:
    """The ports that each Service's slices have together."""
    found: dict[str, frozenset[str]] = {}
    for each in slices:
        found[each.service] = found.get(each.service, frozenset()) | each.ports
    return found


def _password() -> str:
    return "".join(randomness.choice(_ALPHABET) for _ in range(_PASSWORD_LENGTH))


async def _resolved(hosts: Iterable[str]) -> Mapping[str, bool]:
    listed = tuple(hosts)
    return dict(zip(listed, await asyncio.gather(*(_resolves(host) for host in listed)), strict=True))


async def _resolves(host: str) -> bool:
    """Whether a name has an address where the operator runs, which is inside."""
    try:
        async with asyncio.timeout(_RESOLVE_SECONDS):
            return bool(await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM))
    except (OSError, TimeoutError):
        return False
