"""What went wrong on a connection, told as one of the errors of `errors.py`. The one place where they are made."""

import socket
import ssl
from collections.abc import Iterator

from valkey_operator.valkey.errors import AuthRefused, Loading, NoPermission, Reason, ServerError, Unreachable

_BY_CODE: dict[str, type[ServerError]] = {
    "WRONGPASS": AuthRefused,
    "NOAUTH": AuthRefused,
    "NOPERM": NoPermission,
    "LOADING": Loading,
}

# The first that fits: the narrow ones stand before the wide ones (all of them are OSErrors).
_BY_EXCEPTION: tuple[tuple[type[BaseException], Reason], ...] = (
    (TimeoutError, Reason.TIMED_OUT),
    (ssl.SSLError, Reason.TLS),
    (socket.gaierror, Reason.UNKNOWN_HOST),
    (ConnectionRefusedError, Reason.REFUSED),
    (ConnectionError, Reason.CLOSED),
    (OSError, Reason.FAILED),
)

_MISMATCHES = (62, 64)
"""X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH of OpenSSL."""


def error_of_reply(line: str) -> ServerError:
    """The error that an error reply (without its leading `-`) stands for."""
    code, _, text = line.partition(" ")
    return _BY_CODE.get(code, ServerError)(code, text)


def unreachable(address: str, failure: BaseException) -> Unreachable:
    """Why an address did not answer, from whatever was raised while talking to it."""
    for cause in _causes(failure):
        for kind, reason in _BY_EXCEPTION:
            if isinstance(cause, kind):
                return Unreachable(address, reason, _detail(cause), wrong_name=_is_wrong_name(cause))
    return Unreachable(address, Reason.CLOSED)  # what the library noticed by itself: the stream ended


def _causes(failure: BaseException) -> Iterator[BaseException]:
    """The failure and what lay behind it, outermost first."""
    current: BaseException | None = failure
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__


def _is_wrong_name(cause: BaseException) -> bool:
    return isinstance(cause, ssl.SSLCertVerificationError) and cause.verify_code in _MISMATCHES


def _detail(cause: BaseException) -> str:
    match cause:
        case ssl.SSLCertVerificationError():
            return cause.verify_message
        case ConnectionError() | TimeoutError() | socket.gaierror():
            return ""
        case OSError():
            return cause.strerror or str(cause)
        case _:
            return ""
