"""A small operator on a real API server: one ConfigMap per Secret, kept as it should be."""

import asyncio
import base64
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from valkey_operator.kube.client import Kube
from valkey_operator.kube.controller import Controller, Result, Source
from valkey_operator.kube.errors import KubeError
from valkey_operator.kube.events import Recorder
from valkey_operator.kube.fields import is_current, owned, stamped
from valkey_operator.kube.kinds import CONFIG_MAP, EVENT, SECRET, Key
from valkey_operator.kube.observer import Observer
from valkey_operator.kube.reflector import Reflector


@dataclass(frozen=True, slots=True)
class Wish:
    key: Key
    uid: str
    text: str


@dataclass(frozen=True, slots=True)
class Child:
    key: Key
    uid: str
    owned: Any


class Counts(Observer):
    def __init__(self):
        self.writes, self.outcomes = [], []

    def wrote(self, kind, verb):
        self.writes.append((kind.kind, verb))

    def reconciled(self, key, _seconds, outcome):
        self.outcomes.append((key.name, outcome))


def key_of(item):
    return Key(item["metadata"]["namespace"], item["metadata"]["name"])


class Operator:
    def __init__(self, kube, namespace, counts, **given):
        self.kube, self.errors = kube, []
        self.wishes = Reflector(
            kube,
            SECRET,
            lambda item: Wish(key_of(item), item["metadata"]["uid"], base64.b64decode(item["data"]["text"]).decode()),
            namespace=namespace,
            label_selector="wish",
        )
        self.children = Reflector(
            kube,
            CONFIG_MAP,
            lambda item: Child(key_of(item), item["metadata"]["uid"], owned(item, "valkey-operator")),
            namespace=namespace,
            label_selector="child",
        )
        sources = [Source(self.wishes, lambda wish: (wish.key,)), Source(self.children, lambda child: (child.key,))]
        self.controller = Controller(
            self.reconcile, sources=sources, observer=counts, on_error=lambda _, error: self.errors.append(error), **given
        )

    async def reconcile(self, key, *, quiet):
        assert not quiet
        wish, child = self.wishes.store.get(*key), self.children.store.get(*key)
        if wish is None:
            if child is not None:
                await self.kube.delete(CONFIG_MAP, key.name, key.namespace, uid=child.uid)
            return Result.done()
        metadata = {"name": key.name, "namespace": key.namespace, "labels": {"child": "1"}}
        body = stamped({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {wish.text: "1"}})
        if child is None:
            await self.kube.create(CONFIG_MAP, body)
        elif not is_current(child.owned, body):
            await self.kube.apply(CONFIG_MAP, {**body, "metadata": {**body["metadata"], "uid": child.uid}})
        return Result.done()


def wish(name, namespace, text):
    metadata = {"name": name, "namespace": namespace, "labels": {"wish": "1"}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"text": base64.b64encode(text.encode()).decode()}}


@asynccontextmanager
async def operating(kubeconfig, namespace, running, **given):
    counts = Counts()
    async with Kube(kubeconfig=kubeconfig, observer=counts, timeout=2) as client:
        operator = Operator(client, namespace, counts, **given)
        async with running(operator.controller.run()):
            await asyncio.wait_for(operator.controller.ready.wait(), 10)
            yield operator, counts


@pytest.fixture
def becomes(kube, namespace, eventually):
    """Waits until the operator's ConfigMaps have exactly these keys."""

    async def until(truth, *, seconds=20):
        async def is_so():
            items = await kube.list_all(CONFIG_MAP, namespace, label_selector="child")
            return {item["metadata"]["name"]: set(item["data"]) for item in items} == truth

        await eventually(is_so, seconds=seconds)

    return until


async def test_wishes_come_true_follow_changes_and_at_rest_nothing_is_written(
    *, kube, somebody, api_server, namespace, running, becomes, eventually
):
    for number in range(10):
        await kube.create(SECRET, wish(f"w{number}", namespace, f"t{number}"))
    async with operating(api_server, namespace, running) as (operator, counts):
        await becomes({f"w{number}": {f"t{number}"} for number in range(10)})
        live = await kube.get(SECRET, "w1", namespace)
        await kube.replace(SECRET, {**live, "data": wish("w1", namespace, "changed")["data"]})
        await kube.delete(SECRET, "w2", namespace)
        theirs = await kube.get(CONFIG_MAP, "w3", namespace)
        await somebody.replace(CONFIG_MAP, {**theirs, "data": {"t3": "broken"}})
        await kube.delete(CONFIG_MAP, "w4", namespace)
        truth = {f"w{number}": {f"t{number}"} for number in range(10) if number != 2}
        await becomes({**truth, "w1": {"changed"}})

        async def is_repaired():
            return (await kube.get(CONFIG_MAP, "w3", namespace))["data"] == {"t3": "1"}

        await eventually(is_repaired)
        await asyncio.sleep(0.5)
        writes, outcomes = len(counts.writes), len(counts.outcomes)
        await asyncio.sleep(1.5)
        assert (len(counts.writes), len(counts.outcomes)) == (writes, outcomes)
        assert len(operator.controller.queue) == 0


async def test_a_restart_writes_nothing(kube, api_server, namespace, running, becomes):
    await kube.create(SECRET, wish("w", namespace, "t"))
    async with operating(api_server, namespace, running):
        await becomes({"w": {"t"}})
    async with operating(api_server, namespace, running) as (_, counts):
        await asyncio.sleep(1)
        assert counts.outcomes == [("w", "done")]
        assert counts.writes == []


async def test_through_a_bad_connection_wishes_come_true_all_the_same(kube, door, namespace, running, becomes):
    shut = await door()
    async with operating(shut.kubeconfig, namespace, running) as (operator, _):
        for round_ in range(4):
            for number in range(5):
                if round_ == 0:
                    await kube.create(SECRET, wish(f"w{number}", namespace, "0"))
                else:
                    live = await kube.get(SECRET, f"w{number}", namespace)
                    await kube.replace(SECRET, {**live, "data": wish("", "", str(round_))["data"]})
                await asyncio.sleep(0.01)
                shut.cut()
            shut.refuses = round_ % 2 == 0
            await asyncio.sleep(0.3)
            shut.refuses = False
        await becomes({f"w{number}": {"3"} for number in range(5)}, seconds=60)
        assert all(isinstance(error, KubeError) for error in operator.errors)


async def test_somebody_who_makes_the_object_first_is_not_overwritten_and_hurts_nobody_else(
    *, kube, somebody, api_server, namespace, running, becomes
):
    metadata = {"name": "taken", "namespace": namespace}
    await somebody.create(CONFIG_MAP, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"theirs": "1"}})
    await kube.create(SECRET, wish("taken", namespace, "ours"))
    await kube.create(SECRET, wish("free", namespace, "ours"))
    async with operating(api_server, namespace, running) as (_, counts):
        await becomes({"free": {"ours"}})
        await asyncio.sleep(1)
        assert (await kube.get(CONFIG_MAP, "taken", namespace))["data"] == {"theirs": "1"}
        assert 2 <= counts.outcomes.count(("taken", "failed")) <= 4
        assert counts.outcomes.count(("free", "done")) == 2  # once for the wish, once for the child that it made


async def test_an_event_is_written_and_found_where_people_look(kube, namespace, running, eventually):
    target = await kube.create(SECRET, wish("w", namespace, "t"))
    recorder = Recorder(kube, controller="valkey.io/valkey-operator", instance="test")
    async with running(recorder.run()):
        recorder.emit(target, reason="PortTaken", note="31200 is taken", action="Allocate", type_="Warning")
        recorder.emit(target, reason="PortTaken", note="31200 is taken", action="Allocate", type_="Warning")
        where = {"field_selector": f"regarding.uid={target['metadata']['uid']}"}
        await eventually(lambda: kube.list_all(EVENT, namespace, **where))
        await asyncio.sleep(0.2)
    (event,) = await kube.list_all(EVENT, namespace, **where)
    assert (event["reason"], event["note"], event["type"]) == ("PortTaken", "31200 is taken", "Warning")
    assert event["regarding"]["kind"] == "Secret"
