"""Tells people what happened, as events.k8s.io/v1 Events: said once, never in the way, never the cause of a failure."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections import OrderedDict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from valkey_operator.kube.errors import KubeError
from valkey_operator.kube.kinds import EVENT

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from valkey_operator.kube.client import Kube

log = logging.getLogger(__name__)

EventType = Literal["Normal", "Warning"]

_NOTE_LIMIT = 1024
"""Bytes; the API server refuses more, though it calls them characters."""
_REMEMBERED = 2000


class Recorder:
    """Takes events at any time without waiting; `run` writes them, at a bounded rate, until cancelled."""

    def __init__(
        self,
        kube: Kube,
        *,
        controller: str,
        instance: str,
        quiet_seconds: float = 600.0,
        per_second: float = 5.0,
        burst: int = 25,
        pending: int = 500,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`controller` and `instance` say who reports: valkey.io/valkey-operator and the pod's name.

        What was said (same object, reason and note) is not said again for `quiet_seconds`. More than `pending` at a time are dropped.
        """
        self._kube = kube
        self._controller = controller
        self._instance = instance
        self._quiet_seconds = quiet_seconds
        self._per_second = per_second
        self._burst = float(burst)
        self._now = now
        self._said: OrderedDict[Hashable, float] = OrderedDict()
        self._pending: asyncio.Queue[dict[str, Any]] = asyncio.Queue(pending)

    def emit(self, regarding: Mapping[str, Any], *, reason: str, note: str, action: str, type_: EventType = "Normal") -> bool:
        """Say it soon; False if it was said a short while ago or there is too much to say.

        `regarding` is the object or a reference to it: apiVersion, kind, and name, namespace, uid (in metadata or beside them).
        `reason` and `action` are PascalCase words: why, and what was done or failed.
        """
        about = _reference(regarding)
        key = (about.get("kind"), about.get("namespace"), about.get("name"), about.get("uid"), type_, reason, note)
        now = self._now()
        if key in self._said and now - self._said[key] < self._quiet_seconds:
            return False
        try:
            self._pending.put_nowait(self._event(about, reason=reason, note=note, action=action, type_=type_))
        except asyncio.QueueFull:
            log.warning("too many events at once, dropped: %s %s", reason, note)
            return False
        self._said[key] = now
        self._said.move_to_end(key)
        while len(self._said) > _REMEMBERED:
            self._said.popitem(last=False)
        return True

    async def run(self) -> NoReturn:
        """Write what was emitted."""
        tokens, filled_at = self._burst, self._now()
        while True:
            event = await self._pending.get()
            now = self._now()
            tokens, filled_at = min(self._burst, tokens + (now - filled_at) * self._per_second), now
            if tokens < 1:
                await asyncio.sleep((1 - tokens) / self._per_second)
            tokens -= 1
            try:
                await self._kube.create(EVENT, event)
            except KubeError as error:
                log.warning("could not write an event: %s", error.message, extra={"reason": event["reason"]})

    def _event(self, about: dict[str, Any], *, reason: str, note: str, action: str, type_: EventType) -> dict[str, Any]:
        return {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {
                "name": f"{about['name'][:200]}.{uuid.uuid4().hex[:16]}",
                "namespace": about.get("namespace") or "default",
            },
            "eventTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "regarding": about,
            "type": type_,
            "reason": reason,
            "action": action,
            "note": shortened(note),
        }


def shortened(note: str) -> str:
    """A note that the API server takes, cut where it is too long."""
    written = note.encode()
    if len(written) <= _NOTE_LIMIT:
        return note
    return written[: _NOTE_LIMIT - len("…".encode())].decode(errors="ignore") + "…"


def _reference(regarding: Mapping[str, Any]) -> dict[str, Any]:
    named = regarding.get("metadata", regarding)
    keys = {"apiVersion": regarding, "kind": regarding, "name": named, "namespace": named, "uid": named}
    return {key: where[key] for key, where in keys.items() if where.get(key)}
