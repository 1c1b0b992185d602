"""What the operator is told at its start, from options or from VALKEY_OPERATOR_* in the environment."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field

LEASE_NAME = "valkey-operator"


def _identity() -> str:
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{os.getpid()}"


@dataclass(frozen=True, slots=True)
class Settings:
    """All of it, with the defaults of a Deployment."""

    kubeconfig: str | None = None
    """None: the pod's service account, else $KUBECONFIG, else ~/.kube/config."""
    namespace: str | None = None
    """The one namespace to serve; None: all."""
    leader_elect: bool = True
    lease_namespace: str | None = None
    """None: the operator's own."""
    http_port: int = 8080
    """Of /metrics, /healthz and /readyz; 0: none."""
    workers: int = 16
    cluster_domain: str = "cluster.local"
    """The domain of Kubernetes' own names, as the kubelets and CoreDNS have it."""
    identity: str = field(default_factory=_identity)
    """Who holds the Lease and reports events."""
