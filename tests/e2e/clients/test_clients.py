"""Every client library, outside, through every type of external access: it writes, reads, and goes on through a planned failover."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

import pytest
from valkey import ResponseError

from authorities import authority
from e2e import envoy, programs
from e2e.libraries import ACCESS, SNI
from e2e.secured import put
from e2e.sni import NODES, by_node, seeds
from valkey_operator.outside.clients import CLIENTS

A = authority("A")
TLS = {"certificate": {"secretName": "web-cert"}}
BALANCER = "198.18.100.21"
"""Of shard 0 the balancer has this address and a 0, and so on."""
WRONG = "other.example.org"
EXTERNAL = {
    "NodePort": {"type": "NodePort"},
    "LoadBalancer": {"type": "LoadBalancer"},
    "LoadBalancer, TLS": {
        "type": "LoadBalancer",
        "announceWhen": "Always",
        "advertisedHost": "{name}-{shard}-{node}.lb.example.com",
        "serviceAnnotations": {"sandbox.valkey.io/address": BALANCER + "{shard}"},
    },
    SNI: {
        "type": "Ingress",
        "announceWhen": "Always",
        "advertisedHost": "{name}-{shard}-{node}.sni.example.com",
        "bootstrapHost": "{name}.sni.example.com",
    },
}
LOAD = {"fresh_every": None, "keys": 100, "warm": 100, "pause": 0.02, "last_round": True}
GREETING = "hello"
ONCE = LOAD | {"last_round": False}
LONG = 20.0  # seconds, many times what programs need to work where they can


@pytest.fixture
def secured(new_cluster, api, tmp_path):
    """The certificate of a cluster with TLS; how its clients are run."""
    inside = f"valkey-web.{new_cluster.namespace}.svc"
    certificate = A.issue(inside, f"*.{inside}", "*.sni.example.com", "*.lb.example.com")
    put(api, new_cluster.namespace, certificate.secret(A))
    led = {"localhost": "127.0.0.1", "web.sni.example.com": envoy.ADDRESS, WRONG: f"{BALANCER}0"}
    for shard, node in NODES:
        led[f"web-{shard}-{node}.sni.example.com"] = envoy.ADDRESS
        led[f"web-{shard}-{node}.lb.example.com"] = f"{BALANCER}{shard}"
    hosts, trust = tmp_path / "hosts", tmp_path / "ca.crt"
    hosts.write_text("".join(f"{address} {name}\n" for name, address in led.items()))
    trust.write_text(A.certificate)
    return {"hosts": hosts, "trust": trust}


@pytest.fixture
def router(tmp_path):
    """An Envoy that leads nowhere yet."""
    directory = tmp_path / "envoy"
    directory.mkdir()
    with envoy.Envoy(directory) as running:
        yield running


@pytest.fixture
def access(request):
    return request.param


@pytest.fixture
def web(request, access, new_cluster):
    """The cluster, and how its clients are run."""
    if access in ("NodePort", "LoadBalancer"):
        cluster, outside = new_cluster(external=EXTERNAL[access]), {}
    else:
        outside = request.getfixturevalue("secured")
        cluster = new_cluster(external=EXTERNAL[access], trust=outside["trust"], tls=TLS)
    if access == SNI:
        request.getfixturevalue("router").lead(by_node(cluster))
    cluster.wait_until_ready()
    cluster.make_first_nodes_primaries()
    return cluster, outside | {"login": cluster.login("default")}


def put_greeting(cluster):
    """What printed programs read. It is put by whichever server takes it."""
    for pod in cluster.pods():
        try:
            return cluster.ask(pod, "SET", "greeting", GREETING, login=cluster.login("default"))
        except ResponseError:  # another one has it
            continue
    raise AssertionError("nobody serves the key")


@pytest.mark.parametrize("access", ACCESS, indirect=True)
def test_every_library_writes_reads_and_goes_on_through_a_planned_failover(access, web, tried, results):
    cluster, options = web
    able = [library for library in tried if access not in library.not_through]
    first = cluster.bootstrap() if access != "LoadBalancer, TLS" else seeds(cluster)
    with ExitStack() as stack, ThreadPoolExecutor(len(able)) as pool:
        loads = [programs.load(library.name, prefix=library.name, seeds=first, **options, **LOAD) for library in able]
        for _ in pool.map(stack.enter_context, loads):
            pass
        for load in loads:
            load.measure_anew()
        cluster.ask(cluster.pod(0, 1), "CLUSTER FAILOVER")
        cluster.wait_until_primary("valkey-web-0-1-0")
        reports = dict(zip(able, pool.map(programs.Running.stop, loads), strict=True))
    for library, report in reports.items():
        results.reports[library.name, access] = report
        assert report["lost"] == [], library.name
        assert report["recovered"], (library.name, report["complaints"])
        assert report["failures"] == 0, (library.name, report["complaints"])
        assert report["keys"] == 100
        assert report["writes"] >= 200
        assert report["reads"] >= 300


@pytest.mark.parametrize("access", ["NodePort", SNI], indirect=True)
def test_what_endpoints_prints_for_a_library_runs_as_it_was_printed(web, tried, valkey):
    """Without TLS and with it."""
    cluster, options = web
    valkey = replace(valkey, hosts=options.get("hosts"))
    put_greeting(cluster)
    printed = [library.name for library in tried if library.name in CLIENTS]
    said = {library: valkey.printed_client(library, cluster, options.get("trust")) for library in printed}
    assert said == dict.fromkeys(printed, GREETING)


@pytest.mark.parametrize("access", [SNI], indirect=True)
def test_libraries_that_tell_nodes_apart_by_addresses_come_to_nothing_behind_one_address(access, web, tried, results):
    """Their names lead to one address; through ports of a load balancer, with the same TLS, they work."""
    cluster, options = web
    unable = [library for library in tried if access in library.not_through]
    loads = [programs.load(library.name, prefix=library.name, seeds=seeds(cluster), **options, **ONCE) for library in unable]
    with ThreadPoolExecutor(len(unable)) as pool:
        reports = list(pool.map(lambda load: load.in_vain(LONG), loads))
    for library, report in zip(unable, reports, strict=True):
        assert report is not None, f"{library.name} works by now: take it off the list"
        assert report["failures"] > 0
        results.reports[library.name, access] = None


@pytest.mark.parametrize("access", ["LoadBalancer, TLS"], indirect=True)
def test_libraries_refuse_a_server_whose_certificate_is_for_another_name(web, tried, results):
    """All but those of which the page says so."""
    cluster, options = web
    port = cluster.endpoints()[0, 0]["port"]
    loads = [programs.load(library.name, prefix=library.name, seeds=[f"{WRONG}:{port}"], **options, **ONCE) for library in tried]
    with ThreadPoolExecutor(len(tried)) as pool:
        reports = list(pool.map(lambda load: load.in_vain(LONG), loads))
    for library, report in zip(tried, reports, strict=True):
        results.verifies_names[library.name] = report is not None
        assert (report is not None) == library.verifies_names, (library.name, report)
        if report is not None:
            assert report["failures"] > 0, library.name
            assert report["writes"] == 0, library.name
