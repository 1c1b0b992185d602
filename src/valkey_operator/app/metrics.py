"""Metrics: what the engine and the reconciler tell, as Prometheus reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import REGISTRY, Counter, Gauge, Histogram, Info

from valkey_operator.api.conditions import State
from valkey_operator.controllers.tally import Tally
from valkey_operator.core.plan import Announce
from valkey_operator.kube.observer import Observer

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from valkey_operator.core.observed import Observed
    from valkey_operator.core.plan import Plan
    from valkey_operator.kube.kinds import Kind
    from valkey_operator.kube.observer import Outcome, Verb

_CLUSTER = ("namespace", "cluster")
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class EngineMetrics(Observer):
    """Of the engine: passes, queue, requests, writes, watches."""

    def __init__(self, version: str, registry: CollectorRegistry = REGISTRY) -> None:
        Info("valkey_operator_build", "The operator's version", registry=registry).info({"version": version})
        self._passes = Counter("valkey_operator_reconciles", "Passes by outcome", ["outcome"], registry=registry)
        self._seconds = Histogram("valkey_operator_reconcile_seconds", "Duration of a pass", buckets=_SECONDS, registry=registry)
        self._depth = Gauge("valkey_operator_queue_depth", "Clusters that wait for a worker", registry=registry)
        self._requests = Counter(
            "valkey_operator_api_requests", "Requests to the API server", ["kind", "verb", "code"], registry=registry
        )
        self._writes = Counter("valkey_operator_api_writes", "Writes to the API server", ["kind", "verb"], registry=registry)
        self._lists = Counter("valkey_operator_lists", "Lists by reflectors", ["kind", "reason"], registry=registry)
        self._watches = Counter("valkey_operator_watches_ended", "Ends of watches", ["kind"], registry=registry)
        self.leader = Gauge("valkey_operator_leader", "1 while this replica leads", registry=registry)

    def reconciled(self, key: object, seconds: float, outcome: Outcome) -> None:  # noqa: ARG002  # a label per key would be one series each
        """A pass ended."""
        self._passes.labels(outcome).inc()
        self._seconds.observe(seconds)

    def queued(self, depth: int) -> None:
        """The queue's length changed."""
        self._depth.set(depth)

    def wrote(self, kind: Kind, verb: Verb) -> None:
        """A write was carried out."""
        self._writes.labels(kind.kind, verb).inc()

    def answered(self, kind: Kind, verb: str, code: int, seconds: float) -> None:  # noqa: ARG002  # durations would be a series per kind and verb
        """A request ended."""
        self._requests.labels(kind.kind, verb, str(code)).inc()

    def listed(self, kind: Kind, reason: str) -> None:
        """A reflector listed anew."""
        self._lists.labels(kind.kind, reason).inc()

    def watch_ended(self, kind: Kind, reason: str) -> None:  # noqa: ARG002  # reasons are sentences
        """A watch ended."""
        self._watches.labels(kind.kind).inc()


class ClusterMetrics(Tally):
    """Of each cluster: state, shards, endpoints, repairs, certificate. The series go with the cluster."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._state = Gauge(
            "valkey_operator_cluster_state", "1 for the state that a cluster is in", [*_CLUSTER, "state"], registry=registry
        )
        self._shards = Gauge("valkey_operator_cluster_shards", "Shards wanted", _CLUSTER, registry=registry)
        self._ready = Gauge("valkey_operator_cluster_shards_ready", "Shards that are well", _CLUSTER, registry=registry)
        self._announced = Gauge(
            "valkey_operator_cluster_endpoints_announced",
            "Nodes whose outside endpoint all servers tell",
            _CLUSTER,
            registry=registry,
        )
        self._repairs = Counter(
            "valkey_operator_announcement_repairs",
            "Announcements that had been changed behind the operator's back",
            _CLUSTER,
            registry=registry,
        )

        self._expiry = Gauge(
            "valkey_operator_certificate_expiry_timestamp_seconds",
            "When the servers' certificate, or the first of those that vouch for it, is no longer valid",
            _CLUSTER,
            registry=registry,
        )

    def planned(self, observed: Observed, plan: Plan) -> None:
        """A pass was decided."""
        cluster, status = observed.cluster, plan.status
        name = (cluster.namespace, cluster.name)
        for state in State:
            self._state.labels(*name, state.value).set(1 if status.state is state else 0)
        self._shards.labels(*name).set(cluster.spec.shards)
        self._ready.labels(*name).set(status.ready_shards)
        endpoints = status.external_access.endpoints if status.external_access is not None else ()
        self._announced.labels(*name).set(sum(node.announced for shard in endpoints for node in shard.nodes))
        if observed.tls is not None and observed.tls.standing is not None:
            self._expiry.labels(*name).set(observed.tls.standing.ends.timestamp())
        repaired = sum(1 for action in plan.actions if isinstance(action, Announce) and _is_repair(observed, action))
        if repaired:
            self._repairs.labels(*name).inc(repaired)

    def gone(self, namespace: str, name: str) -> None:
        """A cluster is no more."""
        for state in State:
            _drop(self._state, namespace, name, state.value)
        for metric in (self._shards, self._ready, self._announced, self._repairs, self._expiry):
            _drop(metric, namespace, name)


def _is_repair(observed: Observed, action: Announce) -> bool:
    """Whether what should be announced is as it was, and only the server differs."""
    record = observed.records.get(action.index)
    return action.values is not None and record is not None and record.announce == action.record.announce


def _drop(metric: Gauge | Counter, *labels: str) -> None:
    try:
        metric.remove(*labels)
    except KeyError:
        return  # it was never set
