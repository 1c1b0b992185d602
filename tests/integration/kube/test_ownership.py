"""Created once, applied ever after: what is ours, what is current, what an apply removes. On a real API server, with its defaults."""

from copy import deepcopy

import pytest

from valkey_operator.kube.errors import Conflict
from valkey_operator.kube.fields import adopted, is_current, owned, stamped
from valkey_operator.kube.kinds import CONFIG_MAP, POD_DISRUPTION_BUDGET, SECRET, SERVICE, STATEFUL_SET

MANAGER = "valkey-operator"

OWNER = {
    "apiVersion": "valkey.io/v1alpha1",
    "kind": "ValkeyCluster",
    "name": "my",
    "uid": "8d0f1c1e-66bc-41c1-9195-c93c3d423649",
    "controller": True,
    "blockOwnerDeletion": True,
}
RESOURCES = {"requests": {"cpu": "0.5", "memory": "1024Mi"}, "limits": {"cpu": 1, "memory": "2Gi"}}
TEMPLATE = {
    "metadata": {"labels": {"app": "x"}, "annotations": {"note": "n"}},
    "spec": {
        "securityContext": {"runAsUser": 999, "runAsNonRoot": True, "fsGroup": 999, "seccompProfile": {"type": "RuntimeDefault"}},
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 60,
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 100,
                        "podAffinityTerm": {
                            "topologyKey": "kubernetes.io/hostname",
                            "labelSelector": {"matchLabels": {"app": "x"}},
                        },
                    }
                ]
            }
        },
        "containers": [
            {
                "name": "server",
                "image": "valkey:9",
                "command": ["valkey-server", "/etc/valkey/valkey.conf"],
                "env": [
                    {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                    {"name": "EMPTY", "value": ""},
                ],
                "ports": [
                    {"name": "valkey-0-0", "containerPort": 6379},
                    {"name": "bus", "containerPort": 16379, "protocol": "TCP"},
                ],
                "resources": RESOURCES,
                "startupProbe": {"exec": {"command": ["true"]}, "periodSeconds": 1, "failureThreshold": 300},
                "readinessProbe": {"tcpSocket": {"port": "valkey-0-0"}, "periodSeconds": 5, "initialDelaySeconds": 0},
                "securityContext": {"readOnlyRootFilesystem": True, "privileged": False, "capabilities": {"drop": ["ALL"]}},
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data", "readOnly": False},
                    {"name": "conf", "mountPath": "/etc/valkey", "readOnly": True},
                ],
            },
            {"name": "sidecar", "image": "busybox", "resources": {}},
        ],
        "volumes": [
            {"name": "data", "emptyDir": {"sizeLimit": "1024Mi"}},
            {"name": "conf", "configMap": {"name": "x", "optional": True}},
            {"name": "tmp", "emptyDir": {}},
            {"name": "users", "secret": {"secretName": "x", "defaultMode": 288}},
        ],
    },
}
CLAIM = {
    "metadata": {"name": "claim"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}},
}
SPECS = {
    SERVICE: {
        "spec": {
            "type": "NodePort",
            "selector": {"app": "x"},
            "publishNotReadyAddresses": False,
            "externalTrafficPolicy": "Cluster",
            "ports": [
                {"name": "np-1", "port": 6380, "targetPort": "valkey-0-1", "appProtocol": "tcp"},
                {"name": "np-0", "port": 6379, "targetPort": "valkey-0-0", "appProtocol": "tcp", "protocol": "TCP"},
            ],
        }
    },
    CONFIG_MAP: {"data": {"valkey.conf": "port 6379\n", "empty": ""}},
    SECRET: {"type": "Opaque", "data": {"password": "c2VjcmV0"}},
    POD_DISRUPTION_BUDGET: {"spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "x"}}}},
    STATEFUL_SET: {
        "spec": {
            "replicas": 1,
            "serviceName": "x",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": "x"}},
            "template": TEMPLATE,
            "volumeClaimTemplates": [CLAIM],
        }
    },
}
KINDS = list(SPECS)


def wanted(kind, namespace, name="x"):
    metadata = {"name": name, "namespace": namespace, "labels": {"app": "x"}, "ownerReferences": [OWNER]}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **deepcopy(SPECS[kind])}


def of(live, body):
    return {**body, "metadata": {**body["metadata"], "uid": live["metadata"]["uid"]}}


def current(live, body):
    return is_current(owned(live, MANAGER), stamped(body))


def change(live, kind):
    """What somebody does with `kubectl edit` to something that we said."""
    if kind == SERVICE:
        live["spec"]["ports"][0]["appProtocol"] = "http"
    elif kind == CONFIG_MAP:
        live["data"]["valkey.conf"] = "port 7777\n"
    elif kind == SECRET:
        live["data"]["password"] = "b3RoZXI="
    elif kind == POD_DISRUPTION_BUDGET:
        live["spec"]["maxUnavailable"] = 2
    else:
        live["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"] = "3Gi"


@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_what_was_created_is_current_until_somebody_changes_it_and_again_when_that_is_repaired(
    kube, somebody, namespace, kind
):
    body = stamped(wanted(kind, namespace))
    live = await kube.create(kind, body)
    assert current(live, body)

    change(live, kind)
    live = await somebody.replace(kind, live)
    assert not current(live, body)

    live = await kube.apply(kind, of(live, body))
    assert current(live, body)

    del live["metadata"]["labels"]["app"]
    live = await somebody.replace(kind, live)
    assert not current(live, body)

    live = await kube.apply(kind, of(live, body))
    assert current(live, body)
    assert live["metadata"]["labels"] == {"app": "x"}


@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_what_others_add_is_left_alone_and_does_not_matter(kube, somebody, namespace, kind):
    body = stamped(wanted(kind, namespace))
    live = await kube.create(kind, body)
    live["metadata"]["labels"]["theirs"] = "1"
    live["metadata"]["annotations"]["theirs"] = "1"
    live = await somebody.replace(kind, live)
    assert current(live, body)
    changed = stamped({**wanted(kind, namespace), "metadata": {**wanted(kind, namespace)["metadata"], "labels": {"app": "y"}}})
    assert not current(live, changed)
    live = await kube.apply(kind, of(live, changed))
    assert live["metadata"]["labels"] == {"app": "y", "theirs": "1"}
    assert live["metadata"]["annotations"]["theirs"] == "1"
    assert current(live, changed)


@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_an_apply_of_the_same_body_writes_nothing(kube, namespace, kind):
    body = stamped(wanted(kind, namespace))
    live = await kube.create(kind, body)
    first = await kube.apply(kind, of(live, body))
    second = await kube.apply(kind, of(live, body))
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert {key: value for key, value in first.items() if key in ("spec", "data")} == {
        key: value for key, value in live.items() if key in ("spec", "data")
    }
    assert current(second, body)


@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_a_list_shows_the_same_as_the_object_itself(kube, namespace, kind):
    body = stamped(wanted(kind, namespace))
    await kube.create(kind, body)
    (live,) = await kube.list_all(kind, namespace)
    assert current(live, body)


async def test_a_port_whose_key_changes_replaces_the_old_one_and_keeps_its_node_port(kube, namespace):
    """The trap: after a POST the API server would keep port 6379 beside the new one."""
    body = wanted(SERVICE, namespace)
    body["spec"]["ports"] = [{"name": "np-0", "port": 6379, "targetPort": "valkey-0-0"}]
    live = await kube.create(SERVICE, stamped(body))
    (port,) = live["spec"]["ports"]
    number = port["nodePort"]

    body["spec"]["ports"] = [{"name": "np-0", "port": number, "nodePort": number, "targetPort": "valkey-0-0"}]
    live = await kube.apply(SERVICE, of(live, stamped(body)))
    assert live["spec"]["ports"] == [
        {"name": "np-0", "protocol": "TCP", "port": number, "targetPort": "valkey-0-0", "nodePort": number}
    ]
    assert current(live, body)
    entries = [(entry["manager"], entry["operation"]) for entry in live["metadata"]["managedFields"]]
    assert entries == [(MANAGER, "Apply")]

    body["spec"]["ports"] = [{"name": "np-0", "port": number, "targetPort": "valkey-0-0"}, {"name": "np-1", "port": 7000}]
    live = await kube.apply(SERVICE, of(live, stamped(body)))
    assert [(each["name"], each["port"]) for each in live["spec"]["ports"]] == [("np-0", number), ("np-1", 7000)]
    assert live["spec"]["ports"][0]["nodePort"] == number


async def test_without_that_cure_the_api_server_would_refuse_or_keep_both(kube, namespace):
    """Shows that the trap is real, so that the cure is not kept for nothing."""
    body = wanted(SERVICE, namespace)
    body["spec"]["ports"] = [{"name": "a", "port": 6379}]
    live = await kube.create(SERVICE, body)
    body["spec"]["ports"] = [{"name": "b", "port": 7000}]

    async def nothing(*_):
        return

    kube._adopt = nothing
    live = await kube.apply(SERVICE, of(live, body))
    assert [each["port"] for each in live["spec"]["ports"]] == [6379, 7000]


async def test_a_field_that_is_left_out_is_removed_though_we_created_it(kube, namespace):
    body = wanted(CONFIG_MAP, namespace)
    live = await kube.create(CONFIG_MAP, stamped(body))
    less = wanted(CONFIG_MAP, namespace)
    less["data"] = {"other": "1"}
    del less["metadata"]["labels"]
    assert not current(live, less)
    live = await kube.apply(CONFIG_MAP, of(live, stamped(less)))
    assert live["data"] == {"other": "1"}
    assert "labels" not in live["metadata"]
    assert current(live, less)


async def test_a_switch_that_somebody_turned_on_is_turned_off_again(kube, somebody, namespace):
    body = stamped(wanted(SERVICE, namespace))
    live = await kube.create(SERVICE, body)
    live["spec"]["publishNotReadyAddresses"] = True
    live = await somebody.replace(SERVICE, live)
    assert not current(live, body)
    live = await kube.apply(SERVICE, of(live, body))
    assert current(live, body)
    assert "publishNotReadyAddresses" not in live["spec"]


async def test_a_number_of_replicas_that_somebody_scales_from_zero_is_seen(kube, somebody, namespace):
    body = wanted(STATEFUL_SET, namespace)
    body["spec"]["replicas"] = 0
    live = await kube.create(STATEFUL_SET, stamped(body))
    assert current(live, body)
    live["spec"]["replicas"] = 3
    live = await somebody.replace(STATEFUL_SET, live)
    assert not current(live, body)


async def test_somebody_who_writes_while_fields_are_adopted_is_not_overwritten(kube, somebody, namespace):
    body = wanted(CONFIG_MAP, namespace)
    live = await kube.create(CONFIG_MAP, body)
    get, left = kube.get, [1, 2]

    async def overtaken(kind, name, where=None):
        seen = await get(kind, name, where)
        if left:
            await somebody.replace(kind, {**seen, "data": {**seen["data"], f"theirs-{left.pop()}": "1"}})
        return seen

    kube.get = overtaken
    body["data"] = {"ours": "1"}
    live = await kube.apply(CONFIG_MAP, of(live, body))
    assert live["data"] == {"ours": "1", "theirs-1": "1", "theirs-2": "1"}
    assert adopted(live, MANAGER) is None


async def test_somebody_who_never_stops_writing_ends_in_a_conflict(kube, somebody, namespace):
    body = wanted(CONFIG_MAP, namespace)
    live = await kube.create(CONFIG_MAP, body)
    get = kube.get

    async def overtaken(kind, name, where=None):
        seen = await get(kind, name, where)
        number = int(seen["data"].get("theirs", "0"))
        await somebody.replace(kind, {**seen, "data": {**seen["data"], "theirs": str(number + 1)}})
        return seen

    kube.get = overtaken
    with pytest.raises(Conflict):
        await kube.apply(CONFIG_MAP, of(live, body))


async def test_a_status_is_ours_field_by_field_and_leaves_the_rest_of_the_object_alone(kube, somebody, things, namespace):
    thing = {"apiVersion": things.api_version, "kind": things.kind, "metadata": {"name": "t", "namespace": namespace}}
    made = await somebody.create(things, {**thing, "spec": {"size": 3}})
    live = await kube.apply(things, {**of(made, thing), "status": {"phase": "Ready", "note": "n"}}, subresource="status")
    assert live["status"] == {"phase": "Ready", "note": "n"}
    assert live["metadata"]["generation"] == 1
    live = await kube.apply(things, {**of(made, thing), "status": {"phase": "Gone"}}, subresource="status")
    assert live["status"] == {"phase": "Gone"}
    assert live["spec"] == {"size": 3}
    assert owned(live, MANAGER, subresource="status")["status"] == {"phase": "Gone"}
    assert "spec" not in owned(live, MANAGER)


async def test_a_custom_kind_is_adopted_and_current_like_the_others(kube, somebody, things, namespace):
    thing = {"apiVersion": things.api_version, "kind": things.kind, "metadata": {"name": "t", "namespace": namespace}}
    body = stamped({**thing, "spec": {"size": 3, "color": "red"}})
    live = await kube.create(things, body)
    assert current(live, body)
    live["spec"]["size"] = 4
    live = await somebody.replace(things, live)
    assert not current(live, body)
    less = stamped({**thing, "spec": {"size": 3}})
    live = await kube.apply(things, of(live, less))
    assert live["spec"] == {"size": 3}
    assert current(live, less)
