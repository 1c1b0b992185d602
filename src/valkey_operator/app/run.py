"""The operator, wired together: lead, mirror, reconcile, until told to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import AsyncExitStack, suppress
from importlib.metadata import version
from typing import TYPE_CHECKING

from valkey_operator.app.health import HealthServer
from valkey_operator.app.metrics import ClusterMetrics, EngineMetrics
from valkey_operator.app.settings import LEASE_NAME
from valkey_operator.controllers.cluster import ClusterReconciler
from valkey_operator.controllers.mirror import Mirror
from valkey_operator.controllers.observe import Eyes
from valkey_operator.controllers.perform import Hands
from valkey_operator.controllers.vigil import Vigil
from valkey_operator.kube.client import Kube
from valkey_operator.kube.controller import Controller
from valkey_operator.kube.events import Recorder
from valkey_operator.kube.lease import lead
from valkey_operator.kube.queue import Queue
from valkey_operator.valkey.connection import Servers

if TYPE_CHECKING:
    from valkey_operator.app.settings import Settings
    from valkey_operator.kube.kinds import Key

log = logging.getLogger(__name__)

CONTROLLER = "valkey.io/valkey-operator"


class Operator:
    """One replica of the operator."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._engine = EngineMetrics(version("valkey-operator"))
        self._clusters = ClusterMetrics()
        self._standing_by = False
        self._controller: Controller[Key] | None = None

    def ready(self) -> bool:
        """Whether it works, or waits for the Lease of a replica that does."""
        return self._standing_by or (self._controller is not None and self._controller.ready.is_set())

    async def run(self) -> None:
        """Work, or stand by, until cancelled. Raises LeaseLost when another replica took over: start again then."""
        settings = self._settings
        async with AsyncExitStack() as stack:
            kube = await stack.enter_async_context(Kube(kubeconfig=settings.kubeconfig, observer=self._engine))
            if settings.http_port:
                stack.enter_context(HealthServer(settings.http_port, loop=asyncio.get_running_loop(), ready=self.ready))
            log.info("valkey-operator %s at %s", version("valkey-operator"), kube.server)
            if not settings.leader_elect:
                await self._work(kube)
                return
            self._standing_by = True
            await lead(
                kube,
                namespace=settings.lease_namespace or kube.namespace,
                name=LEASE_NAME,
                identity=settings.identity,
                work=lambda: self._work(kube),
            )

    async def _work(self, kube: Kube) -> None:
        """Everything that only the leader does."""
        self._engine.leader.set(1)
        servers = Servers()
        queue: Queue[Key] = Queue(observer=self._engine)
        vigil = Vigil(queue.add)
        try:
            mirror = await Mirror.of(kube, namespace=self._settings.namespace, observer=self._engine)
            if mirror.machines is None:
                log.warning("no right to read nodes: node ports are advertised at the internal addresses of pods' hosts")
            recorder = Recorder(kube, controller=CONTROLLER, instance=self._settings.identity)
            eyes = Eyes(kube, mirror, servers, domain=self._settings.cluster_domain)
            hands = Hands(kube, mirror, servers, eyes)
            reconciler = ClusterReconciler(kube, mirror, eyes, hands, recorder, vigil=vigil, tally=self._clusters)
            self._controller = Controller(
                reconciler, sources=mirror.sources(), workers=self._settings.workers, queue=queue, observer=self._engine
            )
            self._standing_by = False
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(recorder.run(), name="events")
                tasks.create_task(self._controller.run(), name="controller")
        finally:
            self._engine.leader.set(0)
            await vigil.aclose()
            await servers.aclose()


def run(settings: Settings) -> None:
    """Run the operator until SIGTERM or SIGINT; what it holds is given back before this returns."""

    async def until_told() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, task.cancel if task is not None else loop.stop)
        await Operator(settings).run()

    with suppress(asyncio.CancelledError):
        asyncio.run(until_told())
    log.info("stopped")
