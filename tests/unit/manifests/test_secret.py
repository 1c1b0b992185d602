from base64 import b64decode
from dataclasses import replace

from golden.orders import WANTED, orders
from valkey_operator.core.plan import ConnectionSecret
from valkey_operator.manifests.secret import connection_secret, system_secret, tls_secret


def values(body):
    return {key: b64decode(value).decode() for key, value in body["data"].items()}


def test_generated_passwords_cannot_be_changed_by_accident():
    body = system_secret(orders(), WANTED["system-secret"])
    assert body["immutable"] is True
    assert values(body) == {"_operator": "operator-password", "_replication": "replication-password", "default": "p@ss/word"}


def test_the_connection_secret_says_how_to_connect_and_escapes_what_stands_in_the_address():
    wanted = ConnectionSecret(
        username="app", password="a b@c", host="valkey-orders.shop.svc", port=6379, external=("192.0.2.1:31299", "192.0.2.2:31299")
    )
    assert values(connection_secret(orders(), wanted)) == {
        "username": "app",
        "password": "a b@c",
        "host": "valkey-orders.shop.svc",
        "port": "6379",
        "uri": "valkey://app:a%20b%40c@valkey-orders.shop.svc:6379",
        "external": "192.0.2.1:31299,192.0.2.2:31299",
    }


def test_without_external_access_there_are_no_outside_addresses():
    wanted = ConnectionSecret(username="app", password="x", host="h", port=6379, external=())
    assert values(connection_secret(orders(), wanted))["external"] == ""


def test_with_tls_the_connection_secret_says_so_and_holds_whom_to_trust():
    found = values(connection_secret(orders(), WANTED["connection-secret-tls"]))
    assert (found["uri"], found["ca.crt"]) == ("valkeys://default:p%40ss%2Fword@valkey-orders.shop.svc:6379", "authorities\n")


def test_the_servers_certificate_lies_in_files_that_are_named_after_it():
    found = values(tls_secret(orders(), WANTED["tls-secret"]))
    assert found == {
        "tls-bc5b91f7474e3fd8.crt": "certificate\n",
        "tls-bc5b91f7474e3fd8.key": "key\n",
        "ca-09849ebeffef4740.crt": "authorities\n",
        "since": "2026-03-01T12:00:00Z",
        "previous.crt": "earlier certificate\n",
        "previous-ca.crt": "earlier authorities\n",
    }


def test_at_first_there_was_no_certificate_before():
    found = values(tls_secret(orders(), replace(WANTED["tls-secret"], previous=None)))
    assert (found["previous.crt"], found["previous-ca.crt"]) == ("", "")
