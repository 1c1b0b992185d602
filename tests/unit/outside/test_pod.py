import json

import kubernetes_validate
import pytest

from unit.outside.given import orders
from valkey_operator.outside import pod
from valkey_operator.outside.pod import Ended, manifest, progress
from valkey_operator.outside.probe import Order

ORDER = Order(pairs=orders().pairs, tls=True, timeout=2.5)


def made():
    return manifest(orders(), ORDER, name="valkey-check-1", image="registry.example.com/operator:1")


def test_the_pod_is_one_that_kubernetes_takes_and_that_goes_by_itself():
    kubernetes_validate.validate(made(), "1.35", strict=True)
    assert made()["metadata"]["namespace"] == "shop"
    assert made()["spec"]["activeDeadlineSeconds"] == 300
    assert made()["spec"]["restartPolicy"] == "Never"


def test_the_pod_has_no_rights_and_no_privileges():
    spec = made()["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"] == {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
    assert spec["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_password_comes_from_the_secret_and_stands_nowhere_in_the_manifest():
    (container,) = made()["spec"]["containers"]
    assert container["command"] == ["valkey-operator", "probe"]
    by_name = {each["name"]: each for each in container["env"]}
    assert by_name["CHECK_PASSWORD"] == {
        "name": "CHECK_PASSWORD",
        "valueFrom": {"secretKeyRef": {"name": "orders-connection", "key": "password", "optional": False}},
    }
    assert by_name["CHECK_AUTHORITIES"]["valueFrom"]["secretKeyRef"]["optional"] is True


def test_the_pod_reads_the_order_that_it_was_given():
    assert pod.read(pod.written(ORDER)) == ORDER
    assert json.loads(pod.written(ORDER))["pairs"][0] == ["192.0.2.10", 31200]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, None),
        ({"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]}, None),
        ({"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}, None),
        ({"phase": "Succeeded"}, Ended()),
        (
            {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 2}}}]},
            Ended("its program ended with exit code 2"),
        ),
        (
            {"phase": "Failed", "message": "Pod was active longer than its deadline"},
            Ended("Pod was active longer than its deadline"),
        ),
        (
            {
                "phase": "Pending",
                "containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}}],
            },
            Ended("ErrImagePull: no such image"),
        ),
        (
            {
                "phase": "Pending",
                "containerStatuses": [
                    {"state": {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "x" not found'}}}
                ],
            },
            Ended('CreateContainerConfigError: secret "x" not found'),
        ),
        (
            {
                "phase": "Pending",
                "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3"}],
            },
            Ended("no Kubernetes node takes it: 0/3"),
        ),
    ],
)
def test_a_pod_is_awaited_until_it_has_ended_or_cannot_start(status, expected):
    assert progress(status) == expected
