"""Reflects a kind that the API server may not serve, may begin to serve, or may serve in another version one day."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from valkey_operator.kube.kinds import API_SERVICE, CUSTOM_RESOURCE_DEFINITION, Kind
from valkey_operator.kube.observer import SILENT
from valkey_operator.kube.reflector import Reflector
from valkey_operator.kube.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from valkey_operator.kube.client import Kube
    from valkey_operator.kube.observer import Observer

log = logging.getLogger(__name__)

V = TypeVar("V")

_FIRST_LIST = 3.0
"""Seconds: for so long nobody has to wait for objects that may not be read."""


class OptionalReflector(Generic[V]):
    """As a Reflector, for a kind of one of several versions; its store is empty while none of them is served.

    What is served is watched: of kinds with a CustomResourceDefinition in that, of an `aggregated` API, which may have none, by its APIService.
    """

    def __init__(
        self,
        kube: Kube,
        kinds: Sequence[Kind],
        project: Callable[[dict[str, Any]], V | None],
        *,
        aggregated: bool = False,
        namespace: str | None = None,
        label_selector: str | None = None,
        index: Callable[[V], Iterable[Hashable]] | None = None,
        observer: Observer = SILENT,
    ) -> None:
        """`kinds`: the same kind in each version that is understood, the best one first."""
        self.kind = kinds[0]
        self.served: Kind | None = None
        """The kind in the version that is reflected now; None: it is not served."""
        self.store: Store[V] = Store(index=index)
        self._make: Callable[[Kind], Reflector[V]] = lambda kind: Reflector(
            kube, kind, project, namespace=namespace, label_selector=label_selector, observer=observer, store=self.store
        )
        self._kinds = {kind.api_version.partition("/")[2]: kind for kind in kinds}
        group, _, version = self.kind.api_version.partition("/")
        definition, name, versions = (
            (API_SERVICE, f"{version}.{group}", _available)
            if aggregated
            else (CUSTOM_RESOURCE_DEFINITION, f"{self.kind.plural}.{group}", _established)
        )
        self.definition: Reflector[frozenset[str]] = Reflector(
            kube, definition, versions, field_selector=f"metadata.name={name}", observer=observer
        )
        """Its one view, where there is any: the versions that are served."""
        self._changed = asyncio.Event()
        self.definition.store.subscribe(lambda _old, _new: self._changed.set())

    async def run(self) -> NoReturn:
        """Mirror what is served until cancelled; `definition` is run by whoever runs this. Never raises on its own."""
        self.store.synced.clear()
        await self.definition.store.synced.wait()
        while True:
            self.served = self._best()
            if self.served is None:
                await self._idle()
            else:
                await self._reflect(self.served)

    def _best(self) -> Kind | None:
        served = frozenset[str]().union(*self.definition.store.all())
        return next((kind for version, kind in self._kinds.items() if version in served), None)

    async def _idle(self) -> None:
        """There are no objects, until the kind is served."""
        self.store.clear()
        self.store.synced.set()
        while self._best() is None:
            await self._change()

    async def _reflect(self, kind: Kind) -> None:
        """Mirror, until something else is served."""
        log.info("%s is served as %s", kind.kind, kind.api_version)
        reflecting = asyncio.create_task(self._make(kind).run(), name=f"reflect {kind.plural}")
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_FIRST_LIST):
                    await self.store.synced.wait()
            self.store.synced.set()
            while self._best() == kind:
                await self._change()
        finally:
            reflecting.cancel()
            await asyncio.gather(reflecting, return_exceptions=True)

    async def _change(self) -> None:
        await self._changed.wait()
        self._changed.clear()


def _established(definition: dict[str, Any]) -> frozenset[str]:
    """The versions that a CustomResourceDefinition serves; none before it is established, nor once it is being deleted."""
    conditions = {each["type"]: each["status"] for each in definition.get("status", {}).get("conditions") or ()}
    if conditions.get("Established") != "True" or conditions.get("Terminating") == "True":
        return frozenset()
    return frozenset(version["name"] for version in definition["spec"]["versions"] if version["served"])


def _available(service: dict[str, Any]) -> frozenset[str]:
    """The version that an APIService stands for, once there is somebody who serves it."""
    conditions = {each["type"]: each["status"] for each in service.get("status", {}).get("conditions") or ()}
    return frozenset({service["spec"]["version"]}) if conditions.get("Available") == "True" else frozenset()
