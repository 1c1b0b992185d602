"""The view of a pod: where it runs, whether it does, and why not."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from valkey_operator.controllers.views import Object, Seen, child
from valkey_operator.core import names, observed
from valkey_operator.core.observed import Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator

_ON_THE_WAY = frozenset({"ContainerCreating", "PodInitializing"})
"""Reasons of a waiting container that are no trouble."""

_LOST_SIGHT = frozenset({"Unknown", "ContainerStatusUnknown"})
"""Reasons of a container that ended with its machine: the kubelet, back again, does not know how, and starts it anew."""

_OVER = frozenset({"Failed", "Succeeded"})
"""Phases of a pod that never runs again, and whose address may be another's by now."""

_LONGEST_MESSAGE = 1000


def pod(obj: Object) -> Seen[observed.Pod]:
    """The pod of one server."""
    metadata, spec, status = obj["metadata"], obj["spec"], obj.get("status", {})
    labels = metadata.get("labels", {})
    made = child(obj)
    running = _server(status).get("state", {}).get("running")
    started = running and running.get("startedAt")
    return Seen(
        made,
        observed.Pod(
            name=metadata["name"],
            uid=metadata["uid"],
            ip=None if status.get("phase") in _OVER else status.get("podIP"),
            machine=spec.get("nodeName"),
            host_ips=_host_ips(status),
            ready=_condition(status, "Ready").get("status") == "True",
            running=running is not None,
            started=datetime.fromisoformat(started) if started else None,
            deleting=metadata.get("deletionTimestamp") is not None,
            role=labels.get(names.ROLE),
            serving=labels.get(names.SERVING) == "true",
            revision=labels.get("controller-revision-hash", ""),
            trouble=_trouble(status),
            certificate=metadata.get("annotations", {}).get(names.CERTIFICATE),
            owner_uid=made.owner_uid,
        ),
    )


def _server(status: Object) -> Object:
    statuses = status.get("containerStatuses", ())
    return next((container for container in statuses if container["name"] == names.SERVER_CONTAINER), {})


def _condition(status: Object, type_: str) -> Object:
    return next((condition for condition in status.get("conditions", ()) if condition["type"] == type_), {})


def _host_ips(status: Object) -> tuple[str, ...]:
    """The addresses of the machine, the pod's own IP family first; `hostIPs` is missing before Kubernetes 1.29."""
    addresses = tuple(entry["ip"] for entry in status.get("hostIPs", ()))
    return addresses or ((status["hostIP"],) if status.get("hostIP") else ())


def _trouble(status: Object) -> Trouble | None:
    """Why the pod does not run or is not whole; None while all goes well or is on its way."""
    if status.get("phase") == "Failed":
        return Trouble(reason=status.get("reason", "Failed"), message=status.get("message", ""))
    scheduled = _condition(status, "PodScheduled")
    if scheduled.get("status") == "False":
        return Trouble(reason=scheduled.get("reason", "Unschedulable"), message=scheduled.get("message", ""))
    return next(_container_troubles(status), None)


def _container_troubles(status: Object) -> Iterator[Trouble]:
    """Of each container that neither runs nor is about to, with what it said last: Valkey names the directive that it stumbled over."""
    for container in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        state = container.get("state", {})
        waiting, ended = state.get("waiting"), state.get("terminated")
        if waiting is not None and waiting.get("reason", "ContainerCreating") not in _ON_THE_WAY:
            last_words = container.get("lastState", {}).get("terminated", {}).get("message")
            yield _container_trouble(container, waiting["reason"], last_words or waiting.get("message", ""))
        elif ended is not None and ended.get("exitCode") != 0 and ended.get("reason") not in _LOST_SIGHT:
            yield _container_trouble(container, ended.get("reason", "Error"), ended.get("message", ""))


def _container_trouble(container: Object, reason: str, message: str) -> Trouble:
    words = message.strip()[-_LONGEST_MESSAGE:]
    where = "" if container["name"] == names.SERVER_CONTAINER else f"container {container['name']}: "
    return Trouble(reason=reason, message=where + words)
