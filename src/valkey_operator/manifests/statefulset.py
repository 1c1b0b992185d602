"""The StatefulSet of one server.

Nothing in its pod template depends on external access: turning that on, off or changing it never restarts a pod.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.core import names
from valkey_operator.manifests.containers import merged, with_users_containers
from valkey_operator.manifests.metadata import of_node
from valkey_operator.manifests.scheduling import scheduling

if TYPE_CHECKING:
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Cluster
    from valkey_operator.core.plan import ServerWorkload
    from valkey_operator.manifests.metadata import Manifest

# The user `valkey` of the official images. Told explicitly: runAsNonRoot cannot check an image whose user is a name.
_VALKEY = 999

# Without persistence a server that restarts inside its pod must not come back under its old node id as an empty primary, which its
# replica would copy: with a new id it is nobody, the replica takes over, and it returns as the replica.
_EMPTY = f"rm -rf {names.DATA_DIRECTORY}/*"


def workload(cluster: Cluster, wanted: ServerWorkload) -> Manifest:
    """One pod under a stable name, replaced only when the operator deletes it: it knows when that loses nothing."""
    spec, index = cluster.spec, wanted.index
    labels = names.node_labels(cluster.name, index)
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": of_node(cluster, names.workload(cluster.name, index), index=index, owner_uid=wanted.owner_uid),
        "spec": {
            "replicas": 1,
            "serviceName": names.headless_service(cluster.name),
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": {key: labels[key] for key in (names.CLUSTER, names.SHARD_INDEX, names.NODE_INDEX)}},
            "template": {
                # Another digest makes another revision, by which an outdated pod is known. Role and serving are no part of this:
                # the operator keeps those labels on the pod itself.
                "metadata": {"labels": labels, "annotations": {names.CONFIG_DIGEST: wanted.digest}},
                "spec": {
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    "terminationGracePeriodSeconds": spec.termination_grace_period_seconds,
                    "securityContext": merged(_pod_security(), spec.pod_security_context),
                    **_pull_secrets(cluster),
                    **scheduling(cluster, index),
                    "containers": with_users_containers([_server(cluster, index)], spec.containers),
                    "volumes": _volumes(cluster, index),
                },
            },
        },
    }


def _server(cluster: Cluster, index: NodeIndex) -> Manifest:
    container: Manifest = {
        "name": names.SERVER_CONTAINER,
        "image": cluster.spec.image,
        "imagePullPolicy": "IfNotPresent",
        "command": _command(cluster, index),
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "ports": [
            {"name": names.container_port(index), "containerPort": names.CLIENT_PORT, "protocol": "TCP"},
            {"name": "bus", "containerPort": names.BUS_PORT, "protocol": "TCP"},
        ],
        # A connection is enough of a sign of life, and costs neither a process in the pod nor a password: whether a server is of use
        # in its cluster is asked by the operator.
        "startupProbe": {"tcpSocket": {"port": names.CLIENT_PORT}, "periodSeconds": 1, "failureThreshold": 60},
        "readinessProbe": {"tcpSocket": {"port": names.CLIENT_PORT}, "periodSeconds": 5, "failureThreshold": 3},
        "livenessProbe": {"tcpSocket": {"port": names.CLIENT_PORT}, "periodSeconds": 10, "failureThreshold": 6},
        # What a server says before it exits (a directive that it does not know) is read back from the pod's status.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [
            {"name": "conf", "mountPath": names.CONFIG_DIRECTORY, "readOnly": True},
            {"name": "acl", "mountPath": names.ACL_DIRECTORY, "readOnly": True},
            {"name": "announce", "mountPath": names.ANNOUNCE_DIRECTORY, "readOnly": True},
            {"name": "data", "mountPath": names.DATA_DIRECTORY},
        ],
    }
    if cluster.spec.tls is not None:
        container["volumeMounts"].append({"name": "tls", "mountPath": names.TLS_DIRECTORY, "readOnly": True})
    if cluster.spec.resources:
        container["resources"] = dict(cluster.spec.resources)
    return container


def _start(cluster: Cluster, index: NodeIndex) -> str:
    """The script that starts a server: its first argument is the program, then the configuration file, then further arguments.

    It puts in front of those the place inside as host (an IPv6 address is no host name, and would stop the server), and behind them the
    certificate's files, whose names tell their content and are known only here.
    """
    host = names.pod_host(cluster.name, cluster.namespace, index)
    place = f'case "$POD_IP" in *:*) host={host} ;; *) host=$POD_IP ;; esac'
    words = ["exec", '"$0"', '"$conf"', "--cluster-announce-hostname", '"$host"', '"$@"']
    if cluster.spec.tls is not None:
        for setting, file in (("tls-cert-file", "tls-*.crt"), ("tls-key-file", "tls-*.key"), ("tls-ca-cert-file", "ca-*.crt")):
            words += [f"--{setting}", f'"$(echo {names.TLS_DIRECTORY}/{file})"']
    return f"{_EMPTY} && {place} && conf=$1 && shift && {' '.join(words)}"


def _command(cluster: Cluster, index: NodeIndex) -> list[str]:
    """Arguments are read as further lines of the configuration, in order: what the announce file says wins over the place inside."""
    return [
        "sh",
        "-c",
        _start(cluster, index),
        "valkey-server",
        f"{names.CONFIG_DIRECTORY}/{names.CONFIG_FILE}",
        "--cluster-announce-ip",
        "$(POD_IP)",
        "--cluster-announce-human-nodename",
        names.valkey_node(cluster.name, index),
        # A pattern, since a file that is named must exist.
        "--include",
        f"{names.ANNOUNCE_DIRECTORY}/*.conf",
    ]


def _pull_secrets(cluster: Cluster) -> Manifest:
    secrets = [{"name": secret.name} for secret in cluster.spec.image_pull_secrets]
    return {"imagePullSecrets": secrets} if secrets else {}


def _volumes(cluster: Cluster, index: NodeIndex) -> list[Manifest]:
    # A Secret of ours rather than the user's own: that one may be named anew, vanish or hold what no server can use.
    tls = {"name": "tls", "secret": {"secretName": names.tls_secret(cluster.name), "defaultMode": 0o440}}
    return [
        {"name": "conf", "configMap": {"name": names.server_config(cluster.name)}},
        {"name": "acl", "secret": {"secretName": names.acl_secret(cluster.name), "defaultMode": 0o440}},
        {"name": "announce", "configMap": {"name": names.announce_file(cluster.name, index), "optional": True}},
        {"name": "data", "emptyDir": {}},
        *([tls] if cluster.spec.tls is not None else []),
    ]


def _pod_security() -> Manifest:
    """The Pod Security Standard `restricted`."""
    return {
        "runAsNonRoot": True,
        "runAsUser": _VALKEY,
        "runAsGroup": _VALKEY,
        "fsGroup": _VALKEY,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
