"""Where a server is and how to get in."""

import ssl
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user and its password, which no repr shows."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Tls:
    """How a connection is secured. Share one context among connections: another context means other connections."""

    context: ssl.SSLContext = field(repr=False)
    server_name: str  # sent as SNI, and what the certificate must cover
    former_names: tuple[str, ...] = ()  # one of these will do as well: of the certificate that a server may still have

    @property
    def names(self) -> tuple[str, ...]:
        """All names of which the certificate must cover one, in the order in which they are tried."""
        return (self.server_name, *self.former_names)


@dataclass(frozen=True, slots=True)
class Address:
    """Where one server listens, who asks, and how the connection is secured."""

    host: str
    port: int
    credentials: Credentials | None = None
    tls: Tls | None = None

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
