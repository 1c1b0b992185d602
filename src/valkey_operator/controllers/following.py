"""When kube-proxies follow a Service: one that has just written its rules waits a second before it writes them again."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from valkey_operator.kube.kinds import Key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from valkey_operator.controllers.mirror import Mirror
    from valkey_operator.controllers.views import Seen, Slice
    from valkey_operator.core.observed import Service

PAUSE = timedelta(seconds=1.25)
"""The second between two runs of a kube-proxy, as it is set by default, and the run that comes after it."""
CALM = timedelta(seconds=2)
"""After so long without a change every kube-proxy follows the next one at once."""


class Following:
    """The moments by which kube-proxies have followed what the operator saw of Services. An operator that has just started has seen nothing."""

    def __init__(self, mirror: Mirror, *, now: Callable[[], datetime]) -> None:
        self._now = now
        self._changed: datetime | None = None
        self._due: dict[Key, datetime] = {}
        mirror.services.store.subscribe(self._on_service)
        mirror.slices.store.subscribe(self._on_slice)

    def due(self, namespace: str) -> Mapping[str, datetime]:
        """By Service: when kube-proxies have followed its last change, where that came right after another one."""
        return {key.name: due for key, due in self._due.items() if key.namespace == namespace}

    def prune(self) -> None:
        """Forget what they have followed."""
        now = self._now()
        self._due = {key: due for key, due in self._due.items() if now < due}

    def _on_service(self, old: Seen[Service] | None, new: Seen[Service] | None) -> None:
        if old is not None and new is not None and old.view == new.view:
            return  # labels and annotations are nothing to kube-proxy
        seen: Any = new or old
        self._note(Key(seen.child.namespace, seen.child.name))

    def _on_slice(self, old: Slice | None, new: Slice | None) -> None:
        seen: Any = new or old
        self._note(Key(seen.namespace, seen.service))

    def _note(self, key: Key) -> None:
        """Any change is one for each kube-proxy, whichever Service it is of; what is late is this one."""
        now = self._now()
        if self._changed is not None and now < self._changed + CALM:
            self._due[key] = now + PAUSE
        self._changed = now
