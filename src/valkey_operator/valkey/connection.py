"""Long-lived connections to single servers, never a cluster client: whoever asks knows which server is meant."""

import asyncio
from collections.abc import Iterable
from typing import Any, TypeVar, overload

from valkey_operator.valkey.address import Address
from valkey_operator.valkey.commands import Command
from valkey_operator.valkey.errors import ServerError
from valkey_operator.valkey.link import Link

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")


class Servers:
    """One connection per server and user, opened when first asked, kept, and opened again once when it turns out to be dead.

    Nothing runs in the background. Requests to the same server take turns. Call `prune` with the addresses in use now and then.
    """

    def __init__(self, *, connect_timeout: float = 1.0, reply_timeout: float = 2.0) -> None:
        self._connect_timeout = connect_timeout
        self._reply_timeout = reply_timeout
        self._links: dict[tuple[str, int, str | None], Link] = {}

    @overload
    async def ask(self, address: Address, a: Command[A], /) -> tuple[A]: ...
    @overload
    async def ask(self, address: Address, a: Command[A], b: Command[B], /) -> tuple[A, B]: ...
    @overload
    async def ask(self, address: Address, a: Command[A], b: Command[B], c: Command[C], /) -> tuple[A, B, C]: ...
    @overload
    async def ask(self, address: Address, a: Command[A], b: Command[B], c: Command[C], d: Command[D], /) -> tuple[A, B, C, D]: ...
    @overload
    async def ask(
        self, address: Address, a: Command[A], b: Command[B], c: Command[C], d: Command[D], e: Command[E], /
    ) -> tuple[A, B, C, D, E]: ...
    @overload
    async def ask(
        self, address: Address, a: Command[A], b: Command[B], c: Command[C], d: Command[D], e: Command[E], f: Command[F], /
    ) -> tuple[A, B, C, D, E, F]: ...
    @overload
    async def ask(self, address: Address, /, *commands: Command[T]) -> tuple[T, ...]: ...
    async def ask(self, address: Address, /, *commands: Command[Any]) -> tuple[Any, ...]:
        """Send all commands in one round trip and give their replies; raises the first error, when all have been tried."""
        replies = await self.ask_each(address, *commands)
        for reply in replies:
            if isinstance(reply, ServerError):
                raise reply
        return replies

    async def ask_each(self, address: Address, /, *commands: Command[T]) -> tuple[T | ServerError, ...]:
        """As `ask`, but a command's error is its result. Raises only Unreachable, AuthRefused at login, and Malformed."""
        link = self._links.get(_key(address))
        if link is None:
            link = self._links[_key(address)] = Link(connect_timeout=self._connect_timeout, reply_timeout=self._reply_timeout)
        replies = await link.exchange(address, tuple(command.words for command in commands))
        return tuple(
            reply if isinstance(reply, ServerError) else command.parse(reply)
            for command, reply in zip(commands, replies, strict=True)
        )

    async def forget(self, address: Address) -> None:
        """Close the connection to a server, if there is one."""
        link = self._links.pop(_key(address), None)
        if link is not None:
            await link.close()

    async def prune(self, in_use: Iterable[Address]) -> None:
        """Close every idle connection to a server that is none of these."""
        keep = {_key(address) for address in in_use}
        for key, link in list(self._links.items()):
            if key not in keep and not link.busy:
                del self._links[key]
                await link.close()

    async def aclose(self) -> None:
        """Close every connection."""
        links, self._links = list(self._links.values()), {}
        await asyncio.gather(*(link.close() for link in links))


def _key(address: Address) -> tuple[str, int, str | None]:
    user = address.credentials.user if address.credentials else None
    return (address.host, address.port, user)
