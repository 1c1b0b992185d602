from datetime import UTC, datetime

import pytest

from valkey_operator.controllers.pod_views import pod
from valkey_operator.core.observed import Pod, Trouble

LAST_WORDS = "*** FATAL CONFIG FILE ERROR (Version 9.1.2) ***\nReading the configuration file, at line 1\n>>> 'no-such-key 1'\nBad directive or wrong number of arguments\n"


def container(name="server", *, last=None, **state):
    return {"name": name, "state": state, "lastState": {"terminated": last} if last else {}}


def view(*, labels=None, metadata=None, **status):
    obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "valkey-orders-1-0-0", "namespace": "shop", "uid": "u1", "labels": labels or {}, **(metadata or {})},
        "spec": {"nodeName": "node-2"},
        "status": status,
    }
    return pod(obj).view


def test_a_pod_that_serves():
    labels = {"valkey.io/role": "primary", "valkey.io/serving": "true", "controller-revision-hash": "valkey-orders-1-0-7c"}
    workload = {"kind": "StatefulSet", "name": "valkey-orders-1-0", "uid": "w1", "controller": True}
    assert view(
        labels=labels,
        metadata={"ownerReferences": [workload]},
        phase="Running",
        podIP="10.245.2.4",
        hostIP="192.0.2.12",
        hostIPs=[{"ip": "192.0.2.12"}, {"ip": "2001:db8::12"}],
        conditions=[{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}],
        containerStatuses=[container(running={"startedAt": "2026-03-01T10:00:00Z"})],
    ) == Pod(
        name="valkey-orders-1-0-0",
        uid="u1",
        ip="10.245.2.4",
        machine="node-2",
        host_ips=("192.0.2.12", "2001:db8::12"),
        ready=True,
        running=True,
        started=datetime(2026, 3, 1, 10, 0, tzinfo=UTC),
        deleting=False,
        role="primary",
        serving=True,
        revision="valkey-orders-1-0-7c",
        trouble=None,
        owner_uid="w1",
    )


def test_a_pod_that_was_just_made_has_nothing_yet_and_no_trouble():
    new = view()
    assert (new.ip, new.host_ips, new.ready, new.running, new.started, new.role, new.serving) == (
        None,
        (),
        False,
        False,
        None,
        None,
        False,
    )
    assert new.trouble is None


def test_a_container_that_is_being_created_is_no_trouble():
    assert view(phase="Pending", containerStatuses=[container(waiting={"reason": "ContainerCreating"})]).trouble is None


def test_the_address_of_the_machine_is_known_before_kubernetes_tells_all():
    assert view(hostIP="192.0.2.12").host_ips == ("192.0.2.12",)


def test_a_pod_that_is_over_has_no_address():
    assert view(phase="Failed", podIP="10.245.2.4").ip is None


def test_a_pod_that_is_being_deleted_says_so():
    assert view(metadata={"deletionTimestamp": "2026-03-01T10:00:00Z"}).deleting


def test_a_pod_that_fits_nowhere_says_why():
    message = "0/3 nodes are available: 3 Insufficient memory."
    conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]
    assert view(phase="Pending", conditions=conditions).trouble == Trouble("Unschedulable", message)


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError", "InvalidImageName"])
def test_a_container_that_cannot_start_says_why(reason):
    status = container(waiting={"reason": reason, "message": "no such thing"})
    assert view(phase="Pending", containerStatuses=[status]).trouble == Trouble(reason, "no such thing")


def test_a_server_that_stops_at_its_configuration_is_quoted():
    status = container(
        waiting={"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container"},
        last={"exitCode": 1, "reason": "Error", "message": LAST_WORDS},
    )
    trouble = view(phase="Running", containerStatuses=[status]).trouble
    assert trouble.reason == "CrashLoopBackOff"
    assert trouble.message.endswith(">>> 'no-such-key 1'\nBad directive or wrong number of arguments")


def test_a_crash_without_last_words_is_told_in_kubernetes_words():
    status = container(
        waiting={"reason": "CrashLoopBackOff", "message": "back-off 10s"}, last={"exitCode": 137, "reason": "OOMKilled"}
    )
    assert view(containerStatuses=[status]).trouble == Trouble("CrashLoopBackOff", "back-off 10s")


def test_a_server_that_has_just_stopped_is_quoted_at_once():
    status = container(terminated={"exitCode": 1, "reason": "Error", "message": LAST_WORDS})
    assert "no-such-key" in view(containerStatuses=[status]).trouble.message


def test_a_server_that_ended_in_peace_is_no_trouble():
    assert view(containerStatuses=[container(terminated={"exitCode": 0, "reason": "Completed"})]).trouble is None


@pytest.mark.parametrize("reason", ["Unknown", "ContainerStatusUnknown"])
def test_a_server_that_ended_with_its_machine_is_started_again_and_no_trouble(reason):
    ended = container(terminated={"exitCode": 255, "reason": reason, "message": "1:M 01 Mar 2026 10:00:00.000 * Ready"})
    assert view(containerStatuses=[ended]).trouble is None


def test_the_trouble_of_another_container_names_it():
    statuses = [
        container(running={"startedAt": "2026-03-01T10:00:00Z"}),
        container("sidecar", waiting={"reason": "ImagePullBackOff", "message": "not found"}),
    ]
    found = view(containerStatuses=statuses)
    assert found.running
    assert found.trouble == Trouble("ImagePullBackOff", "container sidecar: not found")


def test_an_evicted_pod_says_why():
    trouble = view(phase="Failed", reason="Evicted", message="The node was low on resource: memory.").trouble
    assert trouble == Trouble("Evicted", "The node was low on resource: memory.")
