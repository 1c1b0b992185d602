"""One connection of a client, step by step, so that it is known which step failed: TCP, TLS, login, commands.

The client library is not used here: it takes a fifth of a second to import, and does these steps in one.
"""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from valkey_operator.outside.seen import Failure
from valkey_operator.valkey.errors import AuthRefused, Malformed, ServerError
from valkey_operator.valkey.failures import error_of_reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from valkey_operator.valkey.commands import Command
    from valkey_operator.valkey.reply import Reply

_NO_ROUTE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EACCES, errno.EPERM, errno.EADDRNOTAVAIL}
_WRONG_NAME = {62, 64}
"""X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH of OpenSSL."""
_WRONG_TIME = {9, 10}
"""X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED."""


@dataclass(frozen=True, slots=True)
class Login:
    """As whom, and whom to trust: authorities in PEM, None for those of this machine."""

    user: str
    password: str = field(repr=False)
    authorities: str | None = None


class FailedError(Exception):
    """A dial that ended: where, and what was said about it."""

    def __init__(self, failure: Failure, detail: str = "") -> None:
        super().__init__(f"{failure.value} {detail}".strip())
        self.failure = failure
        self.detail = detail


class Wire:
    """An open connection. Whoever asks takes turns."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, within: float) -> None:
        self._reader, self._writer, self._within = reader, writer, within
        self._turn = asyncio.Lock()

    @classmethod
    async def connect(cls, ip: str, port: int, *, within: float) -> Wire:
        """TCP, or FailedError. Every answer on the connection is awaited for so many seconds."""
        try:
            async with asyncio.timeout(within):
                return cls(*await asyncio.open_connection(ip, port), within=within)
        except TimeoutError:
            raise FailedError(Failure.UNANSWERED, f"nothing came back within {within:g} s") from None
        except ConnectionRefusedError:
            raise FailedError(Failure.REFUSED) from None
        except OSError as error:
            failure = Failure.NO_ROUTE if error.errno in _NO_ROUTE else Failure.UNANSWERED
            raise FailedError(failure, os.strerror(error.errno) if error.errno else str(error)) from None

    async def secure(self, context: ssl.SSLContext, host: str) -> None:
        """TLS with that name, as SNI and in the certificate, or FailedError."""
        try:
            async with asyncio.timeout(self._within):
                await self._writer.start_tls(context, server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            failure = Failure.UNTRUSTED
            if error.verify_code in _WRONG_NAME:
                failure = Failure.WRONG_NAME
            elif error.verify_code in _WRONG_TIME:
                failure = Failure.EXPIRED
            raise FailedError(failure, error.verify_message) from None
        except ssl.SSLError as error:
            raise FailedError(Failure.NO_TLS, error.reason or "") from None
        except TimeoutError:
            raise FailedError(Failure.SILENT, f"to the TLS handshake within {self._within:g} s") from None
        except OSError:
            raise FailedError(Failure.CUT, "in the TLS handshake") from None

    @property
    def certificate(self) -> bytes:
        """What the other side showed in the handshake, in DER."""
        shown: bytes | None = self._writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return shown or b""

    async def log_in(self, login: Login) -> None:
        """As that user, or FailedError."""
        (answer,) = await self._exchange([("AUTH", login.user, login.password)])
        if isinstance(answer, ServerError):
            failure = Failure.LOGIN_REFUSED if isinstance(answer, AuthRefused) else Failure.NOT_WORKING
            raise FailedError(failure, str(answer))

    async def ask(self, *commands: Command[Any]) -> list[Any]:
        """The parsed replies, all in one round trip; a server's refusal is a value. FailedError when they do not come."""
        replies = await self._exchange([command.words for command in commands])
        try:
            return [
                reply if isinstance(reply, ServerError) else command.parse(reply)
                for command, reply in zip(commands, replies, strict=True)
            ]
        except Malformed as error:
            raise FailedError(Failure.NOT_VALKEY, str(error)) from None

    def close(self) -> None:
        """At once, without a word to the other side."""
        self._writer.transport.abort()

    async def _exchange(self, requests: list[tuple[str | int, ...]]) -> list[Reply | ServerError]:
        replies = None
        try:
            async with self._turn, asyncio.timeout(self._within):
                self._writer.write(b"".join(map(_packed, requests)))
                await self._writer.drain()
                replies = [await _reply(self._reader) for _ in requests]
                return replies
        except TimeoutError:
            raise FailedError(Failure.SILENT, f"to {requests[0][0]} within {self._within:g} s") from None
        except (OSError, asyncio.IncompleteReadError):
            raise FailedError(Failure.CUT, f"at {requests[0][0]}") from None
        except (ValueError, asyncio.LimitOverrunError):
            raise FailedError(Failure.NOT_VALKEY) from None
        finally:
            if replies is None:
                self.close()  # what still comes would be taken for the answer to the next question


@asynccontextmanager
async def opened(ip: str, port: int, *, within: float) -> AsyncIterator[Wire]:
    """A connection for as long as `with` holds."""
    wire = await Wire.connect(ip, port, within=within)
    try:
        yield wire
    finally:
        wire.close()
        await asyncio.sleep(0)  # in the loop's next turn the socket is closed


def _packed(words: tuple[str | int, ...]) -> bytes:
    encoded = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in encoded)


async def _reply(reader: asyncio.StreamReader) -> Reply | ServerError:
    """One reply in RESP2; ValueError for what is none."""
    line = await reader.readuntil(b"\r\n")
    kind, rest = line[:1], line[1:-2].decode(errors="surrogateescape")
    match kind:
        case b"+":
            return rest
        case b"-":
            return error_of_reply(rest)
        case b":":
            return int(rest)
        case b"$":
            return None if rest == "-1" else (await reader.readexactly(int(rest) + 2))[:-2].decode(errors="surrogateescape")
        case b"*":
            items = [await _reply(reader) for _ in range(int(rest))]
            return [str(item) if isinstance(item, ServerError) else item for item in items]
        case _:
            raise ValueError(f"no reply begins with {kind!r}")
