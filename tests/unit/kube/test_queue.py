import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from valkey_operator.kube.queue import Queue


class Steady(random.Random):
    """No jitter: the whole delay."""

    def uniform(self, a, b):
        return max(a, b)


def steady():
    return Queue(jitter=Steady())


async def waits(queue):
    """Whether nobody gets a key now."""
    getting = asyncio.ensure_future(queue.get())
    for _ in range(5):
        await asyncio.sleep(0)
    if getting.done():
        return False
    getting.cancel()
    await asyncio.gather(getting, return_exceptions=True)
    return True


def test_a_key_added_twice_is_worked_once(virtual):
    async def story():
        queue = steady()
        queue.add("a")
        queue.add("b")
        queue.add("a")
        assert [await queue.get(), await queue.get()] == [("a", False), ("b", False)]
        assert await waits(queue)

    virtual(story())


def test_a_key_added_while_it_is_worked_waits_until_that_is_done(virtual):
    async def story():
        queue = steady()
        queue.add("a")
        await queue.get()
        queue.add("a")
        queue.add("a")
        assert await waits(queue)
        queue.done("a")
        assert await queue.get() == ("a", False)
        queue.done("a")
        assert await waits(queue)

    virtual(story())


def test_a_look_at_rest_is_quiet_and_a_change_is_not(virtual):
    async def story():
        queue = steady()
        begun = asyncio.get_running_loop().time()
        queue.add_after("look", 30, quiet=True)
        queue.add_after("step", 20)
        assert await queue.get() == ("step", False)
        assert asyncio.get_running_loop().time() - begun == pytest.approx(20)
        assert await queue.get() == ("look", True)
        assert asyncio.get_running_loop().time() - begun == pytest.approx(30)

    virtual(story())


def test_a_change_makes_a_waiting_look_loud(virtual):
    async def story():
        queue = steady()
        queue.add_after("a", 0, quiet=True)
        queue.add("a")
        assert await queue.get() == ("a", False)
        queue.add_after("a", 0, quiet=True)
        queue.done("a")
        assert await queue.get() == ("a", True)

    virtual(story())


def test_a_look_does_not_make_a_waiting_change_quiet(virtual):
    async def story():
        queue = steady()
        queue.add("a")
        queue.add_after("a", 0, quiet=True)
        assert await queue.get() == ("a", False)

    virtual(story())


def test_the_newer_wish_takes_the_place_of_the_older(virtual):
    async def story():
        queue = steady()
        begun = asyncio.get_running_loop().time()
        queue.add_after("a", 5, quiet=True)
        queue.add_after("a", 50)
        assert await queue.get() == ("a", False)
        assert asyncio.get_running_loop().time() - begun == pytest.approx(50)

    virtual(story())


def test_taking_a_key_takes_its_timer_with_it(virtual):
    async def story():
        queue = steady()
        queue.add_after("a", 5, quiet=True)
        queue.add("a")
        assert await queue.get() == ("a", False)
        queue.done("a")
        await asyncio.sleep(60)
        assert await waits(queue)

    virtual(story())


def test_retries_back_off_from_a_fifth_of_a_second_to_a_minute_and_success_forgets(virtual):
    async def story():
        queue = steady()
        delays = [queue.retry("a") for _ in range(11)]
        assert delays == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 60.0, 60.0])
        assert queue.failures("a") == 11
        assert queue.retry("b") == pytest.approx(0.2)
        queue.forget("a")
        assert queue.retry("a") == pytest.approx(0.2)
        assert queue.retry("c", at_least=7) == 7

    virtual(story())


def test_a_retry_is_not_quiet_even_after_a_quiet_look(virtual):
    async def story():
        queue = steady()
        queue.add_after("a", 0, quiet=True)
        assert await queue.get() == ("a", True)
        queue.retry("a")
        queue.done("a")
        assert await queue.get() == ("a", False)

    virtual(story())


def test_a_thousand_failures_do_not_overflow(virtual):
    async def story():
        queue = steady()
        assert [queue.retry("a") for _ in range(2000)][-1] == 60.0

    virtual(story())


def test_a_key_meant_for_a_worker_that_is_cancelled_goes_to_another(virtual):
    async def story():
        queue = steady()
        first, second = asyncio.ensure_future(queue.get()), asyncio.ensure_future(queue.get())
        await asyncio.sleep(0)
        queue.add("a")
        first.cancel()
        assert await second == ("a", False)

    virtual(story())


@settings(deadline=None)  # the machine may be busy
@given(
    seed=st.integers(0, 2**32),
    workers=st.integers(1, 4),
    happenings=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 0.0, 0.3, 1.0]), st.booleans()), max_size=40),
)
def test_every_change_is_followed_by_work_that_begins_later_and_no_key_is_worked_twice_at_once(virtual, seed, workers, happenings):
    chance = random.Random(seed)
    changed, began, loud, busy = {}, {}, {}, set()

    async def work(queue, loop):
        while True:
            key, quiet = await queue.get()
            assert key not in busy
            busy.add(key)
            began[key] = loop.time()
            if not quiet:
                loud[key] = loop.time()
            await asyncio.sleep(chance.choice([0, 0.1, 1]))
            busy.discard(key)
            if chance.random() < 0.3:
                queue.retry(key)
            queue.done(key)

    async def story():
        loop = asyncio.get_running_loop()
        queue = Queue(jitter=random.Random(seed))
        tasks = [asyncio.create_task(work(queue, loop)) for _ in range(workers)]
        for key, pause, is_change in happenings:
            if is_change:
                queue.add(key)
                changed[key] = loop.time()
            else:
                queue.add_after(key, pause, quiet=True)
            await asyncio.sleep(pause)
        await asyncio.sleep(1000)
        assert len(queue) == 0
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for key, at in changed.items():
            assert loud[key] >= at

    virtual(story())
