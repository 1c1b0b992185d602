"""From what is wanted to the object that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from valkey_operator.core import plan
from valkey_operator.manifests.config import announce_file, dns_snippet, server_config
from valkey_operator.manifests.pdb import disruption_budget
from valkey_operator.manifests.pod import pod_labels
from valkey_operator.manifests.routes import external_route
from valkey_operator.manifests.secret import acl_secret, connection_secret, system_secret, tls_secret
from valkey_operator.manifests.service import external_service, headless_service
from valkey_operator.manifests.statefulset import workload
from valkey_operator.manifests.valkeynode import valkey_node

if TYPE_CHECKING:
    from valkey_operator.core.observed import Cluster
    from valkey_operator.manifests.metadata import Manifest


def manifest(cluster: Cluster, wanted: plan.Wanted) -> tuple[str, Manifest]:
    """The kind and the body of an object: all fields that are ours, and no others."""
    body = _body(cluster, wanted)
    return body["kind"], body


def _body(cluster: Cluster, wanted: plan.Wanted) -> Manifest:  # noqa: C901, PLR0911, PLR0912 - one line per kind of object
    match wanted:
        case plan.HeadlessService():
            return headless_service(cluster, wanted)
        case plan.ExternalService():
            return external_service(cluster, wanted)
        case plan.ExternalRoute():
            return external_route(cluster, wanted)
        case plan.DisruptionBudget():
            return disruption_budget(cluster, wanted)
        case plan.SystemSecret():
            return system_secret(cluster, wanted)
        case plan.AclSecret():
            return acl_secret(cluster, wanted)
        case plan.TlsSecret():
            return tls_secret(cluster, wanted)
        case plan.ConnectionSecret():
            return connection_secret(cluster, wanted)
        case plan.ServerConfig():
            return server_config(cluster, wanted)
        case plan.Record():
            return valkey_node(cluster, wanted)
        case plan.ServerWorkload():
            return workload(cluster, wanted)
        case plan.AnnounceFile():
            return announce_file(cluster, wanted)
        case plan.DnsSnippet():
            return dns_snippet(cluster, wanted)
        case plan.PodLabels():
            return pod_labels(cluster, wanted)
        case _:
            assert_never(wanted)
