"""What to do about each problem, by the type of external access. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.outside.verdict import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from valkey_operator.outside.target import Target
    from valkey_operator.outside.verdict import Finding, Row

_BEHIND: Mapping[str, str] = {
    "NodePort": "a Kubernetes node",
    "LoadBalancer": "the load balancer of Service {service}",
    "Ingress": "the gateway",
}
_CLOSED: Mapping[str, str] = {
    "NodePort": "see whether `kubectl get service {service} -n {namespace}` has port {port}, and whether kube-proxy runs on that Kubernetes node",
    "LoadBalancer": "see the events of `kubectl describe service {service} -n {namespace}`, and whether the load balancer listens on port {port}",
    "Ingress": "see whether the gateway runs and listens on port {port}",
}
_CUT: Mapping[str, str] = {
    "NodePort": "see whether the pod of the node is Ready: `kubectl get pods -n {namespace} -l valkey.io/cluster={cluster}`",
    "LoadBalancer": "see whether the load balancer passes TCP on unchanged to Service {service}, and whether the pod of the node is Ready",
    "Ingress": "see whether the gateway has a route for the name {host} that passes TLS through to Service {service}",
}
_ADVICE: Mapping[Problem, str] = {
    Problem.UNRESOLVED: "make a DNS record for {host} that leads to {behind}, or correct this machine's resolver",
    Problem.NO_ROUTE: "see which network {host} is in and how this machine reaches it (VPN, peering)",
    Problem.UNANSWERED: "let TCP port {port} from here to {host} through firewalls and security groups",
    Problem.KEPT_AWAY: "a firewall or security group keeps this one address away from here: let TCP port {port} to it through, as to the others",
    Problem.SILENT: "see whether the server is overloaded or stopped: `kubectl logs` of its pod; a larger --timeout tells slow from silent",
    Problem.NO_TLS: "pass TLS through to the servers unchanged: what stands before them ends TLS itself, or speaks something else",
    Problem.UNTRUSTED: "give clients the authority that signed it (`ca.crt` of Secret {cluster}-connection, or --ca-file); if a gateway shows its own "
    "certificate, it has no route for {host} that passes TLS through",
    Problem.WRONG_NAME: "issue a certificate that covers {host} and put it into the Secret of spec.tls.certificate; it is loaded without a restart",
    Problem.EXPIRED: "put a new certificate into the Secret of spec.tls.certificate (it is loaded without a restart), or set this machine's clock right",
    Problem.LOGIN_REFUSED: "take user and password from Secret {cluster}-connection; if they are, the pods run with older ones (condition PodsOutdated)",
    Problem.NOT_VALKEY: "see what else listens at {host}:{port}",
    Problem.NOT_WORKING: "see the condition Ready: `kubectl describe vkc {cluster} -n {namespace}`",
    Problem.NOT_PERMITTED: 'allow the user "cluster|slots", "cluster|shards" and "cluster|nodes", without which no cluster client works',
    Problem.WRONG_NODE: "right after a failover or a restart look again; else correct what leads {host}:{port} to its node: it belongs to Service {service}",
    Problem.HOST_UNKNOWN: "a server lacks cluster-announce-hostname; the operator repairs that within seconds: see whether it runs",
    Problem.INTERNAL_ADDRESS: "clients outside hang at it; the operator announces what the status says: see whether it runs, and {lack}",
    Problem.OTHER_ADDRESS: "after a change look again in a few seconds; else see whether the operator runs, and {lack}",
    Problem.NOT_TOLD: "right after a start or a failover look again; else see {lack}",
    Problem.NOT_ANNOUNCED: "see {lack}",
    Problem.NO_ENDPOINT: "see {lack}",
    Problem.REDIRECT_FAILED: "clients loop there: correct what leads that address to another node, or look again if a failover is under way",
}


def advice(target: Target, row: Row, finding: Finding) -> str:
    """The way out, in one sentence without a full stop."""
    by_type = {Problem.REFUSED: _CLOSED, Problem.CUT: _CUT}.get(finding.problem)
    template = _ADVICE[finding.problem] if by_type is None else by_type.get(target.type, _CLOSED["NodePort"])
    words = {
        "host": row.pair.host if row.pair else "",
        "port": row.pair.port if row.pair else "",
        "cluster": target.cluster,
        "namespace": target.namespace,
        "service": target.service(row.indexes),
        "lack": _lack(target),
    }
    return template.format(**words, behind=_BEHIND.get(target.type, "the node").format(**words))


def _lack(target: Target) -> str:
    """Where the operator says why; its own words where it does."""
    if target.lack:
        return f"what the operator says: {target.lack}"
    return f"`kubectl describe vkc {target.cluster} -n {target.namespace}`"
