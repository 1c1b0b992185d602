"""The sandbox's own conversation with the API server."""

import httpx2
from lightkube import Client, KubeConfig
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.models.rbac_v1 import RoleRef, Subject
from lightkube.resources.core_v1 import Node, ServiceAccount
from lightkube.resources.rbac_authorization_v1 import ClusterRoleBinding

from sandbox import views
from sandbox.home import Home


def connect(home: Home) -> Client:
    """A client that may do everything, and that heeds no proxy."""
    return Client(config=KubeConfig.from_file(home.root_kubeconfig), field_manager="sandbox", trust_env=False)


def bind_administrators(client: Client) -> None:
    """The group of the people's kubeconfig may do everything, by a binding as kubeadm makes it."""
    group = "kubeadm:cluster-admins"
    binding = ClusterRoleBinding(
        metadata=ObjectMeta(name=group),
        roleRef=RoleRef(apiGroup="rbac.authorization.k8s.io", kind="ClusterRole", name="cluster-admin"),
        subjects=[Subject(kind="Group", name=group, apiGroup="rbac.authorization.k8s.io")],
    )
    client.apply(binding)


def has_default_account(client: Client) -> bool:
    """Whether the namespace `default` has its service account, which a controller makes."""
    return any(True for _ in client.list(ServiceAccount, namespace="default"))


def node_states(client: Client) -> dict[str, bool] | None:
    """For each registered node whether it is ready; None if the API server does not answer."""
    try:
        nodes = [node.to_dict() for node in client.list(Node)]
    except httpx2.HTTPError:
        return None
    return {node["metadata"]["name"]: views.is_ready(node) for node in nodes}
