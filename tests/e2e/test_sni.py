"""Type Ingress: an SNI router of the user's passes connections on by the name that they ask for, all on one port."""

import os
import random
import signal
import time
from dataclasses import replace
from functools import partial

import pytest

from authorities import authority
from e2e import api as kinds
from e2e import envoy, programs
from e2e.changing import change_under_load
from e2e.operators import server_process
from e2e.secured import pod_names, put
from e2e.sni import NODES, by_node, places, seeds
from e2e.waiting import eventually

A = authority("A")
TLS = {"certificate": {"secretName": "web-cert"}}
BY_NODE = {
    "type": "Ingress",
    "advertisedHost": "{name}-{shard}-{node}.sni.example.com",
    "announceWhen": "Always",
    "drainSeconds": 3,
}
BY_SHARD = BY_NODE | {"advertisedHost": "{name}-{shard}.sni.example.com"}
BALANCER = "198.18.100.21"
"""Of shard 0 the balancer has this address and a 0, and so on."""
PORTS = BY_NODE | {"type": "NodePort", "advertisedHost": "{name}-{shard}-{node}.np.example.com", "advertisedPort": None}
BALANCERS = {
    "type": "LoadBalancer",
    "advertisedHost": "{name}-{shard}-{node}.lb.example.com",
    "serviceAnnotations": {"sandbox.valkey.io/address": BALANCER + "{shard}"},
}


@pytest.fixture
def outside(tmp_path):
    """How clients outside are run: whom they trust, and what they resolve names by."""
    led = {f"{ending}.sni.example.com": envoy.ADDRESS for ending in ("web", *(f"web-{shard}" for shard in range(3)))}
    for shard, node in NODES:
        led |= {
            f"web-{shard}-{node}.sni.example.com": envoy.ADDRESS,
            f"{node}-{shard}-web.sni.example.com": envoy.ADDRESS,
            f"web-{shard}-{node}.np.example.com": "198.18.0.12",
            f"web-{shard}-{node}.lb.example.com": f"{BALANCER}{shard}",
        }
    hosts, trust = tmp_path / "hosts", tmp_path / "ca.crt"
    hosts.write_text("".join(f"{address} {name}\n" for name, address in (led | {"localhost": "127.0.0.1"}).items()))
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
def web(new_cluster, api, outside):
    """Makes the cluster, with a certificate that covers all names."""
    inside = f"valkey-web.{new_cluster.namespace}.svc"
    names = [inside, f"*.{inside}", *(f"*.{kind}.example.com" for kind in ("sni", "np", "lb"))]
    put(api, new_cluster.namespace, A.issue(*names).secret(A))

    def make(external, **spec):
        return new_cluster(external=external, trust=outside["trust"], tls=TLS, **spec)

    return make


def by_shard(cluster):
    """A name for each shard."""
    return places(cluster, {f"web-{shard}.sni.example.com": f"web-{shard}" for shard in range(3)})


def test_each_name_leads_to_its_node_and_clients_work_through_failovers(web, router, outside):
    """Stories 1 and 9, and half of the figures: a name stays its node's."""
    cluster = web(BY_NODE | {"bootstrapHost": "web.sni.example.com"})
    router.lead(by_node(cluster))
    cluster.wait_until_ready()
    assert cluster.bootstrap() == ["web.sni.example.com:6380"]
    ids = cluster.ids()
    expected = {
        f"web-{shard}-{node}.sni.example.com:6380": ids[f"valkey-web-{shard}-{node}-0"] for shard, node in cluster.endpoints()
    }
    assert len(expected) == 6
    assert programs.node_ids(list(expected), login=cluster.login(), **outside) == expected

    cluster.make_first_nodes_primaries()
    endpoints = {place: node["address"] for place, node in cluster.endpoints().items()}
    with programs.loads(prefix="load", login=cluster.login("default"), seeds=cluster.bootstrap(), **outside) as loads:
        cluster.ask(cluster.pod(0, 1), "CLUSTER FAILOVER")
        cluster.wait_until_primary("valkey-web-0-1-0")
        cluster.replace(cluster.pod(1, 0))
        cluster.wait_until_ready()
        reports = [load.stop() for load in loads]
    for report in reports:
        assert report["lost"] == []
        assert report["failures"] < 10, report["complaints"]
    assert {place: node["address"] for place, node in cluster.endpoints().items()} == endpoints
    reached = programs.node_ids(list(endpoints.values()), login=cluster.login(), **outside)
    assert sorted(reached.values()) == sorted(cluster.ids().values())


def test_a_shard_with_one_name_leads_to_its_primary_and_clients_follow_every_failover(web, router, outside):
    """Shard-addressed: the shard's Service moves, and clients of the old primary are sent away until they reach the new one."""
    cluster = web(BY_SHARD)
    router.lead(by_shard(cluster))
    cluster.wait_until_ready()
    warning = cluster.wait_for("ConfigurationWarning", reason="ReplicasNotReachable")
    assert "clients outside reach primaries only: add {node} to it" in warning["message"]
    assert {node["address"] for node in cluster.endpoints().values()} == {f"web-{n}.sni.example.com:6380" for n in range(3)}
    cluster.make_first_nodes_primaries()

    def leads_to(shard, node):
        address = "web-0.sni.example.com:6380"
        reached = programs.node_ids([address], login=cluster.login(), **outside)[address]
        return reached == cluster.ask(cluster.pod(shard, node), "CLUSTER MYID")

    login = cluster.login("default")
    with programs.loads(prefix="load", login=login, seeds=seeds(cluster), last_round=True, **outside) as loads:
        cluster.ask(cluster.pod(0, 1), "CLUSTER FAILOVER")
        eventually(lambda: leads_to(0, 1), what="web-0 to lead to the new primary")
        assert cluster.services()["web-0"]["spec"]["selector"]["valkey.io/node-index"] == "1"
        assert cluster.primary(0)["metadata"]["name"] == "valkey-web-0-1-0"
        time.sleep(3)  # for about so long the old primary sends clients away
        os.kill(server_process(cluster.pod(0, 1)), signal.SIGKILL)
        eventually(lambda: leads_to(0, 0), what="web-0 to lead to the one that took over")
        cluster.wait_until_ready()
        reports = [load.stop() for load in loads]
    for report in reports:
        assert report["lost"] == []
        assert report["recovered"], report["complaints"]


def test_an_operator_that_is_gone_in_the_middle_of_a_failover_sends_clients_away_when_it_is_back(
    web, process, router, outside, api
):
    """It had moved the shard's Service, and clients of the old primary were still on it."""
    process.start()
    cluster = web(BY_SHARD)
    router.lead(by_shard(cluster))
    cluster.wait_until_ready()
    cluster.make_first_nodes_primaries()
    with programs.loads(prefix="load", login=cluster.login("default"), seeds=seeds(cluster), last_round=True, **outside) as loads:
        for node in (1, 0, 1, 0):
            cluster.ask(cluster.pod(0, node), "CLUSTER FAILOVER")
            has_moved = partial(_leads_to, node=node)
            api.until(kinds.SERVICE, cluster.namespace, has_moved, name="web-0", what=f"web-0 to lead to node {node}")
            process.kill()
            time.sleep(5)  # so long that nobody can take it for a failover of just now
            process.start()
            cluster.wait_until_ready()
        reports = [load.stop() for load in loads]
    for report in reports:
        assert report["lost"] == []
        assert report["recovered"], report["complaints"]


def _leads_to(found, *, node):
    """Whether a shard's Service leads to that node."""
    return found and found[0]["spec"]["selector"].get("valkey.io/node-index") == str(node)


def test_no_request_fails_while_the_type_and_the_names_change(web, router, outside):
    """Story 8, between the SNI router, node ports and load balancers: every pair that is told can be dialled, no pod is restarted."""
    cluster = web(PORTS)
    cluster.wait_until_ready()
    identities = cluster.pod_identities()
    turned = "{node}-{shard}-web.sni.example.com"
    changes = (
        (BY_NODE, by_node),
        (BALANCERS, None),
        (BY_NODE | {"advertisedHost": turned, "serviceAnnotations": None}, lambda made: by_node(made, turned)),
        (BY_NODE, lambda made: by_node(made, turned) | by_node(made)),
        (PORTS, None),
    )
    pods = [pod["status"]["podIP"] for pod in cluster.pods()]
    with programs.sampler(pods, login=cluster.login(), **outside, inside=pod_names(cluster)) as sampler:
        for number, (change, names) in enumerate(changes):
            change_under_load(
                cluster,
                change,
                seeds=seeds(cluster),
                prefix=str(number),
                meanwhile=None if names is None else lambda names=names: router.lead(names(cluster)),
                **outside,
            )
        sampled = sampler.stop()
    assert sampled["wrong"] == []
    assert cluster.pod_identities() == identities
    assert {service["spec"]["type"] for service in cluster.services().values()} == {"NodePort"}


@pytest.mark.parametrize("access", [BY_NODE, BALANCERS | {"announceWhen": "Always"}], ids=["names", "balancers"])
def test_no_request_fails_while_access_is_turned_off_and_on(web, router, outside, access):
    """Story 8: clients outside work until the drain is over, clients that reach everything work through all of it."""
    cluster = web(access | {"drainSeconds": 10})  # long enough for the last reads of clients outside

    def led():
        if access["type"] == "Ingress":
            router.lead(by_node(cluster))  # the Services of the names have other addresses each time
        cluster.wait_until_ready()

    led()
    identities, inside = cluster.pod_identities(), pod_names(cluster)
    with outside["hosts"].open("a") as file:
        file.writelines(f"{ip} {name}\n" for name, ip in inside.items())
    login = cluster.login("default")
    with (
        programs.sampler(inside.values(), login=cluster.login(), **outside, inside=inside) as sampler,
        programs.loads(
            prefix="through", login=login, seeds=[f"{name}:6379" for name in inside], is_outside=False, **outside
        ) as through,
    ):
        with programs.loads(prefix="lasting", login=login, seeds=seeds(cluster), fresh_every=None, **outside) as lasting:
            cluster.external(enabled=False)
            cluster.wait_for("ExternalAccessReady", "False", reason="Draining")
            reports = [load.stop() for load in lasting]
        cluster.wait_until(lambda found: "externalAccess" not in found[0]["status"], what="nothing left of external access")
        assert cluster.services() == {}
        cluster.external(enabled=True)
        led()
        reports += [load.stop() for load in through]
        sampled = sampler.stop()
    for report in reports:
        assert report["failures"] == 0, report["complaints"]
        assert report["lost"] == []
    assert sampled["wrong"] == []
    assert cluster.pod_identities() == identities


def test_no_request_fails_between_one_name_per_shard_and_node_ports_and_balancers(web, router, outside):
    """Story 8 where the selector of a shard's Service differs; between a balancer and one name per shard the port does too."""
    cluster = web(PORTS)
    cluster.wait_until_ready()
    identities = cluster.pod_identities()
    changes = (
        BY_SHARD,
        PORTS,
        BALANCERS | {"advertisedPort": 7000},
        BY_SHARD | {"advertisedPort": 6380, "serviceAnnotations": None},
    )
    pods = [pod["status"]["podIP"] for pod in cluster.pods()]
    with programs.sampler(pods, login=cluster.login(), **outside, inside=pod_names(cluster), by_shard=True) as sampler:
        for number, change in enumerate(changes):
            by_name = change["type"] == "Ingress"
            change_under_load(
                cluster,
                change,
                seeds=seeds(cluster),
                prefix=str(number),
                meanwhile=(lambda: router.lead(by_shard(cluster))) if by_name else None,
                **outside,
            )
        sampled = sampler.stop()
    assert sampled["wrong"] == []
    assert cluster.pod_identities() == identities


def test_clients_follow_from_one_name_per_node_to_one_per_shard_and_back(web, router, outside):
    """The shard's Service leads to its primary while the nodes' Services stay until nobody needs them."""
    cluster = web(BY_NODE)
    router.lead(by_node(cluster))
    cluster.wait_until_ready()
    identities = cluster.pod_identities()
    with programs.loads(prefix="load", login=cluster.login("default"), seeds=seeds(cluster), **outside, fresh_every=None) as loads:
        for template in (BY_SHARD, BY_NODE):
            cluster.external(**template)
            router.lead(by_node(cluster) | by_shard(cluster))
            cluster.wait_until_ready()
        reports = [load.stop() for load in loads]
    for report in reports:
        assert report["failures"] == 0, report["complaints"]
        assert report["lost"] == []
    assert cluster.pod_identities() == identities


def test_an_operator_that_is_killed_at_any_moment_of_a_change_comes_to_the_same_end(web, process, router, outside):
    """Story 17, for names and balancers."""
    process.start()
    cluster = web(BY_NODE | {"drainSeconds": 1}, shards=1)
    router.lead(places(cluster, {f"web-0-{node}.sni.example.com": f"web-0-{node}" for node in range(2)}))
    cluster.wait_until_ready()
    identities = cluster.pod_identities()
    for change in ({"type": "LoadBalancer", "advertisedHost": None}, BY_NODE | {"drainSeconds": 1}):
        cluster.external(**change)
        if change["type"] == "Ingress":
            router.lead(places(cluster, {f"web-0-{node}.sni.example.com": f"web-0-{node}" for node in range(2)}))
        for _ in range(4):
            time.sleep(random.uniform(0.0, 1.5))  # any moment is as good
            process.kill()
            process.start()
        cluster.wait_until_ready()
        cluster.wait_until_drained()
    assert cluster.pod_identities() == identities
    assert sorted(cluster.services()) == ["web", "web-0", "web-0-0", "web-0-1"]
    addresses = [node["address"] for node in cluster.endpoints().values()]
    assert sorted(addresses) == ["web-0-0.sni.example.com:6380", "web-0-1.sni.example.com:6380"]
    reached = programs.node_ids(addresses, login=cluster.login(), **outside)
    assert sorted(reached.values()) == sorted(cluster.ids().values())


def test_a_check_tells_a_name_that_leads_to_another_node_from_one_that_leads_nowhere(web, router, outside, valkey):
    valkey = replace(valkey, hosts=outside["hosts"])
    cluster = web(BY_NODE | {"bootstrapHost": "web.sni.example.com"})
    right = by_node(cluster)
    router.lead(right)
    cluster.wait_until_ready()
    eventually(lambda: valkey.problems(cluster) == {}, what="all well")

    one, other, gone = (f"web-{shard}-0.sni.example.com" for shard in range(3))
    router.lead({name: place for name, place in (right | {one: right[other], other: right[one]}).items() if name != gone})
    expected = {f"{one}:6380": {"WrongNode"}, f"{other}:6380": {"WrongNode"}, f"{gone}:6380": {"ConnectionCut"}}

    eventually(lambda: valkey.problems(cluster) == expected, what=f"{expected} to be found")
    assert "node 1-0 answers here" in valkey.message(cluster, "WrongNode")
    assert f"see whether the gateway has a route for the name {gone}" in valkey.message(cluster, "ConnectionCut")


def test_a_check_expects_the_primary_behind_one_name_per_shard(web, router, outside, valkey):
    valkey = replace(valkey, hosts=outside["hosts"])
    cluster = web(BY_SHARD)
    router.lead(by_shard(cluster))
    cluster.wait_until_ready()
    told = eventually(lambda: (found := valkey.check(cluster))["ok"] and found, what="all well")
    assert [(each["role"], len(each["nodes"])) for each in told["addresses"]] == [("shard", 2)] * 3
