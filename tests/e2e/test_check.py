"""`kubectl valkey check` and `endpoints`: everything that can be wrong is broken for real and found, where clients outside are."""

import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from authorities import authority
from e2e import api as kinds
from e2e.secured import put
from e2e.waiting import eventually
from sandbox import addresses, network

A, B = authority("A"), authority("B")
ALL = [(shard, node) for shard in range(3) for node in range(2)]
KEPT_AWAY = 2
"""The number of the Kubernetes node that a firewall keeps away."""


@pytest.fixture
def firewall():
    """Drops what the outside sends to one Kubernetes node."""
    rules = f"""
        table inet test-firewall {{
          chain output {{
            type filter hook output priority filter
            ip daddr {addresses.node(KEPT_AWAY).ipv4} drop
          }}
        }}
    """
    enter = network.enter(network.OUTSIDE_NAMESPACE)
    subprocess.run([*enter, "nft", "-f", "-"], input=rules, text=True, check=True)
    yield
    subprocess.run([*enter, "nft", "delete", "table", "inet", "test-firewall"], check=True)


def addresses_of(cluster, *places):
    return {cluster.endpoints()[place]["address"] for place in places}


def test_all_is_well_from_outside_and_from_a_pod_that_leaves_nothing_behind(steady, valkey, api):
    told = valkey.check(steady)
    assert {address["address"] for address in told["addresses"]} == {*addresses_of(steady, *ALL), *steady.bootstrap()}
    assert (told["ok"], told["from"], told["user"]) == (True, "here", "default")
    before = {pod["metadata"]["name"] for pod in steady.pods()}
    inside = valkey.check(steady, "--from-pod")
    assert (inside["ok"], inside["from"]) == (True, "a pod")

    def only_theirs(pods):
        return {pod["metadata"]["name"] for pod in pods} == before

    api.until(kinds.POD, steady.namespace, only_theirs, what="the pod of the check gone")
    printed = valkey.run("check", steady.name, "-n", steady.namespace)
    assert printed.returncode == 0
    assert f"all well: {len(told['addresses'])} addresses lead where they should" in printed.stdout


def test_endpoints_are_those_of_the_status(steady, valkey):
    printed = valkey.run("endpoints", steady.name, "-n", steady.namespace).stdout
    for address in (*addresses_of(steady, *ALL), *steady.bootstrap()):
        assert address in printed


@pytest.mark.usefixtures("firewall")
def test_a_firewall_that_keeps_one_kubernetes_node_away_is_told_by_its_name(steady, valkey):
    away = str(addresses.node(KEPT_AWAY).ipv4)
    behind = {node["address"] for node in steady.endpoints().values() if node["host"] == away}
    begin = {address for address in steady.bootstrap() if address.startswith(f"{away}:")}
    assert behind
    assert valkey.problems(steady, "--timeout", "1") == {key: {"AddressKeptAway"} for key in behind | begin}
    told = valkey.message(steady, "AddressKeptAway", "--timeout", "1")
    assert f"{away} (Kubernetes node {network.node_name(KEPT_AWAY)}) answers at no port, while other addresses do" in told
    assert "a firewall or security group keeps this one address away from here" in told
    assert valkey.problems(steady, "--from-pod") == {}


def test_what_servers_tell_wrong_and_ports_that_are_closed_are_found_while_no_operator_repairs_them(
    new_cluster, operator, valkey, api
):
    cluster = new_cluster(external={})
    cluster.wait_until_ready()
    cluster.make_first_nodes_primaries()
    assert eventually(lambda: valkey.problems(cluster) == {}, what="all well")
    operator.scale(0)
    try:
        unnamed, inside, forgotten = cluster.pod(1, 0), cluster.pod(2, 0), cluster.pod(0, 1)
        cluster.ask(unnamed, "CONFIG", "SET", "cluster-announce-hostname", "")
        cluster.ask(
            inside, "CONFIG", "SET", "cluster-announce-hostname", inside["status"]["podIP"], "cluster-announce-client-port", "0"
        )
        expected = {
            **{key: {"HostUnknown"} for key in addresses_of(cluster, (1, 0))},
            **{key: {"InternalAddress"} for key in addresses_of(cluster, (2, 0))},
        }
        eventually(lambda: valkey.problems(cluster) == expected, what=f"{expected} to be found, not {valkey.problems(cluster)}")
        unknown = valkey.message(cluster, "HostUnknown")
        assert "6 of 6 servers tell clients ?:" in unknown
        assert "CLUSTER SHARDS, CLUSTER SLOTS, MOVED) → a server lacks cluster-announce-hostname" in unknown
        internal = valkey.message(cluster, "InternalAddress")
        assert f"tell clients the internal address {inside['status']['podIP']}:6379 for node 2-0" in internal
        assert "MOVED" in internal

        node_id = cluster.ask(forgotten, "CLUSTER MYID")
        for pod in cluster.pods():
            if pod["metadata"]["name"] not in (forgotten["metadata"]["name"], cluster.pod(0, 0)["metadata"]["name"]):
                cluster.ask(pod, "CLUSTER", "FORGET", node_id)
        (address,) = addresses_of(cluster, (0, 1))
        assert "NotTold" in valkey.problems(cluster)[address]

        closed = addresses_of(cluster, (0, 0), (0, 1))
        api.delete(kinds.SERVICE, "web-0", cluster.namespace)
        eventually(
            lambda: all("PortClosed" in valkey.problems(cluster).get(address, ()) for address in closed), what="ports to be closed"
        )
        assert "see whether `kubectl get service web-0" in valkey.message(cluster, "PortClosed")

        api.patch(kinds.SECRET, "web-connection", cluster.namespace, {"stringData": {"password": "wrong"}})
        assert {"LoginRefused"} in valkey.problems(cluster).values()
        api.delete(kinds.SECRET, "web-connection", cluster.namespace)
        refused = valkey.run("check", "web", "-n", cluster.namespace)
        assert refused.returncode == 2
        assert 'secrets "web-connection" not found' in refused.stderr
        assert "--user, --password-file and --ca-file" in refused.stderr
    finally:
        operator.scale(1)
    cluster.wait_until_ready()
    eventually(lambda: valkey.problems(cluster) == {}, what="all well again")


def test_what_is_not_announced_yet_is_told_with_the_operators_words(new_cluster, valkey):
    """The balancer of shard 0 comes at once, that of shard 1 after 110 s, so that nothing is announced."""
    annotations = {"sandbox.valkey.io/delay": "{shard}{shard}0"}
    cluster = new_cluster(shards=2, external={"type": "LoadBalancer", "serviceAnnotations": annotations})
    cluster.wait_until_ready(outside=False)
    cluster.wait_until(lambda found: found[0]["status"].get("externalAccess", {}).get("endpoints"), what="an endpoint")
    there = addresses_of(cluster, (0, 0), (0, 1))
    found = valkey.problems(cluster)
    assert {address for address in found if ":" in address} >= there
    for address in there:
        assert found[address] == {"NotAnnounced", "InternalAddress"}
    assert (found["1-0"], found["1-1"]) == ({"NoEndpoint"}, {"NoEndpoint"})
    assert "see what the operator says: WaitingForLoadBalancer: " in valkey.message(cluster, "NoEndpoint")


def test_names_certificates_and_their_time_are_verified_as_clients_do(new_cluster, api, valkey, tmp_path):
    hosts, trust = tmp_path / "hosts", tmp_path / "ca.crt"
    trust.write_text(A.certificate)
    led = {f"web-{shard}-{node}.example.com": "198.18.0.12" for shard, node in ALL} | {"web.example.com": "198.18.0.11"}

    def resolve(names):
        hosts.write_text("".join(f"{address} {name}\n" for name, address in (names | {"localhost": "127.0.0.1"}).items()))

    resolve(led)
    valkey = replace(valkey, hosts=hosts)
    inside = f"valkey-web.{new_cluster.namespace}.svc"
    names = (inside, f"*.{inside}", "*.example.com")
    put(api, new_cluster.namespace, A.issue(*names).secret(A))
    named = {"advertisedHost": "{name}-{shard}-{node}.example.com", "bootstrapHost": "{name}.example.com", "announceWhen": "Always"}
    cluster = new_cluster(trust=trust, external=named, tls={"certificate": {"secretName": "web-cert"}})
    cluster.wait_until_ready()
    eventually(lambda: valkey.problems(cluster) == {}, what="all well")

    resolve({name: address for name, address in led.items() if name != "web-1-0.example.com"})
    (address,) = addresses_of(cluster, (1, 0))
    assert valkey.problems(cluster) == {address: {"NameDoesNotResolve"}}
    assert "make a DNS record for web-1-0.example.com that leads to a Kubernetes node" in valkey.message(
        cluster, "NameDoesNotResolve"
    )
    resolve(led)

    stranger = tmp_path / "stranger.crt"
    stranger.write_text(B.certificate)
    assert set(map(frozenset, valkey.problems(cluster, "--ca-file", str(stranger)).values())) == {
        frozenset({"CertificateUntrusted"})
    }

    everywhere = {*addresses_of(cluster, *ALL), *cluster.bootstrap()}
    ends = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=25)
    put(api, cluster.namespace, A.issue(*names, begins=ends - timedelta(minutes=5), ends=ends).secret(A))
    cluster.wait_for("Degraded", reason="CertificateInvalid", message="expired at", timeout=90)
    assert valkey.problems(cluster) == {key: {"CertificateExpired"} for key in everywhere}
    assert f"to {ends:%Y-%m-%d %H:%M} UTC" in valkey.message(cluster, "CertificateExpired")

    put(api, cluster.namespace, A.issue(*names).secret(A))
    cluster.external(advertisedHost=None, bootstrapHost=None)
    cluster.wait_until_ready(timeout=90)
    everywhere = {*addresses_of(cluster, *ALL), *cluster.bootstrap()}
    assert valkey.problems(cluster) == {key: {"CertificateWrongName"} for key in everywhere}
    told = valkey.message(cluster, "CertificateWrongName")
    assert "the certificate does not cover 198.18.0." in told
    assert f"it covers {inside}, *.{inside}, *.example.com" in told


def test_what_cannot_be_checked_is_told_with_where_and_what_now(steady, new_cluster, valkey, kubernetes, tmp_path):
    there = ("-n", steady.namespace)
    kubernetes.kubectl("create", "serviceaccount", "nobody", *there)
    token = kubernetes.kubectl("create", "token", "nobody", *there).strip()
    content = yaml.safe_load(kubernetes.kubeconfig.read_text())
    powerless, nowhere = tmp_path / "powerless", tmp_path / "nowhere"
    powerless.write_text(yaml.safe_dump(content | {"users": [{"name": "sandbox", "user": {"token": token}}]}))
    elsewhere = {"name": "sandbox", "cluster": {"server": "https://127.0.0.1:1"}}
    nowhere.write_text(yaml.safe_dump(content | {"clusters": [elsewhere]}))
    new_cluster("inside", shards=1, replicas=0)

    def refused(*words, **more):
        done = valkey.run(*words, **more)
        assert (done.returncode, done.stdout) == (2, "")
        return done.stderr

    forbidden = refused("check", steady.name, *there, kubeconfig=powerless)
    assert f"ValkeyCluster {steady.namespace}/{steady.name}: valkeyclusters.valkey.io" in forbidden
    assert 'cannot get resource "valkeyclusters"' in forbidden
    assert "ask for that right" in forbidden
    assert "127.0.0.1:1 was refused" in refused("check", steady.name, *there, kubeconfig=nowhere)
    assert 'valkeyclusters.valkey.io "nobody" not found' in refused("check", "nobody", *there)
    assert "give --namespace" in refused("endpoints", steady.name)
    assert "nix" in refused("check", steady.name, "--context", "nix")
    assert "has no external access, so clients outside cannot reach it" in refused("check", "inside", "-n", new_cluster.namespace)
    image = refused("check", steady.name, *there, "--from-pod", "--image", "198.18.0.1:1/valkey-operator:none")
    assert "could not look: ErrImagePull" in image

    kubernetes.kubectl(
        "create", "role", "look", "--verb=get,list", "--resource=valkeyclusters.valkey.io,valkeynodes.valkey.io", *there
    )
    kubernetes.kubectl("create", "rolebinding", "look", "--role=look", f"--serviceaccount={steady.namespace}:nobody", *there)
    hidden = refused("check", steady.name, *there, kubeconfig=powerless)
    assert 'cannot get resource "secrets"' in hidden
    assert "log in by --user, --password-file and --ca-file instead" in hidden
    user, password = steady.login("default")
    words = ("check", steady.name, *there, "--user", user, "--password-file", "-")
    assert valkey.run(*words, text=f"{password}\n", kubeconfig=powerless).returncode == 0
    assert "LoginRefused" in valkey.run(*words, text="wrong", kubeconfig=powerless).stdout
    kubernetes.kubectl("delete", "rolebinding,role", "look", *there)
    kubernetes.kubectl("delete", "serviceaccount", "nobody", *there)
