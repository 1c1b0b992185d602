"""One name per shard behind a router by SNI: how long a client outside is without its primary when that hands over."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bench.bench import AFTERMATH_SECONDS, NAME
from bench.failover import hand_over, primary_of_last_shard
from bench.figures import Figure
from tests.authorities import authority
from tests.e2e import envoy, programs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bench.bench import Bench
    from bench.clusters import Clusters

BY_SHARD: Mapping[str, Any] = {
    "enabled": True,
    "type": "Ingress",
    "advertisedHost": "{name}-{shard}.example.com",
    "announceWhen": "Always",
    "drainSeconds": 0,
}


def by_shard(bench: Bench) -> list[Figure]:
    """Worst gaps of each library in planned failovers; all clients go on afterwards."""
    gaps: list[float] = []
    lost, unrecovered = 0, 0
    with TemporaryDirectory() as folder, bench.clusters("by-shard") as clusters, envoy.Envoy(Path(folder)) as router:
        outside = _made(clusters, Path(folder))
        names = {shard: f"{NAME}-{shard}.example.com" for shard in range(3)}
        router.lead({name: (clusters.service_address(f"{NAME}-{shard}"), envoy.PORT) for shard, name in names.items()})
        clusters.await_true("ExternalAccessReady", [NAME])
        login = clusters.login(NAME, outside=False) | {"trust": outside["trust"]}
        for number in bench.repeatedly("failover behind one name per shard"):
            clusters.await_whole(NAME)
            with programs.loads(
                prefix=str(number),
                seeds=[f"{name}:{envoy.PORT}" for name in names.values()],
                login=(login["username"], login["password"]),
                fresh_every=None,
                last_round=True,
                **outside,
            ) as loads:
                hand_over(clusters, primary_of_last_shard(clusters, login), login)
                time.sleep(AFTERMATH_SECONDS)
                reports = [load.stop() for load in loads]
            each = (f"{library} {report['worst_gap']:.2f} s" for library, report in zip(programs.LIBRARIES, reports, strict=True))
            bench.steps.say(f"  worst gaps: {', '.join(each)}")
            gaps.append(max(report["worst_gap"] for report in reports))
            lost += sum(len(report["lost"]) for report in reports)
            unrecovered += sum(not report["recovered"] for report in reports)
    return [
        Figure(
            what="one name per shard, planned failover: worst gap of any client outside", unit="s", runs=tuple(gaps), target=1.5
        ),
        Figure(what="  clients that did not recover, all runs", unit="", runs=(float(unrecovered),), target=0),
        Figure(what="  acknowledged writes lost, all runs", unit="", runs=(float(lost),), target=0),
    ]


def _made(clusters: Clusters, folder: Path) -> dict[str, Path]:
    """The cluster with a certificate; how clients outside are run."""
    inside = f"valkey-{NAME}.{clusters.namespace}.svc"
    signing = authority("bench")
    clusters.create_secret("certificate", signing.issue(inside, f"*.{inside}", "*.example.com").secret(signing))
    clusters.create(NAME, access=BY_SHARD, certificate="certificate")
    hosts, trust = folder / "hosts", folder / "ca.crt"
    lines = ["127.0.0.1 localhost", *(f"{envoy.ADDRESS} {NAME}-{shard}.example.com" for shard in range(3))]
    hosts.write_text("\n".join(lines) + "\n")
    trust.write_text(signing.certificate)
    return {"hosts": hosts, "trust": trust}
