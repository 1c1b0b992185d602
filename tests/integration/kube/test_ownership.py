"""Created once, applied ever after: what is ours, what is current, what an apply removes. On a real API server, with its defaults."""

import asyncio
from copy import deepcopy

import pytest

from valkey_operator.kube.errors import Conflict
from valkey_operator.kube.fields import adopted, is_current, owned, stamped
from valkey_operator.kube.kinds import CONFIG_MAP, POD_DISRUPTION_BUDGET, SECRET, SERVICE, STATEFUL_SET

MANAGER = "valkey-operator"

RESOURCES = {"requests": {"cpu": "0.5", "memory": "1024Mi"}, "limits": {"cpu": 1, "memory": "2Gi"}}
TEMPLATE = {
    "metadata": {"labels": {"app": "x"}, "annotations": {"note": "n"}},
    "spec": {
        "securityContext": {"runAsUser": 999, "runAsNonRoot": True, "fsGroup": 999, "seccompProfile": {"type": "RuntimeDefault"}},
        "automountServiceAccountToken": False,
        "nodeSelector": {"engine.test/nowhere": "1"},
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


@pytest.fixture
async def wanted(kube, namespace):
    """A body of a kind with an owner, as the operator would write it."""
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner", "namespace": namespace}}
    uid = (await kube.create(CONFIG_MAP, config_map))["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "controller": True, "blockOwnerDeletion": True}

    def body(kind):
        metadata = {"name": "x", "namespace": namespace, "labels": {"app": "x"}, "ownerReferences": [owner]}
        return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **deepcopy(SPECS[kind])}

    return body


@pytest.fixture
def edited(somebody):
    """Changes an object as `kubectl edit` does, again if a controller was quicker; the object then."""

    async def edit(kind, live, change):
        while True:
            change(live)
            try:
                return await somebody.replace(kind, live)
            except Conflict:
                live = await somebody.get(kind, live["metadata"]["name"], live["metadata"]["namespace"])

    return edit


def of(live, body):
    return {**body, "metadata": {**body["metadata"], "uid": live["metadata"]["uid"]}}


def current(live, body):
    return is_current(owned(live, MANAGER), stamped(body))


def change(live):
    """Somebody changes something that we said."""
    match live["kind"]:
        case "Service":
            live["spec"]["ports"][0]["appProtocol"] = "http"
        case "ConfigMap":
            live["data"]["valkey.conf"] = "port 7777\n"
        case "Secret":
            live["data"]["password"] = "b3RoZXI="
        case "PodDisruptionBudget":
            live["spec"]["maxUnavailable"] = 2
        case "StatefulSet":
            live["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"] = "3Gi"


def unlabel(live):
    """Somebody takes our label away."""
    live["metadata"]["labels"].pop("app", None)


def decorate(live):
    """Somebody adds what is theirs."""
    live["metadata"]["labels"]["theirs"] = "1"
    live["metadata"]["annotations"]["theirs"] = "1"


@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_what_was_created_is_current_until_somebody_changes_it_and_again_when_that_is_repaired(kube, wanted, edited, kind):
    body = stamped(wanted(kind))
    live = await kube.create(kind, body)
    assert current(live, body)
    for mischief in (change, unlabel):
        live = await edited(kind, live, mischief)
        assert not current(live, body)
        live = await kube.apply(kind, of(live, body))
        assert current(live, body)
    assert live["metadata"]["labels"] == {"app": "x"}


@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_what_others_add_is_left_alone_and_does_not_matter(kube, wanted, edited, kind):
    body = stamped(wanted(kind))
    live = await edited(kind, await kube.create(kind, body), decorate)
    assert current(live, body)
    other = wanted(kind)
    other["metadata"]["labels"] = {"app": "y"}
    other = stamped(other)
    assert not current(live, other)
    live = await kube.apply(kind, of(live, other))
    assert live["metadata"]["labels"] == {"app": "y", "theirs": "1"}
    assert live["metadata"]["annotations"]["theirs"] == "1"
    assert current(live, other)


@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_an_apply_of_the_same_body_changes_nothing(kube, wanted, kind):
    body = stamped(wanted(kind))
    made = await kube.create(kind, body)
    first = await kube.apply(kind, of(made, body))
    await asyncio.sleep(1.1)  # a write would show in the time, which is in seconds
    second = await kube.apply(kind, of(made, body))

    def ours(live):
        entry = next(entry for entry in live["metadata"]["managedFields"] if entry["manager"] == MANAGER)
        return entry, live["metadata"].get("generation"), live.get("spec"), live.get("data")

    assert ours(second) == ours(first)
    assert (first.get("spec"), first.get("data")) == (made.get("spec"), made.get("data"))
    assert current(second, body)


@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_a_list_shows_the_same_as_the_object_itself(kube, namespace, wanted, kind):
    body = stamped(wanted(kind))
    await kube.create(kind, body)
    (live,) = await kube.list_all(kind, namespace, field_selector="metadata.name=x")
    assert current(live, body)


async def test_a_port_whose_key_changes_replaces_the_old_one_and_keeps_its_node_port(kube, wanted):
    """The trap: after a POST the API server would keep port 6379 beside the new one."""
    body = wanted(SERVICE)
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
    assert [entry["operation"] for entry in live["metadata"]["managedFields"] if entry["manager"] == MANAGER] == ["Apply"]

    body["spec"]["ports"] = [{"name": "np-0", "port": number, "targetPort": "valkey-0-0"}, {"name": "np-1", "port": 7000}]
    live = await kube.apply(SERVICE, of(live, stamped(body)))
    assert [(each["name"], each["port"]) for each in live["spec"]["ports"]] == [("np-0", number), ("np-1", 7000)]
    assert live["spec"]["ports"][0]["nodePort"] == number


async def test_without_that_cure_the_api_server_would_refuse_or_keep_both(kube, wanted):
    """Shows that the trap is real, so that the cure is not kept for nothing."""
    body = wanted(SERVICE)
    body["spec"]["ports"] = [{"name": "a", "port": 6379}]
    live = await kube.create(SERVICE, body)
    body["spec"]["ports"] = [{"name": "b", "port": 7000}]

    async def nothing(*_):
        return

    kube._adopt = nothing
    live = await kube.apply(SERVICE, of(live, body))
    assert [each["port"] for each in live["spec"]["ports"]] == [6379, 7000]


async def test_a_field_that_is_left_out_is_removed_though_we_created_it(kube, wanted):
    body = wanted(CONFIG_MAP)
    live = await kube.create(CONFIG_MAP, stamped(body))
    less = wanted(CONFIG_MAP)
    less["data"] = {"other": "1"}
    del less["metadata"]["labels"]
    assert not current(live, less)
    live = await kube.apply(CONFIG_MAP, of(live, stamped(less)))
    assert live["data"] == {"other": "1"}
    assert "labels" not in live["metadata"]
    assert current(live, less)


async def test_a_switch_that_somebody_turned_on_is_turned_off_again(kube, wanted, edited):
    body = stamped(wanted(SERVICE))
    live = await kube.create(SERVICE, body)
    live = await edited(SERVICE, live, lambda live: live["spec"].update(publishNotReadyAddresses=True))
    assert not current(live, body)
    live = await kube.apply(SERVICE, of(live, body))
    assert current(live, body)
    assert "publishNotReadyAddresses" not in live["spec"]


async def test_a_number_of_replicas_that_somebody_scales_from_zero_is_seen(kube, wanted, edited):
    body = wanted(STATEFUL_SET)
    body["spec"]["replicas"] = 0
    live = await kube.create(STATEFUL_SET, stamped(body))
    assert current(live, body)
    live = await edited(STATEFUL_SET, live, lambda live: live["spec"].update(replicas=3))
    assert not current(live, body)


async def test_somebody_who_writes_while_fields_are_adopted_is_not_overwritten(kube, somebody, wanted):
    body = wanted(CONFIG_MAP)
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


async def test_somebody_who_never_stops_writing_ends_in_a_conflict(kube, somebody, wanted):
    body = wanted(CONFIG_MAP)
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
