import ssl

from valkey_operator.valkey.address import Address, Credentials, Tls


def test_reads_as_host_and_port():
    assert str(Address("10.0.0.1", 6379)) == "10.0.0.1:6379"
    assert str(Address("fd00::1", 6379)) == "[fd00::1]:6379"


def test_never_shows_a_password():
    address = Address("10.0.0.1", 6379, Credentials("_operator", "hunter2"), Tls(ssl.create_default_context(), "a.example.com"))
    assert "hunter2" not in f"{address} {address!r}"


def test_another_password_is_another_address():
    assert Address("h", 1, Credentials("u", "a")) != Address("h", 1, Credentials("u", "b"))
