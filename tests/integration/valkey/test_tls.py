import asyncio
import ssl

import pytest

from integration.valkey.certificates import Authority
from integration.valkey.servers import FORMING
from integration.valkey.test_cluster import form
from valkey_operator.valkey.address import Address, Credentials, Tls
from valkey_operator.valkey.commands import PING
from valkey_operator.valkey.connection import Servers
from valkey_operator.valkey.errors import Reason, Unreachable
from valkey_operator.valkey.look import look

NAME = "my-cluster.default.svc"
ONLY_TLS = ("--tls-port", "6379", "--tls-cluster", "yes", "--tls-replication", "yes", "--tls-auth-clients", "no")


@pytest.fixture
def authority(tmp_path):
    return Authority.made_in(tmp_path / "authority")


def tls(authority, name=NAME):
    return Tls(ssl.create_default_context(cafile=str(authority.directory / "ca.crt")), name)


def secured_server(lab, authority, *, more=(), secured=None):
    directory = lab.directory / str(len(lab.made))
    files = (
        *("--tls-cert-file", str(directory / "tls.crt")),
        *("--tls-key-file", str(directory / "tls.key")),
        *("--tls-ca-cert-file", str(directory / "ca.crt")),
    )
    return lab.server(
        arguments=(*ONLY_TLS, *files, *more),
        tls=secured or tls(authority),
        prepare=lambda server: authority.issue(server.directory, NAME, "n0.example.com"),
    )


async def test_verifies_the_name_that_it_was_told_and_not_the_address(lab, servers, authority):
    server = secured_server(lab, authority)
    assert await servers.ask(server.address, PING) == ("PONG",)
    with pytest.raises(Unreachable) as failure:
        await servers.ask(Address(server.host, 6379, tls=tls(authority, "other.example.com")), PING)
    assert failure.value.reason is Reason.TLS
    assert "Hostname mismatch" in str(failure.value)


async def test_refuses_a_certificate_of_somebody_else(lab, servers, authority, tmp_path):
    server = secured_server(lab, authority)
    with pytest.raises(Unreachable) as failure:
        await servers.ask(Address(server.host, 6379, tls=tls(Authority.made_in(tmp_path / "somebody"))), PING)
    assert failure.value.reason is Reason.TLS
    assert "certificate signature failure" in str(failure.value)


async def test_never_falls_back_to_plain_text(authority):
    received, servers = asyncio.Queue(), Servers(connect_timeout=0.3)

    async def listen(reader, writer):
        received.put_nowait(await reader.read())
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as plain:
        host, port = plain.sockets[0].getsockname()
        with pytest.raises(Unreachable) as failure:
            await servers.ask(Address(host, port, Credentials("_operator", "correct-horse"), tls(authority)), PING)
        heard = await received.get()
    assert failure.value.reason is Reason.TIMED_OUT
    assert heard.startswith(b"\x16")  # a TLS handshake
    assert b"correct-horse" not in heard
    assert received.empty()


async def test_plain_text_to_a_secured_port_gets_nowhere(lab, servers, authority):
    server = secured_server(lab, authority)
    with pytest.raises(Unreachable) as failure:
        await servers.ask(Address(server.host, 6379), PING)
    assert failure.value.reason is Reason.CLOSED


async def test_a_new_context_makes_a_new_connection(lab, servers, authority):
    server = secured_server(lab, authority)
    await servers.ask(server.address, PING)
    with pytest.raises(Unreachable):
        await servers.ask(Address(server.host, 6379, tls=tls(authority, "other.example.com")), PING)
    assert await servers.ask(server.address, PING) == ("PONG",)


async def test_forms_a_cluster_on_tls_alone(lab, authority):
    servers, secured = Servers(), tls(authority)
    nodes = [secured_server(lab, authority, more=FORMING, secured=secured) for _ in range(4)]
    await form(servers, nodes, primaries=2)
    seen = await look(servers, nodes[2].address, ("tls-port", "port"))
    assert (seen.link_up, seen.state, seen.config) == (True, "ok", {"tls-port": "6379", "port": "0"})
    assert {member.port for member in seen.members} == {6379}
    await servers.aclose()
