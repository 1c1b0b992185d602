"""Both families of addresses: Kubernetes nodes, pods and load balancers have IPv4 and IPv6, Services what the user asks for.

What clients dial is a name or an IPv4 address, since Valkey takes no IPv6 address for a host; an IPv6 address is told beside it.
"""

import pytest
from valkey import Valkey

from e2e import api as kinds
from e2e import programs
from e2e.waiting import eventually

MACHINES = {
    "node-1": ("198.18.0.11", "2001:2::11"),
    "node-2": ("198.18.0.12", "2001:2::12"),
    "node-3": ("198.18.0.13", "2001:2::13"),
}
BALANCERS = ("198.18.100.", "2001:2:0:100::")
LB = {"type": "LoadBalancer", "announceWhen": "Always"}
BOTH = ["IPv4", "IPv6"]
ANNOUNCED = ("cluster-announce-hostname", "cluster-announce-client-ipv4", "cluster-announce-client-ipv6")


def announced(cluster):
    """Host, IPv4 address and IPv6 address that each server announces, by (shard, node)."""
    return {_place(pod): tuple(_config(cluster, pod)[key] for key in ANNOUNCED) for pod in cluster.pods()}


def wait_until_announced(cluster, expected, *, timeout=20.0):
    eventually(lambda: announced(cluster) == expected(cluster), what="the announcements", timeout=timeout)


def of_machines(cluster, *, ipv6):
    """What servers behind node ports should announce: where their pod runs."""
    where = {_place(pod): MACHINES[pod["spec"]["nodeName"]] for pod in cluster.pods()}
    return {place: (ipv4, ipv4, six if ipv6 else "") for place, (ipv4, six) in where.items()}


def told_over_ipv6(cluster):
    """The addresses (host, port) of CLUSTER NODES by (shard, node), asked at a pod's IPv6 address."""
    username, password = cluster.login()
    pod = cluster.pod(0, 0)
    (_, six) = (entry["ip"] for entry in pod["status"]["podIPs"])
    with Valkey(host=six, username=username, password=password, decode_responses=True) as client:
        client.response_callbacks.clear()
        lines = client.execute_command("CLUSTER NODES").splitlines()
    places = {node_id: _named(name) for name, node_id in cluster.ids().items()}
    found = {places[line.split()[0]]: line.split()[1].partition("@")[0].rpartition(":") for line in lines}
    return {place: (host, int(port)) for place, (host, _, port) in found.items()}


def families(cluster):
    return {tuple(service["spec"]["ipFamilies"]) for service in cluster.services().values()}


def _config(cluster, pod):
    flat = cluster.ask(pod, "CONFIG", "GET", "cluster-announce-*")
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _place(pod):
    return _named(pod["metadata"]["name"])


def _named(pod_name):
    *_, shard, node, _ = pod_name.split("-")
    return int(shard), int(node)


def test_services_of_one_family_on_dual_stack_kubernetes_nodes_tell_that_family_alone(steady):
    """Story 16: an address at which no node port is served is told to nobody."""
    assert families(steady) == {("IPv4",)}
    assert announced(steady) == of_machines(steady, ipv6=False)


def test_node_ports_of_both_families_reach_every_server_by_either(new_cluster):
    """Story 16: the host is the IPv4 address, and who asks over IPv6 is told the IPv6 address of the same Kubernetes node."""
    cluster = new_cluster(external={"ipFamilies": BOTH})
    cluster.wait_until_ready()
    assert families(cluster) == {("IPv4", "IPv6")}
    wait_until_announced(cluster, lambda made: of_machines(made, ipv6=True))
    assert all(":" not in node["host"] for node in cluster.endpoints().values())

    ids = {_named(name): node_id for name, node_id in cluster.ids().items()}
    ports = {place: node["port"] for place, node in cluster.endpoints().items()}
    told = told_over_ipv6(cluster)
    assert told == {_place(pod): (MACHINES[pod["spec"]["nodeName"]][1], ports[_place(pod)]) for pod in cluster.pods()}
    by_address = {f"{host}:{port}": ids[place] for place, (host, port) in told.items()}
    by_address |= {node["address"]: ids[place] for place, node in cluster.endpoints().items()}
    assert len(by_address) == 12
    assert programs.node_ids(list(by_address), login=cluster.login()) == by_address


def test_a_family_is_added_and_taken_away_under_load_and_no_request_fails(new_cluster):
    """Story 8: ports stay, no pod is restarted, and the Services lose a family only when clients have forgotten it."""
    cluster = new_cluster(shards=1, external={"drainSeconds": 4})
    cluster.wait_until_ready()
    identities, ports = cluster.pod_identities(), cluster.node_ports()
    with programs.load("valkey-py", seeds=cluster.bootstrap(), login=cluster.login("default"), prefix="six") as load:
        cluster.external(ipFamilies=BOTH)
        cluster.wait_until_ready()
        wait_until_announced(cluster, lambda made: of_machines(made, ipv6=True))
        assert families(cluster) == {("IPv4", "IPv6")}

        cluster.external(ipFamilies=["IPv4"])
        cluster.wait_until(lambda found: "drainingSince" in found[0]["status"]["externalAccess"], what="draining")
        assert (families(cluster), announced(cluster)) == ({("IPv4", "IPv6")}, of_machines(cluster, ipv6=False))
        cluster.wait_until_drained(what="the family gone")
        report = load.stop()
    eventually(lambda: families(cluster) == {("IPv4",)}, what="Services of one family")
    assert (report["failures"], report["lost"]) == (0, []), report["complaints"]
    assert (cluster.pod_identities(), cluster.node_ports()) == (identities, ports)


def test_the_order_of_families_is_kubernetes_affair_and_a_first_one_that_cannot_be_changed_is_told(new_cluster):
    cluster = new_cluster(shards=1, replicas=0, external={"drainSeconds": 1})
    cluster.wait_until_ready()
    before = cluster.endpoints()
    cluster.external(ipFamilies=["IPv6", "IPv4"])
    cluster.wait_until_ready()
    assert families(cluster) == {("IPv4", "IPv6")}

    cluster.external(ipFamilies=["IPv6"])
    told = cluster.wait_for("ExternalAccessReady", "False", reason="ServiceConflict")
    assert "Service web-0 has IPv4 as its first family for as long as it lives: add IPv4" in told["message"]
    address = before[0, 0]["address"]
    assert programs.node_ids([address], login=cluster.login()) == {address: next(iter(cluster.ids().values()))}

    cluster.external(ipFamilies=["IPv4"])
    cluster.wait_until_ready()
    cluster.external(enabled=False, ipFamilies=["IPv6"])
    cluster.wait_until(lambda found: "externalAccess" not in found[0]["status"], what="nothing left of external access")
    cluster.external(enabled=True, advertisedHost="db.example.com", announceWhen="Always")
    cluster.wait_until_ready(timeout=90)
    assert families(cluster) == {("IPv6",)}


def test_a_load_balancer_of_both_families_is_announced_by_its_ipv4_address_with_the_other_beside(new_cluster):
    cluster = new_cluster(shards=1, external=LB | {"ipFamilies": BOTH})
    cluster.wait_until_ready()
    (given,) = {_given(service) for name, service in cluster.services().items() if name == "web-0"}
    assert [address.startswith(pool) for address, pool in zip(given, BALANCERS, strict=True)] == [True, True]
    wait_until_announced(cluster, lambda _: {(0, node): (given[0], given[0], given[1]) for node in (0, 1)})

    ids = {_named(name): node_id for name, node_id in cluster.ids().items()}
    expected = {f"{host}:{6380 + node}": ids[0, node] for host in given for node in (0, 1)}
    assert programs.node_ids(list(expected), login=cluster.login()) == expected
    bootstrap = _given(cluster.services()["web"])
    assert cluster.bootstrap() == [f"{bootstrap[0]}:6380", f"[{bootstrap[1]}]:6380"]


def test_a_load_balancer_of_ipv6_alone_needs_a_name(new_cluster, tmp_path):
    cluster = new_cluster(shards=1, external=LB | {"ipFamilies": ["IPv6"]})
    cluster.wait_until_ready(outside=False)
    told = cluster.wait_for("ExternalAccessReady", "False", reason="NodeAddressUnknown")
    assert "set spec.externalAccess.advertisedHost to a name that leads there" in told["message"]
    assert "2001:2:0:100::" in told["message"]
    assert {host for host, _, _ in announced(cluster).values()} == {pod["status"]["podIP"] for pod in cluster.pods()}

    cluster.external(advertisedHost="{name}-{shard}.example.com")
    cluster.wait_until_ready(timeout=90)
    (six,) = _given(cluster.services()["web-0"])
    wait_until_announced(cluster, lambda _: {(0, node): ("web-0.example.com", "", six) for node in (0, 1)})
    hosts = tmp_path / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n{six} web-0.example.com\n")
    ids = {_named(name): node_id for name, node_id in cluster.ids().items()}
    expected = {f"web-0.example.com:{6380 + node}": ids[0, node] for node in (0, 1)}
    assert programs.node_ids(list(expected), login=cluster.login(), hosts=hosts) == expected


def test_the_address_of_a_kubernetes_node_changes_and_every_server_tells_the_new_one(new_cluster, api):
    """Story 16: several addresses of each type and family; the first of the usable ones counts. The kubelet sets its own again after seconds."""
    cluster = new_cluster(external={"ipFamilies": BOTH})
    cluster.wait_until_ready()
    # The next Kubernetes node's addresses, at which the same node ports are served.
    names = list(MACHINES)
    changed = dict(zip(names, [*names[1:], names[0]], strict=True))
    expected = {
        _place(pod): (MACHINES[changed[pod["spec"]["nodeName"]]][0], *MACHINES[changed[pod["spec"]["nodeName"]]])
        for pod in cluster.pods()
    }

    def is_told():
        for name, other in changed.items():
            _set_external(api, name, (MACHINES[other][1], MACHINES[other][0], "198.18.0.1"))
        return announced(cluster) == expected

    eventually(is_told, what="the changed addresses", pause=0.5)
    ids = {_named(name): node_id for name, node_id in cluster.ids().items()}
    reached = {f"{host}:{port}": ids[place] for place, (host, port) in told_over_ipv6(cluster).items()}
    assert programs.node_ids(list(reached), login=cluster.login()) == reached
    wait_until_announced(cluster, lambda made: of_machines(made, ipv6=True), timeout=40)
    cluster.wait_until_ready()


def test_addresses_of_a_family_that_services_do_not_have_are_no_addresses(new_cluster, api):
    """Story 16: Kubernetes nodes that are public by IPv6 alone, and node ports of IPv4."""
    cluster = new_cluster(shards=1, external={})
    cluster.wait_until_ready()
    for name, (_, six) in MACHINES.items():
        _set_external(api, name, (six,))
    cluster.replace(cluster.pod(0, 1), grace=0)
    cluster.wait_until_ready()
    assert announced(cluster) == of_machines(cluster, ipv6=False)


@pytest.mark.usefixtures("without_nodes")
def test_without_the_right_to_read_nodes_pods_tell_both_addresses(new_cluster):
    """Story 16."""
    cluster = new_cluster(shards=1, external={"ipFamilies": BOTH})
    cluster.wait_until_ready()
    wait_until_announced(cluster, lambda made: of_machines(made, ipv6=True))


def _given(service):
    """The addresses that a load balancer was given."""
    return tuple(entry["ip"] for entry in service["status"]["loadBalancer"]["ingress"])


def _set_external(api, name, addresses):
    """Give a Kubernetes node ExternalIPs beside the addresses that it has."""
    own = [entry for entry in api.get(kinds.NODE, name)["status"]["addresses"] if entry["type"] != "ExternalIP"]
    external = [{"type": "ExternalIP", "address": address} for address in addresses]
    api.patch(kinds.NODE, name, None, {"status": {"addresses": own + external}}, subresource="status")
