"""Where pods run: `spec.scheduling`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, ClassVar

from pydantic import Field

from valkey_operator.api.model import Model
from valkey_operator.api.passthrough import Affinity, SpreadConstraint, Toleration
from valkey_operator.api.rule import ATOMIC, Rule, Schema

HOSTNAME_KEY = "kubernetes.io/hostname"
ZONE_KEY = "topology.kubernetes.io/zone"
LABEL_VALUE = r"^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"


class SpreadMode(StrEnum):
    """How firmly pods are kept apart."""

    DISABLED = "Disabled"
    PREFERRED = "Preferred"
    REQUIRED = "Required"


class Spread(Model):
    """How firmly some pods are kept apart."""

    mode: SpreadMode = SpreadMode.DISABLED
    """Required: a pod waits rather than run beside another one. Preferred: where possible. Disabled when unset."""


class SpreadRules(Model):
    """Which pods are kept apart."""

    shard: Spread = Spread()
    """The pods of one shard, so that one failure never takes a primary together with its replicas."""

    primaries: Spread = Spread()
    """The first pods of all shards, so that one failure takes few primaries."""

    pods: Spread = Spread()
    """All pods of the cluster, spread evenly."""


class NodePlacement(Model):
    """How pods are placed on Kubernetes nodes."""

    spread: SpreadRules = SpreadRules()
    """Which pods are kept on different Kubernetes nodes."""


class Pinning(Model):
    """Zones for the pods, in turns."""

    zones: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=63, pattern=LABEL_VALUE)], ...],
        Field(min_length=1, max_length=32),
        ATOMIC,
        Rule(
            cel="self.all(z, self.exists_one(y, y == z))",
            message="names a zone twice: list each once",
            holds=lambda zones: len(set(zones)) == len(zones),
        ),
        Rule(
            cel="self == oldSelf",
            message="cannot be changed while set: remove pinning, wait until the cluster is Ready, then set the new zones",
        ),
    ]
    """Values of the label topology.kubernetes.io/zone; node n of shard i runs in zone number (i + n) modulo their count.
    Example: ["eu-1a", "eu-1b", "eu-1c"]."""


class ZonePlacement(Model):
    """How pods are placed in zones."""

    spread: SpreadRules = SpreadRules()
    """Which pods are kept in different zones. At most one of the three may be Required and at most one Preferred."""

    pinning: Pinning | None = None
    """Fixes each pod to a zone instead of spreading."""


def _is(path: str, mode: SpreadMode) -> str:
    """CEL: whether the spread at the path has the mode."""
    steps = path.split(".")
    present = " && ".join(f"has(self.{'.'.join(steps[: count + 1])})" for count in range(len(steps)))
    return f"({present} && has(self.{path}.mode) && self.{path}.mode == '{mode}')"


def _any_is(paths: tuple[str, ...], mode: SpreadMode) -> str:
    return "(" + " || ".join(_is(path, mode) for path in paths) + ")"


def _those(scheduling: object, paths: tuple[str, ...], mode: SpreadMode) -> int:
    """How many of the spreads at the paths have the mode."""
    return sum(attrgetter(f"{path}.mode")(scheduling) == mode for path in paths)


def _at_most_one(paths: tuple[str, ...], mode: SpreadMode, field_path: str) -> Rule:
    names = ", ".join(path.rsplit(".", 1)[1] for path in paths)
    return Rule(
        cel=" + ".join(f"({_is(path, mode)} ? 1 : 0)" for path in paths) + " <= 1",
        message=f"at most one of {names} may be {mode}, since a pod may have only one such spread constraint: choose another mode for the others",
        holds=lambda scheduling: _those(scheduling, paths, mode) <= 1,
        field_path=field_path,
    )


def _no_collision(paths: tuple[str, ...], mode: SpreadMode, *, key: str, when: str) -> Rule:
    place = paths[0].rsplit(".", 1)[0]
    return Rule(
        cel=f"!has(self.topologySpreadConstraints) || !{_any_is(paths, mode)} || "
        f"!self.topologySpreadConstraints.exists(c, c.topologyKey == '{key}' && c.whenUnsatisfiable == '{when}')",
        message=f"a constraint on {key} with {when} collides with {place} set to {mode}: remove one of the two",
        holds=lambda scheduling: (
            not _those(scheduling, paths, mode)
            or not any(
                constraint.get("topologyKey") == key and constraint.get("whenUnsatisfiable") == when
                for constraint in scheduling.topology_spread_constraints
            )
        ),
        field_path=".topologySpreadConstraints",
    )


_NODE = ("node.spread.primaries", "node.spread.pods")
_ZONE = ("zone.spread.shard", "zone.spread.primaries", "zone.spread.pods")
_KINDS = ((SpreadMode.REQUIRED, "DoNotSchedule"), (SpreadMode.PREFERRED, "ScheduleAnyway"))


class Scheduling(Model):
    """Where the cluster's pods may and should run."""

    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=64), ATOMIC] = ()
    """Taints of Kubernetes nodes that the pods tolerate, as in a pod."""

    node_selector: Annotated[Mapping[str, Annotated[str, Field(max_length=63)]], Schema({"maxProperties": 64})] = Field(
        default_factory=dict
    )
    """Labels that a Kubernetes node must have, as in a pod. Example: {"disktype": "ssd"}."""

    affinity: Affinity = Field(default_factory=dict)
    """Affinity as in a pod; what node and zone ask for is added to it."""

    topology_spread_constraints: Annotated[tuple[SpreadConstraint, ...], Field(max_length=16), ATOMIC] = ()
    """Spread constraints as in a pod; what node and zone ask for is added to them."""

    priority_class_name: Annotated[str, Field(max_length=253)] = ""
    """The pods' PriorityClass."""

    node: NodePlacement = NodePlacement()
    """Placement on Kubernetes nodes."""

    zone: ZonePlacement = ZonePlacement()
    """Placement in zones."""

    rules: ClassVar[tuple[Rule, ...]] = (
        *(_at_most_one(_NODE, mode, ".node.spread") for mode, _ in _KINDS),
        *(_at_most_one(_ZONE, mode, ".zone.spread") for mode, _ in _KINDS),
        *(_no_collision(_NODE, mode, key=HOSTNAME_KEY, when=when) for mode, when in _KINDS),
        *(_no_collision(_ZONE, mode, key=ZONE_KEY, when=when) for mode, when in _KINDS),
        Rule(
            cel=f"!has(self.zone) || !has(self.zone.pinning) || !({_any_is(_ZONE, SpreadMode.REQUIRED)} || {_any_is(_ZONE, SpreadMode.PREFERRED)})",
            message="pods that are pinned to zones cannot be spread over them as well: remove pinning, or set every zone.spread mode to Disabled",
            holds=lambda scheduling: (
                scheduling.zone.pinning is None or _those(scheduling, _ZONE, SpreadMode.DISABLED) == len(_ZONE)
            ),
            field_path=".zone.pinning",
            reason="FieldValueForbidden",
        ),
        Rule(
            cel=f"!has(self.zone) || !has(self.zone.pinning) || !has(self.nodeSelector) || !('{ZONE_KEY}' in self.nodeSelector)",
            message=f"{ZONE_KEY} is set by zone.pinning: remove it here, or remove pinning",
            holds=lambda scheduling: scheduling.zone.pinning is None or ZONE_KEY not in scheduling.node_selector,
            field_path=".nodeSelector",
            reason="FieldValueForbidden",
        ),
    )
