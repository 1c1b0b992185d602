"""Two replicas and one Lease, on a real API server."""

import asyncio
from contextlib import suppress

import pytest

from valkey_operator.kube.client import Kube
from valkey_operator.kube.errors import LeaseLost
from valkey_operator.kube.kinds import LEASE
from valkey_operator.kube.lease import LeaseTimes, lead

QUICK = LeaseTimes(duration=3.0, renew=0.5, deadline=2.0, retry=0.3)


class Replica:
    def __init__(self, identity, namespace, log):
        self.identity, self.namespace, self.log, self.working = identity, namespace, log, False

    async def work(self):
        self.working = True
        self.log.append((self.identity, "begins"))
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.1)
            self.working = False
            self.log.append((self.identity, "ends"))

    def lead(self, kube):
        return lead(kube, namespace=self.namespace, name="operator", identity=self.identity, work=self.work, times=QUICK)


@pytest.fixture
async def replicas(door, namespace):
    """Two replicas, each behind a door of its own."""
    log, made = [], []
    for identity in ("first", "second"):
        shut = await door()
        made.append((shut, Kube(kubeconfig=shut.kubeconfig, timeout=1), Replica(identity, namespace, log)))
    yield made
    for _, client, _ in made:
        await client.close()


async def stopped(task):
    task.cancel()
    with suppress(asyncio.CancelledError, LeaseLost):
        await task


async def test_the_lease_changes_hands_at_once_when_its_holder_stops(kube, replicas, namespace, eventually):
    (_, one, first), (_, other, second) = replicas
    leading = asyncio.create_task(first.lead(one))
    await eventually(lambda: first.working)
    waiting = asyncio.create_task(second.lead(other))
    await asyncio.sleep(QUICK.duration + 1)
    assert (first.working, second.working) == (True, False)
    lease = await kube.get(LEASE, "operator", namespace)
    assert lease["spec"]["holderIdentity"] == "first"

    begun = asyncio.get_running_loop().time()
    await stopped(leading)
    await eventually(lambda: second.working)
    assert asyncio.get_running_loop().time() - begun < 1
    assert first.log == [("first", "begins"), ("first", "ends"), ("second", "begins")]
    lease = await kube.get(LEASE, "operator", namespace)
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("second", 1)
    await stopped(waiting)
    assert (await kube.get(LEASE, "operator", namespace))["spec"].get("holderIdentity", "") == ""


@pytest.mark.parametrize("fault", ["cut", "stall"])
async def test_a_leader_that_cannot_reach_the_api_server_stops_working_and_the_other_takes_over_after_that(
    kube, replicas, namespace, eventually, fault
):
    (shut, one, first), (_, other, second) = replicas
    leading = asyncio.create_task(first.lead(one))
    await eventually(lambda: first.working)
    waiting = asyncio.create_task(second.lead(other))
    await asyncio.sleep(1)

    shut.refuses = True
    getattr(shut, fault)()
    with pytest.raises(LeaseLost, match=f"the Lease {namespace}/operator is lost"):
        await asyncio.wait_for(leading, QUICK.deadline + 1)
    assert not first.working
    assert not second.working
    await eventually(lambda: second.working, seconds=5)
    assert first.log == [("first", "begins"), ("first", "ends"), ("second", "begins")]
    assert (await kube.get(LEASE, "operator", namespace))["spec"]["holderIdentity"] == "second"

    # the first one comes back and waits
    shut.refuses = False
    again = asyncio.create_task(first.lead(one))
    await asyncio.sleep(QUICK.duration + 1)
    assert (first.working, second.working) == (False, True)
    await stopped(waiting)
    await eventually(lambda: first.working)
    await stopped(again)


async def test_a_connection_that_breaks_for_a_moment_costs_nothing(replicas, eventually):
    (shut, one, first), _ = replicas
    leading = asyncio.create_task(first.lead(one))
    await eventually(lambda: first.working)
    for _ in range(4):
        shut.refuses = True
        shut.cut()
        await asyncio.sleep(0.6)
        shut.refuses = False
        await asyncio.sleep(1)
    assert first.working
    await stopped(leading)
    assert first.log == [("first", "begins"), ("first", "ends")]


async def test_only_one_of_many_that_start_at_once_leads(api_server, namespace, eventually):
    log = []
    async with Kube(kubeconfig=api_server) as kube:
        many = [Replica(f"r{number}", namespace, log) for number in range(8)]
        tasks = [asyncio.create_task(replica.lead(kube)) for replica in many]
        await eventually(lambda: any(replica.working for replica in many))
        await asyncio.sleep(2)
        assert sum(replica.working for replica in many) == 1
        await asyncio.gather(*(stopped(task) for task in tasks))
