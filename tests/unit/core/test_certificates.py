from datetime import UTC, datetime, timedelta

import pytest

from valkey_operator.core.certificates import Certificate, Files, covers, identity, missing_names

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def certificate(*names, begins=NOON, ends=NOON + timedelta(days=90)):
    return Certificate(Files("certificate", "key", "authorities"), names, begins, ends, "00")


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("a.example.com", "a.example.com"),
        ("A.Example.com", "a.example.COM"),
        ("a.example.com.", "a.example.com"),
        ("*.example.com", "a.example.com"),
        ("*.valkey-orders.shop.svc", "valkey-orders-0-1-0.valkey-orders.shop.svc"),
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8::7", "2001:db8:0:0:0:0:0:7"),
        ("localhost", "localhost"),
    ],
)
def test_covers(name, host):
    assert covers(("other.example.org", name), host)


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("a.example.com", "b.example.com"),
        ("*.example.com", "a.b.example.com"),
        ("*.example.com", "example.com"),
        ("*.com", "example.com"),
        ("a*.example.com", "ab.example.com"),
        ("*", "a"),
        ("*.0.2.7", "192.0.2.7"),
        ("192.0.2.7", "192.0.2.70"),
        ("example.com", "a.example.com"),
    ],
)
def test_does_not_cover(name, host):
    assert not covers((name,), host)


def test_missing_names_are_listed_once_and_in_order():
    hosts = ["b.example.org", "a.example.com", "192.0.2.7", "b.example.org", "c.example.com"]
    assert missing_names(certificate("*.example.com"), hosts) == ("b.example.org", "192.0.2.7")


def test_nothing_is_missing_where_nothing_is_asked_for():
    assert missing_names(certificate("a.example.com"), []) == ()


@pytest.mark.parametrize(
    ("names", "identity_"),
    [
        (("a.example.com", "valkey-orders.shop.svc"), "valkey-orders.shop.svc"),
        (("a.example.com", "b.example.com"), "a.example.com"),
        (("*.example.com",), "valkey.example.com"),
        (("192.0.2.7",), "192.0.2.7"),
    ],
)
def test_a_server_is_known_by_the_best_name_that_its_certificate_covers(names, identity_):
    assert identity(certificate(*names), ("valkey-orders.shop.svc", "valkey-orders.shop.svc.cluster.local")) == identity_


@pytest.mark.parametrize(
    ("moment", "says"),
    [
        (
            NOON - timedelta(seconds=1),
            "the certificate is not valid before 2026-03-01T12:00:00Z: put one into it that is valid now",
        ),
        (NOON, None),
        (NOON + timedelta(days=90, seconds=-1), None),
        (NOON + timedelta(days=90), "the certificate expired at 2026-05-30T12:00:00Z: put a new one into it"),
    ],
)
def test_a_certificate_has_its_time(moment, says):
    assert certificate("a").untimely(moment) == says


def test_files_are_named_after_what_is_in_them():
    assert Files("certificate", "key", "authorities").settings() == {
        "tls-cert-file": "/etc/valkey/tls/tls-03d66dd08835c1ca.crt",
        "tls-key-file": "/etc/valkey/tls/tls-03d66dd08835c1ca.key",
        "tls-ca-cert-file": "/etc/valkey/tls/ca-9756757b8c6dd294.crt",
    }


def test_another_certificate_or_other_authorities_are_other_files():
    one = Files("certificate", "key", "authorities")
    assert len({one.digest, Files("other", "key", "authorities").digest, Files("certificate", "key", "other").digest}) == 3


def test_the_key_is_not_shown():
    assert "secret" not in repr(Files("certificate", "secret", "authorities"))
