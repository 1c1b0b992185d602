"""Virtual time: an event loop whose clock jumps to the next thing to happen, so that minutes pass in milliseconds."""

import asyncio
import selectors

import pytest


class Hurried(selectors.DefaultSelector):
    """Waits for nothing; what would have been waited is added to the clock."""

    def __init__(self):
        super().__init__()
        self.now = 1000.0

    def select(self, timeout=None):
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everybody waits and nothing is left to happen"
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self):
        self.hurried = Hurried()
        super().__init__(self.hurried)

    def time(self):
        return self.hurried.now


@pytest.fixture(scope="session")
def virtual():
    """Runs a coroutine in virtual time."""

    def run(coroutine):
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(coroutine)

    return run
