import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass

import pytest

from valkey_operator.kube.controller import Controller, Result, Source
from valkey_operator.kube.errors import Invalid, KubeError, Throttled, Unavailable
from valkey_operator.kube.kinds import SERVICE, Key
from valkey_operator.kube.observer import Observer
from valkey_operator.kube.queue import Queue
from valkey_operator.kube.store import Store


@dataclass(frozen=True, slots=True)
class View:
    name: str
    owner: str


class Given:
    """A reflector whose store the story fills."""

    kind = SERVICE

    def __init__(self, *views, sync_after=0.0):
        self.store = Store()
        self.views, self.sync_after, self.runs = views, sync_after, 0

    async def run(self):
        self.runs += 1
        await asyncio.sleep(self.sync_after)
        for view in self.views:
            self.put(view)
        self.store.synced.set()
        await asyncio.Event().wait()

    def put(self, view):
        self.store.put(Key("ns", view.name), view)

    def drop(self, name):
        self.store.put(Key("ns", name), None)


def owner(view):
    return (view.owner,)


class Worked:
    """A reconcile that remembers when it was called for what, and does what the story says."""

    def __init__(self, answer=lambda _key: Result.done()):
        self.answer, self.calls = answer, []

    async def __call__(self, key, *, quiet):
        self.calls.append((key, quiet, round(asyncio.get_running_loop().time() - 1000, 3)))
        result = self.answer(key)
        return await result if asyncio.iscoroutine(result) else result


async def running_for(seconds, controller):
    running = asyncio.create_task(controller.run())
    await asyncio.sleep(seconds)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


def test_nothing_is_worked_before_everything_was_listed_and_then_every_key_once(virtual):
    async def story():
        worked = Worked()
        early, late = Given(View("a", "x"), View("b", "x"), View("c", "y")), Given(View("d", "z"), sync_after=7)
        controller = Controller(worked, sources=[Source(early, owner), Source(late, owner)])
        await running_for(100, controller)
        assert sorted(worked.calls) == [("x", False, 7.0), ("y", False, 7.0), ("z", False, 7.0)]
        assert not controller.ready.is_set()

    virtual(story())


def test_a_change_concerns_the_old_owner_and_the_new_one(virtual):
    async def story():
        worked = Worked()
        given = Given(View("a", "x"))
        controller = Controller(worked, sources=[Source(given, owner)])
        asyncio.get_running_loop().call_later(10, given.put, View("a", "y"))
        asyncio.get_running_loop().call_later(20, given.drop, "a")
        await running_for(100, controller)
        assert worked.calls == [("x", False, 0.0), ("x", False, 10.0), ("y", False, 10.0), ("y", False, 20.0)]

    virtual(story())


def test_a_reconcile_is_called_again_when_it_asked_for_that(virtual):
    async def story():
        answers = iter([Result(0.1), Result(30, quiet=True), Result.done()])
        worked = Worked(lambda _key: next(answers))
        await running_for(100, Controller(worked, sources=[Source(Given(View("a", "x")), owner)]))
        assert worked.calls == [("x", False, 0.0), ("x", False, 0.1), ("x", True, 30.1)]

    virtual(story())


def test_an_error_is_its_keys_alone_and_is_retried_later_and_later(virtual, caplog):
    def answer(key):
        if key == "bad":
            raise KeyError("spec")
        return Result.done()

    async def story():
        worked, told = Worked(answer), []
        given = Given(View("a", "bad"), View("b", "good"))
        controller = Controller(worked, sources=[Source(given, owner)], workers=1, on_error=lambda *what: told.append(what))
        await running_for(3, controller)
        assert [key for key, _, _ in worked.calls].count("good") == 1
        assert 4 <= [key for key, _, _ in worked.calls].count("bad") <= 5
        assert told[0][0] == "bad"
        assert isinstance(told[0][1], KeyError)

    with caplog.at_level(logging.WARNING):
        virtual(story())
    assert caplog.records[0].levelname == "ERROR"
    assert caplog.records[0].exc_info is not None


def test_an_error_that_may_pass_is_a_warning_without_a_traceback_and_waits_as_long_as_the_server_asks(virtual, caplog):
    answers = iter([Throttled("slow down", retry_after=9.0)])

    def answer(_key):
        for error in answers:
            raise error
        return Result.done()

    async def story():
        worked = Worked(answer)
        await running_for(100, Controller(worked, sources=[Source(Given(View("a", "x")), owner)]))
        assert worked.calls == [("x", False, 0.0), ("x", False, 9.0)]

    with caplog.at_level(logging.WARNING):
        virtual(story())
    (record,) = caplog.records
    assert (record.levelname, record.getMessage(), record.exc_info) == ("WARNING", "x: slow down; again in 9.0 s", None)


def test_success_ends_the_back_off(virtual):
    async def story():
        controller = Controller(Worked(), sources=[])
        controller.queue.retry("x")
        assert controller.queue.failures("x") == 1
        await running_for(5, controller)
        assert controller.queue.failures("x") == 0

    virtual(story())


def test_a_reconcile_that_hangs_is_cut_and_others_go_on_meanwhile(virtual, caplog):
    def answer(key):
        return asyncio.sleep(1e6, Result.done()) if key == "slow" else Result.done()

    async def story():
        worked, told = Worked(answer), []
        given = Given(View("a", "slow"), View("b", "fast"))
        controller = Controller(
            worked, sources=[Source(given, owner)], workers=2, timeout=60, on_error=lambda *what: told.append(what)
        )
        await running_for(70, controller)
        assert ("fast", False, 0.0) in worked.calls
        (key, error) = told[0]
        assert (key, type(error), error.message) == ("slow", Unavailable, "the reconcile took longer than 60 s")

    with caplog.at_level(logging.ERROR):
        virtual(story())
    assert caplog.records == []


def test_a_worker_survives_that_something_inside_was_cancelled(virtual):
    async def story():
        async def cancelled():
            inner = asyncio.get_running_loop().create_future()
            inner.cancel()
            await inner

        worked = Worked(lambda _key: cancelled())
        await running_for(10, Controller(worked, sources=[Source(Given(View("a", "x")), owner)], workers=1))
        assert len(worked.calls) > 3

    virtual(story())


@pytest.mark.parametrize(
    ("errors", "outcome"),
    [
        ([Unavailable("away"), Unavailable("away too")], "retried"),
        ([Unavailable("away"), Invalid("wrong")], "failed"),
        ([Unavailable("away"), ValueError("bug")], "failed"),
    ],
)
def test_of_several_errors_at_once_the_worst_is_told(virtual, errors, outcome):
    async def story():
        def answer(_key):
            raise ExceptionGroup("several", errors)

        outcomes, told = [], []

        class Counts(Observer):
            def reconciled(self, key, seconds, outcome):
                outcomes.append((key, seconds, outcome))

        controller = Controller(
            Worked(answer),
            sources=[Source(Given(View("a", "x")), owner)],
            on_error=lambda _, error: told.append(error),
            observer=Counts(),
        )
        await running_for(0.1, controller)
        assert outcomes == [("x", 0.0, outcome)]
        assert told == [errors[-1] if outcome == "failed" else errors[0]]

    virtual(story())


def test_never_more_keys_at_once_than_workers_and_never_one_key_twice(virtual):
    busy, most = set(), 0

    async def work(key):
        nonlocal most
        assert key not in busy
        busy.add(key)
        most = max(most, len(busy))
        await asyncio.sleep(3)
        busy.discard(key)
        return Result.done()

    async def story():
        given = Given(*(View(f"v{number}", f"k{number % 20}") for number in range(60)))
        controller = Controller(Worked(work), sources=[Source(given, owner)], workers=7)
        for number in range(20):
            asyncio.get_running_loop().call_later(1, controller.queue.add, f"k{number}")
        await running_for(100, controller)

    virtual(story())
    assert most == 7


def test_after_a_cancellation_nothing_runs_and_a_second_run_works_every_key_again(virtual):
    ended = []

    async def work(key):
        try:
            await asyncio.sleep(5)
        finally:
            ended.append(key)
        return Result.done()

    async def story():
        worked = Worked(work)
        given = Given(View("a", "x"), View("b", "y"))
        controller = Controller(worked, sources=[Source(given, owner)])
        await running_for(1, controller)
        assert sorted(ended) == ["x", "y"]
        assert len(asyncio.all_tasks()) == 1
        await running_for(100, controller)
        assert sorted(key for key, _, _ in worked.calls) == ["x", "x", "y", "y"]
        assert given.runs == 2

    virtual(story())


def test_a_second_run_does_not_work_with_what_the_first_one_saw(virtual):
    async def story():
        worked = Worked()
        given = Given(View("a", "x"), sync_after=10)
        controller = Controller(worked, sources=[Source(given, owner)])
        await running_for(15, controller)
        await running_for(15, controller)
        assert worked.calls == [("x", False, 10.0), ("x", False, 25.0)]

    virtual(story())


def test_a_view_whose_keys_cannot_be_told_is_logged_and_the_rest_goes_on(virtual, caplog):
    def keys(view):
        if view.owner == "?":
            raise LookupError(view.owner)
        return (view.owner,)

    async def story():
        worked = Worked()
        await running_for(5, Controller(worked, sources=[Source(Given(View("a", "?"), View("b", "x")), keys)]))
        assert worked.calls == [("x", False, 0.0)]

    with caplog.at_level(logging.ERROR):
        virtual(story())
    assert "cannot tell whom a change of Service concerns" in caplog.text


def test_a_reflector_of_two_sources_runs_once_and_others_run_too(virtual):
    async def story():
        shared, other = Given(View("a", "x")), Given()
        controller = Controller(
            Worked(),
            sources=[Source(shared, owner), Source(shared, lambda view: (view.name,))],
            reflectors=[other],
        )
        await running_for(5, controller)
        assert (shared.runs, other.runs) == (1, 1)

    virtual(story())


def test_an_error_of_kubernetes_that_will_not_pass_is_an_error_with_its_message(virtual, caplog):
    async def story():
        def answer(_key):
            raise KubeError("no such thing")

        await running_for(0.1, Controller(Worked(answer), sources=[Source(Given(View("a", "x")), owner)]))

    with caplog.at_level(logging.WARNING):
        virtual(story())
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_a_queue_that_is_given_is_the_one_that_is_worked():
    """Also while it is empty."""
    queue = Queue()
    assert Controller(Worked(), sources=(), queue=queue).queue is queue
