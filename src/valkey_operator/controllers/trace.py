"""Which cluster is being worked and in which pass, for every log line on the way."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from valkey_operator.kube.kinds import Key

_pass: ContextVar[dict[str, str] | None] = ContextVar("pass", default=None)


@contextmanager
def tracing(key: Key) -> Iterator[None]:
    """Everything logged inside carries the cluster, its namespace and an id of this pass."""
    token = _pass.set({"namespace": key.namespace, "cluster": key.name, "reconcile_id": uuid.uuid4().hex[:8]})
    try:
        yield
    finally:
        _pass.reset(token)


def current() -> dict[str, str]:
    """What the log line at hand belongs to; empty outside a pass."""
    return _pass.get() or {}
