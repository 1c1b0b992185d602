"""Which certificate servers should load, which of them have, and what is wrong with the one that they should have.

What the user's Secret holds is only offered. Servers load from a Secret of ours, which holds what was found to be good: so a Secret that
vanishes, or holds what would part servers from each other, is harmless even to a server that starts at that moment.

Servers are each other's clients, so at every moment each one's authorities must vouch for every other one's certificate. A change that would
break this in one step is made in two: authorities first, then the certificate; or the other way round when an authority is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from valkey_operator.api.conditions import Reason
from valkey_operator.core import hosts, settings
from valkey_operator.core.certificates import AUTHORITIES_KEY, Files, Flawed, covers, missing_names
from valkey_operator.core.health import Lack
from valkey_operator.core.observed import Server
from valkey_operator.core.plan import TlsSecret
from valkey_operator.core.times import stamp

if TYPE_CHECKING:
    from datetime import datetime

    from valkey_operator.core.certificates import Certificate
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Observed, Tls

PATIENCE = timedelta(seconds=30)
"""What a kubelet and a server need at most to bring and to load a certificate."""
_WARNING = timedelta(days=14)
_LAST_PART = 5
"""Whoever renews certificates does so well before the last fifth of their time."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the servers' Secret should hold, and what needs a person."""

    wanted: TlsSecret | None
    """None: nothing yet, or there is no TLS. Without it no server can be started."""
    trouble: Lack | None = None


def verdict(observed: Observed, *, now: datetime) -> Verdict:
    """What comes of what the user's Secret holds at this moment."""
    tls, spec = observed.tls, observed.cluster.spec.tls
    if tls is None or spec is None:
        return Verdict(wanted=None)
    secret = f"Secret {spec.certificate.secret_name}"
    problem = "; ".join(tls.offered.problems) if isinstance(tls.offered, Flawed) else tls.offered.untimely(now)
    if tls.standing is None:
        if isinstance(tls.offered, Flawed) or problem is not None:
            return Verdict(None, _trouble(f"{secret}: {problem}; no server starts before that"))
        return Verdict(TlsSecret(tls.offered.files, since=stamp(now)))
    files = tls.standing.files
    held: Lack | None = None
    if isinstance(tls.offered, Flawed) or problem is not None:
        held = _trouble(str(problem))
    else:
        files, held = _next(observed, tls.standing, tls.offered, now=now)
    if held is not None:
        held = replace(held, message=f"{secret}: {held.message}{_kept(tls, now=now)}")
    if held is None and files == tls.standing.files:
        held = _refused(observed, secret, now=now)
    return Verdict(_secret(tls, tls.standing, files, now=now), held)


def lack(observed: Observed, *, now: datetime) -> Lack | None:
    """What of the servers' certificate keeps clients outside away."""
    if observed.tls is None:
        return None
    if observed.tls.standing is None:
        return verdict(observed, now=now).trouble
    if observed.tls.standing.expired(now):
        return _trouble(f"the servers' certificate expired at {stamp(observed.tls.standing.ends)}")
    missing = uncovered(observed)
    if missing:
        return Lack(
            Reason.CERTIFICATE_MISSING_NAMES,
            f"the servers' certificate does not cover {', '.join(missing)}: issue it with these names, or with wildcards for their first label",
        )
    return None


def presents(observed: Observed, index: NodeIndex, host: str) -> bool:
    """Whether a client that dials the host and reaches that node's server accepts its certificate; so it is without TLS."""
    tls = observed.tls
    if tls is None:
        return True
    if tls.standing is None or not covers(tls.standing.names, host):
        return False
    return _serves(observed, index, tls.standing) or tls.previous is None or covers(tls.previous.names, host)


def uncovered(observed: Observed) -> tuple[str, ...]:
    """The hosts chosen by the user that the servers' certificate does not cover; none without TLS."""
    if observed.tls is None:
        return ()
    chosen = hosts.chosen(observed.cluster)
    return missing_names(observed.tls.standing, chosen) if observed.tls.standing is not None else chosen


def to_load(observed: Observed, index: NodeIndex) -> dict[str, str]:
    """The one CONFIG SET by which a server that answers loads the standing certificate; empty when it has."""
    server = observed.servers.get(index)
    if observed.tls is None or observed.tls.standing is None or not isinstance(server, Server):
        return {}
    wanted = observed.tls.standing.files.settings()
    return wanted if settings.drift(wanted, server.config) else {}


def call(observed: Observed, index: NodeIndex) -> str | None:
    """What to write on a pod so that its kubelet brings what the server has yet to load; None where it has all."""
    standing = observed.tls.standing if observed.tls is not None else None
    return standing.files.digest if standing is not None and to_load(observed, index) else None


def in_doubt(observed: Observed, index: NodeIndex, server: Server) -> bool:
    """Whether a new handshake must show what a server serves: it was not seen to serve the standing certificate, or has loaded another."""
    standing = observed.tls.standing if observed.tls is not None else None
    if standing is None:
        return False
    return bool(settings.drift(standing.files.settings(), server.config)) or not _serves(observed, index, standing)


def loaded(observed: Observed, index: NodeIndex) -> bool:
    """Whether a server has loaded the standing certificate and its authorities, and was seen to serve it."""
    standing = observed.tls.standing if observed.tls is not None else None
    return (
        standing is not None
        and isinstance(observed.servers.get(index), Server)
        and not to_load(observed, index)
        and _serves(observed, index, standing)
    )


def unloaded(observed: Observed) -> tuple[NodeIndex, ...]:
    """The nodes whose servers run and are not known to have loaded the standing certificate; none without TLS."""
    if observed.tls is None:
        return ()
    return tuple(index for index, pod in sorted(observed.pods.items()) if pod.running and not loaded(observed, index))


def loading_for(observed: Observed, *, now: datetime) -> timedelta | None:
    """For how long some server has been expected to load what stands; None when all have."""
    if observed.tls is None or not unloaded(observed):
        return None
    return now - (observed.tls.standing_since or now)


def expiry(observed: Observed, *, now: datetime) -> str | None:
    """A warning while the servers' certificate is in the last part of its time, and once that is over."""
    tls, spec = observed.tls, observed.cluster.spec.tls
    if tls is None or tls.standing is None or spec is None:
        return None
    ends = tls.standing.ends
    if now >= ends:
        return f"the servers' certificate expired at {stamp(ends)}: put a new one into Secret {spec.certificate.secret_name}"
    if now < ends - min(_WARNING, (ends - tls.standing.begins) / _LAST_PART):
        return None
    return f"the servers' certificate expires at {stamp(ends)}: put a new one into Secret {spec.certificate.secret_name}"


def _kept(tls: Tls, *, now: datetime) -> str:
    """What servers serve while something else is offered."""
    if tls.standing is None or tls.standing == tls.offered:
        return ""
    if tls.standing.expired(now):
        return f"; the certificate that servers have expired at {stamp(tls.standing.ends)}"
    return f"; servers keep the certificate that they have, which is valid until {stamp(tls.standing.ends)}"


def _secret(tls: Tls, standing: Certificate, files: Files, *, now: datetime) -> TlsSecret:
    """The servers' Secret with these files; whatever it held before a change stays known, for servers that have not followed."""
    if files != standing.files:
        return TlsSecret(files, since=stamp(now), previous=(standing.files.certificate, standing.files.authorities))
    before = tls.previous.files if tls.previous is not None else None
    previous = (before.certificate, before.authorities) if before is not None else None
    return TlsSecret(files, since=stamp(tls.standing_since or now), previous=previous)


def _next(observed: Observed, standing: Certificate, offered: Certificate, *, now: datetime) -> tuple[Files, Lack | None]:
    """The next step from what stands towards what is offered and good; the same files and perhaps why, when it is not taken."""
    tls = observed.tls
    if tls is None or offered.files.digest == standing.files.digest:
        return standing.files, None
    if standing.expired(now):
        return offered.files, None
    lost = _lost_names(observed, standing, offered)
    if lost:
        return standing.files, Lack(
            Reason.CERTIFICATE_MISSING_NAMES,
            f"the certificate does not cover {', '.join(lost)}, where clients outside dial: issue it with these names",
            serious=True,
        )
    if not tls.offered_trusted and not tls.standing_trusted:
        return standing.files, _trouble(
            f"the certificate is of an authority that the servers do not trust yet: let {AUTHORITIES_KEY} hold the old and the new authority "
            "until every server serves the new certificate, and drop the old one then"
        )
    if not tls.offered_trusted:
        target = replace(standing.files, authorities=offered.files.authorities)
    elif not tls.standing_trusted:
        target = replace(offered.files, authorities=standing.files.authorities)
    else:
        target = offered.files
    return (standing.files if _must_wait(observed, standing.files, target) else target), None


def _must_wait(observed: Observed, standing: Files, target: Files) -> bool:
    """Whether some server has not loaded what stands, and might not trust, or be trusted by, one that loads what comes next.

    While authorities stay as they are no server must be waited for; nor to go back to what was before.
    """
    if not unloaded(observed):
        return False
    before = observed.tls.previous.files if observed.tls is not None and observed.tls.previous is not None else standing
    if (target.certificate, target.authorities) == (before.certificate, before.authorities):
        return False
    return len({target.authorities, standing.authorities, before.authorities}) > 1


def _lost_names(observed: Observed, standing: Certificate, offered: Certificate) -> tuple[str, ...]:
    chosen = hosts.chosen(observed.cluster)
    return tuple(host for host in missing_names(offered, chosen) if covers(standing.names, host))


def _serves(observed: Observed, index: NodeIndex, standing: Certificate) -> bool:
    """Whether the last new handshake with a node's server showed that certificate."""
    server, record = observed.servers.get(index), observed.records.get(index)
    seen = server.served_certificate if isinstance(server, Server) else None
    if seen is None and record is not None:
        seen = record.status.certificate
    return seen == standing.fingerprint


def _refused(observed: Observed, secret: str, *, now: datetime) -> Lack | None:
    """Servers that have had time enough to load the certificate, and answer, but serve another one."""
    late = [str(index) for index in unloaded(observed) if _late(observed, index, now=now)]
    if not late:
        return None
    return _trouble(f"the servers of nodes {', '.join(late)} have not loaded the certificate of {secret}: their logs say why")


def _late(observed: Observed, index: NodeIndex, *, now: datetime) -> bool:
    since = observed.tls.standing_since if observed.tls is not None else None
    begun = [moment for moment in (since, observed.pods[index].started) if moment is not None]
    return isinstance(observed.servers.get(index), Server) and bool(begun) and now - max(begun) >= PATIENCE


def _trouble(message: str) -> Lack:
    return Lack(Reason.CERTIFICATE_INVALID, message, serious=True)
