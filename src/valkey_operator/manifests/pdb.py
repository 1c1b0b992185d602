"""The PodDisruptionBudget of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.core import names
from valkey_operator.manifests.metadata import of_cluster

if TYPE_CHECKING:
    from valkey_operator.core.observed import Cluster
    from valkey_operator.core.plan import DisruptionBudget
    from valkey_operator.manifests.metadata import Manifest


def disruption_budget(cluster: Cluster, _wanted: DisruptionBudget) -> Manifest:
    """One pod at a time: two could be a primary and its only replica."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": of_cluster(cluster, names.disruption_budget(cluster.name)),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {names.CLUSTER: cluster.name}}},
    }
