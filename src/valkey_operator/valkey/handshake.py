"""What a server shows to whoever comes anew."""

import asyncio
import hashlib
from contextlib import suppress

from valkey_operator.valkey.address import Address
from valkey_operator.valkey.commands import MYID
from valkey_operator.valkey.connection import Servers
from valkey_operator.valkey.errors import Unreachable
from valkey_operator.valkey.failures import unreachable


async def answering(address: Address, *, within: float = 0.5, again_after: float = 0.1) -> str:
    """The id of the server that answers new connections at an address: raises a ValkeyError when none does within so many seconds.

    A dial that is dropped on the way stays unanswered for a second even when the way is free a moment later, so others begin beside it.
    """
    begins = (number * again_after for number in range(int(within / again_after)))
    dials = [asyncio.create_task(_dialled(address, begin=begin, within=within)) for begin in begins]
    try:
        first, _ = await asyncio.wait(dials, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for dial in dials:
            dial.cancel()
        await asyncio.gather(*dials, return_exceptions=True)
    return first.pop().result()


async def _dialled(address: Address, *, begin: float, within: float) -> str:
    await asyncio.sleep(begin)
    servers = Servers(connect_timeout=within, reply_timeout=within)
    try:
        (node_id,) = await servers.ask(address, MYID)
    finally:
        await servers.aclose()
    return node_id


async def served_certificate(address: Address, *, within: float = 1.0) -> str:
    """The SHA-256 fingerprint, hexadecimal, of the certificate that a new handshake shows.

    Raises Unreachable when there is none within so many seconds, or none that is trusted. Without TLS there is nothing to be asked.
    """
    *others, last = address.tls.names if address.tls is not None else ("",)
    for name in others:
        try:
            return await _shown(address, name, within=within)
        except Unreachable as failure:
            if not failure.wrong_name:
                raise
    return await _shown(address, last, within=within)


async def _shown(address: Address, name: str, *, within: float) -> str:
    context = address.tls.context if address.tls is not None else None
    try:
        async with asyncio.timeout(within):
            _, writer = await asyncio.open_connection(address.host, address.port, ssl=context, server_hostname=name)
    except OSError as failure:  # TimeoutError and ssl.SSLError are such too
        raise unreachable(str(address), failure) from failure
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()
    return hashlib.sha256(shown).hexdigest()
