import socket
import ssl

import pytest

from valkey_operator.valkey.errors import AuthRefused, Loading, NoPermission, Reason, ServerError, Unreachable, ValkeyError
from valkey_operator.valkey.failures import error_of_reply, unreachable


@pytest.mark.parametrize(
    ("line", "kind", "code"),
    [
        ("WRONGPASS invalid username-password pair or user is disabled.", AuthRefused, "WRONGPASS"),
        ("NOAUTH Authentication required.", AuthRefused, "NOAUTH"),
        ("NOPERM User x has no permissions to run the 'cluster|meet' command", NoPermission, "NOPERM"),
        ("LOADING Valkey is loading the dataset in memory", Loading, "LOADING"),
        ("ERR Unknown node x", ServerError, "ERR"),
        ("CLUSTERDOWN Hash slot not served", ServerError, "CLUSTERDOWN"),
        ("ODD", ServerError, "ODD"),
    ],
)
def test_an_error_reply_is_told_by_its_first_word(line, kind, code):
    error = error_of_reply(line)
    assert type(error) is kind
    assert (error.code, f"{error.code} {error.text}".strip()) == (code, line)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (TimeoutError(), Reason.TIMED_OUT),
        (ConnectionRefusedError(), Reason.REFUSED),
        (ConnectionResetError(), Reason.CLOSED),
        (BrokenPipeError(), Reason.CLOSED),
        (socket.gaierror(-2, "Name or service not known"), Reason.UNKNOWN_HOST),
        (ssl.SSLError(1, "handshake"), Reason.TLS),
        (OSError(113, "No route to host"), Reason.FAILED),
        (OSError("Multiple exceptions: …"), Reason.FAILED),
        (EOFError("the stream ended"), Reason.CLOSED),
    ],
)
def test_a_failure_has_a_reason(failure, reason):
    assert unreachable("10.0.0.1:6379", failure).reason is reason


def test_looks_through_what_the_library_wrapped():
    try:
        try:
            raise ConnectionRefusedError
        except OSError:
            raise LookupError("Error 111 connecting") from None
    except LookupError as wrapped:
        error = unreachable("10.0.0.1:6379", wrapped)
    assert str(error) == "10.0.0.1:6379: connection refused"


def test_says_more_where_the_system_does():
    assert (
        str(unreachable("10.0.0.1:6379", OSError(113, "No route to host"))) == "10.0.0.1:6379: connection failed (No route to host)"
    )


def test_all_errors_are_of_one_tree():
    assert issubclass(Unreachable, ValkeyError)
    assert issubclass(AuthRefused, ServerError)
    assert issubclass(ServerError, ValkeyError)
