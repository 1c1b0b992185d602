"""The short-lived pod that looks from inside: its manifest, and what its status means. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from valkey_operator.core import names
from valkey_operator.outside.target import Pair

if TYPE_CHECKING:
    from collections.abc import Mapping

    from valkey_operator.outside.probe import Order
    from valkey_operator.outside.target import Target

    Object = dict[str, Any]

ORDER, USER, PASSWORD, AUTHORITIES = "CHECK_ORDER", "CHECK_USER", "CHECK_PASSWORD", "CHECK_AUTHORITIES"
"""The environment of the pod's program."""
CONTAINER = "check"
_LONGEST = 300
"""Seconds after which Kubernetes ends it, should nobody be there any more to delete it."""


def manifest(target: Target, order: Order, *, name: str, image: str) -> Object:
    """A pod that passes the Pod Security Standard `restricted`, with the login from the connection Secret and no right of its own."""
    secret = names.connection_secret(target.cluster)

    def of_secret(variable: str, key: str, *, optional: bool = False) -> Object:
        return {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key, "optional": optional}}}

    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": target.namespace, "labels": {"app.kubernetes.io/name": "kubectl-valkey"}},
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": _LONGEST,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [
                {
                    "name": CONTAINER,
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["valkey-operator", "probe"],
                    "env": [
                        {"name": ORDER, "value": written(order)},
                        of_secret(USER, "username"),
                        of_secret(PASSWORD, "password"),
                        of_secret(AUTHORITIES, "ca.crt", optional=True),
                    ],
                    "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                }
            ],
        },
    }


def written(order: Order) -> str:
    """An order as the pod's environment holds it."""
    return json.dumps({"pairs": order.pairs, "tls": order.tls, "timeout": order.timeout}, separators=(",", ":"))


def read(text: str) -> Order:
    """What `written` made of it."""
    from valkey_operator.outside.probe import Order  # noqa: PLC0415 - only the pod itself needs it

    raw = json.loads(text)
    return Order(pairs=tuple(Pair(*pair) for pair in raw["pairs"]), tls=raw["tls"], timeout=raw["timeout"])


@dataclass(frozen=True, slots=True)
class Ended:
    """The pod is not worth waiting for any more; `why` is empty when its program succeeded."""

    why: str = ""


def progress(status: Mapping[str, Any]) -> Ended | None:
    """Whether a pod with that status has ended, or is stuck in a way that does not pass by itself; None while it may still come."""
    if status.get("phase") == "Succeeded":
        return Ended()
    states = [container.get("state") or {} for container in status.get("containerStatuses") or ()]
    if status.get("phase") == "Failed":
        codes = [state["terminated"].get("exitCode") for state in states if "terminated" in state]
        return Ended(status.get("message") or f"its program ended with exit code {codes[0] if codes else 'unknown'}")
    for waiting in (state["waiting"] for state in states if "waiting" in state):
        if waiting.get("reason") in (
            "ErrImagePull",
            "ImagePullBackOff",
            "InvalidImageName",
            "ErrImageNeverPull",
            "CreateContainerConfigError",
        ):
            return Ended(f"{waiting['reason']}: {waiting.get('message', '')}")
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return Ended(f"no Kubernetes node takes it: {condition.get('message', '')}")
    return None
