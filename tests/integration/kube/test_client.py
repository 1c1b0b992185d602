"""Requests and their failures, on a real API server."""

import asyncio

import pytest

from valkey_operator.kube.client import Kube
from valkey_operator.kube.errors import (
    AlreadyExists,
    Conflict,
    Gone,
    Invalid,
    Misconfigured,
    NotFound,
    NotServed,
    Unavailable,
)
from valkey_operator.kube.kinds import CONFIG_MAP, LEASE, SERVICE, Kind
from valkey_operator.kube.observer import Observer

OTHER_UID = "f47ac10b-58cc-4372-a567-0e02b2c3d479"


def config_map(name, namespace, **data):
    metadata = {"name": name, "namespace": namespace, "labels": {"made": "here"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def of(made, body):
    """The body, for the object that was made."""
    return {**body, "metadata": {**body["metadata"], "uid": made["metadata"]["uid"]}}


async def test_an_object_of_that_name_is_never_taken_over(kube, somebody, namespace):
    theirs = await somebody.create(CONFIG_MAP, config_map("x", namespace, a="theirs"))
    with pytest.raises(AlreadyExists, match='configmaps "x" already exists'):
        await kube.create(CONFIG_MAP, config_map("x", namespace, a="ours"))
    with pytest.raises(ValueError, match="the body needs metadata"):
        await kube.apply(CONFIG_MAP, config_map("x", namespace, a="ours"))
    assert await kube.get(CONFIG_MAP, "x", namespace) == theirs


async def test_an_apply_or_delete_for_an_object_whose_name_another_took_is_a_conflict(kube, namespace):
    made = await kube.create(CONFIG_MAP, config_map("x", namespace, a="1"))
    await kube.delete(CONFIG_MAP, "x", namespace, uid=made["metadata"]["uid"])
    second = await kube.create(CONFIG_MAP, config_map("x", namespace, a="2"))
    with pytest.raises(Conflict):
        await kube.apply(CONFIG_MAP, of(made, config_map("x", namespace, a="3")))
    with pytest.raises(Conflict, match="UID"):
        await kube.delete(CONFIG_MAP, "x", namespace, uid=made["metadata"]["uid"])
    assert await kube.get(CONFIG_MAP, "x", namespace) == second


async def test_labels_come_back_beside_those_of_others_and_to_that_very_object(kube, namespace):
    made = await kube.create(CONFIG_MAP, config_map("x", namespace, a="1"))
    await kube.label(CONFIG_MAP, "x", namespace, {"again": "there"}, uid=made["metadata"]["uid"])
    labelled = await kube.get(CONFIG_MAP, "x", namespace)
    assert (labelled["metadata"]["labels"], labelled["data"]) == ({"made": "here", "again": "there"}, {"a": "1"})
    with pytest.raises(Conflict):
        await kube.label(CONFIG_MAP, "x", namespace, {"again": "here"}, uid="another")
    with pytest.raises(NotFound):
        await kube.label(CONFIG_MAP, "y", namespace, {"again": "here"}, uid="another")


async def test_an_apply_does_not_bring_back_what_has_gone(kube, namespace):
    made = await kube.create(CONFIG_MAP, config_map("x", namespace, a="1"))
    await kube.delete(CONFIG_MAP, "x", namespace)
    with pytest.raises(Conflict, match="no existing object was found"):
        await kube.apply(CONFIG_MAP, of(made, config_map("x", namespace, a="1")))
    with pytest.raises(NotFound):
        await kube.get(CONFIG_MAP, "x", namespace)


async def test_a_status_for_another_object_is_a_conflict_and_for_none_too(kube, things, namespace):
    thing = {"apiVersion": "engine.test/v1", "kind": "Thing", "metadata": {"name": "t", "namespace": namespace}}
    made = await kube.create(things, {**thing, "spec": {"size": 1}})
    with pytest.raises(Conflict):
        await kube.apply(things, {**of({"metadata": {"uid": OTHER_UID}}, thing), "status": {"phase": "x"}}, subresource="status")
    await kube.delete(things, "t", namespace)
    with pytest.raises(NotFound):
        await kube.apply(things, {**of(made, thing), "status": {"phase": "x"}}, subresource="status")


async def test_what_is_invalid_names_its_fields(kube, namespace):
    ports = [{"name": "a", "port": 99999}, {"name": "b", "port": 1, "protocol": "XYZ"}]
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x", "namespace": namespace}, "spec": {"ports": ports}}
    with pytest.raises(Invalid) as caught:
        await kube.create(SERVICE, body)
    assert [cause.field for cause in caught.value.causes] == [
        "spec.ports[0].port",
        "spec.ports[0].targetPort",
        "spec.ports[1].protocol",
    ]
    assert caught.value.message.startswith('Service "x" is invalid: [spec.ports[0].port: Invalid value: 99999')


async def test_a_missing_object_a_missing_namespace_and_a_missing_kind_are_told_apart(kube, namespace):
    with pytest.raises(NotFound, match='configmaps "nothing" not found'):
        await kube.get(CONFIG_MAP, "nothing", namespace)
    with pytest.raises(NotFound, match='namespaces "nowhere" not found'):
        await kube.create(CONFIG_MAP, config_map("x", "nowhere"))
    for kind in (Kind("unheard.of/v1", "Thing", "things"), Kind("v1", "Thing", "things")):
        with pytest.raises(NotServed):
            await kube.get(kind, "x", namespace)
        with pytest.raises(NotServed):
            await kube.list_all(kind, namespace)


async def test_a_replacement_of_an_older_version_is_a_conflict(kube, somebody, namespace):
    made = await kube.create(CONFIG_MAP, config_map("x", namespace, a="1"))
    await somebody.replace(CONFIG_MAP, {**made, "data": {"a": "2"}})
    with pytest.raises(Conflict, match="the object has been modified"):
        await kube.replace(CONFIG_MAP, {**made, "data": {"a": "3"}})


async def test_a_field_of_another_manager_is_taken_over_only_by_force(kube, somebody, namespace):
    made = await kube.create(CONFIG_MAP, config_map("x", namespace, a="1"))
    await somebody.replace(CONFIG_MAP, {**made, "data": {"a": "2"}})
    with pytest.raises(Conflict, match="kubectl-edit"):
        await kube.apply(CONFIG_MAP, of(made, config_map("x", namespace, a="3")), force=False)
    taken = await kube.apply(CONFIG_MAP, of(made, config_map("x", namespace, a="3")))
    assert taken["data"] == {"a": "3"}


async def test_a_list_comes_in_pages_of_one_version_whose_items_know_their_kind(kube, namespace):
    for number in range(5):
        body = config_map(f"x{number}", namespace)
        await kube.create(CONFIG_MAP, {**body, "metadata": {**body["metadata"], "labels": {"even": str(number % 2 == 0)}}})
    pages = [page async for page in kube.list_pages(CONFIG_MAP, namespace, page=2, label_selector="even")]
    assert [len(items) for items, _ in pages] == [2, 2, 1]
    assert len({version for _, version in pages}) == 1
    assert {(item["apiVersion"], item["kind"]) for items, _ in pages for item in items} == {("v1", "ConfigMap")}
    chosen = await kube.list_all(CONFIG_MAP, namespace, label_selector="even=True", field_selector="metadata.name!=x0")
    assert [item["metadata"]["name"] for item in chosen] == ["x2", "x4"]


async def test_a_watch_tells_what_came_after_its_version_and_ends_in_time(kube, namespace):
    made = await kube.create(CONFIG_MAP, config_map("x", namespace, a="1"))
    changed = await kube.apply(CONFIG_MAP, of(made, config_map("x", namespace, a="2")))
    await kube.delete(CONFIG_MAP, "x", namespace)
    events = [
        (what, item["data"]["a"])
        async for what, item in kube.watch(
            CONFIG_MAP,
            namespace,
            resource_version=changed["metadata"]["resourceVersion"],
            label_selector="made=here",
            server_timeout=1,
        )
    ]
    assert events == [("DELETED", "2")]


async def test_a_watch_from_a_version_that_is_too_old_is_gone(kube, things, namespace):
    with pytest.raises(Gone, match="too old resource version"):
        async for _ in kube.watch(things, namespace, resource_version="1"):
            pass


async def test_a_watch_that_hears_nothing_gives_up(kube, namespace):
    version = [version async for _, version in kube.list_pages(CONFIG_MAP, namespace)][-1]
    with pytest.raises(Unavailable, match=r"nothing heard for 0\.3 s") as caught:
        async for _ in kube.watch(CONFIG_MAP, namespace, resource_version=version, label_selector="made=here", idle_timeout=0.3):
            pass
    assert caught.value.reason == "Idle"


async def test_an_api_server_that_does_not_answer_is_given_up_in_time(door, namespace):
    shut = await door()
    async with Kube(kubeconfig=shut.kubeconfig, timeout=0.5) as kube:
        await kube.list_all(CONFIG_MAP, namespace)
        shut.stall()
        begun = asyncio.get_running_loop().time()
        with pytest.raises(Unavailable, match="list configmaps: the API server did not answer in time"):
            await kube.list_all(CONFIG_MAP, namespace)
        assert asyncio.get_running_loop().time() - begun < 2


async def test_connections_that_break_or_are_refused_are_unavailability_and_then_it_works_again(door, namespace):
    shut = await door()
    async with Kube(kubeconfig=shut.kubeconfig) as kube:
        await kube.list_all(CONFIG_MAP, namespace)
        shut.refuses = True
        shut.cut()
        for _ in range(2):
            with pytest.raises(Unavailable, match="list configmaps"):
                await kube.list_all(CONFIG_MAP, namespace)
        shut.refuses = False
        assert isinstance(await kube.list_all(CONFIG_MAP, namespace), list)


async def test_a_crowd_of_requests_waits_its_turn_on_few_connections(door, namespace):
    through = await door()
    async with Kube(kubeconfig=through.kubeconfig) as kube:
        await asyncio.gather(*(kube.create(CONFIG_MAP, config_map(f"x{number}", namespace)) for number in range(120)))
        assert len(await kube.list_all(CONFIG_MAP, namespace, label_selector="made=here")) == 120
    assert len(through._pairs) <= 16


async def test_a_crowd_does_not_hold_up_the_lease(kube, namespace):
    for _ in range(16):
        await kube._turns.acquire()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await kube.list_all(CONFIG_MAP, namespace)
    with pytest.raises(NotFound):
        async with asyncio.timeout(5):
            await kube.get(LEASE, "x", namespace)
    for _ in range(16):
        kube._turns.release()


async def test_requests_that_are_cancelled_leave_the_client_usable(kube, namespace):
    """More of them than the pool has connections."""
    for _ in range(30):
        tasks = [asyncio.create_task(kube.list_all(CONFIG_MAP, namespace)) for _ in range(10)]
        await asyncio.sleep(0.001)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    async with asyncio.timeout(5):
        assert isinstance(await kube.list_all(CONFIG_MAP, namespace), list)


async def test_writes_and_answers_are_counted(api_server, namespace):
    class Counts(Observer):
        def __init__(self):
            self.writes, self.codes = [], []

        def wrote(self, kind, verb):
            self.writes.append((kind.kind, verb))

        def answered(self, kind, verb, code, seconds):
            assert 0 < seconds < 10
            self.codes.append((kind.kind, verb, code))

    counts = Counts()
    async with Kube(kubeconfig=api_server, observer=counts) as kube:
        made = await kube.create(CONFIG_MAP, config_map("x", namespace, a="1"))
        await kube.apply(CONFIG_MAP, of(made, config_map("x", namespace, a="2")))
        with pytest.raises(NotFound):
            await kube.get(CONFIG_MAP, "y", namespace)
        await kube.delete(CONFIG_MAP, "x", namespace)
    assert counts.writes == [("ConfigMap", "create"), ("ConfigMap", "patch"), ("ConfigMap", "apply"), ("ConfigMap", "delete")]
    assert counts.codes[0] == ("ConfigMap", "post", 201)
    assert counts.codes[-2:] == [("ConfigMap", "get", 404), ("ConfigMap", "delete", 200)]


@pytest.mark.parametrize("text", ["", "{}", "not: [yaml", "{apiVersion: v1, clusters: [], contexts: [], current-context: x}"])
def test_a_kubeconfig_that_is_none_says_so(tmp_path, text):
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(Misconfigured, match="no usable configuration for Kubernetes"):
        Kube(kubeconfig=path)
    with pytest.raises(Misconfigured, match="no usable configuration for Kubernetes"):
        Kube(kubeconfig=tmp_path / "missing")
