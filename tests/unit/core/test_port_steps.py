from dataclasses import replace

from unit.core.given import observed, service
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.observed import AllocatedPort
from valkey_operator.core.plan import ServicePort
from valkey_operator.core.port_steps import as_it_is, beside, has_followed, step
from valkey_operator.core.service_parts import shard_service

NP_0, NP_1 = AllocatedPort("np-0", 31200, 31200, "valkey-0-0"), AllocatedPort("np-1", 31300, 31300, "valkey-0-1")
LB_0, LB_1 = AllocatedPort("lb-0", 6380, 30001, "valkey-0-0"), AllocatedPort("lb-1", 6381, 30002, "valkey-0-1")


def stepped(wanted, *live, served=None):
    """The names of the ports after one step."""
    now = service("orders-0", *live, selector={"valkey.io/shard-index": "0"})
    seen = observed({"type": "NodePort"}, now, answering=False)
    if served is not None:
        seen = replace(seen, served={"orders-0": frozenset(served)})
    ports = tuple(ServicePort(port.name, port.port, port.target, node_port=port.node_port) for port in wanted)
    asked = shard_service(seen.cluster, 0, type_="NodePort", ports=ports)
    return [port.name for port in step(asked, now, seen).ports]


def test_ports_of_one_pod_are_added_at_a_time():
    assert stepped((LB_0, LB_1, NP_0, NP_1), NP_0, NP_1) == ["lb-0", "np-0", "np-1"]
    assert stepped((LB_0, LB_1, NP_0, NP_1), NP_0, NP_1, LB_0) == ["lb-0", "lb-1", "np-0", "np-1"]


def test_ports_of_one_pod_are_removed_at_a_time():
    assert stepped((LB_0, LB_1), LB_0, LB_1, NP_0, NP_1) == ["lb-0", "lb-1", "np-1"]
    assert stepped((LB_0, LB_1), LB_0, LB_1, NP_1) == ["lb-0", "lb-1"]


def test_the_next_pod_waits_until_kubernetes_has_followed():
    assert stepped((LB_0, LB_1, NP_0, NP_1), NP_0, NP_1, LB_0, served=("np-0", "np-1")) == ["lb-0", "np-0", "np-1"]
    assert stepped((LB_0, LB_1), LB_0, LB_1, NP_1, served=("lb-0", "lb-1", "np-0", "np-1")) == ["lb-0", "lb-1", "np-1"]


def test_a_port_that_only_changes_its_number_does_not_wait():
    moved = replace(NP_0, port=6379)
    assert stepped((NP_0, NP_1), moved, NP_1, served=()) == ["np-0", "np-1"]


SHARD = AllocatedPort("sni-shard", 6380, 30003, "valkey-0-0")


def targets(wanted, *live, served=None):
    """Where the ports lead after one step."""
    now = service("orders-0", *live, selector={"valkey.io/shard-index": "0"})
    seen = observed({"type": "NodePort"}, now, answering=False)
    if served is not None:
        seen = replace(seen, served={"orders-0": frozenset(served)})
    asked = shard_service(seen.cluster, 0, type_="NodePort", ports=tuple(as_it_is(port) for port in wanted))
    return {port.name: (port.port, port.target, port.node_port) for port in step(asked, now, seen).ports}


def test_a_port_that_leads_to_another_pod_moves_at_once_and_alone():
    moved = replace(SHARD, target="valkey-0-1")
    now = {
        "sni-shard": (6380, "valkey-0-1", 30003),
        "np-0": (31200, "valkey-0-0", 31200),
        "np-1": (31300, "valkey-0-1", 31300),
    }
    assert targets((moved, NP_0, NP_1), SHARD, NP_0, NP_1) == now
    assert targets((moved,), SHARD, NP_0, NP_1) == now, "what goes as well goes afterwards"
    assert targets((moved, LB_1, NP_0, NP_1), SHARD, NP_0, NP_1) == now, "and so comes what comes as well"
    assert targets((SHARD, NP_0, NP_1), moved, NP_0, NP_1) == now | {"sni-shard": (6380, "valkey-0-0", 30003)}


def test_a_port_that_leads_to_another_pod_does_not_wait():
    moved = replace(SHARD, target="valkey-0-1")
    assert targets((moved, NP_0, NP_1), SHARD, NP_0, NP_1, served=("np-0",))["sni-shard"] == (6380, "valkey-0-1", 30003)


def test_a_port_that_lead_to_all_pods_that_are_selected_moves_to_one_the_same_way():
    everywhere, moved = replace(SHARD, target=6379), replace(SHARD, target="valkey-0-1")
    assert targets((moved, NP_0, NP_1), everywhere) == {"sni-shard": (6380, "valkey-0-1", 30003)}


def test_a_number_that_gets_another_name_is_another_port():
    moved = AllocatedPort("sni-shard", 6380, 30001, "valkey-0-1")
    assert targets((moved,), LB_0, LB_1) == {"lb-1": (6381, "valkey-0-1", 30002)}
    assert targets((moved,), LB_1) == {"sni-shard": (6380, "valkey-0-1", 30001)}


def test_somebody_elses_ports_in_the_slices_are_not_waited_for():
    now = service("orders-0", NP_0, NP_1)
    seen = observed({"type": "NodePort"}, now, answering=False)
    assert has_followed(now, replace(seen, served={"orders-0": frozenset({"np-0", "np-1", "mine"})}))


def test_a_new_port_waits_for_the_number_of_one_that_is_kept():
    new = ServicePort("sni-shard", 6380, 6379)
    held, free = ServicePort("lb-0", 6380, "valkey-0-0"), ServicePort("lb-1", 6381, "valkey-0-1")
    assert beside([new], [held, free]) == (held, free)
    assert beside([new], [free]) == (new, free)


def test_all_ports_of_a_new_service_are_there_at_once():
    seen = observed({"type": "NodePort"}, answering=False)
    wanted = shard_service(seen.cluster, 0, type_="NodePort", ports=(ServicePort("np-0", 6379, "valkey-0-0"),))
    assert step(wanted, None, seen) is wanted


def test_a_pod_that_does_not_run_is_not_waited_for():
    now = service("orders-0", NP_0, NP_1)
    seen = observed({"type": "NodePort"}, now, answering=False)
    seen = replace(seen, served={"orders-0": frozenset({"np-0"})})
    assert not has_followed(now, seen)
    gone = {index: pod for index, pod in seen.pods.items() if index != NodeIndex(0, 1)}
    assert has_followed(now, replace(seen, pods=gone))
    assert not has_followed(now, replace(seen, pods=gone, served={"orders-0": frozenset({"np-0", "lb-0"})}))
