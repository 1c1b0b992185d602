"""Names inside: what the DNS of Kubernetes has to know so that clients inside, who are told the same names, never leave Kubernetes.

A Service's own ports are the advertised ones, so a name works inside with the same port when it leads to the Service's ClusterIP. A name leads to
one Service: where ports tell several behind one name apart it has to resolve to where they are told apart, which is outside.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from valkey_operator.api import template
from valkey_operator.api.external_access import ExternalAccessType
from valkey_operator.core import begin, hosts, names
from valkey_operator.core.exposure import exposure
from valkey_operator.core.observed import Announcement
from valkey_operator.core.plan import DnsSnippet, Ensure, Remove

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from valkey_operator.core.observed import Observed
    from valkey_operator.core.outside import Outside
    from valkey_operator.core.plan import Action

_RULE = re.compile(r"^rewrite name exact (\S+) (\S+) answer auto$", re.MULTILINE)


def actions(observed: Observed, outside: Outside, *, now: datetime) -> Iterator[Action]:
    """The snippet written, or removed where nothing is advertised by name."""
    draining = bool(outside.services.leftovers) and not (outside.drain is not None and outside.drain.over(now))
    text = snippet(observed, draining=draining)
    if text is not None:
        yield Ensure(DnsSnippet(text))
    elif observed.snippet is not None:
        yield Remove("ConfigMap", names.dns_snippet(observed.cluster.name), observed.snippet.uid)


def snippet(observed: Observed, *, draining: bool) -> str | None:
    """Lines for the server block of CoreDNS that holds its plugin `kubernetes`, one for each name; None where there is no name.

    Names of before stay while clients may hold them: as long as a node announces them, and while old endpoints are `draining`.
    """
    cluster, led, claimed = observed.cluster, _services(observed), _claimed(observed)
    rules = {
        host: f"{services[0]}.{cluster.namespace}.svc.{observed.domain}"
        for host, services in led.items()
        if len(services) == 1 and host not in claimed
    }
    told = {record.announce.host for record in observed.records.values() if record.announce is not None}
    before = _RULE.findall(observed.snippet.text) if observed.snippet is not None else []
    rules |= {host: target for host, target in before if host not in led and (draining or host in told)}
    if not rules and not led:
        return None
    return "\n".join(
        (
            f"# Names of ValkeyCluster {cluster.namespace}/{cluster.name} for clients inside: for the server block of CoreDNS that holds `kubernetes`.",
            *(f"rewrite name exact {host} {target} answer auto" for host, target in rules.items()),
            *_left_out(led, claimed),
            "",
        )
    )


def _left_out(led: Mapping[str, Sequence[str]], claimed: Mapping[str, str]) -> Iterator[str]:
    for host, services in led.items():
        if host in claimed:
            yield f"# {host} is left out: it leads to ValkeyCluster {claimed[host]}, which had it before."
        elif len(services) > 1:
            yield f"# {host} is left out: ports tell the Services {', '.join(services)} apart, and a name leads to one only."


def _services(observed: Observed) -> dict[str, list[str]]:
    """For each advertised name, and for the bootstrap host, the Services that have its ports.

    A name of a Kubernetes node, which is announced where the user chose none, is everybody's: it is none of ours.
    """
    cluster, access = observed.cluster, observed.cluster.spec.external_access
    if not access.enabled:
        return {}
    way, led = exposure(cluster), dict[str, list[str]]()

    def lead(host: str | None, service: str) -> None:
        if host is not None and hosts.family(host) is None and not template.host_mistakes(host):
            services = led.setdefault(host, [])
            services += [service] if service not in services else []

    for index, endpoint in way.endpoints(observed).items():
        given = endpoint.host if isinstance(endpoint, Announcement) and access.type is not ExternalAccessType.NODE_PORT else None
        lead(hosts.advertised(cluster, index) or given, way.service(cluster, index))
    if begin.sharing(observed) is None:
        lead(hosts.bootstrap(cluster), names.bootstrap_service(cluster.name))
    return led


def _claimed(observed: Observed) -> dict[str, str]:
    """The hosts at which an older cluster has an endpoint that this one would have, each with that cluster."""
    way = exposure(observed.cluster)
    nodes = {endpoint.address for endpoint in way.endpoints(observed).values() if isinstance(endpoint, Announcement)}
    both = (nodes | set(way.bootstrap(observed))) & observed.claims.keys()
    return {address.rpartition(":")[0]: observed.claims[address] for address in both}
