"""What is told of load balancers: since when one is awaited, and what the cloud says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.api.conditions import ConditionType, Reason
from valkey_operator.core.exposure import exposure
from valkey_operator.core.hosts import Missing
from valkey_operator.core.times import stamp

if TYPE_CHECKING:
    from datetime import datetime

    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Observed


def awaited(observed: Observed, service: str, *, now: datetime) -> Missing:
    """That a Service waits for its load balancer, since when, and why as far as the cloud says it."""
    beginning = f"Service {service} waits for its load balancer since "
    said = observed.service_warnings.get(service, "")
    return Missing(
        Reason.WAITING_FOR_LOAD_BALANCER,
        beginning + _since(observed, service, beginning, now=now) + (f": {said}" if said else ""),
    )


def quoted(observed: Observed, index: NodeIndex) -> str:
    """What the cloud says of the balancer of a node, to be put behind a sentence; empty where it says nothing."""
    service = exposure(observed.cluster).service(observed.cluster, index)
    said = observed.service_warnings.get(service, "")
    return f" (Service {service}: {said})" if said else ""


def _since(observed: Observed, service: str, beginning: str, *, now: datetime) -> str:
    """The moment that the condition tells already, else now: no object of Kubernetes has it, a Service may be much older than its wait.

    Of a Service that the condition left out, since it names only some, the wait began neither before the Service nor before all waits.
    """
    told = observed.cluster.status.condition(ConditionType.EXTERNAL_ACCESS_READY)
    if told is None or told.reason != Reason.WAITING_FOR_LOAD_BALANCER:
        return stamp(now)
    _, found, rest = told.message.partition(beginning)
    if found:
        return rest[: len(stamp(now))]
    live = observed.services.get(service)
    return max(told.last_transition_time, stamp(live.created)) if live is not None else stamp(now)
