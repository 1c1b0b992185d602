"""Runs a reconcile function over keys: reflectors bring them up, workers work them, errors touch their own key alone."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar

from valkey_operator.kube.errors import UNREADABLE, KubeError, Unavailable
from valkey_operator.kube.observer import SILENT
from valkey_operator.kube.queue import Queue

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from valkey_operator.kube.kinds import Kind
    from valkey_operator.kube.observer import Observer, Outcome
    from valkey_operator.kube.store import Store

log = logging.getLogger(__name__)

K = TypeVar("K", bound="Hashable")
K_contra = TypeVar("K_contra", contravariant=True)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Result:
    """What a reconcile asks for: to be woken in so many seconds even if nothing changes (`quiet`: just for a look at rest)."""

    wake_after: float | None = None
    quiet: bool = False

    @classmethod
    def done(cls) -> Result:
        """Nothing more to do until something changes."""
        return DONE


DONE = Result()


class Reconcile(Protocol[K_contra]):
    """Brings what `key` names one step closer to what is wanted. `quiet`: nothing changed, it is only time for a look."""

    async def __call__(self, key: K_contra, *, quiet: bool) -> Result:
        """Raise to be called again after a back-off."""


class Reflecting(Protocol[V]):
    """What fills a store with the objects of a kind."""

    kind: Kind
    store: Store[V]

    async def run(self) -> NoReturn:
        """Fill it until cancelled."""


@dataclass(frozen=True, slots=True)
class Source(Generic[K, V]):
    """A reflector, and which keys a change of one of its views concerns; asked for the old view and for the new one."""

    reflector: Reflecting[V]
    to_keys: Callable[[V], Iterable[K]]


class Controller(Generic[K]):
    """A queue, its workers and what feeds it. `run` until cancelled; nothing goes on running after that."""

    def __init__(
        self,
        reconcile: Reconcile[K],
        *,
        sources: Sequence[Source[K, Any]],
        reflectors: Sequence[Reflecting[Any]] = (),
        workers: int = 16,
        timeout: float = 60.0,
        queue: Queue[K] | None = None,
        on_error: Callable[[K, Exception], None] | None = None,
        observer: Observer = SILENT,
    ) -> None:
        """`reflectors` are run too without bringing keys up. No reconcile takes longer than `timeout` seconds."""
        self.queue: Queue[K] = Queue(observer=observer) if queue is None else queue
        self.ready = asyncio.Event()
        """Set once all reflectors are synced and the workers work."""
        self._reconcile = reconcile
        self._sources = tuple(sources)
        self._reflectors = tuple(dict.fromkeys((*(source.reflector for source in sources), *reflectors)))
        self._workers = workers
        self._timeout = timeout
        self._on_error = on_error
        self._observer = observer
        for source in sources:
            source.reflector.store.subscribe(self._feeder(source))

    async def run(self) -> None:
        """Reflect, wait until everything was listed, work every key once and then whenever it comes up.

        Cancelling it ends all that and waits for the end; it may be run again.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                for reflector in self._reflectors:
                    reflector.store.synced.clear()  # what an earlier run saw is no longer the truth
                    tasks.create_task(reflector.run(), name=f"reflect {reflector.kind.plural}")
                for reflector in self._reflectors:
                    await reflector.store.synced.wait()
                # Not only what changed just now: another replica may have worked since we last did.
                for source in self._sources:
                    feed = self._feeder(source)
                    for view in source.reflector.store.all():
                        feed(None, view)
                self.ready.set()
                for number in range(self._workers):
                    tasks.create_task(self._work(), name=f"worker {number}")
        finally:
            self.ready.clear()

    def _feeder(self, source: Source[K, V]) -> Callable[[V | None, V | None], None]:
        def feed(old: V | None, new: V | None) -> None:
            for view in (old, new):
                if view is None:
                    continue
                try:
                    for key in source.to_keys(view):
                        self.queue.add(key)
                except UNREADABLE:
                    log.exception("cannot tell whom a change of %s concerns: %r", source.reflector.kind, view)

        return feed

    async def _work(self) -> NoReturn:
        while True:
            key, quiet = await self.queue.get()
            try:
                await self._once(key, quiet=quiet)
            finally:
                self.queue.done(key)

    async def _once(self, key: K, *, quiet: bool) -> None:
        """One reconcile and what comes of it. The only place that catches everything: an error is its key's alone."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        outcome: Outcome
        try:
            async with asyncio.timeout(self._timeout) as limit:
                result = await self._reconcile(key, quiet=quiet)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Something inside was cancelled, not this worker: it must not die of that.
            outcome = self._failed(key, RuntimeError("something that the reconcile waited for was cancelled"))
        except Exception as error:  # noqa: BLE001 - the loop goes on whatever a reconcile does
            slow = Unavailable(f"the reconcile took longer than {self._timeout:g} s", reason="Timeout")
            outcome = self._failed(key, slow if limit.expired() else _telling(error))
        else:
            self.queue.forget(key)
            if result.wake_after is not None:
                self.queue.add_after(key, result.wake_after, quiet=result.quiet)
            outcome = "done" if result.wake_after is None or result.quiet else "later"
        self._observer.reconciled(key, loop.time() - begun, outcome)

    def _failed(self, key: K, error: Exception) -> Outcome:
        passing = isinstance(error, KubeError) and error.retryable
        seconds = self.queue.retry(key, at_least=getattr(error, "retry_after", None) or 0.0)
        if passing:
            log.warning("%s: %s; again in %.1f s", key, error, seconds, extra={"key": str(key)})
        else:
            log.error("%s: reconcile failed; again in %.1f s", key, seconds, exc_info=error, extra={"key": str(key)})
        if self._on_error is not None:
            self._on_error(key, error)
        return "retried" if passing else "failed"


def _telling(error: Exception) -> Exception:
    """Of a group of errors the one that says most: one that will not pass by itself before one that may."""
    if not isinstance(error, ExceptionGroup):
        return error
    leaves = [_telling(each) for each in error.exceptions]
    return next((each for each in leaves if not (isinstance(each, KubeError) and each.retryable)), leaves[0])
