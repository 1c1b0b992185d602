"""Routes made by the operator: how soon a refusal is told, and what the routes of a hundred clusters cost at rest.

The Gateway's word is this module's own, so that the moment at which it was given is known.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.types import PatchType

from bench.bench import NAME
from bench.figures import Figure
from bench.operator import Operator
from sandbox.home import Home
from tests.authorities import authority
from tests.e2e import gateway_api
from tests.e2e.api import Api

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from bench.bench import Bench
    from bench.clusters import Clusters

MANY = 100
REST_SECONDS = 60.0
GATEWAY = "gateway"
KINDS = ("TLSRoute", "TCPRoute", "Gateway", "Ingress")
GATEWAYS = create_namespaced_resource(gateway_api.GROUP, "v1", "Gateway", "gateways")
TLS_ROUTES = create_namespaced_resource(gateway_api.GROUP, "v1", "TLSRoute", "tlsroutes")
ROUTED: Mapping[str, Any] = {
    "enabled": True,
    "type": "Ingress",
    "advertisedHost": "{name}-{shard}-{node}.example.com",
    "bootstrapHost": "{name}.example.com",
    "announceWhen": "Always",
    "drainSeconds": 0,
    "routes": {"kind": "TLSRoute", "parentRefs": [{"name": GATEWAY}]},
}


def routes(bench: Bench) -> list[Figure]:
    """Refusals first, then a hundred clusters of one node each, and a minute of rest."""
    api = Api(Home.of(os.environ).kubeconfig)
    gateway_api.install(api)
    try:
        return [*_refusals(bench), *_crowd(bench)]
    finally:
        gateway_api.uninstall(api)
        api.close()


def _refusals(bench: Bench) -> list[Figure]:
    taken = []
    with bench.clusters("routes") as clusters:
        _prepare(clusters)
        _create(clusters, [NAME])
        _say(clusters, accepted=True)
        clusters.await_true("ExternalAccessReady", [NAME])
        for _ in bench.repeatedly("a route is refused"):
            began = _say(clusters, accepted=False)
            taken.append(clusters.await_reason("ExternalAccessReady", "RouteNotAccepted", [NAME]) - began)
            _say(clusters, accepted=True)
            clusters.await_true("ExternalAccessReady", [NAME])
    return [Figure(what="routes: the Gateway's refusal to the condition", unit="s", runs=tuple(taken), target=1)]


def _crowd(bench: Bench) -> list[Figure]:
    names = [f"{NAME}-{number}" for number in range(MANY)]
    with bench.clusters("routes") as clusters:
        with bench.steps.step(f"{MANY} clusters of one node, each with a route"):
            _prepare(clusters)
            _create(clusters, names)
            _say(clusters, accepted=True)
            clusters.await_true("ExternalAccessReady", names, seconds=300)
        operator = Operator.of(bench.client)
        with bench.steps.step("the last events are written, no more than five a second"):
            operator.await_quiet()
        lists, writes, used = operator.lists(), operator.writes(), operator.process.cpu_seconds
        time.sleep(REST_SECONDS)
        used = operator.process.cpu_seconds - used
        listed, written = sum(operator.lists().values()) - sum(lists.values()), operator.written_since(writes)
        if written:
            bench.steps.say(f"written at rest: {written}")
        watches = operator.watches()
        bench.steps.say("open watches: " + ", ".join(f"{kind} {watches.get(kind, 0):.0f}" for kind in KINDS))
    most = max(watches.get(kind, 0) for kind in KINDS)
    return [
        Figure(what=f"routes of {MANY} clusters: open watches of a kind, at most", unit="", runs=(most,), target=1),
        Figure(what=f"  at rest, {REST_SECONDS:.0f} s: lists", unit="", runs=(listed,), target=0),
        Figure(what="  writes but the Lease's", unit="", runs=(sum(written.values()),), target=0),
        Figure(what="  CPU of the operator", unit="% of a core", runs=(100 * used / REST_SECONDS,)),
    ]


def _prepare(clusters: Clusters) -> None:
    """The Gateway and the servers' certificate."""
    listener = gateway_api.tls("names", 6380)
    spec = {"gatewayClassName": "bench", "listeners": [listener]}
    clusters.client.create(GATEWAYS(metadata=ObjectMeta(name=GATEWAY, namespace=clusters.namespace), spec=spec))
    signing = authority("bench")
    clusters.create_secret("certificate", signing.issue("*.example.com").secret(signing))


def _create(clusters: Clusters, names: Sequence[str]) -> None:
    for name in names:
        clusters.create(name, access=ROUTED, certificate="certificate", shards=1, replicas=0)
    clusters.await_true("Ready", names, seconds=600)


def _say(clusters: Clusters, *, accepted: bool) -> float:
    """The Gateway's word on all routes; the moment (monotonic) of the first."""
    began = time.monotonic()
    for route in clusters.client.list(TLS_ROUTES, namespace=clusters.namespace):
        metadata = route["metadata"]
        told = {
            "status": "True" if accepted else "False",
            "observedGeneration": metadata["generation"],
            "lastTransitionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "message": "",
        }
        conditions = [
            {"type": "Accepted", "reason": "Accepted" if accepted else "NotAllowedByListeners", **told},
            {"type": "ResolvedRefs", "reason": "ResolvedRefs", **told, "status": "True"},
        ]
        parent = {"parentRef": {"name": GATEWAY}, "controllerName": "example.com/bench", "conditions": conditions}
        clusters.client.patch(
            TLS_ROUTES.Status,
            metadata["name"],
            {"status": {"parents": [parent]}},
            namespace=clusters.namespace,
            patch_type=PatchType.MERGE,
        )
    return began
