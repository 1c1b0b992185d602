"""What clusters with TLS need: a user's Secret, and the names of their servers inside."""

import base64

from e2e import api as kinds


def put(api, namespace, values, name="web-cert"):
    """The user's Secret with these values and no others."""
    if api.find(kinds.SECRET, name, namespace) is None:
        api.create(kinds.SECRET, {"metadata": {"name": name, "namespace": namespace}, "stringData": values})
    else:
        none = dict.fromkeys(("tls.crt", "tls.key", "ca.crt"))
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        api.patch(kinds.SECRET, name, namespace, {"data": none | data})


def pod_names(cluster):
    """The names of servers inside, and the addresses to which they lead."""
    inside = f"valkey-{cluster.name}.{cluster.namespace}.svc"
    return {f"{pod['metadata']['name']}.{inside}": pod["status"]["podIP"] for pod in cluster.pods()}
