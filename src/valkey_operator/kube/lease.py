"""Leader election by a Lease: at most one of several replicas works, and another takes over in seconds.

Time is monotonic and local: a Lease is expired when it was seen unchanged for its duration, whatever the clocks of others say. A leader that
could not renew within the deadline, counted from when it sent its last successful renewal, stops before others may start:
deadline (10 s) + stopping < duration (15 s).
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from valkey_operator.kube.errors import AlreadyExists, Conflict, KubeError, LeaseLost, NotFound
from valkey_operator.kube.kinds import LEASE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from valkey_operator.kube.client import Kube, Object

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds: how long a Lease holds, when it is renewed, when a leader without a renewal gives up, when others look again."""

    duration: float = 15.0
    renew: float = 5.0
    deadline: float = 10.0
    retry: float = 2.0


async def lead(
    kube: Kube,
    *,
    namespace: str,
    name: str,
    identity: str,
    work: Callable[[], Awaitable[None]],
    times: LeaseTimes = LeaseTimes(),
) -> None:
    """Wait for the Lease, then run `work` for as long as it is held.

    Returns (or raises) when `work` does, having released the Lease. When the Lease is lost, `work` is cancelled and awaited before
    LeaseLost is raised. When cancelled, `work` is cancelled and awaited, then the Lease is released, so that another takes over at once.
    """
    lease = _Lease(kube, namespace=namespace, name=name, identity=identity, times=times)
    await lease.acquire()
    log.info("leading as %s", identity, extra={"lease": f"{namespace}/{name}"})
    working = asyncio.ensure_future(work())
    renewing = asyncio.create_task(lease.keep(), name="renew the lease")
    try:
        await asyncio.wait((working, renewing), return_when=asyncio.FIRST_COMPLETED)
    finally:
        # First the work, whatever happened: nothing may be done without the Lease, and it is not given away before.
        await _ended(working)
        await _ended(renewing)
        await lease.release()
    if renewing.done() and not renewing.cancelled() and (error := renewing.exception()):
        raise error
    await working


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
        while True:
            try:
                if await self._try():
                    return
            except KubeError as error:
                log.warning("cannot look at the Lease: %s", error.message)
            await asyncio.sleep(self._times.retry * random.uniform(0.8, 1.2))  # noqa: S311 - jitter

    async def keep(self) -> None:
        """Renew until the Lease is lost: then LeaseLost."""
        while True:
            await asyncio.sleep(self._times.renew)
            await self._renew()

    async def release(self) -> None:
        """Give the Lease away, if it is ours, so that nobody has to wait for its end."""
        if not self._held or self._live is None:
            return
        self._held = False
        try:
            async with asyncio.timeout(self._times.retry):
                await self._kube.replace(LEASE, self._body(holder="", duration=1))
        except (KubeError, TimeoutError) as error:
            log.warning("could not release the Lease, others wait for its end: %s", error)

    async def _renew(self) -> None:
        deadline = self._renewed_at + self._times.deadline
        why = "no answer"
        while (left := deadline - time.monotonic()) > 0:
            try:
                async with asyncio.timeout(min(left, self._times.deadline / 2)):
                    if await self._try():
                        return
                why = f"{self._holder()} holds it"
                break
            except (KubeError, TimeoutError) as error:
                why = str(error) or "no answer"
                log.warning("cannot renew the Lease: %s", why)
            await asyncio.sleep(min(self._times.retry / 4, max(0.0, deadline - time.monotonic())))
        self._held = False
        raise LeaseLost(f"the Lease {self._namespace}/{self._name} is lost: {why}")

    async def _try(self) -> bool:
        """Take or renew the Lease: one write when nothing is in the way. False when another holds it."""
        sent = time.monotonic()
        if self._live is None or not self._held:
            await self._look()
        for _ in range(2):
            if not self._held and not self._is_free():
                return False
            try:
                self._live = await self._write()
            except (Conflict, AlreadyExists, NotFound):
                # Somebody wrote, made or deleted it since: look again, and judge by what is there.
                await self._look()
                self._held = self._held and self._holder() in (self._identity, None)
            else:
                self._held = True
                self._renewed_at = sent
                return True
        return False

    async def _look(self) -> None:
        try:
            live = await self._kube.get(LEASE, self._name, self._namespace)
        except NotFound:
            self._live = None
            return
        if self._live is None or self._live["metadata"]["resourceVersion"] != live["metadata"]["resourceVersion"]:
            self._seen_at = time.monotonic()
        self._live = live

    def _holder(self) -> str | None:
        return None if self._live is None else self._live["spec"].get("holderIdentity") or ""

    def _is_free(self) -> bool:
        if self._live is None or self._holder() in ("", self._identity):
            return True
        duration = self._live["spec"].get("leaseDurationSeconds") or self._times.duration
        return time.monotonic() - self._seen_at > float(duration)

    async def _write(self) -> Object:
        if self._live is None:
            return await self._kube.create(LEASE, self._body(holder=self._identity, duration=self._times.duration))
        return await self._kube.replace(LEASE, self._body(holder=self._identity, duration=self._times.duration))

    def _body(self, *, holder: str, duration: float) -> dict[str, Any]:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        metadata: dict[str, Any] = {"name": self._name, "namespace": self._namespace}
        before: dict[str, Any] = {}
        if self._live is not None:
            metadata = {key: value for key, value in self._live["metadata"].items() if key != "managedFields"}
            before = self._live["spec"]
        same = before.get("holderIdentity") == holder
        spec = {
            "holderIdentity": holder,
            "leaseDurationSeconds": max(1, round(duration)),
            "acquireTime": before.get("acquireTime", now) if same else now,
            "renewTime": now,
            "leaseTransitions": int(before.get("leaseTransitions") or 0) + (0 if same or not before or not holder else 1),
        }
        return {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata, "spec": spec}


async def _ended(task: asyncio.Future[None]) -> None:
    """The task is over, however it ended; its error, if any, stays in it."""
    task.cancel()
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait((task,))
