"""Where a server's pod may run: the user's rules as they stand, then those that `spec.scheduling` spells shorter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.api.scheduling import HOSTNAME_KEY, ZONE_KEY, SpreadMode
from valkey_operator.core import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from valkey_operator.api.scheduling import Scheduling, SpreadRules
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Cluster
    from valkey_operator.manifests.metadata import Manifest

_UNSATISFIABLE = {SpreadMode.REQUIRED: "DoNotSchedule", SpreadMode.PREFERRED: "ScheduleAnyway"}


def scheduling(cluster: Cluster, index: NodeIndex) -> Manifest:
    """The fields of a pod's spec about its place; those that say nothing are left out."""
    wanted = cluster.spec.scheduling
    fields: Manifest = {
        "nodeSelector": dict(wanted.node_selector) | _pinned_zone(wanted, index),
        "affinity": _affinity(cluster.name, wanted, index=index),
        "tolerations": [dict(toleration) for toleration in wanted.tolerations],
        "topologySpreadConstraints": [
            *(dict(constraint) for constraint in wanted.topology_spread_constraints),
            *_node_spread(cluster.name, wanted.node.spread, index=index),
            *_zone_spread(cluster.name, wanted.zone.spread, index=index),
        ],
        "priorityClassName": wanted.priority_class_name,
    }
    return {key: value for key, value in fields.items() if value}


def _affinity(cluster: str, wanted: Scheduling, *, index: NodeIndex) -> Manifest:
    """The user's affinity, and away from the other pods of the shard.

    A replica on its primary's machine is no redundancy, so where nobody says how they are kept apart, it is where possible. This does not
    look at the number of replicas: the template must not change, or pods would restart, when replicas are added.
    """
    mode = wanted.node.spread.shard.mode
    theirs = wanted.affinity.get("podAntiAffinity") or {}
    if mode is SpreadMode.DISABLED and (theirs or wanted.topology_spread_constraints):
        return dict(wanted.affinity)
    term = {"topologyKey": HOSTNAME_KEY, "labelSelector": {"matchLabels": _shard(cluster, index)}}
    if mode is SpreadMode.REQUIRED:
        added: Manifest = term
        field = "requiredDuringSchedulingIgnoredDuringExecution"
    else:
        added = {"weight": 100, "podAffinityTerm": term}
        field = "preferredDuringSchedulingIgnoredDuringExecution"
    return {**wanted.affinity, "podAntiAffinity": {**theirs, field: [*theirs.get(field, []), added]}}


def _node_spread(cluster: str, spread: SpreadRules, *, index: NodeIndex) -> Iterator[Manifest]:
    if index.node == 0:
        yield from _constraint(spread.primaries.mode, key=HOSTNAME_KEY, labels=_first_nodes(cluster))
    yield from _constraint(spread.pods.mode, key=HOSTNAME_KEY, labels={names.CLUSTER: cluster})


def _zone_spread(cluster: str, spread: SpreadRules, *, index: NodeIndex) -> Iterator[Manifest]:
    yield from _constraint(spread.shard.mode, key=ZONE_KEY, labels=_shard(cluster, index))
    if index.node == 0:
        yield from _constraint(spread.primaries.mode, key=ZONE_KEY, labels=_first_nodes(cluster))
    yield from _constraint(spread.pods.mode, key=ZONE_KEY, labels={names.CLUSTER: cluster})


def _constraint(mode: SpreadMode, *, key: str, labels: Mapping[str, str]) -> Iterator[Manifest]:
    if mode is not SpreadMode.DISABLED:
        yield {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": _UNSATISFIABLE[mode],
            "labelSelector": {"matchLabels": dict(labels)},
        }


def _pinned_zone(wanted: Scheduling, index: NodeIndex) -> dict[str, str]:
    if wanted.zone.pinning is None:
        return {}
    zones = wanted.zone.pinning.zones
    return {ZONE_KEY: zones[(index.shard + index.node) % len(zones)]}


def _shard(cluster: str, index: NodeIndex) -> dict[str, str]:
    return {names.CLUSTER: cluster, names.SHARD_INDEX: str(index.shard)}


def _first_nodes(cluster: str) -> dict[str, str]:
    """Where primaries begin: a label that followed the role would not move a pod that runs."""
    return {names.CLUSTER: cluster, names.NODE_INDEX: "0"}
