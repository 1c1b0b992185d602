"""How connections are secured: `spec.tls`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from valkey_operator.api.model import Model
from valkey_operator.api.rule import Rule


class Certificate(Model):
    """The certificate that all servers of the cluster share."""

    secret_name: Annotated[str, Field(min_length=1, max_length=253)]
    """Secret in the cluster's namespace with three keys, as cert-manager writes them. tls.crt: the certificate, followed by
    intermediate ones. tls.key: its private key. ca.crt: the authorities that issued it, which servers and the operator trust. The
    certificate must allow both server and client authentication, since servers are each other's clients, and must cover every
    advertised host and bootstrapHost. Let it also cover valkey-<cluster>.<namespace>.svc and *.valkey-<cluster>.<namespace>.svc: these
    are the names by which clients inside Kubernetes are told of the servers. A changed Secret, or another one named here, is loaded
    without a restart. To change the authority let ca.crt hold the old and the new one first. Example: my-cluster-tls."""


class Tls(Model):
    """Clients, the cluster bus, replication and the operator talk to servers over TLS only; there is no plain port.

    Clients are asked for no certificate of their own: they log in as one of spec.users.
    """

    certificate: Certificate
    """The certificate that all servers of the cluster share."""


ALWAYS_OR_NEVER = Rule(
    # on the parent, since a rule on the field itself is not asked when the field comes or goes
    cel="has(self.tls) == has(oldSelf.tls)",
    message="TLS cannot be turned on or off while the cluster exists, since servers with it and without it cannot talk to each other: "
    "create a new ValkeyCluster and move the data; certificate.secretName may change",
    field_path=".tls",
    reason="FieldValueForbidden",
)
"""A rule of the spec."""
