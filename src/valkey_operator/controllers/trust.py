"""Certificates out of Secrets, and connections that are secured by them.

What is worked out here depends on texts alone and is kept by them: parsing and the making of contexts take milliseconds each, and so long as
there is no cluster with TLS not even the library for it is loaded. All of it happens in a thread, beside the event loop.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import TYPE_CHECKING, TypeVar

from valkey_operator.core import names, places
from valkey_operator.core.certificates import AUTHORITIES_KEY, CERTIFICATE_KEY, PRIVATE_KEY, Certificate, Flawed, identity
from valkey_operator.core.observed import Tls
from valkey_operator.core.times import parsed
from valkey_operator.valkey.address import Tls as Secured

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence
    from datetime import datetime
    from types import ModuleType

    from valkey_operator.controllers.secret_views import Secret
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Observed

T = TypeVar("T")

_NO_CHECK_TIME = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL, which Python has no name for."""

_MEMORY_SECONDS = 600.0
"""Many times longer than the time between two looks at a cluster at rest."""

_ABSENT = Flawed(("it does not exist: create it with the keys tls.crt, tls.key and ca.crt",))


class Trust:
    """Reads certificates and makes contexts, each once."""

    def __init__(self) -> None:
        self._made: dict[Hashable, object] = {}
        self._used: dict[Hashable, float] = {}
        self._making = asyncio.Lock()

    async def tls(self, offered: Secret | None, standing: Secret | None) -> Tls:
        """The certificates of a cluster, from the user's Secret and from that of its servers."""
        new = await self._read(offered.values) if offered is not None else _ABSENT
        now = await self._read(_held(standing.values)) if standing is not None else None
        if standing is None or not isinstance(now, Certificate):
            return Tls(offered=new, standing=None)
        before = (_text(standing, names.TLS_PREVIOUS_CERTIFICATE), _text(standing, names.TLS_PREVIOUS_AUTHORITIES))
        differ = isinstance(new, Certificate) and new.files != now.files
        return Tls(
            offered=new,
            standing=now,
            standing_since=_moment(_text(standing, names.TLS_SINCE)),
            previous=await self._kept(("public", *before), lambda: _x509().read_public(*before)) if all(before) else None,
            offered_trusted=differ and await self._vouches(now, new),
            standing_trusted=differ and await self._vouches(new, now),
        )

    async def secured(self, observed: Observed, index: NodeIndex | None, *, now: datetime, dialled: str = "") -> Secured | None:
        """How the server of a node is talked to (None: any node's): with TLS, or, where the cluster has none, without.

        A `dialled` host that the certificate covers is the name that is asked for, as clients do: a router may lead by it.

        A server proves who it is by a certificate that an authority of the servers' Secret vouches for, and by its name: one which the
        certificate in that Secret covers, whichever that is. The operator has read that Secret from the API server, so it knows the name
        for sure, and whoever else has a certificate of the same authority has it for names of their own. That the name is not the dialled
        address is no loss: what is dialled are pod IPs, which no certificate names and which move.

        A server that was not seen to serve the standing certificate may be at the one before, and is believed that. So a change of names or
        authorities cannot lock the operator out of servers which it has to tell of the change. For the same reason time is not checked once
        one of the two is known to have expired: only over such a connection can it be replaced without a restart.
        """
        tls = observed.tls
        if tls is None or tls.standing is None:
            return None
        record = observed.records.get(index) if index is not None else None
        certificates = [tls.standing]
        if tls.previous is not None and (record is None or record.status.certificate != tls.standing.fingerprint):
            certificates.append(tls.previous)
        preferred = (dialled, *places.hosts(observed))
        authorities = tuple(dict.fromkeys(each.files.authorities for each in certificates))
        timeless = any(each.expired(now) for each in certificates)
        context = await self._kept(("context", authorities, timeless), lambda: _context(authorities, timeless=timeless))
        name, *former = dict.fromkeys(identity(each, preferred) for each in certificates)
        return Secured(context, name, tuple(former))

    def prune(self) -> None:
        """Forget what was not asked for in a while."""
        oldest = time.monotonic() - _MEMORY_SECONDS
        for key in [key for key, used in self._used.items() if used < oldest]:
            del self._made[key], self._used[key]

    async def _read(self, values: Mapping[str, bytes]) -> Certificate | Flawed:
        return await self._kept(("pair", *sorted(values.items())), lambda: _read(values))

    async def _vouches(self, one: Certificate | Flawed, other: Certificate | Flawed) -> bool:
        """Whether the authorities of one vouch for the other."""
        if isinstance(one, Flawed) or isinstance(other, Flawed):
            return False
        texts = (one.files.authorities, other.files.certificate)
        return await self._kept(("vouches", *texts), lambda: _x509().vouches(*texts))

    async def _kept(self, key: Hashable, make: Callable[[], T]) -> T:
        async with self._making:
            if key not in self._made:
                self._made[key] = await asyncio.to_thread(make)
            self._used[key] = time.monotonic()
        made: T = self._made[key]  # type: ignore[assignment]  # each key's kind of value is its own
        return made


def _x509() -> ModuleType:
    """The module that reads certificates, loaded when it is first wanted."""
    from valkey_operator.core import x509  # noqa: PLC0415  # see there

    return x509


def _read(values: Mapping[str, bytes]) -> Certificate | Flawed:
    """As `x509.read`, with the last word on the authorities for who will have to trust them."""
    certificate: Certificate | Flawed = _x509().read(values)
    try:
        if isinstance(certificate, Certificate):
            _context((certificate.files.authorities,), timeless=False)
    except ssl.SSLError as error:
        return Flawed((f"{AUTHORITIES_KEY} cannot be used ({error.reason or error}): write the authorities' certificates anew",))
    return certificate


def _context(authorities: Sequence[str], *, timeless: bool) -> ssl.SSLContext:
    """Verifies chain and name against these authorities and no others; `timeless`: whether certificates may be past their time.

    Not `ssl.create_default_context`, which refuses from Python 3.13 on what servers accept from each other (no authority key identifier).
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=b"".join(_x509().der(text) for text in authorities))
    if timeless:
        context.verify_flags |= ssl.VerifyFlags(_NO_CHECK_TIME)
    return context


def _held(values: Mapping[str, bytes]) -> dict[str, bytes]:
    """What the servers' Secret holds, under the keys of a user's."""
    kinds = {CERTIFICATE_KEY: ("tls-", ".crt"), PRIVATE_KEY: ("tls-", ".key"), AUTHORITIES_KEY: ("ca-", ".crt")}
    return {
        key: value
        for key, (begin, end) in kinds.items()
        for name, value in values.items()
        if name.startswith(begin) and name.endswith(end)
    }


def _text(secret: Secret, key: str) -> str:
    return secret.values.get(key, b"").decode(errors="replace")


def _moment(text: str) -> datetime | None:
    try:
        return parsed(text)
    except ValueError:
        return None
