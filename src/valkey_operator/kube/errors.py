"""Every error that the engine raises: one tree, each with a message for people.

`KubeError.retryable` tells whether the same request may well succeed later without anybody changing anything.
"""
# ruff: noqa: N818 - they are read as `except NotFound`, under a root that carries the suffix

from __future__ import annotations

import json
import ssl
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import httpx2  # lightkube speaks it: its errors are these
from lightkube.core.exceptions import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Cause(NamedTuple):
    """One thing that the API server found wrong: `Cause("spec.ports[0].nodePort", "…already allocated", "FieldValueInvalid")`."""

    field: str
    message: str
    reason: str


UNREADABLE = (LookupError, TypeError, ValueError, AttributeError)
"""What it raises to read a malformed object, or what was made of one (pydantic's ValidationError is a ValueError)."""
IDLE = "Idle"
"""The reason of a watch that heard nothing for too long."""


class KubeError(Exception):
    """A request that did not succeed; `.message` says why in words for people."""

    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        reason: str = "",
        causes: tuple[Cause, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.causes = causes
        self.retry_after = retry_after


class NotFound(KubeError):
    """The object (or the namespace it would be in) does not exist."""


class NotServed(KubeError):
    """The API server does not know this kind: a missing CRD, not a missing object."""


class AlreadyExists(KubeError):
    """An object of that name exists; it was not touched."""


class Conflict(KubeError):
    """The object is another one, or changed, since it was read; or (without force) another manager owns a field."""

    retryable = True


class Invalid(KubeError):
    """The API server refused the content (422); `.causes` name the fields."""


class Forbidden(KubeError):
    """The operator lacks the right to do that (401, 403)."""


class Gone(KubeError):
    """The resource version is too old (410): list again."""

    retryable = True


class Unavailable(KubeError):
    """No answer: connection refused or cut, a timeout, or a server that says it cannot answer now (5xx)."""

    retryable = True


class Throttled(Unavailable):
    """The API server asks to come back later (429); `.retry_after` seconds if it said when."""


class Misconfigured(KubeError):
    """No usable kubeconfig or service account."""


class LeaseLost(KubeError):
    """Leadership went away: another holder, or the Lease could not be renewed in time."""


_BY_REASON: Mapping[str, type[KubeError]] = {
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Invalid": Invalid,
    "Forbidden": Forbidden,
    "Unauthorized": Forbidden,
    "Gone": Gone,
    "Expired": Gone,
    "TooManyRequests": Throttled,
    "Timeout": Unavailable,
    "ServerTimeout": Unavailable,
    "ServiceUnavailable": Unavailable,
    "InternalError": Unavailable,
}
_BY_CODE: Mapping[int, type[KubeError]] = {
    401: Forbidden,
    403: Forbidden,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: Throttled,
}


def from_status(status: Mapping[str, Any], *, code: int = 0, retry_after: float | None = None) -> KubeError:
    """The error that a Kubernetes `Status` object (of an answer or of a watch's ERROR event) means."""
    code = int(status.get("code") or code)
    reason = str(status.get("reason") or "")
    details = status.get("details") or {}
    causes = tuple(
        Cause(str(cause.get("field") or ""), str(cause.get("message") or ""), str(cause.get("reason") or ""))
        for cause in details.get("causes") or ()
    )
    if retry_after is None and details.get("retryAfterSeconds"):
        retry_after = float(details["retryAfterSeconds"])
    # An apply that carries the uid of an object whose name another one has taken is answered as if somebody wanted to change the uid.
    another = any(cause.field == "metadata.uid" for cause in causes)
    return (Conflict if another else _class_of(code, reason, named=bool(details.get("name"))))(
        str(status.get("message") or f"the API server answered {code} {reason}".strip()),
        code=code,
        reason=reason,
        causes=causes,
        retry_after=retry_after,
    )


def from_answer(code: int, body: bytes, *, retry_after: str = "") -> KubeError:
    """The error that an HTTP answer of 400 or above means, whoever wrote its body (the API server or a proxy before it)."""
    try:
        status = json.loads(body)
    except ValueError:
        status = None
    seconds = float(retry_after) if retry_after.isdigit() else None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return from_status(status, code=code, retry_after=seconds)
    text = body[:200].decode(errors="replace").strip()
    return _class_of(code, "", named=False)(f"the API server answered {code}: {text}".rstrip(": "), code=code, retry_after=seconds)


FAILURES = (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, ConfigError, TimeoutError, ssl.SSLError, json.JSONDecodeError)
"""All that lightkube and httpx raise when a request fails."""


def translated(error: Exception, what: str) -> KubeError:
    """The error that one of FAILURES means; `what` says what was being done: "get Service a/b"."""
    if isinstance(error, ConfigError):
        return Misconfigured(f"{what}: {error}")
    if isinstance(error, (TimeoutError, httpx2.TimeoutException)):
        return Unavailable(f"{what}: the API server did not answer in time", reason="Timeout")
    told = str(error) or type(error).__name__
    if isinstance(error, httpx2.ConnectError):
        return Unavailable(f"{what}: cannot connect to the API server: {told}", reason="Connection")
    return Unavailable(f"{what}: the connection to the API server broke: {told}", reason="Connection")


def _class_of(code: int, reason: str, *, named: bool) -> type[KubeError]:
    if code == HTTPStatus.NOT_FOUND:
        return NotFound if named else NotServed
    known = _BY_REASON.get(reason) or _BY_CODE.get(code)
    if known is not None:
        return known
    return Unavailable if code >= HTTPStatus.INTERNAL_SERVER_ERROR else KubeError
