"""External access turned on, changed and turned off: how long until every server tells it, and whether any client notices."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from bench.bench import AFTERMATH_SECONDS, NAME, replaced
from bench.clusters import GIVEN_ADDRESS, GIVEN_AFTER, NODE_PORT, OFF, ONE_BALANCER
from bench.figures import Figure
from bench.witness import Witness
from tests.e2e import programs

if TYPE_CHECKING:
    from typing import Any

    from bench.bench import Bench
    from bench.clusters import Clusters

DRAIN_SECONDS = 3
CALM_SECONDS = 2.0
"""In this time kube-proxy has done what it had to do."""


def enabling(bench: Bench) -> list[Figure]:
    """Node ports turned on while clients inside work, one for long and new ones all the time."""
    ready, proxied, told, errors, restarts = [], [], [], [], []
    for _ in bench.repeatedly("enable NodePort under load"):
        with bench.clusters("enable") as clusters:
            clusters.create(NAME)
            clusters.await_true("Ready", [NAME])
            before = clusters.servers(NAME)
            login = clusters.login(NAME, outside=False)
            with (
                bench.load([], login, newcomers=True) as seen,
                Witness(before, lambda held=clusters: held.node_port_pairs(NAME), login=login) as witness,  # type: ignore[misc]
            ):
                began = time.monotonic()
                clusters.change(NAME, NODE_PORT)
                ready.append(clusters.await_true("ExternalAccessReady", [NAME]) - began)
                last_known, last_answered, last_told = witness.told()
                time.sleep(AFTERMATH_SECONDS)
            proxied.append(last_answered - last_known)
            told.append(last_told - last_answered)
            errors.append(float(seen["errors"] + seen["newcomers_errors"]))
            restarts.append(float(replaced(before, clusters.servers(NAME))))
    return [
        Figure(what="enable NodePort on a live cluster: to ExternalAccessReady", unit="s", runs=tuple(ready), target=2),
        Figure(what="  from the last node port known to the last one answering (kube-proxy)", unit="s", runs=tuple(proxied)),
        Figure(what="  from then to every node telling all", unit="s", runs=tuple(told), target=0.5),
        Figure(what="  errors of clients inside meanwhile", unit="", runs=tuple(errors), target=0),
        Figure(what="  pods restarted", unit="", runs=tuple(restarts), target=0),
    ]


def balancing(bench: Bench) -> list[Figure]:
    """A load balancer that gives its address late, and later another one."""
    first, moved = [], []
    for number in bench.repeatedly("a load balancer's address comes and changes"):
        with bench.clusters("balance") as clusters:
            clusters.create(NAME)
            clusters.await_true("Ready", [NAME])
            clusters.change(NAME, {**ONE_BALANCER, "serviceAnnotations": {GIVEN_AFTER: "3"}})
            known, _, told = _witnessed(clusters)
            first.append(told - known)
            clusters.await_true("ExternalAccessReady", [NAME])
            time.sleep(CALM_SECONDS)
            before = clusters.balancer_pairs(NAME)
            clusters.annotate_balancer(NAME, {GIVEN_AFTER: "0", GIVEN_ADDRESS: f"198.18.100.{200 + number % 50}"})
            known, _, told = _witnessed(clusters, but=before)
            moved.append(told - known)
    return [
        Figure(
            what="enable LoadBalancer: from its address known to every node telling it", unit="s", runs=tuple(first), target=0.5
        ),
        Figure(what="its address changes: until every node tells the new one", unit="s", runs=tuple(moved), target=1),
    ]


def _witnessed(clusters: Clusters, *, but: set[str] | None = None) -> tuple[float, float, float]:
    """The moments of endpoints at the balancer of the cluster; `but`: those that it had before."""

    def expected() -> set[str]:
        found = clusters.balancer_pairs(NAME)
        return set() if found == but else found

    with Witness(clusters.servers(NAME), expected, login=clusters.login(NAME, outside=False)) as witness:
        return witness.told()


def changing(bench: Bench) -> list[Figure]:
    """Turned on, changed to another type, turned off, again and again, while clients of all libraries work through it."""
    with bench.clusters("change") as clusters, ExitStack() as stack:
        clusters.create(NAME)
        clusters.await_true("Ready", [NAME])
        before = clusters.servers(NAME)
        login = clusters.login(NAME, outside=False)
        who = (login["username"], login["password"])

        def loads(where: str, seeds: list[str], *, is_outside: bool) -> list[programs.Running]:
            return stack.enter_context(programs.loads(prefix=where, seeds=seeds, login=who, is_outside=is_outside))

        sampler = stack.enter_context(programs.sampler([server.ip for server in before], login=who))
        # This machine reaches pods, node ports and balancers: its clients live through everything.
        through = loads("through", login["addresses"], is_outside=False)
        reports: list[dict[str, Any]] = []
        for number in bench.repeatedly("enable, change and disable under load by three client libraries"):
            clusters.change(NAME, {**NODE_PORT, "drainSeconds": DRAIN_SECONDS})
            clusters.await_true("ExternalAccessReady", [NAME])
            outside = loads(f"outside-{number}", clusters.login(NAME, outside=True)["addresses"], is_outside=True)
            clusters.change(NAME, {**ONE_BALANCER, "drainSeconds": DRAIN_SECONDS})
            clusters.await_true("ExternalAccessReady", [NAME])
            reports += [load.stop() for load in outside]
            clusters.change(NAME, OFF)
            clusters.await_inside(NAME)
        reports += [load.stop() for load in through]
        sampled = sampler.stop()
        restarted = replaced(before, clusters.servers(NAME))
    for complaint in (*(line for report in reports for line in report["complaints"] + report["lost"]), *sampled["wrong"]):
        bench.steps.say(f"  {complaint}")
    failures = float(sum(report["failures"] for report in reports))
    lost = float(sum(len(report["lost"]) for report in reports))
    return [
        Figure(
            what=f"enable, change type, disable under {', '.join(programs.LIBRARIES)}: failed requests, all runs",
            unit="",
            runs=(failures,),
            target=0,
        ),
        Figure(what="  of so many requests", unit="", runs=(float(sum(report["requests"] for report in reports)),)),
        Figure(what="  acknowledged writes lost", unit="", runs=(lost,), target=0),
        Figure(what="  pairs told that could not be dialled", unit="", runs=(float(len(sampled["wrong"])),), target=0),
        Figure(what="  pods restarted", unit="", runs=(float(restarted),), target=0),
    ]
