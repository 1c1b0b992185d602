"""Certificates as decisions see them: what one says, which hosts it covers, how long it holds.

Nothing here reads PEM. That is `core/x509.py`, imported only once there is a cluster with TLS, since its library is large.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING

from valkey_operator.core.config import digest
from valkey_operator.core.names import TLS_DIRECTORY
from valkey_operator.core.times import stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

CERTIFICATE_KEY = "tls.crt"
PRIVATE_KEY = "tls.key"
AUTHORITIES_KEY = "ca.crt"

_FEWEST_LABELS = 3
"""Of a wildcard: `*.example.com` covers, `*.com` would cover half of the world and is no wildcard to OpenSSL."""


@dataclass(frozen=True, slots=True)
class Files:
    """The PEM texts that a server is started with.

    In the servers' Secret each file's name tells its content. So a server that is told to load a file loads just that content or, while the
    kubelet has not brought it yet, refuses and goes on with what it has; and its running values tell what it has loaded.
    """

    certificate: str
    """The server's own first, then the intermediate ones."""
    key: str = field(repr=False)
    authorities: str
    """The certificates of those that are trusted."""

    @property
    def certificate_file(self) -> str:
        """The certificate's file name."""
        return f"tls-{digest(self.certificate)}.crt"

    @property
    def key_file(self) -> str:
        """The key's file name: it goes with the certificate."""
        return f"tls-{digest(self.certificate)}.key"

    @property
    def authorities_file(self) -> str:
        """The authorities' file name."""
        return f"ca-{digest(self.authorities)}.crt"

    def settings(self) -> dict[str, str]:
        """The running values of a server that has loaded them."""
        return {
            "tls-cert-file": f"{TLS_DIRECTORY}/{self.certificate_file}",
            "tls-key-file": f"{TLS_DIRECTORY}/{self.key_file}",
            "tls-ca-cert-file": f"{TLS_DIRECTORY}/{self.authorities_file}",
        }

    @property
    def digest(self) -> str:
        """Another digest, other files."""
        return digest(self.certificate, self.authorities)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate that servers can use: its key belongs to it, and its authorities vouch for it."""

    files: Files
    names: tuple[str, ...]
    """Its subject alternative names: host names, wildcards, and addresses."""
    begins: datetime
    """When it and all that vouch for it are valid."""
    ends: datetime
    """When it, or the first of those that vouch for it, is no longer valid."""
    fingerprint: str
    """SHA-256 of the server's own certificate, hexadecimal."""

    def expired(self, now: datetime) -> bool:
        """Whether its time is over."""
        return now >= self.ends

    def untimely(self, now: datetime) -> str | None:
        """Why it is not valid at this moment, after the name of its Secret; None when it is."""
        if self.expired(now):
            return f"the certificate expired at {stamp(self.ends)}: put a new one into it"
        if now < self.begins:
            return f"the certificate is not valid before {stamp(self.begins)}: put one into it that is valid now"
        return None


@dataclass(frozen=True, slots=True)
class Flawed:
    """Why a Secret holds no certificate that servers can use: sentences that follow the Secret's name and say what to do."""

    problems: tuple[str, ...]


def covers(names: Iterable[str], host: str) -> bool:
    """Whether a client that dials the host accepts a certificate with these names. A wildcard stands for one label, the first."""
    wanted = _canonical(host)
    own, _, parent = wanted.partition(".")
    accepted = {wanted}
    if own and not _is_address(wanted) and len(wanted.split(".")) >= _FEWEST_LABELS:
        accepted.add(f"*.{parent}")
    return any(_canonical(name) in accepted for name in names)


def missing_names(certificate: Certificate, hosts: Iterable[str]) -> tuple[str, ...]:
    """The hosts that the certificate does not cover, each once, in their order."""
    return tuple(host for host in dict.fromkeys(hosts) if not covers(certificate.names, host))


def identity(certificate: Certificate, preferred: Sequence[str]) -> str:
    """A name that the certificate covers: the first covered one of the preferred, else one of its own, with a label for the wildcard."""
    for name in preferred:
        if covers(certificate.names, name):
            return name
    return certificate.names[0].replace("*", "valkey", 1)


def _canonical(name: str) -> str:
    try:
        return ip_address(name).compressed
    except ValueError:
        return name.lower().removesuffix(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
