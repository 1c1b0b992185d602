"""One connection to one server. The only module that knows the client library."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from valkey.asyncio.connection import Connection, DefaultParser
from valkey.exceptions import InvalidResponse, ResponseError
from valkey.exceptions import ValkeyError as LibraryError

from valkey_operator.valkey.address import Address
from valkey_operator.valkey.errors import Malformed, ServerError, Unreachable
from valkey_operator.valkey.failures import error_of_reply, unreachable
from valkey_operator.valkey.reply import Reply

Words = tuple[str | int, ...]


class _PlainErrors(DefaultParser):  # type: ignore[misc, valid-type]
    """Leaves error replies as they are: `errors.error_of_reply` is the one place that tells them apart."""

    EXCEPTION_CLASSES: Mapping[str, Any] = {}


class _Connection(Connection):
    """The library's connection with a TLS context and server name from outside."""

    def __init__(self, address: Address, *, server_name: str, connect_timeout: float) -> None:
        super().__init__(
            host=address.host,
            port=address.port,
            username=address.credentials.user if address.credentials else None,
            password=address.credentials.password if address.credentials else None,
            socket_connect_timeout=connect_timeout,
            socket_timeout=None,  # one timeout surrounds each whole exchange
            encoding_errors="surrogateescape",
            decode_responses=True,
            parser_class=_PlainErrors,
            lib_name=None,  # saves a round trip at each connect
            lib_version=None,
        )
        self._tls = address.tls
        self._server_name = server_name

    def _connection_arguments(self) -> Mapping[str, Any]:
        arguments = dict(super()._connection_arguments())
        if self._tls is not None:
            arguments |= {"ssl": self._tls.context, "server_hostname": self._server_name}
        return arguments

    @property
    def dead(self) -> bool:
        """Whether the other side is known to have closed it."""
        return self._reader is None or self._reader.at_eof() or self._reader.exception() is not None

    def abort(self) -> None:
        """Closed at once, without a word to the other side, which may be dead."""
        if self._writer is not None:
            self._writer.transport.abort()
            self._reader = self._writer = None


class Link:
    """A connection that is opened when needed, kept, and opened again once when it turns out to be dead."""

    def __init__(self, *, connect_timeout: float, reply_timeout: float | None) -> None:
        """Seconds; without a `reply_timeout` answers are awaited for ever."""
        self._connect_timeout = connect_timeout
        self._reply_timeout = reply_timeout
        self._address: Address | None = None
        self._connection: _Connection | None = None
        self._turn = asyncio.Lock()

    @property
    def busy(self) -> bool:
        """Whether somebody is asking right now."""
        return self._turn.locked()

    async def exchange(self, address: Address, requests: tuple[Words, ...]) -> list[Reply | ServerError]:
        """Send all requests at once and give their replies in order; an error reply is a value.

        Raises Unreachable, AuthRefused when the login fails, Malformed when this is no Valkey. Nothing is sent twice once a reply was seen.
        """
        async with self._turn:
            kept = self._kept(address)
            if kept is not None:
                try:
                    return await self._ask(kept, address, requests)
                except _DiedUnheard:
                    pass  # closed by the other side while it was idle: what was sent was lost
            try:
                return await self._ask(await self._opened(address), address, requests)
            except _DiedUnheard as death:
                raise unreachable(str(address), death) from death.__cause__

    async def close(self) -> None:
        """Close the connection, once nobody is asking any more."""
        async with self._turn:
            if self._connection is not None:
                with suppress(LibraryError):  # it did not say goodbye in time
                    await self._connection.disconnect()
            self._drop()

    def _kept(self, address: Address) -> _Connection | None:
        """The open connection, if it is for this very address and the other side did not close it."""
        if self._address != address or (self._connection is not None and self._connection.dead):
            self._drop()
        return self._connection

    async def _opened(self, address: Address) -> _Connection:
        """A new connection; with TLS by the first name that the server's certificate covers."""
        *others, last = address.tls.names if address.tls is not None else ("",)
        for name in others:
            try:
                return await self._connected(address, name)
            except Unreachable as failure:
                if not failure.wrong_name:
                    raise
        return await self._connected(address, last)

    async def _connected(self, address: Address, name: str) -> _Connection:
        connection = _Connection(address, server_name=name, connect_timeout=self._connect_timeout)
        try:
            async with asyncio.timeout(self._connect_timeout):
                await connection.connect()  # type: ignore[no-untyped-call]
        except ResponseError as refusal:
            raise error_of_reply(str(refusal)) from None
        except InvalidResponse as failure:
            raise _malformed(address) from failure
        except (LibraryError, OSError) as failure:
            raise unreachable(str(address), failure) from failure
        else:
            self._address, self._connection = address, connection
            return connection
        finally:
            if self._connection is not connection:
                connection.abort()

    async def _ask(self, connection: _Connection, address: Address, requests: tuple[Words, ...]) -> list[Reply | ServerError]:
        replies: list[Reply | ServerError] = []
        try:
            async with asyncio.timeout(self._reply_timeout):
                await connection.send_packed_command(connection.pack_commands(requests), check_health=False)
                while len(replies) < len(requests):
                    replies.append(await _reply(connection))
        except InvalidResponse as failure:
            self._drop()
            raise _malformed(address) from failure
        except TimeoutError as failure:
            self._drop()
            raise unreachable(str(address), failure) from failure
        except (LibraryError, OSError) as failure:
            self._drop()
            if replies:
                raise unreachable(str(address), failure) from failure
            raise _DiedUnheard from failure
        except asyncio.CancelledError:
            self._drop()  # the rest of the replies would be taken for those of the next request
            raise
        return replies

    def _drop(self) -> None:
        connection, self._connection, self._address = self._connection, None, None
        if connection is not None:
            connection.abort()


class _DiedUnheard(Exception):  # noqa: N818 - never leaves this module
    """The connection broke before the first reply."""


async def _reply(connection: _Connection) -> Reply | ServerError:
    try:
        reply: Reply = await connection.read_response(disconnect_on_error=False)
    except ResponseError as error:
        return error_of_reply(str(error))
    return reply


def _malformed(address: Address) -> Malformed:
    return Malformed(f"{address} does not speak like a Valkey server")
