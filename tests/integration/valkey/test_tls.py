import asyncio
import ssl

import pytest

from authorities import Authority, authority
from integration.valkey.servers import FORMING
from integration.valkey.test_cluster import form
from valkey_operator.core.certificates import Files
from valkey_operator.core.config import TLS
from valkey_operator.valkey.address import Address, Credentials, Tls
from valkey_operator.valkey.commands import PING, Command, config_get, config_set
from valkey_operator.valkey.connection import Servers
from valkey_operator.valkey.errors import Reason, ServerError, Unreachable
from valkey_operator.valkey.handshake import served_certificate
from valkey_operator.valkey.look import look
from valkey_operator.valkey.reply import number

NAME = "my-cluster.default.svc"
A, B = authority("A"), authority("B")
ONLY_TLS = [word for key, value in TLS.items() if key != "port" for word in (f"--{key}", value)]


def tls(*trusted, name=NAME, former=()):
    context = ssl.create_default_context(cadata="".join(each.certificate for each in trusted or (A,)))
    return Tls(context, name, former)


def written(directory, pair, *authorities):
    """The files of a certificate and its authorities in the server's directory, as settings."""
    files = Files(pair.certificate, pair.key, "".join(each.certificate for each in authorities))
    texts = {files.certificate_file: files.certificate, files.key_file: files.key, files.authorities_file: files.authorities}
    for name, text in texts.items():
        (directory / name).write_text(text)
    return {key: str(directory / path.rpartition("/")[2]) for key, path in files.settings().items()}


def secured_server(lab, pair=None, *, more=(), secured=None):
    directory = lab.directory / str(len(lab.made))
    directory.mkdir()
    settings = written(directory, pair or A.issue(NAME, "n0.example.com"), A)
    directory.rename(lab.directory / "files")
    words = [word for key, value in settings.items() for word in (f"--{key}", value)]

    def prepare(server):
        server.directory.rmdir()
        (lab.directory / "files").rename(server.directory)

    return lab.server(arguments=(*ONLY_TLS, *words, *more), tls=secured or tls(), prepare=prepare)


async def test_verifies_the_name_that_it_was_told_and_not_the_address(lab, servers):
    server = secured_server(lab)
    assert await servers.ask(server.address, PING) == ("PONG",)
    with pytest.raises(Unreachable) as failure:
        await servers.ask(Address(server.host, 6379, tls=tls(name="other.example.com")), PING)
    assert failure.value.reason is Reason.TLS
    assert "Hostname mismatch" in str(failure.value)


async def test_a_name_of_the_certificate_before_will_do_and_no_other(lab, servers):
    server = secured_server(lab)
    accepted = Address(server.host, 6379, tls=tls(name="new.example.com", former=("newer.example.com", NAME)))
    assert await servers.ask(accepted, PING) == ("PONG",)
    assert await served_certificate(accepted) == await served_certificate(server.address)
    for ask in (lambda where: servers.ask(where, PING), served_certificate):
        with pytest.raises(Unreachable, match="Hostname mismatch"):
            await ask(Address(server.host, 6379, tls=tls(name="new.example.com", former=("newer.example.com",))))


async def test_refuses_a_certificate_of_somebody_else(lab, servers):
    server = secured_server(lab)
    for ask in (lambda where: servers.ask(where, PING), served_certificate):
        with pytest.raises(Unreachable) as failure:
            await ask(Address(server.host, 6379, tls=tls(Authority.made("A"), former=(NAME,))))
        assert failure.value.reason is Reason.TLS
        assert "self-signed certificate in certificate chain" in str(failure.value)


async def test_never_falls_back_to_plain_text():
    received, servers = asyncio.Queue(), Servers(connect_timeout=0.3)

    async def listen(reader, writer):
        received.put_nowait(await reader.read())
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as plain:
        host, port = plain.sockets[0].getsockname()
        with pytest.raises(Unreachable) as failure:
            await servers.ask(Address(host, port, Credentials("_operator", "correct-horse"), tls()), PING)
        heard = await received.get()
    assert failure.value.reason is Reason.TIMED_OUT
    assert heard.startswith(b"\x16")  # a TLS handshake
    assert b"correct-horse" not in heard
    assert received.empty()


async def test_plain_text_to_a_secured_port_gets_nowhere(lab, servers):
    server = secured_server(lab)
    with pytest.raises(Unreachable) as failure:
        await servers.ask(Address(server.host, 6379), PING)
    assert failure.value.reason is Reason.CLOSED


async def test_a_new_context_makes_a_new_connection(lab, servers):
    server = secured_server(lab)
    await servers.ask(server.address, PING)
    with pytest.raises(Unreachable):
        await servers.ask(Address(server.host, 6379, tls=tls(name="other.example.com")), PING)
    assert await servers.ask(server.address, PING) == ("PONG",)


async def test_the_certificate_that_a_server_serves_is_told_by_its_fingerprint(lab):
    pair = A.issue(NAME)
    assert await served_certificate(secured_server(lab, pair).address) == pair.fingerprint


async def test_a_server_that_does_not_answer_shows_no_certificate(lab):
    server = secured_server(lab)
    server.pause()
    with pytest.raises(Unreachable, match="timed out"):
        await served_certificate(server.address, within=0.2)
    server.kill()
    with pytest.raises(Unreachable, match="connection refused"):
        await served_certificate(server.address)


async def test_forms_a_cluster_on_tls_alone(lab):
    servers, secured = Servers(), tls()
    nodes = [secured_server(lab, more=FORMING, secured=secured) for _ in range(4)]
    await form(servers, nodes, primaries=2)
    seen = await look(servers, nodes[2].address, ("tls-port", "port"))
    assert (seen.link_up, seen.state, seen.config) == (True, "ok", {"tls-port": "6379", "port": "0"})
    assert {member.port for member in seen.members} == {6379}
    await servers.aclose()


async def test_a_server_that_has_not_the_files_yet_refuses_and_goes_on_with_what_it_has(lab, servers):
    before = A.issue(NAME)
    server = secured_server(lab, before)
    had = (await servers.ask(server.address, config_get("tls-cert-file", "tls-key-file", "tls-ca-cert-file")))[0]
    missing = {key: value.replace("-", "-0") for key, value in had.items()}
    with pytest.raises(ServerError, match="Unable to update TLS configuration"):
        await servers.ask(server.address, config_set(missing))
    assert await servers.ask(server.address, config_get(*had)) == (had,)
    assert await served_certificate(server.address) == before.fingerprint


async def test_certificate_and_authority_are_changed_under_a_cluster_that_runs(lab):
    """Authorities first, then the certificate, then the old authority goes: servers of before and after each step come together anew."""
    servers, everybody = Servers(), tls(A, B)
    old, new = A.issue(NAME), B.issue(NAME)
    debug = ("--enable-debug-command", "yes")
    nodes = [secured_server(lab, old, more=(*FORMING, *debug), secured=everybody) for _ in range(4)]
    await form(servers, nodes, primaries=2)
    for pair, *authorities in ((old, A, B), (new, A, B), (new, B)):
        for node in nodes:
            await servers.ask(node.address, config_set(written(node.directory, pair, *authorities)))
            await break_links(servers, node)
            await eventually_whole(servers, nodes)
        assert {await served_certificate(node.address) for node in nodes} == {pair.fingerprint}
    await servers.aclose()


async def break_links(servers, node):
    """Every connection between that server and the others is cut."""
    seen = await look(servers, node.address)
    others = [member.id for member in seen.members if not member.myself]
    await servers.ask(node.address, *(Command("DEBUG CLUSTERLINK KILL", ("all", other), str) for other in others))
    await servers.ask(node.address, *(Command("CLIENT KILL", ("TYPE", kind), number) for kind in ("primary", "replica")))


async def eventually_whole(servers, nodes):
    async with asyncio.timeout(5):
        while True:
            seen = await asyncio.gather(*(look(servers, node.address) for node in nodes))
            linked = all(member.link_up and not member.failed for each in seen for member in each.members)
            if linked and all(each.state == "ok" and each.link_up for each in seen):
                return
            await asyncio.sleep(0.05)
