"""What Kubernetes and clouds say of a Service: its newest Warning event, which nobody watches."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from valkey_operator.kube.errors import Forbidden, KubeError
from valkey_operator.kube.kinds import EVENT, Key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from valkey_operator.kube.client import Kube

_FRESH = timedelta(seconds=1)
"""So long an answer serves: passes may follow each other ten times as fast, and an API server reads all events of a namespace to answer."""


class ServiceEvents:
    """Asks for the events of Services, of each at most once a second."""

    def __init__(self, kube: Kube, *, now: Callable[[], datetime]) -> None:
        self._kube = kube
        self._now = now
        self._answers: dict[Key, tuple[datetime, str]] = {}

    async def newest_warning(self, service: Key) -> str:
        """The newest Warning event of a Service, `reason: note`; empty where there is none, or where the operator may not list events.

        What could not be asked is as it was: nobody else waits for it.
        """
        asked, said = self._answers.get(service, (None, ""))
        if asked is None or self._now() >= asked + _FRESH:
            with suppress(KubeError):
                said = await self._ask(service)
            self._answers[service] = (self._now(), said)
        return said

    def prune(self) -> None:
        """Forget answers that serve no more."""
        self._answers = {service: answer for service, answer in self._answers.items() if self._now() < answer[0] + _FRESH}

    async def _ask(self, service: Key) -> str:
        selector = f"regarding.kind=Service,regarding.name={service.name},type=Warning"
        try:
            return _newest(await self._kube.list_all(EVENT, service.namespace, field_selector=selector))
        except Forbidden:
            return ""


def _newest(events: Iterable[Mapping[str, Any]]) -> str:
    """Of those that say something: both reason and note may be left out of an event."""
    telling = [event for event in events if event.get("note")]
    newest = max(telling, key=lambda event: str(event["metadata"]["creationTimestamp"]), default=None)
    return ": ".join(part for part in (newest.get("reason"), newest["note"]) if part) if newest is not None else ""
