import asyncio

import pytest

from integration.valkey.servers import free_port
from valkey_operator.valkey.address import Address, Credentials
from valkey_operator.valkey.commands import (
    CLUSTER_SLOTS,
    MYID,
    PING,
    SERVER_INFO,
    Command,
    config_get,
    config_set,
    kill_clients,
    replicate,
)
from valkey_operator.valkey.connection import Servers
from valkey_operator.valkey.errors import AuthRefused, Malformed, NoPermission, Reason, ServerError, Unreachable
from valkey_operator.valkey.handshake import answering
from valkey_operator.valkey.look import look
from valkey_operator.valkey.reply import fields

OPERATOR = Credentials("_operator", "correct-horse")
CLOSED = ("--user", "default", "off", "--user", "_operator", "on", ">correct-horse", "~*", "&*", "+@all")
CLIENTS = Command("INFO", ("clients",), fields)
ECHO = [Command("ECHO", (f"{number}",), str) for number in range(100)]


async def clients(address):
    """How many connections a server has, without the one that asks."""
    other = Servers()
    ((told),) = await other.ask(address, CLIENTS)
    await other.aclose()
    return int(told["connected_clients"]) - 1


@pytest.mark.parametrize("version", ["8.1", "9.0", "9.1"])
async def test_sees_all_of_a_fresh_server_in_one_look(lab, servers, version):
    server = lab.server(version, ("--cluster-announce-hostname", "n0.example.com"))
    seen = await look(servers, server.address, ("cluster-announce-hostname", "no-such-option", "port"))
    assert seen.version[:2] == tuple(int(part) for part in version.split("."))
    assert (seen.primary, seen.link_up, seen.loading, seen.state, seen.slots_assigned) == (True, True, False, "fail", 0)
    assert (seen.known_nodes, seen.myself.id, seen.myself.hostname) == (1, seen.id, "n0.example.com")
    assert seen.config == {"cluster-announce-hostname": "n0.example.com", "port": "6379"}


async def test_keeps_one_connection_and_closes_it_when_told(lab, servers):
    address = lab.server().address
    for _ in range(3):
        await servers.ask(address, MYID, PING)
    assert await clients(address) == 1
    await servers.forget(address)
    assert await clients(address) == 0


async def test_closes_idle_connections_to_servers_that_are_not_in_use(lab, servers):
    one, other = lab.server().address, lab.server().address
    await asyncio.gather(servers.ask(one, PING), servers.ask(other, PING))
    await servers.prune([other])
    assert (await clients(one), await clients(other)) == (0, 1)


async def test_leaves_no_task_behind(lab, servers):
    await servers.ask(lab.server().address, PING)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_closed_connection_is_opened_again_unnoticed(lab, servers):
    address = lab.server().address
    await servers.ask(address, PING)
    other = Servers()
    assert await other.ask(address, kill_clients("normal")) == (1,)
    await other.aclose()
    assert await servers.ask(address, PING) == ("PONG",)


async def test_a_restarted_server_is_asked_anew(lab, servers):
    server = lab.server()
    ((before),) = await servers.ask(server.address, SERVER_INFO)
    server.kill()
    with pytest.raises(Unreachable, match=r"^127\.\d+\.\d+\.\d+:6379: connection refused$"):
        await servers.ask(server.address, SERVER_INFO)
    server.start()
    ((after),) = await servers.ask(server.address, SERVER_INFO)
    assert before.run_id != after.run_id


async def test_many_at_once_each_get_their_own_answers(lab, servers):
    address = lab.server().address
    answers = await asyncio.gather(*(servers.ask(address, PING, echo, PING) for echo in ECHO))
    assert answers == [("PONG", str(number), "PONG") for number in range(100)]
    assert await clients(address) == 1


async def test_an_error_reply_is_raised_when_all_commands_have_been_tried(lab, servers):
    address = lab.server().address
    with pytest.raises(ServerError, match=r"^ERR Unknown node nobody$"):
        await servers.ask(address, replicate("nobody"), config_set({"hz": "50"}))
    assert await servers.ask(address, config_get("hz")) == ({"hz": "50"},)


async def test_an_error_reply_is_a_value_when_asked_for_each(lab, servers):
    refused, told, unknown = await servers.ask_each(
        lab.server().address, replicate("nobody"), CLUSTER_SLOTS, config_set({"no-such": "1"})
    )
    assert isinstance(refused, ServerError)
    assert (refused.code, refused.text) == ("ERR", "Unknown node nobody")
    assert told == ()
    assert isinstance(unknown, ServerError)


@pytest.mark.parametrize("wrong", [Credentials("_operator", "battery staple"), Credentials("nobody", "correct-horse"), None])
async def test_a_wrong_password_is_told_from_everything_else_and_never_shown(lab, servers, wrong):
    server = lab.server(arguments=CLOSED, credentials=OPERATOR)
    with pytest.raises(AuthRefused) as refusal:
        await servers.ask(Address(server.host, 6379, wrong), PING)
    assert "staple" not in str(refusal.value)
    assert "horse" not in str(refusal.value)


async def test_a_changed_password_is_used_at_once_and_the_old_connection_closed(lab, servers):
    server = lab.server(arguments=(*CLOSED, ">second"), credentials=OPERATOR)
    await servers.ask(server.address, PING)
    await servers.ask(Address(server.host, 6379, Credentials("_operator", "second")), PING)
    assert await clients(server.address) == 1
    with pytest.raises(AuthRefused):
        await servers.ask(Address(server.host, 6379, Credentials("_operator", "third")), PING)


async def test_a_missing_right_names_the_command(lab, servers):
    server = lab.server(arguments=("--user", "_operator", "on", ">correct-horse", "+ping"), credentials=OPERATOR)
    answered, refused = await servers.ask_each(server.address, PING, MYID)
    assert answered == "PONG"
    assert isinstance(refused, NoPermission)
    assert "'cluster|myid'" in refused.text


async def test_nobody_listens():
    servers = Servers()
    with pytest.raises(Unreachable) as failure:
        await servers.ask(Address("127.0.0.1", free_port()), PING)
    assert failure.value.reason is Reason.REFUSED


async def test_a_silent_server_is_given_up_and_its_late_answer_never_taken_for_another(lab):
    server, servers = lab.server(), Servers(reply_timeout=0.2)
    await servers.ask(server.address, PING)
    server.pause()
    with pytest.raises(Unreachable) as failure:
        await servers.ask(server.address, ECHO[1])
    assert failure.value.reason is Reason.TIMED_OUT
    server.resume()
    assert await servers.ask(server.address, ECHO[2]) == ("2",)
    await servers.aclose()


async def test_whoever_stops_waiting_leaves_no_answer_for_the_next(lab, servers):
    server = lab.server()
    await servers.ask(server.address, PING)
    server.pause()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(servers.ask(server.address, ECHO[1]), 0.1)
    server.resume()
    assert await servers.ask(server.address, ECHO[2]) == ("2",)


async def test_a_server_that_does_not_accept_is_given_up(lab):
    server, servers = lab.server(arguments=CLOSED, credentials=OPERATOR), Servers(connect_timeout=0.2)
    server.pause()  # the kernel accepts, the login is never answered
    with pytest.raises(Unreachable) as failure:
        await servers.ask(server.address, PING)
    assert failure.value.reason is Reason.TIMED_OUT


async def test_something_else_than_valkey_is_malformed(servers):
    async def answer(_reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        for credentials in (None, OPERATOR):
            with pytest.raises(Malformed, match="does not speak like a Valkey server"):
                await servers.ask(Address(host, port, credentials), PING)


async def test_a_server_that_hangs_up_is_unreachable(servers):
    accepted = []

    async def hang_up(reader, writer):
        accepted.append(await reader.read(1))
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        with pytest.raises(Unreachable) as failure:
            await servers.ask(Address(*server.sockets[0].getsockname()), PING)
    assert failure.value.reason is Reason.CLOSED
    assert accepted == [b"*"]  # a fresh connection that dies is not tried twice


async def test_speaks_over_ipv6(lab, servers):
    server = lab.server(host="::1", port=free_port("::1"))
    seen = await look(servers, server.address)
    assert str(server.address) == f"[::1]:{server.port}"
    assert seen.myself.bus_port == server.port + 10000


async def test_a_dial_that_is_swallowed_does_not_hide_that_the_way_is_free_a_moment_later(lab, servers):
    address = lab.server().address
    (node_id,) = await servers.ask(address, MYID)
    dials = []

    async def swallow_the_first(reader, writer):
        dials.append(writer)
        if len(dials) > 1:
            there, back = await asyncio.open_connection(address.host, address.port)
            there_again = await reader.read(1000)
            back.write(there_again)
            writer.write(await there.read(1000))
            back.close()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(swallow_the_first, "127.0.0.1") as way:
        host, port = way.sockets[0].getsockname()
        assert await answering(Address(host, port, address.credentials), within=5.0) == node_id
    assert len(dials) == 2


async def test_nobody_answers_where_nobody_listens():
    with pytest.raises(Unreachable, match="connection refused"):
        await answering(Address("127.0.0.1", free_port()))
