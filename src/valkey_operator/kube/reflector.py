"""Keeps a store equal to what the API server has: list in pages, then watch, for ever.

What goes wrong and what then happens:
- the watch ends (server-side timeout), falls silent or breaks: watch again from the last resource version, after a jittered back-off if it broke;
- the resource version is too old (410), or the watch broke or stayed silent several times in a row (an API server restored from a backup never
  gets to "our" version): list again and compare, so that what was deleted meanwhile is told as deleted;
- an object that `project` cannot read: reported and marked in the store; its last readable view stays, and every other object goes on.
"""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from valkey_operator.kube.errors import IDLE, UNREADABLE, Gone, KubeError, Unavailable
from valkey_operator.kube.kinds import Key
from valkey_operator.kube.observer import SILENT
from valkey_operator.kube.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from valkey_operator.kube.client import Kube
    from valkey_operator.kube.kinds import Kind
    from valkey_operator.kube.observer import Observer

log = logging.getLogger(__name__)

V = TypeVar("V")

_BACK_OFF_BASE = 0.2
_BACK_OFF_LIMIT = 30.0
_RELIST_AFTER = 4
"""Broken or silent watches in a row."""
_TOO_SHORT = 1.0
"""Seconds: a watch that ends sooner counts as broken, so that nothing spins."""


class Reflector(Generic[V]):
    """Mirrors the objects of one kind that the selectors select, as the narrow views that `project` makes of them."""

    def __init__(
        self,
        kube: Kube,
        kind: Kind,
        project: Callable[[dict[str, Any]], V | None],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        index: Callable[[V], Iterable[Hashable]] | None = None,
        page: int = 500,
        server_timeout: float = 300.0,
        idle_timeout: float = 75.0,
        observer: Observer = SILENT,
        jitter: random.Random | None = None,
        store: Store[V] | None = None,
    ) -> None:
        """`project` gives the frozen view of an object, None if it is not to be stored. `namespace` None means all; `store`: where to."""
        self.kind = kind
        self.store: Store[V] = Store(index=index) if store is None else store
        self._kube = kube
        self._project = project
        self._where: Mapping[str, Any] = {
            "namespace": namespace,
            "label_selector": label_selector,
            "field_selector": field_selector,
        }
        self._page = page
        self._server_timeout = server_timeout
        self._idle_timeout = idle_timeout
        self._observer = observer
        self._jitter = jitter or random.Random()  # noqa: S311
        self._version = ""
        self._failures = 0
        self._silent = 0

    async def run(self) -> NoReturn:
        """Mirror until cancelled. Never raises on its own."""
        self.store.synced.clear()
        reason = "start"
        while True:
            try:
                if reason:
                    await self._list(reason)
                    reason = ""
                await self._watch()
            except Gone as error:
                reason = "gone"
                await self._back_off(error)
            except KubeError as error:
                if error.reason == IDLE:
                    self._silent += 1
                else:
                    await self._back_off(error)
                if max(self._failures, self._silent) >= _RELIST_AFTER:
                    reason = "unsure"

    async def _list(self, reason: str) -> None:
        """Everything as of one moment; what is no longer there is told as deleted."""
        seen: set[Key] = set()
        version = ""
        async for items, version in self._kube.list_pages(self.kind, page=self._page, **self._where):  # noqa: B007 - the last one counts
            for item in items:
                key = _key(item)
                seen.add(key)
                self._put(key, item)
        for key in self.store.keys() - seen:
            self.store.put(key, None)
        self._version = version
        self._silent = 0
        self._observer.listed(self.kind, reason)
        self.store.synced.set()

    async def _watch(self) -> None:
        """Follow changes until the server ends the watch."""
        loop = asyncio.get_running_loop()
        begun, reason = loop.time(), "broken"
        watch = self._kube.watch(
            self.kind,
            resource_version=self._version,
            server_timeout=self._server_timeout * self._jitter.uniform(0.75, 1.25),
            idle_timeout=self._idle_timeout,
            **self._where,
        )
        try:
            async with aclosing(watch):
                async for what, item in watch:
                    self._failures = self._silent = 0
                    if what == "DELETED":
                        self.store.put(_key(item), None)
                    elif what != "BOOKMARK":
                        self._put(_key(item), item)
                    self._version = item["metadata"]["resourceVersion"]
            reason = "server"
            if loop.time() - begun < _TOO_SHORT:
                raise Unavailable("the watch ended at once")
        except KubeError as error:
            reason = error.reason or reason
            raise
        finally:
            if loop.time() - begun >= _TOO_SHORT:
                self._failures = 0
            self._observer.watch_ended(self.kind, reason)

    def _put(self, key: Key, item: dict[str, Any]) -> None:
        try:
            view = self._project(item)
        except UNREADABLE as error:
            if key not in self.store.unreadable:
                log.exception("cannot read %s %s", self.kind, key)
            self.store.unreadable[key] = f"{type(error).__name__}: {error}"
            return
        self.store.put(key, view)

    async def _back_off(self, error: KubeError) -> None:
        self._failures += 1
        limit = min(_BACK_OFF_LIMIT, _BACK_OFF_BASE * 2.0 ** min(self._failures - 1, 16))
        seconds = max(limit * self._jitter.uniform(0.5, 1.0), error.retry_after or 0.0)
        log.warning("%s: %s; again in %.1f s", self.kind, error.message, seconds, extra={"failures": self._failures})
        await asyncio.sleep(seconds)


def _key(item: Mapping[str, Any]) -> Key:
    metadata = item["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])
