"""The labels that the operator keeps on pods, and what calls their kubelets; all else of a pod is its StatefulSet's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.core import names

if TYPE_CHECKING:
    from valkey_operator.core.observed import Cluster
    from valkey_operator.core.plan import PodLabels
    from valkey_operator.manifests.metadata import Manifest


def pod_labels(cluster: Cluster, wanted: PodLabels) -> Manifest:
    """Just the labels that follow the server's role and state, of this very pod: the uid refuses a successor of the same name.

    An annotation that changes makes the kubelet look at the pod at once, and bring what Secrets hold by now; by itself it takes a minute.
    """
    labels, annotations = {}, {}
    if wanted.role is not None:
        labels[names.ROLE] = wanted.role
    if wanted.serving:
        labels[names.SERVING] = "true"
    if wanted.certificate is not None:
        annotations[names.CERTIFICATE] = wanted.certificate
    metadata = {"name": wanted.pod, "namespace": cluster.namespace, "uid": wanted.uid, "labels": labels}
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
