"""Dials everything that a client outside dials, all at once, and tells what was seen."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from valkey_operator.outside import told
from valkey_operator.outside.seen import Dial, Failure, Redirect, Seen
from valkey_operator.outside.wire import FailedError, Wire, opened
from valkey_operator.valkey.commands import CLUSTER_NODES, CLUSTER_SLOTS, MYID, Command
from valkey_operator.valkey.errors import Malformed, NoPermission, ServerError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from valkey_operator.outside.target import Pair
    from valkey_operator.outside.wire import Login
    from valkey_operator.valkey.reply import Reply
    from valkey_operator.valkey.topology import Served

_ASKED: tuple[Command[Any], ...] = (MYID, CLUSTER_SLOTS, told.CLUSTER_SHARDS, CLUSTER_NODES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to dial, how, and how long (seconds) to wait for each answer."""

    pairs: tuple[Pair, ...]
    tls: bool
    timeout: float


@dataclass(slots=True)
class _Open:
    """A dial that got through, kept for the second question."""

    wire: Wire
    dial: Dial
    served: tuple[Served, ...]


async def probe(order: Order, login: Login) -> tuple[Seen, ...]:
    """What is seen at each pair, in their order."""
    context = ssl.create_default_context(cadata=login.authorities) if order.tls else None
    hosts = tuple(dict.fromkeys(pair.host for pair in order.pairs))
    addresses = dict(zip(hosts, await asyncio.gather(*(_resolved(host, within=order.timeout) for host in hosts)), strict=True))
    async with AsyncExitStack() as stack:
        probing = _Probe(order, login, context, stack)
        ways = [(pair, ip) for pair in order.pairs for ip in addresses[pair.host][0]]
        dials = await asyncio.gather(*(probing.dial(pair, ip) for pair, ip in ways))
        dials = list(await asyncio.gather(*(probing.follow(*way, dial) for way, dial in zip(ways, dials, strict=True))))
    by_pair = [(pair, dial) for (pair, _), dial in zip(ways, dials, strict=True)]
    return tuple(Seen(*pair, tuple(dial for at, dial in by_pair if at == pair), addresses[pair.host][1]) for pair in order.pairs)


class _Probe:
    def __init__(self, order: Order, login: Login, context: ssl.SSLContext | None, stack: AsyncExitStack) -> None:
        self._order, self._login, self._context, self._stack = order, login, context, stack
        self._open: dict[tuple[Pair, str], _Open] = {}

    async def dial(self, pair: Pair, ip: str) -> Dial:
        """Step by step, as far as it goes."""
        began = asyncio.get_running_loop().time()
        try:
            wire = await self._stack.enter_async_context(opened(ip, pair.port, within=self._order.timeout))
            if self._context is not None:
                await wire.secure(self._context, pair.host)
            await wire.log_in(self._login)
            replies = await wire.ask(*_ASKED)
        except FailedError as failed:
            shown = failed.failure in (Failure.WRONG_NAME, Failure.EXPIRED, Failure.UNTRUSTED)
            more = await _certificate(pair, ip, within=self._order.timeout) if shown else ""
            return Dial(ip=ip, failure=failed.failure, detail="; ".join(filter(None, (failed.detail, more))))
        milliseconds = round((asyncio.get_running_loop().time() - began) * 1000)
        dial, served = _told(ip, replies)
        dial = replace(dial, milliseconds=milliseconds)
        if dial.failure is None:
            self._open[pair, ip] = _Open(wire, dial, served)
        return dial

    async def follow(self, pair: Pair, ip: str, dial: Dial) -> Dial:
        """The dial with where a key of another shard led."""
        here = self._open.get((pair, ip))
        away = told.elsewhere(here.served, dial.id) if here is not None else None
        if here is None or away is None:
            return dial
        key, slot = told.key_in(away.slots)
        answer = await self._get(here.wire, key)
        if isinstance(answer, NoPermission):
            return replace(dial, refused=(*dial.refused, "GET"))
        to = told.moved(answer.text) if isinstance(answer, ServerError) and answer.code == "MOVED" else None
        if to is None:  # it serves the slot since a moment ago, or says what `CLUSTER SLOTS` would not
            return dial if not isinstance(answer, ServerError) else replace(dial, failure=Failure.NOT_WORKING, detail=str(answer))
        _, host, port = to
        there = next((found.wire for (at, _), found in self._open.items() if at == (host, port)), None)
        outcome = await self._get(there, key) if there is not None else None
        problem = str(outcome) if isinstance(outcome, ServerError) and not isinstance(outcome, NoPermission) else ""
        return replace(dial, redirect=Redirect(slot, away.primary.id, host, port, problem))

    async def _get(self, wire: Wire, key: str) -> Reply | ServerError:
        try:
            (answer,) = await wire.ask(Command("GET", (key,), lambda reply: reply))
        except FailedError as failed:
            return ServerError("NOANSWER", str(failed))
        found: Reply | ServerError = answer
        return found


def _told(ip: str, replies: list[Any]) -> tuple[Dial, tuple[Served, ...]]:
    """What a server said to all that was asked; which slots it says who serves."""
    refused = tuple(command.name for command, reply in zip(_ASKED, replies, strict=True) if isinstance(reply, NoPermission))
    for reply in replies:
        if isinstance(reply, ServerError) and not isinstance(reply, NoPermission):
            return Dial(ip=ip, failure=Failure.NOT_WORKING, detail=str(reply)), ()
    my_id, served, by_shards, members = (() if isinstance(reply, ServerError) else reply for reply in replies)
    return Dial(
        ip=ip,
        id=my_id or told.myself(members),
        told=tuple(sorted((*told.by_slots(served), *by_shards, *told.by_nodes(members)))),
        refused=refused,
    ), served


async def _certificate(pair: Pair, ip: str, *, within: float) -> str:
    """What the certificate says that was not good enough; nothing but a handshake is sent to whoever shows it."""
    from valkey_operator.core.x509 import read_public  # noqa: PLC0415 - slow to import, and all is well nearly always

    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    try:
        async with opened(ip, pair.port, within=within) as wire:
            await wire.secure(anybody, pair.host)
            shown = ssl.DER_cert_to_PEM_cert(wire.certificate)
            certificate = read_public(shown, shown)
    except (FailedError, Malformed, ValueError):
        return ""
    if certificate is None:
        return "it names nothing"
    return f"it covers {', '.join(certificate.names)}, valid from {certificate.begins:%Y-%m-%d %H:%M} to {certificate.ends:%Y-%m-%d %H:%M} UTC"


async def _resolved(host: str, *, within: float) -> tuple[tuple[str, ...], str]:
    """The addresses of a host, and why there are none.

    In a thread of its own that nobody waits for in the end: a resolver without an answer tries for longer than a person does.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[tuple[tuple[str, ...], str]] = loop.create_future()

    def tell(answer: tuple[tuple[str, ...], str]) -> None:
        if not found.done():
            found.set_result(answer)

    def resolve() -> None:
        answer = _looked_up(host)
        with suppress(RuntimeError):  # nobody waits any more
            loop.call_soon_threadsafe(tell, answer)

    threading.Thread(target=resolve, daemon=True).start()
    try:
        async with asyncio.timeout(within):
            return await found
    except TimeoutError:
        return (), f"the resolver did not answer within {within:g} s"


def _looked_up(host: str) -> tuple[tuple[str, ...], str]:
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except OSError as error:
        return (), error.strerror or str(error)
    return _each_once(str(info[4][0]) for info in infos), ""


def _each_once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
