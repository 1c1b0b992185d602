"""External access is turned on, changed and turned off on a live cluster: nobody who uses what is advertised notices."""

from contextlib import ExitStack

import pytest

from e2e import programs

NODES = {"node-1": "198.18.0.11", "node-2": "198.18.0.12", "node-3": "198.18.0.13"}
NAMES = {f"web-{shard}-{node}.example.com": "198.18.0.12" for shard in range(3) for node in range(2)}


@pytest.fixture
def hosts(tmp_path):
    """What clients outside resolve names by."""
    file = tmp_path / "hosts"
    file.write_text("".join(f"{address} {name}\n" for name, address in (NODES | NAMES | {"localhost": "127.0.0.1"}).items()))
    return file


def test_no_request_fails_and_no_pair_is_wrong_while_external_access_is_turned_on_changed_and_turned_off(new_cluster, hosts):
    """Story 8, and no pod is restarted for any of it."""
    cluster = new_cluster(externalAccess={"drainSeconds": 3})
    cluster.wait_until_ready(outside=False)
    identities = cluster.pod_identities()
    inside = cluster.pod_addresses()
    login = cluster.login("default")

    def loads(prefix, **options):
        return stack.enter_context(programs.loads(prefix=prefix, login=login, hosts=hosts, **options))

    with ExitStack() as stack:
        sampler = stack.enter_context(
            programs.sampler([address.split(":")[0] for address in inside], login=cluster.login(), hosts=hosts)
        )
        # From this machine both pods and node ports can be reached: its clients live through everything.
        through = loads("through", seeds=inside, is_outside=False)

        cluster.external(enabled=True, type="NodePort")
        cluster.wait_until_ready()
        ports = cluster.node_ports()
        told_hosts = {endpoint["host"] for endpoint in cluster.endpoints().values()}
        assert told_hosts <= set(NODES.values())

        outside = loads("outside", seeds=cluster.bootstrap())
        changes = (
            ({"advertisedHost": "198.18.0.13"}, {"198.18.0.13"}),
            ({"advertisedHost": "{name}-{shard}-{node}.example.com", "announceWhen": "Always"}, set(NAMES)),
            ({"advertisedHost": None, "nodePort": {"addressType": ["Hostname"]}}, set(NODES)),
            ({"nodePort": None}, told_hosts),
        )
        for change, expected in changes:
            cluster.external(**change)
            cluster.wait_until_ready()
            assert {endpoint["host"] for endpoint in cluster.endpoints().values()} <= expected
        reports = [one.stop() for one in outside]

        lasting = loads("lasting", seeds=cluster.bootstrap(), fresh_every=None)
        cluster.external(enabled=False, drainSeconds=10)  # long enough for the last reads of clients outside
        cluster.wait_for("ExternalAccessReady", "False", reason="Draining")
        # Clients with an old topology still work while the Services drain.
        reports += [one.stop() for one in lasting]
        cluster.external(enabled=True)
        cluster.wait_until_ready()
        assert cluster.node_ports() == ports

        cluster.external(enabled=False)
        cluster.wait_until(lambda found: "externalAccess" not in found[0]["status"], what="nothing left of external access")
        assert cluster.services() == {}
        assert cluster.condition("ExternalAccessReady") is None

        sampled = sampler.stop()
        reports += [one.stop() for one in through]

    assert sampled["wrong"] == []
    assert {pair.rpartition(":")[0] for pair in sampled["told"]} >= {address.split(":")[0] for address in inside} | set(NAMES)
    for report in reports:
        assert report["failures"] == 0, report["complaints"]
        assert report["lost"] == []
    assert cluster.pod_identities() == identities


def test_a_name_that_does_not_resolve_is_waited_for_and_the_condition_lists_the_record(new_cluster):
    """Half of story 2: inside the cluster is Ready, and clients keep what they were told."""
    cluster = new_cluster(shards=1, replicas=0, external={"advertisedHost": "{name}-{shard}-{node}.example.com"})
    cluster.wait_until_ready(outside=False)
    told = cluster.wait_for("ExternalAccessReady", "False", reason="WaitingForDNS")
    assert "web-0-0.example.com does not resolve inside the Kubernetes cluster" in told["message"]
    assert "make the DNS record A 198.18.0.1" in told["message"]
    (pod,) = cluster.pods()
    assert [node[:2] for _, _, *nodes in cluster.slots(pod) for node in nodes] == [(pod["status"]["podIP"], 6379)]

    cluster.external(advertisedHost=None)
    cluster.wait_until_ready()
