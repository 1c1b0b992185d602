"""Certificates: checked before servers load them, changed under load, told of in words that say what to do. Clients outside verify chain and name."""

import hashlib
import re
import socket
import ssl
import time
from datetime import UTC, datetime, timedelta

import pytest
from valkey import ConnectionError as NoConnection
from valkey import Valkey

from authorities import SERVER, authority
from e2e import api as kinds
from e2e import programs
from e2e.secured import pod_names, put
from e2e.waiting import eventually

A, B = authority("A"), authority("B")
TLS = {"certificate": {"secretName": "web-cert"}}
NAMED = {"advertisedHost": "{name}-{shard}-{node}.example.com", "bootstrapHost": "{name}.example.com", "announceWhen": "Always"}
OUTSIDE = {f"web-{shard}-{node}.example.com": "198.18.0.12" for shard in range(3) for node in range(2)} | {
    "web.example.com": "198.18.0.11"
}


@pytest.fixture
def hosts(tmp_path):
    """What clients outside resolve names by."""
    file = tmp_path / "hosts"
    file.write_text("".join(f"{address} {name}\n" for name, address in (OUTSIDE | {"localhost": "127.0.0.1"}).items()))
    return file


@pytest.fixture
def trust(tmp_path):
    """Clients trust both authorities all the time."""
    file = tmp_path / "ca.crt"
    file.write_text(A.certificate + B.certificate)
    return file


@pytest.fixture
def names(new_cluster):
    """All that a certificate should cover."""
    inside = f"valkey-web.{new_cluster.namespace}.svc"
    return (inside, f"*.{inside}", "*.example.com")


def served(pod):
    """The fingerprint of the certificate that a new connection to a server is shown, whoever vouches for it."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection((pod["status"]["podIP"], 6379), timeout=5) as plain, context.wrap_socket(plain) as secured:
        return hashlib.sha256(secured.getpeercert(binary_form=True)).hexdigest()


def wait_until_served(cluster, pair, *, timeout=20.0):
    """Every server serves it, and the records say so."""
    eventually(
        lambda: {served(pod) for pod in cluster.pods()} == {pair.fingerprint},
        what=f"all to serve {pair.fingerprint}",
        timeout=timeout,
    )

    def are_told(found):
        return {item["status"].get("certificate") for item in found} == {pair.fingerprint}

    cluster.api.until(kinds.RECORD, cluster.namespace, are_told, labels=cluster.labels, what="the records to tell so")


def loaded_authorities(cluster):
    """The digest of the authorities that each server has loaded."""
    found = (cluster.ask(pod, "CONFIG", "GET", "tls-ca-cert-file")[1] for pod in cluster.pods())
    return {re.fullmatch(r"/etc/valkey/tls/ca-([0-9a-f]{16})\.crt", path)[1] for path in found}


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_certificates_and_authorities_change_under_clients_outside_that_verify_them(new_cluster, api, hosts, trust, names):
    """The main part of story 12."""
    first, second, third = A.issue(*names), A.issue(*names), B.issue(*names)
    put(api, new_cluster.namespace, first.secret(A))
    cluster = new_cluster(trust=trust, external=NAMED, tls=TLS)
    cluster.wait_until_ready()
    warning = cluster.condition(
        "ConfigurationWarning"
    )  # there was one while names that resolve for clients alone were not announced yet
    assert warning is None or warning["status"] == "False"
    wait_until_served(cluster, first)
    identities = cluster.pod_identities()
    login = cluster.login("default")
    with Valkey(host=cluster.pods()[0]["status"]["podIP"], socket_timeout=2) as plain, pytest.raises(NoConnection):
        plain.ping()

    with programs.loads(prefix="load", login=login, seeds=cluster.bootstrap(), hosts=hosts, trust=trust) as loads:
        put(api, cluster.namespace, second.secret(A))
        wait_until_served(cluster, second)

        put(api, cluster.namespace, third.secret(B))
        cluster.wait_for("Degraded", reason="CertificateInvalid", message="let ca.crt hold the old and the new authority")
        assert {served(pod) for pod in cluster.pods()} == {second.fingerprint}
        assert cluster.condition("Ready")["status"] == cluster.condition("ExternalAccessReady")["status"] == "True"

        put(api, cluster.namespace, third.secret(A, B))
        wait_until_served(cluster, third)
        cluster.wait_for("Degraded", "False")
        put(api, cluster.namespace, third.secret(B))
        eventually(lambda: loaded_authorities(cluster) == {digest(B.certificate)}, what="all to trust the new authority alone")
        assert cluster.secret("web-connection")["ca.crt"] == B.certificate

        put(api, cluster.namespace, first.secret(A, B), name="another")
        cluster.patch({"tls": {"certificate": {"secretName": "another"}}})
        wait_until_served(cluster, first)
        reports = [each.stop() for each in loads]
    for report in reports:
        assert (report["failures"], report["lost"]) == (0, []), report["complaints"]
        assert report["clients"] > 5
    assert cluster.pod_identities() == identities
    addresses = [node["address"] for node in cluster.endpoints().values()]
    assert sorted(programs.node_ids(addresses, login=login, hosts=hosts, trust=trust).values()) == sorted(cluster.ids().values())


def test_a_secret_that_vanishes_or_is_spoilt_harms_nobody_not_even_a_server_that_starts(new_cluster, api, trust, names):
    pair = A.issue(*names)
    put(api, new_cluster.namespace, pair.secret(A))
    cluster = new_cluster(trust=trust, tls=TLS)
    cluster.wait_until_ready(outside=False)
    wait_until_served(cluster, pair)
    other = A.issue(*names)
    spoilt = {
        "it does not exist: create it": None,
        "has no key ca.crt": {key: text for key, text in pair.secret(A).items() if key != "ca.crt"},
        "tls.crt holds no PEM certificate": pair.secret(A) | {"tls.crt": "nonsense"},
        "tls.key does not belong to the certificate": pair.secret(A) | {"tls.key": other.key},
        "was not issued by an authority in ca.crt": pair.secret(B),
        "extended key usage clientAuth": A.issue(*names, uses=(SERVER,)).secret(A),
        "the certificate expired at": A.issue(*names, ends=datetime.now(UTC) - timedelta(minutes=1)).secret(A),
    }
    for says, values in spoilt.items():
        if values is None:
            api.delete(kinds.SECRET, "web-cert", cluster.namespace)
        else:
            put(api, cluster.namespace, values)
        told = cluster.wait_for("Degraded", reason="CertificateInvalid", message=says)
        assert told["message"].startswith("Secret web-cert: ")
        assert "servers keep the certificate that they have, which is valid until" in told["message"]
        assert cluster.condition("Ready")["status"] == "True"
        if values is None:
            cluster.replace(cluster.pod(0, 1))
            cluster.wait_for("Ready")
    assert {served(pod) for pod in cluster.pods()} == {pair.fingerprint}
    put(api, cluster.namespace, other.secret(A))
    cluster.wait_for("Degraded", "False")
    wait_until_served(cluster, other)


def test_no_server_starts_before_there_is_a_certificate_that_it_can_use(new_cluster, api, trust, names):
    cluster = new_cluster(trust=trust, tls=TLS)
    told = cluster.wait_for("Ready", "False", reason="CertificateInvalid", message="does not exist")
    assert told["message"] == (
        "Secret web-cert: it does not exist: create it with the keys tls.crt, tls.key and ca.crt; no server starts before that"
    )
    bad = A.issue(*names, ends=datetime.now(UTC) - timedelta(minutes=1)).secret(A) | {"tls.key": "nonsense"}
    put(api, cluster.namespace, bad)
    cluster.wait_for("Ready", "False", reason="CertificateInvalid", message="tls.key holds no PEM private key that can be read")
    assert (cluster.pods(), api.list(kinds.STATEFUL_SET, cluster.namespace)) == ([], [])
    pair = A.issue(*names)
    put(api, cluster.namespace, pair.secret(A))
    cluster.wait_until_ready(outside=False)
    wait_until_served(cluster, pair)


def test_names_are_announced_once_the_certificate_covers_them(new_cluster, api, hosts, trust, names):
    put(api, new_cluster.namespace, A.issue(*names[:2], "web-0-0.example.com").secret(A))
    cluster = new_cluster(trust=trust, external=NAMED, tls=TLS)
    told = cluster.wait_for("ExternalAccessReady", "False", reason="CertificateMissingNames")
    assert "web-0-1.example.com, web-1-0.example.com" in told["message"]
    assert "web.example.com" in told["message"]
    assert "web-0-0.example.com" not in told["message"]
    cluster.wait_until_ready(outside=False)
    inside = pod_names(cluster)
    assert {node[0] for _, _, *nodes in cluster.slots(cluster.pods()[0]) for node in nodes} <= set(inside)
    identities = cluster.pod_identities()

    pods = [pod["status"]["podIP"] for pod in cluster.pods()]
    with programs.sampler(pods, login=cluster.login(), hosts=hosts, trust=trust, inside=inside) as sampler:
        put(api, cluster.namespace, A.issue(*names).secret(A))
        cluster.wait_until_ready()
        addresses = [node["address"] for node in cluster.endpoints().values()]
        answers = programs.node_ids(addresses, login=cluster.login(), hosts=hosts, trust=trust)
        cluster.external(enabled=False)
        cluster.wait_until(lambda found: "externalAccess" not in found[0]["status"], what="external access to be gone", timeout=90)
        report = sampler.stop()
    assert sorted(answers.values()) == sorted(cluster.ids().values())
    assert report["wrong"] == []
    assert {host.rpartition(":")[0] for host in report["told"]} == {
        *inside,
        *(name for name in OUTSIDE if name != "web.example.com"),
    }
    assert cluster.pod_identities() == identities


def test_a_new_certificate_without_names_that_clients_dial_is_held(new_cluster, api, trust, names):
    pair = A.issue(*names)
    put(api, new_cluster.namespace, pair.secret(A))
    cluster = new_cluster(trust=trust, external=NAMED, tls=TLS, shards=1)
    cluster.wait_until_ready()
    put(api, cluster.namespace, A.issue(*names[:2], "web-0-0.example.com").secret(A))
    told = cluster.wait_for("Degraded", reason="CertificateMissingNames", message="does not cover")
    assert "web-0-1.example.com, web.example.com" in told["message"]
    assert cluster.condition("ExternalAccessReady")["status"] == "True"
    assert {served(pod) for pod in cluster.pods()} == {pair.fingerprint}


def test_a_certificate_that_expires_is_warned_of_and_replaced_live_even_when_it_has_expired(
    new_cluster, api, trust, names, operator
):
    moment = datetime.now(UTC).replace(microsecond=0)
    ends = moment + timedelta(seconds=50)
    put(api, new_cluster.namespace, A.issue(*names, begins=moment - timedelta(minutes=2), ends=ends).secret(A))
    cluster = new_cluster(trust=trust, external=NAMED, tls=TLS, shards=1)
    cluster.wait_until_ready()
    identities = cluster.pod_identities()
    stamp = f"{ends:%Y-%m-%dT%H:%M:%SZ}"
    labels = {"namespace": cluster.namespace, "cluster": "web"}
    assert operator.metric("valkey_operator_certificate_expiry_timestamp_seconds", **labels) == ends.timestamp()
    cluster.wait_for("ConfigurationWarning", reason="CertificateExpires", message=f"expires at {stamp}", timeout=90)
    cluster.wait_for("ConfigurationWarning", reason="CertificateExpires", message=f"expired at {stamp}", timeout=90)
    cluster.wait_for("Degraded", reason="CertificateInvalid", message=f"expired at {stamp}")
    cluster.wait_for("ExternalAccessReady", "False", reason="CertificateInvalid")
    operator.restart()  # no connection of before is left

    pair = B.issue(*names)
    put(api, cluster.namespace, pair.secret(B))
    cluster.wait_until_ready(timeout=90)
    wait_until_served(cluster, pair)
    assert cluster.condition("Degraded")["status"] == "False"
    assert cluster.pod_identities() == identities


def test_who_sets_a_servers_certificate_or_port_by_hand_is_overruled(new_cluster, api, trust, names):
    pair = A.issue(*names)
    put(api, new_cluster.namespace, pair.secret(A))
    cluster = new_cluster(trust=trust, tls=TLS, shards=1, external=NAMED)
    cluster.wait_until_ready()
    pod = cluster.pod(0, 0)
    wanted = cluster.ask(pod, "CONFIG", "GET", "tls-ca-cert-file")
    by_hand = "/etc/valkey/tls/../tls/" + wanted[1].rpartition("/")[2]
    cluster.ask(pod, "CONFIG", "SET", "tls-ca-cert-file", by_hand)
    eventually(lambda: cluster.ask(pod, "CONFIG", "GET", "tls-ca-cert-file") == wanted, what="the file to be set again", timeout=40)

    port = ("CONFIG", "GET", "cluster-announce-client-tls-port")
    wanted = cluster.ask(pod, *port)
    assert wanted[1] == str(cluster.endpoints()[0, 0]["port"])
    cluster.ask(pod, "CONFIG", "SET", port[-1], "1")
    eventually(lambda: cluster.ask(pod, *port) == wanted, what="the port to be set again", timeout=40)


def test_a_cluster_with_tls_rests_like_any_other_and_a_restart_of_the_operator_writes_nothing(
    new_cluster, api, trust, names, operator
):
    """Nothing can be waited for here: the time has to pass."""
    pair = A.issue(*names)
    put(api, new_cluster.namespace, pair.secret(A))
    cluster = new_cluster(trust=trust, external=NAMED, tls=TLS, shards=1)
    cluster.wait_until_ready()
    wait_until_served(cluster, pair)
    time.sleep(5)
    versions = cluster.versions()
    operator.restart()
    time.sleep(20)
    assert cluster.versions() == versions
