"""Load balancers: pending, mixed, changing, withdrawn; every scope, and every change between types, under load from outside."""

import pytest

from e2e import api as kinds
from e2e import programs
from e2e.changing import change_under_load
from e2e.waiting import eventually

LB = {"type": "LoadBalancer"}
GIVE, ADDRESS, DELAY = (f"sandbox.valkey.io/{word}" for word in ("give", "address", "delay"))
CLASS = "sandbox.valkey.io/balancer"
POOL = "198.18.100."


def annotate(cluster, service, **values):
    """Tell the sandbox's load balancer how to treat a Service, as a cloud would change its mind."""
    changed = {key.replace("_", "/"): value for key, value in values.items()}
    cluster.api.patch(kinds.SERVICE, service, cluster.namespace, {"metadata": {"annotations": changed}})


def wait_for_endpoint(cluster, place, holds, *, what):
    def found(items):
        external = items[0].get("status", {}).get("externalAccess", {}) if items else {}
        nodes = {(shard["shard"], node["node"]): node for shard in external.get("endpoints", []) for node in shard.get("nodes", [])}
        return place in nodes and holds(nodes[place]) and nodes[place]

    return cluster.wait_until(found, what=what)


def told(cluster):
    """Every pair that any server tells."""
    return {tuple(node[:2]) for pod in cluster.pods() for _, _, *nodes in cluster.slots(pod) for node in nodes}


def told_as_in_the_status(cluster):
    return {(node["host"], node["port"]) for node in cluster.endpoints().values()} == told(cluster)


def test_each_scope_gives_every_node_an_endpoint_that_reaches_it_alone(new_cluster):
    """Half of story 1: at each endpoint of each scope answers the server that the status names."""
    cluster = new_cluster(external=LB | {"drainSeconds": 1})
    for scope in ("Shard", "Node", "Cluster"):
        cluster.external(loadBalancerScope=scope)
        cluster.wait_until_ready()
        cluster.wait_until_drained()
        ids = cluster.ids()
        expected = {node["address"]: ids[f"valkey-web-{shard}-{number}-0"] for (shard, number), node in cluster.endpoints().items()}
        assert len(expected) == 6
        assert programs.node_ids(list(expected), login=cluster.login()) == expected
        services = {"Shard": 4, "Node": 7, "Cluster": 1}
        assert len(cluster.services()) == services[scope]


def test_no_request_fails_while_the_type_the_scope_and_the_port_change(new_cluster):
    """Story 8, between load balancers and node ports: every pair that is told can be dialled, no pod is restarted."""
    cluster = new_cluster(external=LB | {"drainSeconds": 3})
    cluster.wait_until_ready()
    identities = cluster.pod_identities()
    changes = (
        {"type": "NodePort"},
        {"type": "LoadBalancer", "loadBalancerScope": "Node"},
        {"loadBalancerScope": "Cluster"},
        {"loadBalancerScope": "Shard"},
        {"advertisedPort": 7000},
        {"type": "NodePort", "loadBalancerScope": None, "advertisedPort": None},
        {"type": "LoadBalancer"},
    )
    with programs.sampler([address.split(":")[0] for address in cluster.pod_addresses()], login=cluster.login()) as sampler:
        for number, change in enumerate(changes):
            change_under_load(cluster, change, seeds=cluster.bootstrap(), prefix=str(number))
        sampled = sampler.stop()
    assert sampled["wrong"] == []
    assert cluster.pod_identities() == identities
    assert {service["spec"]["type"] for service in cluster.services().values()} == {"LoadBalancer"}


def test_no_port_is_without_its_pod_while_others_come_and_go(new_cluster):
    """Kubernetes would rewrite the EndpointSlices of several pods in any order, one after the other."""
    cluster = new_cluster(shards=1, external={"drainSeconds": 1})
    cluster.wait_until_ready()
    selector = {"kubernetes.io/service-name": "web-0"}
    before = "np"
    for type_, after in (("LoadBalancer", "lb"), ("NodePort", "np")) * 3:
        cluster.external(type=type_)
        for steady, there in ((before, {before, after}), (after, {after})):
            gaps = set()

            def are_there(slices, steady=steady, there=there, gaps=gaps):
                passed_on = {
                    (port["name"], endpoint["targetRef"]["name"])
                    for each in slices
                    for port in each["ports"] or ()
                    for endpoint in each["endpoints"] or ()
                }
                wanted = {f"{kind}-{node}": f"valkey-web-0-{node}-0" for kind in {steady, *there} for node in (0, 1)}
                gaps |= {item for item in wanted.items() if item[0].startswith(steady)} - passed_on
                return {name for name, _ in passed_on} == wanted.keys()

            cluster.api.until(kinds.SLICE, cluster.namespace, are_there, labels=selector, what=f"ports {there}", timeout=30)
            assert gaps == set()
        before = after
        cluster.wait_until_ready()


def test_a_pending_balancer_keeps_nobody_inside_waiting_and_is_named(new_cluster):
    """Story 2: Ready inside, internal answers for all, and the condition says which balancers wait and since when."""
    cluster = new_cluster(external=LB | {"serviceAnnotations": {GIVE: "none"}})
    cluster.wait_until_ready(outside=False)
    condition = cluster.wait_for("ExternalAccessReady", "False", reason="WaitingForLoadBalancer")
    for shard in range(3):
        assert f"Service web-{shard} waits for its load balancer since 20" in condition["message"]
    assert told(cluster) == {(pod["status"]["podIP"], 6379) for pod in cluster.pods()}
    cluster.external(serviceAnnotations={GIVE: None})
    cluster.wait_until_ready()
    assert told_as_in_the_status(cluster)


def test_nothing_is_told_while_some_balancers_are_ready_and_some_are_not(new_cluster):
    """Story 3: the balancer of shard n gets its address after n0 + 8 seconds."""
    cluster = new_cluster(external=LB | {"serviceAnnotations": {DELAY: "{shard}8"}})
    cluster.wait_until_ready(outside=False)
    wait_for_endpoint(cluster, (1, 0), lambda node: node["host"].startswith(POOL), what="an address of web-1")
    assert "web-2 waits" in cluster.condition("ExternalAccessReady")["message"]
    assert "web-0 waits" not in cluster.condition("ExternalAccessReady")["message"]
    assert told(cluster) == {(pod["status"]["podIP"], 6379) for pod in cluster.pods()}
    cluster.wait_until_ready()
    assert told_as_in_the_status(cluster)


def test_an_address_changes_goes_and_comes_back(new_cluster):
    """Story 4: a new address is announced at once, one that is gone stays announced, a deleted Service comes back."""
    cluster = new_cluster(external=LB)
    cluster.wait_until_ready()
    before = cluster.endpoints()[0, 0]["host"]
    annotate(cluster, "web-0", **{ADDRESS.replace("/", "_"): f"{POOL}77"})
    wait_for_endpoint(cluster, (0, 1), lambda node: node["host"] == f"{POOL}77" and node["announced"], what="the new address")
    cluster.wait_until_ready()
    assert {host for host, _ in told(cluster)} & {before, f"{POOL}77"} == {f"{POOL}77"}

    annotate(cluster, "web-0", **{GIVE.replace("/", "_"): "none"})
    cluster.wait_for("ExternalAccessReady", "False", reason="WaitingForLoadBalancer")
    assert f"{POOL}77" in {host for host, _ in told(cluster)}
    assert not {host for host, _ in told(cluster)} & {pod["status"]["podIP"] for pod in cluster.pods()}

    annotate(cluster, "web-0", **{GIVE.replace("/", "_"): "ip"})
    cluster.wait_until_ready()

    uid = cluster.services()["web-1"]["metadata"]["uid"]
    ports = {port["name"]: port["port"] for port in cluster.services()["web-1"]["spec"]["ports"]}
    cluster.api.delete(kinds.SERVICE, "web-1", cluster.namespace)
    cluster.api.until(
        kinds.SERVICE,
        cluster.namespace,
        lambda found: found and found[0]["metadata"]["uid"] != uid,
        what="web-1 again",
        name="web-1",
    )
    cluster.wait_until_ready()
    assert {port["name"]: port["port"] for port in cluster.services()["web-1"]["spec"]["ports"]} == ports
    eventually(lambda: told_as_in_the_status(cluster), what="what servers tell to be what the status tells")


@pytest.mark.parametrize(("give", "expected"), [("hostname", "name"), ("both", "address")])
def test_a_name_is_announced_only_where_there_is_no_address(new_cluster, give, expected):
    """Story 5: a balancer that reports a host name, or an IP and a host name."""
    cluster = new_cluster(shards=1, external=LB | {"serviceAnnotations": {GIVE: give}, "announceWhen": "Always"})
    cluster.wait_until_ready(timeout=90)
    hosts = {node["host"] for node in cluster.endpoints().values()}
    assert all(host.startswith(POOL) for host in hosts) == (expected == "address")
    assert told_as_in_the_status(cluster)


def test_one_balancer_may_have_a_name_while_another_has_an_address(new_cluster):
    """The other half of story 5."""
    cluster = new_cluster(shards=2, replicas=0, external=LB | {"announceWhen": "Always"})
    cluster.wait_until_ready()
    annotate(cluster, "web-0", **{GIVE.replace("/", "_"): "hostname"})
    wait_for_endpoint(
        cluster, (0, 0), lambda node: not node["host"].startswith(POOL) and node["announced"], what="the balancer's name"
    )
    cluster.wait_until_ready()
    assert cluster.endpoints()[1, 0]["host"].startswith(POOL)
    assert told_as_in_the_status(cluster)


def test_what_a_cloud_adds_to_a_service_stays(new_cluster):
    """§5: annotations, finalizers and classes of others are not ours."""
    cluster = new_cluster(shards=1, replicas=0, external=LB)
    cluster.wait_until_ready()
    annotate(cluster, "web-0", **{"cloud.example.com_id": "lb-4711"})
    cluster.api.patch(kinds.SERVICE, "web-0", cluster.namespace, {"metadata": {"finalizers": ["cloud.example.com/cleanup"]}})
    try:
        cluster.external(serviceAnnotations={"example.com/team": "{name}-{shard}"})
        cluster.wait_until_ready()
        found = cluster.api.until(
            kinds.SERVICE,
            cluster.namespace,
            lambda items: items and "example.com/team" in items[0]["metadata"].get("annotations", {}) and items[0],
            what="our annotation",
            name="web-0",
        )
        annotations = found["metadata"]["annotations"]
        assert (annotations["cloud.example.com/id"], annotations["example.com/team"]) == ("lb-4711", "web-0")
        assert "cloud.example.com/cleanup" in found["metadata"]["finalizers"]
        # Held by a finalizer: it is not written to while it goes, and made again when it is gone.
        cluster.api.delete(kinds.SERVICE, "web-0", cluster.namespace)
        cluster.wait_for("ExternalAccessReady", "False")
    finally:
        cluster.api.patch(kinds.SERVICE, "web-0", cluster.namespace, {"metadata": {"finalizers": None}})
    cluster.wait_until_ready()


def test_what_is_for_balancers_alone_comes_and_goes_with_the_type(new_cluster):
    """§5, against the API server's own rules for fields of types; and the bus is on none of them."""
    fields = {
        "loadBalancerScope": "Node",
        "loadBalancerClass": CLASS,
        "loadBalancerSourceRanges": ["198.18.0.0/15", "10.0.0.0/8"],
        "allocateLoadBalancerNodePorts": False,
        "externalTrafficPolicy": "Local",
    }
    cluster = new_cluster(shards=1, external={"drainSeconds": 0})
    cluster.wait_until_ready()
    for _ in range(2):
        cluster.external(type="LoadBalancer", **fields)
        cluster.wait_until_ready()
        cluster.wait_until_drained()
        made = cluster.services()
        assert sorted(made) == ["web", "web-0-0", "web-0-1"]
        for service in made.values():
            spec = service["spec"]
            assert {name: spec[name] for name in fields if name in spec} == {
                name: value for name, value in fields.items() if name != "loadBalancerScope"
            }
            assert "nodePort" not in spec["ports"][0]
        cluster.external(type="NodePort", **dict.fromkeys(fields))
        cluster.wait_until_ready()
        cluster.wait_until_drained()
        made = cluster.services()
        assert sorted(made) == ["web", "web-0"]
        assert all(not (fields.keys() & service["spec"].keys() - {"externalTrafficPolicy"}) for service in made.values())
        assert {service["spec"]["externalTrafficPolicy"] for service in made.values()} == {"Cluster"}
    assert not cluster.events("ServiceError")
    ports = [port for service in cluster.services().values() for port in service["spec"]["ports"]]
    assert 16379 not in {port[field] for port in ports for field in ("port", "targetPort")}


def test_another_class_comes_by_way_of_node_ports_however_soon_it_is_wanted(new_cluster):
    """§1: Kubernetes keeps the class of a balancer for its life, so the Services have to be something else in between; clients do not notice."""
    own = {"serviceAnnotations": {ADDRESS: POOL + "21{shard}"}}  # that no balancer gets the address of another a moment before
    cluster = new_cluster(external=LB | own | {"drainSeconds": 3})
    cluster.wait_until_ready()
    addresses = [address.split(":")[0] for address in cluster.pod_addresses()]
    with (
        programs.sampler(addresses, login=cluster.login()) as sampler,
        programs.loads(prefix="class", login=cluster.login("default"), seeds=cluster.bootstrap(), fresh_every=None) as loads,
    ):
        cluster.external(type="NodePort")
        cluster.wait_until_ready()
        cluster.external(type="LoadBalancer", loadBalancerClass=CLASS)
        cluster.wait_for("ExternalAccessReady", "False", reason="Draining", message=f"and becomes one of class {CLASS}")
        cluster.wait_until_ready()
        reports = [load.stop() for load in loads]
        sampled = sampler.stop()
    for report in reports:
        assert report["failures"] == 0, report["complaints"]
        assert report["lost"] == []
    assert sampled["wrong"] == []
    services = cluster.services().values()
    assert {service["spec"].get("loadBalancerClass") for service in services} == {CLASS}
    assert not cluster.events("ServiceError")


def test_with_local_traffic_new_connections_follow_a_pod_that_moves(new_cluster, kubernetes):
    """§1: Local with scope Node: only the Kubernetes node that runs the pod takes its connections, and that follows the pod."""
    cluster = new_cluster(shards=1, replicas=0, external=LB | {"loadBalancerScope": "Node", "externalTrafficPolicy": "Local"})
    cluster.wait_until_ready()
    endpoint = cluster.endpoints()[0, 0]["address"]
    machine = cluster.pod(0, 0)["spec"]["nodeName"]
    kubernetes.kubectl("cordon", machine)
    try:
        uid = cluster.pod(0, 0)["metadata"]["uid"]
        cluster.api.delete(kinds.POD, "valkey-web-0-0-0", cluster.namespace)
        cluster.api.until(
            kinds.POD,
            cluster.namespace,
            lambda found: found and found[0]["metadata"]["uid"] != uid,
            what="the pod again",
            name="valkey-web-0-0-0",
        )
        cluster.wait_until_ready()
    finally:
        kubernetes.kubectl("uncordon", machine)
    assert cluster.pod(0, 0)["spec"]["nodeName"] != machine
    assert cluster.endpoints()[0, 0]["address"] == endpoint
    (node_id,) = cluster.ids().values()
    assert programs.node_ids([endpoint], login=cluster.login()) == {endpoint: node_id}


def test_the_later_of_two_clusters_that_claim_one_endpoint_says_so_and_takes_it_when_it_is_free(new_cluster):
    """Story 13: an endpoint has one owner, the one that was there first."""
    claimed = LB | {"advertisedHost": "db.example.com", "announceWhen": "Always", "drainSeconds": 0}
    first = new_cluster("first", shards=1, replicas=0, external=claimed)
    first.wait_until_ready(timeout=90)
    second = new_cluster("second", shards=1, replicas=0, external=claimed)
    second.wait_until_ready(outside=False)
    condition = second.wait_for("ExternalAccessReady", "False", reason="HostClaimed")
    assert f"db.example.com:6380 is the endpoint of ValkeyCluster {first.namespace}/first" in condition["message"]
    (pod,) = second.pods()
    assert told(second) == {(pod["status"]["podIP"], 6379)}
    first.external(advertisedHost="other.example.com")
    second.wait_until_ready(timeout=90)
    assert told(second) == {("db.example.com", 6380)}
