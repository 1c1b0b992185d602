"""Leader election by a Lease: at most one of several replicas works, and another takes over in seconds.

Time is monotonic and local: a Lease is expired when it was seen unchanged for its duration, whatever the clocks of others say. A leader that
could not renew within the deadline, counted from when it sent its last successful renewal, stops before others may start:
deadline (12 s) + stopping < duration (15 s).
"""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn

from valkey_operator.kube.errors import AlreadyExists, Conflict, KubeError, LeaseLost, NotFound
from valkey_operator.kube.kinds import LEASE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from valkey_operator.kube.client import Kube, Object

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds: how long a Lease holds, when it is renewed, when a leader without a renewal gives up, when others look again."""

    duration: float = 15.0
    renew: float = 5.0
    deadline: float = 12.0
    retry: float = 2.0


async def lead(
    kube: Kube,
    *,
    namespace: str,
    name: str,
    identity: str,
    work: Callable[[], Coroutine[None, None, None]],
    times: LeaseTimes = LeaseTimes(),
) -> None:
    """Wait for the Lease, then run `work` for as long as it is held.

    Returns (or raises) when `work` does, having released the Lease. When the Lease is lost, `work` is cancelled and awaited before
    LeaseLost is raised. When cancelled, `work` is cancelled and awaited, then the Lease is released, so that another takes over at once.
    """
    lease = _Lease(kube, namespace=namespace, name=name, identity=identity, times=times)
    try:
        await lease.acquire()
        log.info("leading as %s", identity, extra={"lease": f"{namespace}/{name}"})
        await _work_while(lease.keep(), work())
    finally:
        await lease.release()


async def _work_while(keep: Coroutine[None, None, NoReturn], work: Coroutine[None, None, None]) -> None:
    """The work is done, or failed, or was cancelled because `keep` failed, or we were: in any case it is over."""
    keeping, working = asyncio.ensure_future(keep), asyncio.ensure_future(work)
    try:
        await asyncio.wait((keeping, working), return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _ended(working)  # first: nothing may be done without the Lease
        await _ended(keeping)
    if not keeping.cancelled():
        keeping.result()
    working.result()


class _Lease:
    def __init__(self, kube: Kube, *, namespace: str, name: str, identity: str, times: LeaseTimes) -> None:
        self._kube = kube
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._times = times
        self._live: Object | None = None  # as last seen; ours once acquired
        self._seen_at = 0.0
        self._renewed_at = 0.0
        self._held = False

    async def acquire(self) -> None:
        """Return once the Lease is ours."""
        told = ""
        while True:
            try:
                if await self._try():
                    return
                state = f"{self._holder() or 'another'} leads, {self._identity} waits"
            except KubeError as error:
                state = f"cannot take the Lease: {error.message}"
            if state != told:
                log.info(state)
                told = state
            await asyncio.sleep(self._times.retry * random.uniform(0.8, 1.2))  # noqa: S311 - jitter

    async def keep(self) -> NoReturn:
        """Renew until the Lease is lost: then LeaseLost."""
        while True:
            await asyncio.sleep(self._times.renew)
            await self._renew()

    async def release(self) -> None:
        """Give the Lease away, if it is ours, so that nobody has to wait for its end."""
        try:
            async with asyncio.timeout(self._times.retry):
                await self._look()  # whether it is ours, even if an answer was lost
                if self._live is not None and self._holder() == self._identity:
                    await self._kube.replace(LEASE, self._body(holder="", duration=1))
        except (KubeError, TimeoutError) as error:
            log.warning("could not release the Lease, others wait for its end: %s", error or "no answer")

    async def _renew(self) -> None:
        deadline = self._renewed_at + self._times.deadline
        why = "no answer"
        while (left := deadline - _now()) > 0:
            try:
                async with asyncio.timeout(min(left, self._times.deadline / 2)):
                    if await self._try():
                        return
                why = f"{self._holder() or 'nobody'} holds it"
                break
            except (KubeError, TimeoutError) as error:
                why = str(error) or "no answer"
                log.warning("cannot renew the Lease: %s", why)
            await asyncio.sleep(max(0.0, min(self._times.retry / 4, deadline - _now())))
        self._held = False
        raise LeaseLost(f"the Lease {self._namespace}/{self._name} is lost: {why}")

    async def _try(self) -> bool:
        """Take or renew the Lease: one write when nothing is in the way. False when another holds it."""
        sent = _now()
        if not self._held:
            await self._look()
            if not self._is_free():
                return False
        try:
            self._live = await self._write()
        except (AlreadyExists, Conflict, NotFound) as error:
            if not self._held and isinstance(error, NotFound):
                raise  # no such namespace
            if not self._held:
                return False  # somebody was quicker
            await self._look()  # ours is stale: judge by what is there
            if self._live is not None and self._holder() != self._identity:
                return False
            self._live = await self._write()
        self._held = True
        self._renewed_at = sent
        return True

    async def _look(self) -> None:
        try:
            live = await self._kube.get(LEASE, self._name, self._namespace)
        except NotFound:
            self._live = None
            return
        if self._live is None or self._live["metadata"]["resourceVersion"] != live["metadata"]["resourceVersion"]:
            self._seen_at = _now()
        self._live = live

    def _spec(self) -> Mapping[str, Any]:
        return (self._live or {}).get("spec") or {}

    def _holder(self) -> str:
        return str(self._spec().get("holderIdentity") or "")

    def _is_free(self) -> bool:
        if self._holder() in ("", self._identity):
            return True
        duration = self._spec().get("leaseDurationSeconds") or self._times.duration
        return _now() - self._seen_at > float(duration)

    async def _write(self) -> Object:
        if self._live is None:
            return await self._kube.create(LEASE, self._body(holder=self._identity, duration=self._times.duration))
        return await self._kube.replace(LEASE, self._body(holder=self._identity, duration=self._times.duration))

    def _body(self, *, holder: str, duration: float) -> dict[str, Any]:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        metadata: dict[str, Any] = {"name": self._name, "namespace": self._namespace}
        if self._live is not None:
            metadata = {key: value for key, value in self._live["metadata"].items() if key != "managedFields"}
        before = self._spec()
        same = before.get("holderIdentity") == holder
        spec = {
            "holderIdentity": holder,
            "leaseDurationSeconds": max(1, round(duration)),
            "acquireTime": before.get("acquireTime", now) if same else now,
            "renewTime": now,
            "leaseTransitions": int(before.get("leaseTransitions") or 0) + (0 if same or not before or not holder else 1),
        }
        return {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata, "spec": spec}


async def _ended(task: asyncio.Future[Any]) -> None:
    """The task is over, however it ended and however often we are cancelled meanwhile."""
    task.cancel()
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait((task,))
    if not task.cancelled() and (error := task.exception()):
        log.warning("leading ends: %r", error)


def _now() -> float:
    return asyncio.get_running_loop().time()
