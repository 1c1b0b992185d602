"""Certificates out of Secrets, and how servers are talked to."""

import ssl
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from authorities import authority
from unit.core.given import NODES, observed
from unit.core.secured import SPEC
from valkey_operator.controllers.secret_views import Secret
from valkey_operator.controllers.trust import Trust
from valkey_operator.core.certificates import Certificate, Files, Flawed
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import Tls
from valkey_operator.core.plan import TlsSecret
from valkey_operator.manifests.secret import tls_secret

NOW = datetime.now(UTC)
NODE = NodeIndex(0, 0)
A, B = authority("A"), authority("B")
INSIDE = ("valkey-orders.shop.svc", "*.valkey-orders.shop.svc")
ONE, TWO = A.issue(*INSIDE), A.issue("*.example.com")
FOREIGN = B.issue(*INSIDE)


def users(secret):
    return Secret("orders-cert", {key: text.encode() for key, text in secret.items()})


def servers(secret, *, previous=None, since="2026-03-01T12:00:00Z"):
    """The servers' Secret as it is written, read back."""
    files = Files(secret["tls.crt"], secret["tls.key"], secret["ca.crt"])
    body = tls_secret(observed().cluster, TlsSecret(files, since, previous))
    from valkey_operator.controllers.secret_views import values  # noqa: PLC0415  # beside what it undoes

    return values(body)


def seen(tls, *, served=""):
    """The cluster whose servers were seen to serve that certificate."""
    found = observed(spec=SPEC, tls=tls)
    records = {
        index: replace(found.records[index], status=found.records[index].status.model_copy(update={"certificate": served}))
        for index in NODES
    }
    return replace(found, records=records)


async def test_a_secret_that_is_not_there_is_told():
    tls = await Trust().tls(None, None)
    assert tls == Tls(offered=Flawed(("it does not exist: create it with the keys tls.crt, tls.key and ca.crt",)), standing=None)


async def test_what_is_written_for_servers_is_read_back():
    before = (TWO.certificate, A.certificate)
    tls = await Trust().tls(users(ONE.secret(A)), servers(ONE.secret(A), previous=before))
    assert isinstance(tls.standing, Certificate)
    assert (tls.offered, tls.standing.fingerprint) == (tls.standing, ONE.fingerprint)
    assert tls.standing_since == datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    assert (tls.previous.fingerprint, tls.previous.files) == (TWO.fingerprint, Files(TWO.certificate, "", A.certificate))


async def test_a_servers_secret_that_somebody_spoilt_counts_as_none():
    spoilt = replace(servers(ONE.secret(A)), values={"tls-1.crt": b"nonsense", "since": b"yesterday"})
    assert (await Trust().tls(users(ONE.secret(A)), spoilt)).standing is None


async def test_a_moment_that_nobody_can_read_is_none():
    assert (await Trust().tls(None, servers(ONE.secret(A), since="yesterday"))).standing_since is None


async def test_who_would_trust_whom_is_found_out():
    standing = servers(ONE.secret(A))
    for offered, ours, theirs in (
        (TWO.secret(A), True, True),
        (FOREIGN.secret(B), False, False),
        (FOREIGN.secret(A, B), False, True),
        (TWO.secret(A, B), True, True),
    ):
        tls = await Trust().tls(users(offered), standing)
        assert (tls.offered_trusted, tls.standing_trusted) == (ours, theirs)


async def test_without_tls_connections_are_plain():
    assert await Trust().secured(observed(), NODE, now=NOW) is None


async def test_without_a_certificate_there_is_no_connection_at_all():
    assert await Trust().secured(seen(Tls(offered=Flawed(("x",)), standing=None)), NODE, now=NOW) is None


async def test_a_host_that_is_dialled_is_asked_for_where_the_certificate_covers_it():
    pair = A.issue("valkey-orders.shop.svc", "*.example.com")
    trust = Trust()
    tls = await trust.tls(users(pair.secret(A)), servers(pair.secret(A)))

    async def name(dialled):
        return (await trust.secured(seen(tls, served=pair.fingerprint), None, now=NOW, dialled=dialled)).server_name

    assert await name("orders-0-1.example.com") == "orders-0-1.example.com"
    assert await name("balancer.cloud.example.net") == "valkey-orders.shop.svc"
    assert await name("192.0.2.7") == "valkey-orders.shop.svc"


async def test_a_server_is_known_by_a_name_that_its_certificate_covers():
    trust = Trust()
    for pair, name in ((ONE, "valkey-orders.shop.svc"), (TWO, "valkey.example.com"), (A.issue("192.0.2.7"), "192.0.2.7")):
        tls = await trust.tls(users(pair.secret(A)), servers(pair.secret(A)))
        secured = await trust.secured(seen(tls, served=pair.fingerprint), NODE, now=NOW)
        assert (secured.server_name, secured.former_names) == (name, ())


async def test_chain_name_and_time_are_verified_and_no_other_authority_is_trusted():
    trust = Trust()
    tls = await trust.tls(users(ONE.secret(A)), servers(ONE.secret(A)))
    context = (await trust.secured(seen(tls), NODE, now=NOW)).context
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert context.verify_flags == ssl.VerifyFlags.VERIFY_X509_TRUSTED_FIRST  # as servers verify each other, and time too
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert [found["subject"] for found in context.get_ca_certs()] == [((("commonName", "A"),),)]


async def test_a_server_that_may_still_serve_the_certificate_before_is_believed_that():
    trust = Trust()
    tls = await trust.tls(users(TWO.secret(B, A)), servers(TWO.secret(A, B), previous=(FOREIGN.certificate, B.certificate)))
    unsure = await trust.secured(seen(tls, served=FOREIGN.fingerprint), NODE, now=NOW)
    assert (unsure.server_name, unsure.former_names) == ("valkey.example.com", ("valkey-orders.shop.svc",))
    anybody = await trust.secured(seen(tls, served=TWO.fingerprint), None, now=NOW)
    assert anybody == unsure
    sure = await trust.secured(seen(tls, served=TWO.fingerprint), NODE, now=NOW)
    assert (sure.server_name, sure.former_names) == ("valkey.example.com", ())


async def test_a_dropped_authority_is_trusted_no_longer_than_needed():
    trust = Trust()
    tls = await trust.tls(users(FOREIGN.secret(B)), servers(FOREIGN.secret(B), previous=(ONE.certificate, A.certificate)))
    unsure = await trust.secured(seen(tls, served=ONE.fingerprint), NODE, now=NOW)
    assert {found["subject"][0][0][1] for found in unsure.context.get_ca_certs()} == {"A", "B"}
    sure = await trust.secured(seen(tls, served=FOREIGN.fingerprint), NODE, now=NOW)
    assert {found["subject"][0][0][1] for found in sure.context.get_ca_certs()} == {"B"}


async def test_time_alone_is_no_reason_to_leave_servers_with_an_expired_certificate_alone():
    trust = Trust()
    old = A.issue(*INSIDE, begins=NOW - timedelta(hours=3), ends=NOW + timedelta(hours=2))
    tls = await trust.tls(users(old.secret(A)), servers(old.secret(A)))
    assert not (await trust.secured(seen(tls), NODE, now=NOW)).context.verify_flags & 0x200000
    late = (await trust.secured(seen(tls), NODE, now=NOW + timedelta(hours=3))).context
    assert late.verify_flags & 0x200000
    assert (late.check_hostname, late.verify_mode) == (True, ssl.CERT_REQUIRED)


async def test_contexts_are_shared_so_that_connections_are_kept():
    trust = Trust()
    tls = await trust.tls(users(ONE.secret(A)), servers(ONE.secret(A)))
    one = await trust.secured(seen(tls, served=ONE.fingerprint), NODE, now=NOW)
    trust.prune()
    assert await trust.secured(seen(tls, served=ONE.fingerprint), NodeIndex(2, 1), now=NOW) == one


def test_an_operator_without_tls_clusters_does_without_the_library_that_reads_certificates():
    check = "import sys, valkey_operator.app.run; sys.exit('cryptography.x509' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
