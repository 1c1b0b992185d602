import asyncio
import random
from contextlib import suppress
from copy import deepcopy
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from valkey_operator.kube.errors import AlreadyExists, Conflict, LeaseLost, NotFound, Unavailable
from valkey_operator.kube.lease import LeaseTimes, lead


class Cluster:
    """The Leases of an API server: optimistic locking, a delay for each request, and doors that can be shut."""

    def __init__(self):
        self.lease, self.version, self.writes = None, 0, 0

    def stored(self, body):
        self.version += 1
        self.writes += 1
        self.lease = deepcopy(body)
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        return deepcopy(self.lease)


class Door:
    """One replica's way to the API server."""

    def __init__(self, cluster, *, delay=0.01):
        self.cluster, self.delay, self.shut, self.loses_answers = cluster, delay, False, False

    async def _pass(self):
        await asyncio.sleep(self.delay)
        if self.shut:
            await asyncio.sleep(1)
            raise Unavailable("cannot connect")

    async def get(self, _kind, name, _namespace):
        await self._pass()
        if self.cluster.lease is None:
            raise NotFound(name)
        return deepcopy(self.cluster.lease)

    async def create(self, _kind, body):
        await self._pass()
        if self.cluster.lease is not None:
            raise AlreadyExists(body["metadata"]["name"])
        return self._answer(self.cluster.stored(body))

    async def replace(self, _kind, body):
        await self._pass()
        if self.cluster.lease is None:
            raise NotFound(body["metadata"]["name"])
        if body["metadata"]["resourceVersion"] != self.cluster.lease["metadata"]["resourceVersion"]:
            raise Conflict(body["metadata"]["name"])
        return self._answer(self.cluster.stored(body))

    def _answer(self, made):
        if self.loses_answers:
            raise Unavailable("the connection broke")
        return made


class Replica:
    """Works while it leads, and remembers when."""

    def __init__(self, cluster, identity, *, stops_in=0.0, **given):
        self.door, self.identity, self.stops_in = Door(cluster, **given), identity, stops_in
        self.spans, self.task, self.working = [], None, False

    async def work(self):
        begun = now()
        self.working = True
        try:
            await asyncio.Event().wait()
        finally:
            if self.stops_in:
                await asyncio.sleep(self.stops_in)
            self.working = False
            self.spans.append((begun, now()))

    def start(self):
        self.task = asyncio.create_task(lead(self.door, namespace="ns", name="op", identity=self.identity, work=self.work))

    async def stop(self):
        self.task.cancel()
        with suppress(asyncio.CancelledError, LeaseLost):
            await self.task


def now():
    return asyncio.get_running_loop().time() - 1000


async def two(**given):
    cluster = Cluster()
    first, second = Replica(cluster, "first", **given), Replica(cluster, "second")
    first.start()
    await asyncio.sleep(1)
    second.start()
    return cluster, first, second


def test_the_first_leads_and_the_second_waits_for_as_long_as_the_first_renews(virtual):
    async def story():
        cluster, first, second = await two()
        await asyncio.sleep(600)
        assert (first.working, second.working) == (True, False)
        assert cluster.lease["spec"]["holderIdentity"] == "first"
        assert cluster.lease["spec"]["leaseDurationSeconds"] == 15
        assert cluster.lease["spec"]["leaseTransitions"] == 0
        assert cluster.writes == pytest.approx(601 / 5, abs=2)  # one for each renewal
        await first.stop()
        await second.stop()

    virtual(story())


def test_a_leader_that_stops_gives_the_lease_away_after_its_work_ended_and_the_other_leads_in_seconds(virtual):
    async def story():
        cluster, first, second = await two(stops_in=2)
        await asyncio.sleep(20)
        stopped_at = now()
        await first.stop()
        assert now() - stopped_at == pytest.approx(2, abs=0.1)
        assert cluster.lease["spec"]["holderIdentity"] == ""
        await asyncio.sleep(3)
        assert second.working
        assert cluster.lease["spec"]["holderIdentity"] == "second"
        assert cluster.lease["spec"]["leaseTransitions"] == 1
        await second.stop()
        assert second.spans[0][0] - first.spans[0][1] < 2.5

    virtual(story())


def test_a_leader_that_is_cut_off_stops_before_the_other_starts(virtual):
    async def story():
        _, first, second = await two(stops_in=3)
        await asyncio.sleep(20)
        cut_at = now()
        first.door.shut = True
        await asyncio.sleep(40)
        assert second.working
        with pytest.raises(LeaseLost, match="the Lease ns/op is lost"):
            await first.task
        await second.stop()
        first_ended, second_began = first.spans[0][1], second.spans[0][0]
        assert first_ended - cut_at <= 15
        assert 10 < second_began - cut_at <= 18
        assert first_ended < second_began

    virtual(story())


def test_a_short_outage_costs_nothing(virtual):
    async def story():
        _, first, second = await two()
        for _ in range(5):
            await asyncio.sleep(20)
            first.door.shut = True
            await asyncio.sleep(4)
            first.door.shut = False
        assert (first.working, second.working) == (True, False)
        await first.stop()
        await second.stop()

    virtual(story())


def test_a_renewal_whose_answer_was_lost_is_recognised_as_our_own(virtual):
    async def story():
        _, first, second = await two()
        await asyncio.sleep(18)
        first.door.loses_answers = True
        await asyncio.sleep(5)
        first.door.loses_answers = False
        await asyncio.sleep(60)
        assert (first.working, second.working) == (True, False)
        await first.stop()
        await second.stop()

    virtual(story())


def test_somebody_who_takes_the_lease_by_force_ends_the_work(virtual):
    async def story():
        cluster, first, second = await two()
        await asyncio.sleep(20)
        stolen = deepcopy(cluster.lease)
        stolen["spec"]["holderIdentity"] = "thief"
        cluster.stored(stolen)
        with pytest.raises(LeaseLost, match="thief holds it"):
            await first.task
        assert not first.working
        assert cluster.lease["spec"]["holderIdentity"] == "thief"
        await second.stop()

    virtual(story())


def test_a_lease_that_somebody_deletes_is_made_again(virtual):
    async def story():
        cluster = Cluster()
        replica = Replica(cluster, "first")
        replica.start()
        await asyncio.sleep(3)
        cluster.lease = None
        await asyncio.sleep(60)
        assert cluster.lease["spec"]["holderIdentity"] == "first"
        assert replica.working
        await replica.stop()

    virtual(story())


def test_a_lease_of_a_replica_that_died_is_taken_when_it_has_not_changed_for_its_duration(virtual):
    async def story():
        cluster = Cluster()
        spec = {"holderIdentity": "dead", "leaseDurationSeconds": 15, "renewTime": "2099-01-01T00:00:00.000000Z"}
        cluster.stored({"metadata": {"name": "op", "namespace": "ns"}, "spec": spec})
        replica = Replica(cluster, "heir")
        replica.start()
        await asyncio.sleep(14)
        assert not replica.working
        await asyncio.sleep(4)
        assert replica.working
        await replica.stop()

    virtual(story())


@pytest.mark.parametrize("error", [None, ValueError("bug")])
def test_when_the_work_ends_by_itself_the_lease_is_released_and_its_end_passed_on(virtual, error):
    async def work():
        await asyncio.sleep(7)
        if error:
            raise error

    async def story():
        cluster = Cluster()
        leading = lead(Door(cluster), namespace="ns", name="op", identity="me", work=work)
        if error:
            with pytest.raises(ValueError, match="bug"):
                await leading
        else:
            await leading
        assert cluster.lease["spec"]["holderIdentity"] == ""

    virtual(story())


def test_a_release_that_fails_does_not_hold_up_the_end(virtual):
    async def story():
        _, first, second = await two()
        await asyncio.sleep(3)
        first.door.shut = True
        begun = now()
        await first.stop()
        assert now() - begun < 3
        await second.stop()

    virtual(story())


def test_impatience_does_not_cut_the_work_short(virtual):
    async def story():
        _, first, second = await two(stops_in=5)
        await asyncio.sleep(3)
        for _ in range(3):
            first.task.cancel()
            await asyncio.sleep(0.1)
        with suppress(asyncio.CancelledError):
            await first.task
        assert first.spans[0][1] == pytest.approx(9, abs=0.1)
        await second.stop()

    virtual(story())


def test_a_replica_that_is_stopped_while_it_takes_the_lease_does_not_keep_it(virtual):
    async def story():
        cluster = Cluster()
        replica = Replica(cluster, "me", delay=1)
        replica.door.loses_answers = True
        replica.start()
        await asyncio.sleep(2.5)  # the Lease is made, the answer lost
        assert cluster.lease["spec"]["holderIdentity"] == "me"
        replica.door.loses_answers, replica.door.delay = False, 0.1
        await replica.stop()
        assert cluster.lease["spec"]["holderIdentity"] == ""
        assert replica.spans == []

    virtual(story())


def test_a_lease_without_a_spec_is_free(virtual):
    async def story():
        cluster = Cluster()
        cluster.stored({"metadata": {"name": "op", "namespace": "ns"}})
        replica = Replica(cluster, "me")
        replica.start()
        await asyncio.sleep(1)
        assert replica.working
        await replica.stop()

    virtual(story())


def test_the_default_times_leave_a_leader_time_to_stop():
    times = LeaseTimes()
    assert (times.duration, times.renew, times.retry) == (15.0, 5.0, 2.0)
    assert times.renew < times.deadline < times.duration


@settings(deadline=None)  # the machine may be busy
@given(seed=st.integers(0, 2**32), outages=st.lists(st.tuples(st.integers(0, 2), st.floats(0, 40), st.booleans()), max_size=12))
def test_whatever_doors_shut_and_replicas_restart_never_do_two_work_at_once(virtual, seed, outages):
    random.seed(seed)

    async def story():
        cluster = Cluster()
        replicas = [Replica(cluster, name, stops_in=1.0, delay=0.3) for name in "abc"]
        for replica in replicas:
            replica.start()
        for which, pause, lost in outages:
            replica = replicas[which]
            if lost:
                replica.door.loses_answers = not replica.door.loses_answers
            else:
                replica.door.shut = not replica.door.shut
            await asyncio.sleep(pause)
            assert sum(each.working for each in replicas) <= 1
            if replica.task.done():
                with suppress(LeaseLost):
                    await replica.task
                replica.start()
        for replica in replicas:
            replica.door.shut = replica.door.loses_answers = False
            if replica.task.done():
                with suppress(LeaseLost):
                    await replica.task
                replica.start()
        await asyncio.sleep(60)
        assert sum(each.working for each in replicas) == 1
        for replica in replicas:
            await replica.stop()
        spans = sorted(span for replica in replicas for span in replica.spans)
        assert all(one[1] <= other[0] for one, other in pairwise(spans))

    virtual(story())
