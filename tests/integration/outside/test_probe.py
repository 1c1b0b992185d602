"""The dials of `kubectl valkey check`, against whatever may stand at an address."""

import asyncio
import datetime as dt
import socket
import ssl
import threading
from contextlib import asynccontextmanager, suppress

import pytest

from authorities import authority
from valkey_operator.outside.probe import Order, probe
from valkey_operator.outside.seen import Failure
from valkey_operator.outside.target import Pair
from valkey_operator.outside.wire import Login

A, B = authority("A"), authority("B")
TIMEOUT = 0.5


async def seen(port, *, host="127.0.0.1", tls=False, trust=A):
    """The one dial of a host and port."""
    (found,) = await probe(Order(pairs=(Pair(host, port),), tls=tls, timeout=TIMEOUT), Login("app", "secret", trust.certificate))
    return found


@asynccontextmanager
async def listening(answer, context=None):
    """A server that does this with each connection, one after the other; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with suppress(OSError):  # it is over
                while True:
                    plain, _ = server.accept()
                    with plain, suppress(OSError):  # whoever dialled has gone
                        connection = context.wrap_socket(plain, server_side=True) if context else plain
                        with connection:
                            answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        await asyncio.to_thread(thread.join)


def showing(tmp_path, pair):
    """How a server shows that certificate."""
    for name, text in (("crt", pair.certificate), ("key", pair.key)):
        (tmp_path / name).write_text(text)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    return context


def hangs_up(_connection):
    pass


def saying(*answers):
    """Says each thing once it has heard something that ends so, and then nothing until the other side goes."""

    def say(connection):
        for after, said in answers:
            heard = b""
            while not heard.endswith(after) and (more := connection.recv(4096)):
                heard += more
            connection.sendall(said)
        while connection.recv(4096):
            pass

    return say


LOGIN = b"secret\r\n"
says_nothing = saying()


async def test_a_name_that_does_not_resolve_has_no_dial_and_a_reason():
    found = await seen(6379, host="no-such-name.invalid")
    assert found.dials == ()
    assert found.detail


async def test_a_closed_port_refuses():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        (dial,) = (await seen(bound.getsockname()[1])).dials
    assert (dial.ip, dial.failure) == ("127.0.0.1", Failure.REFUSED)


async def test_who_hangs_up_has_cut_the_connection():
    async with listening(hangs_up) as port:
        for tls in (False, True):
            (dial,) = (await seen(port, tls=tls)).dials
            assert dial.failure is Failure.CUT


async def test_who_says_nothing_is_silent():
    async with listening(says_nothing) as port:
        for tls, what in ((False, "to AUTH within 0.5 s"), (True, "to the TLS handshake within 0.5 s")):
            (dial,) = (await seen(port, tls=tls)).dials
            assert (dial.failure, dial.detail) == (Failure.SILENT, what)


async def test_who_speaks_plainly_where_tls_is_wanted_has_no_tls():
    async with listening(saying((b"", b"-ERR what?\r\n"))) as port:
        (dial,) = (await seen(port, tls=True)).dials
    assert dial.failure is Failure.NO_TLS


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"$x\r\n", b"\r\n"])
async def test_what_speaks_otherwise_is_no_valkey(answer):
    async with listening(saying((LOGIN, answer))) as port:
        (dial,) = (await seen(port)).dials
    assert dial.failure is Failure.NOT_VALKEY


async def test_a_refused_login_is_told_in_the_servers_words_and_never_the_password():
    async with listening(saying((LOGIN, b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"))) as port:
        (dial,) = (await seen(port)).dials
    assert (dial.failure, dial.detail) == (Failure.LOGIN_REFUSED, "WRONGPASS invalid username-password pair or user is disabled.")
    assert "secret" not in repr(dial)


async def test_a_server_that_does_not_work_is_told_in_its_words():
    async with listening(saying((LOGIN, b"-LOADING Valkey is loading the dataset in memory\r\n"))) as port:
        (dial,) = (await seen(port)).dials
    assert (dial.failure, dial.detail) == (Failure.NOT_WORKING, "LOADING Valkey is loading the dataset in memory")


async def test_a_certificate_for_other_names_is_told_with_those_that_it_covers(tmp_path):
    async with listening(says_nothing, showing(tmp_path, A.issue("a.example.com", "*.b.example.com"))) as port:
        (dial,) = (await seen(port, tls=True)).dials
    assert dial.failure is Failure.WRONG_NAME
    assert "it covers a.example.com, *.b.example.com, valid from" in dial.detail


async def test_a_certificate_of_a_stranger_is_not_trusted(tmp_path):
    async with listening(says_nothing, showing(tmp_path, A.issue("127.0.0.1"))) as port:
        (dial,) = (await seen(port, tls=True, trust=B)).dials
    assert dial.failure is Failure.UNTRUSTED


async def test_a_certificate_out_of_its_time_is_told_with_its_time(tmp_path):
    now = dt.datetime.now(dt.UTC)
    pair = A.issue("127.0.0.1", begins=now - dt.timedelta(hours=2), ends=now - dt.timedelta(hours=1))
    async with listening(says_nothing, showing(tmp_path, pair)) as port:
        (dial,) = (await seen(port, tls=True)).dials
    assert dial.failure is Failure.EXPIRED
    assert f"to {now - dt.timedelta(hours=1):%Y-%m-%d %H:%M} UTC" in dial.detail


async def test_what_a_user_may_not_call_is_listed_and_the_rest_is_told():
    nodes = f"{'a' * 40} 127.0.0.1:1@2,h myself,master - 0 0 1 connected 0-16383\n".encode()
    refusal = b"-NOPERM User app has no permissions to run the command\r\n"
    answers = b"".join((refusal, refusal, refusal, b"$%d\r\n%b\r\n" % (len(nodes), nodes)))

    async with listening(saying((LOGIN, b"+OK\r\n"), (b"NODES\r\n", answers))) as port:
        (dial,) = (await seen(port)).dials
    assert dial.failure is None
    assert dial.id == "a" * 40
    assert dial.refused == ("CLUSTER MYID", "CLUSTER SLOTS", "CLUSTER SHARDS")
    assert [(told.host, told.port) for told in dial.told] == [("h", 1)]


async def test_a_server_without_a_cluster_is_told_in_its_words():
    refusal = b"-ERR This instance has cluster support disabled\r\n"
    async with listening(saying((LOGIN, b"+OK\r\n"), (b"NODES\r\n", 4 * refusal))) as port:
        (dial,) = (await seen(port)).dials
    assert (dial.failure, dial.detail) == (Failure.NOT_WORKING, "ERR This instance has cluster support disabled")


def bulk(text):
    return b"$%d\r\n%b\r\n" % (len(text), text.encode())


def node(own, *, slots, gets):
    """A server of a cluster: it tells these slots, and answers so to those who get a key."""
    answers = bulk(own) + slots + b"*0\r\n" + bulk(f"{own} 127.0.0.1:1@2,h myself,master - 0 0 1 connected\n")
    return saying((LOGIN, b"+OK\r\n"), (b"NODES\r\n", answers), *((b"\r\n", get) for get in gets))


def served(first, last, port, node_id):
    return b"*3\r\n:%d\r\n:%d\r\n*3\r\n%b:%d\r\n%b" % (first, last, bulk("127.0.0.1"), port, bulk(node_id))


@pytest.mark.parametrize(
    ("answer", "outcome"), [(b"$-1\r\n", ""), (b"-MOVED 9000 127.0.0.1:1\r\n", "MOVED 9000 127.0.0.1:1"), (b"-NOPERM no\r\n", "")]
)
async def test_a_redirect_is_followed_to_what_answers_there(answer, outcome):
    first, second = "a" * 40, "b" * 40
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]  # of an address that is told and not dialled
    slots = b"*2\r\n" + served(0, 8999, port, first) + served(9000, 9000, port, second)
    async with listening(node(second, slots=slots, gets=(answer, answer))) as there:
        moved = b"-MOVED 9000 127.0.0.1:%d\r\n" % there
        async with listening(node(first, slots=slots, gets=(moved,))) as here:
            order = Order(pairs=(Pair("127.0.0.1", here), Pair("127.0.0.1", there)), tls=False, timeout=TIMEOUT)
            found = await probe(order, Login("app", "secret"))
    redirect = found[0].dials[0].redirect
    assert (redirect.slot, redirect.id, redirect.host, redirect.port) == (9000, second, "127.0.0.1", there)
    assert redirect.outcome == outcome


async def test_a_key_that_the_user_may_not_read_leads_nowhere_and_is_no_failure():
    slots = b"*1\r\n" + served(0, 16383, 1, "b" * 40)
    async with listening(node("a" * 40, slots=slots, gets=(b"-NOPERM no\r\n",))) as port:
        (dial,) = (await seen(port)).dials
    assert (dial.failure, dial.refused, dial.redirect) == (None, ("GET",), None)


async def test_a_cluster_that_is_down_is_told_where_a_key_is_asked_for():
    slots = b"*1\r\n" + served(0, 16383, 1, "b" * 40)
    async with listening(node("a" * 40, slots=slots, gets=(b"-CLUSTERDOWN The cluster is down\r\n",))) as port:
        (dial,) = (await seen(port)).dials
    assert (dial.failure, dial.detail) == (Failure.NOT_WORKING, "CLUSTERDOWN The cluster is down")
