import asyncio
import logging
import random
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

import pytest

from valkey_operator.kube.errors import IDLE, Gone, NotServed, Unavailable
from valkey_operator.kube.kinds import SERVICE, Key
from valkey_operator.kube.observer import Observer
from valkey_operator.kube.reflector import Reflector


@dataclass(frozen=True, slots=True)
class View:
    name: str
    value: int


def thing(name, value, version="1"):
    return {"metadata": {"namespace": "ns", "name": name, "resourceVersion": version}, "value": value}


def bookmark(version):
    return ("BOOKMARK", {"metadata": {"resourceVersion": version}})


def view(item):
    return View(item["metadata"]["name"], int(item["value"])) if item["value"] is not None else None


class Scripted:
    """An API server that plays a script: what each list and each watch answers; when the script ends, the story does."""

    def __init__(self, *, lists, watches):
        self.lists, self.watches = list(lists), list(watches)
        self.watched_from = []
        self.times = []
        self.over = asyncio.Event()

    async def list_pages(self, _kind, **_):
        self.times.append(("list", asyncio.get_running_loop().time()))
        answer = self.lists.pop(0)
        if isinstance(answer, Exception):
            raise answer
        pages, version = answer
        for page in pages:
            if isinstance(page, Exception):
                raise page
            yield page, version

    async def watch(self, _kind, *, resource_version, **_):
        self.times.append(("watch", asyncio.get_running_loop().time()))
        self.watched_from.append(resource_version)
        if not self.watches:
            self.over.set()
            await asyncio.Event().wait()
        for step in self.watches.pop(0):
            if isinstance(step, Exception):
                raise step
            if isinstance(step, (int, float)):
                await asyncio.sleep(step)
            else:
                yield step


class Counts(Observer):
    def __init__(self):
        self.lists, self.ends = [], []

    def listed(self, kind, reason):
        self.lists.append((kind.kind, reason))

    def watch_ended(self, kind, reason):
        self.ends.append((kind.kind, reason))


async def played(api, **given):
    """The reflector after the script, and the changes that it told of."""
    changes = []
    reflector = Reflector(api, SERVICE, view, jitter=random.Random(1), **given)
    reflector.store.subscribe(lambda old, new: changes.append((old, new)))
    running = asyncio.create_task(reflector.run())
    await asyncio.wait_for(api.over.wait(), 3600)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    return reflector, changes


def test_lists_in_pages_then_follows_changes_from_that_version(virtual):
    async def story():
        api = Scripted(
            lists=[([[thing("a", 1)], [thing("b", 2)]], "10")],
            watches=[[("MODIFIED", thing("a", 5, "11")), ("ADDED", thing("c", 3, "12")), ("DELETED", thing("b", 2, "13")), 60]],
        )
        reflector, changes = await played(api)
        assert api.watched_from == ["10", "13"]
        assert changes == [
            (None, View("a", 1)),
            (None, View("b", 2)),
            (View("a", 1), View("a", 5)),
            (None, View("c", 3)),
            (View("b", 2), None),
        ]
        assert sorted(reflector.store.all(), key=lambda each: each.name) == [View("a", 5), View("c", 3)]
        assert reflector.store.synced.is_set()

    virtual(story())


def test_a_change_that_the_view_does_not_show_is_no_change(virtual):
    async def story():
        api = Scripted(
            lists=[([[thing("a", 1)]], "10")],
            watches=[[("MODIFIED", {**thing("a", 1, "11"), "status": "other"}), 60]],
        )
        _, changes = await played(api)
        assert changes == [(None, View("a", 1))]
        assert api.watched_from == ["10", "11"]

    virtual(story())


def test_an_object_that_the_view_leaves_out_is_as_good_as_deleted(virtual):
    async def story():
        api = Scripted(lists=[([[thing("a", 1)]], "10")], watches=[[("MODIFIED", thing("a", None, "11")), 60]])
        reflector, changes = await played(api)
        assert changes == [(None, View("a", 1)), (View("a", 1), None)]
        assert reflector.store.all() == ()

    virtual(story())


def test_a_version_that_is_too_old_leads_to_a_list_and_deletions_are_made_up(virtual):
    async def story():
        counts = Counts()
        api = Scripted(
            lists=[
                ([[thing("a", 1), thing("b", 2), thing("c", 3)]], "10"),
                ([[thing("a", 1), thing("c", 4)], [thing("d", 5)]], "90"),
            ],
            watches=[[Gone("too old", reason="Expired")]],
        )
        reflector, changes = await played(api, observer=counts)
        assert changes[3:] == [(View("c", 3), View("c", 4)), (None, View("d", 5)), (View("b", 2), None)]
        assert api.watched_from == ["10", "90"]
        assert counts.lists == [("Service", "start"), ("Service", "gone")]
        assert counts.ends == [("Service", "Expired"), ("Service", "broken")]
        assert reflector.store.get("ns", "b") is None

    virtual(story())


def test_a_list_that_breaks_in_the_middle_deletes_nothing(virtual):
    async def story():
        api = Scripted(
            lists=[
                ([[thing("a", 1), thing("b", 2)]], "10"),
                ([[thing("a", 1)], Gone("the list is too old")], "90"),
                ([[thing("a", 1)], [thing("b", 2)]], "91"),
            ],
            watches=[[Gone("too old")]],
        )
        _, changes = await played(api)
        assert changes == [(None, View("a", 1)), (None, View("b", 2))]

    virtual(story())


def test_a_broken_watch_goes_on_from_the_last_bookmark_without_a_list(virtual):
    async def story():
        api = Scripted(
            lists=[([[thing("a", 1)]], "10")],
            watches=[[("ADDED", thing("b", 2, "11")), bookmark("25"), Unavailable("cut")], [60]],
        )
        await played(api)
        assert [what for what, _ in api.times] == ["list", "watch", "watch", "watch"]
        assert api.watched_from == ["10", "25", "25"]

    virtual(story())


def test_a_watch_that_the_server_ends_is_opened_again_at_once(virtual):
    async def story():
        api = Scripted(lists=[([[]], "10")], watches=[[300], [300]])
        await played(api)
        begun = api.times[0][1]
        assert [(what, at - begun) for what, at in api.times] == [("list", 0), ("watch", 0), ("watch", 300), ("watch", 600)]

    virtual(story())


def test_silence_is_answered_by_a_new_watch_and_only_at_length_by_a_list(virtual):
    async def story():
        silent = [75, Unavailable("nothing heard", reason=IDLE)]
        api = Scripted(lists=[([[]], "10"), ([[]], "20")], watches=[silent, silent, silent, silent])
        await played(api)
        assert [what for what, _ in api.times] == ["list", "watch", "watch", "watch", "watch", "list", "watch"]
        assert api.times[-1][1] - api.times[0][1] == 300
        assert api.watched_from[-1] == "20"

    virtual(story())


def test_a_bookmark_ends_the_silence(virtual):
    async def story():
        silent = [75, Unavailable("nothing heard", reason=IDLE)]
        api = Scripted(lists=[([[]], "10")], watches=[silent, silent, silent, [bookmark("11"), *silent], silent, silent])
        await played(api)
        assert [what for what, _ in api.times].count("list") == 1

    virtual(story())


def test_an_api_server_that_is_away_is_asked_less_and_less_often_and_then_listed(virtual):
    async def story():
        away = Unavailable("connection refused", reason="Connection")
        api = Scripted(lists=[([[]], "10"), *[away] * 8, ([[]], "20")], watches=[[away]] * 4)
        await played(api)
        times = [at for _, at in api.times]
        gaps = [later - earlier for earlier, later in pairwise(times[1:-1])]
        assert [what for what, _ in api.times] == ["list"] + ["watch"] * 4 + ["list"] * 9 + ["watch"]
        for gap, most in zip(gaps, [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30, 30], strict=True):
            assert most / 2 <= gap <= most

    virtual(story())


def test_watches_that_end_at_once_do_not_spin(virtual):
    async def story():
        api = Scripted(lists=[([[]], "10"), *[([[]], "11")] * 20], watches=[[]] * 20)
        await played(api)
        assert api.times[-1][1] - api.times[0][1] > 60

    virtual(story())


def test_versions_that_are_always_too_old_do_not_spin(virtual):
    async def story():
        api = Scripted(lists=[([[]], "10")] * 20, watches=[[Gone("too old")]] * 19)
        await played(api)
        assert api.times[-1][1] - api.times[0][1] > 60

    virtual(story())


def test_a_kind_that_is_not_served_yet_is_waited_for(virtual):
    async def story():
        api = Scripted(
            lists=[NotServed("404 page not found"), NotServed("404 page not found"), ([[thing("a", 1)]], "3")], watches=[]
        )
        reflector, _ = await played(api)
        assert reflector.store.all() == (View("a", 1),)

    virtual(story())


def test_an_object_that_cannot_be_read_is_reported_once_and_keeps_its_last_view_while_others_go_on(virtual, caplog):
    async def story():
        api = Scripted(
            lists=[([[thing("a", 1), thing("new", "?")]], "10")],
            watches=[
                [
                    ("MODIFIED", thing("a", "nonsense", "11")),
                    ("MODIFIED", thing("a", "nonsense still", "12")),
                    ("ADDED", thing("b", 2, "13")),
                    60,
                ]
            ],
        )
        reflector, changes = await played(api)
        assert changes == [(None, View("a", 1)), (None, View("b", 2))]
        assert reflector.store.get("ns", "a") == View("a", 1)
        assert set(reflector.store.unreadable) == {Key("ns", "a"), Key("ns", "new")}
        assert "nonsense still" in reflector.store.unreadable[Key("ns", "a")]

    with caplog.at_level(logging.ERROR):
        virtual(story())
    assert [record.getMessage() for record in caplog.records] == ["cannot read Service ns/new", "cannot read Service ns/a"]


@pytest.mark.parametrize("end", [("DELETED", thing("a", "bad", "12")), ("MODIFIED", thing("a", 7, "12"))])
def test_an_unreadable_object_is_forgotten_when_it_goes_or_becomes_readable(virtual, end):
    async def story():
        api = Scripted(lists=[([[thing("a", "bad")]], "10")], watches=[[end, 60]])
        reflector, _ = await played(api)
        assert reflector.store.unreadable == {}

    virtual(story())


def test_selectors_and_times_go_to_the_api_server(virtual):
    asked = []

    class Asked(Scripted):
        def list_pages(self, kind, **given):
            asked.append(given)
            return super().list_pages(kind, **given)

        def watch(self, kind, **given):
            asked.append(given)
            return super().watch(kind, **given)

    async def story():
        api = Asked(lists=[([[]], "10")], watches=[])
        await played(api, namespace="ns", label_selector="a=b", field_selector="metadata.name=x", page=7, idle_timeout=9)

    virtual(story())
    where = {"namespace": "ns", "label_selector": "a=b", "field_selector": "metadata.name=x"}
    assert asked[0] == {**where, "page": 7}
    server_timeout = asked[1].pop("server_timeout")
    assert asked[1] == {**where, "resource_version": "10", "idle_timeout": 9}
    assert 225 <= server_timeout <= 375
