"""Clients inside are told what clients outside are told: the same names lead them to ClusterIPs, once the DNS of Kubernetes knows."""

import pytest

from authorities import authority
from e2e import api as kinds
from e2e import envoy, programs
from e2e.inside import Client, Dns, snippet
from e2e.secured import put
from e2e.waiting import eventually

A = authority("A")
TLS = {"certificate": {"secretName": "web-cert"}}
NODES = [(shard, node) for shard in range(2) for node in range(2)]
MACHINE = "198.18.0.12"
BY_NODE = {"type": "Ingress", "advertisedHost": "{name}-{shard}-{node}.example.com", "bootstrapHost": "{name}.example.com"}


@pytest.fixture
def dns(kubernetes):
    made = Dns(kubernetes)
    yield made
    made.restore()


@pytest.fixture
def client(kubernetes):
    """Makes a client inside, beside a cluster."""
    return lambda cluster: Client(cluster, kubernetes)


@pytest.fixture
def outside(tmp_path):
    """Whom clients outside trust, and how they resolve names: a maker of their files."""
    trust = tmp_path / "ca.crt"
    trust.write_text(A.certificate)

    def resolving(names, *, secured=False):
        hosts = tmp_path / "hosts"
        lines = (f"{address} {name}\n" for name, address in ({"localhost": "127.0.0.1"} | names).items())
        hosts.write_text("".join(lines))
        return {"hosts": hosts} | ({"trust": trust} if secured else {})

    resolving.trust = trust
    return resolving


@pytest.fixture
def router(tmp_path):
    directory = tmp_path / "envoy"
    directory.mkdir()
    with envoy.Envoy(directory) as running:
        yield running


def expected(cluster):
    """Each endpoint of the status, and the server behind it."""
    ids = cluster.ids()
    return {node["address"]: ids[f"valkey-web-{shard}-{number}-0"] for (shard, number), node in cluster.endpoints().items()}


def cluster_ips(cluster, services):
    """The ClusterIP behind each name."""
    found = cluster.services()
    return {name: found[service]["spec"]["clusterIP"] for name, service in services.items()}


def wait_for_snippet(cluster, *names):
    """The names are published, and nothing but their resolution is waited for: no cluster of a test before claims one."""
    cluster.wait_for("ExternalAccessReady", "False", reason="WaitingForDNS")

    def is_there(found):
        text = found[0]["data"][f"web.{cluster.namespace}.override"] if found else ""
        return all(f"rewrite name exact {name} web" in text for name in names) and found[0]

    return cluster.api.until(kinds.CONFIG_MAP, cluster.namespace, is_there, name="web-dns", what="the names in ConfigMap web-dns")


def test_names_behind_a_router_work_inside_without_it_and_outside_at_the_same_time(new_cluster, client, dns, router, outside):
    """They are announced once they resolve inside, which the import brings about; TLS is verified by the same names."""
    put(new_cluster.api, new_cluster.namespace, A.issue(f"*.valkey-web.{new_cluster.namespace}.svc", "*.example.com").secret(A))
    cluster = new_cluster(shards=2, external=BY_NODE | {"drainSeconds": 2}, trust=outside.trust, tls=TLS)
    services = {f"web-{shard}-{node}.example.com": f"web-{shard}-{node}" for shard, node in NODES} | {"web.example.com": "web"}
    published = wait_for_snippet(cluster, *services)
    (owner,) = published["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("ValkeyCluster", "web")
    cluster.wait_until_ready(outside=False)
    waiting = cluster.wait_for("ExternalAccessReady", "False", reason="WaitingForDNS")
    assert "web-0-0.example.com does not resolve inside the Kubernetes cluster" in waiting["message"]

    dns.take(cluster)
    cluster.wait_until_ready()
    ips = cluster_ips(cluster, services)
    router.lead({name: (ip, envoy.PORT) for name, ip in ips.items()})
    clients = outside(dict.fromkeys(services, envoy.ADDRESS), secured=True)
    inside = client(cluster)
    assert inside.addresses(services) == ips
    wanted = expected(cluster)
    assert sorted(wanted) == sorted(f"web-{shard}-{node}.example.com:6380" for shard, node in NODES)
    eventually(lambda: programs.node_ids(list(wanted), login=cluster.login(), **clients) == wanted, what="the router to lead")
    assert inside.node_ids(wanted) == wanted
    with programs.load("valkey-py", prefix="outside", seeds=cluster.bootstrap(), login=cluster.login("default"), **clients) as load:
        assert inside.work("web.example.com:6380") == sorted(wanted)
        report = load.stop()
    assert (report["failures"], report["lost"]) == (0, []), report["complaints"]

    router.lead({})
    eventually(
        lambda: set(wanted.values()).isdisjoint(programs.node_ids(list(wanted), login=cluster.login(), **clients).values()),
        what="the router to lead nowhere",
    )
    assert inside.work("web.example.com:6380") == sorted(wanted)

    cluster.external(enabled=False)
    cluster.api.until(kinds.CONFIG_MAP, cluster.namespace, lambda found: not found, name="web-dns", what="ConfigMap web-dns to go")
    cluster.wait_until(lambda found: "externalAccess" not in found[0]["status"], what="nothing left of external access")


def test_the_operator_proves_names_that_lead_to_the_router_as_clients_do(new_cluster, dns, router, outside):
    """It asks the router for the host that it dials: another name would lead nowhere."""
    put(new_cluster.api, new_cluster.namespace, A.issue(f"*.valkey-web.{new_cluster.namespace}.svc", "*.example.com").secret(A))
    cluster = new_cluster(shards=2, external=BY_NODE, trust=outside.trust, tls=TLS)
    services = {f"web-{shard}-{node}.example.com": f"web-{shard}-{node}" for shard, node in NODES} | {"web.example.com": "web"}
    wait_for_snippet(cluster, *services)
    router.lead({name: (ip, envoy.PORT) for name, ip in cluster_ips(cluster, services).items()})
    dns.tell(dict.fromkeys(services, envoy.ADDRESS))
    cluster.wait_until_ready()
    cluster.wait_for("ExternalAccessReady", "True", message="clients outside reach every node")


def test_a_name_per_shard_leads_to_its_primary_inside_after_a_failover_too(new_cluster, client, dns, outside):
    put(new_cluster.api, new_cluster.namespace, A.issue(f"*.valkey-web.{new_cluster.namespace}.svc", "*.example.com").secret(A))
    external = {"type": "Ingress", "advertisedHost": "{name}-{shard}.example.com"}
    cluster = new_cluster(shards=2, external=external, trust=outside.trust, tls=TLS)
    wait_for_snippet(cluster, "web-0.example.com", "web-1.example.com")
    dns.take(cluster)
    cluster.wait_until_ready()
    cluster.make_first_nodes_primaries()
    inside = client(cluster)
    names = {f"web-{shard}.example.com": f"web-{shard}" for shard in range(2)}
    assert inside.addresses(names) == cluster_ips(cluster, names)

    ids = cluster.ids()

    def leads_to(node):
        return inside.node_ids(["web-0.example.com:6380"]) == {"web-0.example.com:6380": ids[f"valkey-web-0-{node}-0"]}

    eventually(lambda: leads_to(0), what="the name to lead to the first node")
    inside.work("web-1.example.com:6380")
    cluster.ask(cluster.pod(0, 1), "CLUSTER FAILOVER")
    eventually(lambda: leads_to(1), what="the name to lead to the new primary")
    inside.work("web-0.example.com:6380")


@pytest.mark.parametrize(
    "way",
    [
        ("Shard", "web-{shard}.example.com", "web-{shard}"),
        ("Node", "web-{shard}-{node}.example.com", "web-{shard}-{node}"),
        ("Cluster", "web.example.com", "web"),
    ],
    ids=lambda way: way[0],
)
def test_names_of_load_balancers_work_inside_and_outside(new_cluster, client, dns, outside, way):
    scope, template, services = way
    named = template.replace("web", "{name}")
    cluster = new_cluster(shards=2, external={"type": "LoadBalancer", "loadBalancerScope": scope, "advertisedHost": named})
    led = {template.format(shard=shard, node=node): services.format(shard=shard, node=node) for shard, node in NODES}
    wait_for_snippet(cluster, *led)
    dns.take(cluster)
    cluster.wait_until_ready()
    given = {name: service["status"]["loadBalancer"]["ingress"][0]["ip"] for name, service in cluster.services().items()}
    clients = outside({name: given[service] for name, service in led.items()})
    inside, wanted = client(cluster), expected(cluster)
    assert len(wanted) == len(NODES)
    assert inside.addresses(led) == cluster_ips(cluster, led)
    assert inside.node_ids(wanted) == wanted == programs.node_ids(list(wanted), login=cluster.login(), **clients)
    assert inside.work(*wanted) == sorted(wanted)


def test_names_with_node_ports_work_inside_and_outside(new_cluster, client, dns, outside):
    external = {"advertisedHost": "{name}-{shard}.example.com", "bootstrapHost": "{name}.example.com"}
    cluster = new_cluster(shards=2, external=external)
    led = {"web-0.example.com": "web-0", "web-1.example.com": "web-1", "web.example.com": "web"}
    wait_for_snippet(cluster, *led)
    dns.take(cluster)
    cluster.wait_until_ready()
    clients = outside(dict.fromkeys(led, MACHINE))
    inside, wanted = client(cluster), expected(cluster)
    assert inside.addresses(led) == cluster_ips(cluster, led)
    assert inside.node_ids(wanted) == wanted == programs.node_ids(list(wanted), login=cluster.login(), **clients)
    assert inside.work(*cluster.bootstrap()) == sorted(wanted)


def test_one_name_for_all_node_ports_is_left_out_and_works_inside_as_it_resolves(new_cluster, client, dns, outside):
    dns.tell({"db.example.com": MACHINE})
    cluster = new_cluster(shards=2, external={"advertisedHost": "db.example.com"})
    cluster.wait_until_ready()
    assert "# db.example.com is left out: ports tell the Services web-0, web-1 apart" in snippet(cluster)
    assert "rewrite" not in snippet(cluster)
    dns.take(cluster)
    clients = outside({"db.example.com": MACHINE})
    inside, wanted = client(cluster), expected(cluster)
    assert inside.addresses(["db.example.com"]) == {"db.example.com": MACHINE}
    assert inside.node_ids(wanted) == wanted == programs.node_ids(list(wanted), login=cluster.login(), **clients)
    assert inside.work(*wanted) == sorted(wanted)


def test_without_the_import_names_of_outside_leave_clients_inside_without_an_answer_and_addresses_do_not(
    new_cluster, client, outside
):
    cluster = new_cluster(shards=2, external={})
    cluster.wait_until_ready()
    begin = f"valkey-web.{cluster.namespace}.svc:6379"
    inside = client(cluster)
    for change in ({"type": "NodePort"}, {"type": "LoadBalancer"}):
        cluster.external(**change)
        cluster.wait_until_ready()
        wanted = expected(cluster)
        assert snippet(cluster) is None
        assert inside.node_ids(wanted) == wanted == programs.node_ids(list(wanted), login=cluster.login())
        assert inside.work(begin) == sorted(wanted)

    cluster.external(advertisedHost="{name}-{shard}.example.com", announceWhen="Always")
    cluster.wait_until_ready()
    wanted = expected(cluster)
    given = {
        f"web-{shard}.example.com": cluster.services()[f"web-{shard}"]["status"]["loadBalancer"]["ingress"][0]["ip"]
        for shard in range(2)
    }
    assert programs.node_ids(list(wanted), login=cluster.login(), **outside(given)) == wanted
    assert set(inside.addresses(given).values()) == {"Name or service not known"}
    assert set(wanted.values()).isdisjoint(inside.node_ids(wanted).values())
    assert inside.try_work(begin).returncode != 0


def test_names_of_before_stay_until_servers_tell_the_new_ones(new_cluster, dns):
    """The new names resolve nowhere yet: what is told must go on leading somewhere."""
    cluster = new_cluster(shards=1, external={"type": "LoadBalancer", "advertisedHost": "old.example.com"})
    wait_for_snippet(cluster, "old.example.com")
    dns.take(cluster)
    cluster.wait_until_ready()
    cluster.external(advertisedHost="new.example.com")
    wait_for_snippet(cluster, "old.example.com", "new.example.com")
    dns.take(cluster)
    cluster.wait_until_ready()
    eventually(lambda: "old.example.com" not in snippet(cluster), what="the old name to go")
