"""Everything that can go wrong between the operator and a server, as one tree.

    ValkeyError
    ├── Unreachable       nothing was answered: refused, timed out, closed, no such name, TLS
    ├── Malformed         an answer that no Valkey gives
    └── ServerError       an error reply, with its code word and its text
        ├── AuthRefused   WRONGPASS, NOAUTH: the password or the user is wrong
        ├── NoPermission  NOPERM: the user may not do this
        └── Loading       LOADING: the data set is still being read, ask again

No error carries what was sent, so no password can be in one. `failures.py` is the one place that makes them.
"""

# ruff: noqa: N818 - the names say what is the case; only ValkeyError and ServerError are kinds

from enum import StrEnum


class ValkeyError(Exception):
    """Anything that kept a server from doing what it was asked."""


class Reason(StrEnum):
    """Why nothing was answered."""

    REFUSED = "connection refused"
    TIMED_OUT = "timed out"
    CLOSED = "connection closed"
    UNKNOWN_HOST = "host name does not resolve"
    TLS = "TLS handshake failed"
    FAILED = "connection failed"


class Unreachable(ValkeyError):
    """A server gave no answer; `reason` says why, `detail` may say more."""

    def __init__(self, address: str, reason: Reason, detail: str = "", *, wrong_name: bool = False) -> None:
        """`wrong_name`: a certificate was shown that is trusted, but covers another name."""
        super().__init__(f"{address}: {reason.value}" + (f" ({detail})" if detail else ""))
        self.address = address
        self.reason = reason
        self.detail = detail
        self.wrong_name = wrong_name


class Malformed(ValkeyError):
    """A reply could not be understood."""


class ServerError(ValkeyError):
    """A server answered with an error: `code` is its first word (`ERR`, `CLUSTERDOWN`, …), `text` the rest."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code} {text}")
        self.code = code
        self.text = text


class AuthRefused(ServerError):
    """The server does not know this user with this password, or wants one."""


class NoPermission(ServerError):
    """The user lacks the right for a command."""


class Loading(ServerError):
    """The server is reading its data set and answers later."""
