"""Parts of Kubernetes' own API that are passed on to pods: kept as they were written, checked where `kubectl apply` can help.

They stay dicts, since a model would drop the fields that a newer Kubernetes has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from valkey_operator.api.rule import Check, Structure

Json = dict[str, Any]

QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"


def _text(description: str, **more: object) -> Json:
    return {"type": "string", "description": description, **more}


def _number(description: str, **more: object) -> Json:
    return {"type": "integer", "format": "int64", "description": description, **more}


def _open(description: str, **properties: Json) -> Json:
    """An object whose further fields are kept: Kubernetes checks them when the pods are made."""
    schema: Json = {"type": "object", "description": description, "x-kubernetes-preserve-unknown-fields": True}
    return {**schema, "properties": properties} if properties else schema


def _quantities(description: str) -> Json:
    quantity = {"anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": QUANTITY, "x-kubernetes-int-or-string": True}
    return {"type": "object", "description": description, "additionalProperties": quantity}


RESOURCES: Json = {
    "type": "object",
    "properties": {
        "requests": _quantities('What the container is promised. Example: {"cpu": "500m", "memory": "1Gi"}.'),
        "limits": _quantities('What the container may use at most. Example: {"memory": "1Gi"}.'),
    },
}

TOLERATION: Json = {
    "type": "object",
    "properties": {
        "key": _text("The taint's key; all keys when unset."),
        "operator": _text("How key and value relate: Equal when unset.", enum=["Exists", "Equal"]),
        "value": _text("The taint's value."),
        "effect": _text("The taint's effect; all effects when unset.", enum=["NoSchedule", "PreferNoSchedule", "NoExecute"]),
        "tolerationSeconds": _number("How long a NoExecute taint is tolerated; for ever when unset."),
    },
}

AFFINITY = _open(
    "",
    nodeAffinity=_open("Rules about Kubernetes nodes."),
    podAffinity=_open("Rules about pods to be near."),
    podAntiAffinity=_open("Rules about pods to be away from."),
)

SPREAD_CONSTRAINT: Json = {
    **_open(
        "One rule.",
        maxSkew={"type": "integer", "format": "int32", "minimum": 1, "description": "How uneven the spread may be."},
        topologyKey=_text("The Kubernetes nodes' label that tells places apart.", minLength=1, maxLength=317),
        whenUnsatisfiable=_text("What happens when it cannot be kept.", enum=["DoNotSchedule", "ScheduleAnyway"]),
        labelSelector=_open("The pods that are counted."),
    ),
    "required": ["maxSkew", "topologyKey", "whenUnsatisfiable"],
}

CONTAINER: Json = {
    **_open(
        "A container, or a patch of one.",
        name=_text(
            "The container's name: `server` to patch Valkey's.",
            minLength=1,
            maxLength=63,
            pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        ),
        image=_text("The container's image; of `server` better set spec.image."),
        command={"type": "array", "items": {"type": "string"}, "description": "The program and its first arguments."},
        args={"type": "array", "items": {"type": "string"}, "description": "Arguments."},
        env={
            "type": "array",
            "items": _open("A variable.", name=_text("The variable's name.")),
            "description": "Variables of the environment.",
        },
        resources={**RESOURCES, "description": "What the container is promised and may use."},
    ),
    "required": ["name"],
}

POD_SECURITY_CONTEXT = _open(
    "",
    runAsUser=_number("User that the containers run as.", minimum=0),
    runAsGroup=_number("Group that the containers run as.", minimum=0),
    fsGroup=_number("Group that owns the volumes.", minimum=0),
    runAsNonRoot={"type": "boolean", "description": "Whether root is refused."},
)


def _missing(*fields: str) -> Callable[[Mapping[str, Any]], tuple[tuple[str, str], ...]]:
    return lambda part: tuple((f".{field}", "Field required") for field in fields if field not in part)


Resources = Annotated[Mapping[str, Any], Structure(RESOURCES)]
Toleration = Annotated[Mapping[str, Any], Structure(TOLERATION)]
Affinity = Annotated[Mapping[str, Any], Structure(AFFINITY)]
SpreadConstraint = Annotated[Mapping[str, Any], Structure(SPREAD_CONSTRAINT), Check(_missing(*SPREAD_CONSTRAINT["required"]))]
Container = Annotated[Mapping[str, Any], Structure(CONTAINER), Check(_missing("name"))]
PodSecurityContext = Annotated[Mapping[str, Any], Structure(POD_SECURITY_CONTEXT)]
