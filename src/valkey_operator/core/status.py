"""The whole status of a cluster and of its nodes, and what of a change of it is worth an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from valkey_operator.api.conditions import ConditionStatus, ConditionType, Reason, State
from valkey_operator.api.external_access import AnnounceWhen
from valkey_operator.api.status import Announced, ClusterStatus, Condition, NodeStatus
from valkey_operator.core.access_status import role
from valkey_operator.core.exposure import shard_addressed
from valkey_operator.core.observed import Server
from valkey_operator.core.plan import Event
from valkey_operator.core.sending_away import owed_since
from valkey_operator.core.times import stamp

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from valkey_operator.api.status import ExternalAccessStatus
    from valkey_operator.core.health import Health, Lack
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Cluster, Observed
    from valkey_operator.core.topology import Topology


@dataclass(frozen=True, slots=True)
class Failure:
    """An action that did not succeed, in words for a person: what, where, what now."""

    reason: Reason
    message: str
    external: bool = False
    """Whether it concerns external access alone, so that the cluster itself may be Ready."""
    passing: bool = False
    """Whether the next look may find it gone: it explains a condition that is not well anyway, and makes none so."""


def is_formed(status: ClusterStatus) -> bool:
    """Whether the cluster ever was whole."""
    condition = status.condition(ConditionType.CLUSTER_FORMED)
    return condition is not None and condition.status is ConditionStatus.TRUE


def is_settled(status: ClusterStatus, *, generation: int) -> bool:
    """Whether nothing was left to do when this was written, for the spec as it is now."""
    outside = status.condition(ConditionType.EXTERNAL_ACCESS_READY)
    well = status.state is State.READY and (outside is None or outside.status is ConditionStatus.TRUE)
    return well and status.observed_generation == generation


def cluster_status(
    observed: Observed,
    topology: Topology,
    health: Health,
    *,
    external: ExternalAccessStatus | None,
    external_lack: Lack | None,
    risks: Sequence[Lack],
    now: datetime,
) -> ClusterStatus:
    """What was observed, as a status; `external_lack` is what keeps external access from being ready."""
    formed = health.whole or is_formed(observed.cluster.status)
    first = health.lacks[0] if health.lacks else None
    write = _Writer(observed.cluster.status, observed.cluster.generation, now)
    conditions = [
        write(
            ConditionType.READY,
            first is None,
            first.reason if first else Reason.CLUSTER_HEALTHY,
            first.message if first else "all shards serve",
        ),
        write(
            ConditionType.PROGRESSING,
            first is not None,
            first.reason if first else Reason.RECONCILE_COMPLETE,
            first.message if first else "nothing is left to do",
        ),
        _degraded(write, health, formed=formed),
        write(
            ConditionType.CLUSTER_FORMED,
            formed,
            Reason.TOPOLOGY_COMPLETE if formed else Reason.ADDING_NODES,
            "all servers have met" if formed else "the servers have not all met yet",
        ),
        write(
            ConditionType.SLOTS_ASSIGNED,
            health.slots_assigned,
            Reason.ALL_SLOTS_ASSIGNED if health.slots_assigned else Reason.SLOTS_UNASSIGNED,
            "all 16384 slots are served" if health.slots_assigned else "some slots are served by nobody who answers",
        ),
        *_external(write, observed.cluster, external, external_lack),
        *_warning(write, risks),
    ]
    return _with_words(
        ClusterStatus(
            observed_generation=observed.cluster.generation,
            shards=len({index.shard for index, server in topology.servers.items() if server.me.primary and server.me.slots}),
            ready_shards=health.ready_shards,
            external_access=external,
            conditions=tuple(conditions),
        ),
        formed=formed,
    )


def refused_status(status: ClusterStatus, mistakes: Sequence[str], *, generation: int, now: datetime) -> ClusterStatus:
    """The status of a stored object that says what this operator cannot do: nothing is changed until it is corrected."""
    write = _Writer(status, generation, now)
    message = "; ".join(mistakes)
    written = (
        write(ConditionType.READY, False, Reason.INVALID_SPEC, message),
        write(ConditionType.PROGRESSING, False, Reason.INVALID_SPEC, "waits for the spec to be corrected"),
    )
    kept = tuple(
        condition for condition in status.conditions if condition.type not in (ConditionType.READY, ConditionType.PROGRESSING)
    )
    words = {"state": State.FAILED, "reason": Reason.INVALID_SPEC.value, "message": message}
    return status.model_copy(update={**words, "observed_generation": generation, "conditions": (*written, *kept)})


def with_failures(status: ClusterStatus, cluster: Cluster, failures: Sequence[Failure], *, now: datetime) -> ClusterStatus:
    """The status with what failed in the same pass: an action that failed is never hidden by a condition that looks well."""
    write = _Writer(cluster.status, cluster.generation, now)
    changed: dict[str, Condition] = {condition.type: condition for condition in status.conditions}
    ready = changed[ConditionType.READY]
    lasting = [failure for failure in failures if not failure.passing]
    outside = next((failure for failure in lasting if failure.external), None)
    inside = next((failure for failure in lasting if not failure.external), None)
    if outside is not None:
        changed[ConditionType.EXTERNAL_ACCESS_READY] = write(
            ConditionType.EXTERNAL_ACCESS_READY, False, outside.reason, outside.message
        )
    if inside is not None:
        changed[ConditionType.DEGRADED] = write(ConditionType.DEGRADED, True, inside.reason, inside.message)
        changed[ConditionType.READY] = write(ConditionType.READY, False, inside.reason, inside.message)
    elif len(lasting) < len(failures) and ready.status is ConditionStatus.FALSE:
        words = next(failure.message for failure in failures if failure.passing)
        changed[ConditionType.READY] = ready.model_copy(update={"message": f"{ready.message} ({words})"})
    external = status.external_access
    if external is not None and outside is not None:
        external = external.model_copy(update={"ready": False})
    return _with_words(
        status.model_copy(update={"conditions": tuple(changed.values()), "external_access": external}), formed=is_formed(status)
    )


def node_status(observed: Observed, index: NodeIndex, *, now: datetime) -> NodeStatus | None:
    """The status of one node; None where there is no record to write it to."""
    record = observed.records.get(index)
    if record is None:
        return None
    pod, server = observed.pods.get(index), observed.servers.get(index)
    before = record.status
    status = before.model_copy(
        update={
            "pod_name": pod.name if pod else "",
            "pod_ip": pod.ip or "" if pod else "",
            "machine": pod.machine or "" if pod else "",
            "role": role(observed, index),
        }
    )
    if not isinstance(server, Server):
        return status.model_copy(update={"ready": False})
    host, port = server.me.hostname, server.me.port
    return status.model_copy(
        update={
            "node_id": server.id,
            "sending_away_since": owed_since(observed, index, now=now),
            "ready": bool(pod and pod.ready) and server.state_ok and bool(role(observed, index)),
            "version": ".".join(str(part) for part in server.version),
            "announced": Announced(host=host, port=port, address=f"{host}:{port}"),
            "certificate": server.served_certificate or before.certificate,
        }
    )


def transitions(before: ClusterStatus, after: ClusterStatus) -> tuple[Event, ...]:
    """Events for what changed for people; a status that says the same again yields none."""
    events = (_transition(before.condition(ConditionType(condition.type)), condition) for condition in after.conditions)
    return tuple(event for event in events if event is not None)


def _transition(old: Condition | None, new: Condition) -> Event | None:
    """The event of one condition's change; None where there is none to tell."""
    true = new.status is ConditionStatus.TRUE
    changed = old is None or (old.status, old.reason) != (new.status, new.reason)
    match ConditionType(new.type):
        case ConditionType.CONFIGURATION_WARNING if true and (old is None or old.message != new.message):
            return Event(new.reason, new.message, warning=True)
        case ConditionType.READY if changed and true:
            return Event("ClusterReady", new.message)
        case ConditionType.DEGRADED if changed and true:
            return Event(new.reason, new.message, warning=True)
        case ConditionType.DEGRADED if old is not None and old.status is ConditionStatus.TRUE and not true:
            return Event("Recovered", new.message)
        case ConditionType.EXTERNAL_ACCESS_READY if changed:
            return Event("ExternalAccessReady" if true else new.reason, new.message, warning=new.reason in _TO_ACT_ON)
    return None


_TO_ACT_ON = frozenset(
    reason.value
    for reason in (
        Reason.SERVICE_CONFLICT,
        Reason.OBJECT_CONFLICT,
        Reason.INVALID_ADVERTISED_HOST,
        Reason.HOST_CLAIMED,
        Reason.UNSUPPORTED_VALKEY_VERSION,
        Reason.NODE_ADDRESS_UNKNOWN,
        Reason.WAITING_FOR_DNS,
        Reason.ROUTE_NOT_ACCEPTED,
        Reason.CERTIFICATE_MISSING_NAMES,
        Reason.CERTIFICATE_INVALID,
    )
)
"""Reasons of external access that do not pass by waiting, or may not: a route's refusal after silence is the same reason, and no other event."""


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes conditions whose time moves only when their status does."""

    status: ClusterStatus
    """As last written."""
    generation: int
    now: datetime

    def __call__(self, type_: ConditionType, true: bool, reason: Reason, message: str) -> Condition:  # a condition's value
        status = ConditionStatus.TRUE if true else ConditionStatus.FALSE
        before = self.status.condition(type_)
        since = before.last_transition_time if before is not None and before.status is status else stamp(self.now)
        return Condition(
            type=type_.value,
            status=status,
            reason=reason.value,
            message=message,
            last_transition_time=since,
            observed_generation=self.generation,
        )


def _degraded(write: _Writer, health: Health, *, formed: bool) -> Condition:
    """Degraded: something needs a person, or a cluster that was whole no longer is."""
    lack = health.degraded or (health.lacks[0] if formed and health.lacks else None)
    if lack is None:
        return write(ConditionType.DEGRADED, False, Reason.CLUSTER_HEALTHY, "nothing is missing that was there")
    return write(ConditionType.DEGRADED, True, lack.reason, lack.message)


def _external(write: _Writer, cluster: Cluster, external: ExternalAccessStatus | None, lack: Lack | None) -> Iterator[Condition]:
    if lack is not None:
        yield write(ConditionType.EXTERNAL_ACCESS_READY, False, lack.reason, lack.message)
    elif external is not None:
        yield write(ConditionType.EXTERNAL_ACCESS_READY, True, Reason.READY, _served(cluster, external))


def _served(cluster: Cluster, external: ExternalAccessStatus) -> str:
    """What is known of endpoints that are all announced: at those that still wait for it the operator never got an answer."""
    if cluster.spec.external_access.announce_when is AnnounceWhen.ALWAYS:
        return "every node announces its endpoint; whether it can be reached is not judged, as spec.externalAccess.announceWhen is Always"
    nodes = [node for shard in external.endpoints for node in shard.nodes]
    unproven = sum(node.waiting_since is not None for node in nodes)
    if not unproven:
        return f"clients outside reach {'the primary of every shard' if shard_addressed(cluster) else 'every node'}"
    return (
        f"every node announces its endpoint; the operator gets no answer at those of {unproven} of {len(nodes)} nodes: "
        "see EndpointsUnproven in the condition ConfigurationWarning"
    )


def _warning(write: _Writer, risks: Sequence[Lack]) -> Iterator[Condition]:
    """Absent without warnings, unless there was one: then it says that there is none any more."""
    if risks:
        reason = risks[0].reason if len({risk.reason for risk in risks}) == 1 else Reason.MULTIPLE_WARNINGS
        yield write(ConditionType.CONFIGURATION_WARNING, True, reason, "; ".join(risk.message for risk in risks))
    elif write.status.condition(ConditionType.CONFIGURATION_WARNING) is not None:
        yield write(ConditionType.CONFIGURATION_WARNING, False, Reason.NO_WARNINGS, "no risks were found")


def _with_words(status: ClusterStatus, *, formed: bool) -> ClusterStatus:
    """The status with its one word, and the reason and message of the condition that it comes from."""
    ready, degraded = status.condition(ConditionType.READY), status.condition(ConditionType.DEGRADED)
    said = ready
    if degraded is not None and degraded.status is ConditionStatus.TRUE:
        state, said = State.DEGRADED, degraded
    elif ready is not None and ready.status is ConditionStatus.TRUE:
        state = State.READY
    else:
        state = State.RECONCILING if formed else State.INITIALIZING
    return status.model_copy(
        update={"state": state, "reason": said.reason if said else "", "message": said.message if said else ""}
    )


def pod_role(observed: Observed, index: NodeIndex) -> str | None:
    """What the role label of a node's pod should be; None where it is to stay as it is."""
    return role(observed, index) or None
