"""What is read from PEM texts, and that OpenSSL, which servers use, is of the same opinion about who trusts whom."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from authorities import CLIENT, SERVER, Authority, Pair, authority, key_pem, usage
from valkey_operator.core.certificates import Certificate, Flawed
from valkey_operator.core.x509 import der, read, read_public, vouches

NOW = datetime.now(UTC).replace(microsecond=0)
ROOT, OTHER = authority("root"), authority("other")
MIDDLE = Authority.made("middle", above=ROOT)
SERVING_ONLY = Authority.made("serving only", above=ROOT, uses=(SERVER,))
CLOSED = Authority.made("closed", above=ROOT, path_length=0)
BELOW_CLOSED = Authority.made("below closed", above=CLOSED)
NO_AUTHORITY = Authority.made("no authority", above=ROOT, ca=False)
GOOD = ROOT.issue("valkey-orders.shop.svc", "*.example.com", "192.0.2.7")
SELF_SIGNED = Authority.made("self-signed")
BEGIN = "-----BEGIN CERTIFICATE-----"


def values(secret):
    return {key: text.encode() for key, text in secret.items()}


def problems(secret):
    found = read(values(secret))
    assert isinstance(found, Flawed)
    return found.problems


def test_a_good_secret_is_read():
    secret = GOOD.secret(ROOT)
    found = read(values(secret))
    assert isinstance(found, Certificate)
    assert found.names == ("valkey-orders.shop.svc", "*.example.com", "192.0.2.7")
    assert found.fingerprint == GOOD.fingerprint
    assert (found.files.certificate, found.files.key, found.files.authorities) == tuple(secret.values())


def test_a_certificate_holds_as_long_as_all_that_vouch_for_it():
    begun, over = NOW - timedelta(days=1), NOW + timedelta(days=3)
    middle = Authority.made("short-lived", above=ROOT, begins=begun, ends=over)
    pair = middle.issue("a.example.com", begins=NOW - timedelta(days=2), ends=NOW + timedelta(days=300))
    found = read(values(pair.secret(ROOT)))
    assert isinstance(found, Certificate)
    assert (found.begins, found.ends) == (NOW - timedelta(hours=1), over)
    assert found.begins - ROOT.own.not_valid_before_utc < timedelta(minutes=5)


def test_time_is_no_flaw_since_it_passes():
    assert isinstance(read(values(ROOT.issue("a.example.com", ends=NOW - timedelta(minutes=1)).secret(ROOT))), Certificate)


@pytest.mark.parametrize("key", [rsa.generate_private_key(65537, 2048), ed25519.Ed25519PrivateKey.generate()])
def test_every_kind_of_key_is_understood(key):
    assert isinstance(read(values(ROOT.issue("a.example.com", key=key).secret(ROOT))), Certificate)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"ca.crt": None}, "has no key ca.crt: add the certificates of the authorities that issued it"),
        ({"tls.key": ""}, "has no key tls.key: add the certificate's private key in PEM"),
        (
            {"tls.crt": "MIIB"},
            "tls.crt holds no PEM certificate that can be read: write the whole text from -----BEGIN CERTIFICATE----- on",
        ),
        (
            {"tls.crt": GOOD.certificate[:300] + "\n-----END CERTIFICATE-----\n"},
            "tls.crt holds no PEM certificate that can be read: write the whole text from -----BEGIN CERTIFICATE----- on",
        ),
        (
            {"ca.crt": f"{BEGIN}\nnonsense\n"},
            "ca.crt holds no PEM certificate that can be read: write the whole text from -----BEGIN CERTIFICATE----- on",
        ),
        (
            {"tls.key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"},
            "tls.key holds no PEM private key that can be read",
        ),
        ({"tls.key": GOOD.certificate}, "tls.key holds no PEM private key that can be read"),
        (
            {"tls.key": key_pem(rsa.generate_private_key(65537, 2048), b"secret")},
            "tls.key is encrypted: store it without a passphrase",
        ),
        (
            {"tls.key": ROOT.issue("a.example.com").key},
            "tls.key does not belong to the certificate, which must be the first in tls.crt",
        ),
        (
            {"tls.crt": ROOT.certificate + GOOD.certificate},
            "tls.key does not belong to the certificate, which must be the first in tls.crt",
        ),
        (
            {"ca.crt": OTHER.certificate},
            (
                "the certificate was not issued by an authority in ca.crt, as far as its chain is told: its issuer is CN=root; add that authority "
                "up to its root, and intermediate ones to tls.crt"
            ),
        ),
    ],
)
def test_a_flaw_is_told_in_a_sentence_that_says_what_to_do(change, says):
    secret = {key: text for key, text in (GOOD.secret(ROOT) | change).items() if text is not None}
    assert says in problems(secret)


@pytest.mark.parametrize(
    ("pair", "says"),
    [
        (ROOT.issue(), "the certificate has no subject alternative names: clients verify those alone, so issue one that has them"),
        (
            ROOT.issue("a.example.com", uses=(SERVER,)),
            (
                "the certificate is not allowed the extended key usage clientAuth: servers talk to each other both as servers and as clients, so "
                "issue it for both"
            ),
        ),
        (
            SERVING_ONLY.issue("a.example.com"),
            (
                "the authority CN=serving only is not allowed the extended key usage clientAuth: servers talk to each other both as servers and "
                "as clients, so issue it for both"
            ),
        ),
        (
            ROOT.issue("a.example.com", usage=usage(key_encipherment=True)),
            "the certificate's key usage lacks digitalSignature: issue it with that, servers are each other's clients",
        ),
    ],
)
def test_what_servers_could_not_use_is_told(pair, says):
    assert problems(pair.secret(ROOT)) == (says,)


def test_several_flaws_are_all_told():
    secret = ROOT.issue(uses=(SERVER,)).secret(ROOT) | {"tls.key": "nonsense"}
    assert len(problems(secret)) == 3


def test_no_value_is_told():
    secret = GOOD.secret(ROOT) | {"tls.key": ROOT.issue("a.example.com").key}
    assert not any(line in told for told in problems(secret) for line in secret["tls.key"].splitlines())


TRUST = {
    "a root": (ROOT.issue("a"), ROOT.certificate, True),
    "another root": (ROOT.issue("a"), OTHER.certificate, False),
    "another of the same name": (Authority.made("root").issue("a"), ROOT.certificate, False),
    "one of two roots": (ROOT.issue("a"), OTHER.certificate + ROOT.certificate, True),
    "an intermediate one that is sent": (MIDDLE.issue("a"), ROOT.certificate, True),
    "an intermediate one that is not sent": (
        Pair(MIDDLE.issue("a").certificate.split(BEGIN)[1].join((BEGIN, "")), ""),
        ROOT.certificate,
        False,
    ),
    "an intermediate one without its root": (MIDDLE.issue("a"), MIDDLE.certificate, False),
    "an intermediate one beside its root": (MIDDLE.issue("a"), MIDDLE.certificate + ROOT.certificate, True),
    "a path that is too long": (BELOW_CLOSED.issue("a"), ROOT.certificate, False),
    "one that is no authority": (NO_AUTHORITY.issue("a"), ROOT.certificate, False),
    "itself": (Pair(SELF_SIGNED.certificate, key_pem(SELF_SIGNED.signing)), SELF_SIGNED.certificate, True),
}


@pytest.mark.parametrize("case", TRUST)
def test_who_trusts_whom(case):
    pair, authorities, trusted = TRUST[case]
    assert vouches(authorities, pair.certificate) is trusted


USES = {
    "server and client": (ROOT.issue("a"), True),
    "server alone": (ROOT.issue("a", uses=(SERVER,)), False),
    "client alone": (ROOT.issue("a", uses=(CLIENT,)), False),
    "no uses at all": (ROOT.issue("a", uses=()), True),
    "an authority for servers alone": (SERVING_ONLY.issue("a"), False),
    "a signing key": (ROOT.issue("a", usage=usage(digital_signature=True)), True),
    "an agreeing key": (ROOT.issue("a", usage=usage(key_agreement=True)), True),
    "an enciphering key": (ROOT.issue("a", usage=usage(key_encipherment=True)), False),
}


def test_openssl_says_the_same(tmp_path):
    """Each as both ends of a connection whose ends verify each other, as on the cluster bus."""
    keyed = {case: (pair, authorities, trusted) for case, (pair, authorities, trusted) in TRUST.items() if pair.key}
    used = {case: (pair, ROOT.certificate, good) for case, (pair, good) in USES.items()}
    for case, (pair, authorities, expected) in (keyed | used).items():
        assert shake_hands(pair, authorities, tmp_path) is expected, case
        accepted = isinstance(read(values({"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authorities})), Certificate)
        assert accepted is expected or case == "itself", case


def shake_hands(pair, authorities, directory):
    """Whether a server and a client that both show the certificate and verify it come together."""
    (directory / "tls.crt").write_text(pair.certificate)
    (directory / "tls.key").write_text(pair.key)
    ends = []
    for protocol in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT):
        context = ssl.SSLContext(protocol)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=authorities)
        context.load_cert_chain(directory / "tls.crt", directory / "tls.key")
        ends.append(context)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = ends[0].wrap_bio(to_server, to_client, server_side=True)
    client = ends[1].wrap_bio(to_client, to_server)
    done = set()
    for _ in range(10):
        for end in (client, server):
            try:
                end.do_handshake()
                done.add(end)
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError:
                return False
    return len(done) == 2


def test_a_certificate_without_its_key_is_still_known():
    found = read_public(GOOD.certificate, ROOT.certificate)
    assert found is not None
    assert (found.names, found.fingerprint, found.files.key) == (read(values(GOOD.secret(ROOT))).names, GOOD.fingerprint, "")


@pytest.mark.parametrize(("certificate", "authorities"), [("", ROOT.certificate), (GOOD.certificate, "nonsense")])
def test_what_was_no_certificate_is_none(certificate, authorities):
    assert read_public(certificate, authorities) is None


def test_comments_around_certificates_are_no_matter():
    assert der(f"# Prüfstelle Süd\n{ROOT.certificate}# und\n{OTHER.certificate}") == der(ROOT.certificate) + der(OTHER.certificate)
