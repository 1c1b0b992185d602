"""The reconciler: observe, decide, perform, tell."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from valkey_operator.api.cluster import API_VERSION
from valkey_operator.controllers.mirror import VALKEY_CLUSTER, VALKEY_NODE
from valkey_operator.controllers.tally import SILENT
from valkey_operator.controllers.trace import tracing
from valkey_operator.controllers.views import InvalidCluster
from valkey_operator.core import names
from valkey_operator.core.decide import decide
from valkey_operator.core.rest import rest_seconds, undisturbed
from valkey_operator.core.status import is_formed, is_settled, refused_status, transitions, with_failures
from valkey_operator.kube.controller import DONE, Result
from valkey_operator.kube.errors import KubeError, NotFound
from valkey_operator.kube.kinds import Key
from valkey_operator.manifests.status import cluster_status, node_status

if TYPE_CHECKING:
    from collections.abc import Callable

    from valkey_operator.api.status import ClusterStatus, NodeStatus
    from valkey_operator.controllers.mirror import Mirror
    from valkey_operator.controllers.observe import Eyes
    from valkey_operator.controllers.perform import Hands
    from valkey_operator.controllers.tally import Tally
    from valkey_operator.controllers.vigil import Vigil
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Cluster, Observed
    from valkey_operator.core.plan import Event, Plan
    from valkey_operator.core.status import Failure
    from valkey_operator.kube.client import Kube
    from valkey_operator.kube.events import Recorder
    from valkey_operator.manifests.metadata import Manifest

_RETRY_SECONDS = 5.0
"""After a failure that only a person can end (a name taken, a right missing): often enough to notice, far from hot."""

_REFUSED_SECONDS = 1.0
"""After a server of a cluster that was whole refused a command: while one forms, refusals that pass in a moment are a part of it."""


class ClusterReconciler:
    """Drives ValkeyClusters to their spec, one step a call; holds nothing that cannot be lost."""

    def __init__(
        self,
        kube: Kube,
        mirror: Mirror,
        eyes: Eyes,
        hands: Hands,
        recorder: Recorder,
        *,
        vigil: Vigil,
        tally: Tally = SILENT,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._kube = kube
        self._mirror = mirror
        self._eyes = eyes
        self._hands = hands
        self._recorder = recorder
        self._vigil = vigil
        self._tally = tally
        self._now = now

    async def __call__(self, key: Key, *, quiet: bool) -> Result:
        """Drive one ValkeyCluster one step closer to its spec. `quiet`: nothing changed, it is only time for a look."""
        with tracing(key):
            return await self._reconcile(key, quiet=quiet)

    async def _reconcile(self, key: Key, *, quiet: bool) -> Result:
        cluster = self._mirror.clusters.store.get(key.namespace, key.name)
        if cluster is None:
            self._tally.gone(key.namespace, key.name)
            self._vigil.keep(key, ())
            await self._eyes.prune()
            return DONE
        if isinstance(cluster, InvalidCluster):
            await self._refuse(cluster)
            return DONE
        if quiet and is_settled(cluster.status, generation=cluster.generation):
            index = self._turn(cluster)
            if undisturbed(await self._eyes.observe(cluster, only=index), index, now=self._now()):
                return Result(wake_after=rest_seconds(cluster), quiet=True)
        observed = await self._eyes.observe(cluster)
        plan = decide(observed, now=self._now())
        return await self._carry_out(observed, plan)

    def _turn(self, cluster: Cluster) -> NodeIndex:
        """Whose view is asked for at this look: each node's in turn, by the clock."""
        nodes = tuple(names.node_indexes(shards=cluster.spec.shards, replicas=cluster.spec.replicas))
        return nodes[int(self._now().timestamp() / rest_seconds(cluster)) % len(nodes)]

    async def _carry_out(self, observed: Observed, plan: Plan) -> Result:
        """Perform, then tell what was observed and what failed; an error that may pass is raised only after that."""
        cluster = observed.cluster
        self._tally.planned(observed, plan)
        failures: tuple[Failure, ...] = ()
        passing: KubeError | None = None
        try:
            failures = await self._hands.perform(plan.actions, observed)
        except KubeError as error:
            passing = error
        status = with_failures(plan.status, cluster, failures, now=self._now()) if failures else plan.status
        await asyncio.gather(
            self._tell(cluster, status),
            *(self._tell_node(observed, index, told) for index, told in plan.node_status.items()),
        )
        for event in plan.events:
            self._emit(cluster, event)
        await self._listen(observed, plan)
        if passing is not None:
            raise passing
        if plan.quiet:
            await self._eyes.prune()
        if any(not failure.passing for failure in failures):
            return Result(wake_after=min(plan.wake_after or _RETRY_SECONDS, _RETRY_SECONDS))
        wake_after = plan.wake_after
        if failures and is_formed(cluster.status) and wake_after is not None:
            wake_after = max(wake_after, _REFUSED_SECONDS)
        return Result(wake_after=wake_after, quiet=plan.quiet and not failures)

    async def _listen(self, observed: Observed, plan: Plan) -> None:
        addresses = {index: await self._eyes.address(observed, index) for index in plan.listen}
        places = [(address, plan.listen[index]) for index, address in addresses.items() if address is not None]
        self._vigil.keep(Key(observed.cluster.namespace, observed.cluster.name), places)

    async def _tell(self, cluster: Cluster, status: ClusterStatus) -> None:
        if status != cluster.status:
            try:
                await self._kube.apply(VALKEY_CLUSTER, _body(cluster, status), subresource="status")
            except NotFound:
                return  # it was deleted meanwhile, as the mirror is about to tell
            for event in transitions(cluster.status, status):
                self._emit(cluster, event)

    async def _tell_node(self, observed: Observed, index: NodeIndex, status: NodeStatus) -> None:
        record = observed.records[index]
        if status != record.status:
            body = node_status(observed.cluster, index, uid=record.uid, status=status)
            with suppress(NotFound):  # deleted meanwhile: the mirror is about to tell
                await self._kube.apply(VALKEY_NODE, body, subresource="status")

    async def _refuse(self, cluster: InvalidCluster) -> None:
        status = refused_status(cluster.status, cluster.mistakes, generation=cluster.generation, now=self._now())
        if status != cluster.status:
            await self._kube.apply(VALKEY_CLUSTER, _body(cluster, status), subresource="status")

    def _emit(self, cluster: Cluster, event: Event) -> None:
        regarding = {
            "apiVersion": API_VERSION,
            "kind": VALKEY_CLUSTER.kind,
            "name": cluster.name,
            "namespace": cluster.namespace,
            "uid": cluster.uid,
        }
        self._recorder.emit(
            regarding, reason=event.reason, note=event.note, action="Reconcile", type_="Warning" if event.warning else "Normal"
        )


def _body(cluster: Cluster | InvalidCluster, status: ClusterStatus) -> Manifest:
    return cluster_status(cluster.name, namespace=cluster.namespace, uid=cluster.uid, status=status)
