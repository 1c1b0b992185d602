"""A reflector through a connection that breaks, stalls and is refused, on a real API server."""

import asyncio
from dataclasses import dataclass

import pytest

from valkey_operator.kube.client import Kube
from valkey_operator.kube.kinds import CONFIG_MAP
from valkey_operator.kube.observer import Observer
from valkey_operator.kube.reflector import Reflector


@dataclass(frozen=True, slots=True)
class View:
    name: str
    data: str


def view(item):
    return View(item["metadata"]["name"], item["data"]["a"])


class Counts(Observer):
    def __init__(self):
        self.lists, self.ends = [], []

    def listed(self, _kind, reason):
        self.lists.append(reason)

    def watch_ended(self, _kind, reason):
        self.ends.append(reason)


class Story:
    """A reflector behind a door, and what it told."""

    def __init__(self, kube, kind, namespace, project=view, **given):
        self.counts, self.changes = Counts(), []
        given = {"label_selector": "made=here", **given}
        self.reflector = Reflector(kube, kind, project, namespace=namespace, observer=self.counts, **given)
        self.reflector.store.subscribe(lambda old, new: self.changes.append((old, new)))
        self.store = self.reflector.store


def config_map(name, namespace, a="1", **labels):
    metadata = {"name": name, "namespace": namespace, "labels": {"made": "here", **labels}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": a}}


async def changed(kube, name, namespace, a):
    live = await kube.get(CONFIG_MAP, name, namespace)
    await kube.replace(CONFIG_MAP, {**live, "data": {"a": a}})


@pytest.fixture
async def through(door):
    """A door and a client that goes through it."""
    shut = await door()
    async with Kube(kubeconfig=shut.kubeconfig, timeout=2) as client:
        yield shut, client


async def test_shows_what_is_there_and_what_changes(kube, namespace, running, eventually):
    for number in range(5):
        await kube.create(CONFIG_MAP, config_map(f"x{number}", namespace))
    story = Story(kube, CONFIG_MAP, namespace, page=2, index=lambda each: (each.data,))
    async with running(story.reflector.run()):
        await asyncio.wait_for(story.store.synced.wait(), 10)
        assert len(story.store) == 5
        await changed(kube, "x1", namespace, "2")
        await kube.delete(CONFIG_MAP, "x0", namespace)
        await kube.create(CONFIG_MAP, config_map("x9", namespace, "2"))
        await eventually(lambda: story.store.by("2") == (View("x1", "2"), View("x9", "2")))
        await eventually(lambda: story.store.get(namespace, "x0") is None)
    assert story.changes[5:] == [(View("x1", "1"), View("x1", "2")), (View("x0", "1"), None), (None, View("x9", "2"))]


async def test_an_object_that_leaves_the_selection_is_gone(kube, namespace, running, eventually):
    await kube.create(CONFIG_MAP, config_map("in", namespace, app="x"))
    await kube.create(CONFIG_MAP, config_map("out", namespace, app="y"))
    story = Story(kube, CONFIG_MAP, namespace, label_selector="app=x")
    async with running(story.reflector.run()):
        await eventually(lambda: story.store.all() == (View("in", "1"),))
        live = await kube.get(CONFIG_MAP, "in", namespace)
        live["metadata"]["labels"]["app"] = "z"
        await kube.replace(CONFIG_MAP, live)
        await eventually(lambda: story.store.all() == ())


async def test_a_field_selector_sees_one_object(kube, namespace, running, eventually):
    await kube.create(CONFIG_MAP, config_map("one", namespace))
    await kube.create(CONFIG_MAP, config_map("other", namespace))
    story = Story(kube, CONFIG_MAP, namespace, field_selector="metadata.name=one")
    async with running(story.reflector.run()):
        await eventually(lambda: story.store.all() == (View("one", "1"),))


async def test_what_happened_while_the_connection_was_cut_is_seen_without_a_new_list(kube, through, namespace, running, eventually):
    shut, client = through
    await kube.create(CONFIG_MAP, config_map("stays", namespace))
    await kube.create(CONFIG_MAP, config_map("goes", namespace))
    story = Story(client, CONFIG_MAP, namespace)
    async with running(story.reflector.run()):
        await eventually(lambda: len(story.store) == 2)
        shut.refuses = True
        shut.cut()
        await kube.create(CONFIG_MAP, config_map("comes", namespace))
        await kube.delete(CONFIG_MAP, "goes", namespace)
        await asyncio.sleep(0.3)
        assert len(story.store) == 2
        shut.refuses = False
        await eventually(lambda: {each.name for each in story.store.all()} == {"stays", "comes"})
    assert story.counts.lists == ["start"]
    assert story.counts.ends[0] == "Connection"


async def test_a_connection_that_stalls_is_left_after_the_idle_time(kube, through, namespace, running, eventually):
    shut, client = through
    story = Story(client, CONFIG_MAP, namespace, idle_timeout=1)
    async with running(story.reflector.run()):
        await asyncio.wait_for(story.store.synced.wait(), 10)
        await asyncio.sleep(0.2)
        shut.stall()
        await kube.create(CONFIG_MAP, config_map("x", namespace))
        await eventually(lambda: story.store.all() == (View("x", "1"),), seconds=10)
    assert story.counts.lists == ["start"]
    assert story.counts.ends[0] == "Idle"


async def test_a_watch_that_the_server_ends_goes_on(kube, namespace, running, eventually):
    story = Story(kube, CONFIG_MAP, namespace, server_timeout=1.4)
    async with running(story.reflector.run()):
        await eventually(lambda: len(story.counts.ends) >= 2)
        await kube.create(CONFIG_MAP, config_map("x", namespace))
        await eventually(lambda: len(story.store) == 1)
    assert story.counts.lists == ["start"]
    assert set(story.counts.ends[:2]) == {"server"}


async def test_an_object_deleted_while_the_watch_was_away_and_its_version_too_old_is_told_as_deleted(
    *, kube, through, things, namespace, running, eventually
):
    shut, client = through

    def thing(name, size):
        metadata = {"name": name, "namespace": namespace, "labels": {"made": "here"}}
        return {"apiVersion": things.api_version, "kind": things.kind, "metadata": metadata, "spec": {"size": size}}

    for name in ("stays", "goes", "changes"):
        await kube.create(things, thing(name, 1))
    story = Story(client, things, namespace, project=lambda item: View(item["metadata"]["name"], str(item["spec"]["size"])))
    async with running(story.reflector.run()):
        await eventually(lambda: len(story.store) == 3)
        shut.refuses = True
        shut.cut()
        await kube.delete(things, "goes", namespace)
        live = await kube.get(things, "changes", namespace)
        await kube.replace(things, {**live, "spec": {"size": 2}})
        await kube.create(things, thing("comes", 3))
        story.reflector._version = "1"  # so long away that the API server no longer knows that version
        shut.refuses = False
        await eventually(lambda: "gone" in story.counts.lists)
    assert "Expired" in story.counts.ends
    assert story.counts.lists == ["start", "gone"]
    assert sorted(story.changes[3:], key=str) == sorted(
        [(View("goes", "1"), None), (View("changes", "1"), View("changes", "2")), (None, View("comes", "3"))], key=str
    )


async def test_a_kind_that_is_served_later_is_found(*, kube, namespace, running, eventually, serve_things, thing_kind):
    story = Story(kube, thing_kind, namespace)
    async with running(story.reflector.run()):
        await asyncio.sleep(0.5)
        assert not story.store.synced.is_set()
        await serve_things()
        await eventually(story.store.synced.is_set)


async def test_an_object_that_cannot_be_read_does_not_end_the_stream(kube, namespace, running, eventually):
    story = Story(kube, CONFIG_MAP, namespace)
    async with running(story.reflector.run()):
        await asyncio.wait_for(story.store.synced.wait(), 10)
        await kube.create(CONFIG_MAP, {**config_map("odd", namespace), "data": {"b": "1"}})
        await kube.create(CONFIG_MAP, config_map("even", namespace))
        await eventually(lambda: story.store.all() == (View("even", "1"),))
        assert [key.name for key in story.store.unreadable] == ["odd"]


async def test_many_changes_through_a_bad_connection_end_in_the_truth(kube, through, namespace, running, eventually):
    shut, client = through
    story = Story(client, CONFIG_MAP, namespace, idle_timeout=1, page=3)

    async def spoil():
        while True:
            await asyncio.sleep(0.15)
            shut.cut()
            await asyncio.sleep(0.25)
            shut.stall()

    async with running(story.reflector.run()), running(spoil()):
        for number in range(60):
            name = f"x{number % 7}"
            if number % 7 == 3 and number > 7:
                await kube.delete(CONFIG_MAP, name, namespace)
                await kube.create(CONFIG_MAP, config_map(name, namespace, str(number)))
            elif number < 7:
                await kube.create(CONFIG_MAP, config_map(name, namespace, str(number)))
            else:
                await changed(kube, name, namespace, str(number))
            await asyncio.sleep(0.03)
        truth = {
            View(item["metadata"]["name"], item["data"]["a"])
            for item in await kube.list_all(CONFIG_MAP, namespace, label_selector="made=here")
        }
        await eventually(lambda: set(story.store.all()) == truth)
    # what was told leads to the same end
    told = {}
    for old, new in story.changes:
        told.pop(old.name if old else None, None)
        if new:
            told[new.name] = new
    assert set(told.values()) == truth
