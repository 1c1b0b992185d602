"""Whoever listens to a primary hears of its handover from itself, at once and without asking again."""

import asyncio

import pytest

from integration.valkey.servers import free_port
from integration.valkey.test_cluster import closed_servers, form
from valkey_operator.valkey.address import Address, Credentials
from valkey_operator.valkey.commands import config_set, failover
from valkey_operator.valkey.handover import handed_over

KEY = "waited-at"


async def listening(primary, key=KEY):
    """Somebody who waits at the primary."""
    task = asyncio.create_task(handed_over(primary.address, key))
    done, _ = await asyncio.wait([task], timeout=0.5)
    assert not done
    return task


@pytest.fixture(params=["8.1", "9.0", "9.1"])
def pair(lab, request):
    return closed_servers(lab, 2, request.param)


async def test_a_primary_that_hands_over_says_so(pair, servers):
    await form(servers, pair, primaries=1)
    heard = await listening(pair[0])
    await servers.ask(pair[1].address, failover())
    assert await asyncio.wait_for(heard, 10) is True


async def test_a_primary_that_is_killed_is_heard_to_go(pair, servers):
    await form(servers, pair, primaries=1)
    heard = await listening(pair[0])
    pair[0].kill()
    assert await asyncio.wait_for(heard, 10) is True


async def test_a_replica_says_at_once_that_it_serves_nothing(pair, servers):
    await form(servers, pair, primaries=1)
    assert await handed_over(pair[1].address, KEY) is True


async def test_a_primary_that_does_not_let_us_listen_is_no_news(pair, servers):
    await form(servers, pair, primaries=1)
    assert await handed_over(pair[0].address, "somebody-elses") is False


async def test_idle_listeners_are_not_sent_away(pair, servers):
    """A server closes idle connections where it is told to; whoever waits is not idle."""
    await form(servers, pair, primaries=1)
    await servers.ask(pair[0].address, config_set({"timeout": "1"}))
    heard = await listening(pair[0])
    done, _ = await asyncio.wait([heard], timeout=3)
    assert not done
    heard.cancel()


async def test_nobody_there_is_no_news(servers):  # noqa: ARG001 -- the address alone matters
    assert await handed_over(Address("127.0.0.1", free_port()), KEY) is False


async def test_a_wrong_password_is_no_news(pair):
    assert await handed_over(Address(pair[0].host, 6379, Credentials("_operator", "wrong")), KEY) is False
